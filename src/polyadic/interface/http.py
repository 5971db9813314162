"""HTTP interface: annotated functions become GET routes of a FastAPI application with an OpenAPI description.

Who asks has to know the token in the path, and to come from the page itself or from no page at all: a host name that
leads to this machine from elsewhere (DNS rebinding) has another ``Host``, and other sites have another ``Origin``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, create_model
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from polyadic.core.errors import InputError
from polyadic.core.files import plain as converted
from polyadic.core.settings import Within, spelled
from polyadic.core.version import __version__
from polyadic.interface.errors import in_json
from polyadic.interface.task import NONE, Parameter, first, parameters, plain, several

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
TIMEOUT = 30.0  # seconds that a question may take; it is answered with 503 after that
CONCURRENT = 4  # questions that are answered at the same time
MAX_LENGTH = 4_000  # characters of path and query
MAX_INT = 2**53 - 1  # largest whole number that JSON keeps exactly
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(
    questions: Mapping[str, Callable[..., Any]],
    subject: Any,
    token: str,
    port: int,
    *,
    title: str,
    timeout: float = TIMEOUT,
    respond: Callable[[Any], Response] = JSONResponse,
    more: Callable[[APIRouter, Responder], None] | None = None,
) -> ASGIApp:
    """Create a web application with an endpoint for each function of an object, such as a model or a workspace.

    ``questions`` are functions of the subject and of parameters that text can give; ``respond`` makes the response of
    what they return. Every path begins with the token, ``Host`` has to name the port, and ``more`` adds further routes.
    """
    app = FastAPI(title=title, version=__version__, docs_url=None, redoc_url=None)
    answers, router = Responder(subject, timeout), APIRouter()
    for name, function in questions.items():
        endpoint = answers.endpoint(function, respond)
        router.add_api_route(f"/api/{name}", endpoint, operation_id=name, **described(function))
    if more:
        more(router, answers)
    app.include_router(router)
    app.openapi = functools.partial(_openapi, app)
    app.add_exception_handler(InputError, lambda _, error: fault(400, str(error)))
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, lambda _, error: fault(getattr(error, "status_code", 404), "not found"))
    return Guard(Starlette(routes=[Mount(f"/{token}", app)]), hosts={f"{HOST}:{port}", f"localhost:{port}"})


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI schema without status 422, because malformed queries are answered with status 400."""
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    for path in schema["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    return schema


class Responder:
    """Responder that answers queries about an object in a small number of threads."""

    def __init__(self, subject: Any, timeout: float) -> None:
        self.subject = subject
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(CONCURRENT, thread_name_prefix="answer")
        self._busy = asyncio.Semaphore(CONCURRENT)

    def endpoint(
        self, function: Callable[..., Any], respond: Callable[[Any], Response] = JSONResponse
    ) -> Callable[..., Any]:
        """Create an endpoint that validates the query against the annotations of a function and calls the function."""
        query = query_model(function)

        async def answer(request: Request, given: Any) -> Response:
            for name, field in query.model_fields.items():
                if (times := len(request.query_params.getlist(name))) > 1 and not several(field.annotation):
                    raise InputError(f"{name} must be given only once, but was given {times} times")
            return await self.work(lambda: respond(function(self.subject, **dict(given))))

        answer.__annotations__ = {"request": Request, "given": Annotated[query, Query()]}
        return answer

    async def work(self, make: Callable[[], Response]) -> Response:
        """Compute a response in a thread, or respond with status 503 after a timeout."""
        async with self._busy:
            work = asyncio.get_running_loop().run_in_executor(self._threads, make)
            try:
                return await asyncio.wait_for(asyncio.shield(work), self._timeout)
            except TimeoutError:
                return fault(
                    503, f"this takes more than {self._timeout:g} seconds; ask for less or for something rarer"
                )


def query_model(function: Callable[..., Any]) -> Any:
    """Create a pydantic model of the query parameters of a function, which rejects unknown parameters."""
    asked = [each for each in parameters(function)[1:] if plain(each.hint) is not Path and each.name != "force"]
    fields: dict[str, Any] = {}
    for each in asked:
        kind: Any = list[str] if several(each.hint) else plain(each.hint)
        fields[each.name] = (kind | None if each.default is None else kind, _field(each))
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _field(parameter: Parameter) -> Any:
    """Return the pydantic field of a parameter, with bounds, default and description."""
    bounds, kind = first(parameter.hint, Within), plain(parameter.hint)
    limits: dict[str, Any] = {"le": MAX_INT, "ge": -MAX_INT} if kind is int else {}
    if bounds is not None:
        limits |= {"gt" if bounds.above else "ge": bounds.low} | ({} if bounds.high is None else {"le": bounds.high})
    if kind is float:
        limits["allow_inf_nan"] = False
    allowed = spelled(parameter.hint)
    if kind is int and (bounds is None or bounds.high is None):
        allowed += f" and at most {MAX_INT:,}"
    default = ... if parameter.default is NONE else parameter.default
    return Field(default, description=parameter.help or None, json_schema_extra={"x-allowed": allowed}, **limits)


def described(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the OpenAPI summary and description of an endpoint, taken from the docstring."""
    about = (function.__doc__ or "").partition("\n    Parameters\n")[0]
    return {
        "summary": about.strip().split("\n")[0],
        "description": " ".join(about.split()),
        "responses": {400: {"description": "Invalid query; the response says what is wrong."}},
    }


async def _malformed(request: Request, error: Exception) -> Response:
    """Respond with one sentence to a query that does not match the annotations."""
    assert isinstance(error, RequestValidationError)
    problem = error.errors()[0]
    name, kind = str(problem["loc"][-1]), problem["type"]
    if kind == "missing":
        return fault(400, f"{name} is missing")
    known = request.scope["route"].dependant.query_params[0].field_info.annotation.model_fields
    if kind == "extra_forbidden":
        return fault(400, f"there is no parameter {name!r}; the parameters are {', '.join(known) or 'none'}")
    return fault(400, f"{name} must be {known[name].json_schema_extra['x-allowed']}; got {problem['input']!r:.40}")


class Guard:
    """Middleware that rejects requests from other hosts and origins and adds security headers to every response."""

    def __init__(self, inner: ASGIApp, hosts: set[str]) -> None:
        self._inner = inner
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(headers, len(scope["path"]) + len(scope["query_string"]))
        inner = self._inner if refused is None else fault(*refused)
        await inner(scope, receive, send_with_headers)

    def _refused(self, headers: Mapping[str, str], length: int) -> tuple[int, str] | None:
        if headers.get("host") not in self._hosts:
            return 403, "this server answers its own machine only"
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if (origin and origin.removeprefix("http://") not in self._hosts) or site not in ("none", "same-origin"):
            return 403, "this server does not answer other pages"
        return (414, "the query is too long") if length > MAX_LENGTH else None


def plain_json(value: Any) -> Response:
    """Create a JSON response with the same content as the output of a command under ``--json``."""
    return JSONResponse(converted(value))


def serve(make: Callable[[str, int], ASGIApp], port: int, facts: Mapping[str, Any], *, browser: bool = False) -> None:
    """Serve a web application on a local port until Ctrl-C, and print the address."""
    import uvicorn

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used: {error.strerror}; use another port, or 0 for any free port", "port"
            ) from None
        port, token = listening.getsockname()[1], secrets.token_urlsafe(16)
        app = make(token, port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
        address = f"http://{HOST}:{port}/{token}/"
        typer.echo(
            json.dumps({"address": address, **facts}) if in_json() else f"{address}\nPress Ctrl-C to stop the server."
        )
        sys.stdout.flush()  # a program that reads the address waits for it
        if browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):  # it is how this ends
            server.run(sockets=[listening])


def fault(status: int, message: str) -> JSONResponse:
    """Create the JSON response to a failed request."""
    return JSONResponse({"error": message}, status)

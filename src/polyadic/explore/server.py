"""A server of a workspace on the loopback address alone: answers as JSON, the page, and what may be asked (OpenAPI).

Who asks has to know the token in the address, and to come from the page itself or from no page at all: a name that
leads to this machine from elsewhere (DNS rebinding) has another ``Host``, and other sites have another ``Origin``. No
path comes from outside: files are those of the package, by name.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from polyadic.core.errors import InputError
from polyadic.core.settings import Within, check_setting, spelled
from polyadic.core.version import __version__
from polyadic.explore.answers import ANSWERS
from polyadic.explore.export import Chosen
from polyadic.explore.export import page as exported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from polyadic.explore.workspace import Workspace

HOST = "127.0.0.1"
SECONDS = 30.0
"""That a question may take; what takes longer is answered with 503."""
AT_ONCE = 4
"""Questions that are worked on at the same time."""
LONGEST = 4_000
"""Characters of a question."""
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "txt": "text/plain"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(workspace: Workspace, *, token: str, port: int, seconds: float = SECONDS) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    workspace : Workspace
    token : str
        First part of every path.
    port : int
        Where it listens, as ``Host`` has to say.
    seconds : float
        That a question may take.
    """
    asked = _Answers(workspace, seconds)
    routes = [
        Route(f"/{token}/api/{{name}}", asked.answer),
        Route(f"/{token}/page.html", asked.page_to_send),
        Route(f"/{token}/openapi.json", _described),
        Route(f"/{token}/{{name}}", _page),
        Route(f"/{token}/", _page),
    ]
    return _Guard(Starlette(routes=routes), hosts={f"{HOST}:{port}", f"localhost:{port}"})


class _Answers:
    """Answers questions to a workspace in threads, a few at a time."""

    def __init__(self, workspace: Workspace, seconds: float) -> None:
        self._workspace = workspace
        self._seconds = seconds
        self._workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="answer")
        self._busy = asyncio.Semaphore(AT_ONCE)

    async def answer(self, request: Request) -> Response:
        name, given = request.path_params["name"], _given(request)
        if name not in ANSWERS:
            return _fault(404, f"no question {name!r}; they are {', '.join(ANSWERS)}")
        function = ANSWERS[name]
        return await self._worked(lambda: JSONResponse(function(self._workspace, **parameters(function, given))))

    async def page_to_send(self, request: Request) -> Response:
        given = _given(request)

        def made() -> Response:
            return Response(exported(self._workspace, Chosen(**parameters(Chosen, given))), media_type="text/html")

        return await self._worked(made)

    async def _worked(self, answer: Callable[[], Response]) -> Response:
        """Answer, or say what is wrong or takes too long."""
        async with self._busy:
            work = asyncio.get_running_loop().run_in_executor(self._workers, answer)
            try:
                return await asyncio.wait_for(asyncio.shield(work), self._seconds)
            except InputError as error:
                return _fault(400, str(error))
            except TimeoutError:
                return _fault(
                    503, f"that takes more than {self._seconds:g} seconds; ask for something rarer, or for less"
                )


async def _described(request: Request) -> Response:
    del request
    return JSONResponse(openapi())


async def _page(request: Request) -> Response:
    name = request.path_params.get("name") or "index.html"
    content = await run_in_threadpool(_static, name)
    if content is None:
        return _fault(404, "there is no such page")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]])


class _Guard:
    """Lets only those through who come from the page itself, and puts headers on every answer."""

    def __init__(self, inner: ASGIApp, hosts: set[str]) -> None:
        self._inner = inner
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        inner = self._inner if refused is None else _fault(*refused)
        await inner(scope, receive, send_with_headers)

    def _refused(self, headers: Mapping[str, str], length: int) -> tuple[int, str] | None:
        if headers.get("host") not in self._hosts:
            return 403, "this page is for the machine that it runs on"
        origin = headers.get("origin")
        if (origin and origin.removeprefix("http://") not in self._hosts) or headers.get(
            "sec-fetch-site", "none"
        ) not in ("none", "same-origin"):
            return 403, "other pages may not ask"
        return (414, "the question is too long") if length > LONGEST else None


def new_token() -> str:
    """Make a token that nobody guesses."""
    return secrets.token_urlsafe(16)


def parameters(function: Callable[..., Any], given: Mapping[str, list[str]]) -> dict[str, Any]:
    """Read the parameters of a question from text, and refuse what it does not take.

    Raises
    ------
    InputError
        If one is unknown, missing, malformed or out of bounds.
    """
    wanted = _wanted(function)
    if unknown := sorted({*given} - {*wanted}):
        raise InputError(f"{unknown[0]!r} is not asked for here; {', '.join(wanted) or 'nothing'} is")
    read = {}
    for name, (hint, default) in wanted.items():
        if name in given:
            read[name] = _read(name, hint, given[name])
            check_setting(name, read[name], hint)
        elif default is inspect.Parameter.empty:
            raise InputError(f"{name} is missing")
    return read


@cache
def _wanted(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Give the annotation and the default of each parameter but the workspace."""
    names = {"Workspace": object, "Answer": dict, "Sequence": Sequence}
    hints = get_type_hints(function, localns=names, include_extras=True)
    signature = inspect.signature(function).parameters
    return {name: (hints[name], each.default) for name, each in signature.items() if name != "workspace"}


def _read(name: str, hint: Any, values: list[str]) -> Any:
    kind = _plain(hint)
    if kind in (list, Sequence):
        return values
    if len(values) > 1:
        raise InputError(f"{name} is given {len(values)} times")
    (value,) = values
    if kind is bool:
        if value not in ("true", "false"):
            raise InputError(f"{name} must be true or false; got {value!r}")
        return value == "true"
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise InputError(f"{name} must be {spelled(hint)}; got {value!r:.40}") from None
    return value


def _plain(hint: Any) -> Any:
    """Give the type that text is read as."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _plain(arguments[0])
    if origin in (Union, UnionType):
        return _plain(next(each for each in arguments if each is not NoneType))
    if origin is Literal:
        return str
    return origin or hint


def openapi() -> dict[str, Any]:
    """Describe what may be asked, by OpenAPI 3.1."""
    paths = {}
    for name, function in ANSWERS.items():
        asked = [
            {
                "name": each,
                "in": "query",
                "required": default is inspect.Parameter.empty,
                "schema": _schema(hint, default),
            }
            for each, (hint, default) in _wanted(function).items()
        ]
        said = inspect.getdoc(function) or ""
        responses = {"200": {"description": "The answer."}, "400": {"description": "What cannot be asked, and why."}}
        about = {"operationId": name, "summary": said.split("\n")[0], "description": said}
        paths[f"/api/{name}"] = {"get": {**about, "parameters": asked, "responses": responses}}
    return {"openapi": "3.1.0", "info": {"title": "polyadic explore", "version": __version__}, "paths": paths}


def _schema(hint: Any, default: Any) -> dict[str, Any]:
    kinds = {int: "integer", bool: "boolean", str: "string", list: "array", float: "number"}
    schema: dict[str, Any] = {"type": kinds[_plain(hint)]}
    if schema["type"] == "array":
        schema["items"] = {"type": "string"}
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            schema["enum"] = list(get_args(part))
        for bound in getattr(part, "__metadata__", ()):
            if isinstance(bound, Within):
                schema |= {"minimum": bound.low} | ({} if bound.high is None else {"maximum": bound.high})
    return schema if default in (inspect.Parameter.empty, None) else {**schema, "default": default}


def _given(request: Request) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        given.setdefault(name, []).append(value)
    return given


@cache
def _static(name: str) -> bytes | None:
    """Give a file of the page; none but those that are there has a name."""
    return next(
        (each.read_bytes() for each in files("polyadic.explore").joinpath("static").iterdir() if each.name == name),
        None,
    )


def _fault(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)

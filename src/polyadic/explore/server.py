"""HTTP server for a workspace on the loopback address, with the endpoints and the web page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from polyadic.explore.answers import ANSWERS
from polyadic.explore.export import Chosen
from polyadic.explore.export import page as exported
from polyadic.interface import http
from polyadic.interface.http import fault

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.types import ASGIApp

TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "txt": "text/plain"}


def application(workspace: Any, token: str, port: int, *, timeout: float = http.TIMEOUT) -> ASGIApp:
    """Create the web application for a workspace; see :func:`polyadic.interface.http.application`."""
    how: dict[str, Any] = {"title": "polyadic explore", "timeout": timeout, "more": _add_page}
    return http.application(ANSWERS, workspace, token, port, **how)


def _add_page(router: APIRouter, answers: http.Responder) -> None:
    """Add the routes that serve the web page and the exported HTML page."""

    def html(text: str) -> Response:
        return Response(text, media_type="text/html")

    router.add_api_route("/page.html", answers.endpoint(export_page, html), include_in_schema=False)
    router.add_api_route("/", _page, include_in_schema=False)
    router.add_api_route("/{name}", _page, include_in_schema=False)


def export_page(
    workspace: Any,
    *,
    words: Sequence[str] = (),
    phrases: Sequence[str] = (),
    topics: bool = False,
    tables: Sequence[str] = (),
    parts: Sequence[str] = (),
    map: bool = False,  # noqa: A002 # the name in the query
) -> str:
    """Return a single HTML file with selected results."""
    return exported(workspace, Chosen(words, phrases, topics, tables, parts, map))


async def _page(name: str = "index.html") -> Response:
    """Respond with a static file of the web page, or with status 404."""
    content = await run_in_threadpool(_static, name)
    if content is None:
        return fault(404, "there is no such page")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]])


@cache
def _static(name: str) -> bytes | None:
    """Return the content of a static file of the web page, or None for any other name."""
    folder = files("polyadic.explore").joinpath("static")
    return next((each.read_bytes() for each in folder.iterdir() if each.name == name), None)

"""``polyadic explore``: look at a text in a browser: words, senses, phrases, the triples behind them, lines, a map."""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.interface import errors, output
from polyadic.words.methods import Training

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace

Sources = Annotated[
    list[str], typer.Argument(metavar="SOURCE...", help="Text (files, folders, globs), or a folder that explore made.")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Folder for all that is made of the text; what is there already is used.",
        show_default="the name of the source, with -workspace",
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any that is free.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser, but only say the address.")]
OnlyMake = Annotated[bool, typer.Option("--only-make", help="Make the folder, and serve nothing.")]
PAGE = "Page to send"
OF_PAGE = ("word", "phrase", "topics", "table", "parts", "map_")
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", metavar="FILE", help="Write one HTML file instead, of what is chosen.", rich_help_panel=PAGE
    ),
]
Words = Annotated[list[str] | None, typer.Option("--word", metavar="WORD", help="A word.", rich_help_panel=PAGE)]
Phrases = Annotated[
    list[str] | None, typer.Option("--phrase", metavar="'WORD WORD'", help="A phrase.", rich_help_panel=PAGE)
]
Topics = Annotated[bool, typer.Option("--topics", help="The topics.", rich_help_panel=PAGE)]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", metavar="FIELD[/FIELD]", help="A field against words, or against another.", rich_help_panel=PAGE
    ),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=VALUE[/VALUE]", help="What sets two parts of the text apart.", rich_help_panel=PAGE),
]
Map = Annotated[bool, typer.Option("--map", help="The map of words.", rich_help_panel=PAGE)]


@o.with_defaults_of(Training)
def explore(
    ctx: typer.Context,
    sources: Sources,
    *,
    out: Folder = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
    only_make: OnlyMake = False,
    export: Export = None,
    word: Words = None,
    phrase: Phrases = None,
    topics: Topics = False,
    table: Tables = None,
    parts: Parts = None,
    map_: Map = False,
    force: o.Force = False,
    as_json: o.AsJson = False,
    min_count: o.MinCount,
    max_size: o.MaxSize,
    language: o.Language,
    stop_words: o.StopWords,
    tokenised: o.Tokenised,
    lemmas: o.Lemmas,
    multiwords: o.Multiwords,
    format_: o.Format,
    field: o.Field,
    wrapped: o.Wrapped,
    encoding: o.Encoding,
    errors: o.Errors,
    memory: o.Memory,
    threads: o.Threads,
    seed: o.Seed,
) -> None:
    """Look at a text in a browser: its words, their senses, phrases, the triples and lines behind them, and a map."""
    own = ("sources", "out", "port", "no_browser", "only_make", "export", *OF_PAGE, "force", "as_json")
    settings = o.chosen(ctx, but=own)
    if export is None and (idle := next((name for name in OF_PAGE if ctx.params[name]), None)):
        raise InputError(f"--{idle.rstrip('_')} is for a page to send; name its file with --export")
    output.check_file(export, force=force)
    if not only_make and export is None:
        _check_server()
    workspace = _workspace(sources, out, settings, force=force, silent=as_json)
    if export is not None:
        from polyadic.explore.export import Chosen, page

        chosen = Chosen(word or (), phrase or (), topics, table or (), parts or (), map_)
        output.write_lines([page(workspace, chosen)], export)
        output.wrote(export, {"bytes": export.stat().st_size}, as_json=as_json)
    elif only_make:
        sizes = {"words": len(workspace.vectors), "documents": len(workspace.corpus.documents) - 1}
        output.wrote(workspace.path, sizes, as_json=as_json)
    else:
        _serve(workspace, port, browser=not no_browser, as_json=as_json)


def _workspace(
    sources: list[str], out: Path | None, settings: dict[str, Any], *, force: bool, silent: bool
) -> "Workspace":
    """Open a workspace, or make one."""
    from polyadic.core.files import read_meta
    from polyadic.explore.workspace import KIND, Workspace

    first = Path(sources[0])
    if len(sources) == 1 and (first / "meta.json").is_file() and read_meta(first)["kind"] == KIND:
        if settings or out is not None:
            raise InputError(f"{first} is made already; leave out --{(*settings, 'out')[0].replace('_', '-')}")
        return Workspace.open(first)
    if not (first / "meta.json").exists() and (first / "corpus.json").is_file() and (first / "corpus").is_dir():
        raise InputError(f"{first} is not made to its end; give the command with which it was begun, and it goes on")
    folder = out or Path(f"{name_of(first)}-workspace")
    with errors.keeping(errors.stages_in(folder)):
        return Workspace.build(
            o.source(sources), folder, steps=output.Steps(silent=silent), overwrite=force, **settings
        )


def name_of(source: Path) -> str:
    """Return the name of the workspace of a source.

    Examples
    --------
    >>> [name_of(Path(source)) for source in ("wiki.txt.xz", "letters/*.txt", "articles/")]
    ['wiki', 'letters', 'articles']
    """
    full = source.absolute()
    return full.name.split(".")[0].strip("*?[]") or full.parent.name or "text"


def _check_server() -> None:
    try:
        import fastapi  # noqa: F401 # only whether it is there
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(str(error.name), "explore", "a page in a browser") from None


def _serve(workspace: "Workspace", port: int, *, browser: bool, as_json: bool) -> None:
    """Serve the page until Ctrl-C."""
    import socket
    import webbrowser

    import uvicorn

    from polyadic.explore.server import HOST, application, new_token

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port} cannot be used: {error.strerror}; name another, or 0 for any") from None
        port, token = listening.getsockname()[1], new_token()
        address = f"http://{HOST}:{port}/{token}/"
        app = application(workspace, token=token, port=port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
        workspace.warm()
        if as_json:
            typer.echo(json.dumps({"address": address, "folder": str(workspace.path)}))  # one line, as no end comes
        else:
            typer.echo(f"{address}\nCtrl-C ends it.")
        sys.stdout.flush()  # a program that reads the address waits for it
        if browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):  # it is how this ends
            server.run(sockets=[listening])

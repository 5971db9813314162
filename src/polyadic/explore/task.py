"""Command ``explore``: explore a text in a browser, or export a page to a file."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from polyadic.core.errors import InputError
from polyadic.core.files import read_meta
from polyadic.core.settings import File, Folder, Metavar, Within
from polyadic.interface import errors, output
from polyadic.interface.task import Task
from polyadic.text.task import source
from polyadic.words.task import SETTINGS, Several, print_written, settings_of

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace

TASK = Task("explore", "Explore a text in a browser.")
PAGE = ("word", "phrase", "topics", "table", "parts", "map_")  # options that select contents of an exported page


@TASK.verb(
    example="polyadic explore holmes",
    settings={"given": SETTINGS},
    show=print_written,
    options=("out", "field", "port", "no_browser", "only_make", "export", *PAGE),
)
def explore(
    sources: Annotated[list[str], Metavar("SOURCE")],
    given: dict[str, Any],
    *,
    out: Folder | None = None,
    port: Annotated[int, Within(0, 65535)] = 0,
    no_browser: bool = False,
    only_make: bool = False,
    export: File | None = None,
    word: Annotated[Several, Metavar("WORD")] = None,
    phrase: Annotated[Several, Metavar("'WORD WORD'")] = None,
    topics: bool = False,
    table: Annotated[Several, Metavar("FIELD[/FIELD]")] = None,
    parts: Annotated[Several, Metavar("FIELD=VALUE[/VALUE]")] = None,
    map_: bool = False,
    force: bool = False,
) -> dict[str, Any] | None:
    """Explore a text in the browser: words, senses, phrases, concordance lines, topics, and a map of words.

    The first time, the text is read and word vectors are trained, with the settings of polyadic train. The results are
    kept in a folder, which opens at once the next time.

    Parameters
    ----------
    sources
        Text (files, folders, globs), or a folder created by an earlier run of polyadic explore.
    out
        Folder for the results; steps finished by an earlier run are reused (default: name of the source with
        -workspace).
    port
        Port on this machine; 0 selects a free one.
    no_browser
        Print the address without opening a browser.
    only_make
        Compute the results without starting the server.
    export
        HTML file to write instead of starting the server, with the results selected by other options.
    word
        Word to include in the exported page; can be repeated.
    phrase
        Phrase to include in the exported page, such as 'old house'; can be repeated.
    topics
        Include the topics in the exported page.
    table
        Field, or two fields separated by a slash, whose correspondence analysis is included in the exported page; can
        be repeated.
    parts
        Parts of the text to compare in the exported page, as a field and two values, such as year=1900/2000; can be
        repeated.
    map_
        Include the map of words in the exported page.
    """
    chosen = {"word": word, "phrase": phrase, "topics": topics, "table": table, "parts": parts, "map": map_}
    if export is None and (idle := next((name for name, value in chosen.items() if value), None)):
        raise InputError(f"{idle} applies only to an exported page; set the output file with export", idle, "export")
    output.check_file(export, force=force)
    if not only_make and export is None:
        output.check_server()
    workspace = _workspace(sources, out, given, force=force)
    if export is not None:
        from polyadic.explore.export import Chosen, page

        selected = Chosen(word or (), phrase or (), topics, table or (), parts or (), map_)
        output.write_lines([page(workspace, selected)], export)
        return {"out": str(export), "bytes": export.stat().st_size}
    if only_make:
        sizes = {"words": len(workspace.vectors), "documents": len(workspace.corpus.documents) - 1}
        return {"out": str(workspace.path), **sizes}
    from polyadic.explore.server import application
    from polyadic.interface import http

    workspace.warm()
    http.serve(functools.partial(application, workspace), port, {"folder": str(workspace.path)}, browser=not no_browser)
    return None


def _workspace(sources: list[str], out: Path | None, given: dict[str, Any], *, force: bool) -> Workspace:
    """Open an existing workspace, or create one from the sources."""
    from polyadic.explore.workspace import KIND, Workspace

    first = Path(sources[0])
    if len(sources) == 1 and (first / "meta.json").is_file() and read_meta(first)["kind"] == KIND:
        if given or out is not None:
            idle = [*given, "out"][0]
            raise InputError(f"{idle} cannot be combined with the existing result {first}; leave it out", idle)
        return Workspace.open(first)
    if not (first / "meta.json").exists() and (first / "corpus.json").is_file() and (first / "corpus").is_dir():
        raise InputError(f"{first} is incomplete; repeat the command that created it to resume")
    folder = out or Path(f"{name_of(first)}-workspace")
    with errors.keeping(errors.stages_in(folder)):
        return Workspace.build(source(sources), folder, steps=output.Steps(), overwrite=force, **settings_of(given))


def name_of(source: Path) -> str:
    """Return a name for a workspace, derived from the path of the source.

    >>> [name_of(Path(source)) for source in ("wiki.txt.xz", "letters/*.txt", "articles/")]
    ['wiki', 'letters', 'articles']
    """
    full = source.absolute()
    return full.name.split(".")[0].strip("*?[]") or full.parent.name or "text"

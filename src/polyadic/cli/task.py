"""Commands for getting started: example files, and a demonstration on a real text."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Folder, Metavar, Natural, Within
from polyadic.interface import errors, output
from polyadic.interface.run import Saved
from polyadic.interface.task import Task
from polyadic.text.task import nothing_more

TASK = Task("start", "Commands to start with.")


@TASK.verb(example="polyadic example", show=lambda it: output.table(("file", "content"), [*it["files"].items()]))
def example(folder: Annotated[Path, Metavar("DIR")] = Path("example"), *, force: bool = False) -> Saved:
    """Write small example files for all commands: a book, tables, facts and trees.

    Parameters
    ----------
    folder
        Folder to write the example files to.
    """
    from polyadic.datasets.examples import FILES, write_examples

    write_examples(folder, overwrite=force)
    saved = Saved(out=str(folder), files=FILES)
    saved.next = ["train", folder / "holmes", "--out", "vectors"]
    return saved


def about(model: Any) -> dict[str, Any]:
    """Return the class and the settings of the model."""
    return {"model": type(model).__name__, "settings": model.get_params(deep=False)}


@TASK.verb(example="polyadic serve completed")
def serve(model: Annotated[Path, Metavar("MODEL")], *, port: Annotated[int, Within(0, 65535)] = 0) -> None:
    """Serve the query commands of a saved model over HTTP on this machine, until Ctrl-C is pressed.

    The routes are the commands that ask a model of its kind, such as api/recommend?row=NAME&top=5, with their options;
    openapi.json describes them, and api/about gives the settings of the model.

    Parameters
    ----------
    model
        Folder of a saved model.
    port
        Port on this machine; 0 selects a free one.
    """
    from polyadic.cli import questions_to
    from polyadic.core.serialization import load

    output.check_server()
    from polyadic.interface import http

    loaded = load(model)
    questions = questions_to(loaded)
    if not questions:
        raise InputError(
            f"a model of this kind ({type(loaded).__name__}) cannot be served, because it has no query commands"
        )
    questions["about"] = about
    make = functools.partial(
        http.application, questions, loaded, title=f"polyadic serve {model.name}", respond=http.plain_json
    )
    http.serve(make, port, {"folder": str(model)})


@TASK.verb(example="polyadic demo --out demo", show=nothing_more)
def demo(*, out: Folder = Path("demo"), rank: Count = 100, seed: Natural = 1) -> dict[str, Any]:
    """Train word vectors on a Wikipedia text included in gensim, and show nearest neighbours, senses and test scores.

    Parameters
    ----------
    out
        Folder to write to; the output of an earlier demonstration is replaced.
    rank
        Number of dimensions of the vectors.
    seed
        Random seed.
    """
    from polyadic.cli.demonstration import run

    return run(out, rank=rank, seed=seed, report=(lambda *_: None) if errors.in_json() else typer.echo)

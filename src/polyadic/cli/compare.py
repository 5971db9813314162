"""``polyadic compare``: several word vectors on the same cases, with intervals of their differences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyadic.cli import options as o
from polyadic.cli import show, suite
from polyadic.errors import InputError

if TYPE_CHECKING:
    from polyadic.suites.words import Row

Several = Annotated[
    list[Path],
    typer.Argument(metavar="VECTORS VECTORS...", help="Folders or files of vectors; the first is compared with."),
]


def compare(
    vectors: Several,
    *,
    kinds: suite.Kinds = None,
    data: suite.Data = None,
    made: suite.Made = None,
    pairs: suite.Pairs = None,
    groups: suite.Groups = None,
    questions: suite.Questions = None,
    as_json: o.AsJson = False,
) -> None:
    """Test several word vectors on the words all of them know, and tell which differ from the first (95 %, paired)."""
    from polyadic.embedding import read_vectors
    from polyadic.suites import words

    if len(vectors) < 2:
        raise InputError(f"comparing needs at least two vectors; got {len(vectors)}")
    names = _names(vectors)
    tests = suite.chosen(data=data, kinds=kinds, made=made, pairs=pairs, groups=groups, questions=questions)
    models = {name: read_vectors(path) for name, path in zip(names, vectors, strict=True)}
    rows, left_out = words.compare(models, tests)
    if as_json:
        show.in_json({"models": names, "figures": [_as_dict(row, names) for row in rows], "left_out": left_out})
        return
    others = [f"{name} - {names[0]}" for name in names[1:]]
    show.table(
        ["test", "cases", *names, *others],
        [[row.name, row.used, *row.values, *(_told(d) for d in row.differences)] for row in rows],
    )
    suite.tell(left_out, any_figure=bool(rows))


def _names(paths: list[Path]) -> list[str]:
    """Call each by the last part of its path, or by all of it where that is not unique."""
    short = [path.name for path in paths]
    named = [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    if len(set(named)) < len(named):
        raise InputError("the same vectors are named twice")
    return named


def _told(difference: tuple[float, float, float]) -> str:
    value, low, high = difference
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f}){' *' if low > 0 or high < 0 else ''}"


def _as_dict(row: "Row", names: list[str]) -> dict[str, object]:
    differences = [d._asdict() | {"certain": d.certain} for d in row.differences]
    return {
        "name": row.name,
        "used": row.used,
        "total": row.total,
        "values": dict(zip(names, row.values, strict=True)),
        f"minus {names[0]}": dict(zip(names[1:], differences, strict=True)),
    }

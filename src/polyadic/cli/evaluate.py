"""``polyadic evaluate`` and ``compare``: what word vectors know, by every test there is, always with what it covers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output

if TYPE_CHECKING:
    from polyadic.words.evaluation import Row, Test

Several = Annotated[
    list[Path],
    typer.Argument(metavar="VECTORS VECTORS...", help="Folders or files of vectors; the first is compared with."),
]

# Which tests
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Published sets: similarity, outliers, analogies, recovery, sentiment, senses; or all. Repeatable.",
        show_default="the first three, which take seconds",
        rich_help_panel=o.TESTS,
    ),
]
Made = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Tests made of held-out text: gaps.tsv, phrases.tsv, names.tsv.", rich_help_panel=o.TESTS
    ),
]
Pairs = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Word pairs with scores, of your own.", rich_help_panel=o.TESTS),
]
Groups = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="Outlier groups of your own, one a .txt file.", rich_help_panel=o.TESTS),
]
Questions = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Analogy questions of your own, four words a line.", rich_help_panel=o.TESTS),
]


def evaluate(
    vectors: o.Vectors,
    *,
    kinds: Kinds = None,
    data: o.Data = None,
    made: Made = None,
    pairs: Pairs = None,
    groups: Groups = None,
    questions: Questions = None,
    as_json: o.AsJson = False,
) -> None:
    """Test word vectors: similarity, outliers, analogies and more, each with its 95 % interval and what it covers."""
    from polyadic.embedding import read_vectors
    from polyadic.words import evaluation as words

    tests = _tests(data=data, kinds=kinds, made=made, pairs=pairs, groups=groups, questions=questions)
    figures, left_out = words.evaluate(read_vectors(vectors), tests)
    rows = [figure.as_dict() for figure in figures]
    if as_json:
        output.in_json({"figures": rows, "left_out": left_out})
        return
    headings = ["test", "value", "95 %", "chance", "cases", "of"]
    output.table(
        headings,
        [[r["name"], r["value"], (r["low"], r["high"]), r["chance"], r["used"], r["total"]] for r in rows],
    )
    _tell(left_out, any_figure=bool(rows))


def compare(
    vectors: Several,
    *,
    kinds: Kinds = None,
    data: o.Data = None,
    made: Made = None,
    pairs: Pairs = None,
    groups: Groups = None,
    questions: Questions = None,
    as_json: o.AsJson = False,
) -> None:
    """Test several word vectors on the words all of them know, and tell which differ from the first (95 %, paired)."""
    from polyadic.embedding import read_vectors
    from polyadic.words import evaluation as words

    if len(vectors) < 2:
        raise InputError(f"comparing needs at least two vectors; got {len(vectors)}")
    names = _names(vectors)
    tests = _tests(data=data, kinds=kinds, made=made, pairs=pairs, groups=groups, questions=questions)
    models = {name: read_vectors(path) for name, path in zip(names, vectors, strict=True)}
    rows, left_out = words.compare(models, tests)
    if as_json:
        output.in_json({"models": names, "figures": [_as_dict(row, names) for row in rows], "left_out": left_out})
        return
    others = [f"{name} - {names[0]}" for name in names[1:]]
    output.table(
        ["test", "cases", *names, *others],
        [[row.name, row.used, *row.values, *(_told(d) for d in row.differences)] for row in rows],
    )
    _tell(left_out, any_figure=bool(rows))


def _tests(
    *,
    data: Path | None,
    kinds: list[str] | None,
    made: Path | None,
    pairs: list[Path] | None,
    groups: list[Path] | None,
    questions: list[Path] | None,
) -> dict[str, "Test"]:
    """Read the tests asked for; with none named, the quick ones on published sets."""
    from polyadic.words import evaluation as words

    own = words.own_tests(pairs=pairs or (), groups=groups or (), questions=questions or ())
    tests: dict[str, Test] = {f"own {kind}": test for kind, test in own.items()}
    if made is not None:
        tests |= words.made_tests(made)
    if kinds or not tests:
        wanted = words.PUBLISHED if kinds == ["all"] else kinds or words.QUICK
        tests = words.published_tests(wanted, root=data) | tests
    elif data is not None:
        raise InputError("--data has no effect: no published set is asked for; add --kind")
    return tests


def _tell(left_out: dict[str, str], *, any_figure: bool) -> None:
    """Say what could not be tested, and why.

    Raises
    ------
    InputError
        If that is everything.
    """
    for name, why in left_out.items():
        typer.echo(f"left out: {name}: {why}", err=True)
    if not any_figure:
        raise InputError("no test covers any case")


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

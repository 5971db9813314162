"""The options that choose tests of word vectors, shared by ``polyadic evaluate`` and ``polyadic compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyadic.errors import InputError

if TYPE_CHECKING:
    from polyadic.suites.words import Test

TESTS = "Tests"

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of test sets.", show_default="what POLYADIC_DATA names", rich_help_panel=TESTS
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Published sets: similarity, outliers, analogies, recovery, sentiment, senses; or all. Repeatable.",
        show_default="the first three, which take seconds",
        rich_help_panel=TESTS,
    ),
]
Made = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Tests made of held-out text: gaps.tsv, phrases.tsv, names.tsv.", rich_help_panel=TESTS
    ),
]
Pairs = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Word pairs with scores, of your own.", rich_help_panel=TESTS),
]
Groups = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="Outlier groups of your own, one a .txt file.", rich_help_panel=TESTS),
]
Questions = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Analogy questions of your own, four words a line.", rich_help_panel=TESTS),
]


def chosen(
    *,
    data: Path | None,
    kinds: list[str] | None,
    made: Path | None,
    pairs: list[Path] | None,
    groups: list[Path] | None,
    questions: list[Path] | None,
) -> dict[str, Test]:
    """Read the tests asked for; with none named, the quick ones on published sets."""
    from polyadic.suites import words

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


def tell(left_out: dict[str, str], *, any_figure: bool) -> None:
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

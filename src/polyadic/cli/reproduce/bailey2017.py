"""``polyadic reproduce bailey2017``: word vectors by tensor factorization, all their models and tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.errors import InputError

STUDIES = "Studies"

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Text (a file, folder or glob) or a folder made by `polyadic corpus`.")
]
Models = Annotated[
    str | None,
    typer.Option("--models", metavar="A,B...", help="Train only these.", show_default="all", rich_help_panel=o.MODEL),
]
ReportRank = Annotated[
    int | None, typer.Option(min=1, help="Length of the vectors.", show_default="300", rich_help_panel=o.MODEL)
]
MinCount = Annotated[
    int | None, typer.Option(min=1, help="Drop words that are rarer.", show_default="10", rich_help_panel=o.CORPUS)
]
MaxSize = Annotated[
    int | None,
    typer.Option(min=1, help="Keep only the most frequent words.", show_default="20000", rich_help_panel=o.CORPUS),
]
Share = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Share of the documents to hold out.", show_default="0.1", rich_help_panel=o.CORPUS
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Try the path: rank 50, few sweeps, few studies, and only the quick tests.")
]
Shifts = Annotated[
    str | None,
    typer.Option(
        metavar="K,K...|none",
        help="Shifts of the PPMI, for Table 2.",
        show_default="1,5,10,15,20,25,50",
        rich_help_panel=STUDIES,
    ),
]
ShiftRank = Annotated[
    int | None, typer.Option(min=1, help="Rank of that study.", show_default="100", rich_help_panel=STUDIES)
]
Ranks = Annotated[
    str | None,
    typer.Option(
        metavar="R,R...|none", help="Ranks, for Figure 4.", show_default="25,50,100,200,300", rich_help_panel=STUDIES
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Published sets: similarity, outliers, analogies, recovery, sentiment, senses; or all. Repeatable.",
        show_default="all; the first three if quick",
        rich_help_panel=suite.TESTS,
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace what was made with other settings.")]


def bailey2017(
    source: Source,
    *,
    out: o.Out,
    models: Models = None,
    rank: ReportRank = None,
    seed: o.Seed = 0,
    min_count: MinCount = None,
    max_size: MaxSize = None,
    share: Share = None,
    quick: Quick = False,
    shifts: Shifts = None,
    shift_rank: ShiftRank = None,
    ranks: Ranks = None,
    kinds: Kinds = None,
    data: suite.Data = None,
    pairs: suite.Pairs = None,
    groups: suite.Groups = None,
    questions: suite.Questions = None,
    threads: o.Threads = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Bailey and Aeron (2017): train all their models and baselines, test them, and write a report.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.suites import bailey2017 as protocol
    from polyadic.suites import words

    if (Path(source) / "meta.json").is_file() and (min_count, max_size) != (None, None):
        raise InputError(f"--min-count and --max-size come too late: {source} is encoded already")
    given: dict[str, Any] = {
        "models": o.names(models) if models is not None else None,
        "rank": rank,
        "min_count": min_count,
        "max_size": max_size,
        "share": share,
        "shifts": o.numbers("--shifts", shifts, float) if shifts is not None else None,
        "shift_rank": shift_rank,
        "ranks": o.numbers("--ranks", ranks, int) if ranks is not None else None,
        "threads": threads,
    }
    usual = protocol.Settings.small() if quick else protocol.Settings()
    settings = replace(usual, seed=seed, **{name: value for name, value in given.items() if value is not None})
    kinds = kinds or list(words.QUICK if quick else words.PUBLISHED)
    tests, left_out = protocol.chosen_tests(
        words.PUBLISHED if kinds == ["all"] else kinds,
        root=data,
        pairs=pairs or (),
        groups=groups or (),
        questions=questions or (),
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)):
        report = protocol.run(
            source, out, settings=settings, tests=tests, left_out=left_out, steps=steps, tell=faults.say, force=force
        )
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}" + _pictures(out, report))


def _pictures(out: Path, report: dict[str, Any]) -> str:
    return f" and pictures in {out / 'figures'}" if report["figures"] and "figures" not in report["left_out"] else ""

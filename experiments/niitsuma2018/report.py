"""The report: a table of figures and one of differences, for Table 3 or the special cases."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from experiments.markdown import Column, certain, share, tabulate

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

TESTS = {"ws353": "WordSim-353", "men": "MEN", "mturk-287": "MTurk"}
"""The sets of word pairs, as printed."""
POLICIES = (
    "Spearman correlation, higher is better. For each set: pairs with an unknown word scored 0, as printed; known pairs"
    " alone, with 95 % interval; the published figure (from another text)."
)

DIFFERENCES = "Differences of Spearman correlations on known pairs, with paired 95 % intervals."


def _columns(at: int, test: str) -> list[Column]:
    return [
        (f"{TESTS[test]} ↑", lambda row: row[test]["zero"], share),
        ("known pairs ↑", lambda row: {**row[test], "value": row[test]["known"]}, certain),
        ("published", lambda row: row["published"][at] if row["published"] else None, share),
    ]


def report(facts: Facts) -> str:
    """Return the report as Markdown."""
    lines = ["# Niitsuma and Lee (2018), on this text", ""]
    for title, part in (("Table 3", facts), ("Special cases", facts.get("cases"))):
        if part and "rows" in part:
            lines += [f"## {title}", "", *_section(part, facts["settings"]), ""]
    return "\n".join(lines)


def _section(facts: Facts, settings: Facts) -> list[str]:
    corpus, rows = facts["corpus"], facts["rows"]
    about = (
        f"{corpus['tokens']:,} tokens, {corpus['words']:,} words that occur at least {settings['min_count']} times,"
        f" rank {settings['rank']}, {settings['width']} words as contexts (to the left; on both sides for special"
        f" cases), seed {settings['seed']}. Corpus {corpus['digest'][:16]}."
    )
    columns: list[Column] = [
        ("method", "name"),
        *(column for at, test in enumerate(TESTS) for column in _columns(at, test)),
    ]
    columns += [("kernel weight", "weight", "g"), ("time, s ↓", "seconds", ".1f")]
    covered = ", ".join(f"{rows[0][t]['covered']:,} of {rows[0][t]['total']:,} of {name}" for t, name in TESTS.items())
    lines = [about, "", POLICIES, "", *tabulate(columns, rows), "", f"Known pairs: {covered}.", "", DIFFERENCES, ""]
    differences: list[Column] = [
        ("difference", "name"),
        *((name, itemgetter(test), certain) for test, name in TESTS.items()),
    ]
    return [*lines, *tabulate(differences, facts["differences"])]

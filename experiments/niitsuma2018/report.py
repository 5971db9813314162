"""The report: one table."""

from __future__ import annotations

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


def _columns(at: int, test: str) -> list[Column]:
    return [
        (f"{TESTS[test]} ↑", lambda row: row[test]["zero"], share),
        ("known pairs ↑", lambda row: {**row[test], "value": row[test]["known"]}, certain),
        ("published", lambda row: row["published"][at] if row["published"] else None, share),
    ]


def report(facts: Facts) -> str:
    """Return the report as Markdown."""
    corpus, settings = facts["corpus"], facts["settings"]
    about = (
        f"{corpus['tokens']:,} tokens, {corpus['words']:,} words that occur at least {settings['min_count']} times,"
        f" rank {settings['rank']}, {settings['width']} words to the left as contexts, seed {settings['seed']}. Corpus"
        f" {corpus['digest'][:16]}."
    )
    columns: list[Column] = [
        ("method", "name"),
        *(column for at, test in enumerate(TESTS) for column in _columns(at, test)),
    ]
    columns += [("kernel weight", "weight", "g"), ("time, s ↓", "seconds", ".1f")]
    first = facts["rows"][0]
    covered = ", ".join(f"{first[t]['covered']:,} of {first[t]['total']:,} of {name}" for t, name in TESTS.items())
    lines = ["# Niitsuma and Lee (2018), on this text", "", about, "", POLICIES, "", *tabulate(columns, facts["rows"])]
    return "\n".join([*lines, "", f"Known pairs: {covered}."]) + "\n"

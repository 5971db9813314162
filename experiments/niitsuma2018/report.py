"""The report of a run: ``report.md`` with the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.markdown import certain, share, table

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

TESTS = {"ws353": "WordSim-353", "men": "MEN", "mturk-287": "MTurk"}
"""The sets of word pairs, as printed."""
POLICIES = (
    "For each set: pairs with an unknown word at similarity 0, as printed; known pairs alone, with a 95 % interval;"
    " what was published (of another text)."
)


def report(facts: Facts) -> str:
    """Write the table."""
    corpus, settings = facts["corpus"], facts["settings"]
    about = (
        f"{corpus['tokens']:,} tokens, {corpus['words']:,} words seen {settings['min_count']} times or more, rank"
        f" {settings['rank']}, {settings['width']} words to the left as contexts, seed {settings['seed']}. Corpus"
        f" {corpus['digest'][:16]}."
    )
    headings = ["", *(name for test in TESTS.values() for name in (test, "known", "published")), "weight", "seconds"]
    rows = []
    for row in facts["rows"]:
        cells = []
        for test, published in zip(TESTS, row["published"] or [None] * len(TESTS), strict=True):
            known = {**row[test], "value": row[test]["known"]}
            cells += [share(row[test]["zero"]), certain(known), share(published)]
        weight = "" if row["weight"] is None else f"{row['weight']:g}"
        rows.append([row["name"], *cells, weight, f"{row['seconds']:.1f}"])
    first = facts["rows"][0]
    covered = ", ".join(f"{first[t]['covered']:,} of {first[t]['total']:,} of {name}" for t, name in TESTS.items())
    lines = ["# Niitsuma and Lee (2018), on this text", "", about, "", POLICIES, "", *table(headings, rows)]
    return "\n".join([*lines, "", f"Known pairs: {covered}."]) + "\n"

"""The report: a table for each part, and figures of planted filters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from experiments.markdown import Column, Section, certain, chosen, interval, sections, share, table, tabulate
from polyadic import plots

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

PUBLISHED = {
    "mr": {"NB features, convolutional": 0.789, "NB-SVM": 0.794},
    "subj": {"NB features, convolutional": 0.924, "NB-SVM": 0.932},
    "msrp": {"convolutional": 0.807, "always yes": 0.799},  # F
    "sts2012": {"MSRpar": 0.360, "MSRvid": 0.618, "SMTeuroparl": 0.375, "OnWN": 0.331, "SMTnews": 0.721},
}
ABOUT = (
    "Vectors are trained on the training sentences alone, and settings are selected within them. The gain is over the"
    " mean of the word vectors; intervals are 95 %, over sentences or pairs. A sentence without a known word has a zero"
    " vector."
)


def draw(facts: Facts, out: Path) -> None:
    """Draw errors and times of planted filters."""
    rows = [line for line in facts.get("synthetic", ()) if line["filters"] == 2]
    if len(rows) < 2:
        return
    samples = [line["samples"] for line in rows]
    pictures = {
        "errors": ("1 - cosine with the planted filters", {"cumulants": "error", "alternation": "error"}),
        "seconds": ("seconds without the pass", {"cumulants": "solve_seconds", "alternation": "seconds"}),
    }
    for name, (label, columns) in pictures.items():
        series = {}
        for method, column in columns.items():
            values = [(line[method] or {}).get(column, float("nan")) for line in rows]
            series[method] = [[value, value, value] for value in values]
        ax = plots.curves(series, samples, log=True)
        ax.set(yscale="log", xlabel="samples", ylabel=label)
        ax.figure.savefig(out / f"{name}.png", dpi=150)


SYNTHETIC: list[Column] = [
    *(
        ("filters", "filters"),
        ("samples", "samples", ","),
        ("error (1 - cosine) ↓", "error", ".5f"),
        ("pass, s ↓", "pass_seconds", ".3f"),
    ),
    *(("solve, s ↓", "solve_seconds", ".2f"), ("error, alternating ↓", "their_error", ".3f")),
    *(("unexplained ↓", "their_unexplained", ".1e"), ("time, alternating, s ↓", "their_seconds", ".1f")),
]


def _synthetic(rows: list[Facts]) -> list[str]:
    return tabulate(
        SYNTHETIC,
        [
            {**row, **row["cumulants"], **{f"their_{key}": value for key, value in (row["alternation"] or {}).items()}}
            for row in rows
        ],
    )


def _recovery(rows: list[Facts]) -> list[str]:
    methods = list(rows[0]["rates"])
    lines = [
        [row["case"], *(" / ".join(f"{rate:.2f}" for rate in row["rates"][method]) for method in methods)]
        for row in rows
    ]
    about = "Share of planted cases with exact cumulants in which every filter is found, with one start / with ten:"
    return [about, "", *table(["", *methods], lines)]


def _methods(part: str, rows: list[Facts]) -> list[str]:
    columns: list[Column] = [("features", "name"), ("accuracy ↑", "value", share), ("95 % interval", interval)]
    columns.append(("gain ↑", lambda row: row.get("gain"), certain))
    f = " F" if part == "msrp" else ""
    columns += [("F ↑", "F", share)] if f else []
    columns.append((f"published{f}", lambda row: PUBLISHED[part].get(row["name"]), share))
    found = next(row["chosen"] for row in rows if row["name"] == "convolutional")
    first = found[0] if isinstance(found, list) else found
    many = f", in the first of {len(found)} folds" if isinstance(found, list) else ""
    settings = f"Settings selected for convolutional vectors{many}: {chosen(first)}."
    return [*tabulate(columns, rows), "", settings]


def _similarity(rows: list[Facts]) -> list[str]:
    sets, lines = list(dict.fromkeys(row["set"] for row in rows)), []
    for by, what in (("predicted", "trained on pairs"), ("cosine", "cosine, not trained")):
        cells = []
        for name in dict.fromkeys(row["name"] for row in rows if row["by"] == by):
            values = {row["set"]: row["value"] for row in rows if (row["name"], row["by"]) == (name, by)}
            cells.append([name, *(share(values[key]) for key in sets)])
        if by == "predicted":
            published = [share(PUBLISHED["sts2012"].get(key.removeprefix("surprise.").split(",")[0])) for key in sets]
            cells.append(["published (split not stated)", *published])
        lines += [*table([what, *sets], cells), ""]
    return lines[:-1]


SECTIONS: dict[str, Section] = {
    "synthetic": ("Planted filters (medians)", _synthetic),
    "recovery": ("Exact cumulants of planted filters", _recovery),
    "mr": ("MR, accuracy", partial(_methods, "mr")),
    "subj": ("SUBJ, accuracy", partial(_methods, "subj")),
    "msrp": ("MSRP", partial(_methods, "msrp")),
    "sts2012": ("STS 2012, Pearson correlation", _similarity),
}
report = partial(sections, "Huang and Anandkumar (2017)", ABOUT, SECTIONS)

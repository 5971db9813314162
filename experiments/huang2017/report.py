"""The report: a table for each part, and figures of planted filters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

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
JOINED = "NB features, convolutional"
ABOUT = (
    "Vectors are trained on the training sentences alone, and settings are selected within them. The gain is over the"
    " mean of the word vectors; intervals are 95 %, over sentences or pairs. A sentence without a known word has a zero"
    " vector."
)


def draw(facts: Facts, out: Path) -> None:
    """Draw errors and times of planted filters, and figure 4 of the paper."""
    rows = [line for line in facts.get("synthetic", ()) if line["filters"] == 2]
    if len(rows) > 1:
        samples = [line["samples"] for line in rows]
        pictures = {
            "errors": ("1 - cosine with the planted filters", {"cumulants": "error", "alternation": "error"}),
            "seconds": ("seconds without the pass", {"cumulants": "solve_seconds", "alternation": "seconds"}),
        }
        for name, (label, columns) in pictures.items():
            series = {
                method: [(line[method] or {}).get(column, float("nan")) for line in rows]
                for method, column in columns.items()
            }
            _draw(out / f"{name}.png", series, samples, "samples", label)
    if "figure4" not in facts:
        return
    lines, curves = facts["figure4"]["lines"], facts["figure4"]["curves"]
    for key, label in (("error", "1 - cosine with the planted filters"), ("unexplained", "share not explained")):
        series = {name: [point[key] for point in curve] for name, curve in curves.items()}
        sweeps = [point["sweep"] for point in max(curves.values(), key=len)]
        padded = {name: values + [float("nan")] * (len(sweeps) - len(values)) for name, values in series.items()}
        _draw(out / f"figure4-{key}.png", padded, sweeps, "sweeps", label)
    few = next(line["samples"] for line in lines if line["filters"] == 1)
    same = [line for line in lines if line["samples"] == few]
    series = {name: [line[name]["seconds"] for line in same] for name in curves}
    _draw(
        out / "figure4-filters.png", series, [line["filters"] for line in same], "filters", "seconds without the pass"
    )


def _draw(path: Path, series: dict[str, list[float]], x: list[Any], xlabel: str, ylabel: str) -> None:
    ax = plots.curves({name: [[value] * 3 for value in values] for name, values in series.items()}, x, log=True)
    ax.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    ax.figure.savefig(path, dpi=150)


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


def _variants(rows: list[Facts]) -> list[str]:
    columns: list[Column] = [("case", "case"), ("variant", "variant"), ("one start ↑", "one", ".2f")]
    columns += [("ten starts ↑", "best", certain), ("minus the printed one", "gap", certain)]
    return tabulate(columns, rows)


def _figure4(facts: Facts) -> list[str]:
    columns: list[Column] = [("filters", "filters"), ("samples", "samples", ",")]
    for name, called in (("cumulants", "cumulants"), ("alternation", "alternating")):
        for key, how in (("error", ".5f"), ("unexplained", ".1e"), ("seconds", ".2f")):
            columns.append((f"{key}, {called} ↓", partial(_of_method, name, key), how))
    found = facts["exponents"]
    about = "Medians over problems; each method has ten starts, of which it keeps the best by its own objective."
    power = [f"{name} {certain(found[name])}" for name in found]
    return [
        about,
        "",
        *tabulate(columns, facts["lines"]),
        "",
        f"Time grows as a power of the filters: {', '.join(power)}.",
    ]


def _of_method(name: str, key: str, row: Facts) -> Any:
    return row[name][key]


def _fourth(rows: list[Facts]) -> list[str]:
    columns: list[Column] = [("filters", "filters"), ("samples", "samples", ",")]
    columns += [(f"error, order {order} ↓", partial(_errors, order)) for order in ("3", "4")]
    return tabulate(columns, rows)


def _errors(order: str, row: Facts) -> str:
    return " ".join(f"{each[order]:.4f}" for each in row["errors"])


def _dimensions(part: str, rows: list[Facts]) -> list[str]:
    columns: list[Column] = [("features", "name"), ("accuracy ↑", "value", share), ("95 % interval", interval)]
    columns += [("gain ↑", lambda row: row.get("gain"), certain)]
    columns += [("k by fold", lambda row: ", ".join(str(each.get("rank", "")) for each in row["chosen"]))]
    columns += [("held-out accuracy by k, first fold", lambda row: _by_k(row["held_out"]))]
    return [*tabulate(columns, rows), "", f"Published with naive Bayes features: {share(PUBLISHED[part][JOINED])}."]


def _by_k(held_out: Facts | None) -> str:
    return ", ".join(f"{k}: {share(value)}" for k, value in (held_out or {}).items())


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
    "printed": ("The printed algorithm, and with its errors corrected: share of cases recovered", _variants),
    "figure4": ("Figure 4", _figure4),
    "fourth": ("Symmetric activations: third and fourth cumulants", _fourth),
    "mr-dimensions": ("MR, with k chosen", partial(_dimensions, "mr")),
    "subj-dimensions": ("SUBJ, with k chosen", partial(_dimensions, "subj")),
    "mr": ("MR, accuracy", partial(_methods, "mr")),
    "subj": ("SUBJ, accuracy", partial(_methods, "subj")),
    "msrp": ("MSRP", partial(_methods, "msrp")),
    "sts2012": ("STS 2012, Pearson correlation", _similarity),
}
report = partial(sections, "Huang and Anandkumar (2017)", ABOUT, SECTIONS)

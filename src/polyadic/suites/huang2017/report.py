"""The report of a run: ``report.md`` with tables, and the pictures of planted filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyadic import plots
from polyadic.errors import MissingExtraError
from polyadic.suites.markdown import share

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.suites.store import Facts

PUBLISHED = {
    "mr": {"NB features, convolutional": 0.789, "NB-SVM": 0.794},
    "subj": {"NB features, convolutional": 0.924, "NB-SVM": 0.932},
    "msrp": {"convolutional": 0.807, "always yes": 0.799},  # F
    "sts2012": {"MSRpar": 0.360, "MSRvid": 0.618, "SMTeuroparl": 0.375, "OnWN": 0.331, "SMTnews": 0.721},
}
TITLES = {"mr": "MR, accuracy", "subj": "SUBJ, accuracy", "msrp": "MSRP", "sts2012": "STS 2012, Pearson correlation"}
ABOUT = (
    "Vectors are made of the training sentences alone, and settings are chosen within them. The gain is over the mean"
    " of the words' vectors; intervals are 95 %, over sentences or pairs. A sentence without a known"
    " word has a vector of zeros."
)


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Huang and Anandkumar (2017)", "", ABOUT, ""]
    if "synthetic" in facts:
        lines += _synthetic(facts["synthetic"])
        lines += _recovery(facts["recovery"])
    for part in ("mr", "subj", "msrp"):
        if part in facts:
            lines += _methods(part, facts[part])
    if "sts2012" in facts:
        lines += _similarity(facts["sts2012"])
    return "\n".join(lines) + "\n"


def draw(facts: Facts, out: Path) -> None:
    """Draw errors and times of planted filters, where matplotlib is installed."""
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
        try:
            ax = plots.curves(series, samples)
        except MissingExtraError:
            return
        ax.set(xscale="log", yscale="log", xlabel="samples", ylabel=label)
        ax.figure.savefig(out / f"{name}.png", dpi=150)


def _synthetic(rows: list[Facts]) -> list[str]:
    lines = ["## Planted filters (medians)", ""]
    lines += ["| filters | samples | error | pass, s | solve, s | error, alternating | unexplained | s |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for line in rows:
        ours, theirs = line["cumulants"], line["alternation"]
        cells = [f"{ours['error']:.5f}", f"{ours['pass_seconds']:.3f}", f"{ours['solve_seconds']:.2f}"]
        last = ["", "", ""]
        if theirs:
            last = [f"{theirs['error']:.3f}", f"{theirs['unexplained']:.1e}", f"{theirs['seconds']:.1f}"]
        lines.append("| " + " | ".join([str(line["filters"]), f"{line['samples']:,}", *cells, *last]) + " |")
    return [*lines, ""]


def _recovery(rows: list[Facts]) -> list[str]:
    methods = list(rows[0]["rates"])
    lines = ["Share of planted cases of exact cumulants in which every filter is found, from one start / from ten:", ""]
    lines += ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for line in rows:
        rates = (" / ".join(f"{rate:.2f}" for rate in line["rates"][method]) for method in methods)
        lines.append(f"| {line['case']} | " + " | ".join(rates) + " |")
    return [*lines, ""]


def _methods(part: str, rows: list[Facts]) -> list[str]:
    f = part == "msrp"
    heads = ["", "accuracy", "interval", "gain", *(["F"] if f else []), "published" + (" F" if f else "")]
    lines = [f"## {TITLES[part]}", "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for line in rows:
        published = PUBLISHED[part].get(line["name"])
        cells = [line["name"], share(line["value"]), _interval(line), _gain(line)]
        cells += [share(line["F"])] if f else []
        lines.append("| " + " | ".join([*cells, share(published)]) + " |")
    chosen = next(line["chosen"] for line in rows if line["name"] == "convolutional")
    first = chosen[0] if isinstance(chosen, list) else chosen
    many = f", in the first of {len(chosen)} folds" if isinstance(chosen, list) else ""
    lines += [
        "",
        "Chosen for convolutional vectors" + many + ": " + ", ".join(f"{k} {v}" for k, v in first.items()) + ".",
    ]
    return [*lines, ""]


def _similarity(rows: list[Facts]) -> list[str]:
    sets = list(dict.fromkeys(line["set"] for line in rows))
    lines = [f"## {TITLES['sts2012']}", ""]
    for by, what in (("predicted", "trained on pairs"), ("cosine", "cosine, not trained")):
        names = list(dict.fromkeys(line["name"] for line in rows if line["by"] == by))
        lines += ["| " + " | ".join([what, *sets]) + " |", "|---" * (len(sets) + 1) + "|"]
        for name in names:
            found = {line["set"]: line for line in rows if (line["name"], line["by"]) == (name, by)}
            lines.append("| " + " | ".join([name, *(share(found[key]["value"]) for key in sets)]) + " |")
        if by == "predicted":
            published = [share(PUBLISHED["sts2012"].get(key.removeprefix("surprise.").split(",")[0])) for key in sets]
            lines.append("| " + " | ".join(["published (split not said)", *published]) + " |")
        lines.append("")
    return lines


def _interval(line: Facts) -> str:
    return f"{share(line['low'])} to {share(line['high'])}"


def _gain(line: Facts) -> str:
    gain: Any = line.get("gain")
    return f"{share(gain['value'])} ({_interval(gain)})" if gain else ""

"""The figures of the report: first as numbers, then, where matplotlib is installed, as pictures."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from experiments.bailey2017.models import RANKED, ranks_of
from experiments.bailey2017.tables import MEASURES, RECOVERY, SENTIMENT
from polyadic import plots
from polyadic.core.files import whole_folder, write_meta

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.bailey2017.tables import Results
    from polyadic.core.stage_cache import Facts

Drawing = dict[str, Any]
"""``name``, ``title``, ``kind`` ("bars" or "curves"), ``x``, ``xlabel``, and ``series``: value, low, high at each x."""

BARS = (10, 25, 50, 100)
"""The shares of Figure 1, in per cent."""


def drawings(results: Results) -> list[Drawing]:
    """Return the numbers of all figures that the run can draw."""
    return [*_analogies(results), *_sentiment(results), *_ranks(results)]


def draw(facts: Facts, out: Path) -> None:
    """Write a picture of each figure to ``figures`` in a folder."""
    if "figures" not in facts:
        return
    plots.new_axes()  # a missing extra is told before the folder is touched
    with whole_folder(out / "figures", kind="figures", overwrite=True) as draft:
        for drawing in facts["figures"]:
            axes(drawing).figure.savefig(draft / f"{drawing['name']}.png", dpi=150)
        write_meta(draft, "figures", 1, figures=[drawing["name"] for drawing in facts["figures"]])


def axes(drawing: Drawing) -> Any:
    """Draw a figure on axes of its own."""
    series = {
        name: [[math.nan if number is None else number for number in point] for point in points]
        for name, points in drawing["series"].items()
    }
    if drawing["kind"] == "bars":
        ax = plots.bars(series, [f"{drawing['xlabel']} {x} %" for x in drawing["x"]])
    else:
        ax = plots.curves(series, drawing["x"])
        ax.set_xlabel(drawing["xlabel"])
    ax.set_ylabel(drawing["ylabel"])
    ax.set_title(drawing["title"], loc="left", fontsize="medium")
    return ax


def _points(results: Results, names: dict[Any, str], models: list[str]) -> dict[str, list[list[float | None]]]:
    return {model: [_point(results.figure(model, name)) for name in names.values()] for model in models}


def _point(figure: Facts | None) -> list[float | None]:
    return [figure[key] if figure else None for key in ("value", "low", "high")]


def _analogies(results: Results) -> list[Drawing]:
    """Figure 1 for both kinds of questions, Figure 2 for semantic ones; each for both splits."""
    groups: dict[tuple[str, str, str], dict[int, str]] = {}
    for name in results.names(results.models):
        match = RECOVERY.match(name)
        if match and int(match["share"]):
            groups.setdefault((match["set"], match["kind"], match["split"]), {})[int(match["share"])] = name
    made = []
    for (of, kind, split), names in groups.items():
        bars = {share: name for share, name in names.items() if share in BARS}
        about = f"{kind} analogies of {of}, {split} held out"
        content = {"xlabel": "training part", "ylabel": "accuracy"}
        where = f"{of}-{kind}-{split}"
        first = {"name": f"figure1-{where}", "title": f"Figure 1: {about}", "kind": "bars", "x": list(bars)}
        made.append({**first, "series": _points(results, bars, results.models), **content})
        if kind == "semantic":
            second = {
                "name": f"figure2-{of}-{split}",
                "title": f"Figure 2: {about}",
                "kind": "curves",
                "x": list(names),
            }
            content = {**content, "xlabel": "training part (%)"}
            made.append({**second, "series": _points(results, names, results.models), **content})
    return sorted(made, key=lambda drawing: str(drawing["name"]).partition("-")[0])


def _sentiment(results: Results) -> list[Drawing]:
    names = {int(match["share"]): name for name in results.names(results.models) if (match := SENTIMENT.match(name))}
    if not names:
        return []
    content = {"kind": "curves", "x": list(names), "xlabel": "training part (%)", "ylabel": "accuracy"}
    series = _points(results, names, results.models)
    return [{"name": "figure3", "title": "Figure 3: sentiment of reviews", **content, "series": series}]


def _ranks(results: Results) -> list[Drawing]:
    studied = {rank: v.name for rank, v in ranks_of(results.settings).items() if v.name in results.scores}
    content = {"kind": "curves", "x": list(studied), "xlabel": "rank", "ylabel": "OPP, accuracy"}
    return [
        {
            "name": f"figure4-{re.sub(r'[^a-z0-9]+', '-', of.lower()).strip('-')}",
            "title": f"Figure 4: outliers by rank of {RANKED}, {of}",
            **content,
            "series": {
                measure: [_point(results.figure(name, f"{of} {measure}")) for name in studied.values()]
                for measure in MEASURES
            },
        }
        for of in (results.outlier_sets() if studied else ())
    ]

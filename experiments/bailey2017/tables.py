"""The tables of the report: rows of plain values, each table with what it was made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from experiments.bailey2017.models import COUNTS, MODELS, RANKED, SHIFTED, Settings, ranks_of, shifts_of
from experiments.bailey2017.scoring import HALF, PHRASES, kept_figure
from polyadic.metrics.figures import difference

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

Table = dict[str, Any]
"""``name``, ``title``, ``headings``, ``rows``, ``notes`` and ``made_of``; a cell may be value, low and high."""

OUTLIERS = re.compile(r"(?P<set>.+) (?P<what>OD[23] (?:OPP|accuracy))$")
RECOVERY = re.compile(r"(?P<set>.+) recovery by (?P<split>\w+) (?P<kind>\w+) accuracy at (?P<share>\d+)%$")
SENTIMENT = re.compile(r"sentiment accuracy at (?P<share>\d+)%$")
MEASURES = ("OD2 OPP", "OD2 accuracy", "OD3 OPP", "OD3 accuracy")
COMPARED = (
    OUTLIERS,
    re.compile(r"similarity "),
    re.compile(r".* 3CosAdd (semantic |syntactic )?accuracy$"),
    re.compile(r".* recovery by pairs \w+ accuracy at (10|100)%$"),
    re.compile(r"sentiment accuracy at (10|100)%$"),
    re.compile(r"(completion|phrases|names|semeval|senseval)"),
)
"""The main figures: those by which every model is compared with the best pairwise one."""

SENSELESS = (
    "With held-out questions, as in Bailey and Aeron, random vectors do as well as trained ones, because the pairs of a"
    " test question occur in training questions. With held-out pairs they do not."
)
SHIFTING = (
    "The normaliser of the paper makes every PMI of triples too large by a constant, from which a shift subtracts a"
    " constant; the PMI used here is not too large."
)
COMPARING = (
    "Difference from the best pairwise baseline of the row; * marks a 95 % interval, from paired samples, that excludes"
    " zero. The baseline is selected by the figure itself, which makes it slightly too hard to beat."
)
COSTING = (
    "Seconds are those of the fit alone; weighting is the time to compute association values from counts. Peak memory"
    " is that of a process that only trained the model; idle is its memory before it opened any data."
)

TITLES = ("phrases selection", "phrases retrieval")
FROM_TRIPLES = tuple(name.replace("phrases", "phrases from triples") for name in TITLES)
TITLED = (
    "The first two columns use the best rule for the vectors of two words, which may be their product; the next two use"
    " vectors made from the triples that contain both words; the last two show the difference between the latter and"
    " the best pairwise vectors with their best rule."
)

PUBLISHED: dict[str, tuple[float, ...]] = {
    "random": (0.5819, 0.2591, 0.5405, 0.2127),
    "cbow": (0.6542, 0.3731, 0.6162, 0.3034),
    "nnse": (0.6998, 0.4288, 0.6292, 0.3190),
    "cp": (0.6404, 0.3421, 0.6084, 0.2638),
    "cp-s": (0.7078, 0.4370, 0.6741, 0.3597),
    "cp-sn": (0.6874, 0.3950, 0.6747, 0.3545),
    "jcp-s": (0.7017, 0.4242, 0.6666, 0.3201),
}
"""Table 1 of Bailey and Aeron, in the order of the measures."""

PUBLISHED_SHIFTS: dict[float, tuple[float, ...]] = {
    1: (0.6723, 0.3850, 0.6547, 0.3535),
    5: (0.7047, 0.4200, 0.6725, 0.3566),
    10: (0.7074, 0.4279, 0.6736, 0.3483),
    15: (0.7078, 0.4370, 0.6741, 0.3597),
    20: (0.7060, 0.4243, 0.6693, 0.3452),
    25: (0.7042, 0.4142, 0.6645, 0.3420),
    50: (0.6960, 0.4224, 0.6762, 0.3545),
}
"""Table 2 of Bailey and Aeron."""


@dataclass
class Results:
    """All that a run found."""

    folder: Path
    settings: Settings
    corpus: Facts
    counts: dict[str, Facts] = field(default_factory=dict)
    trained: dict[str, Facts] = field(default_factory=dict)
    scores: dict[str, Facts] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def models(self) -> list[str]:
        """The main models that were tested, in the order of the table."""
        return [name for name in MODELS if name in self.scores and name in self.settings.models]

    def figure(self, model: str, name: str) -> Facts | None:
        """Return a figure of a model, or None."""
        figure: Facts | None = self.scores.get(model, {}).get("figures", {}).get(name)
        return figure

    def names(self, models: Iterable[str]) -> list[str]:
        """Name the figures that any of the models has."""
        return list(dict.fromkeys(name for model in models for name in self.scores[model]["figures"]))

    def outlier_sets(self) -> list[str]:
        """Name the sets of outlier groups, that of the test half first."""
        names = self.names(self.scores)
        sets = list(dict.fromkeys(match["set"] for name in names if (match := OUTLIERS.match(name))))
        return sorted(sets, key=lambda name: name != HALF)


def tables(results: Results) -> list[Table]:
    """Make all tables that the run has figures for."""
    made = [
        *_outliers(results),
        *_shifts(results),
        *_ranks(results),
        _phrases(results),
        *_recovered(results),
        _sentiment(results),
    ]
    made += [_titles(results), _compared(results), _others(results), _costs(results), _counts(results)]
    return [table for table in made if table["rows"]]


def _table(results: Results, name: str, title: str, models: Iterable[str], **content: Any) -> Table:
    """Add the inputs of the table."""
    used = [model for model in models if model in results.trained]
    trained = [results.trained[model] for model in used]
    made_of = {
        "corpus": results.corpus["digest"],
        "settings": {model: results.trained[model]["settings"] for model in used},
        "seed": results.settings.seed,
        "versions": _together(facts["versions"] for facts in trained),
        "seconds": round(sum(facts["seconds"] + facts["weighing_seconds"] for facts in trained), 3),
    }
    return {"name": name, "title": title, "notes": [], **content, "made_of": made_of}


def _together(versions: Iterable[Facts]) -> dict[str, list[str]]:
    """Name every version that took part: a run may have gone on with others."""
    seen: dict[str, list[str]] = {}
    for each in versions:
        for package, version in each.items():
            if version and version not in seen.setdefault(package, []):
                seen[package].append(version)
    return {package: some for package, some in seen.items() if some}


def _measured(results: Results, model: str, of: str) -> list[Any]:
    """Return the cells of a model in a table of outlier detection: four figures, and the cases of OD2 and OD3."""
    figures = [results.figure(model, f"{of} {measure}") for measure in MEASURES]
    return [*map(_cell, figures), *(f"{f['used']:,} of {f['total']:,}" if f else None for f in figures[::2])]


def _cases(figure: Facts) -> tuple[int, int]:
    return figure["used"], figure["total"]


def _cell(figure: Facts | None) -> Facts | None:
    return {key: figure[key] for key in ("value", "low", "high")} if figure else None


CASES = ("OD2 cases", "OD3 cases")


def _outliers(results: Results) -> list[Table]:
    made = []
    for of in results.outlier_sets():
        rows = [[model, *_measured(results, model, of)] for model in results.models]
        headings = ["model", *MEASURES, *CASES]
        if of == "wikisem500":
            headings += ["published"]
            rows = [[*row, _published(PUBLISHED.get(row[0]))] for row in rows]
        title = f"Table 1: outlier detection, {of}"
        made.append(_table(results, f"table1 {of}", title, results.models, headings=headings, rows=rows))
    return made


def _published(figures: tuple[float, ...] | None) -> str | None:
    return None if figures is None else " ".join(f"{x:.3f}".lstrip("0") for x in figures)


def _shifts(results: Results) -> list[Table]:
    studied = {shift: v.name for shift, v in shifts_of(results.settings).items() if v.name in results.scores}
    made = []
    for of in results.outlier_sets() if studied else ():
        rows = [[f"{shift:g}", *_measured(results, name, of)] for shift, name in studied.items()]
        headings = ["shift", *MEASURES, *CASES]
        if of == "wikisem500":
            headings += ["published"]
            rows = [[*row, _published(PUBLISHED_SHIFTS.get(float(row[0])))] for row in rows]
        title = f"Table 2: shifts of the PPMI, {SHIFTED} of rank {results.settings.shift_rank}, {of}"
        made.append(
            _table(results, f"table2 {of}", title, studied.values(), headings=headings, rows=rows, notes=[SHIFTING])
        )
    return made


def _ranks(results: Results) -> list[Table]:
    studied = {rank: v.name for rank, v in ranks_of(results.settings).items() if v.name in results.scores}
    return [
        _table(
            results,
            f"figure4 {of}",
            f"Figure 4: rank of {RANKED}, {of}",
            studied.values(),
            headings=["rank", *MEASURES, *CASES],
            rows=[[rank, *_measured(results, name, of)] for rank, name in studied.items()],
        )
        for of in (results.outlier_sets() if studied else ())
    ]


def _phrases(results: Results) -> Table:
    models = [model for model in (RANKED, "cp-sn", "jcp", "cbow") if model in results.models]
    rows = [
        [phrase, *(_joined(results.scores[model]["phrases"].get(phrase)) for model in models)]
        for phrase in (" * ".join(pair) for pair in PHRASES if models)
    ]
    title = "Table 3: phrase vectors and their nearest neighbours"
    return _table(results, "table3", title, models, headings=["phrase", *models], rows=rows)


def _joined(words: list[str] | str | None) -> str | None:
    return ", ".join(words) if isinstance(words, list) else words


def _recovered(results: Results) -> list[Table]:
    groups: dict[tuple[str, str, str], list[int]] = {}
    for name in results.names(results.models):
        if match := RECOVERY.match(name):
            groups.setdefault((match["set"], match["split"], match["kind"]), []).append(int(match["share"]))
    made = []
    for (of, split, kind), shares in groups.items():
        name = f"{of} recovery by {split} {kind} accuracy"
        rows = [
            [model, *(_cell(results.figure(model, f"{name} at {share}%")) for share in shares)]
            for model in results.models
        ]
        title = f"Figures 1 and 2: supervised analogy, {of}, {kind}, {split} held out"
        headings = ["model", *(f"{share} %" for share in shares)]
        notes = [SENSELESS] if split == "questions" else []
        made.append(_table(results, name, title, results.models, headings=headings, rows=rows, notes=notes))
    return made


def _sentiment(results: Results) -> Table:
    names = {int(match["share"]): name for name in results.names(results.models) if (match := SENTIMENT.match(name))}
    rows = [
        [model, *(_cell(results.figure(model, name)) for name in names.values())] for model in results.models if names
    ]
    headings = ["model", *(f"{share} %" for share in names)]
    return _table(results, "sentiment", "Figure 3: sentiment", results.models, headings=headings, rows=rows)


def _compared(results: Results) -> Table:
    """Compare every model with the best pairwise one, figure by figure, over the same cases."""
    rows = []
    for name in results.names(results.models):
        if any(main.match(name) for main in COMPARED) and (best := _best_pairwise(results, name)):
            others = [_difference(results, (model, name), (best[0], name)) for model in results.models]
            rows.append([name, results.scores[best[0]]["figures"][name]["used"], *best, *others])
    headings = ["figure", "cases", "best pairwise", "its value", *results.models]
    title = "Every model against the best pairwise baseline"
    return _table(results, "comparison", title, results.models, headings=headings, rows=rows, notes=[COMPARING])


def _best_pairwise(results: Results, name: str) -> tuple[str, float] | None:
    """Name the pairwise baseline with the highest value of a figure, and give that."""
    figures = [(model, results.figure(model, name)) for model in results.models if MODELS[model].pairwise]
    values = {model: figure["value"] for model, figure in figures if figure and figure["value"] is not None}
    return max(values.items(), key=lambda each: each[1]) if values else None


def _difference(results: Results, this: tuple[str, str], that: tuple[str, str]) -> Facts | None:
    """Return the difference between the figures of two models; None for the same model or different cases."""
    mine, other = results.figure(*this), results.figure(*that)
    if this == that or mine is None or other is None or _cases(mine) != _cases(other):
        return None
    d = difference(kept_figure(results.folder, this[0], mine), kept_figure(results.folder, that[0], other))
    return {"value": d.value, "low": d.low, "high": d.high, "certain": d.certain}


def _titles(results: Results) -> Table:
    """Compare vectors of phrases made of triples with the best that pairwise vectors alone can do."""
    rows = []
    for model in results.models:
        here = {name: results.figure(model, name) for name in (*TITLES, *FROM_TRIPLES)}
        others = [_best_pairwise(results, name) for name in TITLES]
        above = [
            _difference(results, (model, triples), (other[0], name)) if other else None
            for name, triples, other in zip(TITLES, FROM_TRIPLES, others, strict=True)
        ]
        if here[FROM_TRIPLES[0]]:
            rows.append([model, *map(_cell, here.values()), *above])
    headings = ["model", *TITLES, *FROM_TRIPLES, *(f"{name} above the best pairwise" for name in FROM_TRIPLES)]
    return _table(
        results, "titles", "Phrases: words of an article by its title", results.models, headings=headings, rows=rows,
        notes=[TITLED],
    )  # fmt: skip


def _others(results: Results) -> Table:
    shown = (OUTLIERS, RECOVERY, SENTIMENT)
    rows = []
    for name in results.names(results.models):
        if not any(pattern.match(name) for pattern in shown):
            figures = [results.figure(model, name) for model in results.models]
            some = next(figure for figure in figures if figure)
            rows.append([name, f"{some['used']:,} of {some['total']:,}", some["chance"], *map(_cell, figures)])
    headings = ["test", "cases", "chance", *results.models]
    return _table(results, "others", "All other tests", results.models, headings=headings, rows=rows)


def _costs(results: Results) -> Table:
    keys = ("rank", "entries", "seconds", "weighing_seconds", "sweeps", "converged", "peak_mib", "idle_mib", "zeros")
    rows = [
        [model, *(facts[key] for key in keys), ", ".join(f"{k} {v}" for k, v in facts["settings"].items())]
        for model, facts in results.trained.items()
    ]
    headings = ["model", "rank", "entries or tokens", "seconds", "weighting", "sweeps", "converged", "peak MiB",
                "idle MiB", "zeros", "settings"]  # fmt: skip
    notes = [COSTING, *(f"{model}: {said}." for model, facts in results.trained.items() for said in facts["warnings"])]
    return _table(results, "costs", "Time and memory", results.trained, headings=headings, rows=rows, notes=notes)


def _counts(results: Results) -> Table:
    rows = [
        [name, *COUNTS[name].values(), facts["entries"], facts["events"], facts["stage_seconds"]]
        for name, facts in results.counts.items()
    ]
    headings = ["counts", *next(iter(COUNTS.values())), "entries", "events", "seconds"]
    return _table(results, "counts", "Counts", (), headings=headings, rows=rows)

"""The report: a table for each part."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Column, Section, certain, sections, share, table, tabulate
from polyadic.metrics.figures import Figure, difference
from polyadic.sequences.hidden_markov import ESTIMATED

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

NAMES = ("automaton", "singular vectors", "singular vectors and trigrams", "trigrams", "n-grams")


def _pautomac(facts: Facts) -> list[str]:
    def perplexity(name: str) -> Column:
        return f"{name} ↓", lambda row: f"{row[name]:.3f} ({100 * (row[name] / row['true'] - 1):.2f} %)"

    columns: list[Column] = [
        ("problem", "problem"),
        ("truth", "true", ".3f"),
        *map(perplexity, NAMES),
        ("rank", "rank"),
    ]
    rows = [{"problem": number, **row} for number, row in facts.items()]
    return tabulate([*columns, ("time, s ↓", "seconds", round)], rows)


def _completion(facts: Facts) -> list[str]:
    cells = []
    for row in facts.values():
        names = list(row["rows"][0])
        errors = np.array([[row[name] for name in names] for row in row["rows"]])
        better = (errors < errors[:, :1]).sum(axis=0)[1:]
        unseen = "unknown" if row["least"] else "rare"
        cells.append([row["strings"], unseen, *map(share, errors.mean(axis=0)), *better, len(errors)])
    better_names = [f"{name} better in" for name in names[1:]]
    return table(["strings", "unseen strings count as", *(f"{name} ↓" for name in names), *better_names, "of"], cells)


def _tags(facts: Facts) -> list[str]:
    figures: list[Column] = [("test perplexity ↓", "perplexity", ".2f"), ("accuracy ↑", "accuracy", share)]
    lines = []
    if "automaton" in facts:
        rows = [{"name": name, **row} for name, row in facts["automaton"].items() if name != "stage_seconds"]
        lines += tabulate([("upos", "name"), *figures], rows)
    for column in ("upos", "xpos"):
        if column in facts:
            first: list[Column] = [
                (column, "method"),
                ("selected settings", "chosen"),
                ("validation perplexity ↓", "dev_perplexity", ".2f"),
            ]
            lines += ["", *tabulate([*first, *figures], facts[column]["rows"])]
    return lines


def _errors(facts: Facts, by: str, *names: str) -> list[str]:
    """Return the lines of a table of errors by the size of the data, and their slopes."""
    rows = [{**row, by: f"{row[by]:,}"} for row in facts["errors"]]
    heads = {"moves": "transitions"}
    lines = tabulate([(by, by), *((f"{heads.get(name, name)} ↓", name, share) for name in names)], rows)
    slopes = [f"{facts['slopes'][name]:.2f}" for name in names]
    return [*lines, f"| slope | {' | '.join(slopes)} |", ""]


def _hidden(facts: Facts) -> list[str]:
    cells = []
    for name, row in facts.items():
        if name.startswith("ends"):
            random = [row["log_probability"] for row in row["random"]]
            true = f"{row['true']:.4f}" if "true" in row else ""
            ends = [*(row[init]["log_probability"] for init in (*ESTIMATED, "best")), max(random), np.median(random)]
            figures = [f"{end:.4f}" for end in ends]
            cells.append([name.removeprefix("ends "), true, *figures, f"{row['random_better']} of {len(random)}"])
    heads = ["states", "truth", *(f"{init} ↑" for init in (*ESTIMATED, "most likely", "best random", "median random"))]
    heads.append("random starts that are better")
    return _errors(facts["recovery"], "sequences", "emissions", "moves") + table(heads, cells)


def _topics(facts: Facts) -> list[str]:
    columns: list[Column] = [
        *(("method", "method"), ("topics", "rank"), ("NPMI ↑", "npmi", share), ("diversity ↑", "diversity", share)),
        *(("held-out perplexity ↓", "perplexity", ".0f"), ("time, s ↓", "seconds", ".0f")),
    ]
    return _errors(facts["recovery"], "documents", "spectral", "anchors") + tabulate(columns, facts["news"]["rows"])


def _grammars(facts: Facts) -> list[str]:
    rows = [{"name": name, **row} for name, row in facts["penn"]["parts"].items()]
    for name, row in facts["penn"]["marginals"].items():
        rows.append({**row, "name": f"no lists: marginals, {name}", "latent": row["f1"]})
    columns: list[Column] = [
        *(("method", "name"), ("sentences", "sentences"), ("F of the first tree ↑", "first", share)),
        *(
            ("F with hidden states ↑", "latent", share),
            ("gain ↑ (95 % interval)", "gain", certain),
            ("best of the list ↑", "best", share),
        ),
        ("selected settings", _settings),
    ]
    lines = tabulate(columns, rows)
    if "over_other" in (row := facts["penn"]["marginals"]["split and merged"]):
        lines += ["", f"Split-merge EM minus singular vectors, by marginals: {certain(row['over_other'])}."]
    return lines


def _planted(facts: Facts, by: str) -> list[str]:
    """Return the lines of a table of mean errors, and of the paired differences from the first method."""
    lines = []
    parts = [part for name, part in facts.items() if name.startswith("planted")]
    cells, over = [], []
    for part in parts:
        names = list(part["rows"][0])
        figures = [_mean(name, [row[name] for row in part["rows"]]) for name in names]
        cells.append([f"{part['many']:,}", *(certain(figure.as_dict()) for figure in figures)])
        gaps = [difference(figure, figures[0])._asdict() for figure in figures[1:]]
        over.append([f"{part['many']:,}", *map(certain, gaps)])
    if parts:
        lines += [*table([by, *(f"{name} ↓" for name in names)], cells), ""]
        lines += [*table([by, *(f"{name} - {names[0]}" for name in names[1:])], over), ""]
    return lines


def _mean(name: str, values: list[float]) -> Figure:
    return Figure(name, np.array([[value, 1.0] for value in values]), len(values), len(values))


def _transducers(facts: Facts) -> list[str]:
    lines = _planted(facts, "pairs")
    cells, over = [], []
    for language, part in facts.items():
        if "over" in part:
            for row in part["rows"]:
                seconds = (f"{row[name]:.0f}" for name in ("training", "prediction"))
                cells.append([language, row["method"], certain(row["words"]), certain(row["sounds"]), *seconds])
            over += [[language, row["method"], certain(row)] for row in part["over"]]
    heads = ["language", "method", "word error ↓", "sound error ↓", "training, s ↓", "prediction, s ↓"]
    return [*lines, *table(heads, cells), "", *table(["language", "methods", "difference in word error"], over)]


def _strings(facts: Facts) -> list[str]:
    lines = _planted(facts, "strings")
    if "noun phrases" in facts:
        part = facts["noun phrases"]
        lines += [*table(["method", "error ↓"], [[name, share(error)] for name, error in part["errors"].items()]), ""]
        rows = [[name, certain(row), certain(part["over"].get(name))] for name, row in part["brackets"].items()]
        lines += table(["method", "F1 of phrases ↑", "grammar - method"], rows)
    return lines


def _settings(facts: Facts) -> str:
    names = ("states", "cycles", "smoothing", "weight", "cost")
    return ", ".join(f"{name} {facts[name]:g}" for name in names if name in facts)


SECTIONS: dict[str, Section] = {
    "pautomac": ("Perplexity on PAutomaC", _pautomac),
    "completion": ("Few strings: completion of Hankel matrices", _completion),
    "tags": ("The next tag", _tags),
    "hidden": ("Hidden Markov models", _hidden),
    "topics": ("Topics", _topics),
    "grammars": ("Grammars with hidden states", _grammars),
    "transducers": ("Transducers", _transducers),
    "strings": ("Grammars from strings without trees", _strings),
}
report = partial(sections, "Spectral learning", "", SECTIONS)

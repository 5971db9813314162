"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Section, certain, sections, share, table
from polyadic.sequences.hidden_markov import ESTIMATED

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

PERPLEXITIES = ("dev_perplexity", "perplexity")
NAMES = ("automaton", "singular vectors", "singular vectors and trigrams", "trigrams", "n-grams")


def _pautomac(facts: Facts) -> list[str]:
    cells = [
        [number, f"{row['true']:.3f}", *(_perplexity(row, name) for name in NAMES), row["rank"], round(row["seconds"])]
        for number, row in facts.items()
    ]
    return table(["problem", "truth", *NAMES, "rank", "seconds"], cells)


def _perplexity(facts: Facts, name: str) -> str:
    return f"{facts[name]:.3f} ({100 * (facts[name] / facts['true'] - 1):.2f} %)"


def _completion(facts: Facts) -> list[str]:
    cells = []
    for row in facts.values():
        names = list(row["rows"][0])
        errors = np.array([[row[name] for name in names] for row in row["rows"]])
        better = (errors < errors[:, :1]).sum(axis=0)[1:]
        unseen = "unknown" if row["least"] else "rare"
        cells.append([row["strings"], unseen, *map(share, errors.mean(axis=0)), *better, len(errors)])
    better_names = [f"{name} better in" for name in names[1:]]
    return table(["strings", "strings never seen are", *names, *better_names, "of"], cells)


def _tags(facts: Facts) -> list[str]:
    lines = []
    if "automaton" in facts:
        cells = [
            [name, f"{row['perplexity']:.2f}", share(row["accuracy"])]
            for name, row in facts["automaton"].items()
            if name != "stage_seconds"
        ]
        lines += table(["upos", "perplexity", "right"], cells)
    for column in ("upos", "xpos"):
        if column in facts:
            cells = [
                [row["method"], row["chosen"], *(f"{row[key]:.2f}" for key in PERPLEXITIES), share(row["accuracy"])]
                for row in facts[column]["rows"]
            ]
            lines += ["", *table([column, "chosen", "held out", "perplexity", "right"], cells)]
    return lines


def _hidden(facts: Facts) -> list[str]:
    rows = facts["recovery"]["errors"]
    cells = [[f"{row['sequences']:,}", share(row["emissions"]), share(row["moves"])] for row in rows]
    slopes = [f"{facts['recovery']['slopes'][name]:.2f}" for name in ("emissions", "moves")]
    lines = [*table(["sequences", "emissions", "moves"], [*cells, ["slope", *slopes]]), ""]
    cells = []
    for name, row in facts.items():
        if name.startswith("ends"):
            random = [row["log_probability"] for row in row["random"]]
            true = f"{row['true']:.4f}" if "true" in row else ""
            ends = [*(row[init]["log_probability"] for init in (*ESTIMATED, "best")), max(random), np.median(random)]
            figures = [f"{end:.4f}" for end in ends]
            cells.append([name.removeprefix("ends "), true, *figures, f"{row['random_better']} of {len(random)}"])
    heads = ["states", "truth", *ESTIMATED, "the likeliest", "best random", "median", "random better in"]
    return lines + table(heads, cells)


def _topics(facts: Facts) -> list[str]:
    rows = facts["recovery"]["errors"]
    cells = [[f"{row['documents']:,}", share(row["spectral"]), share(row["anchors"])] for row in rows]
    slopes = [f"{facts['recovery']['slopes'][name]:.2f}" for name in ("spectral", "anchors")]
    lines = [*table(["documents", "spectral", "anchors"], [*cells, ["slope", *slopes]]), ""]
    cells = [
        [
            row["method"],
            row["rank"],
            *map(share, (row["npmi"], row["diversity"])),
            *(f"{row[key]:.0f}" for key in ("perplexity", "seconds")),
        ]
        for row in facts["news"]["rows"]
    ]
    return lines + table(["", "topics", "NPMI", "diversity", "held-out perplexity", "seconds"], cells)


def _grammars(facts: Facts) -> list[str]:
    cells = [
        [
            name,
            row["sentences"],
            share(row["first"]),
            share(row["latent"]),
            certain(row["gain"]),
            share(row["best"]),
            _how(row),
        ]
        for name, row in facts["penn"]["parts"].items()
    ]
    for name, row in facts["penn"]["marginals"].items():
        figures = [row["sentences"], share(row["first"]), share(row["f1"]), certain(row["gain"]), ""]
        cells.append([f"no lists: marginals, {name}", *figures, _how(row)])
    headings = ["lists of", "sentences", "F of the first", "with hidden states", "gain", "best of the list", "chosen"]
    lines = table(headings, cells)
    if "over_other" in (row := facts["penn"]["marginals"]["split and merged"]):
        lines += ["", f"Split and merged less singular vectors, by marginals: {certain(row['over_other'])}."]
    return lines


def _how(facts: Facts) -> str:
    names = ("states", "cycles", "smoothing", "weight", "cost")
    return ", ".join(f"{name} {facts[name]:g}" for name in names if name in facts)


SECTIONS: dict[str, Section] = {
    "pautomac": ("Perplexity on PAutomaC", _pautomac),
    "completion": ("Few strings: completion of Hankel matrices", _completion),
    "tags": ("The next tag", _tags),
    "hidden": ("Hidden Markov models", _hidden),
    "topics": ("Topics", _topics),
    "grammars": ("Grammars with hidden states", _grammars),
}
report = partial(sections, "Spectral learning", "", SECTIONS)

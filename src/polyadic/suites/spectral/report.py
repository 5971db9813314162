"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.suites.markdown import share, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.suites.store import Facts

PERPLEXITIES = ("dev_perplexity", "perplexity")
NAMES = ("automaton", "singular vectors", "singular vectors and trigrams", "trigrams", "n-grams")


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Spectral learning", ""]
    writers: dict[str, tuple[str, Callable[[Facts], list[str]]]] = {
        "pautomac": ("Perplexity on PAutomaC", _pautomac),
        "completion": ("Few strings: completion of Hankel matrices", _completion),
        "tags": ("The next tag", _tags),
        "hidden": ("Hidden Markov models", _hidden),
        "topics": ("Topics", _topics),
        "grammars": ("Grammars with hidden states", _grammars),
    }
    for part, (title, write) in writers.items():
        if part in facts:
            lines += [f"## {title}", "", *write(facts[part]), ""]
    return "\n".join(lines)


def _pautomac(found: Facts) -> list[str]:
    told = [
        [number, f"{one['true']:.3f}", *(_perplexity(one, name) for name in NAMES), one["rank"], round(one["seconds"])]
        for number, one in found.items()
    ]
    return table(["problem", "truth", *NAMES, "rank", "seconds"], told)


def _perplexity(found: Facts, name: str) -> str:
    return f"{found[name]:.3f} ({100 * (found[name] / found['true'] - 1):.2f} %)"


def _completion(found: Facts) -> list[str]:
    told = []
    for one in found.values():
        names = list(one["rows"][0])
        errors = np.array([[row[name] for name in names] for row in one["rows"]])
        better = (errors < errors[:, :1]).sum(axis=0)[1:]
        unseen = "unknown" if one["least"] else "rare"
        told.append([one["strings"], unseen, *map(share, errors.mean(axis=0)), *better, len(errors)])
    better_names = [f"{name} better in" for name in names[1:]]
    return table(["strings", "strings never seen are", *names, *better_names, "of"], told)


def _tags(found: Facts) -> list[str]:
    lines = []
    if "automaton" in found:
        told = [
            [name, f"{one['perplexity']:.2f}", share(one["accuracy"])]
            for name, one in found["automaton"].items()
            if name != "stage_seconds"
        ]
        lines += table(["upos", "perplexity", "right"], told)
    for column in ("upos", "xpos"):
        if column in found:
            told = [
                [row["method"], row["chosen"], *(f"{row[key]:.2f}" for key in PERPLEXITIES), share(row["accuracy"])]
                for row in found[column]["rows"]
            ]
            lines += ["", *table([column, "chosen", "held out", "perplexity", "right"], told)]
    return lines


def _hidden(found: Facts) -> list[str]:
    rows = found["recovery"]["errors"]
    told = [[f"{one['sequences']:,}", share(one["emissions"]), share(one["moves"])] for one in rows]
    slopes = [f"{found['recovery']['slopes'][name]:.2f}" for name in ("emissions", "moves")]
    lines = [*table(["sequences", "emissions", "moves"], [*told, ["slope", *slopes]]), ""]
    told = []
    for name, one in found.items():
        if name.startswith("starts"):
            random = [row["log_probability"] for row in one["random"]]
            true = f"{one['true']:.4f}" if "true" in one else ""
            figures = [f"{one['spectral']['log_probability']:.4f}", f"{max(random):.4f}", f"{np.median(random):.4f}"]
            told.append([name.removeprefix("starts "), true, *figures, f"{one['random_better']} of {len(random)}"])
    return lines + table(["states", "truth", "spectral start", "best random", "median", "random better in"], told)


def _topics(found: Facts) -> list[str]:
    rows = found["recovery"]["errors"]
    told = [[f"{one['documents']:,}", share(one["spectral"]), share(one["anchors"])] for one in rows]
    slopes = [f"{found['recovery']['slopes'][name]:.2f}" for name in ("spectral", "anchors")]
    lines = [*table(["documents", "spectral", "anchors"], [*told, ["slope", *slopes]]), ""]
    told = [
        [
            one["method"],
            one["rank"],
            *map(share, (one["npmi"], one["diversity"])),
            *(f"{one[key]:.0f}" for key in ("perplexity", "seconds")),
        ]
        for one in found["news"]["rows"]
    ]
    return lines + table(["", "topics", "NPMI", "diversity", "held-out perplexity", "seconds"], told)


def _grammars(found: Facts) -> list[str]:
    told = [
        [
            name,
            one["sentences"],
            share(one["first"]),
            share(one["latent"]),
            _gain(one["gain"]),
            share(one["best"]),
            _how(one),
        ]
        for name, one in found["penn"]["parts"].items()
    ]
    whole = found["penn"]["marginals"]
    how = f"{whole['states']} states, smoothing {whole['smoothing']:g}, cost {whole['cost']:g}"
    told.append(
        [
            "no lists: marginals",
            whole["sentences"],
            share(whole["first"]),
            share(whole["f1"]),
            _gain(whole["gain"]),
            "",
            how,
        ]
    )
    headings = ["lists of", "sentences", "F of the first", "with hidden states", "gain", "best of the list", "chosen"]
    return table(headings, told)


def _how(found: Facts) -> str:
    return f"{found['states']} states, smoothing {found['smoothing']:g}, weight {found['weight']:g}"


def _gain(found: Facts) -> str:
    return f"{share(found['value'])} ({share(found['low'])} to {share(found['high'])})"

"""The figures of the report, from what the stages found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.sentences import STS2012
from polyadic.metrics.figures import Figure, correlation, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polyadic.core.stage_cache import Facts

BASELINE = "mean of words"
"""Reference method of the differences."""


def figures(part: str, facts: Facts) -> Any:
    """Return the figures of a part of the run, for JSON."""
    parts: dict[str, Callable[[Facts], Any]] = {
        "synthetic": lambda facts: [_medians(stage) for stage in facts.values()],
        **dict.fromkeys(("recovery", "fourth"), lambda facts: list(facts.values())),
        "printed": _variants,
        "figure4": _curves,
        "msrp": _paraphrases,
        "sts2012": _similarity,
    }
    return parts[part](facts) if part in parts else _labelled(part, facts)


def _medians(stage: Facts) -> Facts:
    """Return the medians over problems."""
    line: Facts = {"filters": stage["filters"], "samples": stage["samples"]}
    for method in ("cumulants", "alternation"):
        rows = stage[method]
        names = [name for name in (rows[0] if rows else {}) if name != "curve"]
        line[method] = {name: float(np.median([row[name] for row in rows])) for name in names} or None
    if stage["alternation"]:
        line["curve"] = stage["alternation"][0]["curve"]
    return line


def _variants(facts: Facts) -> list[Facts]:
    """Return the share of planted cases that each variant recovers, and how many more than the first."""
    lines = []
    for case, found in facts.items():
        shown: dict[str, Figure] = {}
        for variant, (one, best) in ((name, rates) for name, rates in found.items() if name != "stage_seconds"):
            rows = np.stack([np.array(best, float), np.ones(len(best))], axis=1)
            shown[variant] = Figure(variant, rows, len(best), len(best))
            low, high = shown[variant].interval()
            gap = difference(shown[variant], next(iter(shown.values())))._asdict()
            figure = {"value": shown[variant].value, "low": low, "high": high}
            lines.append({"case": case, "variant": variant, "one": float(np.mean(one)), "best": figure, "gap": gap})
    return lines


def _curves(facts: Facts) -> Facts:
    """Return medians over problems, errors by sweep, and the exponent of the time in the number of filters."""
    lines = [_medians(stage) for stage in facts.values()]
    same = min(line["samples"] for line in lines if line["filters"] == 1)
    stages = sorted((s for s in facts.values() if s["samples"] == same), key=lambda stage: stage["filters"])
    exponents = {}
    for method in ("cumulants", "alternation"):
        log_time = np.log([[row["seconds"] for row in stage[method]] for stage in stages])  # (L, problems)
        log_size = np.log([stage["filters"] for stage in stages])
        slopes = np.polyfit(log_size, log_time, 1)[0]
        drawn = np.random.default_rng(0).integers(0, len(slopes), (1000, len(slopes)))
        low, high = np.percentile(slopes[drawn].mean(axis=1), (2.5, 97.5))
        exponents[method] = {"value": float(slopes.mean()), "low": float(low), "high": float(high)}
    wide = max((s for s in facts.values() if s["filters"] == 2), key=lambda stage: stage["samples"])
    curves = {method: wide[method][0]["curve"] for method in ("cumulants", "alternation")}
    return {"lines": lines, "exponents": exponents, "curves": curves}


def _labelled(part: str, folds: Facts) -> list[Facts]:
    methods = next(iter(folds.values()))
    methods = [name for name in methods if name != "stage_seconds"]
    made, chosen = {}, {}
    for name in methods:
        right = np.concatenate([fold[name]["right"] for fold in folds.values()]).astype(float)
        made[name] = Figure(f"{part} {name}", np.stack([right, np.ones(len(right))], axis=1), len(right), len(right))
        chosen[name] = [fold[name]["settings"] for fold in folds.values()]
    held_out = next(iter(folds.values()))
    lines = [{**_line(name, made), "chosen": chosen[name]} for name in methods]
    return [{**line, "held_out": held_out[line["name"]].get("held_out")} for line in lines]


def _paraphrases(facts: Facts) -> list[Facts]:
    gold = np.array(facts["gold"]["msrp"])
    methods = {name: np.array(part["predicted"]["msrp"]) for name, part in _methods(facts)}
    methods["always yes"] = np.ones(len(gold))
    right, f1 = {}, {}
    for name, guess in methods.items():
        n = len(gold)
        right[name] = Figure(f"msrp {name}", np.stack([guess == gold, np.ones(n)], axis=1).astype(float), n, n)
        f1[name] = Figure(f"msrp F {name}", np.stack([2 * guess * gold, guess + gold], axis=1), n, n)
    settings = {name: part["settings"] for name, part in _methods(facts)}
    return [{**_line(name, right), "F": _line(name, f1)["value"], "chosen": settings.get(name, {})} for name in methods]


def _similarity(facts: Facts) -> list[Facts]:
    tests: dict[str, list[Facts]] = {}
    for stage in facts.values():
        for name in stage["gold"]:
            kind = f"{name}, ten folds" if len(stage["gold"][name]) < STS2012["test"][name] else name
            tests.setdefault(kind, []).append({**stage, "test": name})
    lines = []
    for kind, stages in tests.items():
        gold = np.concatenate([stage["gold"][stage["test"]] for stage in stages])
        for what in ("predicted", "cosine"):
            made = {}
            for name, part in _methods(stages[0]):
                if what not in part:
                    continue
                values = np.concatenate([stage["methods"][name][what][stage["test"]] for stage in stages])
                made[name] = Figure(
                    f"{kind} {name}", np.stack([gold, values], axis=1), len(gold), len(gold), statistic=correlation
                )
            lines += [{"set": kind, "by": what, **_line(name, made)} for name in made]
    return lines


def _methods(facts: Facts) -> Iterable[tuple[str, Facts]]:
    return ((name, part) for name, part in facts["methods"].items() if name != "stage_seconds")


def _line(name: str, made: dict[str, Figure]) -> Facts:
    figure = made[name]
    low, high = figure.interval()
    line = {"name": name, "value": figure.value, "low": low, "high": high}
    if name != BASELINE and BASELINE in made:
        gain = difference(figure, made[BASELINE])
        line["gain"] = {"value": gain.value, "low": gain.low, "high": gain.high}
    return line

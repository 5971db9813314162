"""Learning curves of the experiment on syntax, and a treebank that other tests use."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.syntax import parsing
from polyadic.syntax.trees import Tree


def treebank(count, seed):
    """Make sentences: a verb below the root, each noun below it, each determiner below the noun that follows."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        before, after = (2 * int(n) for n in rng.integers(1, 3, size=2))
        tags = ("DT", "NN") * (before // 2) + ("VB",) + ("DT", "NN") * (after // 2)
        verb = before + 1
        kinds = {"DT": "det", "NN": "dep", "VB": "root"}
        heads = [{"DT": at + 1, "NN": verb, "VB": 0}[tag] for at, tag in enumerate(tags, 1)]
        words = tuple(f"{tag.lower()}{rng.integers(5)}" for tag in tags)
        none = ("_",) * len(tags)
        relations = tuple(kinds[tag] for tag in tags)
        found.append(Tree(words, none, tags, tags, none, np.array(heads, np.int32), relations, none, none))
    return found


def parts(part, *, root=None):
    """Stand for the treebank."""
    del root
    return treebank({"train": 30, "dev": 10, "test": 12}[part], {"train": 0, "dev": 1, "test": 2}[part])


def test_a_curve(monkeypatch):
    """Every size has a row with both parsers; sizes beyond the treebank are all of it, once."""
    monkeypatch.setattr(parsing, "web_treebank", parts)
    rows = parsing.curve([5, 30, 100], seed=0)
    assert [row["sentences"] for row in rows] == [5, 30]
    for row in rows:
        for side in ("with", "without"):
            uas = row[side]["test"][0]
            assert uas["name"] == "UAS"
            assert uas["low"] <= uas["value"] <= uas["high"]
        gap = row["with"]["test"][0]["value"] - row["without"]["test"][0]["value"]
        assert row["worth"]["UAS"]["value"] == pytest.approx(gap)
    assert rows[1]["with"]["test"][0]["value"] > 0.95
    assert rows[1]["with"]["losses"][-1] < rows[1]["with"]["losses"][0]

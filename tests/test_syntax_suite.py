"""The suite of syntax: rows of its tables, and its command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app
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


def test_the_command(tmp_path, monkeypatch):
    """It writes tables and a picture, keeps stages, and refuses parts that there are not."""
    monkeypatch.setattr(parsing, "web_treebank", parts)
    out = tmp_path / "out"
    arguments = ["syntax", "--out", str(out), "--parts", "parsing", "--sizes", "6,12", "--seeds", "1"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "| 12 | 0 | with the tensor | 5 |" in (out / "report.md").read_text()
    assert (out / "parsing.png").stat().st_size
    monkeypatch.setattr(parsing, "compared", lambda *_, **__: pytest.fail("learned again"))
    again = CliRunner().invoke(app, [*arguments, "--json"])
    assert json.loads(again.stdout)["parsing"] == json.loads((out / "report.json").read_text())["parsing"]
    for more, said in (
        (["--parts", "parse"], "got parse"),
        (["--few", "0"], "few must be a whole number of at least 1; got 0"),
        (["--sizes", "0"], "sizes must be a whole number of at least 1; got 0"),
    ):
        wrong = CliRunner().invoke(app, [*arguments[:3], *more])
        assert wrong.exit_code == 1
        assert said in " ".join(wrong.stderr.split())

"""``polyadic parse constituents``: grammars on the command line."""

import importlib
from functools import partial

import numpy as np
import pytest

from helpers import in_json, invoke
from polyadic import load
from polyadic.datasets.grammars import english_tree
from polyadic.metrics.brackets import bracket_score, match_brackets
from polyadic.syntax.brackets import bracketing, read_phrases

METHODS = {"split-merge": ["--cycles", "1"], "spectral": ["--states", "2", "--smoothing", "5"], "annotated": []}


call = partial(invoke, "parse", "constituents")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder with trees to learn from, and others."""
    where = tmp_path_factory.mktemp("trees")
    trees = [english_tree(np.random.default_rng(seed)) for seed in range(90)]
    (where / "train.mrg").write_text("".join(f"( {tree})\n" for tree in trees[:70]))
    (where / "test.mrg").write_text("".join(f"{tree}\n" for tree in trees[70:]))
    for method, options in METHODS.items():
        words = "train", where / "train.mrg", "--out", where / method, "--method", method, *options
        assert in_json("parse", "constituents", *words)["trees"] == 70
    return where


@pytest.mark.parametrize("method", METHODS)
def test_what_is_learned_is_applied_and_judged(folder, method):
    """Trees written are those of the model that is loaded, and figures those of these trees."""
    gold = list(read_phrases(folder / "test.mrg"))
    (folder / "test.txt").write_text("".join(" ".join(tree.words()) + "\n" for tree in gold))
    assert call("apply", folder / method, folder / "test.txt", "--out", folder / "parsed.mrg").exit_code == 0
    parsed = list(read_phrases(folder / "parsed.mrg"))
    parser = load(folder / method)
    assert parsed == [parser.parse(tree.words()) for tree in gold]
    score = bracket_score(match_brackets(*map(bracketing, pair)) for pair in zip(gold, parsed, strict=True))
    judged = "parse", "constituents", "evaluate", folder / method, folder / "test.mrg"
    found = in_json(*judged)
    assert found["f1"] == found["figure"]["value"] == score.f1 > 0.7
    assert found["figure"]["low"] <= score.f1 <= found["figure"]["high"]
    assert in_json(*judged, "--tagged")["tagging"] == 1


def test_lines_of_words(folder):
    """Empty lines stay, tags that are given are kept, brackets are written as treebanks do."""
    done = call("apply", folder / "split-merge", "-", stdin="Ann sees ( Bob ) .\n\nAnn sings .\n")
    one, none, other = done.stdout.splitlines()
    assert "-LRB-)" in one
    assert none == ""
    assert other == "(S (NP (NNP Ann)) (VP (VBZ sings)) (. .))"
    tagged = call("apply", folder / "annotated", "-", "--tagged", stdin="The/DT 1/2/NN sings/VBZ ./.\n")
    assert tagged.stdout == "(S (NP (DT The) (NN 1/2)) (VP (VBZ sings)) (. .))\n"


def test_what_does_not_fit_is_said(folder):
    """In a sentence that names it."""
    (folder / "none.mrg").write_text("( (-NONE- *))\n")
    (folder / "open.mrg").write_text("(S (NN dog)\n")
    model, new = folder / "annotated", folder / "new"
    for words, said in (
        (("train", folder / "none.mrg", "--out", new), "has no trees"),
        (("train", folder / "open.mrg", "--out", new), "never closed"),
        (("train", folder / "train.mrg", "--out", model), "exists"),
        (
            ("train", folder / "train.mrg", "--out", new, "--states", "2"),
            "--states is not used by --method split-merge",
        ),
        (("evaluate", model, folder / "none.mrg"), "has no trees"),
        (("apply", folder, folder / "test.mrg"), "contains no output of polyadic"),
    ):
        done = call(*words)
        assert done.exit_code == 1
        assert said in " ".join(done.stderr.split())
    assert not new.exists()
    untagged = call("apply", model, "-", "--tagged", stdin="Ann/NNP sings\n")
    assert (
        "line 1: each word must be followed by a slash and a tag, as in dog/NN, because --tagged is set; got 'sings'"
        in untagged.stderr
    )


def test_ctrl_c_keeps_what_was_reached(folder, monkeypatch):
    """The sweeps that were whole are a grammar."""
    run = importlib.import_module("polyadic.core.solvers.run")
    record, seen = run._record, []

    def stopping(*arguments):
        record(*arguments)
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "_record", stopping)
    done = call("train", folder / "train.mrg", "--out", folder / "stopped", "--cycles", "2")
    assert done.exit_code == 130
    assert load(folder / "stopped").interrupted_
    assert load(folder / "stopped").parse(["Ann", "sings", "."]).words() == ["Ann", "sings", "."]

"""Figures of the spectral experiments, on data small enough for a test."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.bouchard2015.topics import Collection
from experiments.spectral import grammars, hidden, string_grammars, topics, transducers
from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.grammar import Parse
from polyadic.syntax.latent_pcfg import LatentPCFG

pytestmark = pytest.mark.filterwarnings("ignore:.*estimated from noise")


def test_next_tags_are_those_of_all_methods(monkeypatch):
    """Of a chain that is planted every method knows more than how often tags occur, and at most what the chain does."""
    chain = hidden.planted_chain(3, 5, seed=0)
    x = hidden.drawn(chain, 600, 6, seed=0)
    tags = [tuple("abcde"[k] for k in row) for row in x.split(x.symbols)]
    parts = {"train": tags[:400], "dev": tags[400:500], "test": tags[500:]}
    monkeypatch.setattr(hidden, "web_treebank", lambda part, **_: [SimpleNamespace(upos=row) for row in parts[part]])
    found = hidden.next_tags(states=(3, 9), seeds=1, max_iter=40)
    assert (found["symbols"], found["tokens"]) == (6, 700)
    assert [row["method"] for row in found["rows"]] == ["ngrams", "operators", "spectral", "random"]
    held = [symbol for row in parts["test"] for symbol in (*row, hidden.END)]
    shares = np.unique(held, return_counts=True)[1] / len(held)
    for row in found["rows"]:
        assert 2 < row["perplexity"] < np.exp(-(shares * np.log(shares)).sum())
        assert shares.max() < row["accuracy"] < 1
    assert "3 states" in found["rows"][2]["chosen"]  # there are not 9 symbols


def test_news_are_judged(monkeypatch):
    """Each method and number of topics has its row."""
    rng = np.random.default_rng(0)
    words = tuple(f"word{k}" for k in range(12))
    true = np.kron(np.eye(3), np.ones(4)) / 4
    table = topics.planted_documents(300, topics=true, alpha=np.ones(3) / 9, length=12, seed=0)
    texts = [list(rng.permutation(np.repeat(words, row.astype(int)))) for row in table.toarray()]
    monkeypatch.setattr(topics, "bbc", lambda _: Collection(table, words, texts, None))
    monkeypatch.setattr(topics, "TOP", 4)
    found = topics.news((3,))
    assert (found["documents"], found["held_out"]) == (240, 60)
    for row in found["rows"]:
        assert row["diversity"] == 1
        assert row["npmi"] > 0.2
        assert row["perplexity"] < 8


def test_both_logarithms_count():
    """Without weight the tree is that of the hidden states, with a large one that of the parser."""
    trees = [parse_phrase(f"(S (A (B ({t} w))) (A (B ({t} w))))") for t in "XY"] * 10
    mixed = parse_phrase("(S (A (B (X w))) (A (B (Y w))))")
    model = LatentPCFG(2, smoothing=5.0).fit(trees)
    lists = [(trees[0], [Parse(mixed, 0.0), Parse(trees[0], -5.0)])]
    assert np.isfinite(model.log_probability(mixed))
    assert grammars.reranked(model, lists, (0.0, 1e3)) == {0.0: [1], 1e3: [0]}


def test_lists_are_judged(monkeypatch):
    """Hidden states find what a plain grammar cannot know: that halves agree."""
    trees = [parse_phrase(f"(S (A (B ({t} w))) (A (B ({t} w))))") for t in "XY"] * 10
    monkeypatch.setattr(grammars, "penn_parts", lambda **_: (trees, trees[:4], trees[:6]))
    mixed = parse_phrase("(S (C (D (X w))) (A (B (Y w))))")
    monkeypatch.setattr(
        grammars, "listed", lambda _, some, __: [(tree, [Parse(mixed, 0.0), Parse(tree, -1.0)]) for tree in some]
    )
    whole = grammars.grammars((2,), smoothing=(1.0,), marginal_states=(2,), cycles=(0, 1), uses=(0.1,))
    for part in whole["parts"].values():
        assert part["first"] < part["latent"] == part["best"] == 1
        assert part["gain"]["low"] > 0
        assert part["sentences"] == 6
    assert whole["marginals"]["singular vectors"]["f1"] == 1
    assert whole["marginals"]["split and merged"]["f1"] == 1
    assert whole["marginals"]["split and merged"]["over_other"]["value"] == 0


def test_pronunciations_are_judged(monkeypatch, tmp_path):
    """Words of one sound for each letter are learned without error; a word with an unknown letter counts as wrong."""
    words = ["ab", "ba", "aab", "bb", "a", "b"] * 5
    for part, more in (("train", []), ("test", ["c"])):
        (tmp_path / part).mkdir()
        rows = [f"{word}\t{' '.join(word.upper())}" for word in words + more]
        (tmp_path / part / f"xx_{part}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    facts = transducers.sounds("xx", rank=2, place=tmp_path)
    first = facts["rows"][0]
    assert (first["method"], first["words"]["used"]) == ("EM", 31)
    assert first["words"]["value"] == pytest.approx(1 / 31)
    assert first["sounds"]["value"] == pytest.approx(1 / 56)
    assert facts["over"][-1]["value"] <= 0


def test_phrases_without_trees_are_judged(monkeypatch):
    """Branches to the right are all that right-branching noun phrases have."""
    trees = [
        parse_phrase("(S (NP (DT a) (NX (JJ old) (NN dog))) (VP (VBZ barks)))"),
        parse_phrase("(S (NP (NN dogs)) (VP (VBP see) (NP (DT a) (NN cat))))"),
    ] * 10
    monkeypatch.setattr(string_grammars, "penn_parts", lambda **_: (trees, trees, trees))
    monkeypatch.setattr(string_grammars, "PENALTIES", (1e-3,))
    facts = string_grammars.phrases(ranks=(2,))
    assert facts["phrases"] == {"train": 30, "test": 30, "bracketed": 10}
    assert facts["brackets"]["right-branching"]["value"] == 1
    assert facts["brackets"]["left-branching"]["value"] == 0
    assert facts["errors"]["training frequencies"] == 0


@pytest.mark.parametrize("module", [transducers, string_grammars])
def test_planted_errors_are_measured(module):
    """With more data the error is smaller."""
    few, many = (module.recovery(n, seed=0) for n in (50, 1000))
    name = next(iter(few)) if module is transducers else "grammar, rank 2"
    assert 0 < many[name] < few[name]

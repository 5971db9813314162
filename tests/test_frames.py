"""Answers as data frames."""

import numpy as np
import pandas as pd
import pytest

from polyadic import Corpus, Embedding, InputError, WordSenses, count, frame, train
from polyadic.core.frames import records
from polyadic.embedding import components
from polyadic.topics.text_topics import TextTopics

VECTORS = Embedding(["bank", "money", "river"], [[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])


def test_neighbours_and_components():
    one = frame(VECTORS.neighbours("bank", top=2))
    assert one.to_dict("list") == {"word": ["money", "river"], "cosine": pytest.approx([2 / 5**0.5, 1 / 5**0.5])}
    both = frame({word: VECTORS.neighbours(word, top=1) for word in ("bank", "river")})
    assert both[["query", "word"]].to_numpy().tolist() == [["bank", "money"], ["river", "bank"]]
    found = frame(components(VECTORS, top=1))
    assert found[["column", "rank", "word", "value"]].to_numpy().tolist() == [
        [0, 1, "river", 4.0],
        [1, 1, "money", 3.0],
    ]


def test_counts_are_a_row_a_tuple():
    counts = count(Corpus.build(["a b c", "a b"], min_count=1), order=2, width=1)
    found = {frozenset(row[:2]): row[2] for row in frame(counts).itertuples(index=False)}
    assert found == {frozenset("ab"): 2, frozenset("bc"): 1}


def test_topics_have_their_words():
    documents = ["moon rocket orbit", "rocket moon", "god temple myth", "temple god"] * 5
    model = TextTopics(n_components=2, seed=0, min_count=1).fit(documents)
    best = frame(model).query("rank == 1")
    assert set(best["word"]) <= {"moon", "rocket", "god", "temple"}
    assert len(best) == 2
    assert best["weight"].tolist() == pytest.approx(model.word_weights_.max(axis=1))


def test_senses_and_lines(tmp_path):
    texts = [f"bank {a} {b} {c}" for a in "abcd" for b in "efgh" for c in "ijkl"] * 4
    corpus = Corpus.build(texts, tmp_path / "corpus", min_count=1)
    found = WordSenses.learn(train(corpus, method="ppmi-svd", rank=4), corpus).senses("bank", known=1, top=3)
    table = frame(found)
    assert list(table) == ["word", "sense", "share", "rank", "substitute"]
    assert table.groupby("sense")["share"].first().sum() == pytest.approx(1)
    lines = frame(corpus.lines.find("bank", "a", top=5))
    assert lines["word"].tolist() == ["bank"] * 5
    assert {"document", "left", "right"} <= set(lines)


def test_what_has_no_rows_is_told():
    for answer in (3, "text", [(1, 2, 3)], [object()], np.ones(3)):
        with pytest.raises(InputError, match="cannot be converted to a table"):
            frame(answer)
    assert list(records([])) == []
    assert frame([]).equals(pd.DataFrame())

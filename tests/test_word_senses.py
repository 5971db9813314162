"""Laws of the senses of words: planted ones are found again, one sense is one, and what cannot be told is refused."""

import contextlib
import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from helpers import invoke
from polyadic import Corpus, Embedding, InputError, WordSenses, train
from polyadic.words import occurrences

TOPICS, WORDS, LENGTH = 12, 25, 9


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Twelve topics of words of their own; "bank" stands in two of them, "violin" in one, "the" in all."""
    rng = np.random.default_rng(0)
    lines = []
    for n in range(6_000):
        topic = n % TOPICS
        words = [f"w{topic:02}x{k:02}" for k in rng.integers(0, WORDS, LENGTH)]
        extra = {0: ["bank"], 1: ["bank"], 2: ["violin"]}.get(topic, [])
        lines.append(" ".join(rng.permutation([*words, "the", *extra])))
    return Corpus.build(lines, tmp_path_factory.mktemp("corpus") / "corpus", min_count=1)


@pytest.fixture(scope="module")
def vectors(corpus):
    return train(corpus, method="ppmi-svd", rank=TOPICS)


@pytest.fixture(scope="module")
def space(corpus, vectors):
    return WordSenses.learn(vectors, corpus)


def test_planted_senses_are_found(space, corpus):
    """A word of two topics has two senses of equal share, whose substitutes and lines are of one topic each."""
    found = space.senses("bank")
    assert found.occurrences == 1_000
    assert found.agreement == 1
    assert found.sure
    assert [sense.share for sense in found.senses] == pytest.approx([0.5, 0.5], abs=0.02)
    topics = []
    for sense in found.senses:
        (topic,) = {word[:3] for word in sense.substitutes}
        lines = [corpus.line(position) for position in sense.positions]
        assert np.mean([topic in line.text for line in lines]) > 0.98
        assert all(line.word == "bank" for line in lines)
        topics.append(topic)
    assert sorted(topics) == ["w00", "w01"]


def test_one_sense_is_one(space):
    """A word of one topic has one sense, and substitutes of that topic."""
    for word in ("violin", "w05x03", "w11x24"):
        found = space.senses(word)
        assert len(found.senses) == 1, word
        assert found.senses[0].share == 1
    assert all(word.startswith("w02") for word in space.senses("violin").senses[0].substitutes)


@pytest.mark.parametrize("ratio", [1, 4])
def test_words_taken_for_one_are_told_apart(space, corpus, ratio):
    """Two words of different topics, taken for one, are divided again; halves of one word are not."""
    ids = np.asarray(corpus.ids)
    one, other, third = (np.flatnonzero(ids == corpus.vocabulary[word]) for word in ("w03x00", "w07x00", "w03x01"))
    other = other[: len(one) // ratio]
    labels = space.divide(np.concatenate([one, other]), ["w03x00", "w07x00"])
    truth = np.repeat([0, 1], [len(one), len(other)])
    assert adjusted_rand_score(truth, labels) > 0.95
    assert space.divide(one, ["w03x00"]).max() == 0
    assert space.divide(np.concatenate([one, third]), ["w03x00", "w03x01"]).max() == 0


def test_other_text_is_assigned_as_the_text_itself(space, corpus):
    """Each occurrence goes to its sense again when its words are given; without a word that is known, to none."""
    found = space.senses("bank")
    edges, words = corpus.sentences[corpus.documents], corpus.vocabulary.words
    for number, sense in enumerate(found.senses):
        contexts = []
        for at in sense.positions.tolist():
            document = np.searchsorted(edges, at, side="right")
            start, end = edges[document - 1], edges[document]
            contexts.append(([words[k] for k in corpus.ids[start:at]], [words[k] for k in corpus.ids[at + 1 : end]]))
        assert (space.assign(found, contexts) == number).all()
    assert space.assign(found, [([], []), (["unheard"], ["bank"])]).tolist() == [-1, -1]
    assert space.assign(found, []).shape == (0,)


def test_the_same_seed_gives_the_same_senses(space, corpus, vectors):
    """Nothing depends on anything but the text, the vectors and the seed."""
    again = WordSenses.learn(vectors, corpus)
    assert np.array_equal(again.map, space.map)
    for found, other in zip(space.senses("bank", seed=3).senses, again.senses("bank", seed=3).senses, strict=True):
        assert found.substitutes == other.substitutes
        assert np.array_equal(found.positions, other.positions)
        assert np.array_equal(found.vector, other.vector)


def test_the_map_solves_its_least_squares():
    """The gradient of the weighted squares is zero for one of the ridges, the one that foretells left out rows best."""
    rng = np.random.default_rng(0)
    M, U, weights = rng.normal(size=(40, 12)), rng.normal(size=(40, 5)), rng.uniform(1, 3, 40)
    U = (U + M[:, :5]) / np.linalg.norm(U + M[:, :5], axis=1)[:, None]
    A, fit = occurrences._ridge(M, U, weights)
    scale = np.trace(M.T @ (M * weights[:, None])) / 12

    def solved(rows, ridge):
        G = M[rows].T @ (M[rows] * weights[rows, None])
        return np.linalg.solve(G + ridge * scale * np.eye(12), M[rows].T @ (U[rows] * weights[rows, None]))

    errors, cosines = [], []
    for ridge in occurrences.RIDGES:
        others = [np.delete(np.arange(40), row) for row in range(40)]
        foretold = np.stack([M[row] @ solved(rest, ridge) for row, rest in enumerate(others)])
        errors.append((weights * ((foretold - U) ** 2).sum(axis=1)).sum())
        cosines.append(np.mean((foretold * U).sum(axis=1) / np.linalg.norm(foretold, axis=1)))
    best = int(np.argmin(errors))
    assert pytest.approx(solved(np.arange(40), occurrences.RIDGES[best]), abs=1e-10) == A
    assert fit == pytest.approx(cosines[best])


def test_the_map_is_learned_from_mean_contexts(space, corpus, vectors):
    """It is that of the mean contexts of frequent words and their vectors."""
    vocabulary = corpus.vocabulary
    rows = np.flatnonzero(vocabulary.counts >= occurrences.MIN_OCCURRENCES)
    positions, words = occurrences._sampled(np.asarray(corpus.ids), rows, np.random.default_rng(0))
    M, usual = space._mean_contexts(positions, words, len(rows))
    U = vectors.unit[[vectors.index[vocabulary.words[row]] for row in rows]]
    A = occurrences._ridge(M, U, np.log(vocabulary.counts[rows]))[0]
    assert pytest.approx(space.map, abs=1e-4) == A / np.repeat(usual, vectors.rank)[:, None]
    around = space._around(positions)
    assert usual == pytest.approx([space._sums(around, width)[1].mean() for width in (10, 2)])
    assert space.fit > 0.9


def test_contexts_are_sums_around_a_position(space, corpus, vectors):
    """A slow twin adds up the weighted vectors of the words around, in the document, without the word itself."""
    ids, vocabulary = np.asarray(corpus.ids), corpus.vocabulary
    share = vocabulary.counts / vocabulary.counts.sum()
    edges = corpus.sentences[corpus.documents]
    positions = np.flatnonzero(ids == vocabulary["bank"])[:20]
    around = space._around(positions)
    sums, weights = space._sums(np.where(around == vocabulary["bank"], -1, around), 3)
    for row, position in enumerate(positions):
        document = np.searchsorted(edges, position, side="right") - 1
        total, weight = np.zeros(vectors.rank), 0.0
        for other in range(position - 3, position + 4):
            if edges[document] <= other < edges[document + 1] and ids[other] != vocabulary["bank"]:
                w = occurrences.COMMON / (occurrences.COMMON + share[ids[other]])
                total += w * vectors.unit[vectors.index[vocabulary.words[ids[other]]]]
                weight += w
        assert sums[row] == pytest.approx(total, abs=1e-5)
        assert weights[row] == pytest.approx(weight, rel=1e-5)


def test_what_is_learned_stays_with_the_corpus(space, corpus, vectors, monkeypatch):
    """It is learned once and the same afterwards; other vectors have their own; what is damaged is told or harmless."""
    kept = WordSenses.learn(vectors, corpus, keep=True)
    (file,) = corpus.path.glob("senses-*")
    other = WordSenses.learn(Embedding(vectors.words, -vectors.vectors), corpus, keep=True)
    assert len([*corpus.path.glob("senses-*")]) == 2
    assert not np.array_equal(other.mean, kept.mean)
    monkeypatch.setattr(occurrences, "_ridge", None)  # nothing is learned from here on
    again = WordSenses.learn(vectors, corpus, keep=True)
    for each in (kept, again):
        assert np.array_equal(each.map, space.map)
        assert np.array_equal(each.mean, space.mean)
        assert each.fit == space.fit
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    cut = [whole[:n] for n in (0, 7, 100, len(whole) - 1)]
    for damaged in [
        *cut,
        *(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :] for at in rng.integers(0, len(whole), 40)),
    ]:
        file.write_bytes(damaged)
        with contextlib.suppress(InputError):
            assert np.array_equal(WordSenses.learn(vectors, corpus, keep=True).map, space.map)
    with pytest.raises(InputError, match=r"is damaged: .*; delete the file to recompute it"):
        WordSenses.learn(vectors, corpus, keep=True)
    for path in corpus.path.glob("senses-*"):
        path.unlink()


def test_too_little_text(corpus, vectors, space):
    """Unknown words, rare words and a corpus of other words are refused; of few occurrences nothing is sure."""
    small = Corpus.build(["a b c"] * 60 + ["rare b c"] * 10, min_count=1)
    words = Embedding(["a", "b", "c", "rare"], np.eye(4))
    little = WordSenses.learn(words, small)
    with pytest.raises(
        InputError, match="'rare' must occur at least 50 times in the corpus to find its senses; got 10 occurrences"
    ):
        little.senses("rare")
    assert not little.senses("a", known=1).sure
    with pytest.raises(InputError, match="is not in the vocabulary of 303 words"):
        space.senses("banc")
    with pytest.raises(InputError, match="0 words in common"):
        WordSenses.learn(Embedding(["x", "y"], np.eye(2)), small)


def test_lines_that_are_shown_differ():
    """A help page says the same on many pages; of a sense it is shown once."""
    said = ["press the bank key", "press the bank key", "press the red bank key", "money lies in a bank", "a bank pays"]
    text = Corpus.build(said, min_count=1, stop_words="none")
    places = np.flatnonzero(text.ids == text.vocabulary.words.index("bank"))
    sense = occurrences.SenseOfWord(1.0, (), places, np.ones(1))
    space = WordSenses(Embedding(["bank", "key"], np.eye(2)), text, np.zeros((0, 0)), np.zeros(0), 0.0)
    assert [line.text for line in space.lines(sense, 2)] == [said[0], said[3]]
    assert [line.text for line in space.lines(sense, 9)] == [said[0], said[3], said[4]]


def test_senses_on_the_command_line(corpus, vectors, tmp_path):
    """The verb finds the corpus of the vectors, shows senses with lines, and answers in JSON."""
    vectors.meta = {"trained": {"source": str(corpus.path)}}
    vectors.save(tmp_path / "vectors", overwrite=True)

    def run(*arguments):
        return invoke("senses", tmp_path / "vectors", *arguments)

    done = run("bank", "violin", "--lines", "1")
    assert done.exit_code == 0, done.output
    table, lines = (part.splitlines() for part in done.stdout.split("\n\n"))
    assert [row.split("\t")[:2] for row in table[1:]] == [["bank", "1"], ["bank", "2"], ["violin", "1"]]
    assert all(row.split("\t")[0] in row.split("\t")[3] for row in lines[1:])
    found = json.loads(run("bank", "banc", "--json").stdout)
    assert [len(sense["lines"]) for sense in found["senses"]["bank"]["senses"]] == [2, 2]
    assert list(found["refused"]) == ["banc"]
    topics = [sense["words"][0][:3] for sense in found["senses"]["bank"]["senses"]]
    (tmp_path / "lines.txt").write_text("w00x01 bank w00x02.\nThe bank w01x03\n\nnothing\nBank\n", encoding="utf-8")
    told = json.loads(run("bank", "--assign", tmp_path / "lines.txt", "--json").stdout)
    given = [topics.index(topic) + 1 for topic in ("w00", "w01")]
    assert [line["sense"] for line in told["lines"]] == [*given, None, None]
    assert [sense["words"] for sense in told["senses"]] == [s["words"] for s in found["senses"]["bank"]["senses"]]
    shown = run("bank", "--assign", tmp_path / "lines.txt")
    words = " ".join(told["senses"][given[0] - 1]["words"][:4])
    assert shown.stdout.splitlines()[1].split("\t") == [str(given[0]), words, "w00x01 bank w00x02."]
    assert "lines without 'bank': 1 of 4" in shown.stderr
    assert "--assign requires exactly one word" in run("bank", "violin", "--assign", tmp_path / "lines.txt").stderr
    vectors.meta = {}
    vectors.save(tmp_path / "vectors", overwrite=True)
    assert "--corpus is required" in run("bank").output
    assert run("bank", "--corpus", corpus.path).exit_code == 0
    assert "neighbours" in run("bank", "--number", "2").output

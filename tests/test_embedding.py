"""Laws of word vectors: neighbours, phrases, analogies, unknown words, and the folder they are saved in."""

import json
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.embedding import Embedding, components, components_of, unit_rows
from strategies import embeddings

ROYAL = Embedding(
    ["man", "woman", "king", "queen", "apple"], [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
)


def owner(array):
    return owner(array.base) if isinstance(array, np.ndarray) else array


def cosine(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return a @ b / lengths if lengths else 0.0


def brute_force(embedding, vector, top, exclude):
    scores = {word: cosine(vector, embedding.vectors[row]) for word, row in embedding.index.items()}
    return sorted((score for word, score in scores.items() if word not in exclude), reverse=True)[:top], scores


@given(embeddings(min_words=2), st.data())
def test_neighbours_agree_with_brute_force(embedding, data):
    """The neighbours of a word are the words of largest cosine, without the word, in falling order."""
    word, top = data.draw(st.sampled_from(embedding.words)), data.draw(st.integers(1, 15))
    found = embedding.neighbours(word, top=top)
    best, scores = brute_force(embedding, embedding[word], top, {word})
    assert len(found) == min(top, len(embedding) - 1)
    assert word not in dict(found)
    np.testing.assert_allclose([score for _, score in found], best, atol=1e-5)
    np.testing.assert_allclose([scores[w] for w, _ in found], best, atol=1e-5)
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)


@given(embeddings(min_words=3, min_rank=2, largest=100), st.data())
def test_neighbours_of_a_phrase(embedding, data):
    """Several words mean their phrase, and none of them is an answer."""
    words = data.draw(st.lists(st.sampled_from(embedding.words), min_size=2, max_size=3))
    found = embedding.neighbours(*words, top=len(embedding))
    best, scores = brute_force(embedding, embedding.phrase(*words), len(embedding), set(words))
    assert not set(words) & set(dict(found))
    np.testing.assert_allclose([scores[w] for w, _ in found], best, atol=1e-5)
    assert found == embedding.neighbours(embedding.phrase(*words), top=len(embedding), exclude=words)


@given(embeddings(max_words=2), st.data())
def test_phrase_commutes(embedding, data):
    """The order of two words does not matter; one word is the word, up to its length, and so is a word said twice."""
    u, v = (data.draw(st.sampled_from(embedding.words)) for _ in "uv")
    np.testing.assert_array_equal(embedding.product(u, v), embedding.product(v, u))
    np.testing.assert_array_equal(embedding.product(u), embedding[u])
    np.testing.assert_allclose(embedding.phrase(u, v), embedding.phrase(v, u), rtol=1e-12)
    for same in ((u,), (u, u)):
        cosine = unit_rows(np.stack([embedding.phrase(*same), embedding[u]]).astype(float)).prod(axis=0).sum()
        assert cosine == pytest.approx(1 if embedding[u].any() else 0, abs=1e-5)


@given(embeddings(min_words=2, largest=100), st.data())
def test_the_vector_of_a_phrase(embedding, data):
    """The geometric mean of unit vectors where none is negative, plus their sum; of others the sum alone."""
    words = data.draw(st.lists(st.sampled_from(embedding.words), min_size=2, max_size=3))
    for vectors in (embedding, Embedding(embedding.words, np.abs(embedding.vectors))):
        rows = np.stack([vectors[word] for word in words]).astype(float)
        units = unit_rows(rows)
        g, s = np.exp(np.log(np.maximum(units, 1e-300)).mean(axis=0)), units.sum(axis=0)
        g[(units <= 0).any(axis=0) | (vectors.vectors < 0).any()] = 0
        g, s = unit_rows(np.stack([g, s]))
        for blend in (0.0, 0.25, 2.0):
            np.testing.assert_allclose(vectors.phrase(*words, blend=blend), g + blend * s, atol=1e-4)


@given(embeddings(min_words=4), st.data(), st.sampled_from(["add", "mul"]))
def test_analogy_excludes_queries(embedding, data, method):
    """The three words of the question are never the answer, and all scores are numbers."""
    a, b, c = (data.draw(st.sampled_from(embedding.words)) for _ in "abc")
    found = embedding.analogy(a, b, c, top=100, method=method)
    assert {word for word, _ in found} == set(embedding.words) - {a, b, c}
    assert np.isfinite([score for _, score in found]).all()


@given(embeddings(min_words=4), st.data())
def test_analogy_agrees_with_the_definition(embedding, data):
    """3CosAdd and 3CosMul are what their formulas say, computed word by word."""
    a, b, c = (data.draw(st.sampled_from(embedding.words)) for _ in "abc")
    of = {word: [cosine(embedding[word], embedding[query]) for query in (a, b, c)] for word in embedding.words}
    for word, score in embedding.analogy(a, b, c, top=100):
        assert score == pytest.approx(of[word][1] - of[word][0] + of[word][2], abs=1e-5)
    for word, score in embedding.analogy(a, b, c, top=100, method="mul"):
        to_a, to_b, to_c = ((1 + x) / 2 for x in of[word])
        assert score == pytest.approx(to_b * to_c / (to_a + 0.001), rel=1e-2, abs=1e-3)


def test_queen():
    """Man is to king as woman is to queen."""
    assert ROYAL.analogy("man", "king", "woman", top=1) == [("queen", pytest.approx(1 / np.sqrt(2) + 1 / 2))]
    assert ROYAL.analogy("man", "king", "woman", method="mul")[0][0] == "queen"


@given(embeddings(min_words=2), st.sampled_from([2.0**-20, 0.5, 2.0, 2.0**20]), st.data())
def test_scale_does_not_matter(embedding, scale, data):
    """Neighbours and similarities stay what they are if all vectors are scaled."""
    scaled = Embedding(embedding.words, embedding.vectors * np.float64(scale))
    same = Embedding(embedding.words, embedding.vectors.astype(np.float64))
    word = data.draw(st.sampled_from(embedding.words))
    assert scaled.neighbours(word) == same.neighbours(word)
    assert [scaled.similarity(word, w) for w in same.words] == [same.similarity(word, w) for w in same.words]


@given(embeddings())
def test_similarity_laws(embedding):
    """Similarity is symmetric, within [-1, 1], 1 with the word itself, and 0 with a zero vector."""
    u, v = embedding.words[0], embedding.words[-1]
    assert embedding.similarity(u, v) == embedding.similarity(v, u)
    assert -1 <= embedding.similarity(u, v) <= 1
    assert embedding.similarity(u, u) == pytest.approx(float(embedding[u].any()))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("power", [-1, 1])
def test_extreme_vectors_have_length_one(dtype, power):
    """The largest and the smallest numbers of a type do not overflow or vanish when squared."""
    extreme = np.finfo(dtype).max if power > 0 else np.finfo(dtype).smallest_subnormal
    unit = unit_rows(np.array([[extreme, -extreme], [0, 0]], dtype))
    np.testing.assert_allclose(unit, [[np.sqrt(0.5), -np.sqrt(0.5)], [0, 0]], rtol=1e-6)


def test_types_are_kept_and_vectors_read_only():
    """float64 stays float64, whole numbers become float32, and nobody can change a vector by accident."""
    assert Embedding(["a"], np.array([[1.0]])).vectors.dtype == np.float64
    assert Embedding(["a"], [[1]]).vectors.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        ROYAL.vectors[0, 0] = 2


def test_unknown_words():
    """The policy decides whether an unknown word is an error, a vector of zeros, or left out."""
    words, vectors = ["satellite", "star"], [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(InputError, match=r"'sattelite' is not in the vocabulary of 2 words; close .*'satellite'"):
        Embedding(words, vectors).neighbours("sattelite")
    with pytest.raises(InputError, match=r"'Star' is not .* close spellings: 'star'"):
        _ = Embedding(words, vectors)["Star"]
    zero = Embedding(words, vectors, unknown="zero")
    assert not zero["x"].any()
    assert zero.similarity("star", "x") == 0
    assert not zero.product("star", "x").any()
    assert zero.neighbours("x") == [("satellite", 0), ("star", 0)]
    skip = Embedding(words, vectors, unknown="skip")
    np.testing.assert_array_equal(skip.product("star", "x"), [3, 4])
    np.testing.assert_array_equal(skip.phrase("star", "x"), skip.phrase("star"))
    np.testing.assert_array_equal(skip.lookup(["x", "star", "y"]), [[3, 4]])
    for refused in (lambda: skip.phrase("x"), lambda: skip.similarity("star", "x"), lambda: skip["x"]):
        with pytest.raises(InputError, match="'x' is not in the vocabulary"):
            refused()


def test_words_of_test_sets_are_folded_if_the_vocabulary_is():
    """A capital in the vocabulary means that case matters."""
    assert Embedding(["israel", "3com"], [[1], [1]]).find("Israel") == 0
    assert Embedding(["israel", "Com"], [[1], [1]]).find("Israel") is None


@pytest.mark.parametrize(
    ("words", "vectors", "fault"),
    [
        (["a", "b", "a"], np.ones((3, 2)), "'a' occurs at positions 0 and 2"),
        (["a", "b"], [[1, 2], [3, np.nan]], r"row 1 \('b'\) is not"),
        (["a", "b"], [[np.inf, 2], [3, 4]], r"row 0 \('a'\) is not"),
        (["a", "b"], [[1, 2]], r"2 words and shape \(1, 2\)"),
        (["a", "b"], [[1, 2], [3]], "rows of the same length; row 1"),
        (["a"], [1], r"shape \(1,\)"),
        ([], np.ones((0, 2)), "0 words"),
        (["a"], np.ones((1, 0)), r"shape \(1, 0\)"),
        (["a", 3], np.ones((2, 1)), "word 1 must be a string; got 3"),
        ("ab", np.ones((2, 1)), "a list of words"),
        (["a"], [["x"]], "real numbers"),
        (["a"], [[1j]], "real numbers"),
    ],
)
def test_what_is_no_embedding_is_refused(words, vectors, fault):
    """One sentence names the word, the row or the shape at fault."""
    with pytest.raises(InputError, match=fault):
        Embedding(words, vectors)


@pytest.mark.parametrize(
    ("ask", "fault"),
    [
        (lambda e: e.neighbours(), "one word, several words, or one vector"),
        (lambda e: e.neighbours("man", np.ones(4)), "one word, several words, or one vector"),
        (lambda e: e.neighbours(np.ones(3)), r"must contain 4 finite numbers; got shape \(3,\)"),
        (lambda e: e.neighbours(np.full(4, np.nan)), "finite"),
        (lambda e: e.neighbours("man", top=0), "top must be a whole number of at least 1; got 0"),
        (lambda e: e.phrase(), "at least one word"),
        (lambda e: e.analogy("man", "king", "woman", method="cos"), "'add', 'mul'; got 'cos'"),
        (lambda e: e.lookup("man"), r"embedding\['man'\]"),
        (lambda e: Embedding(e.words, e.vectors, unknown="mean"), "unknown must be one of"),
        (
            lambda e: Embedding(e.words, e.vectors, counts=[1, 2]),
            "counts must contain a non-negative integer for each of",
        ),
        (lambda e: e.product(), "at least one word"),
        (lambda e: e.phrase(e.words[0], blend=-1), "blend"),
        (lambda _: Embedding(["a"], [[1e300]]).product("a", "a"), "exceeds the range"),
        (lambda _: Embedding.from_gensim({"a": [1.0]}), "KeyedVectors"),
        (lambda e: e.most_similar([]), "at least one positive or negative word"),
        (lambda e: Embedding(e.words, e.vectors, components=0), "components"),
        (lambda e: Embedding(e.words, e.vectors, components=5), "components"),
    ],
)
def test_questions_without_an_answer_are_refused(ask, fault):
    """One sentence names the argument at fault."""
    with pytest.raises(InputError, match=fault):
        ask(ROYAL)


@given(embeddings(words=st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), max_size=5)), st.booleans())
def test_saved_folder_gives_the_same_back(tmp_path_factory, embedding, counted):
    """Words of any kind, vectors to the bit, counts, policy and description survive; the vectors are mapped."""
    path = tmp_path_factory.mktemp("e") / "vectors"
    counts = np.arange(len(embedding)) if counted else None
    about = {"rank": 3, "corpus": "π"}
    Embedding(embedding.words, embedding.vectors, counts=counts, unknown="skip", meta=about).save(path)
    back = Embedding.load(path)
    assert back.words == embedding.words
    assert back.vectors.tobytes() == embedding.vectors.tobytes()
    assert back.vectors.dtype == embedding.vectors.dtype
    assert isinstance(owner(back.vectors), mmap.mmap)
    assert (back.counts is None) if counts is None else back.counts.tolist() == counts.tolist()
    assert (back.unknown, back.meta) == ("skip", about)
    assert Embedding.load(path, unknown="zero").unknown == "zero"


def test_safetensors_reads_the_vectors(tmp_path):
    """The file is what its name says, for any reader of safetensors."""
    from safetensors.numpy import load_file

    ROYAL.save(tmp_path / "royal")
    np.testing.assert_array_equal(load_file(tmp_path / "royal" / "vectors.safetensors")["vectors"], ROYAL.vectors)
    assert json.loads((tmp_path / "royal" / "meta.json").read_text())["kind"] == "embedding"


def test_saving_overwrites_only_when_asked(tmp_path):
    """An existing folder stays unless overwriting is asked for."""
    ROYAL.save(tmp_path / "e")
    with pytest.raises(InputError, match="exists already"):
        ROYAL.save(tmp_path / "e")
    Embedding(["a"], [[1.0]]).save(tmp_path / "e", overwrite=True)
    assert Embedding.load(tmp_path / "e").words == ("a",)


@pytest.mark.parametrize(
    ("file", "spoil", "fault"),
    [
        ("vectors.safetensors", lambda b: b[:-1], "vectors.safetensors is damaged"),
        ("vectors.safetensors", lambda b: b[:4], "vectors.safetensors is damaged"),
        ("vectors.safetensors", lambda b: b"\xff" * 8 + b[8:], "vectors.safetensors is damaged"),
        ("vectors.safetensors", lambda b: b.replace(b'"vectors"', b'"vektors"'), "vectors.safetensors is damaged"),
        ("vectors.safetensors", lambda b: b.replace(b"F32", b"I32"), "vectors.safetensors is damaged"),
        ("vectors.safetensors", lambda b: b[:-4] + b"\0\0\xc0\x7f", r"row 4 \('apple'\) is not"),
        ("vocabulary.txt", lambda _: b"man\n", "1 words and shape"),
        ("vocabulary.txt", lambda b: b.replace(b"\n", b"\t3\n").replace(b"king\t3", b"king\tx"), "line 3: expected"),
        ("vocabulary.txt", lambda b: b"\xff" + b, "vocabulary.txt cannot be read"),
        ("meta.json", lambda b: b.replace(b'"embedding"', b'"corpus"'), "of kind .corpus."),
        ("meta.json", lambda b: b.replace(b'"version": 2', b'"version": 9'), "version 9"),
        ("meta.json", lambda b: b.replace(b'"raise"', b'"guess"'), "unknown must be one of"),
    ],
)
def test_damaged_folders_are_refused(tmp_path, file, spoil, fault):
    """A file that was cut short or changed is named, also where no digest tells, and nothing half-read comes back."""
    ROYAL.save(tmp_path / "e")
    told = json.loads((tmp_path / "e" / "meta.json").read_text(encoding="utf-8"))
    assert told.pop("sealed")
    assert sorted(told.pop("digests")) == ["meta.json", "vectors.safetensors", "vocabulary.txt"]
    (tmp_path / "e" / "meta.json").write_text(json.dumps(told), encoding="utf-8")
    path = tmp_path / "e" / file
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(InputError, match=fault):
        Embedding.load(tmp_path / "e")


@pytest.mark.parametrize(
    ("embedding", "fault"),
    [
        (Embedding(["a\tb"], [[1.0]]), "contains a tab or a line break"),
        (Embedding(["\ud800"], [[1.0]]), "UTF-8"),
        (Embedding(["a"], [[1.0]], meta={"x": {1}}), "meta must be JSON-serializable"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing(tmp_path, embedding, fault):
    """A refused save leaves the folder as it was."""
    with pytest.raises(InputError, match=fault):
        embedding.save(tmp_path / "e")
    assert list(tmp_path.iterdir()) == []


def test_zeros_are_counted_and_left_out():
    """``sparsity`` is the share of exact zeros; the sparse matrix holds the others."""
    embedding = Embedding(["a", "b"], [[0.0, 2.0, 0.0], [0.0, 0.0, -1.0]])
    assert embedding.sparsity == pytest.approx(4 / 6)
    assert embedding.to_sparse().nnz == 2
    assert np.array_equal(embedding.to_sparse().toarray(), embedding.vectors)


def test_components():
    """Columns are named by their strongest words, by magnitude; empty ones are left out."""
    embedding = Embedding(["a", "b", "c"], [[0.0, 2.0, 0.0], [0.0, -3.0, 1.0], [0.0, 1.0, 0.0]])
    found = components(embedding, top=2)
    assert [(c.column, c.words) for c in found] == [(1, [("b", -3.0), ("a", 2.0)]), (2, [("b", 1.0)])]
    assert [c.share for c in found] == [1.0, pytest.approx(1 / 3)]
    assert [c.column for c in components_of(embedding, "b", "a")] == [1]
    assert [c.column for c in components_of(embedding, "b", n_components=1)] == [2]  # all of column 2 is b
    with pytest.raises(InputError, match="zebra"):
        components_of(embedding, "zebra")


def test_common_words_tell_more_of_components():
    """Between words of about the same value the more frequent comes first; by value alone, or without counts, not."""
    values = [[1.0, 0.0], [0.9, 0.0], [0.2, 1.0]]
    known = Embedding(["rare", "common", "other"], values, counts=[10, 1000, 10])
    words = {common: [word for word, _ in components(known, [0], common=common)[0].words] for common in (0.0, 0.25)}
    assert words == {0.0: ["rare", "common", "other"], 0.25: ["common", "rare", "other"]}
    assert components(Embedding(known.words, values), [0])[0].words[0] == ("rare", 1.0)


def test_components_alone_make_phrases(tmp_path):
    """Phrases, their neighbours and components are of the last columns; cosines of words are of all; files keep it."""
    words = Embedding(["a", "b", "c"], [[5.0, 1.0, 0.0], [-5.0, 1.0, 2.0], [5.0, 0.0, 3.0]], components=2)
    assert words.components.vectors.tolist() == [[1, 0], [1, 2], [0, 3]]
    assert words.product("a", "b").tolist() == [1, 0]
    assert words.neighbours("a", "b") == words.components.neighbours("a", "b")
    assert [word for word, _ in words.neighbours("a", "b")] == ["c"]
    assert words.neighbours(words.product("a", "b"), top=1) == [("a", 1.0)]
    assert words.neighbours("a", top=1)[0][0] == "c"
    assert {c.column for c in components(words)} == {0, 1}
    words.save(tmp_path / "saved")
    assert Embedding.load(tmp_path / "saved").components.rank == 2
    assert Embedding(["a"], [[1.0, 2.0]], components=2).components.rank == 2


def keyed():
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(3)
    rng = np.random.default_rng(0)
    vectors.add_vectors([f"w{k}" for k in range(30)], rng.standard_normal((30, 3)).astype(np.float32))
    for k in range(30):
        vectors.set_vecattr(f"w{k}", "count", 100 - k)
    return vectors


def test_gensim_and_back():
    """Words, vectors and counts survive both ways, to the bit; counts may be absent."""
    theirs = keyed()
    ours = Embedding.from_gensim(theirs)
    assert ours.words == tuple(theirs.index_to_key) == ours.index_to_key
    assert ours.key_to_index == theirs.key_to_index
    assert ours.vector_size == theirs.vector_size
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    assert ours.counts.tolist() == [100 - k for k in range(30)]
    back = ours.to_gensim()
    np.testing.assert_array_equal(back.vectors, theirs.vectors)
    assert [back.get_vecattr(word, "count") for word in ours.words] == ours.counts.tolist()
    assert Embedding.from_gensim(Embedding(["a"], [[1.0]]).to_gensim()).counts is None


@pytest.mark.parametrize(("positive", "negative"), [("w1", []), (["w1", "w2"], []), (["w3"], ["w4", "w5"])])
def test_names_of_gensim_mean_the_same(positive, negative):
    theirs = keyed()
    ours = Embedding.from_gensim(theirs)
    expected = theirs.most_similar(positive, negative, topn=7)
    answer = ours.most_similar(positive, negative, topn=7)
    assert [word for word, _ in answer] == [word for word, _ in expected]
    assert [cosine for _, cosine in answer] == pytest.approx([cosine for _, cosine in expected], abs=1e-5)
    assert ours.similarity("w1", "w2") == pytest.approx(float(theirs.similarity("w1", "w2")), abs=1e-6)


def test_components_are_told_before_they_are_lost():
    with pytest.warns(UserWarning, match="here, the last 1 of 2"):
        Embedding(["a"], [[1.0, 2.0]], components=1).to_gensim()


def test_a_notebook_shows_words_and_their_nearest():
    """What is shown is escaped: a word may be any text."""
    shown = Embedding(["<b>", "film", "sun"], np.eye(3) + 0.1)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "3 words x 3" in shown

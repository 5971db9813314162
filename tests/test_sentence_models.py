"""Vectors of sentences: pooling, words, sparse codes, means, and what both models promise a user."""

import io
from collections import Counter

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from polyadic import ConvolutionalSentences, Corpus, Embedding, InputError, MeanSentences, load
from polyadic.sentences import base
from polyadic.sentences.base import EmptySentencesWarning, pooled, width
from polyadic.sentences.convolutional import sparse_codes
from polyadic.sentences.words import blocks, vectors_of, words_of
from reference import convolve
from strategies import tries

POOLINGS = ("mean", "moments", "largest", "extremes", "all")
KNOWN = [f"w{k}" for k in range(20)]
GIVEN = Embedding(KNOWN, np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32))
RANDOM = np.random.default_rng(1)
TEXTS = [" ".join(RANDOM.choice(KNOWN, length, p=np.arange(20, 0, -1) / 210)) for length in RANDOM.integers(1, 16, 150)]
MODELS = [
    ConvolutionalSentences(1, length=4, rank=2, starts=1, seed=0),
    MeanSentences(a=0.01, removed=1, rank=5, seed=0),
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param).fit(TEXTS)


def mean_of_words(text, *, weights=None):
    rows = GIVEN.lookup(text.split()).astype(float)
    return rows.mean(axis=0) if weights is None else (rows * [[weights[w]] for w in text.split()]).mean(axis=0)


# ---- pooling

signals = hnp.arrays(
    float, hnp.array_shapes(min_dims=4, max_dims=4, max_side=5), elements=st.integers(-4, 4).map(float)
)


def full(w):
    """Say that signals have no padding."""
    return w.shape[-1]


@given(signals, st.sampled_from(POOLINGS), st.integers(1, 6), st.integers(1, 3))
def test_each_signal_gives_as_much_as_is_told(w, pooling, pool, segments):
    """Vectors are as long as ``width`` says, and the order of places in the whole means nothing."""
    S, K, L, _ = w.shape
    found = pooled(w, full(w), pooling, pool=pool, segments=segments)
    assert found.shape == (S, segments * K * (1 if pooling == "all" else L) * width(pooling, pool))
    np.testing.assert_array_equal(
        pooled(w[..., ::-1], full(w), pooling, pool=pool), pooled(w, full(w), pooling, pool=pool)
    )


@given(signals, st.integers(1, 6))
def test_the_largest_are_the_first_when_sorted(w, pool):
    """The k largest fall, zeros fill up; extremes are those of the signal and of its negative; "all" joins signals."""
    one = w[:1, :1, :1]
    expected = sorted(one.ravel().tolist(), reverse=True)[:pool]
    assert pooled(one, full(one), "largest", pool=pool)[0].tolist() == expected + [0.0] * (pool - len(expected))
    joined = w.reshape(*w.shape[:2], 1, -1)
    np.testing.assert_array_equal(
        pooled(w, full(w), "all", pool=pool), pooled(joined, full(joined), "largest", pool=pool)
    )
    pool = min(pool, w.shape[-1])
    top, bottom = np.split(pooled(one, full(one), "extremes", pool=pool)[0], 2)
    np.testing.assert_array_equal(top, pooled(one, full(one), "largest", pool=pool)[0])
    np.testing.assert_array_equal(-bottom[::-1], pooled(-one, full(one), "largest", pool=pool)[0])


@given(signals)
def test_moments_are_those_of_the_words(w):
    """Zeros behind add nothing; the first moment is linear, the second a norm, and both are 1 where all values are."""
    padded = np.pad(w, [(0, 0)] * 3 + [(0, 4)])
    np.testing.assert_allclose(pooled(padded, full(w), "moments"), pooled(w, full(w), "moments"))
    moments = pooled(w, full(w), "moments").reshape(*w.shape[:3], 2)
    np.testing.assert_array_equal(moments[..., 0].reshape(len(w), -1), pooled(w, full(w), "mean"))
    np.testing.assert_allclose(pooled(-2 * w, full(w), "moments").reshape(moments.shape), moments * [-2, 2])
    np.testing.assert_allclose(pooled(np.ones_like(w), full(w), "moments"), 1)
    assert (np.abs(moments[..., 0]) <= moments[..., 1] + 1e-12).all()


@given(signals, st.sampled_from(["largest", "extremes", "all"]))
def test_what_is_behind_is_not_among_the_largest(w, pooling):
    """Places behind the words hold no largest value, however large."""
    behind = np.concatenate([w, 100 + np.abs(w)], axis=-1)
    np.testing.assert_array_equal(pooled(behind, full(w), pooling, pool=3), pooled(w, full(w), pooling, pool=3))


@given(signals, st.sampled_from(POOLINGS), st.integers(1, 3))
def test_segments_are_pooled_apart(w, pooling, segments):
    """Segments of a signal, laid end to end, have the vectors that they have alone."""
    parts = [w, -w, 2 * w][:segments]
    apart = [pooled(part, full(part), pooling, pool=2) for part in parts]
    whole = np.concatenate(parts, axis=-1)
    np.testing.assert_allclose(
        pooled(whole, full(whole), pooling, pool=2, segments=segments), np.concatenate(apart, axis=1)
    )


@pytest.mark.parametrize("words", [1, 2, 4, 5, 7])
def test_segments_of_a_constant_are_alike(words):
    """The mean of a part of a sentence that says one word over and over is that word, if the part has any."""
    found = MeanSentences(words=GIVEN, segments=2).fit(TEXTS).transform([["w3"] * words])[0].reshape(2, 3)
    for part in found[:words]:
        np.testing.assert_allclose(part, GIVEN["w3"], rtol=1e-5)


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("pooling", ["mean", "moments"])
def test_filters_of_one_value_leave_words_as_they_are(pooling, segments):
    """Decoded by a filter that does nothing, a sentence of any length is its words, in whole and in parts."""
    options = {"words": GIVEN, "pooling": pooling, "segments": segments}
    plain = MeanSentences(**options).fit(TEXTS)
    model = ConvolutionalSentences(1, length=4, ridge=0.0, starts=1, seed=0, **options).fit(TEXTS)
    model.filters_ = np.eye(1, 8)[None].repeat(3, axis=0)
    even = [text for text in TEXTS if len(text.split()) % 2 == 0]
    np.testing.assert_allclose(model.transform(even), plain.transform(even), atol=1e-6)


def test_it_matters_where_a_sentence_begins():
    """A sentence whose end is moved to the front is another sentence, as filters do not wrap around."""
    model = ConvolutionalSentences(2, length=4, words=GIVEN, starts=1, seed=0).fit(TEXTS)
    words = KNOWN[:12]
    one, other = model.transform([words, words[5:] + words[:5]])
    assert np.abs(one - other).max() > 1e-3


# ---- words


@pytest.mark.parametrize("sentences", [["a Film", ["A", "film"]], iter([np.array(["a", "b"]), ("c",), ""])])
def test_words_of_anything_that_holds_sentences(sentences):
    """Texts are cut and put in lower case, lists, tuples and arrays of words stay; nothing is read before it is due."""
    found = words_of(sentences)
    assert next(found) in (["a", "film"], ["a", "b"])
    assert list(found) in ([["A", "film"]], [["c"], []])


@pytest.mark.parametrize("sentence", [3, None, b"film", [1, 2], [["a"]], {"a": 1}])
def test_what_is_no_sentence(sentence):
    """What is neither text nor words is named with its place."""
    with pytest.raises(InputError, match="sentence 1 must be a string or a list of words"):
        list(words_of(["a film", sentence]))


@tries(25)
@given(st.lists(st.lists(st.sampled_from([*KNOWN[:4], "x", "y"]), max_size=5), min_size=1), st.integers(1, 4))
def test_blocks_are_the_sentences_without_unknown_words(sentences, size):
    """Block after block, of lists as of a corpus, there are the rows of known words and the edges between sentences."""
    found = list(blocks(sentences, GIVEN, size=size))
    assert [len(block.lengths) for block in found[:-1]] == [size] * (len(found) - 1)
    rows = [part.tolist() for block in found for part in np.split(block.rows, block.edges[1:-1])]
    assert rows == [[KNOWN.index(word) for word in words if word in KNOWN] for words in sentences]
    if any(sentences):
        corpus = Corpus.build(sentences, min_count=1, jobs=1)
        again = [part.tolist() for b in blocks(corpus, GIVEN, size=size) for part in np.split(b.rows, b.edges[1:-1])]
        assert again == [some for some, words in zip(rows, sentences, strict=True) if words]


def test_words_spelt_with_capitals_are_known_again():
    """Every word of the sentences that a model was fitted to has the vector that it was given."""
    sentences = [["the", "eBay", "shop"], ["eBay", "mcDonald", "eBay"]]
    model = MeanSentences(words="one-hot", rank=3, min_count=1).fit(sentences)
    np.testing.assert_array_equal(model.transform([["eBay"]])[0], model.embedding_["eBay"])


def test_one_hot_vectors_are_the_principal_components():
    """Principal components of one-hot vectors indicate the most frequent words, so a mean is a share of words."""
    corpus = Corpus.build([text.split() for text in TEXTS], min_count=1)
    tokens = np.eye(len(corpus.vocabulary))[corpus.ids]
    components = np.linalg.svd(tokens)[2][:4]
    embedding = vectors_of(corpus, "one-hot", rank=4, seed=None)
    counts = corpus.vocabulary.counts[:5]
    assert len(set(counts.tolist())) == 5  # else components of equal counts could be rotated
    np.testing.assert_allclose(np.abs(components.T), embedding.vectors, atol=1e-8)
    model = MeanSentences(words="one-hot", rank=4).fit(TEXTS)
    for text, vector in zip(TEXTS, model.transform(TEXTS), strict=True):
        counted = Counter(text.split())
        np.testing.assert_allclose(vector * len(text.split()), [counted[word] for word in embedding.words[:4]])


@pytest.mark.parametrize("words", ["ppmi-svd", "ca"])
def test_words_used_alike_have_vectors_alike(words):
    """Of words of two sorts, each surrounded by its own, the nearest are of the same sort."""
    rng = np.random.default_rng(0)
    sorts = [KNOWN[:8], KNOWN[8:16]]
    texts = [list(rng.choice(sorts[k % 2], 6)) for k in range(200)]
    embedding = MeanSentences(words=words, rank=2, seed=0).fit(texts).embedding_
    for sort in sorts:
        for word in sort:
            assert {near for near, _ in embedding.neighbours(word, top=5)} < set(sort)


# ---- sparse codes

problems = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(0, 6), st.integers(0, 999))


def problem(case):
    """Unit filters, as long as the signal, and a signal."""
    L, m, more, seed = case
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((L, m))
    f = np.pad(f / np.linalg.norm(f, axis=1, keepdims=True), ((0, 0), (0, more)))
    return f, rng.standard_normal(m + more)


def slow_codes(f, y, penalty, *, sweeps):
    """Plain proximal gradients with a dense matrix of shifts."""
    F = np.hstack([np.stack([np.roll(row, p) for p in range(len(y))], axis=1) for row in f])
    step = 1 / np.linalg.norm(F, 2) ** 2
    w = np.zeros(F.shape[1])
    for _ in range(sweeps):
        z = w - step * F.T @ (F @ w - y)
        w = np.sign(z) * np.maximum(np.abs(z) - step * penalty, 0)
    return 0.5 * ((y - F @ w) ** 2).sum() + penalty * np.abs(w).sum(), w.reshape(len(f), -1)


@given(problems, st.sampled_from([0.01, 0.1, 0.5]))
def test_sparse_codes_are_optimal(case, penalty):
    """No activation can move: the correlation of a filter with the rest is the penalty, or less where there is none."""
    f, y = problem(case)
    w = sparse_codes(f, y, penalty, sweeps=20_000, tol=1e-12)
    rest = y - convolve(f, w).sum(axis=0)
    correlation = np.stack([[np.roll(row, p) @ rest for p in range(len(y))] for row in f])
    assert (np.abs(correlation) <= penalty + 1e-6).all()
    active = w != 0
    np.testing.assert_allclose(correlation[active], penalty * np.sign(w[active]), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_codes_agree_with_slow_ones(seed):
    """Coordinate descent ends where plain proximal gradients do, and near it when stopped as it is by default."""
    f, y = problem((2, 4, 5, seed))
    least, expected = slow_codes(f, y, 0.3, sweeps=20_000)
    np.testing.assert_allclose(sparse_codes(f, y, 0.3, sweeps=5000, tol=1e-12), expected, atol=1e-6)
    w = sparse_codes(f, y, 0.3)
    value = 0.5 * ((y - convolve(f, w).sum(axis=0)) ** 2).sum() + 0.3 * np.abs(w).sum()
    assert least - 1e-12 <= value <= 1.01 * least


def test_sparse_codes_do_not_depend_on_company():
    """A signal has the same code alone and in a batch, with filters and a penalty of its own."""
    rng = np.random.default_rng(0)
    f, y = rng.standard_normal((3, 2, 4)), rng.standard_normal((5, 3, 9)) * [[[0.0], [1.0], [100.0]]]
    penalty = np.array([0.1, 0.2, 30.0])
    together = sparse_codes(f, y, penalty)
    for s in range(5):
        for k in range(3):
            np.testing.assert_allclose(together[s, k], sparse_codes(f[k], y[s, k], penalty[k]), atol=1e-9)
    assert not together[:, 0].any()
    assert not sparse_codes(f, y, 1e6).any()


def test_sparse_decoding_is_that_of_scaled_penalties():
    """A model decodes with the penalty in root mean squares of the values of each coordinate, so units mean nothing."""
    options = {"length": 4, "decoding": "sparse", "starts": 1, "seed": 0}
    model = ConvolutionalSentences(1, words=GIVEN, **options).fit(TEXTS)
    values = np.concatenate([GIVEN.lookup(text.split()) for text in TEXTS])
    np.testing.assert_allclose(model.scales_, np.sqrt((values.astype(float) ** 2).mean(axis=0)))
    larger = Embedding(KNOWN, 8 * GIVEN.vectors)
    again = ConvolutionalSentences(1, words=larger, **options).fit(TEXTS)
    np.testing.assert_allclose(again.transform(TEXTS), 8 * model.transform(TEXTS), atol=1e-4)
    share = np.mean([np.mean(model.activations(text) == 0) for text in TEXTS[:20]])
    assert 0.2 < share < 1


# ---- means of words


def test_means_weigh_rare_words_more():
    """A vector is the mean of the words' vectors, each times a / (a + p) with its relative frequency."""
    counted = Counter(word for text in TEXTS for word in text.split())
    total, a = sum(counted.values()), 0.02
    weights = {word: a / (a + n / total) for word, n in counted.items()}
    model = MeanSentences(words=GIVEN, a=a).fit(TEXTS)
    expected = [mean_of_words(text, weights=weights) for text in TEXTS]
    np.testing.assert_allclose(model.transform(TEXTS), expected, rtol=1e-4, atol=1e-6)
    plain = MeanSentences(words=GIVEN).fit(TEXTS)
    np.testing.assert_allclose(plain.transform(TEXTS), [mean_of_words(text) for text in TEXTS], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.frequencies_.sum(), 1)


def test_removed_components_are_the_leading_ones():
    """What is left is orthogonal to the components, and no other directions would have left less."""
    X = MeanSentences(words=GIVEN, a=0.01).fit(TEXTS).transform(TEXTS)
    model = MeanSentences(words=GIVEN, a=0.01, removed=2).fit(TEXTS)
    left = model.transform(TEXTS)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(left @ model.components_.T, 0, atol=1e-5)
    least = (np.linalg.svd(X, compute_uv=False)[2:] ** 2).sum()
    assert (left.astype(float) ** 2).sum() == pytest.approx(least, rel=1e-4)
    again = MeanSentences(words=GIVEN, a=0.01, removed=2).fit(TEXTS)
    np.testing.assert_array_equal(again.components_, model.components_)


@pytest.mark.parametrize(
    "model",
    [
        MeanSentences(words=GIVEN, a=0.01, removed=1),
        MeanSentences(rank=6, seed=0),
        ConvolutionalSentences(2, length=4, pooling="mean", words=GIVEN, starts=1, seed=0),
        ConvolutionalSentences(1, length=4, pooling="mean", padded=False, ridge=0.1, rank=4, starts=1, seed=0),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:tensors of")
def test_means_are_static(model):
    """The mean of the static vectors of the known words is the vector of the sentence, of any length."""
    vectors = clone(model).fit(TEXTS).static()
    fitted = clone(model).fit(TEXTS)
    texts = [*TEXTS, "w1 unheard w2", "w0"]
    expected = [vectors.lookup([w for w in text.split() if w in vectors]).mean(axis=0) for text in texts]
    np.testing.assert_allclose(fitted.transform(texts), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (MeanSentences, {"pooling": "moments"}),
        (MeanSentences, {"segments": 2}),
        (ConvolutionalSentences, {}),
        (ConvolutionalSentences, {"pooling": "mean", "decoding": "sparse"}),
    ],
)
def test_what_is_not_a_mean_is_not_static(kind, how):
    """Word vectors are refused where sentences are no means of them."""
    options = {"starts": 1, "length": 4, "filters": 1} if kind is ConvolutionalSentences else {}
    with pytest.raises(InputError, match="static vectors require pooling='mean'"):
        kind(words=GIVEN, **options, **how).fit(TEXTS).static()


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({"removed": 3}, "removed must be a whole number"),
        ({"words": "one-hot", "rank": 20}, "rank must be below 20, the number of words"),
        ({"words": Embedding(["other"], [[1.0]])}, "no word of the sentences has a vector"),
    ],
)
def test_means_refuse(how, fault):
    """More components than features, a rank that does not fit, and vectors of other words."""
    with pytest.raises(InputError, match=fault):
        MeanSentences(**{"words": GIVEN} | how).fit(TEXTS)


# ---- what both models promise


@pytest.mark.parametrize("sentences", ["a film", [], [""], [[]]])
def test_nothing_to_learn_from(model, sentences):
    """One text instead of a list, and sentences without words, are refused."""
    with pytest.raises(InputError, match=r"list of sentences; got a single string|the corpus is empty"):
        clone(model).fit(sentences)
    if sentences == "a film":
        with pytest.raises(InputError, match="list of sentences; got a single string"):
            model.transform(sentences)


def test_any_source_is_as_good(model):
    """A list, a generator, words, an array and a corpus give the same model and the same vectors."""
    corpus = Corpus.build(TEXTS, min_count=2, jobs=1)
    vectors = model.transform(TEXTS)
    words = [text.split() for text in TEXTS]
    for source in ((text for text in TEXTS), words, np.array(TEXTS), corpus, io.StringIO("\n".join(TEXTS))):
        again = clone(model).fit(source)
        np.testing.assert_array_equal(again.transform(TEXTS), vectors)
    for source in ((text for text in TEXTS), words, np.array(TEXTS), corpus):
        np.testing.assert_array_equal(model.transform(source), vectors)


def test_a_source_that_can_be_read_once_is_fitted_and_transformed(model):
    """``fit_transform`` gives a vector of each sentence of a generator, or says that it cannot."""
    np.testing.assert_allclose(
        clone(model).fit_transform(text for text in TEXTS), clone(model).fit_transform(TEXTS), atol=1e-6
    )


def test_blocks_mean_nothing_but_memory(model, monkeypatch):
    """However few sentences are read or decoded at a time, their vectors are the same."""
    expected, sizes = model.transform(TEXTS), []
    of_block = type(model)._of_block

    def watched(self, block):
        sizes.append(len(block.lengths))
        return of_block(self, block)

    monkeypatch.setattr(type(model), "_of_block", watched)
    monkeypatch.setattr(base, "NUMBERS", 1)
    np.testing.assert_allclose(model.encode(TEXTS, batch_size=64), expected, atol=1e-6)
    assert sizes == [64, 64, 22]


def test_encode_is_transform_by_another_name(model):
    """The size of a batch means nothing; a text gives a vector, a list a row each; lengths are 1 if asked for."""
    expected = model.transform(TEXTS)
    for size in (1, 7, 10_000):
        np.testing.assert_allclose(model.encode(TEXTS, batch_size=size), expected, atol=1e-6)
    np.testing.assert_array_equal(model.encode(TEXTS[3]), model.encode([TEXTS[3]])[0])
    assert model.encode(TEXTS[3]).ndim == 1
    rows = model.encode(TEXTS, convert_to_numpy=False, show_progress_bar=True)
    assert isinstance(rows, list)
    np.testing.assert_array_equal(rows, expected)
    with pytest.warns(EmptySentencesWarning, match="1 of 2"):
        unit = model.encode([TEXTS[0], "unheard"], normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1, 0], atol=1e-6)
    np.testing.assert_allclose(unit[0] * np.linalg.norm(expected[0]), expected[0], atol=1e-6)
    assert model.encode([]).shape == (0, expected.shape[1])
    with pytest.raises(InputError, match="batch_size must be"):
        model.encode(TEXTS, batch_size=0)


def test_sentences_without_known_words(model):
    """They are zero and counted over all blocks, change no other sentence, or are refused."""
    texts = ["", TEXTS[0], "unheard", TEXTS[1]]
    with pytest.warns(EmptySentencesWarning, match="sentences without a known word: 2 of 4"):
        found = model.transform(texts)
    with pytest.warns(EmptySentencesWarning, match="2 of 4"):
        np.testing.assert_allclose(model.encode(texts, batch_size=1), found, atol=1e-6)
    assert not found[::2].any()
    np.testing.assert_allclose(found[1::2], model.transform(TEXTS[:2]), atol=1e-6)
    strict = clone(model).set_params(empty="error").fit(TEXTS)
    with pytest.raises(InputError, match="sentences without a known word: 2 of 4; remove them"):
        strict.transform(texts)
    assert len(strict.transform(texts[1::2])) == 2


def test_activations_of_a_sentence(model):
    """What is decoded of a text is what is decoded of its known words; places begin with the first."""
    w = model.activations("w1 w5 unheard w2")
    np.testing.assert_array_equal(model.activations(["w1", "w5", "w2"]), w)
    assert w.shape[0] == model.rank
    assert w.shape[2] >= 3


def test_it_is_an_estimator_of_scikit_learn(model):
    """Named, searched over and put into pipelines and frames as others are."""
    names = model.get_feature_names_out()
    assert len(set(names)) == len(names) == model.transform(TEXTS).shape[1]
    labels = [int("w0" in text.split()) for text in TEXTS]
    pipe = make_pipeline(clone(model), LogisticRegression())
    key = type(model).__name__.lower() + "__rank"
    search = GridSearchCV(pipe, {key: [2, 3]}, cv=2, refit=False).fit(TEXTS, labels)
    assert search.best_params_[key] in (2, 3)


def test_frames_have_named_columns(model):
    """With pandas, columns are named and rows keep their labels."""
    pandas = pytest.importorskip("pandas")
    shown = clone(model).set_output(transform="pandas").fit(TEXTS)
    frame = shown.transform(pandas.Series(TEXTS[:3], index=[7, 8, 9]))
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    assert frame.index.tolist() == [7, 8, 9]
    np.testing.assert_allclose(frame.to_numpy(), model.transform(TEXTS[:3]), atol=1e-6)


@pytest.mark.parametrize("call", ["static", "transform", "encode", "activations", "get_feature_names_out"])
def test_before_it_is_fitted(model, call):
    """Everything says that it needs a fit."""
    arguments = {"static": (), "get_feature_names_out": ()}.get(call, ("a film",))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(clone(model).set_params(pooling="mean"), call)(*arguments)


def test_words_that_were_given_are_saved(model, tmp_path):
    """A model of given word vectors comes back with them, and can be fitted again."""
    fitted = clone(model).set_params(words=GIVEN, rank=np.int64(3)).fit(TEXTS)
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model", type(model))
    np.testing.assert_array_equal(again.transform(TEXTS), fitted.transform(TEXTS))
    np.testing.assert_array_equal(again.fit(TEXTS).transform(TEXTS), fitted.transform(TEXTS))


# ---- filters


def test_a_fit_that_fails_leaves_no_half_of_a_model():
    """After a refusal a new model is as unfitted as before."""
    model = ConvolutionalSentences(1, length=40, words=GIVEN)
    with pytest.raises(InputError, match=r"length must be at most 15, .* got 40"):
        model.fit(TEXTS)
    with pytest.raises(NotFittedError):
        model.transform(TEXTS)


@pytest.mark.parametrize("order", [3, 4])
def test_a_planted_filter_is_learned(order):
    """A run of words that comes again and again is the filter of its coordinate, from its first word on.

    If its opposite comes as often, fourth cumulants find it, up to sign.
    """
    rng = np.random.default_rng(0)
    run = {"one": 2.0, "two": 1.0, "three": -1.5}
    values = {**run, **{f"un{word}": -x for word, x in run.items()}}
    values |= {f"noise{k}": x for k, x in enumerate(rng.normal(0, 0.1, 30))}
    noise = [word for word in values if word.startswith("noise")]
    texts = []
    for _ in range(600):
        words = list(rng.choice(noise, 12))
        at = rng.integers(0, 9)
        sign = "un" if order == 4 and len(texts) % 2 else ""
        texts.append([*words[:at], *(f"{sign}{word}" for word in run), *words[at + 3 :]])
    vectors = Embedding(list(values), np.array(list(values.values()))[:, None])
    model = ConvolutionalSentences(1, length=6, words=vectors, order=order, seed=0).fit(texts)
    planted = np.array([2.0, 1.0, -1.5]) / np.linalg.norm([2.0, 1.0, -1.5])
    assert np.abs(model.filters_[0, 0, :3] @ planted) > 0.98
    assert model.number_ == 600 * 7
    assert 0 <= model.error_[0] < 1

"""Chains of tags: best paths, sums over paths, gradients, steps, and what is learned."""

import itertools
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError, SequenceTagger
from polyadic.sequences.kernels.tagging import CodedSentences, TagParts, TagTables, tag_epoch, tag_marginals, tag_paths
from polyadic.sequences.kernels.tagging import _tag_gradient as tag_gradient
from polyadic.sequences.kernels.tagging import _tag_sums as tag_sums
from polyadic.sequences.sequence_tagger import (
    TagLearner,
    coded,
    learned_features,
    of_rank,
    spans_only,
)
from strategies import tries

SEEDS = st.integers(0, 2**32 - 1)
LOSSES = ["likelihood", "hinge", "perceptron"]


def path_score(scores, T, path):
    """The score of a path, term by term."""
    end = scores.shape[1]
    moves = itertools.pairwise([end, *path, end])
    return sum(scores[i, t] for i, t in enumerate(path)) + sum(T[s, t] for s, t in moves)


def paths_of(scores, T):
    """All paths and their scores."""
    n, size = scores.shape
    return [(path, path_score(scores, T, path)) for path in itertools.product(range(size), repeat=n)]


def logsumexp(values):
    top = max(values)
    return top + np.log(sum(np.exp(value - top) for value in values)) if top > -np.inf else top


def chain(n, size, seed, *, scale=1.0, forbidden=0.0):
    """Scores and moves, some of which cannot be; the path of first tags always can."""
    rng = np.random.default_rng(seed)
    T = scale * rng.normal(size=(size + 1, size + 1))
    gone = rng.random(T.shape) < forbidden
    gone[0, [0, -1]] = gone[-1, 0] = False
    T[gone] = -np.inf
    return scale * rng.normal(size=(n, size)), T, rng


def case(seed, *, rank=None, features=12, size=4, lengths=(3, 1, 0, 4, 2)):
    """Coded sentences, gold tags and weights."""
    rng = np.random.default_rng(seed)
    tokens = sum(lengths)
    sizes = rng.integers(0, 5, tokens)
    sentences = CodedSentences(
        rng.integers(0, features, sizes.sum()).astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )
    shapes = [(features, rank or size), (size if rank else 0, rank or size), (size + 1, size + 1)]
    parts = TagParts(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    return sentences, rng.integers(0, size, tokens).astype(np.int32), parts, rng


def scores_of(sentences, parts):
    """Scores of each token, plainly."""
    U, V, _ = (part.astype(float) for part in parts)
    rows = [U[sentences.columns[a:b]].sum(axis=0) for a, b in itertools.pairwise(sentences.starts)]
    Z = np.array(rows).reshape(-1, U.shape[1])
    return Z @ V.T if len(V) else Z


@given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, 1, 2]), st.booleans())
@tries(60)
def test_paths_are_the_best_of_all(seed, n, size, rank, bound):
    """No path of the same length has a higher score, whatever cannot be."""
    sentences, _, parts, _ = case(seed, rank=rank, size=size, lengths=(n, 0, 1))
    if bound:
        parts = parts._replace(T=chain(1, size, seed, forbidden=0.4)[1].astype(np.float32))
    found = tag_paths(sentences, parts)
    scores = scores_of(sentences, parts)
    for a, b in ((0, n), (n, n + 1)):
        best = max(score for _, score in paths_of(scores[a:b], parts.T.astype(float)))
        assert path_score(scores[a:b], parts.T.astype(float), found[a:b]) == pytest.approx(best, abs=1e-4)


@given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.sampled_from([1.0, 30.0, 2000.0, 1e5]), st.booleans())
@tries(80)
def test_sums_over_all_paths(seed, n, size, scale, bound):
    """The partition, marginals and expected moves are sums over all paths, also where scores are thousands apart."""
    scores, T, _ = chain(n, size, seed, scale=scale, forbidden=0.4 if bound else 0.0)
    alpha, beta, expected = np.empty((n, size)), np.empty((n, size)), np.zeros_like(T)
    total = tag_sums(scores, n, T, alpha, beta, expected)
    every = paths_of(scores, T)
    assert total == pytest.approx(logsumexp([score for _, score in every]), rel=1e-12, abs=1e-9)
    shares, moves = np.zeros((n, size)), np.zeros_like(T)
    for path, score in every:
        p = np.exp(score - total)
        shares[range(n), path] += p
        for s, t in itertools.pairwise([size, *path, size]):
            moves[s, t] += p
    np.testing.assert_allclose(np.exp(alpha + beta - total), shares, atol=1e-8)
    np.testing.assert_allclose(expected, moves, atol=1e-8)


def test_marginals_by_the_door():
    """Shares of each token sum to one and are those of all paths."""
    sentences, _, parts, _ = case(3, rank=2)
    shares = tag_marginals(sentences, parts)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    scores, T = scores_of(sentences, parts), parts.T.astype(float)
    every = paths_of(scores[:3], T)
    total = logsumexp([score for _, score in every])
    first = sum(np.exp(score - total) for path, score in every if path[1] == 2)
    assert shares[1, 2] == pytest.approx(first, abs=1e-6)


@given(SEEDS, st.integers(1, 4), st.integers(1, 3))
@tries(30)
def test_gradient_of_the_likelihood(seed, n, size):
    """Differences of the loss at nearby scores and moves."""
    scores, T, rng = chain(n, size, seed)
    gold = rng.integers(0, size, n).astype(np.int32)

    def loss(scores, T, D=None, G=None):
        D, G = np.empty((n, size)) if D is None else D, np.empty_like(T) if G is None else G
        return tag_gradient(scores, gold, T, True, 0.0, D, G)

    D, G, h = np.empty((n, size)), np.empty_like(T), 1e-6
    loss(scores, T, D, G)
    for at in np.ndindex(scores.shape):
        e = np.zeros_like(scores)
        e[at] = h
        assert (loss(scores + e, T) - loss(scores - e, T)) / (2 * h) == pytest.approx(D[at], abs=1e-7)
    for at in np.ndindex(T.shape):
        e = np.zeros_like(T)
        e[at] = h
        assert (loss(scores, T + e) - loss(scores, T - e)) / (2 * h) == pytest.approx(G[at], abs=1e-7)


@given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 1.0]))
@tries(60)
def test_structured_losses_are_maxima_over_all_paths(seed, n, size, cost):
    """The loss is the best score with a cost for each wrong tag, minus that of the right one; D and G tell it."""
    scores, T, rng = chain(n, size, seed)
    gold = rng.integers(0, size, n).astype(np.int32)
    D, G = np.empty((n, size)), np.empty_like(T)
    loss = tag_gradient(scores.copy(), gold, T, False, cost, D, G)
    right = path_score(scores, T, gold)
    every = {
        path: score + cost * sum(a != b for a, b in zip(path, gold, strict=True)) for path, score in paths_of(scores, T)
    }
    path = max(every, key=every.get)
    assert loss == pytest.approx(every[path] - right, abs=1e-9)
    wanted, moves = np.zeros_like(D), np.zeros_like(G)
    for chosen, sign in ((path, 1), (gold, -1)):
        wanted[range(n), list(chosen)] += sign
        for s, t in itertools.pairwise([size, *chosen, size]):
            moves[s, t] += sign
    np.testing.assert_array_equal(D, wanted)
    np.testing.assert_array_equal(G, moves)


def slow_epoch(sentences, gold, parts, importance, *, loss, step, ridge):
    """The steps of one pass in order, plainly, and the mean of the weights at the start and after each sentence."""
    U, V, T = (part.astype(float).copy() for part in parts)
    squares = [np.ones_like(part) for part in (U, V, T)]
    seen, total = [[U.copy(), V.copy(), T.copy()]], 0.0

    def move(weight, square, gradient):
        square += gradient**2
        weight -= step * gradient / np.sqrt(square)

    for a, b in itertools.pairwise(sentences.edges):
        if b > a:
            rows = [sentences.columns[sentences.starts[i] : sentences.starts[i + 1]] for i in range(a, b)]
            Z = np.array([U[row].sum(axis=0) for row in rows])
            D, G = np.empty((b - a, len(T) - 1)), np.empty_like(T)
            scores = Z @ V.T if len(V) else Z.copy()
            total += tag_gradient(scores, gold[a:b], T, loss == "likelihood", float(loss == "hinge"), D, G)
            dZ = D @ V if len(V) else D
            for row, dz in zip(rows, dZ, strict=True):
                for f in row:
                    move(U[f], squares[0][f], dz + ridge * importance[f] * U[f])
            if len(V):
                move(V, squares[1], D.T @ Z + ridge * V)
            move(T, squares[2], G + ridge * T)
        seen.append([U.copy(), V.copy(), T.copy()])
    return total, [U, V, T], [np.mean(layer, axis=0) for layer in zip(*seen, strict=True)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_epoch_is_its_slow_twin(loss, rank, ridge):
    """Weights, their mean and the loss after a pass, in pieces or at once."""
    sentences, gold, parts, rng = case(7, rank=rank)
    importance = rng.random(len(parts.U)).astype(np.float32)
    tables, total = TagTables.of(parts), 0.0
    how = {"soft": loss == "likelihood", "cost": float(loss == "hinge"), "learning_rate": 0.3, "ridge": ridge}
    for seen, order in ((0, np.arange(2)), (2, np.arange(2, 5))):
        total += tag_epoch(sentences, gold, tables, order=order, importance=importance, seen=seen, **how)
    expected, weights, means = slow_epoch(sentences, gold, parts, importance, loss=loss, step=0.3, ridge=ridge)
    assert total == pytest.approx(expected, rel=1e-4)
    for got, wanted in zip(tables.weights(), weights, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)
    for got, wanted in zip(tables.means(5), means, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)


def test_penalty_of_a_pass_is_that_of_all_weights():
    """The decays of a feature in a pass sum to that of n sentences, however often it occurs."""
    sentences, gold, parts, _ = case(1)
    learner = TagLearner(sentences, gold, parts, SequenceTagger(loss="hinge", learning_rate=0.1, l2=0.1))
    times = np.bincount(sentences.columns, minlength=len(parts.U))
    np.testing.assert_allclose((times * learner._importance)[times > 0], len(sentences.edges) - 1)


def test_full_rank_is_no_rank():
    """A factor that is the identity, and the nearest weights of all rank, score as the weights themselves."""
    sentences, _, parts, _ = case(5)
    identity = parts._replace(V=np.eye(4, dtype=np.float32))
    np.testing.assert_array_equal(tag_paths(sentences, parts), tag_paths(sentences, identity))
    np.testing.assert_allclose(tag_marginals(sentences, parts), tag_marginals(sentences, of_rank(parts, 4)), atol=1e-5)
    U, V, _ = of_rank(parts, 2)
    s = np.linalg.svd(parts.U, compute_uv=False)
    assert np.linalg.norm(parts.U - U @ V.T) == pytest.approx(np.linalg.norm(s[2:]), rel=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": np.array([12], np.int32)}, "columns must contain feature ids"),
        ({"edges": np.array([0, 3, 2, 10])}, "edges must increase"),
        ({"starts": np.array([0, 5])}, "starts must increase"),
    ],
)
def test_doors_refuse_what_does_not_fit(change, message):
    """A loop would read beyond."""
    sentences, _, parts, _ = case(2)
    sentences = sentences._replace(**change)
    if "columns" in change:
        sentences = CodedSentences(sentences.columns, np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match=message):
        tag_paths(sentences, parts)
    with pytest.raises(ValueError, match="do not match"):
        tag_paths(case(2)[0], parts._replace(T=np.zeros((3, 3), np.float32)))


# Learning


def planted(sentences=60, *, size=5, words=40, seed=0):
    """Sentences whose tags follow from words, but for a word at the end whose tag follows from the one before."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, size, words)
    kinds[:size] = range(size)
    X, y = [], []
    for length in rng.integers(1, 12, sentences):
        row = rng.integers(0, words, length)
        same = np.arange(length) == max(1, length - rng.integers(0, 2))
        tags = []
        for word, follows in zip(row, same, strict=True):
            tags.append((tags[-1] + 1) % size if follows else kinds[word])
        X.append([["*", "w=same" if follows else f"w={word}"] for word, follows in zip(row, same, strict=True)])
        y.append([f"t{tag}" for tag in tags])
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rank", [None, 4])
def test_planted_tags_are_learned(loss, rank):
    """Words and moves decide, and both are found; on sentences not seen too."""
    X, y = planted(200)
    model = SequenceTagger(rank, loss=loss, max_iter=15).fit(X[:150], y[:150])
    assert model.score(X[:150], y[:150]) == 1
    assert model.score(X[150:], y[150:]) > 0.98
    assert model.parts_.V.shape == (5 if rank else 0, rank or 5)


@pytest.mark.parametrize("rank", [None, 1])
def test_means_are_of_the_start_and_after_each_sentence(rank):
    """After one step of one sentence they lie half way between the start and where the step went."""
    sentences, known = learned_features([[["a"], ["b"]]])
    gold = np.array([0, 1], np.int32)
    averaged, plain = (SequenceTagger(rank, averaged=each) for each in (True, False))
    start, mean = itertools.islice(averaged._sweeps(sentences, gold, len(known), 2), 2)
    _, last = itertools.islice(plain._sweeps(sentences, gold, len(known), 2), 2)
    assert any((a != b).any() for a, b in zip(start.factors, last.factors, strict=True))
    for a, b, c in zip(start.factors, mean.factors, last.factors, strict=True):
        np.testing.assert_allclose(b, (a + c) / 2, rtol=1e-5)


def test_where_low_rank_starts():
    """At the nearest matrix of its rank to the mean weights of one pass without a rank; or at random and without T."""
    X, y = planted(40)
    sentences, known = learned_features(X)
    gold = np.array([int(tag[1:]) for tags in y for tag in tags], np.int32)
    starts = {
        init: next(SequenceTagger(2, init=init, seed=3)._sweeps(sentences, gold, len(known), 5)).factors
        for init in ("svd", "random")
    }
    W, _, T = SequenceTagger(max_iter=1, seed=3).fit(X, y).parts_
    U, V, at_start = starts["svd"]
    np.testing.assert_allclose(at_start, T)
    s = np.linalg.svd(W, compute_uv=False)
    assert np.linalg.norm(W - U @ V.T) == pytest.approx(np.linalg.norm(s[2:]), rel=1e-4)
    assert not starts["random"][2].any()
    assert starts["random"][0].std() == pytest.approx(0.1 / 2**0.5, rel=0.3)


def test_random_start_learns_too():
    """A start at random does not stay where it is."""
    X, y = planted(100)
    assert SequenceTagger(4, init="random", max_iter=25).fit(X, y).score(X, y) > 0.99


def test_more_columns_than_tags_are_as_many():
    """A rank above the number of tags is that number."""
    X, y = planted(20)
    a, b = (SequenceTagger(rank, max_iter=2).fit(X, y) for rank in (5, 50))
    np.testing.assert_array_equal(a.parts_.U, b.parts_.U)


def test_penalty_makes_weights_small():
    """The stronger, the smaller."""
    X, y = planted(60)
    norms = [np.linalg.norm(SequenceTagger(l2=l2).fit(X, y).parts_.U) for l2 in (0.0, 0.01, 0.1, 1.0)]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < norms[0] / 4


def test_objective_falls_to_where_the_gradient_is_zero():
    """With a penalty the likelihood comes near the minimum that a general optimiser finds."""
    from scipy.optimize import minimize

    X, y = planted(25, size=3, words=5)
    sentences, known = learned_features(X)
    gold = np.array([int(tag[1:]) for tags in y for tag in tags], np.int32)
    F, Y, ridge = len(known), 3, 0.1

    def objective(theta):
        U, T = theta[: F * Y].reshape(F, Y), theta[F * Y :].reshape(Y + 1, Y + 1)
        parts = TagParts(U, np.zeros((0, Y)), T)
        scores, total, dU, dT = scores_of(sentences, parts), 0.0, np.zeros_like(U), np.zeros_like(T)
        for a, b in itertools.pairwise(sentences.edges):
            D, G = np.empty((b - a, Y)), np.empty_like(T)
            total += tag_gradient(scores[a:b].copy(), gold[a:b], T, True, 0.0, D, G)
            dT += G
            for i, d in zip(range(a, b), D, strict=True):
                np.add.at(dU, sentences.columns[sentences.starts[i] : sentences.starts[i + 1]], d)
        gradient = np.concatenate([dU.ravel(), dT.ravel()]) / len(X) + ridge * theta
        return total / len(X) + ridge / 2 * theta @ theta, gradient

    best = minimize(objective, np.zeros(F * Y + (Y + 1) ** 2), jac=True).fun
    model = SequenceTagger(l2=ridge, max_iter=60, learning_rate=0.1).fit(X, y)
    theta = np.concatenate([model.parts_.U.ravel(), model.parts_.T.ravel()]).astype(float)
    assert best <= objective(theta)[0] < best * 1.02


def test_unknown_features_say_nothing():
    """A token of unknown features alone has the tags of its neighbours to go by; none at all as well."""
    X, y = planted(60)
    model = SequenceTagger().fit(X, y)
    assert model.predict([[*X[0], ["no", "such"]]]) == model.predict([[*X[0], []]])
    assert model.predict([]) == []
    assert model.predict([[], X[0], []]) == [[], *model.predict([X[0]]), []]
    assert [len(p) for p in model.predict_proba([[], X[0]])] == [0, len(X[0])]
    assert model.predict_proba([]) == []


def test_long_sentences_and_one_tag():
    """500 words, and a single tag."""
    X, y = planted(60)
    model = SequenceTagger().fit([*X, []], [*y, []])
    long = [token for sentence in X for token in sentence] * 5
    assert len(long) > 500
    [shares] = model.predict_proba([long])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert len(model.predict([long])[0]) == len(long)
    for loss, rank in itertools.product(LOSSES, (None, 1)):
        only = SequenceTagger(rank, loss=loss, max_iter=2).fit([[["a"], ["b"]]], [["x", "x"]])
        assert only.predict([[["a"]] * 3]) == [["x"] * 3]


def test_probabilities_go_with_the_best_tags():
    """In a chain without moves the likeliest tags are the best path; other losses have none."""
    X, y = planted(60)
    model = SequenceTagger().fit(X, y)
    model.parts_ = model.parts_._replace(T=np.zeros_like(model.parts_.T))
    shares = np.concatenate(model.predict_proba(X))
    assert [model.tags_[t] for t in shares.argmax(axis=1)] == [tag for tags in model.predict(X) for tag in tags]
    with pytest.raises(InputError, match="'likelihood'; this tagger was trained with 'hinge'"):
        SequenceTagger(loss="hinge", max_iter=1).fit(X, y).predict_proba(X)


def test_spans_go_on_only_from_their_kind():
    """With ``bio`` no I-X begins a span, and the best path of those allowed is found."""
    rng = np.random.default_rng(0)
    tags = ["B-A", "B-B", "I-A", "I-B", "O"]
    X = [[[f"w={rng.integers(6)}"] for _ in range(4)] for _ in range(30)]
    y = [[tags[t] for t in rng.integers(0, 5, 4)] for _ in X]
    free, bound = (SequenceTagger(bio=bio, max_iter=3).fit(X, y) for bio in (False, True))
    np.testing.assert_array_equal(free.parts_.T, bound.parts_.T)

    def broken(path):
        pairs = itertools.pairwise(["", *path])
        return any(b[:2] == "I-" and a not in {f"B-{b[2:]}", b} for a, b in pairs)

    assert any(map(broken, free.predict(X)))
    assert not any(map(broken, bound.predict(X)))
    sentences = coded(X[:1], bound.features_)
    scores, T = scores_of(sentences, bound.parts_), bound.parts_.T.astype(float)
    allowed = [(s, p) for p, s in paths_of(scores, T) if not broken([tags[t] for t in p])]
    assert bound.predict(X[:1]) == [[tags[t] for t in max(allowed)[1]]]
    assert np.isneginf(spans_only(tags)[-1]).tolist() == [False, False, True, True, False, False]
    first = np.array([shares[0] for shares in bound.predict_proba(X)])
    assert (first[:, 2:4] == 0).all()


def test_some_tag_must_come_first():
    """Where all tags go on with a span, none can be predicted with ``bio``; without it they can."""
    X, y = [[["a"], ["b"]]], [["I-A", "I-B"]]
    assert SequenceTagger(max_iter=20).fit(X, y).predict(X) == y
    with pytest.raises(InputError, match="no BIO sequence can start with I-; got I-A, I-B"):
        SequenceTagger(bio=True).fit(X, y)


def test_rare_features_are_left_out():
    """Those seen less often than ``min_count`` are not known."""
    X = [[["a", "b"], ["a"]]]
    assert list(SequenceTagger(min_count=2, max_iter=1).fit(X, [["x", "y"]]).features_) == ["a"]
    with pytest.raises(InputError, match="no feature occurs at least 3 times; lower min_count"):
        SequenceTagger(min_count=3).fit(X, [["x", "y"]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[["a"]]], [], "each sentence must have a list of tags; got 1 sentences and 0 lists"),
        (
            [[["a"]], [["a"], ["b"]]],
            [["x"], ["x"]],
            "sentence 2: the number of tags must be the number of tokens, 2; got 1",
        ),
        ([[["a"]]], ["x"], "sentence 1: tags must be a list of strings; got 'x'"),
        ([["a"]], [["x"]], "sentence 1, token 1: the features of a token must be a list or dict; got 'a'"),
        (["a"], [["x"]], "sentence 1 must be a list of tokens; got 'a'"),
        ([7], [["x"]], "sentence 1 must be a list of tokens; got 7"),
        ([{"w": "a"}], [["x"]], r"sentence 1 must be a list of tokens; got {'w': 'a'}: pass \[X\]"),
        ([[["a"], ["b"]]], [["x", 1]], "sentence 1, token 2: tags must be strings that are not empty; got 1"),
        ([[["a"]], [["b"]]], [["x"], [""]], "sentence 2, token 1: tags must be strings"),
        ([[["a"], ["b", 7]]], [["x", "x"]], "sentence 1, token 2: features must be strings that are not empty; got 7"),
        ([[["a", None]]], [["x"]], "sentence 1, token 1: features must be strings that are not empty; got None"),
        ([[{"w": float("nan")}]], [["x"]], "sentence 1, token 1: the value of 'w' must be text, a finite number"),
        ([[{"w": None}]], [["x"]], "the value of 'w' must be text, a finite number or a bool; got None"),
        ([[{"w": ["a"]}]], [["x"]], r"the value of 'w' must be text, a finite number or a bool; got \['a'\]"),
        ([[{"w": {"a": 1}}]], [["x"]], "the value of 'w' must be text, a finite number or a bool; got {'a': 1}"),
        ([], [], "at least one token"),
        ([[]], [[]], "at least one token"),
    ],
)
def test_bad_input_is_told(X, y, message):
    """In one sentence."""
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit(X, y)


def test_dicts_are_names_with_values():
    """Text is part of the name, True is 1, 0 and False are left out; numbers multiply weights and gradients."""
    words = [["the", "dog"], ["a", "cat"], ["dog"]]
    y = [["D", "N"], ["D", "N"], ["N"]]
    dicts = [[{"word": w, "bias": 1.0, "long": len(w) > 2, "zero": 0} for w in sentence] for sentence in words]
    lists = [[[f"word={w}", "bias", *["long"] * (len(w) > 2)] for w in sentence] for sentence in words]
    one, other = (SequenceTagger(max_iter=3, seed=0).fit(X, y) for X in (dicts, lists))
    assert one.features_ == other.features_
    assert all((a == b).all() for a, b in zip(one.parts_, other.parts_, strict=True))
    assert one.predict([[{"word": "a", "bias": 1}, {"word": "cat"}]]) == other.predict(
        [[["word=a", "bias"], ["word=cat"]]]
    )
    # a feature with the value 3, after one update from zero with the gradient g: AdaGrad moves it by 3 g of 1 + 9 g^2
    sentences, known = learned_features([[{"a": 1.0, "b": 3.0}]])
    tables = TagTables.of(
        TagParts(np.zeros((2, 2), np.float32), np.zeros((0, 2), np.float32), np.zeros((3, 3), np.float32))
    )
    how = {"order": np.array([0]), "importance": np.ones(2, np.float32), "seen": 0, "soft": True, "cost": 0.0}
    tag_epoch(sentences, np.array([0], np.int32), tables, **how, learning_rate=0.1, ridge=0.0)
    g = np.array([-0.5, 0.5])
    for name, value in (("a", 1), ("b", 3)):
        moved = tables.weights().U[known[name]]
        np.testing.assert_allclose(moved, -0.1 * value * g / np.sqrt(1 + (value * g) ** 2), rtol=1e-6)
    rng = np.random.default_rng(0)
    numbers = [[{"x": float(x)} for x in rng.normal(size=5) if x] for _ in range(40)]
    signs = [["+" if token["x"] > 0 else "-" for token in sentence] for sentence in numbers]
    assert SequenceTagger(max_iter=20, seed=0).fit(numbers, signs).score(numbers, signs) > 0.95


@pytest.mark.parametrize("rank", [None, 2])
def test_weights_that_are_shown_give_the_probabilities(rank):
    """Sums of the weights of features, times values, and of transitions, over all paths, are the marginals."""
    X = [[{"w": w, "n": 0.5 + at} for at, w in enumerate(s)] for s in ("ab", "bca", "ac")]
    model = SequenceTagger(rank, max_iter=5, seed=0).fit(X, [["x", "y"], ["y", "z", "x"], ["x", "z"]])
    top, moves = model.top_features(99), model.transitions()
    weights = {tag: dict(pairs) for tag, pairs in top.items()}
    assert all([w for _, w in pairs] == sorted((w for _, w in pairs), reverse=True) for pairs in top.values())
    assert [*moves.values()] == sorted(moves.values(), reverse=True)
    assert [len(pairs) for pairs in model.top_features(2).values()] == [2, 2, 2]
    sums = np.zeros((3, 3))
    for path in product("xyz", repeat=3):
        score = sum(moves[pair] for pair in pairwise(["", *path, ""]))
        for tag, token in zip(path, X[1], strict=True):
            score += weights[tag][f"w={token['w']}"] + token["n"] * weights[tag]["n"]
        sums[range(3), ["xyz".index(tag) for tag in path]] += np.exp(score)
    np.testing.assert_allclose(model.predict_proba(X[1:2])[0], sums / sums.sum(axis=1, keepdims=True), atol=1e-5)


def test_failed_refit_leaves_the_old_fit():
    """Whatever fails, what was learned stays."""
    X, y = planted(20)
    model = SequenceTagger(max_iter=2).fit(X, y)
    before, history = model.predict(X), list(model.history_)
    with pytest.raises(InputError):
        model.fit(X[:2], [["z"]])
    model.learning_rate = -1.0
    with pytest.raises(InputError):
        model.fit(X, y)
    assert (model.predict(X), model.history_) == (before, history)

"""The doors to compiled loops: twins, refusals, and the cache of what was compiled."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import reference
from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.core.kernels import products
from polyadic.text.kernels import (
    chunk_sets,
    count_tuples,
    index_words,
    indexed_length,
    tuple_marginals,
    tuple_work,
    word_positions,
)
from strategies import Text, sentences

WORDS = 6


def index_of(lists, reach):
    text = Text.of(lists, WORDS)
    return index_words(text.ids, text.sentences, WORDS, reach)


@given(lists=sentences(), reach=st.integers(1, 12))
def test_index_words(lists, reach):
    """``index_words`` (kernels ``with_ends``, ``word_starts``, ``occurrences``) knows where words and ends are."""
    index = index_of(lists, reach)
    none = [index.end]
    apart = none * reach + [word for sentence in lists for word in [*sentence, *none]] + none * reach
    assert index.ids.tolist() == apart
    assert len(apart) == indexed_length(sum(map(len, lists)), len(lists) + 1, reach)
    places = [index.positions[a:b].tolist() for a, b in itertools.pairwise(index.starts)]
    assert places == [[p for p, other in enumerate(apart) if other == word] for word in range(WORDS)]


@given(lists=sentences(), length=st.integers(1, 12), order=st.integers(1, 5))
def test_chunk_sets(lists, length, order):
    """``chunk_sets`` gives the distinct words of each chunk that has enough of them."""
    text = Text.of(lists, WORDS)
    sets, bounds = chunk_sets(text.ids, text.sentences, length, order)
    chunks = [sets[a:b].tolist() for a, b in itertools.pairwise(bounds)]
    assert chunks == reference.chunk_sets(lists, length, order)
    assert bounds[0] == 0
    assert bounds[-1] == len(sets)


@given(lists=sentences(), order=st.integers(2, 5), near=st.integers(1, 4), far=st.booleans(), repeats=st.booleans())
def test_work_bounds_the_tuples(lists, order, near, far, repeats):
    """``tuple_work`` (kernel ``count_work``) is at least what ``count_tuples`` finds, word by word."""
    reach = near * (1 + far)
    index = index_of(lists, reach)
    work = tuple_work(index, order, repeats=repeats)
    halves = [tuple_work(index, order, where, repeats=repeats) for where in (slice(0, 7), slice(7, None))]
    assert (sum(halves) == work).all()
    how = {"order": order, "near": near, "repeats": repeats, "min_count": 1}
    for word in range(WORDS):
        words, counts, _ = count_tuples(index, word, word + 1, **how)
        assert counts.sum() <= work[word]
        assert (words[0] == word).all()


@given(lists=sentences(), order=st.integers(2, 4), cut=st.integers(0, WORDS))
def test_ranges_of_words_add_up(lists, order, cut):
    """``count_tuples`` of two ranges is that of their union: tuples one after the other, marginals summed."""
    index = index_of(lists, 4)
    how = {"order": order, "near": 4, "repeats": True, "min_count": 1}
    ranges = [count_tuples(index, a, b, **how) for a, b in ((0, cut), (cut, WORDS))]
    words, counts, marginals = count_tuples(index, 0, WORDS, **how)
    assert words.tolist() == np.hstack([part[0] for part in ranges]).tolist()
    assert counts.tolist() == np.hstack([part[1] for part in ranges]).tolist()
    assert marginals.tolist() == sum(part[2] for part in ranges).tolist()
    assert tuple_marginals(words.T, counts, WORDS).tolist() == marginals.tolist()


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_cp_predict(order, threads):
    """``cp_predict`` (kernel ``predict_fibres``) gives cells of the CP form, for rows in any order."""
    rng = np.random.default_rng(order)
    u, indices = rng.standard_normal((4, 3)), rng.integers(0, 4, (10, order))
    truth = reference.cp([u] * order)[tuple(indices.T)]
    assert kernels.cp_predict(indices, u, threads=threads) == pytest.approx(truth)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_cp_squared(order):
    """``cp_squared`` (``squared_fibres``, ``squared_triples``) is its formula, and its gradient the derivative."""
    rng = np.random.default_rng(order)
    x = Entries.collect(rng.integers(0, 5, (30, order)), rng.standard_normal(30), 5)
    w, u = rng.random(len(x)), rng.standard_normal((5, 3))

    def twin(v):
        m = reference.cp([v] * order)[tuple(x.indices.T)]
        return 0.35 * float(w @ (x.values - m) ** 2 - 0.2 * m @ m)

    value, gradient = kernels.cp_squared(x.indices, x.values, w, u, zero_weight=0.2, scale=0.7, threads=1)
    assert value == pytest.approx(twin(u))
    assert gradient == pytest.approx(reference.numerical_gradient(twin, u), abs=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("threads", [1, 2])
def test_cp_pullback(order, threads):
    """``cp_pullback`` (kernel ``pullback_fibres``) is the adjoint of the derivative of ``cp_predict``."""
    rng = np.random.default_rng(order)
    sizes = [3, 4, 2, 5][:order]
    offsets = np.cumsum([0, *sizes[:-1]])
    indices = np.array([rng.integers(0, n, 20) for n in sizes]).T
    u, derivatives = rng.standard_normal((sum(sizes), 3)), rng.standard_normal(20)

    def twin(v):
        return float(derivatives @ kernels.cp_predict(indices, v, offsets=offsets, threads=1))

    gradient = kernels.cp_pullback(indices, derivatives, u, offsets=offsets, threads=threads)
    assert gradient == pytest.approx(reference.numerical_gradient(twin, u), abs=1e-6)


def test_separate_factors_are_stacked():
    """With offsets each mode has rows of its own: the model is that of the separate factors."""
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((n, 3)) for n in (3, 4, 2)]
    indices = np.array([rng.integers(0, len(u), 9) for u in factors]).T
    predictions = kernels.cp_predict(indices, np.vstack(factors), offsets=[0, 3, 7], threads=1)
    assert predictions == pytest.approx(reference.cp(factors)[tuple(indices.T)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [1, 16, 19])
def test_tables_of_rows(kind, rank):
    """``table`` lays layers side by side, each row at the beginning of a cache line, with zeros up to the next."""
    layers = np.random.default_rng(rank).standard_normal((3, 5, rank)).astype(kind)
    T = kernels.table(*layers)
    assert T.dtype == kind
    assert T.flags.c_contiguous
    assert T.ctypes.data % 64 == T.strides[0] % 64 == T.strides[1] % 64 == 0
    assert np.array_equal(T[:, :, :rank], layers.transpose(1, 0, 2))
    assert not T[:, :, rank:].any()


def test_nothing_listed():
    """No entries give no loss, no gradient and no predictions."""
    none, u = np.empty((0, 3), np.int64), np.ones((4, 2))
    value, gradient = kernels.cp_squared(none, np.empty(0), np.empty(0), u, zero_weight=1.0, scale=1.0, threads=2)
    assert value == 0
    assert np.array_equal(gradient, np.zeros((4, 2)))
    assert len(kernels.cp_predict(none, u, threads=2)) == 0


IDS, SENTENCES = np.array([0, 1, 2, 0], np.uint16), np.array([0, 2, 4])
ROWS, ONES, U = np.array([[2, 1, 0], [3, 1, 0]]), np.ones(2), np.ones((4, 2))
SQUARED = {"zero_weight": 1.0, "scale": 1.0, "threads": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: index_words(IDS, SENTENCES, 2, 5), "ids must be below 2"),
        (lambda: index_words(IDS, SENTENCES, 3, 0), "reach must be below 32,768"),
        (lambda: index_words(IDS, SENTENCES, 3, 1 << 15), "reach must be below 32,768"),
        (lambda: word_positions(IDS, 2), "ids must be below 2"),
        (
            lambda: index_words(IDS, SENTENCES[:2], 3, 5),
            "sentence offsets must increase from 0 to the number of ids, 4",
        ),
        (lambda: index_words(IDS, np.array([0, 5, 4]), 3, 5), "sentence offsets must increase"),
        (lambda: chunk_sets(IDS, SENTENCES + 1, 5, 2), "sentence offsets must increase"),
        (lambda: chunk_sets(IDS, np.empty(0, int), 5, 2), "sentence offsets must increase"),
        (lambda: chunk_sets(IDS, SENTENCES, 0, 2), "length and order must be positive; got 0 and 2"),
        (
            lambda: kernels.cp_squared(ROWS, ONES[:1], ONES, U, **SQUARED),
            "values and weights must have one element for each of 2 entries",
        ),
        (
            lambda: kernels.cp_squared(ROWS, ONES, ONES[:1], U, **SQUARED),
            "values and weights must have one element for each of 2 entries",
        ),
        (lambda: kernels.cp_squared(ROWS, ONES, None, U[:3], **SQUARED), "indices must be row indices of U, from 0"),
        (lambda: kernels.cp_squared(ROWS - 1, ONES, None, U, **SQUARED), "got -1 to -1"),
        (lambda: kernels.cp_squared(ROWS, ONES, None, U[0], **SQUARED), "must have two dimensions"),
        (
            lambda: kernels.cp_predict(ROWS, U[:3], threads=1),
            "indices must be row indices of U, from 0 to 2; got 2 to 3",
        ),
        (
            lambda: kernels.cp_predict(ROWS, U, offsets=[0, 1], threads=1),
            "offsets must have one element for each of 3 modes",
        ),
        (
            lambda: kernels.cp_pullback(ROWS, ONES[:1], U, threads=1),
            "derivatives must have one element for each of 2 entries",
        ),
        (lambda: kernels.cp_predict(ROWS[0], U, threads=1), "must have two dimensions"),
    ],
)
def test_doors_are_guarded(call, message):
    """What would make a loop read or write beyond its arrays, or never end, is refused before it starts."""
    with pytest.raises(ValueError, match=message):
        call()


SECOND_PROCESS = """
import numpy as np
from polyadic.core import kernels
from polyadic.core.kernels import cp
kernels.cp_predict(np.array([[0, 1]]), np.ones((2, 3)), threads=1)
stats = cp._predict_fibres.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


SAME_BITS = """
import hashlib
import numpy as np
from polyadic.core import kernels
rng = np.random.default_rng(0)
starts = np.arange(0, 1001, 10)
entries = kernels.RowEntries(starts, rng.integers(0, 50, 1000), rng.random(1000) + 0.1, rng.standard_normal(1000))
rows = kernels.posterior_rows(entries, rng.standard_normal((50, 11)), precision=np.eye(11), threads=1)
print(hashlib.sha256(rows.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_second_process_gives_the_same_bits(tmp_path):
    """A process that compiles and one that reads the cache sum in the same order."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SAME_BITS]
    assert (
        len({subprocess.run(command, env=environment, check=True, capture_output=True).stdout for _ in range(2)}) == 1
    )


def test_second_process_does_not_compile(tmp_path):
    """The first process compiles a loop and keeps it; the second finds it and writes nothing."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def used():
        done = subprocess.run(
            [sys.executable, "-c", SECOND_PROCESS], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.split(), sorted((path.name, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.nb?"))

    first, compiled = used()
    second, still = used()
    assert (first, second) == (["0", "1"], ["1", "0"])
    assert compiled == still
    assert compiled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 12])
def test_best_of_rows_against_a_stable_sort(dtype, n):
    """The largest, in falling order; of equals the first; minus infinity comes last."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (40, 12)).astype(dtype)
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[3] = -np.inf
    places, values = kernels.best_of_rows(scores, n)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, order, axis=1))
    with pytest.raises(ValueError, match="n must be from 1 to the number of columns, 12; got 13"):
        kernels.best_of_rows(scores, 13)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("R", [1, 5, 32])
def test_sparse_product(R, kind, monkeypatch):
    """``sparse_product`` is that of the dense matrix, with the same bits on any number of threads."""
    monkeypatch.setattr(products, "MIN_WORK", 50)
    rng = np.random.default_rng(0)
    A = csr_array(rng.poisson(0.1 / np.arange(1, 71)[:, None], (70, 90)) * rng.standard_normal((70, 90)), dtype=kind)
    X = rng.standard_normal((90, R)).astype(kind)
    Y = kernels.sparse_product(A.indptr, A.indices, A.data, X, threads=1)
    assert Y.dtype == kind
    np.testing.assert_allclose(Y, A.toarray() @ X, rtol=1e-5, atol=1e-5)
    for threads in (2, 5):
        again = kernels.sparse_product(A.indptr, A.indices, A.data, X[:, ::-1][:, ::-1], threads=threads)
        np.testing.assert_array_equal(again, Y)
    assert kernels.sparse_product(A.indptr, A.indices, A.data, X.astype(float), threads=2).dtype == float
    empty = kernels.sparse_product(A.indptr[:1], A.indices[:0], A.data[:0], X, threads=2)
    assert empty.shape == (0, R)
    with pytest.raises(ValueError, match="entries must have a column and a value"):
        kernels.sparse_product(A.indptr, A.indices[1:], A.data, X, threads=1)


@pytest.mark.parametrize("shape", [(1, 3, 3), (2, 4, 9), (3, 2, 40)])
def test_sparse_activations(shape):
    """``sparse_activations`` cannot be moved to less, whichever filters a signal has, in any number of threads."""
    L, m, n = shape
    rng = np.random.default_rng(0)
    f, y = rng.standard_normal((2, L, m)), rng.standard_normal((70, n))
    which, l1 = rng.integers(0, 2, 70), 0.1 + rng.random(70)
    F = np.stack([[[np.roll(np.pad(g, (0, n - m)), p) for p in range(n)] for g in some] for some in f])  # (2, L, n, n)
    G = np.einsum("kjat,klt->kjla", F, F[:, :, 0])
    how = {"which": which, "l1": l1, "tol": 1e-12, "sweeps": 10_000}
    W = kernels.sparse_activations(f, G, y, threads=1, **how)
    rest = y - np.einsum("slp,slpt->st", W, F[which])
    common, most = np.einsum("slpt,st->slp", F[which], rest), l1[:, None, None]
    assert (np.abs(common) <= most + 1e-8).all()
    np.testing.assert_allclose(common[W != 0], (np.sign(W) * most)[W != 0], atol=1e-8)
    np.testing.assert_array_equal(kernels.sparse_activations(f, G, y, threads=3, **how), W)
    with pytest.raises(ValueError, match="the arrays f, G, y, which and l1 have inconsistent shapes"):
        kernels.sparse_activations(f, G[..., 1:], y, threads=1, **how)
    with pytest.raises(ValueError, match="the array which must contain indices from 0 to 1"):
        kernels.sparse_activations(f, G, y, threads=1, **how | {"which": which + 1})

"""Sums of trace norms: unfoldings of tensors, blocks of matrices, and several views."""

import numpy as np
import pytest

from helpers import refuses
from polyadic import ConvexCCA, Entries, TraceNormCompletion, TraceNormSum
from polyadic.completion.admm import NormTerm, trace_norm_sum
from polyadic.completion.trace_norm_sums import Block
from polyadic.core.losses import Huber, Logistic, Squared
from polyadic.core.solvers.run import run
from polyadic.core.solvers.smooth import CellLosses

EVERY = slice(None)
LOSSES = [Squared(), Logistic(), Huber(0.5)]
EXACT = {"tol": 1e-7, "max_iter": 10000}


def planted(shape=(5, 4, 3), ranks=(2, 2, 2), noise=0.1, share=0.6, seed=0):
    """A tensor of low multilinear rank with noise, and the same with unknown elements."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(ranks)
    for k, size in enumerate(shape):
        x = np.moveaxis(np.tensordot(rng.standard_normal((size, ranks[k])), x, (1, k)), 0, k)
    x += noise * rng.standard_normal(shape)
    return x, np.where(rng.random(shape) < share, x, np.nan)


def unfolded(x, k):
    return np.moveaxis(x, k, 0).reshape(x.shape[k], -1)


@pytest.mark.parametrize("form", ["overlapped", "latent"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_against_a_modelling_language(loss, form):
    """A general solver for cones finds the same tensor and the same objective, and the gap is a bound."""
    cp = pytest.importorskip("cvxpy")
    _, known = planted()
    known = np.where(np.isnan(known), np.nan, known > 0) if isinstance(loss, Logistic) else known
    at = np.flatnonzero(~np.isnan(known.ravel()))
    v, numbers = known.ravel()[at], np.arange(known.size).reshape(known.shape)
    orders = [unfolded(numbers, k) for k in range(3)]
    if form == "overlapped":
        x = cp.Variable(known.size)
        norms = [cp.normNuc(cp.reshape(x[o.ravel()], o.shape, order="C")) for o in orders]
    else:
        Z = [cp.Variable(o.shape) for o in orders]
        x = sum(cp.reshape(z, (z.size,), order="C")[np.argsort(o.ravel())] for z, o in zip(Z, orders, strict=True))
        norms = [cp.normNuc(z) for z in Z]
    m = x[at]
    losses = {
        Squared: lambda: cp.sum_squares(m - v) / 2,
        Logistic: lambda: cp.sum(cp.logistic(m) - cp.multiply(v, m)),
        Huber: lambda: cp.sum(cp.huber(m - v, 0.5)) / 2,
    }
    other = cp.Problem(cp.Minimize(losses[type(loss)]() + 0.3 * sum(norms)))
    other.solve(solver="CLARABEL")
    model = TraceNormSum(0.3, form=form, loss=loss, **EXACT).fit(known)
    assert model.history_[-1] == pytest.approx(other.value, rel=2e-7)
    assert 0 <= model.gap_ <= 1e-7 * model.history_[-1]
    np.testing.assert_allclose(model.array_.ravel(), x.value, atol=2e-3)


@pytest.mark.parametrize("latent", [False, True])
def test_bounds_are_below_the_minimum_in_each_step(latent):
    """The first steps, far from the optimum, have gaps that bound its distance, too."""
    _, known = planted()
    at = np.flatnonzero(~np.isnan(known.ravel()))
    numbers = np.arange(known.size).reshape(known.shape)
    norms = [NormTerm(unfolded(numbers, k), 0.3 + 0.1 * k) for k in range(3)]
    bounds = []
    for loss in (Squared(), Huber(0.5)):
        sweeps = trace_norm_sum(CellLosses(known.ravel()[at], loss), at, norms, latent=latent, tol=0.0)
        result = run(sweeps, max_iter=400, callback=lambda result: bounds.append(float(result.factors[1])))
        assert max(bounds) <= min(result.history) * (1 + 1e-12)
        assert bounds == sorted(bounds)
        assert bounds[-1] >= result.history[-1] * (1 - 1e-4)
        bounds.clear()


def test_a_matrix_has_two_equal_unfoldings():
    """Their overlapped norms are twice the trace norm of the matrix, and the latent ones are the trace norm."""
    known = planted((10, 8), (2, 2))[1]
    for form, times in (("overlapped", 2), ("latent", 1)):
        model = TraceNormSum(0.4, form=form, **EXACT).fit(known)
        one = TraceNormCompletion(0.4 * times, offsets="none", **EXACT).fit(known)
        assert model.history_[-1] == pytest.approx(one.history_[-1], rel=1e-6)
        np.testing.assert_allclose(model.array_, one.matrix_.toarray(), atol=2e-3)


@pytest.mark.filterwarnings("ignore:.*have no observed cell")
def test_blocks_apart_are_fits_apart():
    """Blocks that share no cell are completed each by itself, and cells in no block are zero."""
    known = planted((8, 10), (2, 2))[1]
    known[:, 8:] = np.nan
    model = TraceNormSum(**EXACT).fit(known, [Block(EVERY, slice(4), 0.5), Block(EVERY, np.arange(4, 8), 0.3)])
    for columns, penalty in ((slice(4), 0.5), (slice(4, 8), 0.3)):
        one = TraceNormCompletion(penalty, offsets="none", **EXACT).fit(known[:, columns])
        np.testing.assert_allclose(model.array_[:, columns], one.matrix_.toarray(), atol=2e-3)
    assert not model.array_[:, 8:].any()
    np.testing.assert_array_equal(model.predict([0, 1], [2, 3]), model.array_[[0, 1], [2, 3]])


def test_planted_tensors_are_recovered_by_the_form_that_fits():
    """Low rank in all modes: overlapped, better than one unfolding; low rank in one mode only: latent."""
    for ranks, best in (((2, 2, 2), "overlapped"), ((2, 12, 10), "latent")):
        x, known = planted((14, 12, 10), ranks, noise=0.0, share=0.4)
        hidden = np.isnan(known)
        errors = {}
        for form in ("overlapped", "latent"):
            model = TraceNormSum(0.3, form=form, tol=1e-2).fit(known)
            errors[form] = np.linalg.norm((model.array_ - x)[hidden]) / np.linalg.norm(x[hidden])
        flat = TraceNormCompletion(0.3, offsets="none").fit(unfolded(known, 2)).matrix_.toarray()
        alone = np.linalg.norm((flat - unfolded(x, 2))[unfolded(hidden, 2)]) / np.linalg.norm(x[hidden])
        assert errors[best] == min(errors.values())
        assert errors[best] < 0.7 * alone
        assert errors[best] < 0.5


def test_entries_are_elements():
    """Listed in any order they are those of an array with NaN."""
    _, known = planted()
    indices = np.argwhere(~np.isnan(known))[::-1]
    listed = Entries(indices, known[tuple(indices.T)], known.shape, unobserved="missing")
    np.testing.assert_array_equal(TraceNormSum(0.3).fit(listed).array_, TraceNormSum(0.3).fit(known).array_)


def test_what_does_not_fit_is_refused():
    """Each refusal names what is wrong."""
    known = planted((6, 5), (2, 2))[1]
    model = TraceNormSum()
    refuses("every observed cell must be in a block", model.fit, known, [])
    refuses("every observed cell must be in a block", model.fit, known, [Block(EVERY, slice(2), 1.0)])
    refuses("blocks must be within a matrix", model.fit, known, [Block([0, 9], EVERY, 1.0)])
    refuses("list each once", model.fit, known, [Block([0, 0], EVERY, 1.0)])
    refuses("penalty must be", model.fit, known, [Block(EVERY, EVERY, 0.0)])
    refuses("from 0 to 1", TraceNormSum(loss=Logistic()).fit, 3 * np.ones((2, 2, 2)))
    refuses("at least one observed cell", model.fit, np.full((2, 2, 2), np.nan))
    refuses("3 integer arrays", model.fit(np.ones((2, 2, 2))).predict, [0], [1])
    refuses("3 integer arrays", model.predict, [0], [1], [2])
    refuses("same number of rows", ConvexCCA().fit, [known])
    refuses("must have an observed cell", ConvexCCA().fit, [known, np.full((6, 1), np.nan)])
    refuses("5, 5 columns", ConvexCCA().fit([known, known]).transform, [known])


# ---- views


def views(seed=0, rows=80, sizes=(15, 12), shared=2, own=3, noise=0.3):
    """Views with a shared part and stronger parts of their own; also the shared scores."""
    rng = np.random.default_rng(seed)
    z, found = rng.standard_normal((rows, shared)), []
    for size in sizes:
        private = rng.standard_normal((rows, own)) @ rng.standard_normal((own, size))
        found.append(
            z @ rng.standard_normal((shared, size)) + 1.5 * private + noise * rng.standard_normal((rows, size))
        )
    return found, z


def explained(scores, z):
    """Share of the variance of z that is linear in scores."""
    scores, z = scores - scores.mean(axis=0), z - z.mean(axis=0)
    left = z - scores @ np.linalg.lstsq(scores, z, rcond=None)[0]
    return 1 - (left**2).sum() / (z**2).sum()


def test_shared_scores_are_found_beside_stronger_own_parts():
    """Two components of the shared part explain planted scores better than two of the joined views."""
    found, z = views()
    model = ConvexCCA(6.0).fit(found)
    joined = np.hstack(found) - np.hstack(found).mean(axis=0)
    U, s, _ = np.linalg.svd(joined, full_matrices=False)
    assert explained(U[:, :2] * s[:2], z) < 0.4
    assert explained(model.transform(found)[:, :2], z) > 0.7


def test_limits_of_the_ratio():
    """With a ratio of 1 the joined views are completed as one matrix; up to 1 / sqrt(2) nothing is shared."""
    found, _ = views()
    found[0][3, 4:9] = np.nan
    joined = ConvexCCA(3.0, ratio=1.01, tol=1e-6).fit(found)
    assert [part.rank for part in joined.own_] == [0, 0]
    centred = np.hstack(found) - np.hstack(joined.means_)
    one = TraceNormCompletion(3.0, offsets="none", **EXACT).fit(centred)
    np.testing.assert_allclose(joined.shared_.toarray(), one.matrix_.toarray(), atol=1e-2)
    apart = ConvexCCA(3.0, ratio=0.7, tol=1e-4).fit(found)
    assert apart.rank_ == 0
    assert apart.transform(found).shape == (80, 0)


def test_rows_given_again_have_their_coordinates():
    """Ridge regression on the columns gives back the rows of all parts, also where cells are unknown."""
    found, _ = views()
    found[1][::2, 3] = np.nan
    model = ConvexCCA(4.0, tol=1e-6).fit(found)
    np.testing.assert_allclose(model.transform(found), model.shared_.U * np.sqrt(model.shared_.s), atol=1e-2)
    parts = np.split(model.shared_.toarray(), [15], axis=1)
    for predicted, mean, shared, own in zip(model.predict(found), model.means_, parts, model.own_, strict=True):
        np.testing.assert_allclose(predicted, mean + shared + own.toarray(), atol=1e-2)


def test_an_unknown_view_is_predicted_from_the_other():
    """Of new rows, the second view follows from the first as far as the part that they share."""
    found, _ = views(rows=300, own=1, noise=0.1)
    model = ConvexCCA(6.0).fit([view[:200] for view in found])
    predicted = model.predict([found[0][200:], np.full((100, 12), np.nan)])[1]
    plain = found[1][200:] - model.means_[1]
    assert ((predicted - found[1][200:]) ** 2).sum() < 0.75 * (plain**2).sum()

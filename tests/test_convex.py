"""Trace norms: shrinking, proximal gradient, conditional gradient, ADMM, and the models that stand on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from experiments.data.multilabel import multilabel, read_label_names, read_labelling
from helpers import refuses
from polyadic import InputError
from polyadic.completion.cells import cells_of
from polyadic.completion.convex_collective import ConvexCollective, RelationMatrix
from polyadic.completion.robust_pca import RobustPCA
from polyadic.completion.table_completion import TableCompletion
from polyadic.completion.trace_norm import TraceNormCompletion, choose_penalty, fit_offsets, penalty_path
from polyadic.completion.transductive import TransductiveCompletion
from polyadic.core.linalg import (
    SparsePlusLowRank,
    soft_threshold,
    soft_threshold_symmetric,
    spectral,
    top_singular_pair,
)
from polyadic.core.losses import Huber, Logistic, Poisson, Squared, WithOutliers
from polyadic.core.solvers.conditional_gradient import Ball, conditional_gradient, onto_simplex
from polyadic.core.solvers.run import NotConvergedWarning, run
from polyadic.core.solvers.smooth import CellLosses, SeparableSum, WithOffsets
from polyadic.core.solvers.trace_norm import Certified, Pattern, Problem, proximal_gradient
from strategies import tries

LOSSES = [Squared(), Logistic(), Huber(0.5)]


def planted(n=20, m=20, rank=3, noise=0.1, share=0.6, seed=0):
    """A matrix of low rank with noise, and the same with unknown cells."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m)) + noise * rng.standard_normal((n, m))
    return x, np.where(rng.random((n, m)) < share, x, np.nan)


def signs(known):
    return np.where(np.isnan(known), np.nan, known > 0)


def problem(known, penalty, loss=None, **options):
    cells = cells_of(known)
    smooth = CellLosses(cells.values, loss or Squared())
    return Problem(Pattern(cells.rows, cells.columns, cells.shape, **options), smooth, penalty)


def trace_norm(A):
    return np.linalg.svd(A, compute_uv=False).sum()


# ---- losses


OUTLYING = [WithOutliers(loss, 0.3) for loss in LOSSES]


@given(st.sampled_from([*LOSSES, *OUTLYING]), st.floats(0, 1), st.floats(-6, 6), st.floats(-6, 6))
def test_conjugates_bound_and_touch(loss, x, m, other):
    """The inequality of Fenchel and Young holds, with equality at the slope; slopes grow no faster than said."""
    x, m, other = (np.array([number]) for number in (x, m, other))
    y = loss.grad(x, m)
    touching = loss.value(x, m) + loss.conjugate(x, y) - m * y
    assert abs(touching[0]) < 1e-9
    assert (loss.value(x, other) + loss.conjugate(x, y) - other * y)[0] > -1e-9
    assert abs((loss.grad(x, other) - y)[0]) <= loss.curvature * abs((other - m)[0]) + 1e-12


@given(st.sampled_from(OUTLYING), st.floats(0, 1), st.floats(-6, 6), st.floats(-9, 9))
def test_an_outlier_minimizes_loss_and_penalty(loss, x, m, other):
    """No other outlier has a lower sum of loss and penalty, which is the value; with squares it is Huber's loss."""
    x, m, other = (np.array([number]) for number in (x, m, other))
    value = loss.value(x, m)
    s = loss.outlier(x, m)
    assert loss.loss.value(x, m + s) + 0.3 * abs(s) == pytest.approx(value, abs=1e-12)
    assert loss.loss.value(x, m + other) + 0.3 * abs(other) >= value - 1e-12
    if isinstance(loss.loss, Squared):
        assert value == pytest.approx(Huber(0.3).value(x, m))


# ---- shrinking


@pytest.mark.parametrize("shape", [(300, 260), (260, 300), (40, 30)])
def test_shrinking_is_the_proximal_step(shape):
    """A - M is a subgradient: the threshold times u v', and nothing longer beyond, also where all is warm or cold."""
    rng = np.random.default_rng(0)
    S = random_array(shape, density=0.05, rng=rng, format="csr", data_sampler=rng.standard_normal)
    L, R = 2 * rng.standard_normal((shape[0], 3)), rng.standard_normal((shape[1], 3))
    A = SparsePlusLowRank(S, L, R)
    dense = A.toarray()
    threshold = float(np.linalg.svd(dense, compute_uv=False)[[11, 12]].mean())
    cold = soft_threshold(A, threshold, near=spectral.zero(*shape), tol=1e-8)
    warm = soft_threshold(A, threshold, near=cold, tol=1e-8)
    for M in (cold, warm):
        left = dense - M.toarray()
        assert M.rank == 12
        assert np.linalg.norm(left, 2) <= threshold * (1 + 1e-7)
        np.testing.assert_allclose(left @ M.V, threshold * M.U, atol=1e-6 * threshold)
        np.testing.assert_allclose(M.U.T @ M.U, np.eye(12), atol=1e-8)
        np.testing.assert_allclose(M.V.T @ M.V, np.eye(12), atol=1e-8)
    assert spectral.distance(cold, warm) == pytest.approx(np.linalg.norm(cold.toarray() - warm.toarray()), abs=1e-6)


@pytest.mark.parametrize("n", [30, 260])
def test_symmetric_shrinking_is_that_of_singular_values(n):
    """By eigenvalues or by singular values: the same matrix, and a symmetric one."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, n))
    A = (A + A.T) / 2
    threshold = float(np.sort(np.abs(np.linalg.eigvalsh(A)))[-9:-7].mean())
    M = soft_threshold_symmetric(A, threshold, near=spectral.zero(n, n), tol=1e-9)
    assert M.rank == 8
    np.testing.assert_allclose(M.toarray(), M.toarray().T, atol=1e-9)
    expected = soft_threshold(A, threshold, near=spectral.zero(n, n), tol=1e-9)
    np.testing.assert_allclose(M.toarray(), expected.toarray(), atol=1e-6)


def test_nothing_above_the_threshold_and_all_above():
    """Zero comes out of a large threshold, the matrix itself of none."""
    A = np.random.default_rng(0).standard_normal((250, 240))
    assert soft_threshold(A, 100.0, near=spectral.zero(250, 240), tol=1e-6).rank == 0
    np.testing.assert_allclose(soft_threshold(A, 0.0, near=spectral.zero(250, 240), tol=1e-6).toarray(), A, atol=1e-9)


@pytest.mark.parametrize("shape", [(250, 300), (300, 250), (5, 7)])
def test_top_pair_and_its_bound(shape):
    """The value is the norm, the bound is not below it, and the sign is fixed."""
    A = np.random.default_rng(2).standard_normal(shape)
    pair, bound = top_singular_pair(csr_array(A), tol=1e-6)
    norm = np.linalg.norm(A, 2)
    assert pair.s[0] == pytest.approx(norm, rel=1e-9)
    assert norm * (1 - 1e-12) <= bound <= norm * (1 + 1e-5)
    assert pair.V[np.abs(pair.V).argmax(), 0] > 0
    assert (pair.U.T @ A @ pair.V).item() == pytest.approx(norm)
    assert top_singular_pair(csr_array(np.zeros((250, 300))))[1] == 0


def test_a_long_side_is_never_squared(monkeypatch):
    """A matrix with few rows is decomposed by products with a unit matrix of that few, however many columns it has."""
    widths, eye = [], np.eye
    monkeypatch.setattr(spectral.np, "eye", lambda *size: widths.append(size) or eye(*size))
    A = random_array((5, 4000), density=0.01, rng=0, format="csr")
    assert top_singular_pair(A)[0].s[0] == pytest.approx(np.linalg.norm(A.toarray(), 2))
    assert max(max(size) for size in widths) == 5


def test_most_singular_values_of_a_large_matrix_are_refused(monkeypatch):
    """Beyond the largest size that is decomposed whole a sentence says so, instead of passes without end."""
    monkeypatch.setattr(spectral, "MAX_DENSE", 210)
    A = np.random.default_rng(0).standard_normal((250, 240))
    assert soft_threshold(A, 0.9 * np.linalg.norm(A, 2), near=spectral.zero(250, 240), tol=1e-6).rank > 0
    refuses("most singular values", soft_threshold, A, 0.0, near=spectral.zero(250, 240), tol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("groups", [2, 20])
def test_groups_apart_are_all_found(groups):
    """Of singular values that are equal, more than directions are tried at once, none is missed; zeros need no care."""
    A = csr_array(np.kron(np.eye(groups), np.ones((400 // groups, 400 // groups))))
    for shrink in (soft_threshold, soft_threshold_symmetric):
        cold = shrink(A, 1.0, near=spectral.zero(400, 400), tol=1e-8)
        for M in (cold, shrink(A, 1.0, near=cold, tol=1e-8)):
            np.testing.assert_allclose(M.s, np.full(groups, 400 / groups - 1), rtol=1e-9)


@pytest.mark.parametrize("apart", [1e-3, 1e-8, 1e-12])
def test_small_distances_are_exact(apart):
    """Also where both squares have all their digits in common."""
    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((30, 4)), rng.standard_normal((20, 4))
    D = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    A, B = (np.linalg.svd(L @ R.T + c * D, full_matrices=False) for c in (0, apart))
    A, B = (spectral.Spectral(U[:, :5], s[:5], Vt[:5].T) for U, s, Vt in (A, B))
    assert spectral.distance(A, B) == pytest.approx(apart * np.linalg.norm(D), rel=1e-2)
    assert spectral.distance(A, spectral.zero(30, 20)) == pytest.approx(np.linalg.norm(A.s))


# ---- one problem, four methods


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_all_methods_reach_the_same_matrix(loss):
    """FISTA, Soft-Impute, ADMM, and Frank-Wolfe of the radius that comes out, agree; so do dense and sparse cells."""
    known = planted(9, 8, rank=2)[1]
    known = signs(known) if isinstance(loss, Logistic) else known
    given_ = {"loss": loss, "offsets": "none", "tol": 1e-7, "max_iter": 5000}
    first = TraceNormCompletion(0.7, **given_).fit(known)
    M = first.matrix_.toarray()
    radius = first.matrix_.norm
    others = [TraceNormCompletion(0.7, method=method, **given_) for method in ("soft-impute", "admm")]
    for model in [*others, TraceNormCompletion(method="frank-wolfe", radius=radius, **given_)]:
        model.fit(known)
        assert model.converged_
        np.testing.assert_allclose(model.matrix_.toarray(), M, atol=1e-3)
        assert model.multiplier_ == pytest.approx(0.7, rel=1e-3)
        shift = 0.7 * radius if model.radius else 0.0
        assert model.history_[-1] + shift == pytest.approx(first.history_[-1], rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_against_a_modelling_language(loss):
    """A general solver for cones finds the same matrix and the same objective."""
    cp = pytest.importorskip("cvxpy")
    known = signs(planted()[1]) if isinstance(loss, Logistic) else planted()[1]
    i, j = np.nonzero(~np.isnan(known))
    x, M = known[i, j], cp.Variable(known.shape)
    m = M[i, j]
    losses = {
        Squared: lambda: cp.sum_squares(m - x) / 2,
        Logistic: lambda: cp.sum(cp.logistic(m) - cp.multiply(x, m)),
        Huber: lambda: cp.sum(cp.huber(m - x, 0.5)) / 2,
    }
    other = cp.Problem(cp.Minimize(losses[type(loss)]() + 0.7 * cp.normNuc(M)))
    other.solve(solver="CLARABEL")
    model = TraceNormCompletion(0.7, loss=loss, offsets="none", tol=1e-8, max_iter=5000).fit(known)
    assert model.history_[-1] == pytest.approx(other.value, rel=1e-7)
    np.testing.assert_allclose(model.matrix_.toarray(), M.value, atol=1e-4 * np.abs(M.value).max())


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_objective_falls_and_gap_bounds_the_distance(loss, accelerate):
    """No sweep raises the objective; the bound is below the optimum, and gaps are above the true distance."""
    known = signs(planted()[1]) if isinstance(loss, Logistic) else planted()[1]
    p = problem(known, 0.5, loss)
    best = run(proximal_gradient(p), max_iter=3000).history[-1]
    sweeps = Certified(proximal_gradient(p, accelerate=accelerate), p, tol=1e-6)
    history = run(sweeps, max_iter=2000).history
    assert (np.diff(history) <= 0).all()
    assert sweeps.bound <= best * (1 + 1e-12)
    for sweep, gap in sweeps.gaps.items():
        assert gap >= (history[sweep] - best) * (1 - 1e-9) - 1e-9
        assert gap >= 0
    assert min(sweeps.gaps.values()) <= 5e-6 * history[-1]


def test_optimality_of_soft_impute():
    """The residual of known cells is a subgradient of the trace norm."""
    _, known = planted()
    p = problem(known, 0.5)
    U, s, V = run(proximal_gradient(p, accelerate=False), max_iter=3000).factors
    residual = -p.pattern.spread(p.smooth.gradient(p.pattern.at(spectral.Spectral(U, s, V))))
    assert np.linalg.norm(residual, 2) <= 0.5 * (1 + 1e-5)
    np.testing.assert_allclose(residual @ V, 0.5 * U, atol=1e-5)


def test_fista_needs_fewer_sweeps():
    """Momentum pays where the penalty is small."""
    _, known = planted(40, 30)
    counts = [TraceNormCompletion(0.5, method=m, tol=1e-4).fit(known).n_iter_ for m in ("fista", "soft-impute")]
    assert 2 * counts[0] < counts[1]


def test_sparse_and_dense_cells_are_one(monkeypatch):
    """Whether cells are gathered or all are computed, spread sparse or dense: the same, and P and P' are adjoint."""
    rng = np.random.default_rng(0)
    M = spectral.Spectral(rng.standard_normal((12, 2)), np.array([2.0, 1.0]), rng.standard_normal((12, 2)))
    at = np.sort(rng.choice(144, 70, replace=False))
    found = []
    for crowded in (0.0, 2.0):
        monkeypatch.setattr("polyadic.core.solvers.trace_norm.DENSE_SHARE", crowded)
        pattern = Pattern(at // 12, at % 12, (12, 12))
        y = rng.standard_normal(70) if not found else found[0][1]
        spread = pattern.spread(y)
        dense = spread if isinstance(spread, np.ndarray) else spread.toarray()
        assert np.sum(dense * M.toarray()) == pytest.approx(y @ pattern.at(M))
        found.append((pattern.at(M), y, dense))
        upper = at // 12 <= at % 12
        both = Pattern(at[upper] // 12, at[upper] % 12, (12, 12), symmetric=True).spread(y[upper])
        both = both if isinstance(both, np.ndarray) else both.toarray()
        np.testing.assert_allclose(both, both.T)
        assert both.sum() == pytest.approx(y[upper].sum())
    np.testing.assert_allclose(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][2], found[1][2])


def test_frank_wolfe_stays_in_the_ball():
    """No iterate leaves the ball, the losses never rise, and the gap bounds what is left to gain."""
    _, known = planted(30, 25)
    p = problem(known, 0.5)
    ball = Ball(p.pattern, p.smooth, 12.0)
    first = None
    for _, sweep in zip(range(60), conditional_gradient(ball), strict=False):
        M = spectral.Spectral(*sweep.factors)
        assert M.norm <= 12.0 * (1 + 1e-9)
        assert trace_norm(M.toarray()) <= 12.0 * (1 + 1e-9)
        assert sweep.objective == pytest.approx(ball.objective(M))
        assert first is None or sweep.objective <= first
        first = sweep.objective
        assert ball.bound(M) <= first
    assert first - ball.bound(M) <= 1e-4 * first
    assert M.rank < 12  # pairs taken in early are gone


def test_frank_wolfe_fills_the_smaller_side():
    """Where more pairs come in than the smaller side has, they are put together with those that are there."""
    _, known = planted(30, 6, rank=6)
    model = TraceNormCompletion(method="frank-wolfe", radius=1e3, offsets="none", tol=1e-8, max_iter=300).fit(known)
    assert model.rank_ <= 6
    assert model.history_[-1] < 1e-6 * model.history_[0]


def test_steps_end_only_where_rounding_does():
    """Wild values make the last steps short, yet the gap that was asked for is reached."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((30, 20)) < 0.6, rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)), np.nan)
    model = TraceNormCompletion(1 / 3, loss=Huber(0.1), tol=1e-6, max_iter=20000).fit(10 * x)
    assert model.gap_ <= 1e-6 * model.history_[-1]


def test_a_large_radius_binds_nothing():
    """Where the ball holds a matrix that fits exactly, nothing is left."""
    x, known = planted(12, 12, rank=1, noise=0)
    model = TraceNormCompletion(method="frank-wolfe", radius=2 * trace_norm(x), offsets="none", tol=0, max_iter=50)
    assert model.fit(known).history_[-1] < 1e-6 * model.history_[0]


# ---- paths and penalties


def test_from_the_largest_penalty_on_the_answer_is_zero():
    """Just above it the rank is 0, just below it 1."""
    _, known = planted()
    model = TraceNormCompletion(offsets="none", tol=1e-8)
    largest = model.largest_penalty(known)
    known_cells = np.where(np.isnan(known), 0, known)
    assert largest == pytest.approx(np.linalg.norm(known_cells, 2), rel=1e-6)
    ranks = [fit.rank_ for fit in penalty_path(model, known, [1.001 * largest, 0.999 * largest])]
    assert ranks == [0, 1]


def test_path_is_that_of_single_fits():
    """Warm starts change the time, not the answer."""
    _, known = planted()
    model = TraceNormCompletion(tol=1e-7)
    for fit in penalty_path(model, known, [4.0, 2.0, 1.0]):
        alone = TraceNormCompletion(fit.penalty, tol=1e-7).fit(known)
        np.testing.assert_allclose(fit.matrix_.toarray(), alone.matrix_.toarray(), atol=1e-3)
    refuses("penalties must be in decreasing order", next, penalty_path(model, known, [1.0, 2.0]))


def test_exact_recovery_at_a_small_penalty():
    """Enough cells of a matrix of rank 2 determine it."""
    x, known = planted(60, 50, rank=2, noise=0, share=0.5)
    model = TraceNormCompletion(1e-3, offsets="none", tol=1e-6, max_iter=5000).fit(known)
    i, j = np.nonzero(np.isnan(known))
    assert np.abs(model.predict(i, j) - x[i, j]).max() < 0.01 * np.abs(x).max()
    assert model.rank_ == 2


def test_chosen_penalty_predicts_cells_never_seen():
    """With a planted rank, the penalty chosen on cells held out does better than one far larger or smaller."""
    x, known = planted(60, 50, noise=0.5, share=0.5)
    choice = choose_penalty(TraceNormCompletion(), known)
    i, j = np.nonzero(np.isnan(known))

    def error(penalty):
        return ((TraceNormCompletion(penalty).fit(known).predict(i, j) - x[i, j]) ** 2).mean()

    assert choice.best in choice.penalties
    assert error(choice.best) < 0.95 * min(error(8 * choice.best), error(choice.best / 20))


# ---- the estimator


def test_rows_of_the_matrix_come_out_of_transform():
    """Ridge regression on the columns gives back the rows: the trace norm is a ridge on two factors."""
    _, known = planted()
    for loss, data in ((Squared(), known), (Huber(0.5), known), (Logistic(), signs(known))):
        model = TraceNormCompletion(0.7, loss=loss, offsets="none", tol=1e-9, max_iter=5000).fit(data)
        rows = model.matrix_.U * np.sqrt(model.matrix_.s)
        np.testing.assert_allclose(model.transform(data), rows, atol=1e-3)


def test_debiasing_fits_known_cells_better():
    """Singular values fitted again lower the loss, with the vectors as they were; least squares are solved."""
    _, known = planted()
    i, j = np.nonzero(~np.isnan(known))
    plain, fitted = (TraceNormCompletion(2.0, debias=debias).fit(known) for debias in (False, True))
    errors = [((model.predict(i, j) - known[i, j]) ** 2).sum() for model in (plain, fitted)]
    assert errors[1] < 0.8 * errors[0]
    design = fitted.matrix_.U[i] * fitted.matrix_.V[j]
    left = known[i, j] - fitted.predict(i, j)
    np.testing.assert_allclose(design.T @ left, 0, atol=1e-3)


@pytest.mark.parametrize("kind", ["mean", "biases"])
def test_offsets_are_at_a_minimum(kind):
    """No change of the mean, of a row or of a column lowers the loss and its ridge, also of values far from zero by the
    measure of Huber, log-odds of what is rare, and values of any scale."""
    rng, known = np.random.default_rng(0), planted(15, 10)[1]
    far = 1000 + 100 * rng.standard_normal((15, 1)) + 300 * rng.standard_normal((1, 10)) + rng.standard_normal((15, 10))
    rare = np.zeros((60, 50))
    rare[3, 4:7] = 1
    cases = [(Squared(), known + 3), (Logistic(), signs(known)), (Huber(1.0), far), (Logistic(), rare)]
    for loss, data in [*cases, (Squared(), 1e-9 * far), (Squared(), 1e9 * far)]:
        cells = cells_of(data)
        offsets = fit_offsets(cells, loss, kind, ridge=0.5)
        slopes = loss.grad(cells.values, offsets.at(cells.rows, cells.columns))
        small = 1e-6 * np.abs(loss.grad(cells.values, np.zeros(len(cells.values)))).sum()
        assert abs(slopes.sum()) < small
        if kind == "biases":
            np.testing.assert_allclose(np.bincount(cells.rows, slopes) + 0.5 * offsets.rows, 0, atol=small)
            np.testing.assert_allclose(np.bincount(cells.columns, slopes) + 0.5 * offsets.columns, 0, atol=small)


def test_debiasing_does_not_depend_on_the_scale():
    """Values in other units come out in these units."""
    _, known = planted()
    first = TraceNormCompletion(2.0, debias=True).fit(known).matrix_.s
    for scale in (1e-7, 1e7):
        found = TraceNormCompletion(2.0 * scale, debias=True).fit(known * scale).matrix_.s
        np.testing.assert_allclose(found / scale, first, rtol=1e-4)


def test_asking_for_a_penalty_changes_no_fit():
    """The largest penalty of another table leaves predictions as they were."""
    _, known = planted()
    model = TraceNormCompletion(1.0).fit(known)
    before = model.predict([0, 1], [2, 3])
    model.largest_penalty(known + 100)
    np.testing.assert_array_equal(model.predict([0, 1], [2, 3]), before)


def test_rows_of_nothing_have_no_factors():
    """Of a constant table rank 0 is left, by all methods, and new rows have zero columns."""
    x = np.full((6, 5), 3.0)
    for how in ({}, {"method": "admm"}, {"method": "frank-wolfe", "radius": 2.0}):
        model = TraceNormCompletion(**how).fit(x)
        assert model.transform(x[:2]).shape == (2, 0)
        assert model.predict([5], [4]) == pytest.approx(3.0)
    refuses("no penalty can be selected", choose_penalty, TraceNormCompletion(), x)


def test_ctrl_c_ends_the_search_of_a_penalty():
    """A path ends with the fit that was cut short; a choice among such fits is none."""
    _, known = planted()

    def cut(result):
        if result.n_iter == 2:
            raise KeyboardInterrupt

    model = TraceNormCompletion(tol=1e-9, callback=cut)
    assert [fit.interrupted_ for fit in penalty_path(model, known, [3.0, 2.0, 1.0])] == [True]
    with pytest.raises(KeyboardInterrupt):
        choose_penalty(model, known)


def test_max_rank_is_kept_and_the_gap_says_what_it_cost():
    """The answer is cut, and its gap is that of the cut matrix."""
    _, known = planted()
    whole, cut = (TraceNormCompletion(0.5, max_rank=rank).fit(known) for rank in (None, 2))
    assert cut.rank_ == 2 < whole.rank_
    assert cut.gap_ > whole.gap_


def test_too_few_sweeps_are_told():
    """A fit that ends at max_iter warns, with its gap."""
    _, known = planted()
    with pytest.warns(NotConvergedWarning, match="gap"):
        TraceNormCompletion(0.1, max_iter=2).fit(known)


def test_what_is_refused():
    """Each refusal names what is wrong."""
    _, known = planted()
    for model, words in (
        (TraceNormCompletion(0.0), "penalty"),
        (TraceNormCompletion(method="newton"), "method"),
        (TraceNormCompletion(method="frank-wolfe"), "radius"),
        (TraceNormCompletion(radius=1.0), "radius"),
        (TraceNormCompletion(loss=Logistic()), "from 0 to 1"),
        (TraceNormCompletion(max_rank=0), "max_rank"),
        (TraceNormCompletion(offsets="bias"), "offsets must be one of"),
        (TraceNormCompletion(loss="huber"), "loss must be"),
        (TraceNormCompletion(loss=Poisson()), "loss must be"),
        (TraceNormCompletion(tol=-1.0), "tol"),
    ):
        refuses(words, model.fit, known)
    refuses("shape", TraceNormCompletion().fit, known, start=spectral.zero(3, 3))


@pytest.mark.parametrize("n", [30, 260])
def test_positive_shrinking_is_the_proximal_step(n):
    """A - M has no eigenvalue above the threshold, and the threshold itself where M is not zero."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, n))
    A = (A + A.T) / 2
    threshold = float(np.linalg.eigvalsh(A)[-5:-3].mean())
    M = soft_threshold_symmetric(A, threshold, near=spectral.zero(n, n), tol=1e-9, positive=True)
    assert M.rank == 4
    left = A - M.toarray()
    assert np.linalg.eigvalsh(left)[-1] <= threshold * (1 + 1e-7)
    np.testing.assert_allclose(left @ M.V, threshold * M.V, atol=1e-6 * threshold)
    top = np.linalg.eigvalsh(A)[-1]
    assert top * (1 - 1e-12) <= spectral.largest_eigenvalue(A, tol=1e-6) <= top * (1 + 1e-5)


# ---- outliers


@pytest.mark.parametrize(("loss", "penalty"), [(Squared(), 0.5), (Huber(1.0), 0.5), (Logistic(), 0.25)])
def test_outliers_against_a_modelling_language(loss, penalty):
    """A general solver for cones, which has the outliers as variables, finds the same matrix and outliers."""
    cp = pytest.importorskip("cvxpy")
    known = planted(10, 9, share=0.8)[1]
    known[2, :2], known[5, 5] = 9.0, -9.0
    known = signs(known) if isinstance(loss, Logistic) else known
    i, j = np.nonzero(~np.isnan(known))
    x, M, S = known[i, j], cp.Variable(known.shape), cp.Variable(len(i))
    m = M[i, j] + S
    losses = {
        Squared: lambda: cp.sum_squares(m - x) / 2,
        Huber: lambda: cp.sum(cp.huber(m - x, 1.0)) / 2,
        Logistic: lambda: cp.sum(cp.logistic(m) - cp.multiply(x, m)),
    }
    other = cp.Problem(cp.Minimize(losses[type(loss)]() + 0.7 * cp.normNuc(M) + penalty * cp.norm1(S)))
    other.solve(solver="CLARABEL")
    options = {"loss": loss, "outlier_penalty": penalty, "offsets": "none", "tol": 1e-8, "max_iter": 5000}
    for method in ("fista", "admm"):
        model = TraceNormCompletion(0.7, method=method, **options).fit(known)
        assert model.history_[-1] == pytest.approx(other.value, rel=1e-7)
        np.testing.assert_allclose(model.matrix_.toarray(), M.value, atol=1e-3)
        np.testing.assert_allclose(model.outliers_.toarray()[i, j], S.value, atol=1e-3)
        assert model.outliers_.nnz > 0


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: type(loss).__name__)
def test_planted_outliers_are_found_in_noise(loss):
    """Gross errors, or labels that were flipped, are the outliers; the others are predicted as without errors."""
    rng = np.random.default_rng(0)
    x = 2 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
    wrong = rng.random(x.shape) < 0.03
    wrong &= np.abs(x) > 2
    values = x + 0.2 * rng.standard_normal(x.shape) + wrong * rng.choice([-8, 8], x.shape)
    if isinstance(loss, Logistic):
        values = ((x > 0) ^ wrong).astype(float)
    known = np.where(rng.random(x.shape) < 0.8, values, np.nan)
    penalties = (2.0, 0.9) if isinstance(loss, Squared) else (3.0, 0.7)
    model = TraceNormCompletion(penalties[0], loss=loss, outlier_penalty=penalties[1]).fit(known)
    planted_, found = wrong & ~np.isnan(known), model.outliers_.toarray() != 0
    assert (found & planted_).sum() >= 0.9 * planted_.sum()
    assert (found & planted_).sum() >= 0.9 * found.sum()
    i, j = np.nonzero(np.isnan(known))
    plain = TraceNormCompletion(penalties[0], loss=loss).fit(known)
    assert np.corrcoef(model.predict(i, j), x[i, j])[0, 1] > np.corrcoef(plain.predict(i, j), x[i, j])[0, 1]


def test_the_penalty_of_outliers_has_limits():
    """With squares it is the parameter of Huber's loss; from the penalty of the matrix on there are no outliers."""
    _, known = planted()
    options = {"offsets": "none", "tol": 1e-9, "max_iter": 5000}
    huber = TraceNormCompletion(1.0, loss=Huber(0.4), **options).fit(known)
    both = [TraceNormCompletion(1.0, outlier_penalty=penalty, **options).fit(known) for penalty in (0.4, 1.0)]
    np.testing.assert_allclose(both[0].matrix_.toarray(), huber.matrix_.toarray(), atol=1e-6)
    assert both[0].outliers_.nnz > 0 == both[1].outliers_.nnz


def test_a_table_lists_its_outliers():
    """A planted error is the largest outlier, by name; other methods have none, and its error does not spread."""
    rng = np.random.default_rng(0)
    x = np.add.outer(rng.standard_normal(12), rng.standard_normal(10)) + 0.1 * rng.standard_normal((12, 10))
    table = [(f"r{i}", f"c{j}", x[i, j] + 7.0 * (i == 3 and j == 4)) for i in range(12) for j in range(10)]
    model = TableCompletion("trace-norm", ridge=3, outlier_penalty=1, choose=False).fit(table)
    (row, column, size), *_ = model.outliers()
    assert (row, column) == ("r3", "c4")
    assert size == pytest.approx(6, abs=1)
    assert model.facts()["outliers"] == len(model.outliers())
    plain = TableCompletion("trace-norm", ridge=3, choose=False).fit(table)
    assert plain.outliers() == []
    assert abs(model.predict(["r3"], ["c5"])[0] - x[3, 5]) < abs(plain.predict(["r3"], ["c5"])[0] - x[3, 5])
    with pytest.raises(InputError, match="outlier_penalty is not used by method als, only by trace-norm"):
        TableCompletion("als", outlier_penalty=1).fit(table)


# ---- ADMM: robust PCA


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_planted_rank_and_outliers_are_found(share):
    """Low rank and gross errors in a tenth of the cells come apart exactly, though neither is known."""
    rng = np.random.default_rng(0)
    L = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
    S = np.where(rng.random(L.shape) < 0.05, 10 * rng.standard_normal(L.shape), 0)
    known = np.where(rng.random(L.shape) < share, L + S, np.nan)
    model = RobustPCA(tol=1e-7).fit(known)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.matrix_.toarray(), L, atol=1e-3)
    seen = ~np.isnan(known)
    np.testing.assert_allclose(model.outliers_.toarray()[seen], S[seen], atol=1e-3)
    assert 0 <= model.gap_ <= 1e-7 * model.history_[-1] * (1 + 1e-6)
    refuses("at least one non-zero observed cell", RobustPCA().fit, np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"smaller dimension of X must be at most .* got 1,000,000 x 1,000,000"):
        RobustPCA().fit(csr_array(([1.0], ([0], [0])), shape=(10**6, 10**6)))


# ---- offsets and parts


@given(st.integers(0, 99))
@tries(20)
def test_fitted_offsets_are_part_of_a_convex_function(seed):
    """The gradient is that of the value, the conjugate touches, and groups of one kind do not break it."""
    rng = np.random.default_rng(seed)
    x, groups, m = (rng.random(30) < 0.3).astype(float), rng.integers(0, 4, 30), 2 * rng.standard_normal(30)
    x[groups == 0] = 1.0
    f = WithOffsets(x, groups, Logistic(), weight=2.0, ridge=0.5, number=5)
    y, d = f.gradient(m), rng.standard_normal(30)
    slope = (f.value(m + 1e-4 * d) - f.value(m - 1e-4 * d)) / 2e-4
    assert slope == pytest.approx(y @ d, abs=1e-5)
    assert f.value(m) + f.conjugate(y) == pytest.approx(m @ y, abs=1e-6)
    both = SeparableSum([(np.arange(30), f), (np.arange(30, 40), CellLosses(d[:10], Squared(), np.full(10, 3.0)))])
    z = np.concatenate([m, d[10:20]])
    assert both.value(z) + both.conjugate(both.gradient(z)) == pytest.approx(z @ both.gradient(z), abs=1e-6)
    assert both.curvature == 3.0


# ---- several relations


def relations(seed=0, n=(40, 30, 20), rank=3, share=(0.25, 0.8)):
    rng = np.random.default_rng(seed)
    u, v, w = (rng.standard_normal((size, rank)) for size in n)
    x, y = u @ v.T, v @ w.T
    return (
        x,
        y,
        np.where(rng.random(x.shape) < share[0], x, np.nan),
        np.where(rng.random(y.shape) < share[1], y, np.nan),
    )


def test_one_relation_is_completed_as_a_matrix():
    """The trace norm of the symmetric matrix is twice that of the only block it has."""
    _, _, known, _ = relations()
    both = ConvexCollective(0.4, tol=1e-8, max_iter=5000).fit([RelationMatrix("a", "b", known)])
    one = TraceNormCompletion(0.8, tol=1e-8, max_iter=5000).fit(known)
    i, j = np.indices(known.shape).reshape(2, -1)
    np.testing.assert_allclose(both.predict(0, i, j), one.predict(i, j), atol=1e-3)
    assert both.history_[-1] == pytest.approx(one.history_[-1], rel=1e-6)


def test_shared_kinds_help():
    """What is known of films and words completes users and films, at the best penalty of each."""
    x, _, known, other = relations(n=(30, 24, 16))
    i, j = np.nonzero(np.isnan(known))

    def error(given_, penalty):
        model = ConvexCollective(penalty, max_iter=500, tol=1e-3).fit(given_)
        return np.sqrt(((model.predict(0, i, j) - x[i, j]) ** 2).mean())

    first, second = RelationMatrix("user", "film", known), RelationMatrix("film", "word", other)
    apart = min(error([first], penalty) for penalty in (0.1, 0.5, 1.0))
    together = min(error([first, second], penalty) for penalty in (0.1, 0.5, 1.0))
    assert together < 0.8 * apart


CYCLE = [("a", "b"), ("b", "c"), ("c", "a")]


def test_a_cycle_worked_by_hand():
    """Three types, two entities each, and relations that no signs of one factor matrix for each type can reproduce.

    With t times the given blocks, the symmetric matrix has one eigenvalue -6 t, and the positive one has two of 6 t.
    """
    x = np.array([[-1.0, 1.0], [1.0, -1.0]])
    for relaxation, objective, ends in (("symmetric", 0.29625, (-5.85, 0)), ("positive", 0.585, (0, 5.7))):
        model = ConvexCollective(0.05, relaxation=relaxation, tol=1e-9, max_iter=20000)
        model.fit([RelationMatrix(*kinds, x) for kinds in CYCLE])
        assert model.history_[-1] == pytest.approx(objective, abs=1e-7)
        np.testing.assert_allclose(np.linalg.eigvalsh(model.matrix_.toarray())[[0, -1]], ends, atol=1e-3)


@pytest.mark.parametrize("relaxation", ["positive", "symmetric"])
def test_a_cycle_against_a_modelling_language(relaxation):
    """A general solver for cones finds the same matrix, also where cells are unknown and a loss is logistic."""
    cp = pytest.importorskip("cvxpy")
    rng, sizes = np.random.default_rng(0), {"a": 6, "b": 5, "c": 4}
    relations_ = []
    for (r, c), loss in zip(CYCLE, (Squared(), Squared(), Logistic()), strict=True):
        x = rng.standard_normal((sizes[r], sizes[c]))
        x = (x > 0).astype(float) if isinstance(loss, Logistic) else x
        relations_.append(RelationMatrix(r, c, np.where(rng.random(x.shape) < 0.8, x, np.nan), loss))
    model = ConvexCollective(0.3, relaxation=relaxation, tol=1e-8, max_iter=20000).fit(relations_)
    Z = cp.Variable((15, 15), PSD=True) if relaxation == "positive" else cp.Variable((15, 15), symmetric=True)
    total = 0.3 * (cp.trace(Z) if relaxation == "positive" else cp.normNuc(Z))
    for (r, c, x, loss, _), mean in zip(relations_, model.means_, strict=True):
        i, j = np.nonzero(~np.isnan(x))
        m = Z[model.places_[r].start + i, model.places_[c].start + j] + mean
        squares = cp.sum_squares(m - x[i, j]) / 2
        total += squares if isinstance(loss, Squared) else cp.sum(cp.logistic(m) - cp.multiply(x[i, j], m))
    other = cp.Problem(cp.Minimize(total))
    other.solve(solver="CLARABEL")
    assert model.history_[-1] == pytest.approx(other.value, rel=1e-6)
    np.testing.assert_allclose(model.matrix_.toarray(), Z.value, atol=2e-3)


def test_without_a_cycle_both_relaxations_agree():
    """Users, films and words in a chain: signs of every second type make any symmetric matrix positive."""
    _, _, known, other = relations(n=(12, 10, 8))
    given_ = [RelationMatrix("user", "film", known), RelationMatrix("film", "word", other)]
    both = [
        ConvexCollective(0.5, relaxation=relaxation, tol=1e-8, max_iter=20000).fit(given_)
        for relaxation in ("positive", "symmetric")
    ]
    assert both[0].history_[-1] == pytest.approx(both[1].history_[-1], rel=1e-6)
    i, j = np.indices(known.shape).reshape(2, -1)
    np.testing.assert_allclose(both[0].predict(0, i, j), both[1].predict(0, i, j), atol=1e-2)


def test_relations_that_do_not_fit_are_refused():
    """Kinds have one size, and no two things are occurs twice."""
    a = np.ones((3, 4))
    with pytest.raises(InputError, match="type 'b' must have the same size"):
        ConvexCollective().fit([RelationMatrix("a", "b", a), RelationMatrix("b", "c", a)])
    refuses(
        "the same pair of entities",
        ConvexCollective().fit,
        [RelationMatrix("a", "b", a), RelationMatrix("b", "a", a.T)],
    )
    refuses("at least one relation", ConvexCollective().fit, [])
    refuses("from 0 to 1", ConvexCollective().fit, [RelationMatrix("a", "b", 3 * a, Logistic())])


# ---- labels


def labelled(seed=0, items=80, bias=0.0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((items, 3))
    x = z @ rng.standard_normal((3, 12)) + 0.1 * rng.standard_normal((items, 12))
    y = (z @ rng.standard_normal((3, 4)) + bias > 0).astype(float)
    given_ = y.copy()
    given_[items // 2 :] = np.nan
    return x, y, given_


@pytest.mark.parametrize("bias", ["offsets", "ones"])
def test_unknown_labels_are_completed(bias):
    """Labels of the second half follow from features, half of which are hidden too; new items are folded in."""
    x, y, given_ = labelled()
    hidden = np.where(np.random.default_rng(1).random(x.shape) < 0.5, np.nan, x)
    right = []
    for features in (x, hidden):
        model = TransductiveCompletion(2.0, label_weight=1.0, bias=bias).fit(features, given_)
        right.append(((model.log_odds_[40:] > 0) == y[40:]).mean())
        assert 0 <= model.gap_ <= 1e-3 * model.history_[-1]
    assert right[0] > 0.88
    assert right[1] > 0.75
    odds = TransductiveCompletion(2.0, label_weight=1.0, bias=bias).fit(x[:60], given_[:60]).decision_function(x[60:])
    assert ((odds > 0) == y[60:]).mean() > 0.85


def test_items_given_again_have_the_labels_they_had():
    """The column of ones counts for new items as much as it did in the fit, however heavy labels are."""
    x, _, given_ = labelled()
    model = TransductiveCompletion(1.0, label_weight=32.0, bias="ones", tol=1e-8, max_iter=20000).fit(x + 3, given_)
    np.testing.assert_allclose(model.decision_function(x[40:] + 3), model.log_odds_[40:], atol=1e-4)


def test_sparse_labels_and_features_are_those_of_arrays():
    """What a sparse matrix does not list is zero; one too large to be kept whole is refused before it is made."""
    x, y, _ = labelled()
    first = TransductiveCompletion(2.0).fit(x, y)
    again = TransductiveCompletion(2.0).fit(csr_array(x), csr_array(y))
    np.testing.assert_array_equal(again.log_odds_, first.log_odds_)
    with pytest.raises(InputError, match="all cells of features needs"):
        TransductiveCompletion().fit(csr_array(([1.0], ([0], [0])), shape=(10**6, 10**6)), y)


def test_labels_that_are_none_are_refused():
    """Labels other than 0 and 1, and shapes that do not fit, are told; a label that never occurs is not in the way."""
    x, _, given_ = labelled()
    refuses("0 or 1", TransductiveCompletion().fit, x, 2 * given_)
    refuses("one row for each of the 80", TransductiveCompletion().fit, x, given_[:5])
    never = np.column_stack([given_, np.where(np.isnan(given_[:, 0]), np.nan, 0.0), np.full(80, np.nan)])
    model = TransductiveCompletion(0.5).fit(x, never)
    assert (model.log_odds_[:40, 4] < -1).all()
    assert np.isfinite(model.offsets_).all()
    np.testing.assert_allclose(model.log_odds_[:, 5], 0, atol=1e-6)
    refuses("12 features", model.decision_function, x[:, :3])


# ---- files


ARFF = """% a comment
@relation 'some set'
@attribute w1 {0,1}
@ATTRIBUTE 'a \\'b' numeric
@attribute tag1 {0,1}
@attribute w2 real
@attribute tag2 {0, 1}

@data
{0 1,1 2.5,4 1}
{2 1}
{}
"""


def written(
    tmp_path, arff=ARFF, xml='<labels xmlns="http://x"><label name="tag2"/><label name="tag1"></label></labels>'
):
    (tmp_path / "a.arff").write_text(arff, encoding="utf-8")
    (tmp_path / "a.xml").write_text(xml, encoding="utf-8")
    return read_labelling(tmp_path / "a.arff", read_label_names(tmp_path / "a.xml"))


def test_sparse_arff_is_read(tmp_path):
    """Labels are those of the XML file, in its order, wherever they stand; all else are features."""
    found = written(tmp_path)
    assert found.feature_names == ["w1", "a 'b", "w2"]
    assert found.label_names == ["tag2", "tag1"]
    assert found.features.indices.dtype == np.int32  # others are refused by liblinear
    assert found.features.toarray().tolist() == [[1, 2.5, 0], [0, 0, 0], [0, 0, 0]]
    assert found.labels.tolist() == [[True, False], [False, True], [False, False]]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{2 1}", "{2 3}", "neither 0 nor 1"),
        ("{2 1}", "{9 1}", "line 11: .*no attribute"),
        ("{2 1}", "{2 x}", "no attribute with its number"),
        ("{2 1}", "2 1", "sparse row"),
        ("{2 1}", "{2 1,2 1}", "twice"),
        ("w2 real", "w2 string", "numbers"),
        ("w2 real", "w1 real", "once"),
        ("tag2", "tag3", "labels among them"),
    ],
)
def test_malformed_arff_is_told(tmp_path, old, new, words):
    """Each fault has its sentence."""
    refuses(words, written, tmp_path, ARFF.replace(old, new))


def test_malformed_lists_of_labels_are_told(tmp_path):
    """No XML, no label, one twice, or entities."""
    for xml in ("<labels>", "<labels/>", '<labels><label name="a"/><label name="a"/></labels>', "<!DOCTYPE x []><x/>"):
        refuses(r"XML|each label once|entities", written, tmp_path, xml=xml)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["medical", "enron"])
def test_published_sets_are_read(realdata, name):
    """The sets have their published sizes, and every item a label but few."""
    train, test = multilabel(name, realdata)
    assert (train.labels.any(axis=1).mean(), test.labels.any(axis=1).mean()) > (0.95, 0.95)
    assert train.features.shape[1] == test.features.shape[1]


@pytest.mark.filterwarnings("ignore:.* no observed cell")
@pytest.mark.realdata
def test_ratings_are_completed_better_than_by_biases(realdata):
    """On the first fold of MovieLens 100k the trace norm takes three hundredths from the error of biases alone."""
    train, test = (np.loadtxt(realdata / f"ratings/ml-100k/u1.{part}", dtype=int) for part in ("base", "test"))
    X = csr_array((train[:, 2].astype(float), (train[:, 0] - 1, train[:, 1] - 1)), shape=(943, 1682))
    errors = []
    for penalty in (100.0, 13.0):
        model = TraceNormCompletion(penalty, offsets="biases", bias_ridge=5.0).fit(X)
        errors.append(np.sqrt(((model.predict(test[:, 0] - 1, test[:, 1] - 1) - test[:, 2]) ** 2).mean()))
    assert errors[1] < errors[0] - 0.025


def test_projection_onto_the_simplex():
    """Of 3, 1, 1/2 onto those that sum to 3."""
    assert onto_simplex(np.array([3.0, 1.0, 0.5]), 3.0).tolist() == [2.5, 0.5, 0.0]

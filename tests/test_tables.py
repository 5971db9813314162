"""Laws of correspondence analysis, its kernels, its kin for many variables, and the Gini index behind it."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from polyadic import (
    CorrespondenceAnalysis,
    Entries,
    InputError,
    KernelCorrespondenceAnalysis,
    MultipleCorrespondenceAnalysis,
    frame,
)
from polyadic.core.errors import InputWarning
from polyadic.tables import residuals
from polyadic.tables.cross_table import CrossTable
from polyadic.tables.gini import categorical_covariance, contingency_table, gini_index
from polyadic.tables.kernel_correspondence import CASES
from polyadic.tables.residuals import categorical_kernel, root, stop_word_kernel

FISHER = np.array([[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]])
"""Eye colours (blue, light, medium, dark) and hair colours (fair, red, medium, dark, black) in Caithness."""

tables = arrays(np.int64, st.tuples(st.integers(4, 7), st.integers(4, 8)), elements=st.integers(1, 9))


def some_table(shape=(9, 6), seed=0, *, density=1.0):
    rng = np.random.default_rng(seed)
    return rng.poisson(3, shape) * (rng.random(shape) < density)


def dense(residual):
    return residual.S.toarray() + residual.L @ residual.M.T


def shares(N):
    N = np.asarray(N, float)
    P = N / N.sum()
    return P, P.sum(axis=1), P.sum(axis=0)


def same_up_to_signs(a, b, tol=1e-8):
    signs = np.sign((a * b).sum(axis=0))
    return np.allclose(a, b * signs, atol=tol)


# ---- Fisher's table


def test_fisher():
    """Eigenvalues, inertia and coordinates are the published ones."""
    model = CorrespondenceAnalysis(3).fit(FISHER)
    assert model.inertia_ == pytest.approx([0.19924475, 0.03008677, 0.00085948], abs=5e-9)
    assert model.total_inertia_ == pytest.approx(0.2301910075, abs=5e-11)
    rows = [[0.400300, 0.165411], [0.440708, 0.088463], [-0.033614, -0.245002], [-0.702739, 0.133914]]
    columns = [[0.543995, 0.173845], [0.233261, 0.048279], [0.042024, -0.208304], [-0.588709, 0.103950]]
    signs = np.sign(model.row_coordinates_[0, :2])
    assert model.row_coordinates_[:, :2] * signs == pytest.approx(np.array(rows), abs=5e-7)
    assert model.column_coordinates_[:4, :2] * signs == pytest.approx(np.array(columns), abs=6e-7)
    assert model.column_coordinates_[4, :2] * signs == pytest.approx([-1.094388, 0.286437], abs=5e-7)
    assert model.explained_inertia_ratio_.sum() == pytest.approx(1)


def test_counts_for_margins_scale_the_coordinates_alone():
    """With counts in the place of shares, as printed, F and G are divided by n^(3/2) and singular values by n."""
    n, r, c = FISHER.sum(), FISHER.sum(axis=1), FISHER.sum(axis=0)
    U, s, V = np.linalg.svd((FISHER / n - np.outer(r, c) / n**2) / np.sqrt(np.outer(r, c)), full_matrices=False)
    model = CorrespondenceAnalysis(3).fit(FISHER)
    assert s[:3] == pytest.approx(model.singular_values_ / n)
    assert same_up_to_signs((U * s)[:, :3] / np.sqrt(r)[:, None] * n**1.5, model.row_coordinates_)
    assert same_up_to_signs((V.T * s)[:, :3] / np.sqrt(c)[:, None] * n**1.5, model.column_coordinates_)


# ---- correspondence analysis


@pytest.mark.filterwarnings("ignore:axes without inertia", "ignore:rows and columns are independent")
@given(tables)
def test_coordinates_are_those_of_the_definition(N):
    """F and G, contributions, squared cosines and inertias follow from a dense decomposition."""
    P, r, c = shares(N)
    rank = min(N.shape) - 1
    U, s, V = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), full_matrices=False)
    model = CorrespondenceAnalysis(rank).fit(N)
    assert model.singular_values_ == pytest.approx(s[:rank], abs=1e-9)
    assert model.total_inertia_ == pytest.approx((s**2).sum(), abs=1e-12)
    F, G = model.row_coordinates_, model.column_coordinates_
    expected = (U * s) @ V / np.sqrt(r)[:, None] / np.sqrt(c)  # the same whatever the choice of axes
    assert pytest.approx(expected, abs=1e-7) == F @ model.column_standard_coordinates_.T
    assert model.row_standard_coordinates_ @ G.T == pytest.approx(expected, abs=1e-7)
    assert r @ F == pytest.approx(np.zeros(rank), abs=1e-8)
    assert pytest.approx(np.diag(model.inertia_), abs=1e-8) == (r[:, None] * F).T @ F
    profiles = P / r[:, None]
    apart = (((profiles[:, None] - profiles[None]) ** 2) / c).sum(axis=2)
    assert ((F[:, None] - F[None]) ** 2).sum(axis=2) == pytest.approx(apart, abs=1e-7)


@pytest.mark.filterwarnings("ignore:axes without inertia", "ignore:rows and columns are independent")
@given(tables)
def test_shares_sum_to_one(N):
    """Contributions sum to 1 for each axis, squared cosines over all axes to 1 for each point that is not the mean."""
    model = CorrespondenceAnalysis(min(N.shape) - 1).fit(N)
    for side in ("rows", "columns"):
        assert model.contributions(side).sum(axis=0) == pytest.approx(1)
        distances = (model.coordinates(side) ** 2).sum(axis=1)
        assert model.quality(side)[distances > 1e-9] == pytest.approx(1, abs=1e-5)


@pytest.mark.filterwarnings("ignore:axes without inertia", "ignore:rows and columns are independent")
@given(tables, st.integers(0, 99))
def test_order_and_scale_mean_nothing(N, seed):
    """Rows and columns in another order, and all counts doubled, give the same points."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) for size in N.shape)
    rank = min(N.shape) - 1
    a, b = (CorrespondenceAnalysis(rank).fit(M) for M in (N, 2 * N[rows][:, columns]))
    assert a.inertia_ == pytest.approx(b.inertia_, abs=1e-10)
    one, other = (m.row_coordinates_ @ m.row_coordinates_.T for m in (a, b))
    assert one[rows][:, rows] == pytest.approx(other, abs=1e-7)


def test_proportional_rows_can_be_merged():
    """Two rows with the same profile are one point, and as one row they change nothing else."""
    N = some_table()
    double = np.vstack([N, 2 * N[:1]])
    merged = np.vstack([3 * N[:1], N[1:]])
    a, b = CorrespondenceAnalysis(4).fit(double), CorrespondenceAnalysis(4).fit(merged)
    assert same_up_to_signs(a.column_coordinates_, b.column_coordinates_)
    assert a.row_coordinates_[0] == pytest.approx(a.row_coordinates_[-1])
    assert a.inertia_ == pytest.approx(b.inertia_)


def test_transposing_swaps_the_sides():
    """The rows of a table are the columns of the other way round."""
    N = some_table()
    a, b = CorrespondenceAnalysis(3).fit(N), CorrespondenceAnalysis(3).fit(N.T)
    assert same_up_to_signs(a.row_coordinates_, b.column_coordinates_)


@pytest.mark.parametrize("kind", ["csr", "coo", "float32", "entries", "repeated", "frame"])
def test_kinds_of_tables(kind):
    """Sparse tables, entries and frames give what a dense one gives; the input is not changed."""
    N = some_table(density=0.6)
    i, j = np.nonzero(N)
    given_ = {
        "csr": lambda: csr_array(N),
        "coo": lambda: csr_array(N).tocoo(),
        "float32": lambda: N.astype(np.float32),
        "entries": lambda: Entries(
            np.stack([i, j], axis=1).astype(np.uint16), N[i, j].astype(np.uint32), N.shape, symmetric=False
        ),
        "repeated": lambda: csr_array((np.ones(N.sum()), (np.repeat(i, N[i, j]), np.repeat(j, N[i, j]))), N.shape),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(N, columns=list("abcdef")),
    }[kind]()
    expected = CorrespondenceAnalysis(3).fit(N)
    found = CorrespondenceAnalysis(3).fit(given_)
    assert same_up_to_signs(found.row_coordinates_, expected.row_coordinates_, 1e-5)
    assert found.total_inertia_ == pytest.approx(expected.total_inertia_, rel=1e-5)


def test_symmetric_entries_are_both_halves():
    """Counts of pairs that list each pair once are a symmetric table; F and G are then the same up to signs."""
    x = Entries.collect([[0, 1], [0, 2], [1, 2], [2, 3], [3, 3], [1, 4], [0, 4]], [4.0, 1, 2, 5, 2, 3, 1], 5)
    N = np.zeros((5, 5))
    for (i, j), value in zip(x.indices, x.values, strict=True):
        N[i, j] = N[j, i] = value
    a, b = CorrespondenceAnalysis(3).fit(x), CorrespondenceAnalysis(3).fit(N)
    assert same_up_to_signs(a.row_coordinates_, b.row_coordinates_, 1e-5)
    assert a.row_coordinates_ @ a.row_coordinates_.T == pytest.approx(a.column_coordinates_ @ a.column_coordinates_.T)


@pytest.mark.filterwarnings("ignore:rows without counts")
def test_margins_of_zero_stay_out():
    """An empty row and column lie at zero, and change nothing."""
    N = some_table()
    wide = np.insert(np.insert(N, 2, 0, axis=0), 4, 0, axis=1)
    with pytest.warns(InputWarning, match="columns without counts: 1 of 7, for example column 4"):
        b = CorrespondenceAnalysis(3).fit(wide)
    a = CorrespondenceAnalysis(3).fit(N)
    assert same_up_to_signs(np.delete(b.row_coordinates_, 2, axis=0), a.row_coordinates_)
    assert not b.row_coordinates_[2].any()
    assert not b.column_coordinates_[4].any()
    assert b.quality()[2] == 0
    assert not b.transform(np.zeros((1, 7))).any()


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_supplementary_points(power):
    """The rows and columns that were fitted come out where they are, others at the mean of what they are made of."""
    N = some_table()
    model = CorrespondenceAnalysis(3, power=power).fit(N)
    assert model.transform(N) == pytest.approx(model.row_coordinates_, abs=1e-9)
    assert model.transform(csr_array(N)) == pytest.approx(model.row_coordinates_, abs=1e-9)
    assert model.transform_columns(N) == pytest.approx(model.column_coordinates_, abs=1e-9)
    both = model.transform(N[:1] + N[1:2])
    weights = N[:2].sum(axis=1) / N[:2].sum()
    assert both[0] == pytest.approx(weights @ model.row_coordinates_[:2])
    assert model.transform(5 * N[:1]) == pytest.approx(model.transform(N[:1]))


@pytest.mark.filterwarnings("ignore:values that are not whole numbers")
def test_tempered_counts_are_the_analysis_of_their_roots():
    """``count_exponent`` takes counts to a power before anything else, also those of supplementary rows."""
    N = some_table()
    a, b = CorrespondenceAnalysis(3, count_exponent=0.5).fit(N), CorrespondenceAnalysis(3).fit(np.sqrt(N))
    assert a.row_coordinates_ == pytest.approx(b.row_coordinates_)
    assert a.transform(N) == pytest.approx(a.row_coordinates_, abs=1e-9)


@pytest.mark.parametrize("method", ["lanczos", "randomized"])
def test_large_sparse_tables(method):
    """A planted structure of a table too large to be decomposed exactly is found, whatever the method."""
    rng = np.random.default_rng(0)
    m, n, topics = 900, 700, 5
    rates = np.repeat(np.eye(topics), m // topics, axis=0) @ np.repeat(np.eye(topics), n // topics, axis=1)
    N = csr_array(rng.poisson(0.02 + 0.3 * rates))
    model = CorrespondenceAnalysis(topics - 1, method=method, tol=1e-6, seed=0).fit(N)
    P, r, c = shares(N.toarray())
    s = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), compute_uv=False)
    assert model.singular_values_ == pytest.approx(s[: topics - 1], rel=1e-4)
    again = CorrespondenceAnalysis(topics - 1, method=method, tol=1e-6, seed=0).fit(N)
    assert np.array_equal(model.row_coordinates_, again.row_coordinates_)
    labels = np.repeat(np.arange(topics), m // topics)
    centres = np.stack([model.row_coordinates_[labels == k].mean(axis=0) for k in range(topics)])
    nearest = ((model.row_coordinates_[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.99


def test_vectors_of_words():
    """The coordinates of either side are an embedding."""
    model = CorrespondenceAnalysis(2).fit(FISHER)
    assert model.embedding(["blue", "light", "medium", "dark"]).neighbours("blue", top=1)[0][0] == "light"
    hair = model.embedding(["fair", "red", "medium", "dark", "black"], side="columns")
    assert hair.neighbours("dark", top=1)[0][0] == "black"


@pytest.mark.parametrize("seed", range(3))
def test_agreement_with_prince(seed):
    """Another implementation, of dense tables, has the same inertias, coordinates, contributions and cosines."""
    prince, pandas = pytest.importorskip("prince"), pytest.importorskip("pandas")
    N = pandas.DataFrame(some_table((7, 5), seed) + 1, index=list("abcdefg"), columns=list("vwxyz"))
    theirs, ours = prince.CA(n_components=3, engine="scipy").fit(N), CorrespondenceAnalysis(3).fit(N)
    assert ours.inertia_ == pytest.approx(theirs.eigenvalues_)
    assert same_up_to_signs(ours.row_coordinates_, theirs.row_coordinates(N).to_numpy())
    assert same_up_to_signs(ours.column_coordinates_, theirs.column_coordinates(N).to_numpy())
    assert ours.contributions() == pytest.approx(theirs.row_contributions_.to_numpy())
    assert ours.squared_cosines() == pytest.approx(theirs.row_cosine_similarities(N).to_numpy())


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (-FISHER, "Negative values"),
        (np.where(FISHER > 900, np.nan, FISHER), "NaN"),
        (np.zeros((4, 5)), "at least one non-zero cell"),
        (FISHER[:2], "rank must be below 2, the smaller dimension of the matrix; got 2"),
        (Entries.collect([[0, 1, 2]], [1.0], 3), "got order 3"),
        (Entries.collect([[0, 1]], [-1.0], 3), "counts must be non-negative"),
    ],
)
def test_tables_that_cannot_be_analysed(table, fault):
    """What is no table of counts, and a rank that does not fit, are refused in a sentence."""
    for kind in (CorrespondenceAnalysis, KernelCorrespondenceAnalysis):
        with pytest.raises(ValueError, match=fault):
            kind(2).fit(table)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (KernelCorrespondenceAnalysis(2, shift=5), "shift requires difference='shifted-pmi'; got difference='linear'"),
        (KernelCorrespondenceAnalysis(2, row_kernel="margin"), "row_kernel must be one of 'margins', 'identity' or"),
        (KernelCorrespondenceAnalysis(2, row_kernel=np.ones(3)), "row kernel must have shape"),
        (KernelCorrespondenceAnalysis(2, column_kernel=-np.ones(5)), "no negative eigenvalue"),
        (KernelCorrespondenceAnalysis(2, column_kernel=np.triu(np.ones((5, 5)))), "symmetric"),
        (KernelCorrespondenceAnalysis(2, difference="similarity", row_scores=np.eye(4)), "zero on the diagonal"),
        (KernelCorrespondenceAnalysis(2, difference="similarity", row_scores=np.ones((3, 3))), "of the 4 words"),
        (KernelCorrespondenceAnalysis(2, difference="similarity", row_scores=-9 * (1 - np.eye(4))), "negative"),
        (
            KernelCorrespondenceAnalysis(2, row_kernel=stop_word_kernel(["a"], 1, stop_words={"a"})),
            "the kernel must have one weight for each",
        ),
    ],
)
def test_parameters_that_do_not_fit(model, fault):
    """A parameter out of range, or without an effect, is named."""
    with pytest.raises(InputError, match=fault):
        model.fit(FISHER)


# ---- the Gini index


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=30))
def test_gini_index_is_a_mean_over_pairs(x):
    """Half the share of pairs that differ, which is 0 where all are alike."""
    differ = sum(a != b for a in x for b in x)
    assert gini_index(x) == pytest.approx(differ / (2 * len(x) ** 2))


@given(st.integers(0, 999))
def test_covariance_is_a_mean_over_pairs(seed):
    """Half the nuclear norm is what the sum over pairs of observations gives for the best rotation, and no other."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, 25), rng.integers(0, 4, 25)
    found = categorical_covariance(contingency_table(x, y))
    R = found.rotation
    (_, i), (_, j) = (np.unique(each, return_inverse=True) for each in (x, y))
    e, f = np.eye(len(R))[i], np.eye(R.shape[1])[j]

    def value(R):
        de, df = e[:, None] - e[None], f[:, None] - f[None]
        return np.einsum("abi,ij,abj->", de, R, df) / (4 * len(x) ** 2)

    assert value(R) == pytest.approx(found.value)
    small = min(R.shape)
    assert (R @ R.T if R.shape[0] == small else R.T @ R) == pytest.approx(np.eye(small), abs=1e-8)
    Q = np.linalg.qr(rng.standard_normal((max(R.shape), small)))[0]
    assert value(Q.T if R.shape[0] == small else Q) <= found.value + 1e-12


def test_covariance_of_a_variable_with_itself_is_its_gini_index():
    """The best rotation of a variable towards itself is none."""
    x = list("aabbbccd")
    assert categorical_covariance(contingency_table(x, x)).value == pytest.approx(gini_index(x))


def test_scaled_one_hot_vectors_give_correspondence_analysis():
    """With vectors and constraint scaled by the margins, the covariance is half the sum of the singular values."""
    found = categorical_covariance(FISHER, scaled="margins")
    every = CorrespondenceAnalysis(3).fit(FISHER)
    assert found.value == pytest.approx(every.singular_values_.sum() / 2)
    P, r, c = shares(FISHER)
    R = found.rotation  # R' D(r)^-1 R D(c)^-1 = E cannot hold with fewer rows than columns; its mirror does
    assert R / c @ R.T / r == pytest.approx(np.eye(4), abs=1e-9)
    assert np.trace(R.T @ ((P - np.outer(r, c)) / np.outer(r, c))) / 2 == pytest.approx(found.value)
    assert categorical_covariance(FISHER).value == pytest.approx(0.08125, abs=5e-6)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: gini_index([]), "at least one"),
        (lambda: contingency_table(["a"], ["b", "c"]), "same number of observations, at least one"),
        (lambda: categorical_covariance(np.zeros((2, 2))), "at least one non-zero cell"),
        (lambda: categorical_covariance(-FISHER), "must be non-negative"),
        (lambda: categorical_covariance(np.ones((3000, 2))), "at most 2,000"),
        (lambda: categorical_covariance(FISHER, scaled="yes"), "scaled"),
        (
            lambda: CorrespondenceAnalysis(2).fit(FISHER).transform_columns(FISHER.T),
            "must have 4 rows, like the fitted table",
        ),
        (lambda: CorrespondenceAnalysis(2).fit(FISHER).transform_columns(-FISHER), "must be non-negative"),
        (lambda: CorrespondenceAnalysis(2).fit(FISHER).transform(FISHER.T), "4 features"),
        (lambda: MultipleCorrespondenceAnalysis(1, table="both").fit(people()), "table"),
        (lambda: MultipleCorrespondenceAnalysis(1, correction="some").fit(people()), "correction"),
        (lambda: MultipleCorrespondenceAnalysis(1, correction="benzecri").fit(people()[:, :1]), "at least 2 variables"),
        (
            lambda: MultipleCorrespondenceAnalysis(1).fit(np.array([["a"], [None]], object)),
            "row 1, column 0 of X is no category but missing",
        ),
        (
            lambda: MultipleCorrespondenceAnalysis(1).fit(np.array([["a"], [np.nan]], object)),
            "row 1, column 0 of X is no category but missing",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, fault):
    """Variables without a Gini index, points that are no rows or columns of the table, categories that are missing."""
    with pytest.raises(ValueError, match=fault):
        call()


# ---- kernels


def test_inverse_margins_make_it_correspondence_analysis():
    """The kernels of the first row of the table of cases, though printed without the root, are used by their root."""
    ours, plain = KernelCorrespondenceAnalysis(3).fit(FISHER), CorrespondenceAnalysis(3).fit(FISHER)
    assert ours.row_coordinates_ == pytest.approx(plain.row_coordinates_)
    P, r, c = shares(FISHER)
    wrong = np.linalg.svd((P - np.outer(r, c)) / np.outer(r, c), compute_uv=False)[:3]
    assert wrong / wrong[0] == pytest.approx([1, 0.237, 0.101], abs=5e-4)
    assert ours.singular_values_ / ours.singular_values_[0] == pytest.approx([1, 0.389, 0.066], abs=5e-4)


@given(st.integers(0, 99))
def test_any_kernels(seed):
    """The solution has the objective and satisfies the constraint of the kernel problem."""
    rng = np.random.default_rng(seed)
    N = some_table((5, 7), seed) + 1
    kernels = [B @ B.T + 0.1 * np.eye(len(B)) for B in map(rng.standard_normal, ((5, 5), (7, 7)))]
    P, r, c = shares(N)
    A = P - np.outer(r, c)
    Kr, Kc = (root(K, m, "row") for K, m in zip(kernels, (r, c), strict=True))
    assert Kr @ Kr == pytest.approx(kernels[0])
    U, s, V = np.linalg.svd(Kr @ A @ Kc, full_matrices=False)
    model = KernelCorrespondenceAnalysis(4, row_kernel=kernels[0], column_kernel=kernels[1]).fit(N)
    assert model.singular_values_ == pytest.approx(s[:4], abs=1e-8)
    assert same_up_to_signs(model.row_coordinates_, (Kr @ U * s)[:, :4], 1e-6)
    R = np.linalg.solve(Kr, U @ V) @ np.linalg.inv(Kc)
    assert np.trace(R.T @ kernels[0] @ A @ kernels[1]) == pytest.approx(s.sum())
    assert R @ kernels[1] @ R.T @ kernels[0] == pytest.approx(np.eye(5), abs=1e-6)


def test_row_scaling_changes_no_cosine():
    """Words are as near to one another with kernels of margins applied to the result as without."""
    model = CorrespondenceAnalysis(3).fit(FISHER)
    plain = model.row_coordinates_ * np.sqrt(model.row_masses_)[:, None]
    a, b = (x / np.linalg.norm(x, axis=1)[:, None] for x in (model.row_coordinates_, plain))
    assert a @ a.T == pytest.approx(b @ b.T)


def test_cases():
    """Each row of the table of known methods decomposes its matrix."""
    P, r, c = shares(FISHER)
    Y = np.outer(r, c)
    matrices = {
        "ca": (P - Y) / np.sqrt(Y),
        "gini": P - Y,
        "g-test": P * np.log(P / Y),
        "sgns": np.maximum(np.log(P / Y), 0),
        "categorical-pca": np.sqrt(1 - np.exp(-2)) * (P - Y),
    }
    for name, matrix in matrices.items():
        model = KernelCorrespondenceAnalysis(3, **CASES[name]).fit(FISHER)
        assert model.singular_values_ == pytest.approx(np.linalg.svd(matrix, compute_uv=False)[:3]), name
    n = FISHER.sum()
    terms = residuals.g_test(csr_array(FISHER.astype(float))).S.sum()
    G = 2 * (FISHER * np.log(FISHER / (n * Y))).sum()
    assert 2 * n * terms == pytest.approx(G)
    assert set(CASES) == {*matrices, "glove"}


def test_shifted_pmi():
    """Negative and empty cells are zero; the shift and the smoothing of columns are those of the formulas."""
    N = some_table((8, 6), density=0.6) + np.eye(8, 6, dtype=int)
    P, r, c = shares(N)
    smooth = c**0.75 / (c**0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(P) - np.log(r)[:, None] - np.log(smooth) - np.log(2), 0)
    found = residuals.shifted_pmi(csr_array(N.astype(float)), shift=2, smoothing=0.75)
    assert dense(found) == pytest.approx(expected)
    with np.errstate(divide="ignore"):
        printed = np.where(N > 0, np.log(P) - np.log(np.outer(r, c)) - np.log(2), 0)
    for table in (csr_array(N.astype(float)), csr_array(N + 1.0) - csr_array(np.ones(N.shape))):  # with stored zeros
        assert dense(residuals.shifted_pmi(table, shift=2, positive=False)) == pytest.approx(printed)
    model = KernelCorrespondenceAnalysis(2, **CASES["sgns"], shift=2, positive=False).fit(N)
    assert model.singular_values_ == pytest.approx(np.linalg.svd(printed, compute_uv=False)[:2])


def test_a_residual_is_any_function_of_cells():
    """The functions of Table 2 give what their names give; empty cells are zero; other than numbers are refused."""
    N = some_table((8, 6), density=0.6) + np.eye(8, 6, dtype=int)
    printed = {"g-test": lambda x, y: x * (np.log(x) - np.log(y)), "sgns": lambda x, y: np.log(x / y)}
    for name, difference in printed.items():
        own = {**CASES[name], **({"positive": False} if name == "sgns" else {})}
        named, given_ = (
            KernelCorrespondenceAnalysis(3, **{**own, **more}) for more in ({}, {"difference": difference})
        )
        given_.positive = True
        assert given_.fit(N).singular_values_ == pytest.approx(named.fit(N).singular_values_)
    table = csr_array(N + 1.0) - csr_array(np.ones(N.shape))
    assert (dense(residuals.elementwise(table, lambda x, _: x * 0 + 1)) == (N > 0)).all()
    with pytest.raises(InputError, match="finite number for each of the 20 non-empty cells; got shape"):
        KernelCorrespondenceAnalysis(2, difference=lambda x, _: x + np.inf).fit(FISHER)


def test_log_counts_have_the_best_biases():
    """What is left of logarithms has mean zero in each row and column, over the cells that are listed."""
    N = some_table((8, 6), density=0.7)
    N[:, 0] += 1
    N[0] += 1
    found = residuals.log_counts(csr_array(N.astype(float)), sweeps=500)
    rest = dense(found)
    assert not rest[N == 0].any()
    assert rest.sum(axis=0) == pytest.approx(0, abs=1e-8)
    assert rest.sum(axis=1) == pytest.approx(0, abs=1e-8)
    with np.errstate(divide="ignore"):
        biases = np.where(N > 0, np.log(N) - rest, np.nan)
    assert np.nanmax(np.abs(biases - (np.nan_to_num(biases[:, :1]) + biases[:1] - biases[0, 0]))) < 1e-8


def test_categorical_kernel_is_a_gaussian_of_one_hot_vectors():
    """Equal categories have 1, others exp(-2 alpha); of a centred table nothing is left but a factor."""
    K = categorical_kernel(0.7)(np.ones(4))
    one_hot = np.eye(4)
    assert pytest.approx(np.exp(-0.7 * ((one_hot[:, None] - one_hot[None]) ** 2).sum(axis=2))) == K
    P, r, c = shares(FISHER)
    A = P - np.outer(r, c)
    assert root(K, r, "row") @ A == pytest.approx(np.sqrt(1 - np.exp(-1.4)) * A)


def test_stop_word_kernel():
    """Words in the list weigh 1 + alpha over their margin; alpha 0 is plain correspondence analysis."""
    words = ["the", "moon", "of", "orbit"]
    K = stop_word_kernel(words, -0.9, stop_words={"the", "of"})(np.full(4, 0.25))
    assert pytest.approx([0.4, 4, 0.4, 4]) == K
    plain = KernelCorrespondenceAnalysis(2, row_kernel=stop_word_kernel(words, 0, stop_words={"the"})).fit(FISHER)
    assert plain.row_coordinates_ == pytest.approx(CorrespondenceAnalysis(2).fit(FISHER).row_coordinates_)
    P, r, c = shares(FISHER)
    w = np.array([2.0, 1, 2, 1])
    model = KernelCorrespondenceAnalysis(2, row_kernel=stop_word_kernel(words, 1, stop_words={"the", "of"})).fit(FISHER)
    matrix = np.sqrt(w / r)[:, None] * (P - np.outer(r, c)) / np.sqrt(c)
    assert model.singular_values_ == pytest.approx(np.linalg.svd(matrix, compute_uv=False)[:2])
    for alpha in (-1, -2, float("nan")):
        with pytest.raises(InputError, match="alpha must be"):
            stop_word_kernel(words, alpha, stop_words={"the"})


# ---- the word-similarity kernel


def scores(n, seed, *, number=3):
    T = np.zeros((n, n))
    rng = np.random.default_rng(seed)
    for _ in range(number):
        i, j = rng.choice(n, 2, replace=False)
        T[i, j] = T[j, i] = rng.random()
    return T


@given(st.integers(0, 999), st.floats(0.1, 3))
def test_similarity_kernel_is_the_sum_over_pairs(seed, beta):
    """Numerator and margins are those of the definition, of which both terms have the same margins."""
    N = some_table((4, 5), seed, density=0.8) + np.eye(4, 5, dtype=int)
    T, W = scores(4, seed), scores(5, seed + 1)
    G, H, P = beta + T, beta + W, N / N.sum()
    np.fill_diagonal(G, beta)
    np.fill_diagonal(H, beta)
    first, second = P * (G @ P @ H), (G @ P) * (P @ H)
    e, f = np.eye(4), np.eye(5)
    pairs = np.zeros((4, 5))
    for a, i, b, j in np.ndindex(4, 5, 4, 5):
        pairs += P[a, i] * P[b, j] * G[a, b] * H[i, j] * np.outer(e[a] - e[b], f[i] - f[j])
    assert 2 * (first - second) == pytest.approx(pairs)
    found = residuals.similarity(csr_array(N.astype(float)), rows=csr_array(T), columns=csr_array(W), beta=beta)
    assert dense(found) == pytest.approx((first - second) / second.sum())
    assert found.r == pytest.approx(second.sum(axis=1) / second.sum())
    assert found.c == pytest.approx(first.sum(axis=0) / second.sum())
    assert dense(found).sum(axis=0) == pytest.approx(0, abs=1e-12)
    np.fill_diagonal(G, 9.0)  # how similar a word is to itself counts in the margins, and not in the numerator
    third, fourth = P * (G @ P @ H), (G @ P) * (P @ H)
    assert third - fourth == pytest.approx(first - second)
    assert np.abs(fourth.sum(axis=1) - second.sum(axis=1)).max() > 1e-3


def test_no_scores_no_difference():
    """Without scores the kernel is correspondence analysis, whatever beta."""
    plain = CorrespondenceAnalysis(2).fit(FISHER)
    for beta in (0.5, 2):
        model = KernelCorrespondenceAnalysis(2, difference="similarity", beta=beta).fit(FISHER)
        assert model.row_coordinates_ == pytest.approx(plain.row_coordinates_)


# ---- many variables


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.choice(list(kinds), n) for kinds in ("abc", "xy", "pqrs")], axis=1)


def test_two_variables_are_a_table():
    """Of two variables, standard coordinates are those of their table; its singular values give the inertias."""
    x, y = np.random.default_rng(0).choice(3, 80), np.random.default_rng(1).choice(4, 80)
    N = contingency_table(x, y)
    both, table = MultipleCorrespondenceAnalysis(2).fit(np.stack([x, y], axis=1)), CorrespondenceAnalysis(2).fit(N)
    assert both.inertia_ == pytest.approx((1 + table.singular_values_) / 2)
    corrected = MultipleCorrespondenceAnalysis(2, correction="benzecri").fit(np.stack([x, y], axis=1))
    assert corrected.inertia_ == pytest.approx(table.inertia_)
    assert corrected.total_inertia_ == pytest.approx(table.total_inertia_)
    standard = both.analysis_.column_standard_coordinates_
    assert same_up_to_signs(standard[:3], table.row_standard_coordinates_, 1e-7)


def test_burt_tables_have_squared_inertias():
    """The Burt table has the same axes; its inertias are the squares, and so is its total."""
    X = people()
    a, b = (MultipleCorrespondenceAnalysis(3, table=table).fit(X) for table in ("indicator", "burt"))
    assert b.inertia_ == pytest.approx(a.inertia_**2)
    encoded = (X[:, :, None] == np.array([*"abcxypqrs"])).any(axis=1).astype(float)
    burt = CorrespondenceAnalysis(3).fit(encoded.T @ encoded)
    assert b.inertia_ == pytest.approx(burt.inertia_)
    assert b.total_inertia_ == pytest.approx(burt.total_inertia_)
    assert same_up_to_signs(b.column_coordinates_, burt.column_coordinates_[[0, 1, 2, 5, 6, 7, 8, 3, 4]][
        [0, 1, 2, 7, 8, 3, 4, 5, 6]], 1e-7)  # fmt: skip


@pytest.mark.parametrize("correction", ["none", "benzecri", "greenacre"])
def test_many_variables_agree_with_prince(correction):
    """Inertias and coordinates are those of another implementation."""
    prince, pandas = pytest.importorskip("prince"), pytest.importorskip("pandas")
    X = pandas.DataFrame(people(), columns=list("ABC"))
    theirs = prince.MCA(n_components=2, correction=None if correction == "none" else correction, engine="scipy").fit(X)
    ours = MultipleCorrespondenceAnalysis(2, correction=correction).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.eigenvalues_)
    assert ours.categories_[0] == "A=a"
    assert same_up_to_signs(ours.row_coordinates_, theirs.row_coordinates(X).to_numpy())
    if correction != "benzecri":  # theirs shares among the axes kept, not among all
        assert 100 * ours.explained_inertia_ratio_ == pytest.approx(theirs.percentage_of_variance_)


def test_further_observations():
    """Those that were fitted come out where they are; a category that was not seen counts for nothing."""
    X = people()
    model = MultipleCorrespondenceAnalysis(2).fit(X)
    assert model.transform(X) == pytest.approx(model.row_coordinates_, abs=1e-9)
    with pytest.warns(InputWarning, match=r"ignored: 1 of 2, for example row 1 .* with 'bb'; did you mean 'b'"):
        assert np.isfinite(model.transform([["a", "x", "p"], ["bb", "x", "p"]])).all()
    with pytest.warns(InputWarning, match="ignored: 1 of 1, for example row 0 .* with 1$"):
        assert not model.transform(np.array([[1, 2, 3]])).any()  # numbers are no words


@pytest.mark.parametrize("table", ["indicator", "burt"])
def test_statistics_of_categories_and_observations(table):
    """Contributions sum to 1 on an axis, squared cosines over all axes to 1; a category is a mean of observations."""
    X = people()
    model = MultipleCorrespondenceAnalysis(6, table=table).fit(X)
    assert len(model.categories_) - X.shape[1] == 6  # all axes
    for side in ("rows", "columns"):
        assert model.contributions(side).sum(axis=0) == pytest.approx(1)
        assert model.quality(side) == pytest.approx(1)
    has = X[:, 0] == "b"
    scale = 1 if table == "burt" else np.sqrt(model.analysis_.inertia_)
    assert model.column_coordinates_[1] * scale == pytest.approx(model.row_coordinates_[has].mean(axis=0))
    assert model.nearest("0=a", side="columns", n=1)[0][1] > 0
    assert model.eigenvalues()[-1].cumulative_share == pytest.approx(1)


def test_statistics_agree_with_prince():
    """Contributions, squared cosines, the summary of eigenvalues and supplementary rows are the same to rounding."""
    prince, pandas = pytest.importorskip("prince"), pytest.importorskip("pandas")
    X = pandas.DataFrame(people(), columns=list("ABC"))
    theirs, ours = prince.MCA(n_components=6, engine="scipy").fit(X), MultipleCorrespondenceAnalysis(6).fit(X)
    assert ours.contributions("columns") == pytest.approx(theirs.column_contributions_.to_numpy())
    assert ours.contributions("rows") == pytest.approx(theirs.row_contributions_.to_numpy())
    assert ours.squared_cosines("columns") == pytest.approx(theirs.column_cosine_similarities(X).to_numpy())
    assert ours.squared_cosines("rows") == pytest.approx(theirs.row_cosine_similarities(X).to_numpy())
    assert same_up_to_signs(ours.column_coordinates_, theirs.column_coordinates(X).to_numpy())
    table = frame(ours.eigenvalues())
    assert table["inertia"].to_numpy() == pytest.approx(theirs.eigenvalues_)
    assert 100 * table["cumulative_share"].to_numpy() == pytest.approx(theirs.cumulative_percentage_of_variance_)
    points = frame(ours)
    assert points["label"].tolist()[-3:] == ["C=q", "C=r", "C=s"]
    assert points["contribution_2"].to_numpy()[60:] == pytest.approx(ours.contributions("columns")[:, 1])


# ---- tables from coordinates


@pytest.mark.filterwarnings("ignore:axes without inertia", "ignore:rows and columns are independent")
@given(tables, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.5, 1.0]))
def test_all_axes_give_the_table_back(N, power, exponent):
    """The reconstitution formula is exact with all axes, for fitted rows and, with their totals, for others."""
    model = CorrespondenceAnalysis(min(N.shape) - 1, power=power, count_exponent=exponent).fit(N)
    assert model.inverse_transform(model.row_coordinates_) == pytest.approx(N.astype(float), rel=1e-6)
    if min(N.shape) == N.shape[1] and model.singular_values_.all():  # the axes contain all profiles of rows
        more = N[::-1] + np.eye(*N.shape, dtype=int)
        totals = (more.astype(float) ** exponent).sum(axis=1)
        assert model.inverse_transform(model.transform(more), totals=totals) == pytest.approx(
            more.astype(float), rel=1e-6
        )


def test_fewer_axes_give_the_best_table():
    """Of rank k with the margins of the table, by singular values; profiles sum to 1; other rows need totals."""
    model = CorrespondenceAnalysis(1).fit(FISHER)
    made = model.inverse_transform(model.row_coordinates_)
    P, r, c = shares(FISHER)
    U, s, V = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)))
    assert made / FISHER.sum() == pytest.approx(
        np.outer(r, c) + s[0] * np.outer(np.sqrt(r) * U[:, 0], np.sqrt(c) * V[0])
    )
    assert made.sum(axis=0) == pytest.approx(FISHER.sum(axis=0))
    assert model.inverse_transform([[0.2]], totals=1).sum() == pytest.approx(1)
    for call, fault in (
        (lambda: model.inverse_transform([[0.2]]), "totals must be given for rows that are not"),
        (lambda: model.inverse_transform([[0.2, 1]], totals=1), "one column for each of the 1 axes; got 2"),
        (lambda: model.inverse_transform([[0.2]], totals=[1, 2]), "one sum for each of the 1 rows"),
    ):
        with pytest.raises(InputError, match=fault):
            call()


# ---- tables that may not be what they seem


EYES, HAIR = ["blue", "light", "medium", "dark"], ["fair", "red", "medium", "dark", "black"]
TOTALS = np.block([[FISHER, FISHER.sum(axis=1, keepdims=True)], [FISHER.sum(axis=0), FISHER.sum()]])


def named(N, rows=EYES, columns=HAIR):
    return pytest.importorskip("pandas").DataFrame(N, index=list(rows), columns=list(columns))


@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (
            lambda: named(TOTALS, [*EYES, "Sum"], [*HAIR, "Sum"]),
            [
                "row 'Sum' is the sum of the other 4 rows .10,774 of 21,548",
                "column 'Sum' is the sum of the other 5 col",
            ],
        ),
        (
            lambda: csr_array(TOTALS[:, :5]),
            [r"^row 4 .counted from 0. is the sum of the other 4 rows .5,387 of 10,774"],
        ),
        (lambda: named(FISHER / 2), ["not whole numbers: 7 of 20, for example 120.5 in row 'blue', column 'medium'"]),
        (lambda: named(FISHER * (np.arange(5) != 2)), ["^columns without counts: 1 of 5, for example column 'medium'"]),
        (lambda: named(FISHER, ["blue", "light", "blue", "dark"]), ["^2 rows have the label 'blue'"]),
        (lambda: np.outer([1, 2, 5], [4, 5, 6]), ["^rows and columns are independent"]),
    ],
    ids=["totals", "sparse", "fractions", "empty", "labels", "independent"],
)
def test_degenerate_tables_are_reported(make, faults):
    """Totals, fractions, empty columns, repeated labels and independence are warnings that say where and how many."""
    for kind in (CorrespondenceAnalysis, KernelCorrespondenceAnalysis):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            kind(2).fit(make())
        assert len(found) == len(faults)
        for warning, fault in zip(found, faults, strict=True):
            assert re.search(fault, str(warning.message)), warning.message
            assert (warning.category, warning.filename) == (InputWarning, __file__)


def test_cross_tables_are_fitted_with_their_labels():
    """The labels of a cross table are used in messages and results."""
    model = CorrespondenceAnalysis(2).fit(CrossTable(csr_array(FISHER), tuple(EYES), tuple(HAIR)))
    assert model.nearest("blue", n=1)[0][0] == "light"
    with pytest.raises(InputError, match="got -1 in row 'blue', column 'fair'"):
        CorrespondenceAnalysis(2).fit(CrossTable(csr_array(-1 + 0 * FISHER), tuple(EYES), tuple(HAIR)))
    with pytest.raises(InputError, match="no row 'bleu'; did you mean 'blue'"):
        model.nearest("bleu")


@pytest.mark.parametrize(("value", "shown"), [(-3.0, "^Negative values in data: .* got -3"), (np.nan, "got NaN")])
def test_wrong_counts_are_refused_by_position(value, shown):
    """The first wrong value is shown with its row and column, in fitted tables and in supplementary ones."""
    wrong = FISHER.astype(float)
    wrong[1, 3] = value
    model = CorrespondenceAnalysis(2).fit(named(FISHER))
    for call, where in (
        (lambda: CorrespondenceAnalysis(2).fit(wrong), "row 1, column 3 .counted from 0"),
        (lambda: KernelCorrespondenceAnalysis(2).fit(named(wrong)), "row 'light', column 'dark'"),
        (lambda: model.transform(named(wrong)[1:]), "row 'light', column 'dark'"),
        (lambda: model.transform_columns(named(wrong)[["red", "dark"]]), "row 'light', column 'dark'"),
    ):
        with pytest.raises(InputError, match=f"{shown} in {where}"):
            call()


def test_supplementary_frames_are_matched_by_name():
    """Rows and columns in another order are the same; names that are missing or new are refused, never positions."""
    model = CorrespondenceAnalysis(2).fit(named(FISHER))
    other = named(FISHER).iloc[[2, 0, 3, 1], [4, 0, 2, 1, 3]]
    assert model.transform(other) == pytest.approx(model.row_coordinates_[[2, 0, 3, 1]])
    assert model.transform_columns(other) == pytest.approx(model.column_coordinates_[[4, 0, 2, 1, 3]])
    for call, fault in (
        (lambda: model.transform(named(FISHER, columns=["fair", "rde", *HAIR[2:]])), "'rde'; did you mean 'red'"),
        (lambda: model.transform(named(FISHER)[HAIR[1:]]), "columns .* has in addition: 'fair'"),
        (lambda: model.transform_columns(named(FISHER, rows=range(4))), "does not have: '0', '1', '2' and 1 more"),
        (lambda: model.transform_columns(named(FISHER)[["red"]].iloc[[0, 0, 1, 2, 3]]), "must have the labels"),
    ):
        with pytest.raises(InputError, match=fault):
            call()
    twice = named(FISHER, columns=["a", "b", "a", "c", "d"])
    for call in (CorrespondenceAnalysis(2).fit, MultipleCorrespondenceAnalysis(2).fit, model.transform):
        with pytest.raises(InputError, match="different labels; 2 are called 'a'"):
            call(twice)
    numbers = named(FISHER, columns=[3, 1, 4, 0, 5])  # which scikit-learn does not compare
    model = CorrespondenceAnalysis(2).fit(numbers)
    assert model.transform(numbers[[0, 1, 3, 4, 5]]) == pytest.approx(model.row_coordinates_)
    X = named(people(), rows=range(60), columns=[7, 8, 9])
    many = MultipleCorrespondenceAnalysis(2).fit(X)
    assert many.categories_[0] == "7=a"
    assert many.transform(X[[9, 7, 8]]) == pytest.approx(many.row_coordinates_)


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        (np.random.default_rng(0).normal(size=60), "'x' has 60 different values in 60 rows, such as -"),
        (np.arange(60) // 1.5, "'x' has 40 different values in 60 rows"),
        (np.array([f"id {k}" for k in range(60)]), "'x' has 60 different values"),
        (np.array(["same"] * 60), "'x' has the value same in all 60 rows"),
    ],
    ids=["continuous", "often", "identifiers", "constant"],
)
def test_improbable_categories_are_reported(column, fault):
    """Continuous numbers, identifiers and constants among the variables are warnings with the numbers."""
    with pytest.warns(InputWarning, match=f"the variable {fault}"):
        MultipleCorrespondenceAnalysis(1).fit(named(people(), range(60), "ABC").assign(x=column))


# ---- tables with less in them than their size


@pytest.mark.filterwarnings("ignore:axes without inertia")
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_axes_that_a_table_does_not_have(power):
    """Of a table of lower rank, further axes are zero, also for supplementary points."""
    N = np.array([[4, 1, 2, 3, 5, 1], [8, 2, 4, 6, 10, 2], [1, 5, 1, 2, 1, 3], [2, 10, 2, 4, 2, 6], [3, 1, 7, 1, 1, 2]])
    model = CorrespondenceAnalysis(4, power=power).fit(N)
    assert (model.singular_values_ > 0).tolist() == [True, True, False, False]
    assert model.transform(N) == pytest.approx(model.row_coordinates_, abs=1e-9)
    assert model.transform_columns(N) == pytest.approx(model.column_coordinates_, abs=1e-9)
    assert not model.row_coordinates_[:, 2:].any()


@pytest.mark.filterwarnings("ignore:rows without counts", "ignore:columns without counts")
def test_large_tables_of_few_words():
    """Rows without observations exhaust what products lead to; no singular value is beyond 1."""
    rng = np.random.default_rng(0)
    N = np.zeros((700, 700))
    N[:150, :150] = rng.poisson(0.5, (150, 150))
    N += N.T
    few, all_ = N[:150, :150], N
    a, b = CorrespondenceAnalysis(50, seed=0).fit(csr_array(all_)), CorrespondenceAnalysis(50).fit(few)
    assert a.singular_values_ == pytest.approx(b.singular_values_, rel=1e-3)


def test_nothing_of_a_model_is_handed_out():
    """What comes after it in a pipeline may write into its output."""
    model = CorrespondenceAnalysis(2)
    out = model.fit_transform(FISHER)
    out[:] = 0
    assert model.row_coordinates_.any()


def test_stored_zeros_and_repeated_cells():
    """Cells that are listed with zero are empty, and those listed twice are added first, also in columns to place."""
    N = some_table(density=0.7)
    i, j = np.nonzero(N)
    zeros = csr_array((np.append(N[i, j], [0, 0]), (np.append(i, [0, 1]), np.append(j, [0, 1]))), N.shape)
    case = KernelCorrespondenceAnalysis(2, **CASES["glove"])
    expected = case.fit(N).singular_values_
    assert case.fit(zeros).singular_values_ == pytest.approx(expected)
    repeated = csr_array((np.ones(N.sum()), (np.repeat(i, N[i, j]), np.repeat(j, N[i, j]))), N.shape)
    model = CorrespondenceAnalysis(2, count_exponent=0.5).fit(N)
    assert model.transform_columns(repeated) == pytest.approx(model.column_coordinates_, abs=1e-9)

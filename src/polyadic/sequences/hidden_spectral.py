r"""Hidden Markov chains from moments of three symbols in a row: no start by chance, no local optimum.

Given the state in the middle, three symbols in a row :math:`x_1, x_2, x_3` (as unit vectors) are independent. With
:math:`P_{ij} = E[x_i x_j^\top]`, of rank k,

.. math:: \tilde x_1 = P_{23} P_{13}^+ x_1, \qquad \tilde x_3 = P_{21} P_{31}^+ x_3

have the means of :math:`x_2` in each state, the columns :math:`o_s` of the table of emissions O, so that

.. math:: M_2 = E[\tilde x_1 \otimes \tilde x_3] = \sum_s w_s\, o_s o_s^\top, \qquad
          M_3 = E[\tilde x_1 \otimes x_2 \otimes \tilde x_3] = \sum_s w_s\, o_s^{\otimes 3}

are symmetric: whitened, they give emissions by the tensor power method. Moves A come from
:math:`P_{23} = O\, \mathrm{diag}(w)\, A\, O^\top` by least squares, first states from the first symbols. What sampling
makes negative becomes 0. Symbols are divided by the roots of their shares, and all is done between the k leading
singular vectors of pairs, so that no array is larger than symbols times k or :math:`k^3`.

References
----------
Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Tensor decompositions for learning latent variable models, section 3.3
and theorem 3.6. Anandkumar, Hsu, Kakade (2012), A method of moments for mixture models and hidden Markov models, 4
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array, diags_array, hstack

from polyadic.core.errors import InputError
from polyadic.core.linalg.truncated import truncated_svd
from polyadic.core.linalg.whitening import symmetrized, third_moments, whitening
from polyadic.core.solvers.tensor_power import tensor_power
from polyadic.sequences.kernels.hidden import Chain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sequences.symbols import Coded

    Array = NDArray[np.float64]

MIN_SINGULAR_VALUE = 1e-9
"""Singular values of pairs of symbols below this share of the largest are errors of rounding."""


FREQUENT = 1e-3
"""Share of all symbols that an anchor has at least: profiles of rare symbols are noise, and lie farthest out."""
SUMS_TO_ONE = 10.0
"""Weight of the equation that shares of a mixture have the sum 1, beside those of unit profiles."""
SPREAD = 0.5
"""Share of a symbol that is of any state, whatever its cluster."""
RUNS = 10
"""Of k-means, of which the best is taken."""


class FewMomentsWarning(UserWarning):
    """Some states are made of noise: the sequences are too few, or have not so many states."""


def spectral_chain(data: Coded, states: int, *, symbols: int, seed: int = 0) -> Chain:
    """Estimate a hidden Markov chain.

    Parameters
    ----------
    data : Coded
        Sequences; those of fewer than three symbols only tell of first symbols.
    states : int
        At most as many as there are symbols.
    symbols : int
        How many there are.
    seed : int
        Of the directions that the power method starts from.

    Raises
    ------
    InputError
        If there are more states than moments can tell apart.

    Warns
    -----
    FewMomentsWarning
        If second moments have negative eigenvalues, which no chain gives: their magnitudes are taken.

    Examples
    --------
    >>> from polyadic.sequences.symbols import coded
    >>> chain = spectral_chain(coded(["abababab", "cdcd"] * 9, {s: at for at, s in enumerate("abcd")}), 4, symbols=4)
    >>> sorted(chain.emit.round(6).T.tolist())
    [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """
    if states > symbols:
        raise InputError(
            f"moments tell at most as many states apart as there are symbols, {symbols}; got {states}: give fewer,"
            " or start at random (init='random')"
        )
    x, weights = triples(data, symbols)
    share = np.bincount(x.ravel(), np.repeat(weights, 3), minlength=symbols) / 3
    D = scales(share)
    P12, P13, P23 = (
        csr_array((weights * D[x[:, i], 0] * D[x[:, j], 0], (x[:, i], x[:, j])), shape=(symbols, symbols))
        for i, j in ((0, 1), (0, 2), (1, 2))
    )
    U1, s, U3 = leading(P13, states)
    U2 = leading(hstack([P12.T, P23], format="csr"), states)[0]
    to_first, to_last = U2.T @ (P23 @ U3) / s, U2.T @ (P12.T @ U1) / s  # P23 P13^+ and P21 P31^+
    M2 = to_first * s @ to_last.T
    M2 = (M2 + M2.T) / 2
    if (noise := int((np.linalg.eigvalsh(M2) <= 0).sum())) > 0:
        about = f"{noise} of {states} states are made of noise; give more sequences or fewer states"
        warnings.warn(about, FewMomentsWarning, stacklevel=3)
    W, back = whitening(M2, states, magnitudes=True)
    tables = D * U1 @ (to_first.T @ W), D * U2 @ W, D * U3 @ (to_last.T @ W)
    first, second, third = (table[x[:, at]] for at, table in enumerate(tables))
    T = symmetrized(third_moments(first, second, third, weights))
    weight, v = tensor_power(T, states, seed=seed)
    scaled = U2 @ (back @ v * weight)
    emit = distributions((scaled / np.where(D > 0, D, np.inf)).T).T
    return with_emissions(data, emit, P23, D)


def with_emissions(data: Coded, emit: Array, P: Any, D: Array) -> Chain:
    """Give the chain whose emissions are known: moves and first states by least squares.

    Parameters
    ----------
    data : Coded
    emit : ndarray of shape (symbols, states)
    P : sparse matrix of shape (symbols, symbols)
        Shares of pairs of neighbours, times the scales of both.
    D : ndarray of shape (symbols, 1)
        Scales of symbols.
    """
    inverse = np.linalg.pinv(D * emit)
    begins = np.bincount(data.symbols[data.edges[:-1][np.diff(data.edges) > 0]], minlength=len(emit))
    start, joint = inverse @ (D[:, 0] * begins), inverse @ (P @ inverse.T)
    return Chain(distributions(start), distributions(joint), np.ascontiguousarray(emit))


def scales(share: Array) -> Array:
    """Give one divided by the roots of shares, 0 where there is none; of shape (symbols, 1)."""
    return np.where(share > 0, 1 / np.sqrt(np.where(share > 0, share, 1)), 0.0)[:, None]


def triples(data: Coded, symbols: int) -> tuple[NDArray[np.int64], Array]:
    """Give the different triples of neighbours, and the share of each.

    Where all sequences end with a symbol that is nowhere else, they follow one another: the state that gives the end is
    followed by first states. Elsewhere triples lie within sequences.

    Raises
    ------
    InputError
        If no sequence has three symbols.
    """
    last = data.symbols[data.edges[1:] - 1]
    ended = (np.diff(data.edges) > 0).all() and (last == last[0]).all() and (data.symbols == last[0]).sum() == len(last)
    stream = data._replace(edges=data.edges[[0, -1]]) if ended else data
    runs = stream.runs(3)
    if not len(runs):
        raise InputError("no sequence has three symbols; moments are of three in a row")
    codes, counts = np.unique((runs[:, 0] * symbols + runs[:, 1]) * symbols + runs[:, 2], return_counts=True)
    pairs, third = np.divmod(codes, symbols)
    return np.column_stack([*np.divmod(pairs, symbols), third]), counts / counts.sum()


def distributions(X: Array) -> Array:
    """Make what is negative 0 and sums of rows 1; a row that has nothing left becomes uniform."""
    X = np.maximum(X, 0)
    sums = X.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, X / np.where(sums > 0, sums, 1), 1 / X.shape[-1])


def leading(P: Any, rank: int) -> tuple[Array, Array, Array]:
    """Give leading singular vectors and values, if there are so many.

    Raises
    ------
    InputError
        If the rank of the matrix is lower.
    """
    if rank < min(P.shape):
        U, s, V = truncated_svd(P, rank, tol=1e-6, seed=0)
    else:
        U, s, Vt = np.linalg.svd(P.toarray(), full_matrices=False)
        V = Vt.T
    present = int((s > MIN_SINGULAR_VALUE * s[0]).sum())
    if present < rank:
        raise InputError(f"pairs of symbols have rank {present}, which is too low for {rank} states")
    return U, s, V


def anchor_chain(data: Coded, states: int, *, symbols: int) -> Chain:
    """Lay symbols to states as mixtures of anchors.

    Parameters
    ----------
    data : Coded
        Sequences.
    states, symbols : int

    Raises
    ------
    InputError
        If there are fewer frequent symbols with profiles of their own than states.

    Examples
    --------
    >>> from polyadic.sequences.symbols import coded
    >>> chain = anchor_chain(coded(["abababab", "cdcd"] * 9, {s: at for at, s in enumerate("abcd")}), 4, symbols=4)
    >>> sorted(chain.emit.round(2).T.tolist())
    [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """
    profile, share = profiles(data, states, symbols=symbols)
    rest = np.where(share[:, None] >= FREQUENT, profile, 0.0)
    anchors: list[int] = []
    for _ in range(states):
        sizes = np.linalg.norm(rest, axis=1)
        at = int(sizes.argmax())
        if sizes[at] < FREQUENT * np.linalg.norm(profile[at]) or not sizes[at]:
            raise InputError(
                f"{len(anchors)} symbols keep company of their own, too few to be anchors of {states} states"
            )
        anchors.append(at)
        direction = rest[at] / sizes[at]
        rest = rest - np.outer(rest @ direction, direction)
    corners = np.vstack([profile[anchors].T, np.full(states, SUMS_TO_ONE)])
    mixtures = np.array([nnls(corners, np.append(row, SUMS_TO_ONE))[0] for row in profile])
    return laid(data, distributions(mixtures), symbols=symbols)


def cluster_chain(data: Coded, states: int, *, symbols: int, seed: int = 0) -> Chain:
    """Lay symbols to states by clusters; of those of k-means that one which is tightest in some runs.

    Parameters
    ----------
    data : Coded
        Sequences.
    states, symbols : int
    seed : int

    Examples
    --------
    >>> from polyadic.sequences.symbols import coded
    >>> chain = cluster_chain(coded(["abababab", "cbcb"] * 9, {s: at for at, s in enumerate("abc")}), 2, symbols=3)
    >>> sorted(chain.emit.round(2).T.tolist())
    [[0.17, 0.75, 0.08], [0.5, 0.25, 0.25]]
    """
    from sklearn.cluster import KMeans

    profile, share = profiles(data, states, symbols=symbols, roots=True)
    means = KMeans(states, n_init=RUNS, random_state=seed).fit(profile, sample_weight=share)
    post = np.full((symbols, states), SPREAD / states)
    post[np.arange(symbols), means.labels_] += 1 - SPREAD
    return laid(data, post, symbols=symbols)


def profiles(data: Coded, rank: int, *, symbols: int, roots: bool = False) -> tuple[Array, Array]:
    """Give profiles of symbols between their leading singular vectors, and the share of each symbol.

    Parameters
    ----------
    data : Coded
    rank, symbols : int
    roots : bool
        Whether profiles are roots of shares, whose distance is that of Hellinger.
    """
    J = pairs(data, symbols)
    company = hstack([J.T, J], format="csr")
    sums = np.maximum(company.sum(axis=1), 1)
    P = diags_array(1 / sums) @ company
    if roots:
        P = P.sqrt()
    share = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
    V = leading(csr_array(diags_array(np.sqrt(share)) @ P), min(rank, symbols))[2]
    return np.asarray(P @ V), share


def pairs(data: Coded, symbols: int) -> csr_array:
    """Count each pair of neighbours."""
    runs = data.runs(2)
    if not len(runs):
        raise InputError("no sequence has two symbols; what stands beside them tells states apart")
    return csr_array((np.ones(len(runs)), runs.T), shape=(symbols, symbols))


def laid(data: Coded, post: Array, *, symbols: int) -> Chain:
    """Make a chain of what is known of the state of each symbol, of shape (symbols, states)."""
    share = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
    D, J = scales(share), pairs(data, symbols)
    P = diags_array(D[:, 0]) @ J @ diags_array(D[:, 0] / J.sum())
    return with_emissions(data, distributions((post * share[:, None]).T).T, P, D)

r"""Initialization of hidden Markov models by tensor decomposition, anchor symbols, or clustering of symbols.

Given the state in the middle, three consecutive symbols :math:`x_1, x_2, x_3` (as unit vectors) are independent. With
:math:`P_{ij} = E[x_i x_j^\top]`, of rank k,

.. math:: \tilde x_1 = P_{23} P_{13}^+ x_1, \qquad \tilde x_3 = P_{21} P_{31}^+ x_3

have the means of :math:`x_2` in each state, the columns :math:`o_s` of the emission matrix O, so that

.. math:: M_2 = E[\tilde x_1 \otimes \tilde x_3] = \sum_s w_s\, o_s o_s^\top, \qquad
          M_3 = E[\tilde x_1 \otimes x_2 \otimes \tilde x_3] = \sum_s w_s\, o_s^{\otimes 3}

are symmetric. After whitening, the tensor power method gives the emissions. Transitions A follow from
:math:`P_{23} = O\, \mathrm{diag}(w)\, A\, O^\top` by least squares, initial probabilities from the first symbols.
Negative estimates are set to 0. Symbols are divided by the square roots of their frequencies, and all computations are
between the k leading singular vectors of pairs, so that no array is larger than symbols times k or :math:`k^3`.

The other methods assign symbols to states by their profiles :math:`p_x`, the distributions of their neighbours:

* **anchors**: each state has a symbol that occurs in no other state. The profiles of these anchors are the vertices of
  the convex hull of all, found by successive projection; other profiles are mixtures of them,
  :math:`p_x \approx \sum_s P(s \mid x)\, p_{a_s}`;
* **clusters**: profiles are clustered by k-means; half of :math:`P(s \mid x)` is the cluster of x, half is uniform.

Then emissions are :math:`P(x \mid s) \propto P(s \mid x) P(x)`, and transitions follow from pairs by least squares.

References
----------
Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Tensor decompositions for learning latent variable models, section 3.3
and theorem 3.6. Anandkumar, Hsu, Kakade (2012), A method of moments for mixture models and hidden Markov models, 4.
Stratos, Collins, Hsu (2016), Unsupervised part-of-speech tagging with anchor hidden Markov models. Arora et al. (2013),
A practical algorithm for topic modeling with provable guarantees, for finding anchors.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array, diags_array, hstack

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError
from polyadic.core.linalg.truncated import leading_svd
from polyadic.core.linalg.whitening import symmetrized, third_moments, whitening
from polyadic.core.solvers.tensor_power import tensor_power
from polyadic.sequences.kernels.hidden import HiddenChain

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

MIN_SINGULAR_VALUE = 1e-9  # singular values of pairs of symbols below this share of the largest are rounding errors
FREQUENT = 1e-3  # minimum relative frequency of an anchor: profiles of rare symbols are noisy outliers
SUMS_TO_ONE = 10.0  # weight of the equation that mixture weights sum to 1
SPREAD = 0.5  # weight of the uniform distribution in the states of a symbol
RUNS = 10  # number of k-means runs, of which the best is used


class FewMomentsWarning(UserWarning):
    """Warning issued when states are estimated from noise, because of too few sequences or too many states."""


def spectral_chain(data: Coded, states: int, *, symbols: int, seed: int = 0) -> HiddenChain:
    """Estimate a hidden Markov model by the tensor power method."""
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
        about = f"{noise} of {states} states are estimated from noise; use more sequences or fewer states"
        warnings.warn(about, FewMomentsWarning, stacklevel=3)
    W, back = whitening(M2, states, magnitudes=True)
    tables = D * U1 @ (to_first.T @ W), D * U2 @ W, D * U3 @ (to_last.T @ W)
    first, second, third = (table[x[:, at]] for at, table in enumerate(tables))
    T = symmetrized(third_moments(first, second, third, weights))
    weight, v = tensor_power(T, states, seed=seed)
    scaled = U2 @ (back @ v * weight)
    emit = distributions((scaled / np.where(D > 0, D, np.inf)).T).T
    return with_emissions(data, emit, P23, D)


def with_emissions(data: Coded, emit: Array, P: Any, D: Array) -> HiddenChain:
    """Estimate the other probabilities by least squares; ``P`` are pairs, scaled by ``D`` on both sides."""
    inverse = np.linalg.pinv(D * emit)
    begins = np.bincount(data.symbols[data.edges[:-1][np.diff(data.edges) > 0]], minlength=len(emit))
    start, joint = inverse @ (D[:, 0] * begins), inverse @ (P @ inverse.T)
    return HiddenChain(distributions(start), distributions(joint), np.ascontiguousarray(emit))


def scales(share: Array) -> Array:
    """Return the inverse square roots of symbol frequencies, with 0 for frequency 0, of shape (symbols, 1)."""
    return np.where(share > 0, 1 / np.sqrt(np.where(share > 0, share, 1)), 0.0)[:, None]


def triples(data: Coded, symbols: int) -> tuple[Ints, Array]:
    """Return the distinct triples of adjacent symbols, and the relative frequency of each."""
    last = data.symbols[data.edges[1:] - 1]
    # sequences that all end with a symbol that occurs nowhere else are concatenated
    ended = (np.diff(data.edges) > 0).all() and (last == last[0]).all() and (data.symbols == last[0]).sum() == len(last)
    stream = data._replace(edges=data.edges[[0, -1]]) if ended else data
    runs = stream.runs(3)
    if not len(runs):
        about = "at least one sequence must have three or more symbols to estimate moments; all sequences are shorter"
        raise InputError(about)
    codes, counts = np.unique((runs[:, 0] * symbols + runs[:, 1]) * symbols + runs[:, 2], return_counts=True)
    pairs, third = np.divmod(codes, symbols)
    return np.column_stack([*np.divmod(pairs, symbols), third]), counts / counts.sum()


def distributions(X: Array) -> Array:
    """Clip negative values to 0 and normalize each row to sum to 1, with uniform rows in place of zero rows."""
    X = np.maximum(X, 0)
    sums = X.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, X / np.where(sums > 0, sums, 1), 1 / X.shape[-1])


def leading(P: Any, rank: int) -> tuple[Array, Array, Array]:
    """Return the leading singular vectors and values, or raise InputError if the rank of the matrix is too low."""
    U, s, V = leading_svd(P, rank, tol=1e-6)
    present = int((s > MIN_SINGULAR_VALUE * s[0]).sum())
    if present < rank:
        raise InputError(f"the matrix of symbol pairs has rank {present}, too low for {rank} states; use fewer states")
    return U, s, V


def anchor_chain(data: Coded, states: int, *, symbols: int) -> HiddenChain:
    """Estimate a hidden Markov model by the anchor method, where each symbol is a mixture of anchor symbols."""
    profile, share = profiles(data, states, symbols=symbols)
    rest = np.where(share[:, None] >= FREQUENT, profile, 0.0)
    anchors: list[int] = []
    for _ in range(states):
        sizes = np.linalg.norm(rest, axis=1)
        at = int(sizes.argmax())
        if sizes[at] < FREQUENT * np.linalg.norm(profile[at]) or not sizes[at]:
            about = f"only {len(anchors)} symbols have distinct contexts, too few for {states} states"
            raise InputError(f"{about}; use fewer states")
        anchors.append(at)
        direction = rest[at] / sizes[at]
        rest = rest - np.outer(rest @ direction, direction)
    corners = np.vstack([profile[anchors].T, np.full(states, SUMS_TO_ONE)])
    mixtures = np.array([nnls(corners, np.append(row, SUMS_TO_ONE))[0] for row in profile])
    return laid(data, distributions(mixtures), symbols=symbols)


def cluster_chain(data: Coded, states: int, *, symbols: int, seed: int = 0) -> HiddenChain:
    """Estimate a hidden Markov model from a k-means clustering of the symbols."""
    from sklearn.cluster import KMeans

    profile, share = profiles(data, states, symbols=symbols, roots=True)
    means = KMeans(states, n_init=RUNS, random_state=seed).fit(profile, sample_weight=share)
    post = np.full((symbols, states), SPREAD / states)
    post[np.arange(symbols), means.labels_] += 1 - SPREAD
    return laid(data, post, symbols=symbols)


def profiles(data: Coded, rank: int, *, symbols: int, roots: bool = False) -> tuple[Array, Array]:
    """Return the context distributions of symbols (or their square roots), projected, and the symbol frequencies."""
    J = pairs(data, symbols)
    company = hstack([J.T, J], format="csr")
    sums = np.maximum(company.sum(axis=1), 1)
    P = diags_array(1 / sums) @ company
    P = P.sqrt() if roots else P
    share = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
    V = leading(csr_array(diags_array(np.sqrt(share)) @ P), min(rank, symbols))[2]
    return np.asarray(P @ V), share


def pairs(data: Coded, symbols: int) -> csr_array:
    """Count each pair of adjacent symbols."""
    runs = data.runs(2)
    if not len(runs):
        about = "at least one sequence must have two or more symbols to count contexts; all sequences are shorter"
        raise InputError(about)
    return csr_array((np.ones(len(runs)), runs.T), shape=(symbols, symbols))


def laid(data: Coded, post: Array, *, symbols: int) -> HiddenChain:
    """Build a hidden Markov model from the state probabilities of each symbol, of shape (symbols, states)."""
    share = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
    D, J = scales(share), pairs(data, symbols)
    P = diags_array(D[:, 0]) @ J @ diags_array(D[:, 0] / J.sum())
    return with_emissions(data, distributions((post * share[:, None]).T).T, P, D)

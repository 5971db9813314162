r"""Where Baum-Welch may start beside moments: with symbols laid to states by the company they keep.

What stands before and after a symbol x is its profile :math:`p_x`, to be had from pairs of neighbours. Two ways to say
how much of x is of state s, :math:`P(s \mid x)`:

* **anchors**: in each state there is a symbol of no other state. Profiles of such anchors are the corners of the convex
  hull of all, found one after another as the profile farthest from the span of those before; another profile is a
  mixture of them, :math:`p_x \approx \sum_s P(s \mid x)\, p_{a_s}`;
* **clusters**: profiles are divided by k-means; half of each symbol is of its cluster's state, half of any.

Then emissions are :math:`P(x \mid s) \propto P(s \mid x) P(x)`; moves follow from pairs, by least squares.

References
----------
Stratos, Collins, Hsu (2016), Unsupervised part-of-speech tagging with anchor hidden Markov models. Arora et al. (2013),
A practical algorithm for topic modeling with provable guarantees, for finding anchors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array, diags_array, hstack

from polyadic.core.errors import InputError
from polyadic.sequences.hidden_spectral import distributions, leading, scales, with_emissions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sequences.kernels.hidden import Chain
    from polyadic.sequences.symbols import Coded

    Array = NDArray[np.float64]

FREQUENT = 1e-3
"""Share of all symbols that an anchor has at least: profiles of rare symbols are noise, and lie farthest out."""
SUMS_TO_ONE = 10.0
"""Weight of the equation that shares of a mixture have the sum 1, beside those of unit profiles."""
SPREAD = 0.5
"""Share of a symbol that is of any state, whatever its cluster."""
RUNS = 10
"""Of k-means, of which the best is taken."""


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

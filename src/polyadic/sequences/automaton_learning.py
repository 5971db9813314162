r"""Automata from Hankel matrices: by singular vectors, or by prefixes that all others are mixtures of.

With scaled rows and columns, :math:`\tilde H = D_u H D_v \approx U S V^\top` of rank r,

.. math:: \alpha_0 = b^\top D_v V, \qquad A_a = S^{-1} U^\top D_u H_a D_v V, \qquad
          \alpha_\infty = S^{-1} U^\top D_u e

where b and e say how likely strings begin with a suffix, and end with a prefix. It is exact for the Hankel matrix of an
automaton of rank r, and of noisy ones negative probabilities are common. The automaton of a smaller rank has the
leading states of this one.

The other way keeps to probabilities. What follows a prefix, :math:`p(v \mid u)`, is a mixture of what follows r extreme
prefixes. These are found one after another as those farthest from what the ones before span; then each of them with a
symbol more, and the start, is written as a mixture of them by non-negative least squares. Weights are not negative and
add to 1, so it is a probabilistic automaton: no probability is negative, and it can be improved by likelihood.

References
----------
Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata, section 4.
Glaude, Pietquin (2016), PAC learning of probabilistic automaton based on the method of moments, algorithm 2.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

from polyadic.core import resources
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.linalg import truncated_svd
from polyadic.core.solvers.run import Sweep
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.kernels.automata import listed_transitions, transition_counts
from polyadic.sequences.substrings import AT_START, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.sequences.hankel import Hankel
    from polyadic.sequences.substrings import Substrings

    Array = NDArray[np.float64]
    Weights = tuple[Array, Array, Array]

MIN_SINGULAR_VALUE = 1e-10
"""Singular values below this share of the largest are rounding errors."""
FIRM = 10.0
"""How much more than any coordinate it counts that weights of a mixture add to the probability of its symbol."""
LONGER = 1.1
"""How much farther each step goes than the last, until one leads astray."""
RARE = 1e-7
"""Transitions less likely than this are left out from then on."""


class RankWarning(UserWarning):
    """A Hankel matrix has a smaller rank than was asked for."""


def leading_values(table: Hankel, rank: int, *, scaling: float = 0.5) -> tuple[Array, Array, Array]:
    """Give singular values and vectors of the scaled matrix: ``s``, and ``U`` and ``V`` with the scales on them.

    Parameters
    ----------
    table : Hankel
    rank : int
        At most; a smaller one is given, with a warning, where the matrix has no more.
    scaling : float
        Rows and columns are divided by their sums to the power of it: 0.5 gives all cells of chance level the same
        noise, 0 is the matrix as it is.

    Raises
    ------
    InputError
        If a parameter is out of range, or the matrix is zero.
    """
    check_int("rank", rank, low=1)
    check_number("scaling", scaling)
    left, right = (np.where(sums > 0, sums, np.inf) ** -scaling for sums in (table.rows, table.columns))
    H = (table.H.multiply(left[:, None])).multiply(right).tocsr()
    if not H.nnz:
        raise InputError("no prefix is followed by a suffix of the basis; take longer ones, or more")
    if rank < min(H.shape):
        U, s, V = truncated_svd(H, rank, tol=1e-6, seed=0)
    else:
        U, s, Vt = np.linalg.svd(H.toarray(), full_matrices=False)
        V = Vt.T
    present = min(rank, int((s > MIN_SINGULAR_VALUE * s[0]).sum()))
    if present < rank:
        warnings.warn(
            f"the Hankel matrix has rank {present}, so the automaton has, not {rank}", RankWarning, stacklevel=3
        )
    return s[:present], left[:, None] * U[:, :present], right[:, None] * V[:, :present]


def svd_automaton(table: Hankel, rank: int, *, scaling: float = 0.5) -> WeightedAutomaton:
    """Learn the automaton of the probabilities of strings by singular vectors.

    Parameters
    ----------
    table, rank, scaling
        See :func:`leading_values`.
    """
    s, U, V = leading_values(table, rank, scaling=scaling)
    G = (U / s).T
    A = np.stack([G @ (table.block(a) @ V) for a in range(len(table.shifted_begins))])
    return WeightedAutomaton(table.begins @ V, A, G @ table.ends)


def hull_automaton(table: Hankel, rank: int, *, scaling: float = 0.5) -> WeightedAutomaton:
    """Learn a probabilistic automaton whose states are extreme prefixes.

    Parameters
    ----------
    table, rank, scaling
        See :func:`leading_values`.
    """
    _, _, V = leading_values(table, rank, scaling=scaling)
    k = len(table.shifted_begins)
    cells = float(len(table.prefixes)) * k * V.shape[1]
    resources.check_memory(
        8 * cells, f"prefixes with each of {k:,} symbols", "lower basis or rank, or rename rare symbols"
    )
    rows = np.where(table.rows > 0, table.rows, np.inf)[:, None]
    after = np.stack([table.block(a) @ V / rows for a in range(k)], axis=1)  # (P, k, r)
    points = np.vstack([table.begins @ V, table.H @ V / rows])  # the start comes first
    moves = np.concatenate([[table.shifted_begins @ V], after])
    masses = np.vstack([table.first[:k], table.shifted_rows / rows])
    chosen = _extremes(points, V.shape[1])
    mixture = _Mixtures(points[chosen])
    A = np.array([[mixture(moves[u, a], masses[u, a]) for u in chosen] for a in range(k)])
    stop = np.maximum(1 - A.sum(axis=(0, 2)), 0)
    sums = A.sum(axis=(0, 2)) + stop
    return WeightedAutomaton(mixture(points[0], 1.0), A / sums[:, None], stop / sums)


def _extremes(points: Array, rank: int) -> NDArray[np.int64]:
    """Give the numbers of the points each of which is farthest from the span of those before (successive projection).

    A coordinate common to all keeps the span from going through zero.
    """
    left = np.column_stack([points, np.full(len(points), np.abs(points).max())])
    chosen: list[int] = []
    for _ in range(rank):
        lengths = (left**2).sum(axis=1)
        best = int(lengths.argmax())
        if lengths[best] <= 0:
            break
        chosen.append(best)
        direction = left[best] / np.sqrt(lengths[best])
        left = left - np.outer(left @ direction, direction)
        left[best] = 0
    return np.array(chosen)


class _Mixtures:
    """Write points as mixtures of others, with weights that are not negative and add to what they should."""

    def __init__(self, points: Array) -> None:
        self.firm = FIRM * float(np.abs(points).max())
        self.design = np.vstack([points.T, np.full(len(points), self.firm)])

    def __call__(self, point: Array, mass: Any) -> Array:
        if mass <= 0:
            return np.zeros(self.design.shape[1])
        weights, _ = nnls(self.design, np.append(point, self.firm * mass))
        total = weights.sum()
        return np.asarray(weights * (mass / total)) if total > 0 else np.full(len(weights), mass / len(weights))


def likelier(automaton: WeightedAutomaton, prefixes: Substrings) -> Iterator[Sweep]:
    """Go through strings again and again; one sweep is one pass.

    Parameters
    ----------
    automaton : WeightedAutomaton
        Of weights that are not negative.
    prefixes : Substrings
        All prefixes of the strings, counted with ``anywhere=False``.

    Yields
    ------
    Sweep
        Factors are ``alpha0``, ``A`` and ``alpha_inf``; the objective is the mean negative log-likelihood of a string,
        known before the pass that it leads to. It falls, but for what leaving rare transitions out costs.

    Raises
    ------
    InputError
        If a weight is negative, or there are no strings.
    """
    if min(part.min(initial=0) for part in (automaton.alpha0, automaton.A, automaton.alpha_inf)) < 0:
        raise InputError("likelihood is improved of automata with no negative weight; learn it with method='hull'")
    if not prefixes.strings:
        raise InputError("likelihood needs at least one string")
    resources.check_memory(
        16.0 * len(prefixes) * automaton.rank, "states before each prefix", "lower the rank, or take fewer strings"
    )
    passing, ending = prefixes.counts[:, AT_START], prefixes.counts[:, WHOLE]
    now: Weights = (automaton.alpha0, automaton.A, automaton.alpha_inf)
    safe, best, stretch = now, np.inf, 1.0
    while True:
        lists = listed_transitions(now[1], above=RARE)
        fit, *counts = transition_counts(
            prefixes.parent, prefixes.last, passing, ending=ending, start=now[0], stop=now[2], transitions=lists
        )
        loss = -fit / prefixes.strings
        if loss > best and stretch > 1:
            now, stretch = safe, 1.0  # the long step led astray; the short one does not
            continue
        yield Sweep([*now], loss)
        safe = _shares(now, *counts)
        now, best = _stretched(now, safe, stretch), loss
        stretch *= LONGER


def _shares(now: Weights, taken: Array, stopped: Array, began: Array) -> Weights:
    """Give the automaton in which all is as likely as it was counted."""
    start, A, stop = now
    counts = np.zeros_like(A)
    counts[np.nonzero(A > RARE)] = taken
    sums = counts.sum(axis=(0, 2)) + stopped
    used = sums > 0
    sums = np.where(used, sums, 1)
    return (
        began / began.sum() if began.sum() > 0 else start,
        np.where(used[:, None], counts / sums[:, None], A),  # a state that no string comes to stays as it was
        np.where(used, stopped / sums, stop),
    )


def _stretched(before: Weights, after: Weights, stretch: float) -> Weights:
    """Go farther the same way, by ratios."""
    if stretch == 1:
        return after
    with np.errstate(divide="ignore", invalid="ignore"):
        start, A, stop = (np.where(b > 0, a * (b / a) ** stretch, 0.0) for a, b in zip(before, after, strict=True))
    sums = A.sum(axis=(0, 2)) + stop
    return start / start.sum(), A / sums[:, None], stop / sums


def blurred(automaton: WeightedAutomaton, share: float, *, seed: int | None = 0) -> WeightedAutomaton:
    """Give each transition of a probabilistic automaton some weight: what is exactly zero would stay so.

    Parameters
    ----------
    automaton : WeightedAutomaton
    share : float
        Of the weight of each state that is spread over all, at random between 0 and twice the mean.
    seed : int, optional

    Raises
    ------
    InputError
        If the share is not from 0 to 1.
    """
    if check_number("share", share) > 1:
        raise InputError(f"share must be at most 1; got {share}")
    r, k = automaton.rank, automaton.size
    noise = np.random.default_rng(seed).random((k, r, r))
    stop = np.full(r, 1 / (k + 1))
    noise *= (1 - stop[:, None]) / noise.sum(axis=(0, 2))[:, None]
    return WeightedAutomaton(
        (1 - share) * automaton.alpha0 + share / r,
        (1 - share) * automaton.A + share * noise,
        (1 - share) * automaton.alpha_inf + share * stop,
    )

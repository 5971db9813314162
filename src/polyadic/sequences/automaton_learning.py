r"""Learning of weighted automata from Hankel matrices and by expectation maximization (EM).

With scaled rows and columns, :math:`\tilde H = D_u H D_v \approx U S V^\top` of rank r,

.. math:: \alpha_0 = b^\top D_v V, \qquad A_a = S^{-1} U^\top D_u H_a D_v V, \qquad
          \alpha_\infty = S^{-1} U^\top D_u e

where b and e are the probabilities that strings begin with a suffix, and end with a prefix. This is exact for the
Hankel matrix of an automaton of rank r; noisy matrices often give negative probabilities. The automaton of a smaller
rank consists of the leading states.

The second method gives proper probabilities. The distribution of continuations of a prefix, :math:`p(v \mid u)`, is a
mixture of those of r extreme prefixes. These are found by successive projection, each the farthest from the span of the
previous ones. Each of them extended by a symbol, and the start, is then written as a mixture of them by non-negative
least squares. Weights are non-negative and sum to 1, so the result is a probabilistic automaton, which EM can improve:

.. math:: A_a[i, j] \leftarrow \frac{n_{iaj}}{\sum_{bk} n_{ibk} + n_i}, \qquad
          n_{iaj} = \sum_x \sum_{x = u a v} \frac{(\alpha_0 A_u)_i\, A_a[i, j]\, (A_v \alpha_\infty)_j}{f(x)}

Updates are extrapolated by an increasing factor, as ratios of weights, until one decreases the likelihood. Strings are
processed as a tree of prefixes, and transitions as sparse lists, which become short as most weights go to zero.

References
----------
Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata, section 4.
Glaude, Pietquin (2016), PAC learning of probabilistic automaton based on the method of moments, algorithm 2.
Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm, section 2.
Salakhutdinov, Roweis (2003), Adaptive overrelaxed bound optimization methods, section 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

from polyadic.core import resources
from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.linalg.truncated import leading_svd
from polyadic.core.solvers.run import Sweep
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.kernels.automata import listed_transitions, transition_counts
from polyadic.sequences.substrings import AT_START, WHOLE, Substrings

if TYPE_CHECKING:
    from polyadic.sequences.hankel import Hankel

    Weights = tuple[Array, Array, Array]
    Expected = tuple[float, Array, Array, Array]

MIN_SINGULAR_VALUE = 1e-10  # singular values below this share of the largest are rounding errors
FIRM = 10.0  # relative weight of the equation that mixture weights sum to the probability of the symbol
LONGER = 1.1  # growth of the extrapolation factor, until an update decreases the likelihood
RARE = 1e-7  # transitions below this probability are removed


class RankWarning(UserWarning):
    """Warning issued when a Hankel matrix has a smaller rank than requested."""


def leading_values(table: Hankel, rank: int, *, scaling: float = 0.5) -> tuple[Array, Array, Array]:
    """Return the leading singular values and rescaled singular vectors of a scaled Hankel matrix."""
    check_int("rank", rank, low=1)
    check_number("scaling", scaling)
    # an exponent of 0.5 gives independent cells equal noise
    left, right = (np.where(sums > 0, sums, np.inf) ** -scaling for sums in (table.rows, table.columns))
    H = (table.H.multiply(left[:, None])).multiply(right).tocsr()
    if not H.nnz:
        about = "no selected prefix is followed by a selected suffix in the sequences; increase basis or max_length"
        raise InputError(f"the Hankel matrix has no positive entries, because {about}", "max_length")
    U, s, V = leading_svd(H, rank, tol=1e-6)
    present = min(rank, int((s > MIN_SINGULAR_VALUE * s[0]).sum()))
    if present < rank:
        about = f"the Hankel matrix, and therefore the automaton, has rank {present} instead of {rank}"
        warnings.warn(about, RankWarning, stacklevel=3)
    return s[:present], left[:, None] * U[:, :present], right[:, None] * V[:, :present]


def svd_automaton(table: Hankel, rank: int, *, scaling: float = 0.5) -> WeightedAutomaton:
    """Learn a weighted automaton from a Hankel matrix by singular value decomposition."""
    s, U, V = leading_values(table, rank, scaling=scaling)
    G = (U / s).T
    A = np.stack([G @ (table.block(a) @ V) for a in range(len(table.shifted_begins))])
    return WeightedAutomaton(table.begins @ V, A, G @ table.ends)


def hull_automaton(table: Hankel, rank: int, *, scaling: float = 0.5) -> WeightedAutomaton:
    """Learn a probabilistic automaton from a Hankel matrix, with prefixes at the corners of a convex hull as states."""
    _, _, V = leading_values(table, rank, scaling=scaling)
    k = len(table.shifted_begins)
    size = 8.0 * len(table.prefixes) * k * V.shape[1]
    resources.check_memory(size, f"prefixes with each of {k:,} symbols", "lower basis or rank, or rename rare symbols")
    rows = np.where(table.rows > 0, table.rows, np.inf)[:, None]
    after = np.stack([table.block(a) @ V / rows for a in range(k)], axis=1)  # (P, k, r)
    points = np.vstack([table.begins @ V, table.H @ V / rows])  # the start comes first
    moves = np.concatenate([[table.shifted_begins @ V], after])
    masses = np.vstack([table.first[:k], table.shifted_rows / rows])
    chosen = _extremes(points, V.shape[1])
    firm = FIRM * float(np.abs(points[chosen]).max())
    design = np.vstack([points[chosen].T, np.full(len(chosen), firm)])

    def mixture(point: Array, mass: Any) -> Array:
        """Return non-negative weights of the chosen points, with the sum ``mass``, that express a point."""
        if mass <= 0:
            return np.zeros(len(chosen))
        weights, _ = nnls(design, np.append(point, firm * mass))
        total = weights.sum()
        return np.asarray(weights * (mass / total)) if total > 0 else np.full(len(weights), mass / len(weights))

    A = np.array([[mixture(moves[u, a], masses[u, a]) for u in chosen] for a in range(k)])
    stop = np.maximum(1 - A.sum(axis=(0, 2)), 0)
    sums = A.sum(axis=(0, 2)) + stop
    return WeightedAutomaton(mixture(points[0], 1.0), A / sums[:, None], stop / sums)


def _extremes(points: Array, rank: int) -> Ints:
    """Return the indices of extreme points, selected by successive projection."""
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


def likelier(automaton: WeightedAutomaton, prefixes: Substrings) -> Iterator[Sweep]:
    """Run EM on a probabilistic automaton; the objective is the mean negative log-likelihood before each pass."""
    if not prefixes.strings:
        raise InputError("EM requires at least one string")
    size = 16.0 * len(prefixes) * automaton.rank
    resources.check_memory(size, "states before each prefix", "lower the rank, or take fewer strings")
    passing, ending = prefixes.counts[:, AT_START], prefixes.counts[:, WHOLE]

    def expected(start: Array, A: Array, stop: Array) -> Expected:
        model: Any = {"start": start, "stop": stop, "transitions": listed_transitions(A, above=RARE)}
        return transition_counts(prefixes.parent, prefixes.last, passing, ending=ending, **model)

    return maximized(automaton, expected, prefixes.strings)


def maximized(automaton: WeightedAutomaton, expected: Callable[..., Expected], strings: int) -> Iterator[Sweep]:
    """Run EM with a function that returns the log-likelihood and expected counts; of transitions, above ``RARE``."""
    if min(part.min(initial=0) for part in (automaton.alpha0, automaton.A, automaton.alpha_inf)) < 0:
        raise InputError("EM requires an automaton without negative weights; use method='hull'", "method")
    now: Weights = (automaton.alpha0, automaton.A, automaton.alpha_inf)
    safe, best, stretch = now, np.inf, 1.0
    while True:
        fit, *counts = expected(*now)
        loss = -fit / strings
        if loss > best and stretch > 1:
            now, stretch = safe, 1.0  # undo the extrapolation
            continue
        yield Sweep([*now], loss)
        safe = _shares(now, *counts)
        now, best = _stretched(now, safe, stretch), loss
        stretch *= LONGER


def _shares(now: Weights, taken: Array, stopped: Array, began: Array) -> Weights:
    """Normalize expected counts to obtain the new weights of an automaton (M-step of EM)."""
    start, A, stop = now
    counts = np.zeros_like(A)
    counts[np.nonzero(A > RARE)] = taken
    sums = counts.sum(axis=(0, 2)) + stopped
    used = sums > 0
    sums = np.where(used, sums, 1)
    start = began / began.sum() if began.sum() > 0 else start
    A = np.where(used[:, None], counts / sums[:, None], A)  # a state without strings is unchanged
    return start, A, np.where(used, stopped / sums, stop)


def _stretched(before: Weights, after: Weights, stretch: float) -> Weights:
    """Extrapolate an EM update by raising the ratios of new to old weights to the power ``stretch``."""
    if stretch == 1:
        return after
    with np.errstate(divide="ignore", invalid="ignore"):
        start, A, stop = (np.where(b > 0, a * (b / a) ** stretch, 0.0) for a, b in zip(before, after, strict=True))
    sums = A.sum(axis=(0, 2)) + stop
    return start / start.sum(), A / sums[:, None], stop / sums


def blurred(automaton: WeightedAutomaton, share: float, *, seed: int | None = 0) -> WeightedAutomaton:
    """Mix random transitions with total weight ``share`` into an automaton, because EM never changes zeros."""
    if check_number("share", share) > 1:
        raise InputError(f"share must be at most 1; got {share}", "share")
    r, k = automaton.rank, automaton.size
    noise = np.random.default_rng(seed).random((k, r, r))
    stop = np.full(r, 1 / (k + 1))
    noise *= (1 - stop[:, None]) / noise.sum(axis=(0, 2))[:, None]
    return mixed(automaton, share * noise, share * stop, share)


def mixed(automaton: WeightedAutomaton, A: Array, stop: Any, share: float) -> WeightedAutomaton:
    """Mix transitions and final weights whose sums are ``share``, and a uniform start, into an automaton."""
    start, moves, end = ((1 - share) * part for part in (automaton.alpha0, automaton.A, automaton.alpha_inf))
    return WeightedAutomaton(start + share / automaton.rank, moves + A, end + stop)

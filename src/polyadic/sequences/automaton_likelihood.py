r"""Probabilistic automata made more likely: transitions in proportion to how often strings are expected to take them.

.. math:: A_a[i, j] \leftarrow \frac{n_{iaj}}{\sum_{bk} n_{ibk} + n_i}, \qquad
          n_{iaj} = \sum_x \sum_{x = u a v} \frac{(\alpha_0 A_u)_i\, A_a[i, j]\, (A_v \alpha_\infty)_j}{f(x)}

Each pass makes the strings more likely. Steps are stretched by ever more, as ratios of weights, until one does not.
Strings are gone through as a tree of prefixes, so that what many begin with is
computed once, and transitions as lists, which get short as most weights go to zero.

References
----------
Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm, section 2.
Salakhutdinov, Roweis (2003), Adaptive overrelaxed bound optimization methods, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError, check_number
from polyadic.core.solvers.run import Sweep
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.kernels.automata import listed_transitions, transition_counts
from polyadic.sequences.substrings import AT_START, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.sequences.substrings import Substrings

    Array = NDArray[np.float64]
    Parts = tuple[Array, Array, Array]

LONGER = 1.1
"""How much farther each step goes than the last, until one leads astray."""
RARE = 1e-7
"""Transitions less likely than this are left out from then on."""


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
    now: Parts = (automaton.alpha0, automaton.A, automaton.alpha_inf)
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


def _shares(now: Parts, taken: Array, stopped: Array, began: Array) -> Parts:
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


def _stretched(before: Parts, after: Parts, stretch: float) -> Parts:
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

r"""Operations on weighted automata: conversion between string statistics, minimization and equivalence.

With :math:`S = (I - \sum_a A_a)^{-1}`, the same matrices give

========  =====================  ==========================
function  start                  stop
========  =====================  ==========================
string    :math:`\alpha_0`       :math:`\alpha_\infty`
prefix    :math:`\alpha_0`       :math:`S \alpha_\infty`
factor    :math:`\alpha_0 S`     :math:`S \alpha_\infty`
========  =====================  ==========================

the probability of a string, of strings with a prefix, and the expected number of occurrences of a substring.

References
----------
Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata, lemma 1. Schuetzenberger (1961), On the
definition of a family of automata, for minimization.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_choice
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.hankel import Statistic

TOL = 1e-8  # lengths below this share of the largest are rounding errors


def converted(automaton: WeightedAutomaton, *, before: Statistic, after: Statistic) -> WeightedAutomaton:
    """Convert an automaton between functions of whole strings, of prefixes and of substrings (factors)."""
    kinds = get_args(Statistic)  # each sums over more strings than the previous one
    check_choice("before", before, kinds)
    check_choice("after", after, kinds)
    if kinds.index(before) < kinds.index(after):
        automaton.check_sums()
    start, stop = automaton.alpha0, automaton.alpha_inf
    rest = np.eye(automaton.rank) - automaton.A.sum(axis=0)
    if (before == "factor") != (after == "factor"):
        start = start @ rest if before == "factor" else automaton.anywhere
    if (before == "string") != (after == "string"):
        stop = rest @ stop if after == "string" else automaton.total
    return WeightedAutomaton(start, automaton.A, stop)


def minimised(automaton: WeightedAutomaton, *, tol: float = TOL) -> WeightedAutomaton:
    """Return an equivalent automaton with the fewest states; lengths below ``tol`` times the largest count as zero."""
    even = _balanced(automaton)
    reached = _restricted(even, _span(even.alpha0, even.A, tol))
    turned = _reversed(reached)
    return _reversed(_restricted(turned, _span(turned.alpha0, turned.A, tol)))


def _reversed(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that computes the same function on reversed strings."""
    return WeightedAutomaton(automaton.alpha_inf, automaton.A.transpose(0, 2, 1).copy(), automaton.alpha0)


def _balanced(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """Rescale the states to balance incoming and outgoing weights, making thresholds independent of scale."""
    M = np.abs(automaton.A).sum(axis=0)
    radius = float(np.abs(np.linalg.eigvals(M)).max(initial=0.0))
    far = np.linalg.inv(np.eye(len(M)) - M / (2 * radius if radius > 0 else 1))
    before, after = np.abs(automaton.alpha0) @ far, far @ np.abs(automaton.alpha_inf)
    used = (before > 0) & (after > 0)
    unit = np.sqrt(np.where(used, after, 1) / np.where(used, before, 1))
    return WeightedAutomaton(automaton.alpha0 * unit, automaton.A * (unit / unit[:, None]), automaton.alpha_inf / unit)


def _restricted(automaton: WeightedAutomaton, Q: Array) -> WeightedAutomaton:
    """Restrict an automaton to an invariant subspace with orthonormal basis ``Q`` that contains the initial weights."""
    return WeightedAutomaton(automaton.alpha0 @ Q, Q.T @ automaton.A @ Q, Q.T @ automaton.alpha_inf)


def _span(start: Array, A: Array, tol: float) -> Array:
    """Return an orthonormal basis of the state vectors reachable from ``start``, found by breadth-first search."""
    length = np.linalg.norm(start)
    Q = (start / length)[:, None] if length > 0 else np.zeros((len(start), 0))
    scale = max(float(np.abs(np.linalg.norm(A, ord=2, axis=(1, 2))).max(initial=0)), np.finfo(float).tiny)
    done = 0
    while done < Q.shape[1] < len(start):
        for a in A:
            new = Q[:, done] @ a / scale
            for _ in range(2):  # twice, against rounding errors
                new = new - Q @ (Q.T @ new)
            size = np.linalg.norm(new)
            if size > tol and Q.shape[1] < len(start):
                Q = np.column_stack([Q, new / size])
        done += 1
    return Q


def difference(first: WeightedAutomaton, second: WeightedAutomaton) -> WeightedAutomaton:
    """Return the automaton that computes the difference between the functions of two automata."""
    if first.size != second.size:
        raise InputError(f"the automata must have the same number of symbols; got {first.size} and {second.size}")
    r, s = first.rank, second.rank
    A = np.zeros((first.size, r + s, r + s))
    A[:, :r, :r], A[:, r:, r:] = first.A, second.A
    return WeightedAutomaton(np.append(first.alpha0, -second.alpha0), A, np.append(first.alpha_inf, second.alpha_inf))


def equivalent(first: WeightedAutomaton, second: WeightedAutomaton, *, tol: float = 1e-7) -> bool:
    """Return whether two automata define the same function of strings."""
    if first.size != second.size:
        return False
    both = _balanced(difference(first, second))
    Q = _span(both.alpha0, both.A, tol)
    size = float(np.linalg.norm(both.alpha_inf))
    return bool(np.linalg.norm(Q.T @ both.alpha_inf) <= tol * size)

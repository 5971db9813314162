"""Slow, plainly right twins of fast code."""

import functools
import itertools
from collections import Counter

import numpy as np
from scipy.sparse import csr_array

from polyadic.sequences.hankel import Hankel


def convolve(f, w):
    """Circular convolution of rows."""
    return np.fft.irfft(np.fft.rfft(f) * np.fft.rfft(w), n=f.shape[-1])


def outlier_positions(vectors, cluster, outliers, *, order, unit):
    """Twin of ``polyadic.metrics.outliers``: by the definition, one subset at a time."""
    cases = outlier_compactness(vectors, cluster, outliers, order=order, unit=unit)
    # Equal sums may differ in their last digits. The outlier comes first: a stable sort counts a tie against it.
    return [sorted(range(len(case)), key=lambda row, c=case: round(c[row], 9)).index(0) for case in cases]


def outlier_margin(vectors, cluster, outliers, *, order, unit):
    """How near, relatively, an outlier's compactness comes to that of a cluster word."""
    cases = outlier_compactness(vectors, cluster, outliers, order=order, unit=unit)
    return min((abs(c - case[0]) / max(map(abs, case)) for case in cases for c in case[1:] if any(case)), default=1)


def outlier_compactness(vectors, cluster, outliers, *, order, unit):
    """For each outlier, how alike the others are without the outlier, without the first cluster word, and so on."""

    def vector(item):
        return np.mean([vectors[part] for part in item.split("_") if part in vectors], axis=0).astype(float)

    def similarity(rows):
        if order == 2:
            lengths = [np.linalg.norm(row) for row in rows]
            return rows[0] @ rows[1] / (lengths[0] * lengths[1]) if all(lengths) else 0.0
        centroid = np.mean(rows, axis=0)
        distance = np.mean([np.linalg.norm(row - centroid) for row in rows])
        return 1 / distance if distance > 0 else 1e5

    def known(items):
        rows = [vector(item) for item in items if any(part in vectors for part in item.split("_"))]
        return [row / (np.linalg.norm(row) or 1) for row in rows] if unit else rows

    cluster, outliers = known(cluster), known(outliers)
    if len(cluster) < order:
        return []
    cases = []
    for outlier in outliers:
        rows = [outlier, *cluster]
        rests = [rows[:left_out] + rows[left_out + 1 :] for left_out in range(len(rows))]
        cases.append([sum(similarity(subset) for subset in itertools.combinations(rest, order)) for rest in rests])
    return cases


def counts(sentences, *, order, window, width, repeats):
    """Twin of ``polyadic.text.counts.count``: every tuple of positions of a sentence is looked at; None is a hole."""
    seen = Counter()
    for sentence in sentences:
        if window == "chunk":
            pieces = [sentence[start : start + 2 * width + 1] for start in range(0, len(sentence), 2 * width + 1)]
            for piece in pieces:
                seen.update(itertools.combinations(sorted(set(piece) - {None}, reverse=True), order))
            continue
        for places in itertools.combinations(range(len(sentence)), order):
            first, last = places[0], places[-1]
            if any(sentence[p] is None for p in places):
                continue
            fits = {
                "span": last - first <= width,
                "centred": any(p - first <= width and last - p <= width for p in places),
            }
            words = sorted((sentence[p] for p in places), reverse=True)
            if fits[window] and (repeats or len(set(words)) == order):
                seen[tuple(words)] += 1
    return seen


def chunk_sets(sentences, length, order):
    """Twin of the kernel: the distinct words of each chunk in the order they come, if there are ``order`` of them."""
    chunks = [s[start : start + length] for s in sentences for start in range(0, len(s), length)]
    return [list(dict.fromkeys(chunk)) for chunk in chunks if len(set(chunk)) >= order]


def dense(entries):
    """Write values, and weights (0 where nothing is listed), of all permutations into whole arrays."""
    values, weights = np.zeros(entries.shape), np.zeros(entries.shape)
    listed_weights = np.ones(len(entries)) if entries.weights is None else entries.weights
    for row, value, weight in zip(entries.indices.tolist(), entries.values, listed_weights, strict=True):
        for cell in set(itertools.permutations(row)) if entries.symmetric else [tuple(row)]:
            values[cell] = value
            weights[cell] = weight
    return values, weights


def cp(factors):
    """Every cell of the CP form, one rank-one array after another."""
    total = 0
    for r in range(factors[0].shape[1]):
        rank_one = np.ones(())
        for u in factors:
            rank_one = np.multiply.outer(rank_one, u[:, r].astype(float))
        total = total + rank_one
    return total


def squared_loss(entries, factors, *, zero_weight):
    """Twin of ``Objective`` for one term: every cell of the array, listed or not, is looked at."""
    values, weights = dense(entries)
    listed = cells(entries)
    return 0.5 * float(np.sum(np.where(listed, weights, zero_weight) * (values - cp(factors)) ** 2))


def loss_of_all_cells(entries, factors, loss, *, zero_weight):
    """Twin of ``Objective`` for one term of any loss: every cell of the array, listed or not, is looked at."""
    values, weights = dense(entries)
    return float(np.sum(np.where(cells(entries), weights, zero_weight) * loss.value(values, cp(factors))))


def zero_weights(shape, slots, zero_weight, importance):
    """What a zero counts in every cell of an array."""
    weights = np.full(shape, float(zero_weight))
    for d, slot in enumerate(slots):
        q = importance.get(slot, np.ones(shape[d]))
        weights = weights * q.reshape([-1 if c == d else 1 for c in range(len(shape))])
    return weights


def cells(entries):
    """Which cells of the array are listed."""
    listed = np.zeros(entries.shape, bool)
    for row in entries.indices.tolist():
        for cell in itertools.permutations(row) if entries.symmetric else [tuple(row)]:
            listed[cell] = True
    return listed


def numerical_gradient(f, u, step=1e-6):
    """Central differences of a function of one array."""
    gradient = np.zeros_like(u)
    for at in np.ndindex(u.shape):
        shifted = u.copy()
        shifted[at] = u[at] + step
        above = f(shifted)
        shifted[at] = u[at] - step
        gradient[at] = (above - f(shifted)) / (2 * step)
    return gradient


def poisson_phi(entries, factors, mode, floor):
    """Twin of ``cp_poisson``: every cell of the array is looked at."""
    values, predictions = dense(entries)[0], cp(factors)
    phi = np.zeros(factors[mode].shape)
    for cell in np.ndindex(entries.shape):
        others = np.prod([u[i] for d, (u, i) in enumerate(zip(factors, cell, strict=True)) if d != mode], axis=0)
        phi[cell[mode]] += values[cell] / max(predictions[cell], floor) * others
    return phi


def exact_hankel(automaton, prefixes, suffixes, *, statistic="string"):
    """Hankel matrix of an automaton of probabilities, as if all strings had been counted."""
    A, alpha0, alpha_inf = automaton.A, automaton.alpha0, automaton.alpha_inf
    every = np.linalg.inv(np.eye(len(alpha0)) - A.sum(axis=0))  # the sum over all strings
    start = alpha0 @ every if statistic == "factor" else alpha0
    stop = alpha_inf if statistic == "string" else every @ alpha_inf

    def along(string):
        return functools.reduce(np.matmul, A[list(string)], np.eye(len(alpha0)))

    u = np.array([start @ along(x) for x in prefixes])
    v = np.array([along(x) @ stop for x in suffixes])
    on = every @ alpha_inf
    return Hankel(
        list(prefixes),
        list(suffixes),
        csr_array(u @ v.T),
        csr_array(np.concatenate([u @ a @ v.T for a in A])),
        v @ alpha0,
        np.stack([v @ (alpha0 @ a) for a in A]),
        u @ alpha_inf,
        u @ on,
        np.column_stack([u @ a @ on for a in A]),
        v @ (alpha0 @ every),
        np.array([*(alpha0 @ A @ on), alpha0 @ alpha_inf]),
        statistic,
        0,
    )


def horn_rules(triples, relations, *, max_length, k, smoothing, summed):
    """Twin of ``polyadic.HornRules``: all rules of a tiny base, and a function that scores answers by all of them.

    Relation r + K is r backwards. A rule by a path is told by its conclusion and relations; one by a property by its
    premise (relation, entity or None, of a member) and its conclusion.
    """
    facts = {(s, r, o) for s, r, o in triples} | {(o, r + relations, s) for s, r, o in triples}
    entities = sorted({s for s, _, _ in facts})
    joined = {}
    for length in range(1, max_length + 1):
        for walk in itertools.permutations(entities, length + 1):
            steps = [[r for s, r, o in facts if (s, o) == pair] for pair in itertools.pairwise(walk)]
            for path in itertools.product(*steps):
                joined.setdefault(path, set()).add((walk[0], walk[-1]))
    of = [{(s, o) for s, r, o in facts if r == kind} for kind in range(2 * relations)]
    paths = {
        (head, *path): (len(pairs), len(pairs & of[head]))
        for path, pairs in joined.items()
        for head in range(2 * relations)
        if pairs & of[head] and path != (head,)
    }
    has = {x: {(r, o) for s, r, o in facts if s == x} for x in entities}
    has = {x: held | {(r, None) for r, _ in held} for x, held in has.items()}
    members = {one: {x for x in entities if one in has[x]} for x in entities for one in has[x]}
    properties = {
        (one, other): (len(members[one]), len(members[one] & members[other]))
        for one in members
        for other in members
        if other[1] is not None and one != other and members[one] & members[other]
    }

    def weight(counts):
        return -np.log1p(-counts[1] / (counts[0] + smoothing))

    def score(x, r, y):
        """Score y as where relation r leads from x."""
        back = (r + relations) % (2 * relations)
        prior = properties.get(((r, None), (r, y)))
        kinds = [
            [weight(counts) for rule, counts in paths.items() if rule[0] == r and (x, y) in joined[rule[1:]]],
            [
                weight(c)
                for (one, other), c in properties.items()
                if other == (r, y) and one in has.get(x, set()) - {(r, None)}
            ],
            [
                weight(c)
                for (one, other), c in properties.items()
                if other == (back, x) and one in has.get(y, set()) - {(back, None)}
            ],
            [weight(prior)] if prior else [],
        ]
        if summed:
            return sum(sum(sorted(kind)[-k:]) for kind in kinds)
        first = sorted(itertools.chain(*kinds), reverse=True)[:k]
        return sum(w * 1e-5**at for at, w in enumerate(first))

    return paths, properties, score

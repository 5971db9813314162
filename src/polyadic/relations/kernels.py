"""Numba kernels for mining Horn rules from a knowledge graph and for ranking candidate answers.

An edge is a triple read in either direction: relation ``r + K`` is the inverse of ``r``. A group is the set of edges of
one entity and one relation. An edge from x to c is also a property of x, shared by the members of the group of c and
the inverse relation. Properties are therefore numbered like groups, followed by one property per relation: to have any
edge of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import frozen

KEYS, CHUNK, SHARE = 1 << 21, 1 << 22, 1 << 12
"""Buffer sizes: listed paths, written property rules, and properties counted together."""


class Graph(NamedTuple):
    """Index of the edges of a knowledge graph, sorted by entity, relation and target."""

    groups: Any
    """CSR offsets of groups by entity; the groups of an entity are sorted by relation."""
    entity: Any
    relation: Any
    bounds: Any
    """CSR offsets of ``members`` by property; the members of a group are the targets of its edges."""
    members: Any
    property: Any
    """Property of each edge, held by its source entity."""
    listed: Any
    """Groups by relation: ``listed[of[r]:of[r + 1]]``."""
    of: Any
    place: Any
    """Position of each group in ``listed``."""
    pairs: Any
    """CSR offsets of ``neighbour`` by entity."""
    neighbour: Any
    joined: Any
    """CSR offsets of ``between`` by neighbour: the relations that lead to it."""
    between: Any


class RuleIndex(NamedTuple):
    r"""Index of rules by conclusion, with weights :math:`-\log(1 - \hat p)` for confidences :math:`\hat p`."""

    paths: Any
    """CSR offsets of path rules by head relation."""
    first: Any
    second: Any
    third: Any
    """Relations of a path, sorted; -1 after its end."""
    path_weight: Any
    rows: Any
    """CSR offsets of property rules by premise."""
    head: Any
    """Position of the concluded property, sorted."""
    weight: Any
    columns: Any
    """CSR offsets of ``column`` (numbers of rules) by concluded property."""
    column: Any
    body: Any


def graph_of(triples: Ints, entities: int, relations: int) -> Graph:
    """Build the graph of unique triples, with an inverse edge for each triple."""
    n, K = entities, relations
    edges = np.concatenate([triples, triples[:, ::-1] + [0, K, 0]])
    edges = edges[np.lexsort(edges.T[[2, 1, 0]])]
    x, r, y = edges.T
    groups, starts = np.unique(x * 2 * K + r, return_index=True)
    entity, relation = groups // (2 * K), groups % (2 * K)
    listed = np.argsort(relation, kind="stable")
    of = np.searchsorted(relation[listed], np.arange(2 * K + 1))
    place = np.empty(len(groups), np.int64)
    place[listed] = np.arange(len(groups))
    order = np.lexsort([r, y, x])
    joined, firsts = np.unique(x[order] * n + y[order], return_index=True)
    arrays = Graph(
        groups=np.searchsorted(entity, np.arange(n + 1)),
        entity=entity,
        relation=relation,
        bounds=np.concatenate([starts, len(edges) + of]),
        members=np.concatenate([y, entity[listed]]),
        property=np.searchsorted(groups, y * 2 * K + (r + K) % (2 * K)),
        listed=listed,
        of=of,
        place=place,
        pairs=np.searchsorted(joined // n, np.arange(n + 1)),
        neighbour=joined % n,
        joined=np.append(firsts, len(edges)),
        between=r[order],
    )
    return Graph(*(frozen(array, np.int64) for array in arrays))


def joining_paths(
    graph: Graph, facts: Ints, head: int, *, max_length: int, steps: int, support: int
) -> tuple[Ints, Ints]:
    """Return the paths that connect subject and object of at least ``support`` triples of a relation, and their counts.

    Paths have shape (m, 3), with -1 after the last relation.
    """
    W, keys = len(graph.of), np.empty(KEYS, np.int64)
    mark = np.zeros(len(graph.groups) - 1, np.int64)
    subjects, objects = (frozen(column, np.int64) for column in facts.T)
    found, counts, first = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    while first < len(facts):
        first, number, steps = _joining_paths(graph, subjects, objects, first, head, max_length, steps, keys, mark)
        more, times = np.unique(keys[:number], return_counts=True)
        found, at = np.unique(np.concatenate([found, more]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([counts, times]), minlength=len(found)).astype(np.int64)
    enough = counts >= support
    if max_length == 1:
        enough &= found % W**2 == 0
    found = found[enough]
    return np.stack([found // W**2, found // W % W, found % W], axis=1) - 1, counts[enough]


def path_counts(graph: Graph, order: Ints, paths: Ints, heads: list[Ints], *, max_steps: int) -> tuple[Ints, Ints]:
    """Count the entity pairs connected by each path, and the pairs that each head relation also connects.

    ``order`` are groups by relation, in the order in which paths start there, until one has taken ``max_steps``.
    """
    starts = np.concatenate([[0], np.cumsum([len(head) for head in heads])])
    every = np.concatenate([np.zeros(0, np.int64), *heads])
    return _path_counts(graph, *(frozen(array, np.int64) for array in (order, paths, starts, every)), max_steps)


def property_counts(
    graph: Graph, *, support: int, confidence: float, smoothing: float
) -> Iterator[tuple[float, Ints32, Ints32, Ints]]:
    """Yield batches of frequent property pairs and their counts, with the fraction of work completed so far."""
    last, first = len(graph.bounds) - 1, 0
    count = np.zeros(len(graph.relation), np.int64)
    bodies, places = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    rights = np.empty(CHUNK, np.int64)
    while first < last:
        reached, number = _property_counts(
            graph, first, min(first + SHARE, last), support, confidence, smoothing, count, bodies, places, rights
        )
        if reached == first:
            bodies, places, rights = (np.empty(2 * len(array), array.dtype) for array in (bodies, places, rights))
        yield (reached - first) / last, bodies[:number].copy(), places[:number].copy(), rights[:number].copy()
        first = reached


class RuleScorer:
    """Scorer of candidate answers by Horn rules, with work arrays that are reused between calls."""

    def __init__(self, graph: Graph, rules: RuleIndex) -> None:
        self.graph, self.rules = graph, rules
        self._found = np.zeros(len(graph.groups), np.int64)
        self._room = np.zeros((0, 4, 0), np.float32), np.zeros((0, 4, 0), np.int64)

    def scores(self, known: AnyArray, relations: AnyArray, *, k: int, summed: bool) -> Array:
        """Return the score of each entity as the answer to each question, from the k best rules of each kind."""
        best, by = self._place(k)
        scores = np.zeros((len(known), len(best)))
        questions = frozen(known, np.int64), frozen(relations, np.int64)
        _score_candidates(self.graph, self.rules, *questions, summed, best, by, self._found, scores)
        return scores

    def rules_for(
        self, known: int, relation: int, answer: int, *, k: int, summed: bool
    ) -> Iterator[tuple[bool, int, float]]:
        """Yield the rules behind the score of one answer: whether a rule has a path, its number and its weight."""
        best, by = self._place(k)
        _conclusions(self.graph, self.rules, known, relation, best, by, self._found)
        kinds, places = np.nonzero(best[answer])
        weights, numbers = best[answer, kinds, places].astype(float), by[answer, kinds, places]
        best[self._found[1 : self._found[0] + 1]] = 0
        if not summed:
            first = np.argsort(-weights, kind="stable")[:k]
            kinds, numbers, weights = kinds[first], numbers[first], weights[first] * TIE ** np.arange(len(first))
        return zip((kinds == PATH).tolist(), numbers.tolist(), weights.tolist(), strict=True)

    def targets(self, x: int, r: int) -> Ints:
        """Return the entities that a relation connects to entity ``x``."""
        low, high = _span(self.graph, x, r)
        return np.asarray(self.graph.members[low:high])

    def _place(self, k: int) -> tuple[Floats, Ints]:
        if self._room[0].shape[2] != k:
            shape = len(self._found) - 1, 4, k
            self._room = np.zeros(shape, np.float32), np.zeros(shape, np.int64)
        return self._room


PATH, KNOWN, SOUGHT, PRIOR = 0, 1, 2, 3
"""Kinds of rules: by a path between both ends, by a property of either end, and by the frequency of the answer."""
TIE = 1e-5  # weight of each further rule in maximum aggregation, as a tie-breaker


@njit(cache=True, nogil=True)
def _find(array, low, high, value):
    """Return the first index from ``low`` to ``high`` where a sorted array is at least ``value``."""
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _span(graph, x, r):
    """Return the start and end index of the edges with relation ``r`` from entity ``x``."""
    last = graph.groups[x + 1]
    g = _find(graph.relation, graph.groups[x], last, r)
    if g < last and graph.relation[g] == r:
        return graph.bounds[g], graph.bounds[g + 1]
    return 0, 0


@njit(cache=True, nogil=True)
def _distinct(keys, low, high):
    """Sort a slice of integers in place, remove duplicates, and return the new end."""
    if high - low < 2:
        return high
    part = keys[low:high]
    part.sort()
    n = 1
    for i in range(1, len(part)):
        if part[i] != part[n - 1]:
            part[n] = part[i]
            n += 1
    return low + n


@njit(cache=True, nogil=True)
def _joining_paths(graph, subjects, objects, first, head, max_length, steps, keys, mark):
    """Numba kernel: list the relation paths between subject and object of each triple.

    Entities are not repeated on a path, and a path is listed once per triple. A path of relations b, c and d has the
    key ``((b + 1) W + c + 1) W + d + 1``, where W is the number of relations plus 1; shorter paths have -1 after their
    end. Returns, when ``keys`` is full, the first fact not processed, the number of keys, and the remaining steps of
    the search for paths of three.
    """
    W = len(graph.of)
    half = (W - 1) // 2
    pairs, neighbour, joined, between = graph.pairs, graph.neighbour, graph.joined, graph.between
    number = 0
    for f in range(first, len(subjects)):
        x, y = subjects[f], objects[f]
        began, full = number, False
        if x == y:
            continue
        for p in range(pairs[y], pairs[y + 1]):
            mark[neighbour[p]] = p + 1
        for q in range(pairs[x], pairs[x + 1]):
            z = neighbour[q]
            if z == x or full:
                continue
            for i in range(joined[q], joined[q + 1]):
                b = (between[i] + 1) * W * W
                if z == y:
                    if between[i] != head:
                        if number == len(keys):
                            full = True
                            break
                        keys[number] = b
                        number += 1
                    continue
                if mark[z]:
                    for j in range(joined[mark[z] - 1], joined[mark[z]]):
                        c = (between[j] + half) % (2 * half) + 1
                        if number == len(keys):
                            full = True
                            break
                        keys[number] = b + c * W
                        number += 1
            if max_length < 3 or z == y or steps <= 0:
                continue
            for q2 in range(pairs[z], pairs[z + 1]):
                w = neighbour[q2]
                steps -= 1
                if mark[w] == 0 or w in (x, y, z) or full:
                    continue
                for i in range(joined[q], joined[q + 1]):
                    for k in range(joined[q2], joined[q2 + 1]):
                        b = ((between[i] + 1) * W + between[k] + 1) * W
                        for j in range(joined[mark[w] - 1], joined[mark[w]]):
                            if number == len(keys):
                                number = _distinct(keys, began, number)
                                if number == len(keys):
                                    full = True
                                    break
                            keys[number] = b + (between[j] + half) % (2 * half) + 1
                            number += 1
                            steps -= 1
        for p in range(pairs[y], pairs[y + 1]):
            mark[neighbour[p]] = 0
        if full and began:
            return f, began, steps
        number = _distinct(keys, began, number)
    return len(subjects), number, steps


@njit(cache=True, nogil=True)
def _path_counts(graph, order, paths, rules, heads, max_steps):
    """Numba kernel of :func:`path_counts`; rules of path i have head relations ``heads[rules[i]:rules[i + 1]]``."""
    to, seen = graph.members, np.zeros(len(graph.groups) - 1, np.int64)
    pairs, right = np.zeros(len(paths), np.int64), np.zeros(len(heads), np.int64)
    stamp = 0
    for i in range(len(paths)):
        b, c, d = paths[i]
        steps = 0
        for at in range(graph.of[b], graph.of[b + 1]):
            if steps >= max_steps:
                break
            g = order[at]
            x = graph.entity[g]
            stamp += 1
            number = 0
            for e in range(graph.bounds[g], graph.bounds[g + 1]):
                z = to[e]
                steps += 1
                if z == x:
                    continue
                if c < 0:
                    number += seen[z] != stamp
                    seen[z] = stamp
                    continue
                low, high = _span(graph, z, c)
                for m in range(low, high):
                    w = to[m]
                    steps += 1
                    if w in (x, z):
                        continue
                    if d < 0:
                        number += seen[w] != stamp
                        seen[w] = stamp
                        continue
                    start, end = _span(graph, w, d)
                    steps += end - start
                    for k in range(start, end):
                        y = to[k]
                        if y not in (x, z, w):
                            number += seen[y] != stamp
                            seen[y] = stamp
            pairs[i] += number
            if number:
                for rule in range(rules[i], rules[i + 1]):
                    low, high = _span(graph, x, heads[rule])
                    for e in range(low, high):
                        right[rule] += seen[to[e]] == stamp
    return pairs, right


@njit(cache=True, nogil=True)
def _property_counts(graph, first, last, support, confidence, smoothing, count, bodies, heads, rights):
    """Keep the frequent pairs of properties; return the first not processed for lack of room, and the number kept."""
    G = len(graph.relation)
    touched = np.empty(G, np.int64)
    number = 0
    for b in range(first, last):
        low, high = graph.bounds[b], graph.bounds[b + 1]
        if high - low < support:
            continue
        least = max(support, confidence * (high - low + smoothing))
        n = 0
        for m in range(low, high):
            x = graph.members[m]
            for e in range(graph.bounds[graph.groups[x]], graph.bounds[graph.groups[x + 1]]):
                j = graph.property[e]
                if graph.bounds[j + 1] - graph.bounds[j] >= least:
                    p = graph.place[j]
                    if count[p] == 0:
                        touched[n] = p
                        n += 1
                    count[p] += 1
        kept = 0
        for t in range(n):
            if count[touched[t]] < least or graph.listed[touched[t]] == b:
                count[touched[t]] = 0
            else:
                touched[kept] = touched[t]
                kept += 1
        if number + kept > len(bodies):
            for t in range(kept):
                count[touched[t]] = 0
            return b, number
        touched[:kept].sort()
        for t in range(kept):
            bodies[number], heads[number], rights[number] = b, touched[t], count[touched[t]]
            count[touched[t]] = 0
            number += 1
    return last, number


@njit(cache=True, nogil=True)
def _conclude(y, kind, weight, rule, best, by, found):
    """Insert a rule into the best of its kind for the answer ``y``; ``found`` counts and lists the answers."""
    if not (best[y, PATH, 0] or best[y, KNOWN, 0] or best[y, SOUGHT, 0] or best[y, PRIOR, 0]):
        found[0] += 1
        found[found[0]] = y
    top, rules = best[y, kind], by[y, kind]
    k = len(rules)
    if weight <= top[k - 1]:
        return
    for i in range(k):
        if rules[i] == rule and top[i] > 0:
            return
    at = k - 1
    while at > 0 and top[at - 1] < weight:
        top[at], rules[at] = top[at - 1], rules[at - 1]
        at -= 1
    top[at], rules[at] = weight, rule


@njit(cache=True, nogil=True)
def _follow(graph, rules, i, start, end, kind, best, by, found):
    """Numba kernel: apply the rules with premise ``i`` and a conclusion index from ``start`` to ``end`` (exclusive)."""
    low = _find(rules.head, rules.rows[i], rules.rows[i + 1], start)
    for p in range(low, _find(rules.head, low, rules.rows[i + 1], end)):
        _conclude(graph.entity[graph.listed[rules.head[p]]], kind, rules.weight[p], p, best, by, found)


@njit(cache=True, nogil=True)
def _conclusions(graph, rules, x, r, best, by, found):
    """Numba kernel: find the k best rules of each kind for every answer to the question (x, r, ?).

    ``best`` of shape (entities, 4, k) begins as zeros and gets their weights, descending, and ``by`` their numbers
    among path or property rules; ``found`` gets the number of answers, followed by the answers.
    """
    half = (len(graph.of) - 1) // 2
    back = (r + half) % (2 * half)
    G, to, bounds, relation = len(graph.relation), graph.members, graph.bounds, graph.relation
    found[0] = 0
    end = rules.paths[r + 1]
    low = rules.paths[r]
    for g in range(graph.groups[x], graph.groups[x + 1]):
        low = _find(rules.first, low, end, relation[g])
        high = _find(rules.first, low, end, relation[g] + 1)
        if low == high:
            continue
        start = low
        if rules.second[low] < 0:
            start += 1
            for e in range(bounds[g], bounds[g + 1]):
                if to[e] != x:
                    _conclude(to[e], PATH, rules.path_weight[low], low, best, by, found)
        if start == high:
            continue
        for e in range(bounds[g], bounds[g + 1]):
            z = to[e]
            if z == x:
                continue
            p = start
            for g2 in range(graph.groups[z], graph.groups[z + 1]):
                while p < high and rules.second[p] < relation[g2]:
                    p += 1
                if p == high:
                    break
                if rules.second[p] > relation[g2]:
                    continue
                if rules.third[p] < 0:
                    for m in range(bounds[g2], bounds[g2 + 1]):
                        if to[m] != x and to[m] != z:
                            _conclude(to[m], PATH, rules.path_weight[p], p, best, by, found)
                    p += 1
                last = _find(rules.second, p, high, relation[g2] + 1)
                if p == last:
                    continue
                for m in range(bounds[g2], bounds[g2 + 1]):
                    w = to[m]
                    if w in (x, z):
                        continue
                    q = p
                    for g3 in range(graph.groups[w], graph.groups[w + 1]):
                        while q < last and rules.third[q] < relation[g3]:
                            q += 1
                        if q == last:
                            break
                        if rules.third[q] > relation[g3]:
                            continue
                        for k in range(bounds[g3], bounds[g3 + 1]):
                            y = to[k]
                            if y not in (x, z, w):
                                _conclude(y, PATH, rules.path_weight[q], q, best, by, found)
    start, end = graph.of[back], graph.of[back + 1]
    for g in range(graph.groups[x], graph.groups[x + 1]):
        for e in range(bounds[g], bounds[g + 1]):
            _follow(graph, rules, graph.property[e], start, end, KNOWN, best, by, found)
        if relation[g] != r:
            _follow(graph, rules, G + relation[g], start, end, KNOWN, best, by, found)
    _follow(graph, rules, G + r, start, end, PRIOR, best, by, found)  # whether or not x has the relation r
    g = _find(relation, graph.groups[x], graph.groups[x + 1], r)
    if g < graph.groups[x + 1] and relation[g] == r:
        for at in range(rules.columns[graph.place[g]], rules.columns[graph.place[g] + 1]):
            p = rules.column[at]
            i = rules.body[p]
            if i != G + back:
                for m in range(bounds[i], bounds[i + 1]):
                    _conclude(to[m], SOUGHT, rules.weight[p], p, best, by, found)


@njit(cache=True, nogil=True)
def _score_candidates(graph, rules, known, relations, summed, best, by, found, scores):
    """Set the ``scores`` of every answer to each question from the best rules, and reset ``best`` to zero."""
    k = by.shape[2]
    every = np.empty(by.shape[1] * k)
    for q in range(len(known)):
        _conclusions(graph, rules, known[q], relations[q], best, by, found)
        for at in range(1, found[0] + 1):
            y = found[at]
            n = 0
            for kind in range(by.shape[1]):
                for i in range(k):
                    if best[y, kind, i] > 0:
                        every[n] = best[y, kind, i]
                        n += 1
            total = 0.0
            if summed:
                for i in range(n):
                    total += every[i]
            else:
                every[:n].sort()
                for i in range(max(n - k, 0), n):
                    total = every[i] + TIE * total
            scores[q, y] = total
            best[y] = 0.0

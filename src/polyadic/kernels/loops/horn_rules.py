"""Loops over a graph of facts: which rules hold how often, and what they conclude of a question.

An edge is a fact read in either direction: relation ``r + K`` is ``r`` backwards. Edges of one entity and one relation
are a group. An edge of x to c is also a property of x, shared by the members of the group of c and the relation
backwards; so properties are numbered as groups are, and behind them, for each relation, that there is any edge of it.
"""

import numpy as np
from numba import njit

PATH, KNOWN, SOUGHT, PRIOR = 0, 1, 2, 3
"""Kinds of rules: by a path between both ends, by a property of either, and by how often the answer is one."""
TIE = 1e-5
"""How much each further rule counts where the best decides."""


@njit(cache=True, nogil=True)
def _find(array, low, high, value):
    """Give the first place from ``low`` to ``high`` where a sorted array has at least this value."""
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _span(graph, x, r):
    """Give where the edges of x by relation r are."""
    last = graph.groups[x + 1]
    g = _find(graph.relation, graph.groups[x], last, r)
    if g < last and graph.relation[g] == r:
        return graph.bounds[g], graph.bounds[g + 1]
    return 0, 0


@njit(cache=True, nogil=True)
def _distinct(keys, low, high):
    """Sort numbers and leave each once; give how far they go."""
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
def joining_paths(graph, subjects, objects, first, head, longest, steps, keys, mark):
    """List the paths between the ends of facts of relation ``head``, all entities different, each path once a fact.

    A path of relations b, c and d is ``((b + 1) W + c + 1) W + d + 1``, W one more than there are, a shorter one has -1
    behind its end. Paths of three are looked for during ``steps``. Ends where ``keys`` are full, before the facts do.

    Returns
    -------
    fact, number, steps
        The first fact that is left, how many keys there are, and how many steps.
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
            if longest < 3 or z == y or steps <= 0:
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
def path_counts(graph, order, paths, rules, heads, most, seen, pairs, right):
    """Count the pairs that each path joins, and those of them that are facts of the relations it may conclude.

    Entities start paths in a random ``order`` of groups, until a path has taken ``most`` steps. Rules of path i
    conclude relations ``heads[rules[i]:rules[i + 1]]``. Counts are added to ``pairs`` and ``right``.
    """
    to = graph.members
    stamp = 0
    for i in range(len(paths)):
        b, c, d = paths[i]
        steps = 0
        for at in range(graph.of[b], graph.of[b + 1]):
            if steps >= most:
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
    seen[:] = 0


@njit(cache=True, nogil=True)
def property_counts(graph, first, last, support, confidence, smoothing, count, bodies, heads, rights):
    """Count how many members of properties ``first`` to ``last`` have each other property, if enough have.

    Returns
    -------
    body, number
        The first property that is left, since there was no room for more, and how many rules were written, by place.
    """
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
    """Put a rule among the best of its kind that conclude y, once; ``found`` counts, and lists, what is concluded."""
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
    """Conclude what rules by property ``i`` do, of properties from ``start`` on and below ``end``."""
    low = _find(rules.head, rules.rows[i], rules.rows[i + 1], start)
    for p in range(low, _find(rules.head, low, rules.rows[i + 1], end)):
        _conclude(graph.entity[graph.listed[rules.head[p]]], kind, rules.weight[p], p, best, by, found)


@njit(cache=True, nogil=True)
def conclusions(graph, rules, x, r, best, by, found):
    """Find the rules that say where edges of x by relation r go: the best of each kind, of each candidate.

    Parameters
    ----------
    best : float32 array of shape (entities, 4, k), of zeros
        How much the k best rules count, in falling order.
    by : int64 array of shape (entities, 4, k)
        Their numbers, among paths or others.
    found : int64 array of shape (entities + 1,)
        The first tells how many candidates follow.
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
    for g in range(graph.groups[x], graph.groups[x + 1] + 1):
        prior = g == graph.groups[x + 1]  # whether x has this relation or not, it is asked for
        if not prior:
            for e in range(bounds[g], bounds[g + 1]):
                _follow(graph, rules, graph.property[e], start, end, KNOWN, best, by, found)
        if prior:
            _follow(graph, rules, G + r, start, end, PRIOR, best, by, found)
        elif relation[g] != r:
            _follow(graph, rules, G + relation[g], start, end, KNOWN, best, by, found)
    g = _find(relation, graph.groups[x], graph.groups[x + 1], r)
    if g < graph.groups[x + 1] and relation[g] == r:
        for at in range(rules.columns[graph.place[g]], rules.columns[graph.place[g] + 1]):
            p = rules.column[at]
            i = rules.body[p]
            if i != G + back:
                for m in range(bounds[i], bounds[i + 1]):
                    _conclude(to[m], SOUGHT, rules.weight[p], p, best, by, found)


@njit(cache=True, nogil=True)
def score_candidates(graph, rules, known, relations, summed, best, by, found, scores):
    """Write how much the best rules of each kind count together, or the best of all, of every candidate of questions.

    ``scores`` has a row of zeros for each question; ``best`` is zero again in the end.
    """
    k = by.shape[2]
    every = np.empty(by.shape[1] * k)
    for q in range(len(known)):
        conclusions(graph, rules, known[q], relations[q], best, by, found)
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

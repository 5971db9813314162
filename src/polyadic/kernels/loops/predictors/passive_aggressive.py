"""Loops over lists of candidates: each list is scored, and the weights take a step if another candidate was chosen."""

import numpy as np
from numba import njit

CYCLES = 100
"""Rounds at most through the constraints of one list."""
SETTLED = 1e-10
"""Part of the largest step below which a round has changed nothing."""


@njit(cache=True, nogil=True)
def list_scores(w, indptr, indices, values, first, last, s):
    """Score the candidates of a list by weights."""
    for c in range(first, last):
        total = 0.0
        for k in range(indptr[c], indptr[c + 1]):
            total += values[k] * w[indices[k]]
        s[c - first] = total


@njit(cache=True, nogil=True)
def multilinear_scores(F, cells, indptr, indices, values, first, last, s, w, weighed, turn):
    """Score the candidates of a list by the products of rows of factors, of which a feature names one per mode.

    Candidates share most features: ``w`` holds the weights of those that were ``weighed`` in this turn.
    """
    D, H = cells.shape[1], F.shape[1]
    for c in range(first, last):
        total = 0.0
        for k in range(indptr[c], indptr[c + 1]):
            f = indices[k]
            if weighed[f] != turn:
                weighed[f] = turn
                weight = 0.0
                for h in range(H):
                    product = F[cells[f, 0], h]
                    for d in range(1, D):
                        product *= F[cells[f, d], h]
                    weight += product
                w[f] = weight
            total += values[k] * w[f]
        s[c - first] = total


@njit(cache=True, nogil=True)
def contenders(s, costs, first, n, augmented):
    """Give the candidate of highest score, that to learn from, and the best of the cheapest; the first of equals."""
    best, wrong, right = 0, 0, 0
    for c in range(1, n):
        cost = costs[first + c]
        if s[c] > s[best]:
            best = c
        if s[c] + augmented * cost > s[wrong] + augmented * costs[first + wrong]:
            wrong = c
        if cost < costs[first + right] or (cost == costs[first + right] and s[c] > s[right]):
            right = c
    return best, wrong, right


@njit(cache=True, nogil=True)
def difference(indptr, indices, values, a, b, at, x):
    """Write the features of a candidate less those of another, both sorted; return how many differ."""
    i, j, m = indptr[a], indptr[b], 0
    while i < indptr[a + 1] or j < indptr[b + 1]:
        if j == indptr[b + 1] or (i < indptr[a + 1] and indices[i] < indices[j]):
            at[m], x[m] = indices[i], values[i]
            i += 1
        elif i == indptr[a + 1] or indices[j] < indices[i]:
            at[m], x[m] = indices[j], -values[j]
            j += 1
        else:
            at[m], x[m] = indices[i], np.float64(values[i]) - np.float64(values[j])
            i += 1
            j += 1
        if x[m] != 0.0:
            m += 1
    return m


@njit(cache=True, nogil=True)
def perceptron_lists(order, starts, indptr, indices, values, costs, w, u, before, sums, s, at, x):
    """Add the cheapest candidate and take away the chosen one; ``u`` adds up steps times the lists before them."""
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        list_scores(w, indptr, indices, values, first, last, s)
        best, _, right = contenders(s, costs, first, last - first, 0.0)
        sums[0] += costs[first + best]
        cost = costs[first + best] - costs[first + right]
        if cost == 0.0:
            continue
        sums[1] += cost + s[best] - s[right]
        m = difference(indptr, indices, values, first + right, first + best, at, x)
        sums[2] += m > 0
        for k in range(m):
            w[at[k]] += x[k]
            u[at[k]] += (before + t) * x[k]


@njit(cache=True, nogil=True)
def highest(s, costs, first, n, augmented, top):
    """Write the candidates of highest score, and cost if augmented, at most ``len(top)`` of them; return how many."""
    count = 0
    for c in range(n):
        value = s[c] + augmented * costs[first + c]
        place = count
        while place > 0 and value > s[top[place - 1]] + augmented * costs[first + top[place - 1]]:
            place -= 1
        if place == len(top):
            continue
        count = min(count + 1, len(top))
        for k in range(count - 1, place, -1):
            top[k] = top[k - 1]
        top[place] = c
    return count


@njit(cache=True, nogil=True)
def mira_lists(order, starts, indptr, indices, values, costs, w, u, before, C, augmented, sums, s, at, x, top, alpha):
    """Step to the nearest weights that leave no loss against the best candidates, or pay ``C`` times what they leave.

    By coordinates of the dual, one after another: of one candidate this is the closed form.
    """
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        list_scores(w, indptr, indices, values, first, last, s)
        best, wrong, right = contenders(s, costs, first, last - first, augmented)
        sums[0] += costs[first + best]
        if costs[first + wrong] > costs[first + right]:
            sums[1] += max(0.0, costs[first + wrong] - costs[first + right] - (s[right] - s[wrong]))
        count = highest(s, costs, first, last - first, augmented, top)
        alpha[:] = 0.0
        moved, worst = 0, 0.0
        for _ in range(1 if count == 1 else CYCLES):
            largest = 0.0
            for j in range(count):
                cost = costs[first + top[j]] - costs[first + right]
                if cost == 0.0:
                    continue
                m = difference(indptr, indices, values, first + right, first + top[j], at, x)
                margin, square = s[right] - s[top[j]], 0.0
                if moved > 0:
                    margin = 0.0
                    for k in range(m):
                        margin += w[at[k]] * x[k]
                for k in range(m):
                    square += x[k] * x[k]
                if square == 0.0:
                    continue
                tau = min(max(alpha[j] + (cost - margin) / square, 0.0), C) - alpha[j]
                if tau == 0.0:
                    continue
                moved = 1
                alpha[j] += tau
                largest = max(largest, abs(tau) * square)
                for k in range(m):
                    w[at[k]] += tau * x[k]
                    u[at[k]] += (before + t) * (tau * x[k])
            worst = max(worst, largest)
            if largest <= SETTLED * worst:
                break
        sums[2] += moved


@njit(cache=True, nogil=True)
def touched(cells, at, m, marked, rows, counts):
    """List, by mode, the rows of factors that differing features name, each once."""
    for d in range(len(counts)):
        counts[d] = 0
        for k in range(m):
            r = cells[at[k], d]
            if not marked[r]:
                marked[r] = True
                rows[d, counts[d]] = r
                counts[d] += 1
        for k in range(counts[d]):
            marked[rows[d, k]] = False


@njit(cache=True, nogil=True)
def mode_difference(F, cells, at, x, m, h, d, rows, delta):
    """Add up, by row of mode ``d``, differences times the rows of component ``h`` in other modes; give its square."""
    for k in range(len(rows)):
        delta[rows[k], h] = 0.0
    for k in range(m):
        product = x[k]
        for e in range(cells.shape[1]):
            if e != d:
                product *= F[cells[at[k], e], h]
        delta[cells[at[k], d], h] += product
    square = 0.0
    for k in range(len(rows)):
        square += delta[rows[k], h] * delta[rows[k], h]
    return square


@njit(cache=True, nogil=True)
def move(F, norms, h, d, rows, delta, tau):
    """Move the rows of mode ``d`` of component ``h``, and keep its squared norm."""
    for k in range(len(rows)):
        step = tau * delta[rows[k], h]
        norms[h, d] += step * (2 * F[rows[k], h] + step)
        F[rows[k], h] += step


@njit(cache=True, nogil=True)
def step_in_turn(turn, F, cells, norms, loss, C, scaled, at, x, m, rows, counts, delta):
    """Solve for one vector of one mode after another, in the order of ``turn``, until nothing is lost."""
    H, D = norms.shape
    moved = False
    for k in range(H * D):
        h, d = turn[k] // D, turn[k] % D
        here = rows[d, : counts[d]]
        square = mode_difference(F, cells, at, x, m, h, d, here, delta)
        B = 1.0
        if scaled:
            for e in range(D):
                if e != d:
                    B *= norms[h, e]
        if square == 0.0 or B <= 0.0:
            continue
        tau = min(C / B, loss / square)
        move(F, norms, h, d, here, delta, tau)
        moved = True
        if tau == loss / square:
            break
        loss -= tau * square
    return moved


@njit(cache=True, nogil=True)
def step_at_once(F, cells, norms, loss, C, at, x, m, rows, counts, delta):
    """Move all vectors of all modes along the differences that they have now, all as far."""
    H, D = norms.shape
    total = 0.0
    for h in range(H):
        for d in range(D):
            total += mode_difference(F, cells, at, x, m, h, d, rows[d, : counts[d]], delta)
    if total == 0.0:
        return False
    for h in range(H):
        for d in range(D):
            move(F, norms, h, d, rows[d, : counts[d]], delta, min(C, loss / total))
    return True


@njit(cache=True, nogil=True)
def tensor_mira_lists(
    order,
    turns,
    starts,
    indptr,
    indices,
    values,
    costs,
    F,
    cells,
    norms,
    C,
    scaled,
    augmented,
    sums,
    s,
    at,
    x,
    rows,
    delta,
    marked,
    w,
    weighed,
):
    """Step from list to list with products of rows of factors as weights; with no ``turns``, all modes at once."""
    counts = np.zeros(cells.shape[1], np.int64)
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        multilinear_scores(F, cells, indptr, indices, values, first, last, s, w, weighed, t + 1)
        best, wrong, right = contenders(s, costs, first, last - first, augmented)
        sums[0] += costs[first + best]
        cost = costs[first + wrong] - costs[first + right]
        loss = cost - (s[right] - s[wrong])
        if cost == 0.0 or loss <= 0.0:
            continue
        sums[1] += loss
        m = difference(indptr, indices, values, first + right, first + wrong, at, x)
        touched(cells, at, m, marked, rows, counts)
        if turns.shape[1]:
            moved = step_in_turn(turns[t], F, cells, norms, loss, C, scaled, at, x, m, rows, counts, delta)
        else:
            moved = step_at_once(F, cells, norms, loss, C, at, x, m, rows, counts, delta)
        sums[2] += moved

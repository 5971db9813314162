"""Tucker models of any order: the core that factors leave of a tensor, predictions, and the way back from derivatives.

The modes of an entry are a root (the first), a leaf (the last) and the middle between them; a fibre is a run of entries
that share all but the leaf. With ``k`` the Kronecker product of the middle rows of a fibre and ``s = sum_e x_e
U[leaf]`` over its entries, the part of a root in the contraction with all modes but the first is ``sum_fibres k s'``: a
product of two thin matrices, taken for ``BATCH`` fibres at a time. The other way, ``C`` being the core contracted with
the row of the root, ``k' C`` predicts the leaves and ``C s`` is the gradient of ``k``. Contraction of the core with the
roots themselves is one dense product for many roots, which the door takes.

Factors of different widths lie one after another in the flat array ``U``: row ``i`` of mode ``d`` begins at ``at[d] +
i * ranks[d]``. Modes that share a factor have the same ``at``.
"""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vector registers; infinities and NaN stay what they are, so an overflow is seen."""
BATCH = 128
"""Fibres of a root multiplied at once: enough for a dense product to be fast, few enough for the cache."""


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _middle(indices, at, ranks, U, e, k):
    """Write the Kronecker product of the middle rows of entry ``e``; of no rows it is one."""
    k[0] = 1
    filled = 1
    for d in range(1, indices.shape[0] - 1):
        row = at[d] + indices[d, e] * ranks[d]
        for q in range(filled - 1, -1, -1):  # from the back: what is spread out is not needed again
            before = k[q]
            for r in range(ranks[d]):
                k[q * ranks[d] + r] = before * U[row + r]
        filled *= ranks[d]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_to_middle(indices, at, ranks, U, e, dk, dU):
    """Take the gradient of the Kronecker product back to the middle rows of entry ``e``."""
    last_mode = indices.shape[0] - 1
    if last_mode == 2:  # order 3, the common case: the product is the row itself
        row = at[1] + indices[1, e] * ranks[1]
        for q in range(len(dk)):
            dU[row + q] += dk[q]
        return
    for q in range(len(dk)):
        below = len(dk)
        for d in range(1, last_mode):
            below //= ranks[d]
            others, rest = dk[q], q
            for c in range(last_mode - 1, 0, -1):
                if c != d:
                    others *= U[at[c] + indices[c, e] * ranks[c] + rest % ranks[c]]
                rest //= ranks[c]
            dU[at[d] + indices[d, e] * ranks[d] + q // below % ranks[d]] += others


@njit(cache=True, nogil=True, fastmath=FAST)
def core_fibres(indices, starts, roots, at, ranks, values, U, first, A):
    """Write ``A[b] = sum_e values_e middle_e leaf_e'`` for the roots from ``first`` on, as many as ``A`` has.

    ``starts[f]`` is the first entry of a fibre, ``roots[b]`` the first fibre of a root; both end with the total.
    """
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K, S = np.empty((BATCH, A.shape[1]), U.dtype), np.empty((BATCH, rank), U.dtype)
    for b in range(len(A)):
        A[b] = 0
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            S[:n] = 0
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    for r in range(rank):
                        S[g, r] += values[e] * U[row + r]
            A[b] += np.dot(K[:n].T, S[:n])


@njit(cache=True, nogil=True, fastmath=FAST)
def pullback_tucker(indices, starts, roots, at, ranks, derivatives, U, first, C, A, dU):
    """Add ``sum_e derivatives_e dm_e/dU`` for middle and leaf rows to ``dU``, and write ``A`` as above.

    ``C[b]`` is the core contracted with the row of a root. The gradient of that row is ``sum (core * A[b])``.
    """
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K, S = np.empty((BATCH, A.shape[1]), U.dtype), np.empty((BATCH, rank), U.dtype)
    for b in range(len(A)):
        A[b] = 0
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
            W = np.dot(K[:n], C[b])
            S[:n] = 0
            for g in range(n):
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    for r in range(rank):
                        S[g, r] += derivatives[e] * U[row + r]
                        dU[row + r] += derivatives[e] * W[g, r]
            A[b] += np.dot(K[:n].T, S[:n])
            dK = np.dot(S[:n], C[b].T)
            for g in range(n):
                _add_to_middle(indices, at, ranks, U, starts[f + g], dK[g], dU)


@njit(cache=True, nogil=True, fastmath=FAST)
def predict_tucker(indices, starts, roots, at, ranks, U, first, C, predictions):
    """Write ``m_e = middle_e' C[root] leaf_e`` for the entries of the roots from ``first`` on, as many as ``C`` has."""
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K = np.empty((BATCH, C.shape[1]), U.dtype)
    for b in range(len(C)):
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
            W = np.dot(K[:n], C[b])
            for g in range(n):
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    m = U.dtype.type(0)
                    for r in range(rank):
                        m += W[g, r] * U[row + r]
                    predictions[e] = m


@njit(cache=True, nogil=True, fastmath=FAST)
def gram_fibres(starts, leaves, values, Q, first, last, product):
    """Add ``X X' Q`` to ``product``: ``X`` has a row per leaf, a column per fibre; columns first..last are taken."""
    rank = Q.shape[1]
    t = np.empty(rank, Q.dtype)
    for f in range(first, last):
        t[:] = 0
        for e in range(starts[f], starts[f + 1]):
            for r in range(rank):
                t[r] += values[e] * Q[leaves[e], r]
        for e in range(starts[f], starts[f + 1]):
            for r in range(rank):
                product[leaves[e], r] += values[e] * t[r]

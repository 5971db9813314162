r"""From signals of any length to a vector of one: what is kept of activations.

=============  =========================================================================================
``"mean"``     the mean, sum over places by number of words
``"moments"``  the mean and the root of the mean square
``"largest"``  the k largest of each signal, falling
``"extremes"`` the k largest and the k smallest of each, as the sign of a coordinate means nothing
``"all"``      the k largest over all signals of a coordinate together, as Huang and Anandkumar print it
=============  =========================================================================================

Which of them tells most is measured in ``docs/results/huang2017.md``. Means do not know the order of words, nor do the
moments of what is decoded in closed form, whose squares sum to a function of the power spectrum; the others do, and so
do segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pooling = Literal["mean", "moments", "largest", "extremes", "all"]


def pooled(w: NDArray[Any], words: int, pooling: Pooling, *, pool: int = 1, segments: int = 1) -> NDArray[np.float64]:
    """Pool the signals of sentences of one length, in so many equal segments one after another.

    Parameters
    ----------
    w : ndarray of shape (S, K, L, N)
        L signals of each of K coordinates.
    words : int
        How many words the sentences have, at most N. Filters at the other places begin before the first word: they are
        in the sums of the first segment, but not among the largest.
    pooling : str
        See the module.
    pool : int
        k; where there are fewer values, zeros fill up.
    segments : int
        Parts of the sentence that are pooled apart, to tell what is where.

    Returns
    -------
    ndarray of shape (S, segments * K * L * width(pooling, pool)), without L for ``"all"``

    Examples
    --------
    >>> w = np.array([[[[1.0, -3.0, 2.0, 4.0]]]])
    >>> [pooled(w, 4, how, pool=2).round(3).tolist() for how in ("moments", "largest", "extremes")]
    [[[1.0, 2.739]], [[4.0, 2.0]], [[4.0, 2.0, 1.0, -3.0]]]
    >>> pooled(w, 4, "mean", segments=2).tolist()
    [[-1.0, 3.0]]
    """
    places = np.array_split(np.arange(words), segments)
    parts = []
    for number, inside in enumerate(places):
        if pooling in ("mean", "moments"):
            summed = [*inside, *range(words, w.shape[-1])] if number == 0 else inside
            kept = _moments(w[..., summed], max(len(inside), 1))[..., : width(pooling, pool)]
        else:
            part = w[..., inside]
            if pooling == "all":
                part = part.reshape(*w.shape[:2], 1, -1)
            kept = _largest(part, pool, both=pooling == "extremes")
        parts.append(kept.reshape(len(w), -1))
    return np.concatenate(parts, axis=1)


def width(pooling: Pooling, pool: int) -> int:
    """Give how many numbers are kept of each signal."""
    return {"mean": 1, "moments": 2, "largest": pool, "extremes": 2 * pool, "all": pool}[pooling]


def _moments(w: NDArray[Any], words: int) -> NDArray[np.float64]:
    return np.stack([w.sum(axis=-1) / words, np.sqrt((w**2).sum(axis=-1) / words)], axis=-1)


def _largest(w: NDArray[Any], pool: int, *, both: bool) -> NDArray[np.float64]:
    falling = -np.sort(-w, axis=-1)
    k = min(pool, w.shape[-1])
    short = [(0, 0)] * (w.ndim - 1) + [(0, pool - k)]
    ends = [falling[..., :k], falling[..., falling.shape[-1] - k :]][: 1 + both]
    return np.concatenate([np.pad(end, short) for end in ends], axis=-1)

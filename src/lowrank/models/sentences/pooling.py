r"""From signals of any length to a vector of one: what is kept of activations.

=============  =========================================================================================
``"mean"``     the mean, sum over places by number of words
``"moments"``  the mean and the root of the mean square
``"largest"``  the k largest of each signal, falling
``"extremes"`` the k largest and the k smallest of each, as the sign of a coordinate means nothing
``"all"``      the k largest over all signals of a coordinate together, as Huang and Anandkumar print it
=============  =========================================================================================

Which of them tells most is measured in ``docs/results/huang2017.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pooling = Literal["mean", "moments", "largest", "extremes", "all"]


def pooled(
    w: NDArray[Any], words: NDArray[Any], pooling: Pooling, *, pool: int = 1, segments: int = 1
) -> NDArray[np.float64]:
    """Pool the signals of sentences, in so many equal segments one after another.

    Parameters
    ----------
    w : ndarray of shape (S, K, L, N)
        L signals of each of K coordinates.
    words : ndarray of shape (S,)
        How many words the sentences have; the rest of N is padding.
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
    >>> [pooled(w, np.array([4]), how, pool=2).round(3).tolist() for how in ("moments", "largest", "extremes")]
    [[[1.0, 2.739]], [[4.0, 2.0]], [[4.0, 2.0, 1.0, -3.0]]]
    >>> pooled(w, np.array([4]), "mean", segments=2).tolist()
    [[-1.0, 3.0]]
    """
    if pooling == "all":
        w = w.reshape(*w.shape[:2], 1, -1, w.shape[-1])
        parts = [part.reshape(*part.shape[:3], -1) for part in np.array_split(w, segments, axis=-1)]
    else:
        parts = np.array_split(w, segments, axis=-1)
    each = np.maximum(words, 1).reshape(-1, 1, 1) / segments
    kept = [_kept(part, each, pooling, pool) for part in parts]
    return np.concatenate([part.reshape(len(w), -1) for part in kept], axis=1)


def width(pooling: Pooling, pool: int) -> int:
    """Give how many numbers are kept of each signal."""
    return {"mean": 1, "moments": 2, "largest": pool, "extremes": 2 * pool, "all": pool}[pooling]


def _kept(w: NDArray[Any], words: NDArray[Any], pooling: Pooling, pool: int) -> NDArray[np.float64]:
    if pooling in ("mean", "moments"):
        mean = w.sum(axis=-1) / words
        if pooling == "mean":
            return np.asarray(mean)[..., None]
        return np.stack([mean, np.sqrt((w**2).sum(axis=-1) / words)], axis=-1)
    falling = -np.sort(-w, axis=-1)
    k = min(pool, w.shape[-1])
    short = [(0, 0)] * (w.ndim - 1) + [(0, pool - k)]
    largest = np.pad(falling[..., :k], short)
    if pooling != "extremes":
        return largest
    return np.concatenate([largest, np.pad(falling[..., falling.shape[-1] - k :], short)], axis=-1)

"""Door to the loops of chains of tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.averaging import mean_weights
from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.sequences import tagging

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CodedSentences(NamedTuple):
    """Sentences as numbers of features.

    Attributes
    ----------
    columns : ndarray of int32
        Features of all tokens, one after another.
    starts : ndarray of int64 of shape (tokens + 1,)
        Where the features of each token begin and end.
    edges : ndarray of int64 of shape (sentences + 1,)
        Where each sentence begins and ends.
    """

    columns: NDArray[np.int32]
    starts: NDArray[np.int64]
    edges: NDArray[np.int64]


class TagParts(NamedTuple):
    """Weights of F features and Y tags.

    Attributes
    ----------
    U : ndarray of shape (F, K)
    V : ndarray of shape (Y, K)
        Of shape (0, Y) for the identity, where K is Y.
    T : ndarray of shape (Y + 1, Y + 1)
        Of tags after tags; the last row of those at the start, the last column of those at the end.
    """

    U: NDArray[Any]
    V: NDArray[Any]
    T: NDArray[Any]


class TagTables(NamedTuple):
    """Weights on their way: U, V and T, each with sums of squared gradients and sums for the mean beside them.

    Attributes
    ----------
    U, V, T : ndarray of shape (rows, 3, width)
    """

    U: NDArray[np.float32]
    V: NDArray[np.float32]
    T: NDArray[np.float32]

    @classmethod
    def of(cls, parts: TagParts) -> TagTables:
        """Begin from weights, with 1 for the squares."""
        tables = []
        for part in parts:
            table = np.zeros((len(part), 3, part.shape[1]), np.float32)
            table[:, 0], table[:, 1] = part, 1
            tables.append(table)
        return cls(*tables)

    def weights(self) -> TagParts:
        """Give a copy of the weights."""
        return TagParts(*(table[:, 0].copy() for table in self))

    def means(self, seen: int) -> TagParts:
        """Give the mean of the weights at the start and after each of ``seen`` sentences."""
        return TagParts(*(mean_weights(table[:, 0], table[:, 2], seen) for table in self))


def tag_epoch(
    sentences: CodedSentences,
    gold: NDArray[np.int32],
    tables: TagTables,
    *,
    order: NDArray[np.int64],
    importance: NDArray[np.float32],
    seen: int,
    soft: bool,
    cost: float,
    step: float,
    ridge: float,
) -> float:
    r"""Take a step of AdaGrad for each sentence, in place; gives the sum of their losses, each before its step.

    Parameters
    ----------
    sentences : CodedSentences
    gold : ndarray of int32 of shape (tokens,)
    tables : TagTables
        Changed in place.
    order : ndarray of int64
        Sentences to go through.
    importance : ndarray of float32 of shape (F,)
        Sentences per time that a feature occurs, by which its decay is multiplied; so the expected gradient is that
        of :math:`\frac{1}{n} \sum_i \text{loss}_i + \frac{\text{ridge}}{2} (\|U\|^2 + \|V\|^2 + \|T\|^2)`.
    seen : int
        Sentences gone through before.
    soft : bool
        Negative log-likelihood, or else the best score, with ``cost`` for each wrong tag, minus that of ``gold``.
    cost, step, ridge : float
    """
    _check(sentences, *(table[:, 0] for table in tables))
    size = len(tables.T) - 1
    if gold.shape != (len(sentences.starts) - 1,) or (len(gold) and not 0 <= gold.min() <= gold.max() < size):
        raise ValueError(f"gold must be a tag below {size} for each token")
    if importance.shape != (len(tables.U),):
        raise ValueError(f"importance must be one for each of {len(tables.U)} features")
    if len(order) and not 0 <= order.min() <= order.max() < len(sentences.edges) - 1:
        raise ValueError(f"order must be of sentences below {len(sentences.edges) - 1}")
    how = (seen, soft, float(cost), float(step), float(ridge))
    return float(tagging.tag_epoch(tuple(sentences), gold, order, importance, tuple(tables), *how))


def tag_paths(sentences: CodedSentences, parts: TagParts) -> NDArray[np.int32]:
    r"""Give the tags of highest score of each sentence, one after another; of equals those that end in the first.

    .. math:: \max_t \sum_i (V \sum_{f \in \phi_i} U_f)_{t_i} + T_{t_{i-1} t_i}
    """
    _check(sentences, *parts)
    paths = np.zeros(len(sentences.starts) - 1, np.int32)
    tagging.tag_paths(*sentences, *(frozen(part) for part in parts), paths)
    return paths


def tag_marginals(sentences: CodedSentences, parts: TagParts) -> NDArray[np.float64]:
    """Give the probability of each tag of each token, of shape (tokens, Y), where paths have that of exp(score)."""
    _check(sentences, *parts)
    shares = np.empty((len(sentences.starts) - 1, len(parts.T) - 1))
    tagging.tag_marginals(*sentences, *(frozen(part) for part in parts), shares)
    return shares


def _check(sentences: CodedSentences, U: NDArray[Any], V: NDArray[Any], T: NDArray[Any]) -> None:
    """Refuse what does not fit together, for a loop would read beyond."""
    columns, starts, edges = sentences
    size = len(T) - 1
    full = len(V) == 0
    if T.shape != (size + 1, size + 1) or V.shape != (0 if full else size, U.shape[1]) or (full and U.shape[1] != size):
        raise ValueError(f"U, V and T have shapes {U.shape}, {V.shape} and {T.shape}, which do not fit")
    for name, bounds, end in (("starts", starts, len(columns)), ("edges", edges, len(starts) - 1)):
        if bounds[0] != 0 or bounds[-1] != end or (np.diff(bounds) < 0).any():
            raise ValueError(f"{name} must rise from 0 to {end}")
    if len(columns) and not 0 <= columns.min() <= columns.max() < len(U):
        raise ValueError(f"columns must be rows of U, below {len(U)}; got {columns.min()} to {columns.max()}")

"""Doors to the loops that train scores of triples: losses over all candidates, steps of Adagrad, sums of rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen, in_spans
from polyadic.kernels.loops import triples

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def softmax_rows(
    S: NDArray[np.float32],
    *,
    starts: NDArray[Any],
    answers: NDArray[Any],
    weights: NDArray[Any] | None = None,
    threads: int = 1,
) -> float:
    r"""Turn scores into derivatives of :math:`t_i \log \sum_j w_j e^{s_{ij}} - \sum_a s_{ia}`; give its sum over rows.

    Parameters
    ----------
    S : float32 ndarray of shape (n, candidates)
        Written over.
    starts : ndarray of shape (n + 1,)
        Row ``i`` has the :math:`t_i` answers ``answers[starts[i]:starts[i + 1]]``.
    answers : ndarray of int
        Candidates.
    weights : ndarray of shape (candidates,), optional
        How many each stands for, above 0; those of answers are 1, as all are by default.
    threads : int
        The derivatives do not depend on how many, their sum does in its last bits.

    Raises
    ------
    ValueError
        If shapes do not fit or an answer is no candidate.
    """
    offsets = np.zeros(S.shape[1]) if weights is None else np.log(weights)
    return _rows(triples.softmax_rows, S, offsets, starts, answers, threads)


def logistic_rows(
    S: NDArray[np.float32],
    *,
    starts: NDArray[Any],
    answers: NDArray[Any],
    weights: NDArray[Any] | None = None,
    threads: int = 1,
) -> float:
    r"""Turn scores into derivatives of :math:`\sum_j w_j \log(1 + e^{s_{ij}}) - \sum_a s_{ia}`; give its sum over rows.

    Parameters and errors are those of :func:`softmax_rows`.
    """
    return _rows(
        triples.logistic_rows, S, np.ones(S.shape[1]) if weights is None else weights, starts, answers, threads
    )


def adagrad_step(
    X: NDArray[np.float32],
    H: NDArray[np.float32],
    G: NDArray[np.float32],
    *,
    rows: NDArray[Any],
    step: float,
    eps: float,
    threads: int = 1,
) -> None:
    r"""Move ``X[rows]`` by :math:`-\eta\, g / (\sqrt{h} + \epsilon)` after ``H[rows]`` has grown by :math:`g^2`.

    Parameters
    ----------
    X, H : float32 ndarray of shape (n, d)
        Changed.
    G : float32 ndarray of shape (m, d)
    rows : ndarray of int of shape (m,)
        Of ``X``, no two alike.
    step, eps : float

    Raises
    ------
    ValueError
        If shapes do not fit or a row is outside.
    """
    if X.shape != H.shape or G.shape != (len(rows), X.shape[1]):
        raise ValueError(f"G must have a row for each of {len(rows)} rows of X; got {G.shape}, {X.shape}, {H.shape}")
    _inside(rows, len(X))
    work = partial(triples.adagrad_step, X, H, frozen(G), frozen(rows, np.int64), np.float32(step), np.float32(eps))
    in_spans(work, len(rows), threads)


def add_rows(index: NDArray[Any], rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Add each of ``rows``, shape (m, d), to the row of ``out``, shape (n, d), that ``index`` names.

    Raises
    ------
    ValueError
        If shapes do not fit or a row is outside.
    """
    if rows.shape != (len(index), out.shape[1]):
        raise ValueError(f"rows must be one per index, as wide as out; got {rows.shape}, {len(index)}, {out.shape}")
    _inside(index, len(out))
    triples.add_rows(frozen(index, np.int64), frozen(rows, out.dtype), out)


def summed_rows(index: NDArray[Any], rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Give an array of ``size`` rows, each the sum of those of ``rows``, shape (m, d), that ``index`` sends there.

    Raises
    ------
    ValueError
        As in :func:`add_rows`.
    """
    total = np.zeros((size, rows.shape[1]), rows.dtype)
    add_rows(index, rows, total)
    return total


def _rows(
    loop: Callable[..., float],
    S: NDArray[np.float32],
    columns: NDArray[Any],
    starts: NDArray[Any],
    answers: NDArray[Any],
    threads: int,
) -> float:
    if S.dtype != np.float32 or not S.flags.c_contiguous or columns.shape != (S.shape[1],):
        raise ValueError(f"S must be contiguous and in single precision, with a weight per column; got {S.shape}")
    if starts.shape != (len(S) + 1,) or starts[0] != 0 or starts[-1] != len(answers) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts must rise from 0 to {len(answers)}, one more than {len(S)} rows")
    _inside(answers, S.shape[1])
    arrays = frozen(columns, np.float32), frozen(starts, np.int64), frozen(answers, np.int64)
    return sum(in_spans(partial(loop, S, *arrays), len(S), threads))


def _inside(index: NDArray[Any], size: int) -> None:
    if len(index) and not 0 <= index.min() <= index.max() < size:
        raise ValueError(f"indices must be from 0 to {size - 1}; got {index.min()} to {index.max()}")

r"""Stochastic average gradients, SAG and SAGA, for linear models and for matrix factorizations.

The gradient of example :math:`e` of a linear model is :math:`\alpha_e x_e`, so one scalar :math:`\alpha_e` is kept for
each example. A step draws an example, computes its new :math:`\alpha_e'`, and moves by

.. math:: w \leftarrow \mathrm{prox}\Big(w - \eta \big[(\alpha_e' - \alpha_e) x_e
          + \tfrac1n \textstyle\sum_k \alpha_k x_k + \lambda w\big]\Big)

(SAGA), or by the average that already contains :math:`\alpha_e'` (SAG). On strongly convex objectives the error falls
geometrically with a constant step. A matrix factorization is a linear model of the rows for given columns, and vice
versa: epochs over rows and over columns alternate, and share the scalar of each cell.

References
----------
Le Roux, Schmidt, Bach (2012), A stochastic gradient method with an exponential convergence rate for finite training
sets. Defazio, Bach, Lacoste-Julien (2014), SAGA: a fast incremental gradient method with support for non-strongly
convex composite objectives, algorithm 1. Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor
factorization methods for natural language processing, ACL tutorial, slide "Theoretical guarantees, new algorithms".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Factors
from polyadic.core.kernels import LinearExamples, saga_epoch
from polyadic.core.losses import Huber, Logistic, Loss, Squared
from polyadic.core.solvers.run import Sweep

KINDS = {Squared: 0, Logistic: 1, Huber: 2}  # losses that the kernel supports; Huber with the default width
CAUTION = 16.0
"""Divisor of SAG's step 1 / L for factorizations with squared or Huber loss, as in its proof: with 1 / L or 1 / (6 L)
the objective of MovieLens 100K rises and falls. With the logistic loss, whose L is a bound, 1 / L is stable and faster.
"""


def saga_weights(
    examples: LinearExamples,
    w: Array,
    *,
    loss: Loss,
    objective: Callable[[AnyArray], float],
    l2: AnyArray,
    l1: AnyArray,
    sag: bool,
    rng: np.random.Generator,
) -> Iterator[Sweep]:
    """Fit one linear model by SAG or SAGA; yield the weights at the start and after each epoch.

    ``l2`` and ``l1`` are the penalties of each weight in the sum of the losses, and ``objective`` computes that sum.
    """
    n, W = len(examples.y), np.array(w, float)[None]
    lengths = np.diff(examples.starts)
    m = examples.offsets + np.bincount(np.repeat(np.arange(n), lengths), examples.data * w[examples.columns], n)
    memory = examples.weights * loss.grad(examples.y, m)
    how: dict[str, Any] = {"kind": KINDS[type(loss)], "l2": l2[None] / n, "l1": l1[None] / n, "sag": sag}
    while True:
        yield Sweep([W[0].copy()], objective(W[0]))
        saga_epoch(examples, W, memory, rng=rng, threads=1, **how)


def saga_factors(
    cells: tuple[AnyArray, AnyArray, AnyArray],
    start: Factors,
    *,
    loss: Loss,
    objective: Callable[[AnyArray, AnyArray], float],
    penalties: tuple[AnyArray, AnyArray],
    count_power: float,
    biased: bool,
    sag: bool,
    rng: np.random.Generator,
    threads: int,
) -> Iterator[Sweep]:
    r"""Fit a matrix factorization by epochs of SAG or SAGA over the rows and over the columns.

    ``cells`` are rows, columns and values; biases are in the last column if ``biased``. Row :math:`i` of :math:`n_i`
    cells adds :math:`n_i^\gamma \sum_r \tfrac12 \lambda_r u_{ir}^2 + \mu_r |u_{ir}|`, with ``penalties``
    :math:`\lambda` and :math:`\mu` of each column and ``count_power`` :math:`\gamma`.
    """
    factors = [np.array(F, float) for F in start]
    *index, values = cells
    orders = [np.argsort(at, kind="stable") for at in index]
    counts = [np.bincount(at, minlength=len(F)) for at, F in zip(index, factors, strict=True)]
    n, rank = len(values), factors[0].shape[1]
    columns, starts = np.tile(np.arange(rank, dtype=np.int32), n), rank * np.arange(n + 1)
    how: dict[str, Any] = {"kind": KINDS[type(loss)], "sag": sag, "rng": rng, "threads": threads}
    how["shorter"] = 1.0 if isinstance(loss, Logistic) else CAUTION
    memory = None
    while True:
        yield Sweep([F.copy() for F in factors], objective(*factors))
        for side, order in enumerate(orders):
            other = factors[1 - side][index[1 - side][order]]
            offsets = other[:, -1].copy() if biased else np.zeros(n)
            if biased:
                other[:, -1] = 1
            models = np.concatenate([[0], np.cumsum(counts[side])])
            examples = LinearExamples(models, starts, columns, other.ravel(), values[order], offsets, np.ones(n))
            if memory is None:  # the slopes at the start
                own = np.einsum("nr,nr->n", other, factors[side][index[side][order]])
                memory = np.empty(n)
                memory[order] = loss.grad(values[order], own + offsets)
            part = memory[order]
            scale = np.maximum(counts[side], 1.0)[:, None] ** (count_power - 1)
            l2, l1 = (scale * penalty for penalty in penalties)
            saga_epoch(examples, factors[side], part, l2=l2, l1=l1, **how)
            memory[order] = part

r"""Stochastic descent for scores of triples: every question is put to all entities, or to a sample that is weighed.

The facts that share a known end and a relation ask one question, :math:`(s, r, ?)`, with answers :math:`T`; the
scores of all candidates for it are one row of a product of two matrices. One of two losses is summed over questions,

.. math:: |T| \log \sum_o e^{m_o} - \sum_{o \in T} m_o \qquad \text{or} \qquad
          \sum_o \log(1 + e^{m_o}) - \sum_{o \in T} m_o .

The first is the cross entropy of each fact by itself, added up: with the facts of a question together it costs one row
of scores, not :math:`|T|`. For FB15k-237 that is 3.6 times less, for the same gradient.

Candidates may be a sample. Those that a batch names are then all present, and :math:`c` others, drawn from the
remaining :math:`n`, count :math:`n / c` each, so that sums over candidates are right in expectation.

References
----------
Lacroix, Usunier, Obozinski (2018), Canonical tensor decomposition for knowledge base completion, sections 4 (N3) and 5
(each relation and its reciprocal; cross entropy; Adagrad). Dettmers, Minervini, Stenetorp, Riedel (2018), Convolutional
2D knowledge graph embeddings, section 3 (one question to all entities). Zhang, Cai, Wang (2020), Duality-induced
regularizer for tensor factorization based knowledge graph completion, equation 8. Duchi, Hazan, Singer (2011), Adaptive
subgradient methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.errors import check_choice, check_int, check_number
from polyadic.kernels import adagrad_step, add_rows, logistic_rows, softmax_rows, summed_rows
from polyadic.progress import bar
from polyadic.resources import MOST_THREADS, cores
from polyadic.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.bilinear import Bilinear
    from polyadic.forms import Factors

TripleLoss = Literal["softmax", "logistic"]
LOSSES = {"softmax": softmax_rows, "logistic": logistic_rows}
Penalty = Literal["N3", "L2", "DURA"]
EPS = 1e-10
"""Keeps the first step of an element whose gradient is zero finite."""


class Questions(NamedTuple):
    """Facts by what they share: a known end and a relation.

    Attributes
    ----------
    known, relations : ndarray of shape (q,)
    starts : ndarray of shape (q + 1,)
        Question ``i`` has the answers ``answers[starts[i]:starts[i + 1]]``.
    answers : ndarray of shape (facts,)
    backwards : bool
        Whether objects are known and subjects asked for.
    """

    known: NDArray[np.int64]
    relations: NDArray[np.int64]
    starts: NDArray[np.int64]
    answers: NDArray[np.int64]
    backwards: bool

    def take(self, which: NDArray[Any]) -> Questions:
        """Give some of the questions, in that order."""
        count = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(count)])
        places = np.repeat(self.starts[which] - starts[:-1], count) + np.arange(starts[-1])
        return Questions(self.known[which], self.relations[which], starts, self.answers[places], self.backwards)


def questions_of(facts: NDArray[np.int64], *, backwards: bool = False) -> Questions:
    """Group facts, shape (n, 3), subject, relation and object; each counts once, however often it is listed.

    Examples
    --------
    >>> asked = questions_of(np.array([[0, 0, 2], [1, 0, 2], [0, 0, 1]]))
    >>> asked.known.tolist(), asked.starts.tolist(), asked.answers.tolist()
    ([0, 1], [0, 2, 3], [1, 2, 2])
    """
    rows = np.unique(facts[:, [2, 1, 0]] if backwards else facts, axis=0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    starts = np.append(np.flatnonzero(new), len(rows))
    return Questions(rows[new, 0], rows[new, 1], starts, rows[:, 2].copy(), backwards)


class Plan(NamedTuple):
    r"""How triples are fitted.

    Attributes
    ----------
    loss : {"softmax", "logistic"}
    penalty : {"N3", "L2", "DURA"}
        Of each fact: the cubes of the moduli of its three vectors; their squares; or the squares of the query and of
        the vector that answers it.
    strength : float
        :math:`\lambda` before it.
    step : float
        Of Adagrad: how far an element moves at first; of an n x n matrix, :math:`n^{-1/2}` of it.
    batch : int
        Questions of a step.
    candidates : int or None
        How many are drawn beside those that a batch names; all if None.
    """

    loss: TripleLoss = "softmax"
    penalty: Penalty = "N3"
    strength: float = 0.05
    step: float = 0.1
    batch: int = 500
    candidates: int | None = None

    def check(self) -> None:
        """Refuse what is out of range, by an InputError."""
        check_choice("loss", self.loss, get_args(TripleLoss))
        check_choice("penalty", self.penalty, get_args(Penalty))
        check_number("strength", self.strength)
        check_number("step", self.step, above=True)
        check_int("batch", self.batch, low=1)
        if self.candidates is not None:
            check_int("candidates", self.candidates, low=1)


def descend_triples(
    form: Bilinear,
    start: Factors,
    questions: Sequence[Questions],
    plan: Plan,
    *,
    ends: tuple[int, int],
    rng: np.random.Generator,
    threads: int | None = None,
    fixed: int = 0,
) -> Iterator[Sweep]:
    """Descend the loss and the penalty of all questions, in random batches.

    Parameters
    ----------
    form : Bilinear
    start : list of ndarray
        Factors of entities, of shape (n, width) each, then what the form holds of relations. Not changed.
    questions : sequence of Questions
        An epoch goes once through all of each.
    plan : Plan
    ends : (int, int)
        Which factor is that of subjects, and which that of objects.
    rng : numpy.random.Generator
    threads : int, optional
        Of what is done between products of matrices; all cores by default. Products take those of the BLAS.
    fixed : int
        Entities, the first, that stay as they are, and with them, if there are any, the relations.

    Yields
    ------
    Sweep
        After each epoch, the factors, and the objective of a fact, the mean over the epoch while they moved; at the
        start that of the first batch.

    Raises
    ------
    InputError
        If a number of the plan, or ``threads``, is out of range.
    """
    plan.check()
    threads = cores() if threads is None else check_int("threads", threads, low=1, high=MOST_THREADS)
    descent = _Descent(form, start, plan, ends, rng, threads, fixed)
    first = next(_batches(questions, plan.batch, rng))
    yield Sweep([x.copy() for x in descent.factors], descent.step(first, move=False) / len(first.answers))
    facts = sum(len(asked.answers) for asked in questions)
    while True:
        total = 0.0
        with bar("facts", facts) as advance:
            for batch in _batches(questions, plan.batch, rng):
                total += descent.step(batch)
                advance(len(batch.answers))
        yield Sweep([x.copy() for x in descent.factors], total / facts)


def _batches(questions: Sequence[Questions], batch: int, rng: np.random.Generator) -> Iterator[Questions]:
    """Give random batches of one direction each, the directions mixed."""
    parts: list[tuple[Questions, NDArray[Any]]] = []
    for asked in questions:
        order = rng.permutation(len(asked.known))
        parts += [(asked, order[low : low + batch]) for low in range(0, len(order), batch)]
    for k in rng.permutation(len(parts)).tolist():
        yield parts[k][0].take(parts[k][1])


class _Descent:
    """Factors as they move, and the squares of gradients that Adagrad remembers."""

    def __init__(
        self,
        form: Bilinear,
        start: Factors,
        plan: Plan,
        ends: tuple[int, int],
        rng: np.random.Generator,
        threads: int,
        fixed: int,
    ) -> None:
        self.form, self.plan, self.ends, self.rng, self.threads, self.fixed = form, plan, ends, rng, threads, fixed
        self.factors = [np.array(x, np.float32) for x in start]
        self.squares = [np.zeros_like(x) for x in self.factors]
        self.first = max(ends) + 1  # of what belongs to relations
        self.power = 3 if plan.penalty == "N3" else 2

    def step(self, asked: Questions, *, move: bool = True) -> float:
        """Give the objective of questions, and move."""
        given, sought = self.ends[::-1] if asked.backwards else self.ends
        A, B = self.factors[given], self.factors[sought]
        columns, weights = self._candidates(asked, B, tied=given == sought)
        place = np.empty(len(B), np.int64)
        place[columns] = np.arange(len(columns))
        answers, count = place[asked.answers], np.diff(asked.starts).astype(np.float32)
        b = B if len(columns) == len(B) else B[columns]
        kinds, r = np.unique(asked.relations, return_inverse=True)  # no other relation moves
        a, R = A[asked.known], [self.factors[self.first][kinds], *self.factors[self.first + 1 :]]
        q, pullback = self.form.query(a, r, R, backwards=asked.backwards)
        S = q @ b.T
        value = LOSSES[self.plan.loss](S, starts=asked.starts, answers=answers, weights=weights, threads=self.threads)
        db, dq = S.T @ q, S @ b
        said = np.bincount(answers, minlength=len(b)).astype(np.float32)
        value += self._penalise(b, said, db, self.form.blocks)
        if self.plan.penalty == "DURA":
            value += self._penalise(q, count, dq, self.form.blocks)
        da, dR = pullback(dq)
        if self.plan.penalty != "DURA":
            value += self._penalise(a, count, da, self.form.blocks)
            value += self._penalise_relations(R, r, count, dR)
        if move:
            scale = np.float32(1 / len(answers))
            rows, da = _summed(asked.known, da)
            if given == sought:
                add_rows(place[rows], da, db)
            else:
                self._move(given, da * scale, rows)
            self._move(sought, db * scale, columns)
            for k, gradient in enumerate(dR, self.first):
                self._move(k, gradient * scale, kinds if k == self.first else np.arange(len(gradient)))
        return value

    def _candidates(
        self, asked: Questions, B: NDArray[Any], *, tied: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Give entities that are candidates, and how many each stands for; known ends, if they share a factor, too."""
        named = np.unique(np.concatenate([asked.answers, asked.known]) if tied else asked.answers)
        drawn, rest = self.plan.candidates, len(B) - len(named)
        if drawn is None or drawn >= rest:
            return np.arange(len(B)), None
        absent = np.ones(len(B), bool)
        absent[named] = False
        more = self.rng.choice(np.flatnonzero(absent), drawn, replace=False, shuffle=False)
        return np.concatenate([named, more]), np.repeat([1.0, rest / drawn], [len(named), drawn])

    def _penalise(self, x: NDArray[Any], weights: NDArray[Any], gradient: NDArray[Any], blocks: int) -> float:
        """Add the gradient of the penalty of rows, each ``weights`` times, and give its value."""
        strength = np.float32(self.plan.strength)
        if self.power == 2:
            gradient += (2 * strength) * weights[:, None] * x
            return float(strength * (weights @ (x**2).sum(axis=1)))
        parts = x.reshape(len(x), blocks, -1)
        modulus = np.sqrt((parts**2).sum(axis=1)) if blocks > 1 else np.abs(x)
        gradient += (3 * strength) * weights[:, None] * (modulus[:, None] * parts).reshape(x.shape)
        return float(strength * (weights @ (modulus**3).sum(axis=1)))

    def _penalise_relations(
        self, R: list[NDArray[Any]], r: NDArray[Any], count: NDArray[Any], dR: list[NDArray[Any]]
    ) -> float:
        """Penalise what is known of relations as often as facts have them, and what all share by every fact."""
        rows = np.bincount(r, weights=count, minlength=len(R[0])).astype(np.float32)
        value = 0.0
        for k, (x, gradient) in enumerate(zip(R, dR, strict=True)):
            weights = rows if k == 0 else np.full(len(x), count.sum(), np.float32)
            value += self._penalise(x.reshape(len(x), -1), weights, gradient.reshape(len(x), -1), self.form.blocks)
        return value

    def _move(self, k: int, gradient: NDArray[Any], rows: NDArray[Any]) -> None:
        if self.fixed:
            if k >= self.first:
                return
            gradient, rows = gradient[rows >= self.fixed], rows[rows >= self.fixed]
        x, h = (array.reshape(len(array), -1) for array in (self.factors[k], self.squares[k]))
        g = gradient.reshape(len(gradient), -1)
        # The elements of a matrix move together: as far as one of a vector each, they would soon outweigh its start.
        step = self.plan.step / np.sqrt(gradient.shape[-1] if gradient.ndim > 2 else 1)
        adagrad_step(x, h, g, rows=rows, step=step, eps=EPS, threads=self.threads)


def _summed(index: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add up the rows of the same index."""
    names, which = np.unique(index, return_inverse=True)
    return names, summed_rows(which, rows, len(names))

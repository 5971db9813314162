r"""Supervised analogy recovery: linear maps learned from training questions answer other analogy questions.

For unit vectors of "a is to b as c is to d", with :math:`x = [-v_a, v_b, v_c]` and :math:`W = [W_1, W_2, W_3]`,

.. math:: \hat v = W x = -W_1 v_a + W_2 v_b + W_3 v_c, \qquad
          \min_W \sum_i \|v_{d_i} - W x_i\|^2 + \lambda \sum_k \|W_k - I\|_F^2 .

Bailey and Aeron start at the identity, where :math:`\hat v` is that of 3CosAdd, and make one pass of Adam. Here the
minimum is computed exactly; :math:`\lambda = \infty` is 3CosAdd, :math:`\lambda = 0` least squares.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.progress import bar
from polyadic.metrics.analogies import BLOCK, KINDS, Question, answered, kind_of, known_questions, pair_figure, pairs_of
from polyadic.metrics.sentiment import SHARES, check_shares, check_test, first

if TYPE_CHECKING:
    from polyadic.embedding import Embedding
    from polyadic.metrics.figures import Figure

PENALTIES = (math.inf, *(10.0 ** (k / 2) for k in range(4, -9, -1)))
"""Grid of penalties: infinity, then 100 to 0.0001 in steps of half a power of ten."""

FOLDS = 5  # of the pairs of a training part


class CoveredQuestions(NamedTuple):
    """Distinct analogy questions whose words are all in the vocabulary, sorted alphabetically."""

    questions: list[Question]
    kinds: list[str]  # semantic or syntactic, of each
    rows: Ints  # of their words in the vocabulary, (n, 4)
    repeated: int  # further copies of them
    totals: dict[str, int]  # all questions, known or not, by kind


class RecoveryFit(NamedTuple):
    """Number of training questions and selected penalty of a fit; an infinite penalty corresponds to 3CosAdd."""

    trained: int
    penalty: float


@dataclass(frozen=True, eq=False)
class Recovery:
    """Accuracy on analogy questions after training on other questions."""

    split: str
    """``"questions"`` or ``"pairs"``."""
    asked: CoveredQuestions = field(repr=False)
    """The covered questions, in the order of the columns of the arrays below."""
    fits: dict[float, list[RecoveryFit]]
    """Number of training questions and penalty of each run, by share of the training part."""
    tested: Mask = field(repr=False)
    """Whether each question was in the test part of each run; shape (runs, covered)."""
    right: dict[float, Mask] = field(repr=False)
    """Whether it was answered correctly, by share; share 0 is the untrained 3CosAdd; shape (runs, covered)."""

    @property
    def covered(self) -> int:
        """Number of distinct questions whose four words are all in the vocabulary."""
        return len(self.asked.questions)

    @property
    def total(self) -> int:
        """Number of all questions, including repetitions."""
        return sum(self.asked.totals.values())

    @property
    def tests(self) -> dict[str, int]:
        """Number of test questions of each kind in all runs; kinds without test questions are omitted."""
        tests = {kind: int(self.tested[:, self._of(kind)].sum()) for kind in KINDS}
        return {kind: number for kind, number in tests.items() if number}

    @property
    def accuracy(self) -> dict[tuple[str, float], float]:
        """Accuracy by kind of question and by the share of the training set that was used (0 for no training)."""
        return {
            (kind, share): float(right[:, self._of(kind)].sum() / number)
            for kind, number in self.tests.items()
            for share, right in self.right.items()
        }

    @property
    def untrained(self) -> dict[str, float]:
        """Accuracy of untrained 3CosAdd by kind of question."""
        return {kind: self.accuracy[kind, 0.0] for kind in self.tests}

    def as_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, with None for an infinite penalty."""
        accuracy = self.accuracy
        return {
            "split": self.split,
            "covered": self.covered,
            "repeated": self.asked.repeated,
            "total": self.total,
            "runs": len(self.tested),
            "tests": self.tests,
            "accuracy": {kind: {str(share): accuracy[kind, share] for share in self.right} for kind in self.tests},
            "trained": {str(share): [fit.trained for fit in fits] for share, fits in self.fits.items()},
            "penalties": {
                str(share): [None if math.isinf(fit.penalty) else fit.penalty for fit in fits]
                for share, fits in self.fits.items()
            },
        }

    def __str__(self) -> str:
        accuracy = self.accuracy
        of_kind = {kind: [f"{accuracy[kind, share]:.3f} at {share:.0%}" for share in self.right] for kind in self.tests}
        kinds = "; ".join(f"{kind} {', '.join(values)}" for kind, values in of_kind.items())
        return f"split by {self.split}: {kinds} ({self.covered:,} different questions known, {self.total:,} asked)"

    def figures(self, prefix: str) -> list[Figure]:
        """Return the accuracy by kind of question and training share as metrics with bootstrap confidence intervals.

        The resampling units are word pairs, because questions that share a pair are dependent; see
        :func:`~polyadic.metrics.analogies.pair_figure`.
        """
        figures = []
        times = self.tested.sum(axis=0)
        for kind in self.tests:
            for share, right in self.right.items():
                counts = zip(self.asked.questions, right.sum(axis=0), times, self._of(kind), strict=True)
                asked = [(question, float(r), float(n)) for question, r, n, belongs in counts if belongs and n]
                name = f"{prefix} {kind} accuracy at {share:.0%}"
                figures.append(pair_figure(name, asked, used=len(asked), total=self.asked.totals[kind]))
        return figures

    def _of(self, kind: str) -> Mask:
        return np.array([k == kind for k in self.asked.kinds], dtype=bool)


def recovery(
    embedding: Embedding,
    sections: Mapping[str, Iterable[Question]],
    *,
    split: str = "questions",
    shares: Iterable[float] = SHARES,
    test: float = 0.15,
    penalty: float | None = None,
    exclude: bool = True,
    limit: int | None = None,
    runs: int = 5,
    seed: int = 0,
) -> Recovery:
    r"""Learn to answer analogies from a training set of questions, and evaluate on a test set.

    One map is learned from all kinds of questions. The answer is the word whose cosine with :math:`\hat v` is largest.
    Words are in lower case if the whole vocabulary is; repeated questions count once.

    Test sets combine few word pairs into many questions: Google's 19,544 questions combine 549 pairs. With a random
    split of questions, the pair that answers a test question was also the answer of training questions, so the test
    measures memorization of pairs: random vectors answer nine out of ten correctly. ``split="pairs"`` measures
    generalization to unseen pairs, which is zero for random vectors. Splits depend only on the seed and on the covered
    questions. InputError is raised if no question is covered, none is left to train or to test, or an argument is out
    of range.

    Parameters
    ----------
    embedding : Embedding
        Word vectors; their policy for unknown words is ignored.
    sections : mapping of str to iterable of (a, b, c, d)
        Questions by section. Sections whose names begin with "gram", or are empty (MSR), are syntactic, the others
        semantic.
    split : {"questions", "pairs"}
        Unit of the split. ``"questions"`` draws test questions, as Bailey and Aeron do. ``"pairs"`` draws word pairs in
        either order: test questions combine two of them, training questions none, and mixed questions are left out. The
        number of pairs is chosen so that the test part has the same share of the questions: 39% of the pairs for 15%.
        (Single words may still occur on both sides, such as the state of two cities.)
    shares, test, runs, seed
        As for :func:`~polyadic.metrics.sentiment.sentiment`, with questions for reviews.
    penalty : float, optional
        Penalty :math:`\lambda` as a multiple of the mean eigenvalue of :math:`X^\top X`, at least 0; ``math.inf``
        disables training. By default the one of ``PENALTIES`` with the largest mean cosine of prediction and answer in
        cross-validation on the training part: leave-one-out if questions were split, else over folds of pairs. (Squared
        error would favour short predictions, which do not affect the cosine.) Without a usable fold there is no
        training.
    exclude : bool
        Whether to exclude the three words of a question from its answers; the paper did not.
    limit : int, optional
        Size of the vocabulary: only the first words are used, in questions and as answers.

    References
    ----------
    Bailey and Aeron (2017), Word embeddings via tensor factorization, section 6.2.2. arXiv:1704.02686. Jastrzebski,
    Lesniak and Czarnecki (2017), How to evaluate word embeddings? arXiv:1702.02170.

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> rng = np.random.default_rng(0)
    >>> left = rng.normal(size=(9, 4))
    >>> words = Embedding([f"{side}{n}" for side in "lr" for n in range(9)], np.concatenate([left, left[:, ::-1]]))
    >>> asked = [(f"l{i}", f"r{i}", f"l{j}", f"r{j}") for i in range(9) for j in range(9) if i != j]
    >>> print(recovery(words, {"mirrored": asked}, split="pairs", shares=[1.0]))
    split by pairs: semantic 0.100 at 0%, 1.000 at 100% (72 different questions known, 72 asked)
    """
    check_choice("split", split, ("questions", "pairs"))
    check_int("runs", runs, low=1)
    check_int("seed", seed, low=0)
    if penalty is not None and not penalty >= 0:
        raise InputError(f"penalty must be a number of at least 0, or infinite; got {penalty!r}", "penalty")
    shares, test = check_shares(shares), check_test(test)
    size = len(embedding) if limit is None else min(check_int("limit", limit, low=1), len(embedding))
    asked = _ask(embedding, sections, size)
    pairs = pairs_of(asked.questions)
    answer = functools.partial(_answer, embedding.unit[:size], exclude=exclude)
    tested = np.zeros((runs, len(pairs)), dtype=bool)
    right = {share: np.zeros_like(tested) for share in (0.0, *shares)}
    fits: dict[float, list[RecoveryFit]] = {share: [] for share in shares}
    with bar("analogy recovery", total=runs * len(shares)) as advance:
        for run in range(runs):
            training, testing, folds = _divide(pairs, split, test, np.random.default_rng([seed, run]))
            x, start, _ = _vectors(embedding.unit, asked.rows[testing])
            tested[run, testing] = True
            right[0.0][run, testing] = answer(start, asked.rows[testing])
            for share in shares:
                part = first(training, share)
                near = None if folds is None else folds[part]
                maps, chosen = _train(*_vectors(embedding.unit, asked.rows[part]), near, penalty)
                right[share][run, testing] = answer(start + x @ maps, asked.rows[testing])
                fits[share].append(RecoveryFit(len(part), chosen))
                advance()
    return Recovery(split, asked, fits=fits, tested=tested, right=right)


def _ask(embedding: Embedding, sections: Mapping[str, Iterable[Question]], size: int) -> CoveredQuestions:
    fold: Callable[[str], str] = str.lower if embedding.lowercase else str
    kinds: dict[Question, str] = {}
    copies, totals = 0, dict.fromkeys(KINDS, 0)
    for name, questions in sections.items():
        listed = list(questions)
        totals[kind_of(name)] += len(listed)
        known, _ = known_questions(embedding, listed, size)
        copies += len(known)
        for a, b, c, d in known:
            kinds.setdefault((fold(a), fold(b), fold(c), fold(d)), kind_of(name))
    if not kinds:
        total = sum(totals.values())
        raise InputError(f"none of the {total:,} questions has all four words in the vocabulary of {size:,} words")
    different, rows = known_questions(embedding, sorted(kinds), size)
    return CoveredQuestions(
        different, [kinds[question] for question in different], rows, copies - len(different), totals
    )


def _divide(pairs: Ints, split: str, test: float, rng: np.random.Generator) -> tuple[Ints, Ints, Ints | None]:
    """Split analogy questions at random into a shuffled training set and a test set; assign folds if split by pairs."""
    folds = None
    if split == "questions":
        order = rng.permutation(len(pairs))
        size = round(test * len(pairs))
        training, testing = order[size:], order[:size]
    else:
        tested = np.zeros(pairs.max() + 1, dtype=bool)
        tested[rng.permutation(len(tested))[: round(math.sqrt(test) * len(tested))]] = True
        inside = tested[pairs].sum(axis=1)
        training, testing = rng.permutation(np.flatnonzero(inside == 0)), np.flatnonzero(inside == 2)
        folds = (rng.permutation(len(tested)) % FOLDS)[pairs]
    if not len(training) or not len(testing):
        raise InputError(
            f"splitting {len(pairs):,} questions with {pairs.max() + 1:,} word pairs by split={split!r} leaves"
            f" {len(training):,} for training and {len(testing):,} for testing; use more questions, or change"
            f" test={test:g}",
            "split",
            "test",
        )
    return training, testing, folds


def _vectors(unit: AnyArray, rows: Ints) -> tuple[Array, Array, Array]:
    """Return the input vector ``x``, the 3CosAdd prediction and the answer vector of each question."""
    a, b, c, d = unit[rows.T].astype(np.float64)
    return np.hstack([-a, b, c]), b - a + c, d


def _answer(unit: AnyArray, predictions: Array, rows: Ints, *, exclude: bool) -> Mask:
    step = max(1, BLOCK // len(unit))
    blocks = [slice(at, at + step) for at in range(0, len(rows), step)]
    return np.concatenate(
        [answered(predictions[b].astype(unit.dtype) @ unit.T, rows[b], exclude=exclude) for b in blocks]
    )


class _Ridge(NamedTuple):
    r"""Ridge regression of T on X that minimizes :math:`\|T - X E\|^2 + \lambda \|E\|^2` for any penalty.

    With :math:`X^\top X = V w V^\top` (primal), or :math:`X X^\top = U w U^\top` (dual) if that is smaller,

    .. math:: E = V (w + \lambda)^{-1} (X V)^\top T = X^\top U (w + \lambda)^{-1} U^\top T .

    Only eigenvalues above rounding error are kept: :math:`\lambda = 0` gives the minimum-norm least squares solution.
    """

    left: Array  # V or X' U, of shape (p, k)
    right: Array  # X V or U, of shape (n, k)
    w: Array  # of shape (k,)
    target: Array  # right' T, of shape (k, R)

    def solution(self, penalty: float) -> Array:
        return (self.left / (self.w + penalty)) @ self.target


def _ridge(X: Array, T: Array) -> _Ridge:
    dual = X.shape[0] < X.shape[1]
    w, V = np.linalg.eigh(X @ X.T if dual else X.T @ X)
    kept = w > w[-1] * max(X.shape) * np.finfo(float).eps
    w, V = w[kept], V[:, kept]
    left, right = (X.T @ V, V) if dual else (V, X @ V)
    return _Ridge(left, right, w, right.T @ T)


def _train(X: Array, start: Array, answers: Array, folds: Ints | None, penalty: float | None) -> tuple[Array, float]:
    """Fit a linear correction of 3CosAdd by ridge regression; return the correction and the penalty."""
    ridge = _ridge(X, answers - start)
    scale = float((X**2).sum()) / X.shape[1] or 1.0
    if penalty is None:
        grid = [relative * scale for relative in PENALTIES]
        if folds is None:
            cosines = _leave_one_out(ridge, X, start, answers, grid)
        else:
            cosines = _leave_pairs_out(X, start, answers, folds, grid)
        penalty = PENALTIES[int(np.argmax(cosines))]  # of equals the largest, which comes first
    return ridge.solution(penalty * scale), penalty


def _leave_one_out(ridge: _Ridge, X: Array, start: Array, answers: Array, penalties: Sequence[float]) -> list[float]:
    r"""Return the mean leave-one-out cosine between predictions and answers for each penalty.

    With :math:`h_i` the diagonal of :math:`X (X^\top X + \lambda I)^{-1} X^\top`, the residual without question
    :math:`i` is the residual with it over :math:`1 - h_i` (Allen 1974, Golub, Heath and Wahba 1979).
    """
    fit = X @ ridge.left
    cosines = []
    for penalty in penalties:
        leverage = (fit * ridge.right) @ (1 / (ridge.w + penalty))
        residuals = answers - start - (fit / (ridge.w + penalty)) @ ridge.target
        cosines.append(float(_cosines(answers - residuals / (1 - leverage)[:, None], answers).mean()))
    return cosines


def _leave_pairs_out(X: Array, start: Array, answers: Array, folds: Ints, penalties: Sequence[float]) -> list[float]:
    """Return the mean cosine of predictions and answers by penalty; a fold tests questions with both pairs in it."""
    cosines = np.zeros(len(penalties))
    for fold in range(FOLDS):
        inside = (folds == fold).sum(axis=1)
        training, testing = inside == 0, inside == 2
        if not training.any() or not testing.any():
            continue
        ridge = _ridge(X[training], answers[training] - start[training])
        fit = X[testing] @ ridge.left
        for at, penalty in enumerate(penalties):
            predictions = start[testing] + (fit / (ridge.w + penalty)) @ ridge.target
            cosines[at] += _cosines(predictions, answers[testing]).sum()
    return (cosines / len(X)).tolist()


def _cosines(predictions: Array, answers: Array) -> Array:
    """Return the cosine between each prediction and the unit vector of the answer; 0 for zero predictions."""
    lengths = np.linalg.norm(predictions, axis=1)
    dots = np.einsum("nr,nr->n", predictions, answers)
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)

"""Filtered ranks against a slow twin and by hand; areas under the curve of precision over recall."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.metrics.ranking import CELL, Ranking, precision_recall, ranking


def slow_rank(scores, hidden, others):
    """Rank among candidates: the mean over the best and the worst order of ties."""
    left = [value for at, value in enumerate(scores) if at == hidden or at not in others]
    best = 1 + sum(value > scores[hidden] for value in left)
    worst = sum(value >= scores[hidden] for value in left)
    return (best + worst) / 2


def slow_ranks(cells, test, known):
    """Rank objects and subjects one by one, by scores of shape (subjects, relations, objects)."""
    true = {tuple(fact) for fact in known}
    size = len(cells)
    objects = [slow_rank(cells[s, r], o, {e for e in range(size) if (s, r, e) in true}) for s, r, o in test]
    subjects = [slow_rank(cells[:, r, o], s, {e for e in range(size) if (e, r, o) in true}) for s, r, o in test]
    kinds = range(cells.shape[1])
    relations = [slow_rank(cells[s, :, o], r, {k for k in kinds if (s, k, o) in true}) for s, r, o in test]
    return objects, subjects, relations


def by_cells(cells):
    """Give all functions of scores."""
    return {
        "objects": lambda s, r: cells[s, r],
        "subjects": lambda o, r: cells[:, r, o].T,
        "relations": (cells.shape[1], lambda s, o: cells[s, :, o]),
        "entities": len(cells),
    }


@st.composite
def bases(draw):
    """Scores with many ties, facts to predict, and known ones, some of them twice."""
    size, kinds = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    end, kind = st.integers(0, size - 1), st.integers(0, kinds - 1)
    facts = st.lists(st.tuples(end, kind, end), max_size=12)
    values = draw(st.lists(st.integers(-2, 2), min_size=size * size * kinds, max_size=size * size * kinds))
    cells = np.array(values, float).reshape(size, kinds, size)
    return cells, draw(facts), draw(facts), draw(st.integers(1, 3 * CELL * size))


@given(bases())
def test_slow_twin(base):
    """Whatever the block, ranks are those of the definition, and monotone transformations leave them alone."""
    cells, test, known, memory = base
    found = ranking(test, known, memory=memory, **by_cells(cells))
    assert tuple(ranks.tolist() for ranks in found) == slow_ranks(cells, test, known)
    for same in (np.exp(cells), 3 * cells - 7, cells.astype(np.float32), cells.astype(int)):
        np.testing.assert_array_equal(ranking(test, known, **by_cells(same)).ranks, found.ranks)


@given(bases())
def test_facts_reversed(base):
    """Objects of facts are subjects of the facts turned round."""
    cells, test, known, _ = base
    found = ranking(test, known, **by_cells(cells))
    turned = ranking([f[::-1] for f in test], [f[::-1] for f in known], **by_cells(cells.transpose(2, 1, 0)))
    assert (turned.subjects.tolist(), turned.objects.tolist()) == (found.objects.tolist(), found.subjects.tolist())


def test_constant_scores_earn_the_mean():
    """A model of equal scores has the mean rank of one that guesses, not the first nor the last."""
    found = ranking([[2, 0, 4]], [], entities=9, objects=lambda s, _: np.zeros((len(s), 9)))
    assert (found.objects.tolist(), found.subjects.tolist()) == ([5.0], [])


def test_blocks_fit_the_budget():
    """No more facts are scored at once than the budget allows, and one at least."""
    asked = []

    def scores(subjects, relations):
        asked.append(len(subjects))
        return np.zeros((len(subjects), 5))

    facts = [[0, 0, k % 5] for k in range(7)]
    for memory in (3 * CELL * 5, 1):
        ranking(facts, facts, entities=5, objects=scores, memory=memory)
    assert asked == [3, 3, 1, *[1] * 7]


def test_measures_by_hand():
    """Ranks of 1, 2 and 4, and a tie between 2 and 3."""
    found = Ranking(np.array([1.0, 4.0]), np.array([2.0, 2.5]), np.zeros(0))
    assert found.mean_reciprocal_rank == pytest.approx((1 + 1 / 4 + 1 / 2 + 1 / 2.5) / 4)
    assert [found.hits_at(k) for k in (1, 2, 3, 10)] == [0.25, 0.5, 0.75, 1.0]
    empty = ranking([], [], entities=3, objects=lambda s, _: np.zeros((len(s), 3)))
    assert math.isnan(empty.mean_reciprocal_rank)
    assert math.isnan(empty.hits_at(1))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"objects": None}, "at least one score function is required"),
        ({"objects": lambda s, _: np.zeros((len(s), 2))}, r"shape \(1, 3\); got float64 of shape \(1, 2\)"),
        ({"objects": lambda s, _: np.full((len(s), 3), [0, 1, np.nan])}, "must not be NaN"),
        ({"test": [[0, 0, 3]]}, "test must contain non-negative relation ids and entity ids from 0 to 2"),
        ({"known": [[0, -1, 0]]}, "known must contain non-negative relation ids"),
        ({"known": [[0, 0]]}, r"known must be an integer array of shape \(n, 3\)"),
        ({"known": [[0, 2**62, 0]]}, "contains ids that are too large"),
        ({"test": [[0.0, 0.0, 1.0]]}, "test must be an integer array"),
        ({"memory": 0}, "memory must be a whole number of at least 1"),
    ],
)
def test_faults_are_named(changed, fault):
    """What cannot be ranked is refused."""
    given_ = {"test": [[0, 0, 1]], "known": [], "entities": 3, "objects": lambda s, _: np.zeros((len(s), 3))}
    given_ |= changed
    with pytest.raises(InputError, match=fault):
        ranking(given_.pop("test"), given_.pop("known"), **given_)


def slow_areas(truth, scores):
    """Go down the thresholds and add a step, and a trapezoid, for each."""
    recall, precision, staircase, trapezoid = 0.0, 1.0, 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        named = [y for y, s in zip(truth, scores, strict=True) if s >= threshold]
        now, exact = sum(named) / sum(truth), sum(named) / len(named)
        staircase += (now - recall) * exact
        trapezoid += (now - recall) * (exact + precision) / 2
        recall, precision = now, exact
    return staircase, trapezoid


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3))), st.integers(-3, 3))
def test_areas(pairs, score):
    """Both areas are those of the definition, and monotone transformations leave them alone."""
    truth, scores = zip(*pairs, (True, score), strict=True)
    found = precision_recall(truth, scores)
    assert found == pytest.approx(slow_areas(truth, scores))
    assert precision_recall(truth, np.exp(scores)) == found


def test_areas_of_extremes():
    """A perfect order has area 1; equal scores have the share of what is true, the trapezoid its mean with 1."""
    assert precision_recall([1, 1, 0], [3, 2, 1]) == (1.0, 1.0)
    assert precision_recall([1, 0, 0, 0], [1, 1, 1, 1]) == (0.25, 0.625)


@pytest.mark.parametrize(
    ("truth", "scores", "fault"),
    [
        ([True], [1, 2], "vectors of equal length"),
        ([False, False], [1, 2], "at least one True"),
        ([2, 1], [1, 2], "must consist of True and False"),
        ([True, False], [1, np.inf], "finite"),
    ],
)
def test_areas_need_truth(truth, scores, fault):
    """What has no curve is refused."""
    with pytest.raises(InputError, match=fault):
        precision_recall(truth, scores)

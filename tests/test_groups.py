"""Groups of candidates: what is chosen, what it costs, and what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.core.query_groups import QueryGroups


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_choice_agrees_with_a_loop(sizes, random):
    """The best of each group, the first of equals; parts of groups are groups."""
    n = sum(sizes)
    costs = np.array([random.choice([0.0, 0.5, 1.0]) for _ in range(n)])
    scores = np.array([random.choice([-1.0, 0.0, 2.0]) for _ in range(n)])
    groups = QueryGroups.of(np.eye(n), costs=costs, group=np.repeat(np.arange(len(sizes)), sizes))
    ends = np.r_[0, np.cumsum(sizes)]
    assert groups.starts.tolist() == ends.tolist()
    assert groups.choice(scores).tolist() == [a + int(np.argmax(scores[a:b])) for a, b in itertools.pairwise(ends)]
    assert groups.oracle.tolist() == [a + int(np.argmin(costs[a:b])) for a, b in itertools.pairwise(ends)]
    assert groups.cost(groups.oracle) <= groups.cost(groups.choice(scores))
    back = groups.only(np.arange(len(sizes))[::-1])
    np.testing.assert_array_equal(back.costs[back.oracle], costs[groups.oracle][::-1])
    some = groups[len(sizes) // 2 :]
    np.testing.assert_array_equal(some.features.toarray(), np.eye(n)[ends[len(sizes) // 2] :])


@pytest.mark.parametrize(
    ("costs", "group", "fault"),
    [
        ([0, 1, 0], [0, 1, 0], "must be consecutive"),
        ([0, -1, 0], [0, 0, 1], "not negative"),
        ([0, np.nan, 0], [0, 0, 1], "row 1 of costs is missing"),
        ([0, 1], [0, 0, 1], "one cost for each of 3 candidates"),
        ([0, 1, 0], [0, 0], "one group label for each of 3 candidates"),
    ],
)
def test_faults_are_named(costs, group, fault):
    """Lists that do not fit are refused."""
    with pytest.raises(InputError, match=fault):
        QueryGroups.of(np.eye(3), costs=costs, group=group)


def test_other_faults():
    """So are features and scores that are not finite, and an empty part."""
    with pytest.raises(InputError, match="features must be finite"):
        QueryGroups.of([[np.inf]], costs=[0], group=[0])
    groups = QueryGroups.of(np.eye(2), costs=[0, 1], group=[0, 0])
    with pytest.raises(InputError, match="one finite score"):
        groups.choice([0, np.nan])
    with pytest.raises(InputError, match="slice of groups"):
        groups[1:]

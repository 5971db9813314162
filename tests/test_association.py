"""Measures of association: hand-worked values, another library, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from polyadic.metrics.association import log_dice, log_likelihood, pmi

TABLES = st.tuples(*[st.integers(0, 500)] * 4).filter(
    lambda t: min(t[0] + t[1], t[0] + t[2], t[1] + t[3], t[2] + t[3]) > 0
)


@given(TABLES)
def test_log_likelihood_is_that_of_scipy(cells):
    """G² is the statistic of the test of independence, with a minus below what chance puts there."""
    a, b, c, d = cells
    n = a + b + c + d
    expected = chi2_contingency([[a, b], [c, d]], correction=False, lambda_="log-likelihood").statistic
    found = log_likelihood(a, a + b, a + c, n)
    assert abs(found) == pytest.approx(expected, abs=1e-7 * n)
    assert np.sign(found) in (0, np.sign(a * n - (a + b) * (a + c)))


@given(TABLES, st.integers(2, 50))
def test_measures_under_more_text(cells, times):
    """With all counts larger G² grows with them; PMI and logDice do not."""
    a, b, c, d = cells
    one, more = (np.array([a, a + b, a + c, a + b + c + d]) * k for k in (1, times))
    assert log_likelihood(*more) == pytest.approx(times * log_likelihood(*one), rel=1e-9, abs=1e-6)
    assert pmi(*more) == pytest.approx(pmi(*one))
    assert log_dice(*more[:3]) == pytest.approx(log_dice(*one[:3]))


def test_nothing_together():
    """What is never seen together has no PMI, and evidence against it."""
    assert pmi(0, 5, 5, 100) == -np.inf
    assert log_dice(0, 5, 5) == -np.inf
    assert log_likelihood(0, 5, 5, 100) < 0

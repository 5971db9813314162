"""Measures of association: hand-worked values, other libraries, published values, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, false_discovery_control

from polyadic.core.errors import InputError
from polyadic.metrics.association import (
    MEASURES,
    adjusted_p_values,
    chi_squared,
    delta_p,
    log_dice,
    log_likelihood,
    log_ratio,
    p_value,
    percent_difference,
    pmi,
    simple_maths,
)

TABLES = st.tuples(*[st.integers(0, 500)] * 4).filter(
    lambda t: min(t[0] + t[1], t[0] + t[2], t[1] + t[3], t[2] + t[3]) > 0
)


def margins(a, b, c, d):
    """Return joint count, row, column and total of a table with cells a, b / c, d."""
    return a, a + b, a + c, a + b + c + d


@given(TABLES)
def test_tests_of_independence_are_those_of_scipy(cells):
    """G² and chi-squared agree with SciPy, with a negative sign if the count is below expectation."""
    a, b, c, d = cells
    n = a + b + c + d
    for found, settings in (
        (log_likelihood(*margins(*cells)), {"lambda_": "log-likelihood"}),
        (chi_squared(*margins(*cells), yates=False), {}),
    ):
        expected = chi2_contingency([[a, b], [c, d]], correction=False, **settings).statistic
        assert abs(found) == pytest.approx(expected, rel=1e-9, abs=1e-7 * n)
        assert np.sign(found) in (0, np.sign(a * n - (a + b) * (a + c)))


@pytest.mark.parametrize(
    ("cells", "corrected"),
    [
        ((3, 7, 7, 2), True),  # the texts of quanteda's test of keyness, for the word a: expected counts below 5
        ((30, 70, 70, 20), False),  # none is below 5
        ((4, 6, 5, 7), False),  # the deviation is below one half
    ],
)
def test_correction_for_continuity_is_that_of_quanteda(cells, corrected):
    """R's ``chisq.test`` always corrects; quanteda does so for small tables with a deviation of one half or more."""
    a, b, c, d = cells
    expected = chi2_contingency([[a, b], [c, d]], correction=corrected).statistic
    assert abs(chi_squared(*margins(*cells))) == pytest.approx(expected)


@given(TABLES, st.integers(2, 50))
def test_measures_under_more_text(cells, times):
    """If all counts are multiplied, test statistics grow and effect sizes do not change, unless a count is 0."""
    one, more = (np.array(margins(*cells)) * k for k in (1, times))
    for name, power in {"log_likelihood": 1, "log_likelihood_2": 1, "t_score": 0.5, "z_score": 0.5}.items():
        function = MEASURES[name].function
        assert function(*more) == pytest.approx(times**power * function(*one), rel=1e-9, abs=1e-6)
    effects = ["pmi", "log_dice", "delta_p", "delta_p_backward", "percent_difference"]
    for name in [*effects, *(["log_ratio"] if min(cells[0], cells[2]) else [])]:
        function = MEASURES[name].function
        assert function(*more) == pytest.approx(function(*one), nan_ok=True), name


def test_measures_are_those_of_nltk():
    """Agreement with ``nltk.BigramAssocMeasures`` 3.10 for a pair that occurs 96 times."""
    table = 96, 96, 461, 105_722
    nltk = {"log_likelihood": 1065.01, "t_score": 9.7552, "pmi": 7.8413}
    assert {name: MEASURES[name].function(*table).round(4) for name in nltk} == pytest.approx(nltk, abs=6e-5)
    assert chi_squared(*table, yates=False) == pytest.approx(21939.7834)
    assert 2 ** (log_dice(*table[:3]) - 14) == pytest.approx(0.3447, abs=5e-5)
    assert 2 ** MEASURES["mi3"].function(*table) / table[3] == pytest.approx(19.9913, abs=5e-5)  # mi_like


def test_keyness_by_hand():
    """Hand-worked values for a word with frequency 8 in 100 words of one text and 2 in 100 words of the other."""
    table = 8, 100, 10, 200
    assert log_likelihood(*table, cells=2) == pytest.approx(2 * (8 * np.log(8 / 5) + 2 * np.log(2 / 5)))
    other_words = 92 * np.log(92 / 95) + 98 * np.log(98 / 95)
    assert log_likelihood(*table) == pytest.approx(log_likelihood(*table, cells=2) + 2 * other_words)
    assert log_ratio(*table) == pytest.approx(2)
    assert percent_difference(*table) == pytest.approx(300)
    assert simple_maths(*table, smoothing=20_000) == pytest.approx((80_000 + 20_000) / (20_000 + 20_000))
    assert delta_p(*table) == pytest.approx(0.06)
    assert delta_p(*table[:1], 10, 100, 200) == pytest.approx(8 / 10 - 92 / 190)


def test_example_of_simple_maths():
    """The lemma *shard* in BNC and ukWaC, from the documentation of Sketch Engine: 0.31 and 0.17 per million."""
    found = simple_maths(35, 112_289_776, 35 + 263, 112_289_776 + 1_559_716_979)
    assert found == pytest.approx((0.3117 + 1) / (0.1686 + 1), abs=1e-4)


def test_nothing_together():
    """With joint count 0, PMI is minus infinity and G² negative; the log ratio uses a count of 0.5."""
    assert pmi(0, 5, 5, 100) == -np.inf
    assert log_dice(0, 5, 5) == -np.inf
    assert log_likelihood(0, 5, 5, 100) < 0
    assert log_ratio([0, 4], 50, 4, 100).tolist() == [-3, 3]
    assert percent_difference([0, 4], 50, 4, 100).tolist() == [-100, np.inf]


def test_a_word_in_neither_text():
    """A word in neither text has G² 0 and undefined effect sizes."""
    assert log_likelihood(0, 50, 0, 100) == chi_squared(0, 50, 0, 100) == 0
    assert np.isnan([log_ratio(0, 50, 0, 100), percent_difference(0, 50, 0, 100)]).all()


@pytest.mark.parametrize("table", [(5, 10, 4, 100), (5, 4, 10, 100), (5, 70, 60, 100), (0, 110, 5, 100)])
def test_impossible_tables_are_refused(table):
    """More co-occurrences than occurrences come from overlapping windows."""
    for name in set(MEASURES) - {"log_dice"}:
        with pytest.raises(InputError, match="negative; count each token once"):
            MEASURES[name].function([1, table[0]], *table[1:])


def test_p_values_are_those_of_scipy():
    """P-values are accurate also from G² = 70, where one minus the distribution function is 0."""
    G = np.array([0, 0.1, 3.84, 70, 1400])
    assert p_value(-G) == pytest.approx(chi2.sf(G, 1), rel=1e-12)
    assert p_value([1400, 1e5]).tolist() == [pytest.approx(2.1e-306, rel=0.05), 0]


def test_adjusted_p_values():
    """Holm's correction by hand, and that of Benjamini and Hochberg as in SciPy, with zeros and ties."""
    p = [0.04, 0.001, 0.03, 0.005]
    assert adjusted_p_values(p).tolist() == pytest.approx([0.06, 0.004, 0.06, 0.015])
    many = np.random.default_rng(0).random(100) ** 3
    assert adjusted_p_values(many, "benjamini-hochberg") == pytest.approx(false_discovery_control(many))
    assert adjusted_p_values([0, 0, 1]).tolist() == [0, 0, 1]
    assert adjusted_p_values([]).tolist() == []
    for wrong in ([0.5, np.nan], [2], 0.5):
        with pytest.raises(InputError, match="p_values must be"):
            adjusted_p_values(wrong)

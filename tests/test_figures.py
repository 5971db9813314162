"""Laws of figures: statistics of repeated units, bootstrap intervals, paired differences."""

import json
import math
import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, spearmanr

from polyadic.core.errors import InputError
from polyadic.metrics import figures
from polyadic.metrics.figures import Figure, difference, rank_correlation, ratio

few = st.integers(-3, 3).map(float)  # many ties
wide = st.floats(-1e6, 1e6)


@st.composite
def resampled(draw, elements):
    """Draw rows of two columns and how often each is taken in some samples, often not at all."""
    n = draw(st.integers(1, 9))
    rows = draw(hnp.arrays(float, (n, 2), elements=elements))
    times = draw(hnp.arrays(np.int64, (draw(st.integers(1, 4)), n), elements=st.integers(0, 3)))
    return rows, times


def figure(rows, *, name="f", statistic=ratio, chance=None):
    rows = np.asarray(rows, float)
    return Figure(name, rows, used=len(rows), total=len(rows) + 1, statistic=statistic, chance=chance)


def hits(*right):
    """Cases of which some are right."""
    return figure(np.column_stack([right, np.ones(len(right))]))


# ---- statistics


@given(resampled(few | wide))
def test_correlation_is_that_of_the_repeated_rows(drawn):
    """Taking a row three times is having it three times, whatever the ties; where a side is constant there is none."""
    rows, times = drawn
    for found, copies in zip(rank_correlation(rows, times), times, strict=True):
        x, y = np.repeat(rows, copies, axis=0).T
        if len(set(x)) < 2 or len(set(y)) < 2:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


@given(resampled(few | wide))
def test_ratio_is_that_of_the_repeated_rows(drawn):
    """The same for ratios of sums; where the second sum is zero there is none."""
    rows, times = drawn
    rows[:, 1] = np.abs(np.round(rows[:, 1]))
    for found, copies in zip(ratio(rows, times), times, strict=True):
        first, second = np.repeat(rows, copies, axis=0).sum(axis=0)
        if second == 0:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(first / second, rel=1e-9, abs=1e-6)


@given(resampled(few), st.data())
def test_statistics_depend_on_no_order(drawn, data):
    """Units may come in any order, and a correlation is the same for any rising function of a side."""
    rows, times = drawn
    order = data.draw(st.permutations(range(len(rows))))
    for statistic in (ratio, rank_correlation):
        np.testing.assert_allclose(
            statistic(rows[order], times[:, order]), statistic(rows, times), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_array_equal(rank_correlation(np.exp(rows), times), rank_correlation(rows, times))
    np.testing.assert_allclose(rank_correlation(rows * [1, -1], times), -rank_correlation(rows, times), atol=1e-12)


def test_correlation_by_hand():
    """Ranks 1, 2, 3 against 3, 1, 2: the differences are 2, 1, 1, so rho = 1 - 6 * 6 / 24; the last taken twice below.

    Then the ranks are 1, 2, 3.5, 3.5 and 4, 1, 2.5, 2.5: deviations -1.5, -.5, 1, 1 and 1.5, -1.5, 0, 0.
    """
    rows = np.array([[1.0, 9.0], [2.0, 0.0], [5.0, 4.0]])
    found = rank_correlation(rows, np.array([[1, 1, 1], [1, 1, 2]]))
    assert found.tolist() == pytest.approx([-0.5, -1.5 / 4.5])


# ---- intervals


@pytest.mark.parametrize("statistic", [ratio, rank_correlation])
def test_intervals_cover_the_truth(statistic):
    """Of 200 nominal 95 % intervals for a known truth, nine in ten or more hold it, and not all of them."""
    rng = np.random.default_rng(0)
    truth = 0.4 if statistic is ratio else 6 / math.pi * math.asin(0.3)  # of normal variables with correlation 0.6
    covered = 0
    for _ in range(200):
        if statistic is ratio:
            rows = np.column_stack([rng.binomial(5, truth, size=60), np.full(60, 5)])
        else:
            rows = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60)
        low, high = figure(rows, statistic=statistic).interval(resamples=300)
        covered += low <= truth <= high
    assert 0.90 <= covered / 200 <= 0.98


def test_intervals_are_those_of_scipy():
    """The percentile interval agrees with another implementation, up to the noise of resampling."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.poisson(3, 50), rng.poisson(8, 50)])
    found = figure(rows).interval(resamples=4000)
    other = bootstrap(
        tuple(rows.T),
        lambda x, y, axis: x.sum(axis=axis) / y.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found == pytest.approx(tuple(other), abs=0.01)


def test_intervals_are_narrower_with_more_units_and_less_certainty():
    """Four times the units halve the width; a lower level lies inside a higher one; the same seed gives the same."""
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 100)
    small, large = hits(*right), hits(*np.tile(right, 4))
    assert small.value == large.value
    widths = [np.ptp(f.interval(resamples=2000)) for f in (small, large)]
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.15)
    (a, b), (c, d) = small.interval(level=0.95), small.interval(level=0.5)
    assert a < c < small.value < d < b
    assert small.interval(seed=3) == small.interval(seed=3) != small.interval(seed=4)


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
@pytest.mark.parametrize("statistic", [ratio, rank_correlation])
def test_blocks_change_nothing(block, statistic, monkeypatch):
    """Samples are the same however many are made at a time."""
    rng = np.random.default_rng(0)
    a, b = (figure(rng.random((11, 2)), statistic=statistic) for _ in range(2))
    whole = a.interval(resamples=50), difference(a, b, resamples=50)
    monkeypatch.setattr(figures, "BLOCK", block)
    # sums of one sample and of several may be rounded differently
    assert a.interval(resamples=50) == pytest.approx(whole[0], rel=1e-12)
    assert difference(a, b, resamples=50) == pytest.approx(whole[1], rel=1e-12)


# ---- differences


@given(resampled(few), st.sampled_from([ratio, rank_correlation]), st.integers(0, 3))
def test_a_figure_differs_from_itself_by_nothing(drawn, statistic, seed):
    """On the same samples, exactly zero: the interval is a point."""
    f = figure(drawn[0], statistic=statistic)
    found = difference(f, f, resamples=20, seed=seed)
    if math.isnan(f.value):
        assert math.isnan(found.value)
        return
    assert found == (0, 0, 0)
    assert not found.certain


def test_differences_are_certain_where_every_case_says_so():
    """Right everywhere against right nowhere is a difference of 1 in every sample; and it has a sign."""
    right, wrong = hits(1, 1, 1, 1), hits(0, 0, 0, 0)
    assert difference(right, wrong) == (1, 1, 1)
    assert difference(right, wrong).certain
    assert difference(wrong, right) == (-1, -1, -1)
    assert difference(wrong, right).certain
    assert not difference(hits(1, 0, 1, 0), hits(0, 1, 0, 1)).certain


def test_pairs_tell_more_than_intervals():
    """A model that is right wherever another is, and on a few hard cases more, is better, though intervals overlap."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 200)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:12]] = 1
    a, b = hits(*better), hits(*base)
    assert a.interval()[0] < b.interval()[1]
    assert difference(a, b).certain
    forth, back = difference(a, b), difference(b, a)
    assert (-forth.value, -forth.high, -forth.low) == pytest.approx(back)
    shuffled = hits(*rng.permutation(base))
    assert not difference(a, shuffled).certain  # the pairing is lost


def test_paired_differences_cover_the_truth():
    """The interval of a difference holds the true one as often as it says, though the two models err on like cases."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        hard = rng.random(80)
        a, b = (hits(*(hard < share)) for share in (0.6, 0.5))
        covered += (found := difference(a, b, resamples=300)).low <= 0.1 <= found.high
    assert 0.90 <= covered / 200 <= 0.98


# ---- what is undefined, refused, written


def test_undefined_figures_are_nan():
    """Constant columns, no cases behind a ratio, or no units: NaN without a warning, and None in JSON."""
    undefined = [
        figure([[1, 1], [1, 2]], statistic=rank_correlation),
        figure([[0, 0], [0, 0]]),
        figure(np.empty((0, 2))),
        figure(np.empty((0, 2)), statistic=rank_correlation),
    ]
    for f in undefined:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert math.isnan(f.value)
            assert np.isnan(f.interval(resamples=20)).all()
            found = difference(f, f, resamples=20)
            told = f.as_dict()
        assert np.isnan(found).all()
        assert not found.certain
        assert (told["value"], told["low"], told["high"]) == (None, None, None)


def test_samples_without_a_value_are_left_out():
    """Two units whose columns vary: half of the samples take one of them twice, the others have the correlation 1."""
    assert figure([[1, 1], [2, 2]], statistic=rank_correlation).interval() == pytest.approx((1, 1))
    assert hits(1, 1).interval() == (1, 1)


def test_figures_can_be_written():
    """What goes into JSON comes out of it, with the chance and without."""
    f = figure([[1, 2], [2, 2], [0, 1]], name="words", chance=0.5)
    told = json.loads(json.dumps(f.as_dict(), allow_nan=False))
    low, high = f.interval()
    assert told == {"name": "words", "value": 0.6, "low": low, "high": high, "chance": 0.5, "used": 3, "total": 4}
    assert figure([[1, 2]]).as_dict()["chance"] is None


def test_figures_over_different_cases_are_not_compared():
    """Neither another number of units, nor of cases, nor another statistic."""
    f = hits(1, 0, 1)
    for other in (
        hits(1, 0),
        Figure("g", f.rows, used=2, total=4),
        Figure("g", f.rows, used=3, total=4, statistic=rank_correlation),
    ):
        with pytest.raises(InputError, match="f over 3 cases cannot be compared with"):
            difference(f, other)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [({"level": level}, "level must be between 0 and 1") for level in (0, 1, -0.5, 95, math.nan)]
    + [({"resamples": n}, "resamples must be a whole number of at least 1") for n in (0, -1, 1.5, True)],
)
def test_levels_are_shares_and_resamples_are_counted(wrong, fault):
    """A level is between 0 and 1; a per cent is refused; at least one sample is drawn."""
    for ask in (hits(1, 0).interval, lambda **options: difference(hits(1, 0), hits(0, 1), **options)):
        with pytest.raises(InputError, match=fault):
            ask(**wrong)

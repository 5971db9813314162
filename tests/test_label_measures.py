"""Labels told of texts: agreement with scikit-learn, the best threshold by trying all, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score, f1_score

from polyadic.core.errors import InputError
from polyadic.metrics.labels import best_threshold, label_measures, micro_precision

TRUTHS = arrays(bool, (4, 3)).map(lambda truth: truth if truth.any() else ~truth)
SCORES = arrays(float, (4, 3), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5]))


@given(TRUTHS, SCORES)
def test_best_threshold(truth, scores):
    """No threshold, tried one by one, gives a larger micro-F1 than that found, which is what scikit-learn finds."""
    threshold, f1 = best_threshold(truth, scores)
    assert f1_score(truth, scores > threshold, average="micro", zero_division=0) == pytest.approx(f1)
    for other in np.unique(scores) - 1e-6:
        assert f1_score(truth, scores > other, average="micro", zero_division=0) <= f1 + 1e-12


@given(TRUTHS, SCORES, arrays(int, (2, 4), elements=st.integers(0, 3)))
def test_precision_of_texts_that_are_taken_more_than_once(truth, scores, times):
    """It is scikit-learn's, of a table that has them as often."""
    found = micro_precision(np.hstack([scores, truth]), times)
    for value, taken in zip(found, times, strict=True):
        more = np.repeat(truth, taken, axis=0)
        if more.any():
            again = average_precision_score(more, np.repeat(scores, taken, axis=0), average="micro")
            assert value == pytest.approx(again)
        else:
            assert np.isnan(value)


def test_a_threshold_of_single_precision_lets_its_score_pass():
    """It is below the score also where scores are float32."""
    truth, scores = np.array([[1, 0, 1, 0]]), np.array([[0.4, 0.3, 0.2, 0.1]], np.float32)
    threshold, f1 = best_threshold(truth, scores)
    assert label_measures(truth, scores, threshold)["micro_f1"] == pytest.approx(f1)
    assert (scores > threshold).tolist() == [[True, True, True, False]]


def test_worked_example():
    """Two texts and three labels, of which the last does not occur: it counts in micro-F1 and not in macro-F1."""
    truth, scores = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[3.0, 1.0, 2.0], [0.5, 2.5, 0.1]])
    found = label_measures(truth, scores, 1.5)
    assert found["precision_at_1"] == 1
    assert found["precision_at_3"] == pytest.approx(3 / 6)
    assert found["micro_f1"] == pytest.approx(2 * 2 / (3 + 3))  # told: 3.0, 2.0, 2.5
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["micro_ap"] == pytest.approx((1 + 1 + 3 / 5) / 3)
    assert found["macro_ap"] == pytest.approx(1)
    assert "micro_f1" not in label_measures(truth, scores)


def test_faults():
    """No label, or shapes that do not fit."""
    for truth in (np.zeros((2, 2)), np.ones((2, 3))):
        with pytest.raises(InputError, match="at least one true label"):
            label_measures(truth, np.zeros((2, 2)))
    for truth in (np.ones((2, 3)), np.ones(0)):
        with pytest.raises(InputError, match="non-empty and have the same shape"):
            best_threshold(truth, np.zeros((2, 2)) if truth.size else np.zeros(0))

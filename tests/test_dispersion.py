"""Dispersion of words over parts: published values, a slow twin, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from polyadic.core.errors import InputError
from polyadic.metrics.association import log_ratio
from polyadic.metrics.dispersion import average_reduced_frequency, dispersion, text_dispersion_keyness


def test_example_of_gries():
    """Letters of five lines of Gries (2008), where DP and D of the letter a are 0.18 and 0.785."""
    text = "b a m n i b e u p|b a s a t b e w q n|b c a g a b e s t a|b a g h a b e a a t|b a h a a b e a x a t"
    parts = [line.split() for line in text.split("|")]
    counts = [[part.count(letter) for part in parts] for letter in "abx"]
    found = dispersion(counts, [len(part) for part in parts])
    assert found["range"].tolist() == [5, 5, 1]
    assert found["dp"].round(3).tolist() == [0.18, 0.02, 0.78]
    assert found["dp_norm"] == pytest.approx(found["dp"] / (1 - 9 / 50))
    assert found["juilland_d"].round(3).tolist() == [0.785, 0.968, 0]


def test_example_of_lyne():
    """ALLEMAND in the ten parts of Lyne (1985), as the documentation of the R package tlda prints D and 1 - DP."""
    sizes = [8143, 8058, 8271, 8125, 7959, 7941, 8146, 8001, 8003, 7930]
    found = dispersion([[2, 0, 1, 1, 3, 0, 3, 0, 0, 0]], sizes)
    assert found["juilland_d"] == pytest.approx(0.6038797, abs=1e-7)
    assert 1 - found["dp"] == pytest.approx(0.5009295, abs=1e-7)


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_slow_twin(rows, empty):
    """The formulas hold for all formats and orders of the parts; empty parts change nothing."""
    counts = np.array(rows)
    counts[:, empty] = 0
    sizes = counts.sum(axis=0) + 7
    sizes[empty] = 0
    kept = np.flatnonzero(sizes)
    found = dispersion(coo_array(counts), sizes)
    again = dispersion(csr_array(counts[:, kept[::-1]]), sizes[kept[::-1]])
    for row, c in enumerate(counts[:, kept]):
        s, p = sizes[kept] / sizes.sum(), c / sizes[kept]
        dp = np.abs(c / c.sum() - s).sum() / 2 if c.any() else np.nan
        D = 1 - p.std() / p.mean() / np.sqrt(len(kept) - 1) if c.any() else np.nan
        expected = {"range": (c > 0).sum(), "dp": dp, "dp_norm": dp / (1 - s.min()), "juilland_d": D}
        for name, value in expected.items():
            assert found[name][row] == pytest.approx(value, nan_ok=True, abs=1e-12)
            assert again[name][row] == pytest.approx(value, nan_ok=True, abs=1e-12)


def test_even_and_uneven_words():
    """Minimum and maximum of each measure, for parts of different lengths; one part has no dispersion."""
    found = dispersion([[2, 4, 6], [5, 0, 0]], [20, 40, 60])
    assert found["dp"] == pytest.approx([0, 5 / 6])
    assert found["dp_norm"] == pytest.approx([0, 1])
    assert found["juilland_d"] == pytest.approx([1, 0])
    assert np.isnan([dispersion([[3]], [9])[name] for name in ("dp_norm", "juilland_d")]).all()


def test_counts_are_not_changed_and_repeated_cells_are_added():
    """Duplicate cells of a sparse array are added."""
    counts = csr_array(([1, 2, 1], [0, 0, 1], [0, 3]), shape=(1, 2))
    assert dispersion(counts, [10, 10])["dp"] == pytest.approx([0.25])
    assert counts.nnz == 3


@pytest.mark.parametrize("sizes", [[10], [10, 10, 10], [10, 1], [[10, 10]]])
def test_sizes_must_fit(sizes):
    """A part must not have more occurrences than tokens."""
    with pytest.raises(InputError, match="sizes must be the numbers of tokens of the 2 parts"):
        dispersion([[1, 2]], sizes)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_average_reduced_frequency_by_its_definition(ids):
    """It is the mean number of parts that contain the word, over all cuts of the circular text into f equal parts."""
    order, total = np.argsort(ids, kind="stable"), len(ids)
    starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=5))])
    found = average_reduced_frequency(order, total, starts)
    assert found[4] == 0
    for word in set(ids):
        at = np.flatnonzero(np.equal(ids, word))
        shifts = (np.arange(total * len(at)) + 0.5) / len(at)  # between the cuts that meet an occurrence
        parts = [len(set((at - shift) % total * len(at) // total)) for shift in shifts]
        assert found[word] == pytest.approx(np.mean(parts))
        assert average_reduced_frequency(at, total) == pytest.approx([found[word]])


def test_average_reduced_frequency_of_even_and_bunched_words():
    """It is f for a word that is evenly distributed, and about 1 for a word in one place, wherever that is."""
    assert average_reduced_frequency(np.arange(0, 1000, 10), 1000) == pytest.approx([100])
    assert average_reduced_frequency(np.arange(100), 10_000) == pytest.approx([1.99])
    assert average_reduced_frequency([0, 1, 9999], 10_000) == pytest.approx([1 + 2 * 3 / 10_000])
    for positions in ([3, 2], [1, 1], [-1, 4], [0, 10]):
        with pytest.raises(InputError, match="ascend for each word, from 0 to 9"):
            average_reduced_frequency(positions, 10)


def test_keyness_by_texts():
    """A word in 3 of 4 texts and in 1 of 6 texts has the table 3, 4, 4, 10, for any frequency in each text."""
    counts = np.array([[9, 1, 1, 0, 0, 700, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]])
    target = np.arange(10) < 4
    a, b, c, d = 3, 1, 1, 5
    terms = [(a, 4 * 4), (b, 4 * 6), (c, 6 * 4), (d, 6 * 6)]
    G = 2 * sum(cell * np.log(10 * cell / product) for cell, product in terms)
    assert text_dispersion_keyness(counts, target)[0] == pytest.approx(G)
    assert text_dispersion_keyness(csr_array(counts), target, log_ratio) == pytest.approx(np.log2([4.5, 1.5]))
    with pytest.raises(InputError, match="a value for each of 10 texts"):
        text_dispersion_keyness(counts, target[:3])

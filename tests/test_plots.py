"""Pictures show what was computed, on the axes they are given."""

import numpy as np
import pytest

from lowrank import Embedding, InputError, plots

VECTORS = Embedding(
    ["apollo", "god", "moon", "zeus", "lunar", "orbit"],
    np.array([[1, 1, 0.1], [1, 0, 0], [0, 1, 0], [1, 0.1, 0], [0, 1, 0], [0.1, 1, 0]]),
)


def test_senses_shows_the_neighbours_of_each_product():
    """The rows are the neighbours, context by context, and the points their cosines with every product."""
    ax = plots.senses(VECTORS, "apollo", ["god", "moon"], top=2)
    nearest = [w for c in ("god", "moon") for w, _ in VECTORS.neighbours("apollo", c, top=2)]
    assert [label.get_text() for label in ax.get_yticklabels()] == nearest
    for context, points in zip(("god", "moon"), ax.collections[1:], strict=True):
        shown = dict(zip(nearest, points.get_offsets()[:, 0], strict=True))
        for word, cosine in VECTORS.neighbours("apollo", context, top=2):
            assert shown[word] == pytest.approx(cosine, abs=1e-6)


def test_pictures_go_where_they_are_told():
    """Axes that are given are drawn on and returned; no window is needed."""
    ax = plots.new_axes(width=3, height=2)
    assert plots.objective([3.0, 2.0, 1.5], ax=ax) is ax
    assert ax.lines[0].get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert plots.senses(VECTORS, "apollo", ["moon"], ax=ax) is ax


def test_senses_needs_a_context_and_known_words():
    """A missing context and an unknown word are refused in one sentence."""
    with pytest.raises(InputError, match="needs a context"):
        plots.senses(VECTORS, "apollo", [])
    with pytest.raises(InputError, match="'artemis' is not in the vocabulary"):
        plots.senses(VECTORS, "artemis", ["god"])

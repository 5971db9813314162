"""Strategies of hypothesis that several test files draw from."""

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import strategies as st

from lowrank.embedding import Embedding

# Letters, marks, numbers and signs of any script, but no blanks or controls: what every vector format can hold.
plain_words = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)


@st.composite
def embeddings(draw, *, words=plain_words, min_words=1, max_words=12, min_rank=1, max_rank=6, largest=1e6):
    """Draw an embedding in float32 that may have zero rows, repeated rows and numbers of very different size."""
    vocabulary = draw(st.lists(words, min_size=min_words, max_size=max_words, unique=True))
    rank = draw(st.integers(min_rank, max_rank))
    numbers = st.floats(-largest, largest, width=32) | st.sampled_from([0.0, -0.0, 1.0, -1.0])
    return Embedding(vocabulary, draw(hnp.arrays(np.float32, (len(vocabulary), rank), elements=numbers)))

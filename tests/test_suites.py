"""Protocols run from one end to the other on real text."""

import json

import numpy as np
import pytest

from lowrank import Corpus, Embedding, read_vectors
from lowrank.suites import demo
from lowrank.text.counts import Counts


@pytest.mark.slow
def test_demo_tells_writes_and_repeats_itself(tmp_path):
    """The demonstration leaves usable folders and a picture, and the same seed gives the same vectors again."""
    told = []
    result = demo.run(tmp_path / "demo", rank=20, report=told.append)
    vectors = Embedding.load(tmp_path / "demo" / "vectors")
    assert vectors.vectors.shape == (result["words"], 20)
    assert result["zeros"] == (vectors.vectors == 0).mean() > 0.1
    assert len(Corpus.open(tmp_path / "demo" / "corpus")) == result["tokens"] > 200_000
    assert len(Counts.open(tmp_path / "demo" / "counts").entries) == result["entries"] > 1_000_000
    np.testing.assert_allclose(read_vectors(tmp_path / "demo" / "vectors.txt").vectors, vectors.vectors)
    assert (tmp_path / "demo" / "senses.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "demo" / "meta.json").read_text())["senses"] == result["senses"]
    assert any("apollo * god" in line for line in told)
    assert {"artemis", "zeus", "healer", "delphi", "gods", "goddess"} & set(result["senses"]["apollo * god"])
    again = demo.run(tmp_path / "demo", rank=20, report=told.append)
    assert again["senses"] == result["senses"]
    np.testing.assert_array_equal(Embedding.load(tmp_path / "demo" / "vectors").vectors, vectors.vectors)

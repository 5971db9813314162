"""Chunking beside CRFsuite, in turn in one process: F1 on the held-out tenth of the training part, and seconds.

Both learn from the same features; CRFsuite by L-BFGS with its penalty c2 = 1. Needs python-crfsuite and POLYADIC_DATA.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from experiments.syntax.tagging import chunk_parts
from polyadic import SequenceTagger, tag_features
from polyadic.metrics.chunks import span_figures


def crfsuite(X, y, judged):
    """Learn and tag with CRFsuite; return seconds of each, and tags."""
    import pycrfsuite

    path = Path(tempfile.mkdtemp()) / "model"
    start = time.process_time()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for tokens, tags in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(tokens), tags)
    trainer.set_params({"c2": 1.0})
    trainer.train(str(path))
    fitted = time.process_time()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    found = [tagger.tag(pycrfsuite.ItemSequence(tokens)) for tokens in judged]
    return fitted - start, time.process_time() - fitted, found


def ours(X, y, judged, **how):
    """Learn and tag with a chain; return seconds of each, and tags."""
    start = time.process_time()
    model = SequenceTagger(bio=True, **how).fit(X, y)
    fitted = time.process_time()
    found = model.predict(judged)
    return fitted - start, time.process_time() - fitted, found


def main(*, share: float = 1.0, repeats: int = 1) -> None:
    train, held = chunk_parts(test=False)
    train = train[: round(share * len(train))]
    X, judged = ([tag_features(one.forms, one.tags) for one in part] for part in (train, held))
    y, gold = ([one.chunks for one in part] for part in (train, held))
    contenders = {
        "CRFsuite, L-BFGS": crfsuite,
        "likelihood": ours,
        "likelihood, rank 10": partial(ours, rank=10),
        "hinge": partial(ours, loss="hinge"),
    }
    for loss in ("likelihood", "hinge"):  # compile
        ours(X[:20], y[:20], judged[:20], loss=loss, max_iter=1)
        ours(X[:20], y[:20], judged[:20], loss=loss, max_iter=1, rank=2)
    for _ in range(repeats):
        for name, contender in contenders.items():
            learning, tagging, found = contender(X, y, judged)
            f1 = span_figures(gold, found)[0]
            low, high = np.round(f1.interval(), 4)
            rate = sum(map(len, judged)) / tagging
            print(f"{name:22} {len(X):6,} sentences  F1 {f1.value:.4f} ({low} to {high})  {learning:7.1f} s"
                  f"  {rate:9,.0f} words/s", flush=True)  # fmt: skip

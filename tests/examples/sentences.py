"""Models of sentences."""

import numpy as np

from examples import Example
from polyadic import ConvolutionalSentences, LogCountRatio, MeanSentences, ScoreRegression, TextClassifier

FRAME = ["the", "film", "is", "a", "very", "story", "with", "actors"]
RNG = np.random.default_rng(0)
SENTENCES = [
    " ".join([*RNG.choice(FRAME, 5), *RNG.choice(["good", "fine"] if k % 2 else ["bad", "poor"], 2)]) for k in range(40)
]
NEW = ["a very good film", "film good very a", "poor story"]
PAIRS = RNG.standard_normal((30, 2))
SCORES = np.clip(2.5 + 2 * PAIRS[:, 0], 0, 5)


def _asked(model):
    names = model.get_feature_names_out().tolist()
    return [model.transform(NEW), model.encode(NEW[0], normalize_embeddings=True), model.activations(NEW[0]), names]


EXAMPLES = [
    Example(
        make=lambda: ConvolutionalSentences(1, length=3, rank=2, min_count=1, starts=1, seed=0),
        fit=lambda model: model.fit(SENTENCES),
        ask=lambda model: [_asked(model), model.filters_, model.weights_, model.error_, model.number_],
    ),
    Example(
        make=lambda: MeanSentences(a=0.01, removed=1, rank=3, min_count=1, seed=0),
        fit=lambda model: model.fit(SENTENCES),
        ask=lambda model: [_asked(model), model.static().vectors, model.static().words],
    ),
    Example(
        make=LogCountRatio,
        fit=lambda model: model.fit(SENTENCES, np.arange(40) % 2),
        ask=lambda model: [model.transform(NEW), model.ratio_, list(model.features_), model.classes_],
    ),
    Example(
        make=lambda: TextClassifier(C=3.0),
        fit=lambda model: model.fit(SENTENCES, np.arange(40) % 2),
        ask=lambda model: [model.predict_proba(NEW), model.explain(NEW[0]), model.top_features(1, 5), model.pairs_],
    ),
    Example(
        make=lambda: ScoreRegression(C=10.0),
        fit=lambda model: model.fit(PAIRS, SCORES),
        ask=lambda model: [model.predict(PAIRS), model.score(PAIRS, SCORES)],
    ),
]

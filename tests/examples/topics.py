"""Models of topics."""

import numpy as np

from examples import Example
from polyadic import LDA, NMF, PLSA, RLSI, AnchorTopics, SpectralLDA, TextTopics

COUNTS = np.repeat([[4, 2, 0, 0, 0], [3, 3, 1, 0, 0], [0, 0, 2, 4, 1], [0, 1, 0, 2, 5]], 5, axis=0)
TEXTS = ["the sun and the sky", "a sky of sun", "tax and law", "the law on tax"]


def of_tables(make, *, rows=True, variant=""):
    return Example(
        make=make,
        fit=lambda model: model.fit(COUNTS),
        ask=lambda model: [
            model.components_,
            model.row_factors_,
            model.transform(COUNTS[::5]),
            model.get_feature_names_out(),
        ],
        rows=rows,
        variant=variant,
    )


EXAMPLES = [
    of_tables(lambda: NMF(2, max_iter=500, tol=1e-6, inner=4, seed=0, threads=1)),
    of_tables(lambda: NMF(2, loss="kl", max_iter=2000, tol=1e-8, seed=0, threads=1), variant="kl"),
    of_tables(lambda: NMF(2, unobserved="missing", max_iter=500, tol=1e-6, seed=0, threads=1), variant="missing"),
    of_tables(lambda: PLSA(2, max_iter=50, seed=0, threads=1)),
    of_tables(lambda: NMF(2, solver="anls", max_iter=500, tol=1e-6, seed=0, threads=1), variant="anls"),
    of_tables(lambda: RLSI(2, max_iter=50, seed=0, threads=1)),
    of_tables(lambda: RLSI(2, document_norm="l1", max_iter=50, seed=0, threads=1), variant="l1"),
    of_tables(lambda: LDA(2, max_iter=3, seed=0, threads=1), rows=False),  # of counts
    of_tables(lambda: AnchorTopics(2, threads=1), rows=False),  # of whole numbers
    of_tables(lambda: SpectralLDA(2, alpha0=0.1, seed=0, threads=1), rows=False),  # as above
    Example(
        make=lambda: TextTopics(n_components=2, min_count=1, seed=0, threads=1),
        fit=lambda model: model.fit(TEXTS),
        ask=lambda model: [
            model.transform(["sky", "law", "fish"]),
            model.top_words(2),
            model.word_weights_,
            model.background_,
        ],
    ),
]

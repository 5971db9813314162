"""Models of tables."""

import numpy as np

from examples import Example
from polyadic import CorrespondenceAnalysis, KernelCorrespondenceAnalysis, MultipleCorrespondenceAnalysis
from polyadic.tables.vectors import CorrespondenceVectors

FISHER = np.array([[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]])
EYES = ["blue", "light", "medium", "dark"]
PEOPLE = np.array([["blue", "fair"], ["blue", "fair"], ["dark", "black"], ["dark", "fair"], ["light", "black"]], object)
SQUARE = FISHER[:, :4]

EXAMPLES = [
    Example(
        make=lambda: CorrespondenceAnalysis(1, seed=0),
        fit=lambda model: model.fit(FISHER),
        ask=lambda model: [
            model.transform([[10, 2, 30, 8, 1]]),
            model.transform_columns(FISHER),
            *(getattr(model, name)("rows") for name in ("coordinates", "contributions", "squared_cosines", "quality")),
            model.embedding(EYES, side="rows").vectors,
            model.explained_inertia_ratio_,
        ],
        rows=True,
    ),
    Example(
        make=lambda: KernelCorrespondenceAnalysis(1, seed=0),
        fit=lambda model: model.fit(FISHER),
        ask=lambda model: [model.coordinates("rows"), model.coordinates("columns"), model.embedding(EYES).vectors],
        rows=True,
    ),
    Example(
        make=lambda: MultipleCorrespondenceAnalysis(1, seed=0),
        fit=lambda model: model.fit(PEOPLE),
        ask=lambda model: [
            model.transform([["dark", "fair"], ["light", "black"]]),
            model.categories_,
            model.column_coordinates_,
            model.inertia_,
            model.get_feature_names_out().tolist(),
        ],
        rows=True,
    ),
    Example(
        make=lambda: CorrespondenceVectors(2, stop_weight=1.0, stop_words={"dark"}, words=EYES, seed=0),
        fit=lambda model: model.fit(SQUARE),
        ask=lambda model: [model.embedding(EYES).vectors, model.singular_values_],
    ),
]

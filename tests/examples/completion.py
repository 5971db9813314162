"""Models of matrices of which some cells are known."""

import numpy as np

from examples import Example
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.bayesian_pca import BayesianGeneralizedPCA
from polyadic.completion.convex_collective import ConvexCollective, RelationMatrix
from polyadic.completion.factorization import MatrixFactorization, StochasticMatrixFactorization
from polyadic.completion.generalized_pca import GeneralizedPCA
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.logistic import LogisticFactorization
from polyadic.completion.matchbox import MatchboxFactorization
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.completion.robust_pca import RobustPCA
from polyadic.completion.table_completion import TableCompletion
from polyadic.completion.trace_norm import TraceNormCompletion
from polyadic.completion.trace_norm_sums import ConvexCCA, TraceNormSum
from polyadic.completion.transductive import TransductiveCompletion
from polyadic.core.losses import Logistic

rng = np.random.default_rng(0)
X = np.outer(rng.standard_normal(9), rng.standard_normal(7)) + 0.1 * rng.standard_normal((9, 7))
KNOWN = np.where(rng.random(X.shape) < 0.8, X, np.nan)
TRUE = np.where(np.isnan(KNOWN), np.nan, KNOWN > 0)
COUNTS = rng.poisson(1.0, X.shape).astype(float)
ROWS, COLUMNS = np.array([0, 3, 8]), np.array([6, 2, 0])
TABLE = [(f"row {i}", f"column {j}", KNOWN[i, j]) for i, j in np.argwhere(~np.isnan(KNOWN))]
RELATIONS = [RelationMatrix("a", "b", KNOWN), RelationMatrix("b", "c", TRUE.T[:, :5], Logistic(), weight=2.0)]
SHORT = {"max_iter": 4, "tol": 0.0, "seed": 0}


def predicted(model):
    return model.predict(ROWS, COLUMNS)


def recommended(model):
    return [predicted(model), *model.recommend(ROWS, 3, without=COUNTS)]


EXAMPLES = [
    Example(
        make=lambda: MatrixFactorization(2, **SHORT, threads=1),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), model.transform(KNOWN)],
    ),
    Example(
        make=lambda: MatrixFactorization(2, l1=0.3, ridge=0.1, **SHORT, threads=1),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), model.transform(KNOWN)],
        variant="l1",
    ),
    Example(
        make=lambda: StochasticMatrixFactorization(2, **SHORT, threads=1),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), model.transform(KNOWN)],
    ),
    Example(
        make=lambda: BayesianMatrixFactorization(2, burn_in=2, draws=8, n_samples=5, seed=0, threads=1),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), *model.predict_distribution(ROWS, COLUMNS), model.noise_],
    ),
    Example(
        make=lambda: BayesianGeneralizedPCA(2, family="poisson", burn_in=5, draws=8, n_samples=5, seed=0, threads=1),
        fit=lambda model: model.fit(COUNTS),
        ask=lambda model: [predicted(model), *model.predict_distribution(ROWS, COLUMNS), model.n_steps_],
    ),
    Example(
        make=lambda: MatchboxFactorization(2, **SHORT),
        fit=lambda model: model.fit(COUNTS, row_features=COUNTS[:, :2]),
        ask=lambda model: [predicted(model), model.predict_levels(ROWS, COLUMNS), model.row_weights_],
    ),
    Example(
        make=lambda: ImplicitFactorization(2, **SHORT, threads=1),
        fit=lambda model: model.fit(COUNTS),
        ask=lambda model: [*recommended(model), model.transform(COUNTS)],
    ),
    Example(
        make=lambda: LogisticFactorization(2, **SHORT, threads=1),
        fit=lambda model: model.fit(TRUE),
        ask=recommended,
    ),
    Example(
        make=lambda: LogisticFactorization(2, solver="saga", **SHORT, threads=1),
        fit=lambda model: model.fit(TRUE),
        ask=recommended,
        variant="saga",
    ),
    Example(
        make=lambda: PairwiseRanking(2, **SHORT),
        fit=lambda model: model.fit(COUNTS),
        ask=recommended,
    ),
    Example(
        make=lambda: GeneralizedPCA(2, **SHORT, family="poisson"),
        fit=lambda model: model.fit(COUNTS),
        ask=lambda model: [model.transform(COUNTS[:3]), model.inverse_transform(model.row_factors_)],
    ),
    Example(
        make=lambda: TraceNormCompletion(0.5, offsets="biases", debias=True, max_iter=20, threads=1),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), model.transform(KNOWN), model.gap_, model.largest_penalty(KNOWN)],
    ),
    Example(
        make=lambda: TraceNormSum(0.5, form="latent", max_iter=20),
        fit=lambda model: model.fit(KNOWN),
        ask=lambda model: [predicted(model), model.ranks_, model.gap_],
    ),
    Example(
        make=lambda: ConvexCCA(0.5, max_iter=20),
        fit=lambda model: model.fit([KNOWN[:, :4], KNOWN[:, 4:]]),
        ask=lambda model: [model.transform([X[:3, :4], X[:3, 4:]]), *model.predict([KNOWN[:3, :4], X[:3, 4:]])],
    ),
    Example(
        make=lambda: ConvexCollective(0.5, max_iter=20, threads=1),
        fit=lambda model: model.fit(RELATIONS),
        ask=lambda model: [model.predict(0, ROWS, COLUMNS), model.predict(1, [0, 6], [4, 0]), model.places_],
    ),
    Example(
        make=lambda: TransductiveCompletion(0.5, max_iter=20, threads=1),
        fit=lambda model: model.fit(KNOWN, TRUE[:, :2]),
        ask=lambda model: [model.log_odds_, model.decision_function(KNOWN[:3])],
    ),
    Example(
        make=lambda: RobustPCA(max_iter=20),
        fit=lambda model: model.fit(X),
        ask=lambda model: [*model.matrix_, model.outliers_, model.rank_],
    ),
    Example(
        make=lambda: TableCompletion("bayesian", rank=2, hold_out=0.2, seed=0, threads=1),
        fit=lambda model: model.fit(TABLE),
        ask=lambda model: [
            *model.predict_distribution(["row 0", "row 3"], ["column 6", "column 2"]),
            model.predict(["row 8"], ["column 0"]),
            model.recommend("row 3"),
            model.facts(),
        ],
    ),
]

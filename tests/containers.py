"""Result of each model for each container, from which ``docs/containers.md`` is generated."""

import itertools
import warnings

import numpy as np
from scipy import sparse

import polyadic
from polyadic import Database, Entries, InputError, QueryGroups, Relation
from polyadic.completion.convex_collective import RelationMatrix

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(1.5, (12, 5)).astype(float)
COUNTS[[0, 0, 1], [0, 1, 2]] = 3, 0, 2
SHARES = RNG.permutation(np.repeat(COUNTS[:4], 3, axis=0), axis=0)
LEVELS = RNG.integers(0, 3, (12, 3)).astype(float)
TENSOR = RNG.poisson(1.5, (4, 3, 4)).astype(float)
TENSOR[0, 1, 2] = 2
FLAT = RNG.poisson(3.0, (5, 5)).astype(float)
FLAT = FLAT + FLAT.T
FLAT[0, 2] = FLAT[2, 0] = 0
CUBE = sum(RNG.poisson(0.5, (5, 5, 5)).transpose(axes) for axes in itertools.permutations(range(3))).astype(float)
CUBE = sum(CUBE.transpose(axes) for axes in itertools.permutations(range(3)))
Y = COUNTS @ RNG.standard_normal((5, 2))
LABELS = np.where(Y[:, 0] > np.median(Y[:, 0]), "yes", "no")
GROUP = np.arange(12) // 3
SHORT = {"max_iter": 3, "seed": 0}


class NotApplicable(Exception):  # noqa: N818
    """Raised for a container that does not exist for the data of a model."""


def symmetric(A):
    """Whether an array is symmetric."""
    A = A.astype(float)
    return len(set(A.shape)) == 1 and np.array_equal(A, np.swapaxes(A, 0, 1), equal_nan=True)


def hole(A, value):
    """Replace an element, and its permutations in a symmetric array, as text or numbers."""
    A = A.copy()
    at = (0, 1, 2)[: A.ndim]
    for place in itertools.permutations(at) if symmetric(A) else [at]:
        A[place] = value
    return A


def matrix_only(make):
    """Make a container that matrices alone have."""

    def build(A):
        if A.ndim != 2:
            raise NotApplicable
        return make(A)

    return build


def frame(A, **how):
    """Make a data frame of pandas."""
    import pandas as pd

    return pd.DataFrame(A, **how)


def odd_frame(A):
    """Make a data frame with an index, names that are no text, and columns of several types."""
    import pandas as pd

    table = pd.DataFrame(A, index=[f"row {i}" for i in range(len(A))], columns=[(7, j) for j in range(A.shape[1])])
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    whole = table.astype("Int64")
    whole.isetitem(1, pd.Categorical(A[:, 1]))
    return whole


def arrow(A):
    """Make a table of Arrow."""
    import pyarrow as pa

    return pa.table({f"column {j}": A[:, j] for j in range(A.shape[1])})


def twice(A):
    """Make a sparse array that lists an element in two halves."""
    at = np.nonzero(A)
    values = A[at]
    values[0] /= 2
    return sparse.coo_array(([*values, values[0]], [[*i, i[0]] for i in at]), shape=A.shape)


def formats(kinds):
    """Make sparse arrays of several formats, and a matrix of the old kind; all must give the same."""
    return [matrix_only(lambda A, kind=kind: sparse.coo_array(A).asformat(kind)) for kind in kinds]


def entries(A, known=None, **how):
    """Make entries of the non-zero elements, or of known ones; of a symmetric array, with decreasing indices."""
    at = np.argwhere(A if known is None else known)
    at = at[(np.diff(at) <= 0).all(axis=1)] if symmetric(A) else at
    return Entries(at, A[tuple(at.T)], A.shape, symmetric=symmetric(A), **how)


COMPLETE, MISSING, LISTED = "complete", "missing", "listed"
CONTAINERS = {
    "lists": (COMPLETE, [lambda A: A.tolist()]),
    "data frame (pandas)": (
        COMPLETE,
        [matrix_only(lambda A: frame(A, columns=[f"column {j}" for j in range(A.shape[1])]))],
    ),
    "data frame, names are numbers": (COMPLETE, [matrix_only(frame)]),
    "data frame with index, levels, nullable and categorical columns": (COMPLETE, [matrix_only(odd_frame)]),
    "Arrow table": (COMPLETE, [matrix_only(arrow)]),
    "NaN": (MISSING, [lambda A: hole(A, np.nan)]),
    "masked array": (MISSING, [lambda A: np.ma.masked_equal(hole(A, -999.0), -999.0)]),
    "None": (MISSING, [lambda A: hole(A.astype(object), None).tolist()]),
    "sparse array": (
        LISTED,
        [sparse.coo_array, *formats(["csr", "csc", "lil", "dok"]), matrix_only(sparse.csr_matrix)],
    ),
    "sparse, zeros as padding": (LISTED, formats(["dia"])),
    "sparse, an element twice": (LISTED, [twice]),
    "Entries": (LISTED, [entries]),
    "dict": (COMPLETE, [lambda A: dict(enumerate(A.tolist()))]),
    "text": (COMPLETE, [lambda A: hole(A.astype(object), "x").tolist()]),
    "complex": (COMPLETE, [lambda A: A + 0j]),
    "infinite": (COMPLETE, [lambda A: hole(A, np.inf)]),
}


def of_cells(make, data=COUNTS):
    """Complete a matrix: cells that are not listed are unknown."""
    return lambda build: make().fit(build(data)).predict([1, 2], [2, 0])


def of_table(make):
    """Complete a table; lists and data frames are lines of row, column and value, no matrices."""

    def fit(build):
        table = build(COUNTS)
        if isinstance(table, list) or hasattr(table, "__arrow_c_stream__"):
            raise NotApplicable
        return make().fit(table).predict([1, 2], [2, 0])

    return fit


def of_rows(make, *y, data=COUNTS, ask="predict", **how):
    """Predict from rows."""
    return lambda build: getattr(make().fit(build(data), *y, **how), ask)(data)


def of_factors(make, *names, data=COUNTS, **how):
    """Return attributes of a fitted model."""

    def fit(build):
        model = make().fit(build(data), **how)
        found = [getattr(model, name) for name in names]
        return np.concatenate([np.ravel(x) for each in found for x in (each if isinstance(each, list) else [each])])

    return fit


def of_database(make):
    """Complete a table of a database."""
    return lambda build: make().fit(Database({"r": Relation(build(COUNTS), ("a", "b"))})).predict("r", [(1, 2), (2, 0)])


def of_lists(make):
    """Rerank lists of candidates."""
    return lambda build: make().fit(QueryGroups.of(build(COUNTS), costs=Y[:, 0] ** 2, group=GROUP)).weights_


def views(build):
    """Complete two views."""
    model = polyadic.ConvexCCA(0.5, max_iter=9).fit([build(COUNTS), build(COUNTS[:, ::-1])])
    return model.transform([COUNTS, COUNTS])


ZEROS, UNKNOWN = "zero", "unknown"
p = polyadic
MODELS = {
    "MatrixFactorization": (UNKNOWN, of_cells(lambda: p.MatrixFactorization(1, **SHORT))),
    "StochasticMatrixFactorization": (UNKNOWN, of_cells(lambda: p.StochasticMatrixFactorization(1, **SHORT))),
    "BayesianMatrixFactorization": (
        UNKNOWN,
        of_cells(lambda: p.BayesianMatrixFactorization(1, burn_in=1, draws=2, seed=0)),
    ),
    "BayesianGeneralizedPCA": (UNKNOWN, of_cells(lambda: p.BayesianGeneralizedPCA(1, burn_in=2, draws=2, seed=0))),
    "GeneralizedPCA": (UNKNOWN, of_rows(lambda: p.GeneralizedPCA(1, **SHORT), ask="transform")),
    "MatchboxFactorization": (UNKNOWN, of_cells(lambda: p.MatchboxFactorization(1, **SHORT))),
    "ImplicitFactorization": (UNKNOWN, of_cells(lambda: p.ImplicitFactorization(1, **SHORT))),
    "LogisticFactorization": (
        UNKNOWN,
        of_cells(lambda: p.LogisticFactorization(1, n_negatives=1, **SHORT), (COUNTS > 1) * 1.0),
    ),
    "PairwiseRanking": (UNKNOWN, of_cells(lambda: p.PairwiseRanking(1, **SHORT))),
    "TraceNormCompletion": (UNKNOWN, of_cells(lambda: p.TraceNormCompletion(0.5, max_iter=9))),
    "TraceNormSum": (UNKNOWN, of_factors(lambda: p.TraceNormSum(0.5, max_iter=9), "array_", data=TENSOR)),
    "ConvexCCA": (UNKNOWN, views),
    "ConvexCollective": (
        UNKNOWN,
        lambda build: (
            p.ConvexCollective(0.5, max_iter=9)
            .fit([RelationMatrix("a", "b", build(COUNTS))])
            .predict(0, [1, 2], [2, 0])
        ),
    ),
    "TransductiveCompletion": (
        ZEROS,
        of_rows(lambda: p.TransductiveCompletion(0.5, max_iter=9), (Y > 0) * 1.0, data=COUNTS, ask="decision_function"),
    ),
    "RobustPCA": (UNKNOWN, of_factors(lambda: p.RobustPCA(max_iter=9), "rank_", "gap_")),
    "TableCompletion": (UNKNOWN, of_table(lambda: p.TableCompletion(rank=1, choose=False, seed=0))),
    "CollectiveFactorization": (UNKNOWN, of_database(lambda: p.CollectiveFactorization(1, **SHORT))),
    "VariationalFactorization": (UNKNOWN, of_database(lambda: p.VariationalFactorization(1, **SHORT))),
    "BayesianFactorization": (
        UNKNOWN,
        of_database(lambda: p.BayesianFactorization(1, burn_in=1, draws=2, n_samples=1, seed=0)),
    ),
    'NMF(unobserved="missing")': (UNKNOWN, of_factors(lambda: p.NMF(2, unobserved="missing", **SHORT), "components_")),
    "NMF": (ZEROS, of_factors(lambda: p.NMF(2, **SHORT), "components_")),
    "PLSA": (ZEROS, of_factors(lambda: p.PLSA(2, **SHORT), "components_")),
    "RLSI": (ZEROS, of_factors(lambda: p.RLSI(2, **SHORT), "components_")),
    "LDA": (ZEROS, of_factors(lambda: p.LDA(2, **SHORT), "components_")),
    "AnchorTopics": (ZEROS, of_factors(lambda: p.AnchorTopics(2), "components_", data=SHARES)),
    "SpectralLDA": (ZEROS, of_factors(lambda: p.SpectralLDA(2, alpha0=0.1, seed=0), "components_", data=SHARES)),
    "CorrespondenceAnalysis": (ZEROS, of_rows(lambda: p.CorrespondenceAnalysis(1, seed=0), ask="transform")),
    "KernelCorrespondenceAnalysis": (
        ZEROS,
        of_factors(lambda: p.KernelCorrespondenceAnalysis(1, seed=0), "row_coordinates_"),
    ),
    "CorrespondenceVectors": (ZEROS, of_factors(lambda: p.CorrespondenceVectors(1, seed=0), "vectors_", data=FLAT)),
    "MultipleCorrespondenceAnalysis": (
        ZEROS,
        of_factors(lambda: p.MultipleCorrespondenceAnalysis(1, seed=0), "row_coordinates_", data=LEVELS),
    ),
    "FactorizationMachine": (ZEROS, of_rows(lambda: p.FactorizationMachine(1, **SHORT), Y[:, 0])),
    "FactorizationMachineClassifier": (
        ZEROS,
        of_rows(lambda: p.FactorizationMachineClassifier(1, **SHORT), LABELS, ask="decision_function"),
    ),
    "FactorizationMachineRanker": (
        ZEROS,
        of_rows(lambda: p.FactorizationMachineRanker(1, **SHORT), Y[:, 0], groups=GROUP),
    ),
    "BayesianFactorizationMachine": (
        ZEROS,
        of_rows(lambda: p.BayesianFactorizationMachine(1, burn_in=1, draws=2, seed=0), Y[:, 0]),
    ),
    "BayesianFactorizationMachineClassifier": (
        ZEROS,
        of_rows(
            lambda: p.BayesianFactorizationMachineClassifier(1, burn_in=1, draws=2, seed=0), LABELS, ask="predict_proba"
        ),
    ),
    "ReducedRankRegression": (ZEROS, of_rows(lambda: p.ReducedRankRegression(1), Y)),
    "ReducedRankRegressionCV": (ZEROS, of_rows(p.ReducedRankRegressionCV, Y)),
    "LowRankTasks": (ZEROS, of_rows(lambda: p.LowRankTasks(1, max_iter=3), Y)),
    "ScoreRegression": (ZEROS, of_rows(p.ScoreRegression, 1 + GROUP)),
    "RankingPerceptron": (ZEROS, of_rows(lambda: p.RankingPerceptron(max_iter=3), LABELS, ask="decision_function")),
    "MIRA": (ZEROS, of_lists(lambda: p.MIRA(max_iter=3, best=2))),
    "TensorMIRA": (ZEROS, of_lists(lambda: p.TensorMIRA(max_iter=3, sizes=(2, 3)))),
    "TupleClassifier": (
        ZEROS,
        lambda build: (
            p.TupleClassifier(1, **SHORT)
            .fit([[0, 1], [2, 3], [4, 5]], [True, False, True], features=[build(COUNTS), build(COUNTS)])
            .decision_function([[1, 2], [3, 4]])
        ),
    ),
    "AsymmetricCP": (ZEROS, of_factors(lambda: p.AsymmetricCP(2, **SHORT), "weights_", "factors_", data=TENSOR)),
    "PoissonCP": (ZEROS, of_factors(lambda: p.PoissonCP(2, **SHORT), "weights_", data=TENSOR)),
    "Tucker": (ZEROS, of_factors(lambda: p.Tucker((2, 2, 2), **SHORT), "explained_", "core_", data=TENSOR)),
    "SymmetricCP": (ZEROS, of_factors(lambda: p.SymmetricCP(2, **SHORT), "factors_", data=CUBE)),
    "JointCP": (ZEROS, lambda build: np.hstack(p.JointCP(3, **SHORT).fit([build(FLAT), build(CUBE)]).factors_)),
    "GloVe": (ZEROS, of_factors(lambda: p.GloVe(2, epochs=2, seed=0), "vectors_", data=FLAT)),
    "NNSE": (ZEROS, of_factors(lambda: p.NNSE(2, svd_rank=2, **SHORT), "vectors_", data=FLAT)),
    "PPMISVD": (ZEROS, of_factors(lambda: p.PPMISVD(2, seed=0), "vectors_", data=FLAT)),
    "RandomVectors": (ZEROS, of_factors(lambda: p.RandomVectors(2, seed=0), "vectors_")),
    "RESCAL": (ZEROS, of_factors(lambda: p.RESCAL(2, **SHORT), "entity_factors_", data=TENSOR)),
    "TypedRESCAL": (ZEROS, of_factors(lambda: p.TypedRESCAL(2, **SHORT), "entity_factors_", data=TENSOR)),
    "TransitiveVerbs": (
        ZEROS,
        of_factors(lambda: p.TransitiveVerbs(weight="log"), "verb_factors_", data=TENSOR, nouns=COUNTS[:4]),
    ),
}
"""Each model with the meaning of elements that a sparse array does not list, and a function of a container."""
OTHERS = {
    "text": [
        "LogCountRatio",
        "MeanSentences",
        "ConvolutionalSentences",
        "TextClassifier",
        "TextTopics",
        "Word2Vec",
        "PositionCBOW",
    ],
    "fields": ["FieldEncoder", "TableLabels"],
    "facts": ["HornRules", "InjectedLogic", "KnowledgeTensor", "UniversalSchema"],
    "sequences": [
        *["HiddenMarkov", "NGrams", "ObservableOperators", "SequenceTagger", "SpectralAutomaton"],
        *["SpectralTransducer", "SpectralGrammar"],
    ],
    "trees": [
        *[
            "ArcFactored",
            "HigherOrderParser",
            "LatentPCFG",
            "LowRankParser",
            "MarginalParser",
            "PCFG",
            "PredicateFinder",
        ],
        *["RoleRegression", "SemanticRoles", "SplitMergePCFG", "TextTagger"],
    ],
}
"""Models that do not take numeric matrices or tensors, by what they take."""


def known_cells(A):
    """Make the reference of missing elements: entries of the others."""
    holed = hole(A, np.nan)
    return entries(holed, ~np.isnan(holed), unobserved="missing")


def outcome(name, container):
    """Return "same result", "refused: message" or "not applicable"; any other error, and another result, is a fault."""
    unlisted, fit = MODELS[name]
    content, builders = CONTAINERS[container]
    references = {
        COMPLETE: lambda A: A,
        MISSING: known_cells,
        LISTED: (lambda A: A) if unlisted == ZEROS else (lambda A: np.where(A == 0, np.nan, A)),
    }
    found = set()
    for build in builders:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = fit(build)
                np.testing.assert_allclose(result, fit(references[content]), rtol=1e-4, atol=1e-6)
            found.add("same result")
        except NotApplicable:
            continue
        except (InputError, ValueError, TypeError) as error:
            if not isinstance(error, InputError):
                raise
            found.add(f"refused: {' '.join(str(error).split())}")
    assert len({text.split(";")[0] for text in found}) < 2, found
    return min(found, default="not applicable")

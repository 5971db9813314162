"""Why a value is what it is: parts add up to it, and move with what they are due to."""

import copy
import itertools
from itertools import chain, combinations

import numpy as np
import pytest
from scipy import sparse

from helpers import in_json
from polyadic import (
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
    FactorizationMachine,
    FactorizationMachineClassifier,
    FactorizationMachineRanker,
    FieldEncoder,
)
from polyadic.completion.components import rotated_components, varimax
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.table_completion import TableCompletion
from polyadic.core.errors import InputError
from polyadic.core.frames import frame
from polyadic.relations.facts import facts_of
from polyadic.relations.formulas import And, Not, Or
from polyadic.relations.knowledge import FORMS, KnowledgeTensor
from polyadic.relations.rule_mining import count_groundings, derivations
from polyadic.relations.rules import parse_rule
from polyadic.relations.schema import schema_of
from polyadic.relations.universal import UniversalSchema
from polyadic.tables.correspondence import CorrespondenceAnalysis


def some_table(seed=0, *, rows=30, columns=20, share=0.4):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, columns)) + rng.standard_normal(columns)
    return np.where(rng.random(x.shape) < share, x, np.nan)


def some_counts(seed=0, *, rows=30, columns=20):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.2 + 2.0 * (np.arange(rows)[:, None] % 3 == np.arange(columns) % 3)).astype(float)


@pytest.mark.parametrize("count_power", [0.0, 0.5])
def test_parts_and_base_are_the_value(count_power):
    """Of a row that was fitted to, alternating least squares end with what its parts add up to."""
    x = some_table()
    model = MatrixFactorization(4, count_power=count_power, seed=0).fit(x)
    columns = np.arange(x.shape[1])
    for row in (0, 7):
        base, known, parts = model.explain(x[[row]], columns)
        np.testing.assert_array_equal(known, np.flatnonzero(np.isfinite(x[row])))
        np.testing.assert_allclose(base, model.mean_ + model.column_biases_)
        np.testing.assert_allclose(base + parts.sum(axis=1), model.predict(np.full(20, row), columns))


def test_a_part_is_what_its_cell_moves():
    """Where a value moves by a share of what biases leave of it, predictions do by that share of its part."""
    x = some_table()
    model = MatrixFactorization(4, seed=0).fit(x)
    columns = np.arange(x.shape[1])

    def predicted(row):
        u = model.transform(row)[0]
        return model.mean_ + model.column_biases_ + u[-1] + model.column_factors_ @ u[:-1]

    _, known, parts = model.explain(x[[3]], columns)
    for place, column in enumerate(known[:3]):
        moved = x[[3]].copy()
        moved[0, column] += 0.1 * (moved[0, column] - model.mean_ - model.column_biases_[column])
        np.testing.assert_allclose(predicted(moved) - predicted(x[[3]]), 0.1 * parts[:, place], atol=1e-12)


def test_parts_of_implicit_feedback():
    """They add up to the products of the row as it is folded in, known or new."""
    x = some_counts()
    model = ImplicitFactorization(3, seed=0).fit(x[1:])
    for row in (x[[0]], x[[5]]):
        base, known, parts = model.explain(row, np.arange(20))
        assert not base.any()
        np.testing.assert_array_equal(known, np.flatnonzero(row[0]))
        np.testing.assert_allclose(
            parts.sum(axis=1), model.column_factors_ @ model.transform(row)[0], rtol=1e-5, atol=1e-6
        )
    assert model.explain(np.zeros((1, 20)), [0, 3]).parts.shape == (2, 0)
    exact = ImplicitFactorization(3, steps=None, tol=0, seed=0).fit(x)
    _, _, parts = exact.explain(x[[4]], [0, 2])
    np.testing.assert_allclose(parts.sum(axis=1), exact.predict([4, 4], [0, 2]))


def test_what_goes_together_carries():
    """Of two groups that nobody mixed, a row that knows both has parts from the group of the column alone."""
    model = ImplicitFactorization(2, ridge=0.1, seed=0).fit(np.kron(np.eye(2), np.ones((9, 6))))
    row = np.zeros((1, 12))
    row[0, [0, 1, 7]] = 1
    for column, carried in ((4, [True, True, False]), (9, [False, False, True])):
        (parts,) = model.explain(row, [column]).parts
        assert (np.abs(parts) > 0.05).tolist() == carried
        assert np.abs(parts[np.logical_not(carried)]).max() < 0.01


@pytest.mark.parametrize("model", [MatrixFactorization(2, seed=0), ImplicitFactorization(2, seed=0)])
def test_refusals(model):
    """Several rows at once, and columns that are not there."""
    model.fit(some_counts())
    with pytest.raises(InputError, match="exactly one row; got 2"):
        model.explain(some_counts()[:2], [0])
    with pytest.raises(InputError, match="got 20"):
        model.explain(some_counts()[:1], [20])


@pytest.mark.parametrize("method", ["als", "implicit"])
def test_reasons_by_name(method, tmp_path):
    """From the command line too: parts of a recommendation are among what is known of its row, the largest first."""
    x = some_counts()
    lines = [(f"r{i}", f"c{j}", x[i, j]) for i, j in zip(*np.nonzero(x), strict=True)]
    model = TableCompletion(method, choose=False, seed=0).fit(lines)
    named = model.recommend("r4", 5)
    for (column, value), why in zip(named, model.explain("r4", [column for column, _ in named]), strict=True):
        assert why.value == pytest.approx(value)
        assert {name for name, _ in why.parts} == {column for row, column, _ in lines if row == "r4"} - {column}
        assert sorted(why.parts, key=lambda part: -abs(part[1])) == why.parts
        assert why.base + sum(part for _, part in why.parts) == pytest.approx(value)
    model.save(tmp_path / "model")
    asked = ["complete", "recommend", tmp_path / "model", "r4"]
    said = in_json(*asked, "-n", "5", "--why", "2")
    (first, *_) = said["recommended"]
    assert [each["column"] for each in first["why"]] == [
        name for name, _ in model.explain("r4", [first["column"]])[0].parts[:2]
    ]
    (first,) = in_json(*asked, "-n", "1", "--why", "1", "--by", "components")["recommended"]
    (component,) = [each["component"] for each in first["why"]]
    told = in_json("complete", "components", tmp_path / "model")
    assert component in [" / ".join(c["column"] for c in each["columns"][:3]) for each in told["components"]]


@pytest.mark.parametrize("method", ["als", "implicit", "bayesian", "trace-norm"])
def test_components_add_up_whatever_the_method(method):
    """To the value, beside means of rows and columns; they are named by the columns that have most of them."""
    table = [(f"r{i}", f"c{j}", 1.0 + ((i + j) % 3 == 0) + 0.1 * i) for i in range(12) for j in range(9) if (i * j) % 5]
    model = TableCompletion(method, rank=None if method == "trace-norm" else 3, choose=False, seed=0).fit(table)
    U, V = model.model_.augmented()
    P = U @ V.T
    row, columns = "r4", ["c2", "c7"]
    for column, why in zip(columns, model.explain(row, columns, by="components"), strict=True):
        i, j = model.rows_.index(row), model.columns_.index(column)
        assert why.value == pytest.approx(P[i, j], rel=1e-5)
        limit = 1e-5 if method != "bayesian" else 0.2  # whose draws span more axes than its rank
        assert why.base == pytest.approx(P[i].mean() + P[:, j].mean() - P.mean(), rel=limit, abs=limit)
    components = model.components(top=2)
    assert all(len(component.columns) <= 2 for component in components)
    assert sum(component.share for component in components) <= 1 + 1e-9
    shares = [component.share for component in components]
    assert shares == sorted(shares, reverse=True)
    assert len(model.components(1)) == 1
    rows = frame(components)
    assert rows.columns.tolist() == ["component", "share", "column", "loading"]
    assert frame(model.recommend("r1", 2, seen=True)).columns.tolist() == ["column", "value"]
    assert frame(model.explain(row, columns, by="components")[0]).columns.tolist() == ["value", "base", "name", "part"]
    with pytest.raises(InputError, match="by must be"):
        model.explain(row, columns, by="words")


def test_components_do_not_depend_on_how_predictions_are_factorized():
    """Any other factors of the same matrix give the same, up to rounding; scores have variance one, and are apart."""
    rng = np.random.default_rng(0)
    blocks = np.kron(np.eye(3), np.ones((6, 1))) * rng.uniform(1, 2, (18, 1))
    simple = np.concatenate([blocks, np.zeros((60, 3))]) + 0.05 * rng.standard_normal((78, 3))
    U, V, M = rng.standard_normal((50, 3)), simple * [3.0, 2.0, 1.0], rng.standard_normal((3, 3)) + 2 * np.eye(3)
    one, other = rotated_components(U, V, 3), rotated_components(U @ M, V @ np.linalg.inv(M).T, 3)
    np.testing.assert_allclose(one.loadings, other.loadings, atol=1e-4)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-3)
    np.testing.assert_allclose(one.scores.T @ one.scores / 50, np.eye(3), atol=1e-9)
    for r in range(3):
        assert {*np.argsort(-one.loadings[:, r])[:6]} == {*range(6 * r, 6 * r + 6)}


def test_varimax_is_the_best_angle():
    """Of two columns, against a grid of all rotations."""
    L = np.random.default_rng(0).standard_normal((30, 2)) ** 3

    def criterion(X):
        return ((X**4).sum(axis=0) - (X**2).sum(axis=0) ** 2 / len(X)).sum()

    T = varimax(L)
    np.testing.assert_allclose(T.T @ T, np.eye(2), atol=1e-12)
    angles = np.linspace(0, np.pi, 2001)
    best = max(criterion(L @ [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles)
    assert criterion(L @ T) >= best * (1 - 1e-6)
    assert varimax(np.zeros((0, 3))).tolist() == np.eye(3).tolist()


def test_methods_without_parts():
    """A Bayesian prediction is a mean over draws, each with parts of its own."""
    model = TableCompletion("bayesian", seed=0).fit([("a", "x", 1), ("a", "y", 2), ("b", "x", 3)])
    with pytest.raises(InputError, match="or method als or implicit"):
        model.explain("b", ["y"])


# ---- machines


MACHINES = [
    FactorizationMachine(2, max_iter=5, tol=0, seed=0),
    FactorizationMachine(order=1, max_iter=5, tol=0, seed=0),
    FactorizationMachine((2, 0, 1), order=4, solver="sgd", loss="poisson", max_iter=5, seed=0),
    FactorizationMachineClassifier((2, 3), order=3, solver="adagrad", max_iter=5, tol=0, seed=0),
    FactorizationMachineRanker((2, 1), order=3, max_iter=5, seed=0),
    BayesianFactorizationMachine((3, 2), order=3, draws=5, burn_in=1, seed=0),
]


def some_rows(seed=0):
    """Sparse features of forty rows, the last without any."""
    X = sparse.random_array((40, 6), density=0.5, rng=np.random.default_rng(seed), format="csr")
    X[[39]] *= 0
    return X


def score(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return np.log(model.predict(X)) if getattr(model, "loss", "") == "poisson" else model.predict(X)


@pytest.mark.filterwarnings("ignore::polyadic.core.solvers.run.NotConvergedWarning")
@pytest.mark.parametrize("model", MACHINES, ids=repr)
def test_parts_of_a_machine_are_its_score(model):
    """Each is the score of its features without all that fewer of them say; with the base they add up."""
    X, y = some_rows(), np.arange(40) % 2
    model.fit(X, y, **({"groups": np.arange(40) // 4} if "Ranker" in repr(model) else {}))
    for i in (0, 7, 39):
        row = X[[i]].toarray()
        value, base, parts = model.explain(X[[i]])
        columns = np.flatnonzero(row).tolist()
        sizes = [
            d for d in range(1, model.order + 1) if not (isinstance(model.rank, tuple) and (1, *model.rank)[d - 1] == 0)
        ]
        sets = [*chain.from_iterable(combinations(columns, d) for d in sizes)]
        assert {name for name, _ in parts} == {*sets}
        assert len(parts) == len(sets)
        assert value == score(model, X[[i]])[0]
        assert base == pytest.approx(score(model, np.zeros((1, 6)))[0], abs=1e-10)
        assert base + sum(part for _, part in parts) == pytest.approx(value, abs=1e-12)
        assert sorted(parts, key=lambda part: -abs(part[1])) == parts
        for name, part in parts:
            within = [some for d in range(len(name) + 1) for some in combinations(name, d)]
            kept = np.array([np.isin(np.arange(6), some) * row[0] for some in within])
            signs = [(-1) ** (len(name) - len(some)) for some in within]
            assert part == pytest.approx(signs @ score(model, kept), abs=1e-10)


@pytest.mark.parametrize("model", [FactorizationMachine(1, seed=0), BayesianFactorizationMachine(1, seed=0)], ids=repr)
def test_what_is_multiplied_is_named(model):
    """Who likes which film, and nothing else, comes from the pair; a film that all like from the film."""
    who, what = (each.ravel().tolist() for each in np.meshgrid(list("abcdef"), list("uvwxyz"), indexing="ij"))
    y = [3 * ((user < "d") == (film < "x")) + 4 * (film == "w") for user, film in zip(who, what, strict=True)]
    encoder = FieldEncoder()
    model.fit(encoder.fit_transform({"user": who, "film": what}), y)

    def largest(user, film):
        return model.explain(encoder.transform({"user": [user], "film": [film]}), encoder.names_).parts[0]

    for user, film in (("a", "u"), ("e", "u"), ("a", "z"), ("e", "z")):
        name, part = largest(user, film)
        assert name == (f"user={user}", f"film={film}")
        assert (part > 0) == ((user < "d") == (film < "x"))
    assert largest("a", "w")[0] == ("film=w",)


def test_names_of_a_data_frame():
    """Are those of parts, unless others are given."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=["age", "price", "year"])
    model = FactorizationMachine(1, ridge=0.01, seed=0).fit(X, X["age"] * X["year"])
    assert model.explain(X[:1]).parts[0][0] == ("age", "year")
    assert model.explain(X[:1], "apy").parts[0][0] == ("a", "y")


@pytest.mark.filterwarnings("ignore::polyadic.core.solvers.run.NotConvergedWarning")
def test_machines_that_cannot_be_taken_apart(monkeypatch):
    """And rows that cannot: each in a sentence."""
    X, y = some_rows(), np.arange(40) % 2
    model = FactorizationMachine(2, order=4, max_iter=2, seed=0).fit(X, y)
    with pytest.raises(InputError, match="exactly one row; got 2"):
        model.explain(X[:2])
    with pytest.raises(InputError, match="names must have one name for each of the 6 features; got 2"):
        model.explain(X[:1], "ab")
    with pytest.raises(InputError, match="averages of probabilities cannot be decomposed"):
        BayesianFactorizationMachineClassifier(2, draws=2, seed=0).fit(X, y).explain(X[:1])
    clipped = BayesianFactorizationMachine(2, draws=2, clip=True, seed=0).fit(X, y)
    with pytest.raises(InputError, match="set clip to false"):
        clipped.explain(X[:1])
    assert clipped.set_params(clip=False).explain(X[:1]).value == clipped.predict(X[:1])[0]
    monkeypatch.setattr("polyadic.core.resources.free_memory", lambda: 1)
    with pytest.raises(InputError, match=r"for each of 56 sets of features .* use fewer features, or lower the order"):
        model.explain(np.ones((1, 6)))


# ---- cells of tables of counts


@pytest.mark.parametrize("settings", [{}, {"power": 0.5}, {"count_exponent": 0.5}], ids=str)
def test_axes_add_up_to_the_cell(settings):
    """All axes and the base, which is what independence would have, are the count by what the margins expect."""
    x = some_counts(rows=7, columns=5)
    model = CorrespondenceAnalysis(4, **settings).fit(x)
    x = x ** settings.get("count_exponent", 1)
    times = x * x.sum() / np.outer(x.sum(axis=1), x.sum(axis=0))
    for i, j in np.ndindex(x.shape):
        why = model.explain(i, j)
        assert why.value == pytest.approx(times[i, j], abs=1e-8)
        assert why.base == pytest.approx(1)
        assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)
        assert sorted(axis for axis, _ in why.parts) == [1, 2, 3, 4]


def test_fewer_axes_are_the_first_of_all():
    """An axis makes as much of a cell however many others are kept."""
    x = some_counts(rows=7, columns=5)
    few, every = (CorrespondenceAnalysis(rank).fit(x).explain(2, 3) for rank in (2, 4))
    assert dict(few.parts) == pytest.approx({axis: dict(every.parts)[axis] for axis in (1, 2)})


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_what_is_alike_has_a_profile_like_it(side):
    """Distances in all axes are the chi-square distances of profiles, whatever the power of the coordinates."""
    x = some_counts(rows=7, columns=5)
    model = CorrespondenceAnalysis(4, power=0.3).fit(x)
    x = x if side == "rows" else x.T
    profiles, weights = x / x.sum(axis=1, keepdims=True), x.sum() / x.sum(axis=0)
    apart = np.sqrt(((profiles - profiles[1]) ** 2) @ weights)
    found = model.nearest(1, side=side, n=99)
    assert [k for k, _ in found] == [k for k in np.argsort(apart).tolist() if k != 1]
    assert [far for _, far in found] == pytest.approx(np.sort(apart)[1:].tolist(), abs=1e-7)


@pytest.mark.filterwarnings("ignore:.*without counts")
def test_cells_that_are_not_there():
    """Names that a table has not; and what has no observations is as expected, and near nothing."""
    x = some_counts(rows=7, columns=5)
    x[6] = 0
    model = CorrespondenceAnalysis(2).fit(x)
    assert model.explain(6, 0).value == 1
    assert 6 not in dict(model.nearest(0, n=99))
    with pytest.raises(InputError, match="no row 7; indices are 0 to 6"):
        model.explain(7, 0)
    model.column_labels_ = tuple("abcde")
    assert model.explain(0, "b") == CorrespondenceAnalysis(2).fit(x).explain(0, 1)
    with pytest.raises(InputError, match="no column 'f'"):
        model.nearest("f", side="columns")


# ---- facts


def some_facts(seed=0, *, entities=6, relations=2, facts=14):
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.product(range(entities), range(relations), range(entities))))
    return every[rng.choice(len(every), facts, replace=False)]


def slow_gradient(model, fact):
    """Derivatives of a score by all numbers of a model, by differences."""
    model, step, slopes = copy.deepcopy(model), 1e-3, []
    tied = model.subject_factors_ is model.object_factors_
    model.subject_factors_ = model.subject_factors_.astype(float)
    model.object_factors_ = model.subject_factors_ if tied else model.object_factors_.astype(float)
    model.relation_factors_ = [factor.astype(float) for factor in model.relation_factors_]
    ends = [model.subject_factors_] if tied else [model.subject_factors_, model.object_factors_]
    for numbers in (factor.reshape(-1) for factor in (*ends, *model.relation_factors_)):
        for at in range(len(numbers)):
            scores = []
            for by in (step, -2 * step):
                numbers[at] += by
                scores.append(model.predict(*([each] for each in fact))[0])
            numbers[at] += step
            slopes.append((scores[0] - scores[1]) / (2 * step))
    return np.array(slopes)


@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_fact_moves_others_along_their_gradients(form, reciprocal):
    """A part is the product of two gradients by that of one with itself; facts that share nothing have none."""
    model = KnowledgeTensor(2, form=form, reciprocal=reciprocal, max_iter=5, seed=0, threads=1).fit(some_facts())
    for fact in ((0, 1, 3), (2, 0, 2), tuple(model.facts_[0].tolist())):
        why = model.explain(*fact, k=99)
        assert why.value == pytest.approx(model.predict(*([each] for each in fact))[0])
        assert np.isnan(why.base)
        assert sorted(why.parts, key=lambda part: -abs(part[1])) == why.parts
        shared = [g for g in map(tuple, model.facts_.tolist()) if {g[0], g[2]} & {fact[0], fact[2]} or g[1] == fact[1]]
        assert {name for name, _ in why.parts} == {*shared} - {fact}
        own = slow_gradient(model, fact)
        for name, part in why.parts[:4]:
            assert part == pytest.approx(own @ slow_gradient(model, name) / (own @ own), rel=1e-3, abs=1e-4)
        assert model.explain(*fact, k=2).parts == why.parts[:2]


@pytest.mark.parametrize("form", ["ComplEx", "CP", "RESCAL", "TuckER"])
def test_facts_of_the_same_family_carry(form):
    """Of towns of two lands, that one lies in its land rests on those that lie there, and on no other land's."""
    lands = {"north": [f"n{i}" for i in range(6)], "south": [f"s{i}" for i in range(6)]}
    facts = [(town, "in", land) for land, towns in lands.items() for town in towns]
    facts += [(a, "near", b) for towns in lands.values() for a in towns for b in towns if a != b]
    model = KnowledgeTensor(6, form=form, seed=0, threads=1).fit(
        facts_of([fact for fact in facts if fact[0] != "n0" or fact[1] != "in"])
    )
    parts = model.explain("n0", "in", "north", k=5).parts
    assert {name for name, _ in parts} == {(f"n{i}", "in", "north") for i in range(1, 6)}
    assert min(part for _, part in parts) > 0.2
    with pytest.raises(InputError, match="no relation 'of'"):
        model.explain("n0", "of", "north")
    with pytest.raises(InputError, match="k must be"):
        model.explain("n0", "in", "north", k=0)


@pytest.mark.parametrize("features", ["NF", "N", "F", "NFE"])
def test_what_is_said_of_a_pair_adds_up(features):
    """Log-odds are the base and what each other predicate of the pair adds; what is asked is none of these."""
    rng = np.random.default_rng(0)
    pairs = [(f"e{i}", f"f{i % 5}") for i in range(12)]
    schema = schema_of([(*pair, name) for pair in pairs for name in "abcd" if rng.random() < 0.6])
    model = UniversalSchema(3, features=features, max_iter=5, seed=0).fit(schema)
    for row, column in np.ndindex(schema.cells.shape):
        why = model.explain(schema.pairs[row], schema.predicates[column])
        assert why.value == pytest.approx(model.log_odds([[row, column]])[0])
        assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)
        listed = {schema.predicates[at] for at in schema.cells[[row]].nonzero()[1]} - {schema.predicates[column]}
        assert {name for name, _ in why.parts} <= listed
        alone = copy.deepcopy(model)
        alone.schema_ = schema.only(schema.indices[:, 0] != row)
        assert why.base == pytest.approx(alone.log_odds([[row, column]])[0])
    with pytest.raises(InputError, match="no entity pair"):
        model.explain(("e0", "nobody"), "a")


def slow_derivations(schema, rule, fact):
    """All ways to bind the variables of a rule, one after another."""
    known, found = {*schema.triples()}, []

    def true(formula, bound):
        if isinstance(formula, And | Or):
            return (all if isinstance(formula, And) else any)(true(part, bound) for part in formula.parts)
        if isinstance(formula, Not):
            return not true(formula.inner, bound)
        return (*(bound[name] for name in formula.arguments), formula.predicate) in known

    for values in itertools.product(schema.entities, repeat=len(rule.variables)):
        bound = dict(zip(rule.variables, values, strict=True))
        said = {atom: (*(bound[name] for name in atom.arguments), atom.predicate) for atom in rule.atoms}
        facts = {said[atom] for atom in rule.atoms if atom not in rule.conclusions and said[atom] in known}
        if (
            fact in {said[atom] for atom in rule.conclusions}
            and true(rule.formula.premise, bound)
            and fact not in facts
        ):
            found.append(facts)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a(x, y) => b(y, x)",
        "a(x, z) & b(z, y) => c(x, y) & d(y, x)",
        "a(x, z) & a(z, y) => a(x, y)",
        "(a(x, y) | b(x, y)) & !d(x, y) => c(x, y)",
    ],
)
def test_rules_conclude_what_their_premises_say(text):
    """Groundings of a fact are those found by trying every binding, known or not, and never from itself."""
    rng, rule, some = np.random.default_rng(0), parse_rule(text), 0
    told = {(*rng.choice(list("ABCDE"), 2).tolist(), str(rng.choice(list("abcd")))) for _ in range(30)}
    schema = schema_of(sorted(told), predicates="abcd")
    for fact in itertools.product(schema.entities, schema.entities, "abcd"):
        found = derivations(schema, [parse_rule("a(x, y) => !b(x, y)"), rule], fact)
        groundings = [{*facts} for one in found for facts in one.groundings]
        expected = slow_derivations(schema, rule, fact)
        assert sorted(map(sorted, groundings)) == sorted(map(sorted, expected))
        assert [(one.rule, one.counts) for one in found] == [(rule, count_groundings(schema, rule))] * bool(expected)
        some += len(expected)
    assert some
    assert derivations(schema, [rule], ("A", "nobody", "b")) == []


def test_the_surest_rule_comes_first():
    """By how often it is right when it is tried."""
    facts = [("A", "B", "a"), ("A", "B", "b"), ("C", "D", "a"), ("C", "D", "c"), ("E", "F", "b"), ("C", "D", "b")]
    rules = [parse_rule("b(x, y) => c(x, y)"), parse_rule("a(x, y) => c(x, y)")]
    found = derivations(schema_of(facts), rules, ("A", "B", "c"))
    assert [(str(one.rule), tuple(one.counts)) for one in found] == [
        ("a(x, y) => c(x, y)", (2, 1)),
        ("b(x, y) => c(x, y)", (3, 1)),
    ]

"""Universal schemas: the matrix, the log-odds, the descent, pairs that were not trained, and what models say."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import roc_auc_score

from helpers import refuses
from polyadic.core.errors import InputError
from polyadic.core.solvers.run import run
from polyadic.metrics.judged import average_precision
from polyadic.relations.questions import PairForm, Ridges, SampledNegatives, _CellDescent, descend_questions
from polyadic.relations.schema import Schema, read_schema, schema_of
from polyadic.relations.universal import Features, UniversalSchema, expected, fold_in

NAMES = st.sampled_from(["a", "b", "c", "d"])
TRIPLES = st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["p", "q", "r"])), min_size=1, max_size=20)
EVERY = get_args(Features)


def random_schema(rng, *, people=12, predicates=6, share=0.3):
    pairs = [(f"e{i}", f"e{(i * 5 + 3) % people}") for i in range(people)]
    pairs += [(o, s) for s, o in pairs[:3]]
    triples = [(s, o, f"p{j}") for s, o in pairs for j in range(predicates) if rng.random() < share]
    return schema_of(triples)


def planted(rng, *, rows=200, columns=30, rank=3):
    """Pairs whose predicates follow from few types, and a schema that lacks some of what holds."""
    m = 2.5 * rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns)) - 1.5
    truth = m > 0
    truth[~truth.any(axis=1), 0] = True
    hidden = truth & (rng.random(truth.shape) < 0.2)
    listed = [(f"s{i}", f"o{i}", f"p{j}") for i, j in np.argwhere(truth & ~hidden)]
    schema = schema_of(listed, predicates=[f"p{j}" for j in range(columns)])
    rows_of = np.array([int(s[1:]) for s, _ in schema.pairs])
    return schema, hidden[rows_of]


def mean_precision(model, schema, hidden):
    scores = model.column_log_odds(np.arange(hidden.shape[1]))
    scores = np.where(schema.cells.toarray() > 0, -np.inf, scores)
    found = []
    for j in np.flatnonzero(hidden.sum(axis=0) > 2):
        right = hidden[np.argsort(-scores[:, j]), j]
        found.append(average_precision(right, int(right.sum()))[0])
    return np.mean(found)


@given(TRIPLES)
def test_a_schema_holds_its_facts(triples):
    """A schema gives back each fact once, rows rise, and rows of reversed pairs are each other's."""
    schema = schema_of(triples)
    assert sorted(schema.triples()) == sorted(set(triples))
    assert (np.diff(schema.indices @ [len(schema.predicates), 1]) > 0).all()
    assert set(schema.cells.data) == {1.0}
    whole = schema.with_reversed()
    assert (whole.reversed_rows >= 0).all()
    assert (whole.reversed_rows[whole.reversed_rows] == np.arange(len(whole.pairs))).all()
    assert sorted(whole.triples()) == sorted(schema.triples())
    for (subject, object_), numbers in zip(schema.pairs, schema.arguments, strict=True):
        assert (schema.entities[numbers[0]], schema.entities[numbers[1]]) == (subject, object_)


@given(TRIPLES, st.randoms())
def test_cells_can_be_chosen(triples, random):
    """Chosen cells and the others are all cells, over the same rows and columns."""
    schema = schema_of(triples)
    chosen = np.array([random.random() < 0.5 for _ in schema.indices])
    one, other = schema.only(chosen), schema.only(~chosen)
    assert ((one.cells + other.cells) != schema.cells).nnz == 0
    assert one.pairs == schema.pairs
    assert one.predicates == schema.predicates


def test_schemas_refuse_what_does_not_fit(tmp_path):
    """A wrong line is named by file and number; names that are not there are named."""
    path = tmp_path / "facts.tsv"
    path.write_text("a\tb\tlikes\na\tb\tc\td\nb\t\tc\td\n", encoding="utf-8")
    refuses(r"2 of 3 rows of .*facts\.tsv cannot be read; line 2: expected subject", read_schema, path)
    refuses(r"at least one triple", schema_of, [])
    schema = schema_of([("a", "b", "p")])
    for lookup in (lambda: schema.row("b", "a"), lambda: schema.column("q"), lambda: schema.only([3])):
        with pytest.raises(InputError):
            lookup()
    refuses("must be unique", Schema, [("a", "b"), ("a", "b")], ["p"], schema.cells[[0, 0]])


@pytest.mark.parametrize("change", ["twos", "bool", "matrix", "falling"])
def test_cells_are_ones_in_order(change):
    """Cells that would be counted twice, or not, are refused; they would be wrong everywhere."""
    schema = random_schema(np.random.default_rng(0))
    cells = schema.cells
    falling = csr_array((cells.data, cells.indices[::-1], cells.indptr), shape=cells.shape)
    changed = {"twos": cells * 2, "bool": cells.astype(bool), "matrix": csr_matrix(cells), "falling": falling}[change]
    refuses("cells must", Schema, schema.pairs, schema.predicates, changed)


@pytest.mark.parametrize("features", EVERY)
def test_log_odds_are_their_formula(features):
    """Tables of a descent, the terms of a model and the formula written out give one number for each cell."""
    rng = np.random.default_rng(0)
    schema = random_schema(rng)
    form = PairForm(schema, features, rows=True, columns=True)
    vectors = rng.standard_normal((form.vectors[-1], 3))
    weights = rng.standard_normal((form.weights[-1], 1))
    terms = form.terms(vectors, weights)
    cells = np.argwhere(np.ones(schema.cells.shape))
    descent = _CellDescent(form, [vectors, weights], StraightDown(), Ridges(0.0, 0.0))
    known, W = schema.cells.toarray() > 0, terms.W.toarray()
    slow = np.zeros(len(cells))
    for e, (r, c) in enumerate(cells):
        s, o = schema.arguments[r]
        slow[e] = terms.a[r] + terms.b[c] + terms.T[s] @ terms.D1[c] + terms.T[o] @ terms.D2[c]
        slow[e] += sum(terms.X[s] * terms.Y[c] * terms.Z[o]) if "T" in features else 0.0
        slow[e] += terms.U[r] @ terms.V[c] + sum(W[c, d] for d in range(len(W)) if known[r, d] and d != c)
    np.testing.assert_allclose(descent.log_odds(form(cells), len(cells)), slow)
    np.testing.assert_allclose(terms.cells(cells, schema.cells, schema.arguments), slow)
    rows, columns = np.arange(len(schema.pairs)), np.array([4, 1])
    matrix = terms.matrix(rows, schema.cells, schema.arguments, columns)
    np.testing.assert_allclose(matrix, slow.reshape(schema.cells.shape)[:, columns])
    assert ("N" in features) == bool(np.abs(W).sum())
    assert not W.diagonal().any()


class StraightDown:
    """A rule that takes the gradient itself as the step."""

    layers = 0

    def start(self, T):
        return np.zeros(len(T))

    def move(self, touched, penalties, T, state, *, pace, rank):  # noqa: ARG002 the rule's protocol
        T[touched.rows, 0] -= T[touched.rows, 1]
        T[touched.rows, 1] = 0


@pytest.mark.parametrize("loss", ["logistic", "bpr"])
def test_a_step_is_the_gradient(loss):
    """What a step adds up is the derivative of the value of its batch, penalties included."""
    rng = np.random.default_rng(1)
    schema = random_schema(rng)
    form = PairForm(schema, "NFET", rows=True, columns=True)
    start = [rng.standard_normal((form.vectors[-1], 2)), rng.standard_normal((form.weights[-1], 1))]
    source = SampledNegatives(schema.indices, schema.cells.shape, loss=loss, n_negatives=2, weight=0.7)
    asked = list(source.epoch(rng, 2))

    def value(tables):
        descent = _CellDescent(form, tables, StraightDown(), Ridges(0.03, 0.2))
        return sum(descent.value(*question) for question in asked)

    descent = _CellDescent(form, start, StraightDown(), Ridges(0.03, 0.2))
    descent.step(asked)
    for which, table in enumerate(descent.tables):
        gradient = start[which] - table.rows
        for at in rng.permutation(np.argwhere(np.ones(gradient.shape)))[:40]:
            sides = []
            for way in (1e-6, -1e-6):
                moved = [factor.copy() for factor in start]
                moved[which][tuple(at)] += way
                sides.append(value(moved))
            assert gradient[tuple(at)] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "bpr"])
def test_drawn_cells_are_unobserved_cells_of_the_column(loss):
    """An epoch asks about each listed cell, and with it about as many unobserved cells of its column."""
    rng = np.random.default_rng(2)
    schema = random_schema(rng)
    full = np.argwhere(np.ones(schema.cells.shape))[:: schema.cells.shape[1]]
    cells = np.unique(np.concatenate([schema.indices, full]), axis=0)  # every row lists column 0
    listed = set(map(tuple, cells.tolist()))
    source = SampledNegatives(cells, schema.cells.shape, loss=loss, n_negatives=3, weight=1.0)
    batches = [batch for batch, _ in source.epoch(rng, 7)]
    assert len(batches) == 7
    asked = [tuple(cell) for cell in np.concatenate(batches).tolist()]
    drawn = [cell for cell in asked if cell not in listed]
    per_column = np.bincount([c for _, c in listed], minlength=schema.cells.shape[1])
    per_column[0] = 0
    assert (np.bincount([c for _, c in drawn], minlength=len(per_column)) == 3 * per_column).all()
    told = [cell for cell in asked if cell in listed]
    assert set(told) == listed if loss == "logistic" else {cell for cell in listed if cell[1]} == set(told)


def test_negatives_of_all_cells_are_uniform():
    """Draws are uniform over the unobserved cells, so that the mean gradient is that of all pairs of cells."""
    rng = np.random.default_rng(3)
    schema = random_schema(rng, people=5, predicates=4)
    absent = np.argwhere(schema.cells.toarray() == 0)
    m = rng.standard_normal(schema.cells.shape)
    exact = np.zeros_like(m)
    for a in schema.indices:
        for b in absent:
            slope = 1 / (1 + np.exp(m[tuple(a)] - m[tuple(b)])) / len(absent)
            exact[tuple(a)] -= slope
            exact[tuple(b)] += slope
    n, found = 4000, np.zeros_like(m)
    how = {"loss": "bpr", "n_negatives": n, "weight": 1.0, "axis": "all"}
    for cells, judge in SampledNegatives(schema.indices, schema.cells.shape, **how).epoch(rng, 3):
        np.add.at(found, tuple(cells.T), judge(m[tuple(cells.T)])[1] / n)
    np.testing.assert_allclose(found, exact, atol=0.05)


def single_schema(rng):
    """Pairs, and entities of one predicate of their own."""
    schema = random_schema(rng)
    entities = [(name, "person") for name in schema.entities[::2]] + [(name, "tall") for name in schema.entities[:5]]
    return schema_of([*schema.triples(), *entities])


@pytest.mark.parametrize("axis", ["column", "all"])
def test_negatives_have_as_many_entities(axis):
    """A predicate of one entity is compared with other entities and never with pairs, and the reverse."""
    rng = np.random.default_rng(11)
    schema = single_schema(rng)
    of_one = np.array([name in {"person", "tall"} for name in schema.predicates])
    how = {"loss": "bpr", "n_negatives": 20, "weight": 1.0, "axis": axis, "single": schema.single}
    for cells, _ in SampledNegatives(schema.indices, schema.cells.shape, **how).epoch(rng, 2):
        assert (schema.single[cells[:, 0]] == of_one[cells[:, 1]]).all()
        better, worse = np.split(cells, 2)
        assert (schema.single[better[:, 0]] == schema.single[worse[:, 0]]).all()
        assert not schema.cells[tuple(worse.T)].any()


@pytest.mark.parametrize("axis", ["column", "all"])
@pytest.mark.parametrize("loss", ["logistic", "bpr"])
def test_single_entities_fold_in(axis, loss):
    """New pairs and new entities are predicted beside each other, each as if alone, as training would place them."""
    schema = single_schema(np.random.default_rng(13))
    how = {"loss": loss, "sampling_axis": axis, "batch": 16, "max_iter": 60, "seed": 0}
    model = UniversalSchema(4, features="NFT", **how).fit(schema)
    facts = [("new", "person"), ("e0", "x", "p1"), ("new", "tall")]
    both = model.predict_unseen(schema_of(facts))
    for row, told in ((0, facts[::2]), (1, facts[1:2])):
        np.testing.assert_allclose(both[row], model.predict_unseen(schema_of(told))[0], atol=1e-4)
    assert {found.object for found in model.likeliest("tall", n=20)} == {None}


@pytest.mark.slow
def test_matrix_and_tensor_together():
    """Both together are better than either, on data planted as their sum: the matrix cannot predict new pairs of known
    entities, and the tensor does not know what is known of a pair."""
    rng, people, P = np.random.default_rng(0), 25, 12
    x, z, y = rng.standard_normal(people), rng.standard_normal(people), rng.standard_normal(P)
    pairs = np.argwhere(np.ones((people, people)))
    U, V = rng.standard_normal((len(pairs), 1)), rng.standard_normal((P, 1))
    truth = 2 * np.outer(x[pairs[:, 0]] * z[pairs[:, 1]], y) + 2 * U @ V.T > 0
    new = rng.random(len(pairs)) < 0.2
    told = truth & (rng.random(truth.shape) < 0.3) & ~new[:, None]
    every = schema_of([(f"e{s}", f"e{o}", f"p{j}") for s, o in pairs for j in range(P)])
    schema = schema_of(every.only(told.ravel()).triples(), predicates=every.predicates)
    seen = np.array([every.row(*pair) for pair in schema.pairs])
    unseen = schema_of([(*every.pairs[row], "p0") for row in np.flatnonzero(new)], predicates=every.predicates)
    of_new, of_known = {}, {}
    for features in ("F", "T", "FT"):
        model = UniversalSchema(3, features=features, ridge=0.003, batch=256, max_iter=30, seed=0).fit(schema)
        scores = np.full(truth.shape, np.nan)
        scores[seen] = model.column_log_odds(np.arange(P))
        scores[new] = model.predict_unseen(unseen.only(np.zeros(0, int)))
        for found, rows in ((of_new, new), (of_known, np.isin(np.arange(len(truth)), seen))):
            at = [rows & ~told[:, j] for j in range(P)]
            found[features] = np.mean([roc_auc_score(truth[at[j], j], scores[at[j], j]) for j in range(P)])
    assert of_new["F"] == pytest.approx(0.5)
    assert of_new["FT"] > of_new["F"] + 0.05
    assert of_known["FT"] > max(of_known["F"], of_known["T"]) + 0.04
    both = {features: of_new[features] + of_known[features] for features in of_new}
    assert both["FT"] > max(both["F"], both["T"]) + 0.06


@pytest.mark.parametrize("loss", ["logistic", "bpr"])
def test_planted_predicates_are_found(loss):
    """Of pairs of few types, what is hidden ranks first; descent lowers the objective."""
    schema, hidden = planted(np.random.default_rng(4))
    model = UniversalSchema(8, features="F", loss=loss, ridge=0.01, batch=256, max_iter=60, seed=0).fit(schema)
    chance = (hidden.sum(axis=0) / (~(schema.cells.toarray() > 0)).sum(axis=0)).mean()
    assert mean_precision(model, schema, hidden) > max(0.7, 2 * chance)
    assert model.history_[-1] < 0.7 * model.history_[0]
    assert model.n_iter_ == 60
    again = UniversalSchema(8, features="F", loss=loss, ridge=0.01, batch=256, max_iter=60, seed=0).fit(schema)
    assert (again.terms_.U == model.terms_.U).all()


def test_neighbours_learn_what_implies_what():
    """Model N: what half of the pairs say together is expected of those that say one, and nothing else is."""
    triples = [(f"s{i}", f"o{i}", "leads") for i in range(40)]
    triples += [(f"s{i}", f"o{i}", "works for") for i in range(30)]
    triples += [(f"s{i}", f"o{i}", "lies in") for i in range(40, 80)]
    model = UniversalSchema(2, features="N", weight_ridge=1e-4, max_iter=250, seed=0).fit(schema_of(triples))
    assert {told.subject for told in model.likeliest("works for", n=10)} == {f"s{i}" for i in range(30, 40)}
    low, high = model.predict([("s50", "o50"), ("s35", "o35")], ["works for"] * 2)
    # of 30 cells drawn beside the listed ones 10 in 50 are of pairs that are led: odds of 30 to 6
    assert high == pytest.approx(30 / 36, abs=0.04)
    assert low < 0.1
    refuses("require predicate vectors", model.most_similar, "leads")


def test_entities_have_kinds():
    """Model E: a predicate is expected of two entities whose kinds are right, though the pair says nothing of it."""
    people, firms = [f"person {i}" for i in range(15)], [f"firm {i}" for i in range(15)]
    rng = np.random.default_rng(5)
    staff = [(p, f, "works for") for p in people[1:] for f in firms if rng.random() < 0.5]
    staff += [(people[0], f, "works for") for f in firms[1:8]]
    other = [(p, q, "knows") for p in people for q in people if p != q and rng.random() < 0.3]
    right, wrong = (people[0], firms[0]), (people[1], firms[1])
    schema = schema_of([*staff, *other, (*right, "visited"), (firms[1], people[1], "visited")])
    model = UniversalSchema(8, features="E", seed=0).fit(schema)
    assert model.predict([right], ["works for"]) > 0.6
    assert model.predict([wrong[::-1]], ["works for"]) < 0.2


def test_a_new_pair_goes_where_training_would_put_it():
    """A pair that repeats what a trained one says is told nearly the same; the vector is optimal."""
    schema, _ = planted(np.random.default_rng(6), rows=100)
    for features, biases, loss in (("F", "columns", "logistic"), ("NF", "both", "logistic"), ("F", "columns", "bpr")):
        model = UniversalSchema(6, features=features, biases=biases, loss=loss, batch=64, max_iter=60, seed=0).fit(
            schema
        )
        twins = schema_of([(f"new {s}", o, p) for s, o, p in schema.triples()])
        new = model.predict_unseen(twins)
        trained = model.terms_.matrix(np.arange(len(new)), schema.cells, schema.arguments, np.arange(30))
        assert np.corrcoef(np.log(new / (1 - new)).ravel(), trained.ravel())[0, 1] > 0.97
        assert new.shape == (len(schema.pairs), 30)


def test_new_vectors_are_optimal():
    """Any step away from a new vector raises what training asks of it, on average over draws."""
    rng = np.random.default_rng(7)
    schema, _ = planted(rng)
    model = UniversalSchema(4, features="NF", biases="both", batch=128, max_iter=30, seed=0).fit(schema)
    asked = UniversalSchema(n_negatives=2, negative_weight=0.5, ridge=0.01, weight_ridge=0.02, biases="both")
    what = expected(schema, model.terms_, asked, rng=rng)
    counts = np.bincount(schema.indices[:, 1], minlength=30)
    np.testing.assert_allclose(what.drawn, 2 * counts / (len(schema.pairs) - counts))
    known, arguments = schema.cells[:3], schema.arguments[:3]
    terms = fold_in(model.terms_, known, arguments, asked, what)
    listed = known.toarray() > 0

    def cost(change):
        moved = terms._replace(U=terms.U + change[:, :4], a=terms.a + change[:, 4])
        m = moved.matrix(np.arange(3), known, arguments, np.arange(30))
        times = listed.sum(axis=1) + (~listed) @ what.drawn
        held = 0.01 * (moved.U**2).sum(axis=1) + 0.02 * moved.a**2
        truths = np.logaddexp(0, -m)[listed].sum() + 0.5 * (what.drawn * np.logaddexp(0, m))[~listed].sum()
        return truths + times @ held

    best = cost(np.zeros((3, 5)))
    for _ in range(20):
        way = 1e-2 * rng.standard_normal((3, 5))
        assert cost(way) > best
        assert (cost(1e-3 * way) - cost(-1e-3 * way)) / 2e-3 == pytest.approx(0, abs=1e-4)


def test_what_holds_of_all_pairs_says_nothing_to_comparisons():
    """Compared with no other cell, a predicate of every pair moves no new vector, as it moves none in training."""
    schema, _ = planted(np.random.default_rng(6))
    whole = schema_of([*schema.triples(), *((s, o, "all") for s, o in schema.pairs)])
    model = UniversalSchema(6, features="F", loss="bpr", batch=128, max_iter=5, seed=0).fit(whole)
    facts = [("new", "pair", "p1"), ("new", "pair", "p2")]
    plain, more = (model.predict_unseen(schema_of(told)) for told in (facts, [*facts, ("new", "pair", "all")]))
    np.testing.assert_allclose(plain, more, atol=1e-6)


def test_new_pairs_may_say_what_the_model_does_not_know():
    """Unknown predicates say nothing, unknown entities have no kind; a schema of there is no predicates is refused."""
    schema = random_schema(np.random.default_rng(8))
    model = UniversalSchema(3, features="NFE", max_iter=5, seed=0).fit(schema)
    facts = [("e0", "x", "p1"), ("y", "z", "p1")]
    plain, more = (model.predict_unseen(schema_of(f)) for f in (facts, [*facts, ("e0", "x", "new")]))
    np.testing.assert_allclose(plain, more, atol=1e-6)
    assert np.abs(plain[0] - plain[1]).max() > 0  # by the kind of e0
    refuses("known to the model", model.predict_unseen, schema_of([("a", "b", "new")]))


def test_sources_are_asked_together():
    """A second source is asked as often as the first and moves what it asks about."""
    schema = random_schema(np.random.default_rng(9))
    calls = []

    class Never:
        """Says that a cell is false."""

        def epoch(self, rng, steps):  # noqa: ARG002 the protocol's
            for step in range(steps):
                calls.append(step)
                yield np.array([[0, 0]]), lambda m: (float(np.logaddexp(0, m).sum()), 1 / (1 + np.exp(-m)))

    options = {"features": "F", "batch": 8, "max_iter": 30, "seed": 0, "biases": "none"}
    plain = UniversalSchema(3, **options).fit(schema)
    told = UniversalSchema(3, **options).fit(schema, beside=[Never(), Never()])
    steps = round(len(schema.indices) / 8)
    assert calls.count(0) == 2 * (1 + 30)  # once to measure by
    assert max(calls) == steps - 1
    assert told.log_odds([[0, 0]]) < plain.log_odds([[0, 0]])


def test_the_objective_is_measured_on_the_same_questions():
    """Without steps that move anything the objective stays what it is."""
    schema = random_schema(np.random.default_rng(10))
    form = PairForm(schema, "F", rows=False, columns=True)
    rng = np.random.default_rng(0)
    start = [rng.standard_normal((form.vectors[-1], 2)), np.zeros((form.weights[-1], 1))]
    source = SampledNegatives(schema.indices, schema.cells.shape, loss="logistic", n_negatives=1, weight=1.0)

    class Still(StraightDown):
        def move(self, touched, penalties, T, state, *, pace, rank):  # noqa: ARG002 the rule's protocol
            T[touched.rows, 1] = 0

    result = run(descend_questions(form, start, [source], steps=3, rng=rng, rule=Still()), max_iter=3)
    assert len(set(result.history)) == 1


def test_there_must_be_something_to_learn():
    """Nothing listed, and everything listed, are refused; so are cells that are not there."""
    refuses("must contain at least one fact", UniversalSchema().fit, schema_of([("a", "b", "p")], predicates=["q"]))
    refuses("no negatives can be sampled", UniversalSchema().fit, schema_of([("a", "b", "p"), ("c", "d", "p")]))
    model = UniversalSchema(2, max_iter=1).fit(schema_of([("a", "b", "p"), ("c", "d", "q")]))
    refuses("row indices from 0 to 1 and column indices from 0 to 1", model.log_odds, [[0, 2]])
    refuses("pairs and predicates must have the same length", model.predict, [("a", "b")], ["p", "q"])
    for columns in ([2], [-1], [0.5], [True], 0):
        refuses("columns must be a list of whole numbers", model.column_log_odds, columns)


def test_many_cells_are_told_part_by_part(monkeypatch):
    """Log-odds of cells do not depend on how many are looked at together."""
    schema = random_schema(np.random.default_rng(12))
    model = UniversalSchema(3, features="NFE", max_iter=5, seed=0).fit(schema)
    cells = np.argwhere(np.ones(schema.cells.shape))
    whole = model.log_odds(cells)
    monkeypatch.setattr("polyadic.relations.questions.CELLS", 7)
    np.testing.assert_array_equal(model.log_odds(cells), whole)


def test_more_than_fits_is_refused(monkeypatch):
    """Dense answers that the memory would not hold are refused before they are made."""
    schema = random_schema(np.random.default_rng(12))
    model = UniversalSchema(3, max_iter=2, seed=0).fit(schema)
    monkeypatch.setattr("polyadic.core.resources.free_memory", lambda: 100.0)
    for ask in (lambda: model.column_log_odds([0, 1, 2]), lambda: model.predict_unseen(schema)):
        refuses("predict fewer at a time", ask)

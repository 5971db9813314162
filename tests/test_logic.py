"""Logic injected into factorization: formulas, groundings, chaining, and what they do to predictions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import average_precision_score

from experiments.data.universal_schema import judgements, planted_schema
from experiments.relations.logic import AsPublished, Problem, freebase, newswire, regimes
from helpers import refuses
from polyadic.relations.formulas import And, Atom, Implies, Not, Or, Rule, atoms_of, worlds
from polyadic.relations.grounding import DerivedNegatives, Groundings, chain, probability, truth
from polyadic.relations.logic import InjectedLogic
from polyadic.relations.questions import PairForm, Ridges, descend_questions
from polyadic.relations.rule_mining import count_groundings, mine_rules
from polyadic.relations.rules import parse_rule, read_rules
from polyadic.relations.schema import read_schema, schema_of
from polyadic.relations.universal import UniversalSchema
from strategies import formulas

A, B, C = (Atom(name, ("x", "y")) for name in "abc")


def product_of_marginals(formula, p):
    """The recursion of the paper, in which each occurrence of an atom is independent."""
    match formula:
        case Atom():
            return p[formula]
        case Not(inner):
            return 1 - product_of_marginals(inner, p)
        case And(parts):
            return np.prod([product_of_marginals(part, p) for part in parts])
        case Or(parts):
            return 1 - np.prod([1 - product_of_marginals(part, p) for part in parts])
        case Implies(premise, conclusion):
            return product_of_marginals(premise, p) * (product_of_marginals(conclusion, p) - 1) + 1


def occurrences(formula):
    match formula:
        case Atom():
            return [formula]
        case Not(inner):
            return occurrences(inner)
        case And(parts) | Or(parts):
            return [atom for part in parts for atom in occurrences(part)]
        case Implies(premise, conclusion):
            return occurrences(premise) + occurrences(conclusion)


def marginals(formula, seed):
    return np.random.default_rng(seed).uniform(0.02, 0.98, (1, len(atoms_of(formula))))


# ---- formulas


@given(formulas(names=st.sampled_from("abcdefgh")), st.integers(0, 99))
def test_probabilities_are_products_of_marginals(formula, seed):
    """Where no atom occurs twice the probability is that of the paper's recursion."""
    atoms = atoms_of(formula)
    if len(atoms) == len(occurrences(formula)):
        p = marginals(formula, seed)
        expected = product_of_marginals(formula, dict(zip(atoms, p[0], strict=True)))
        np.testing.assert_allclose(probability(worlds(formula, atoms), p), expected, rtol=1e-9)


@given(formulas(), st.integers(0, 99))
def test_formulas_that_mean_the_same_are_equally_likely(formula, seed):
    """Saying a thing twice, twice denied, or as what it implies, changes nothing; and it is true or false."""
    atoms, p = atoms_of(formula), marginals(formula, seed)
    expected = probability(worlds(formula, atoms), p)
    truism = Or((formula, Not(formula)))
    for same in (Not(Not(formula)), And((formula, formula)), Or((formula, formula)), Implies(truism, formula)):
        np.testing.assert_allclose(probability(worlds(same, atoms), p), expected, atol=1e-12)
    np.testing.assert_allclose(probability(worlds(Not(formula), atoms), p), 1 - expected, atol=1e-12)


def test_an_atom_twice_is_one_atom():
    """[a & a] is p, where the recursion of the paper gives its square."""
    twice = And((A, A))
    assert probability(worlds(twice, (A,)), np.array([[0.3]])) == pytest.approx(0.3)
    assert product_of_marginals(twice, {A: 0.3}) == pytest.approx(0.09)


@given(formulas(), st.integers(0, 99))
def test_log_odds_say_what_marginals_say(formula, seed):
    """Logarithms from log-odds are those of the sum over worlds, and their derivatives those of differences."""
    atoms = atoms_of(formula)
    which = worlds(formula, atoms)
    if not len(which):
        return
    m = np.random.default_rng(seed).normal(scale=2, size=(3, len(atoms)))
    found = truth(which, m)
    np.testing.assert_allclose(np.exp(found.logarithms), probability(which, expit(m)), rtol=1e-9)
    for one in m:
        fault = check_grad(
            lambda x: truth(which, x[None]).logarithms[0],
            lambda x: truth(which, x[None]).derivatives[0],
            one,
        )
        assert fault < 1e-6


def test_formulas_survive_large_log_odds():
    """A premise that is certain and a conclusion that is impossible: no infinity, and both are to blame alike."""
    which = parse_rule("a(x, y) => b(x, y)").worlds
    found = truth(which, np.array([[800.0, -800.0], [-800.0, 800.0], [1e6, 30.0]]))
    np.testing.assert_allclose(found.logarithms, [np.log(2) - 800, 0, -np.exp(-30)], rtol=1e-3, atol=1e-16)
    np.testing.assert_allclose(found.derivatives[0], [-0.5, 0.5])


# ---- groundings


def slow_groundings(schema, rule):
    """All bindings of variables to entities in which each atom has a row; and those that a cell gives.

    A cell of an atom with all variables; else all atoms that the premise, or the denied conclusion, joins by "and".
    """
    known = set(schema.triples())
    rows = {pair: row for row, pair in enumerate(schema.pairs)}
    cover = [atom for atom in rule.atoms if set(atom.arguments) == set(rule.variables)]
    sides = []
    if isinstance(rule.formula, Implies):
        sides.append(rule.formula.premise)
        if isinstance(rule.formula.conclusion, Not):
            sides.append(rule.formula.conclusion.inner)
    elif isinstance(rule.formula, Not):
        sides.append(rule.formula.inner)
    sides = [[one for one in part if isinstance(one, Atom)] for part in map(joined_by_and, sides)]
    sides = [side for side in sides if side]
    found = set()
    for names in itertools.product(schema.entities, repeat=len(rule.variables)):
        bound = dict(zip(rule.variables, names, strict=True))
        pairs = [tuple(bound[one] for one in atom.arguments) for atom in rule.atoms]
        facts = {atom: (*pair, atom.predicate) in known for atom, pair in zip(rule.atoms, pairs, strict=True)}
        if cover:
            told = any(facts[atom] for atom in cover)
        else:
            told = not sides or any(all(facts[atom] for atom in side) for side in sides)
        if told and all(pair in rows for pair in pairs):
            found.add(tuple(rows[pair] for pair in pairs))
    return found


def joined_by_and(formula):
    return [one for part in formula.parts for one in joined_by_and(part)] if isinstance(formula, And) else [formula]


def some_schema(seed, *, entities=6, facts=25, single=()):
    rng = np.random.default_rng(seed)
    ends = rng.integers(entities, size=(facts, 2))
    triples = [(f"e{s}", f"e{o}", "abcd"[k]) for (s, o), k in zip(ends, rng.integers(4, size=facts), strict=True)]
    triples += [(f"e{k}", name) for name in single for k in np.flatnonzero(rng.random(entities) < 0.5)]
    return schema_of(triples, predicates=["a", "b", "c", "d", *single])


RULES = [
    "a(x, y) => b(x, y)",
    "a(x, y) => b(y, x)",
    "a(x, y) & !b(y, x) => c(x, y)",
    "a(x, z) & b(z, y) => c(x, y)",
    "a(x, z) & b(z, y) & c(y, x) => d(x, y) | d(y, x)",
    "a(x, x) & b(x, y) => c(y, x) & d(x, y)",
    "!(a(x, y) & a(y, x))",
    "a(x, x) => b(x, x)",
    "a(z, x) & b(z, y) => c(x, y)",
    "a(x, z) => b(x, y)",
    "a(x, z) & b(z, y) => !c(x, y)",
    "!a(x, y) => b(y, z)",
    "!(a(x, y) & b(y, z))",
]
SINGLE = [
    "!p(x) => !a(x, y)",
    "p(x) => q(x)",
    "a(x, y) => p(x) & q(y)",
    "p(x) & !q(y) => !b(x, y)",
    "a(x, z) => p(y)",
    "p(x) & a(x, x) => q(x)",
    "a(x, z) & p(z) => c(x, y) & q(y)",
]


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("reverse", [False, True])
def test_groundings_are_all_there_are(text, reverse):
    """Those that cells give are those of a search through all bindings; drawn ones are bindings too."""
    for seed in range(5):
        schema = some_schema(seed).with_reversed() if reverse else some_schema(seed)
        check_groundings(schema, parse_rule(text))


@pytest.mark.parametrize("text", SINGLE)
def test_predicates_of_one_entity_are_grounded_in_all_entities(text):
    """As those of pairs, by search through all bindings; every entity has a row, with or without facts of its own."""
    for seed in range(3):
        schema = some_schema(seed, single="pq").with_entities()
        assert schema.single.sum() == len(schema.entities)
        check_groundings(schema, parse_rule(text))


def check_groundings(schema, rule):
    source = Groundings(schema, [rule], drawn=2)
    found = set(map(tuple, source.known[0].tolist()))
    assert (found, source.counts) == (slow_groundings(schema, rule), [len(found)])
    columns = [schema.column(atom.predicate) for atom in rule.atoms]
    for cells, _ in source.epoch(np.random.default_rng(0), 3):
        for each in cells.reshape(-1, len(columns), 2):
            assert each[:, 1].tolist() == columns
            bound = {}
            for (row, _), atom in zip(each, rule.atoms, strict=True):
                for variable, entity in zip(atom.arguments, schema.pairs[row], strict=True):
                    assert bound.setdefault(variable, entity) == entity


@pytest.mark.parametrize(
    ("text", "contrapositive"),
    [
        ("!p(x) => !a(x, y)", "a(x, y) => p(x)"),
        ("a(x, y) => b(y, x)", "!b(y, x) => !a(x, y)"),
        ("a(x, z) & b(z, y) => c(x, y)", "!c(x, y) => !(a(x, z) & b(z, y))"),
        ("a(x, z) & b(z, y) => !c(x, y)", "c(x, y) => !(a(x, z) & b(z, y))"),
        ("a(x, z) => b(x, y)", "!b(x, y) => !a(x, z)"),
    ],
)
def test_a_rule_and_its_contrapositive_are_one(text, contrapositive):
    """The loss of all groundings, and what the rules derive, are the same."""
    schema = some_schema(2, single="p").with_entities().with_reversed()
    m = np.random.default_rng(0).normal(size=schema.cells.shape)
    values = []
    for rule in map(parse_rule, (text, contrapositive)):
        cells, judge = next(Groundings(schema, [rule], drawn=0).epoch(np.random.default_rng(0), 1))
        values.append((len(cells), judge(m[tuple(cells.T)])[0]))
    assert values[0] == pytest.approx(values[1])
    assert values[0][0] > 0
    first, second = (chain(schema, [parse_rule(one)]) for one in (text, contrapositive))
    assert (first != second).nnz == 0


def test_a_grounding_over_all_entities_may_be_too_large(monkeypatch):
    """A grounding over all entities that does not fit in memory is refused, and the message states its size."""
    schema = some_schema(0, single="p").with_entities()
    monkeypatch.setattr("polyadic.core.resources.free_memory", lambda: 100.0)
    rule = parse_rule("a(x, z) => p(y)")
    refuses(r"a rule with [0-9]+ ways to bind the variables x, y, z", Groundings, schema, [rule])


def test_number_of_arguments():
    """A predicate of one entity in the facts has one argument in rules, and is another atom than a pair of x with x."""
    schema = some_schema(0, single="p")
    refuses("'p' has two arguments in a rule and one in the facts", chain, schema, [parse_rule("a(x, y) => p(x, y)")])
    refuses("'a' has one argument in a rule and two in the facts", Groundings, schema, [parse_rule("a(x) => p(x)")])
    assert str(parse_rule("!p(x) => !a(x, x)")) == "!p(x) => !a(x, x)"
    assert parse_rule("p(x)=>p(x, x)").atoms == (Atom("p", ("x",)), Atom("p", ("x", "x")))


def test_an_epoch_asks_every_grounding_once():
    """However many steps it has; the value of the judges is that of all, and rules count by their weight."""
    schema = some_schema(1, facts=40)
    rules = [
        parse_rule(text) for text in ("a(x, y) => b(x, y)", "3 b(x, y) => c(x, y)", "!(a(x, y) & d(x, y) & b(x, y))")
    ]
    m = np.random.default_rng(0).normal(size=schema.cells.shape)
    expected = sum(
        -rule.weight
        * truth(rule.worlds, m[rows, [schema.column(atom.predicate) for atom in rule.atoms]]).logarithms.sum()
        for rule, rows in zip(rules, Groundings(schema, rules).known, strict=True)
    )
    for steps in (200, 7, 1):
        source, values, slopes = Groundings(schema, rules, drawn=0), 0.0, np.zeros_like(m)
        batches = list(source.epoch(np.random.default_rng(3), steps))
        for cells, judge in batches:
            value, derivatives = judge(m[tuple(cells.T)])
            values += value
            np.add.at(slopes, tuple(cells.T), derivatives)
        assert len(batches) == steps
        assert values == pytest.approx(expected)
        sizes = [len(cells) for cells, _ in batches]
        assert steps > 100 or max(sizes) - min(sizes) <= 2 + 2 + 3

    def value(x):
        return sum(judge(x.reshape(m.shape)[tuple(cells.T)])[0] for cells, judge in batches)

    assert check_grad(value, lambda _: slopes.ravel(), m.ravel()) < 1e-5


def test_false_cells_beside_what_follows():
    """They do not follow from anything, and are as many as follow anew, times those for each."""
    derived = csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 0]], float))
    listed = csr_array(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]], float))
    source = DerivedNegatives(listed, derived, n_negatives=3, weight=0.5)
    batches = list(source.epoch(np.random.default_rng(0), 4))
    cells = np.concatenate([cells for cells, _ in batches])
    assert np.bincount(cells[:, 1], minlength=3).tolist() == [3, 0, 3]
    assert not derived.toarray()[tuple(cells.T)].any()
    value, slopes = batches[0][1](np.array([0.0, 800.0]))
    assert (value, slopes.tolist()) == (pytest.approx(0.5 * (np.log(2) + 800)), [0.25, 0.5])


# ---- forward chaining


def holds(formula, bound, known):
    match formula:
        case Atom():
            return (*(bound[one] for one in formula.arguments), formula.predicate) in known
        case Not(inner):
            return not holds(inner, bound, known)
        case And(parts):
            return all(holds(part, bound, known) for part in parts)
        case Or(parts):
            return any(holds(part, bound, known) for part in parts)


def slow_chain(schema, rules):
    """Derive from a set of facts, one binding at a time."""
    known, pairs, before = set(schema.triples()), set(schema.pairs), -1
    while len(known) > before:
        before = len(known)
        for rule in rules:
            for names in itertools.product(schema.entities, repeat=len(rule.variables)):
                bound = dict(zip(rule.variables, names, strict=True))
                if holds(rule.implication.premise, bound, known):
                    new = ((*(bound[one] for one in atom.arguments), atom.predicate) for atom in rule.conclusions)
                    known |= {fact for fact in new if fact[:-1] in pairs}
    return known


@pytest.mark.parametrize(
    "texts",
    [
        ["a(x, y) => b(x, y)", "b(x, y) => c(y, x)"],
        ["c(x, y) => d(x, y)", "b(x, y) => c(x, y)", "a(x, y) => b(x, y)"],
        ["a(x, z) & a(z, y) => a(x, y)"],
        ["a(x, z) & b(z, y) => c(x, y) & d(y, x)", "c(x, y) => a(x, y)"],
        ["(a(x, y) | b(x, y)) & !d(x, y) => c(x, y)"],
        ["a(x, x) & b(x, y) => c(x, y)"],
        ["!p(x) => !a(x, y)", "p(x) & b(x, y) => p(y)", "p(x) & a(x, y) => d(y, x)"],
        ["a(x, z) => b(x, y)"],
        ["a(x, z) & !b(z, y) => c(x, y)"],
        ["p(x) => q(y)"],
    ],
)
def test_chaining_derives_what_follows(texts):
    """No more and no less than one binding after another, chains of rules and transitive relations among them."""
    rules = [parse_rule(text) for text in texts]
    for seed in range(5):
        schema = some_schema(seed, single="pq").with_reversed().with_entities()
        rows, columns = chain(schema, rules).nonzero()
        assert {(*schema.pairs[r], schema.predicates[c]) for r, c in zip(rows, columns, strict=True)} == slow_chain(
            schema, rules
        )


def test_either_order_of_a_pair_may_bind():
    """A premise that holds by the second of two atoms is found where only its pair has a row."""
    schema = schema_of([("f", "e", "b"), ("g", "h", "a"), ("h", "g", "c"), ("s", "s", "a")], predicates="abc")
    for text in ("(a(x, y) | b(y, x)) => c(y, x)", "!a(x, y) => c(y, x)"):
        rule = parse_rule(text)
        rows, columns = chain(schema, [rule]).nonzero()
        found = {(*schema.pairs[r], schema.predicates[c]) for r, c in zip(rows, columns, strict=True)}
        assert found == slow_chain(schema, [rule])
    assert ("f", "e", "c") in found
    assert count_groundings(schema, parse_rule("(a(x, y) | b(y, x)) => c(y, x)")) == (3, 1)


def test_uncertain_facts():
    """What follows is as likely as the likeliest premise; one below the threshold says nothing."""
    schema = schema_of([(f"e{i}", "f", "a") for i in range(4)], predicates="abcd")
    facts = csr_array(np.array([[0.9, 0.8, 0, 0], [0.6, 0.7, 0, 0.2], [0.6, 0, 0, 0.6], [0, 0.4, 0, 0.9]]))
    rules = [parse_rule("a(x, y) & b(x, y) => c(x, y)"), parse_rule("d(x, y) => c(x, y)")]
    found = chain(schema, rules, facts=facts).toarray()
    np.testing.assert_allclose(found[:, 2], [0.72, 0, 0.6, 0.9])
    np.testing.assert_allclose(found[:, [0, 1, 3]], np.where(facts.toarray() < 0.5, 0, facts.toarray())[:, [0, 1, 3]])


def test_rules_that_derive_nothing():
    """A conclusion that is denied, or one of two, adds no fact."""
    schema = some_schema(0)
    rules = [
        parse_rule(text) for text in ("a(x, y) => !b(x, y)", "a(x, y) => b(x, y) | c(x, y)", "!(a(x, y) & b(x, y))")
    ]
    assert (chain(schema, rules) != schema.cells).nnz == 0


# ---- the model


def test_rules_alone_are_learned():
    """Descent on groundings and nothing else makes them all but certain."""
    made = planted_schema(400, relations=2, seed=0)
    schema = made.schema.with_reversed()
    form = PairForm(schema, "F", rows=False, columns=True)
    rng = np.random.default_rng(0)
    start = [0.1 * rng.standard_normal((form.vectors[-1], 5)), np.zeros((form.weights[-1], 1))]
    source = Groundings(schema, made.rules, drawn=0)
    sweeps = descend_questions(form, start, [source], steps=5, rng=rng, ridges=Ridges(0.0, 0.0))
    values = [sweep.objective for sweep in itertools.islice(sweeps, 30)]
    assert values[-1] < 0.2 * values[0]


def mean_precision(made, model, relations=None):
    columns = [model.schema_.column(name) for name in relations or made.relations]
    scores = model.column_probabilities(columns)[made.held]
    return np.mean([average_precision_score(*both) for both in zip(made.truth.T, scores.T, strict=True)])


def premise_precision(made, model):
    """How well the model tells relations by their premise alone."""
    found = []
    for rule, held in zip(made.rules, made.truth.T, strict=True):
        premise, conclusion = rule.atoms
        swapped = premise.arguments != conclusion.arguments
        rows = model.schema_.reversed_rows[made.held] if swapped else made.held
        scores = model.column_probabilities([model.schema_.column(premise.predicate)])[rows, 0]
        found.append(average_precision_score(held, scores))
    return np.mean(found)


@pytest.fixture(scope="module")
def base():
    return UniversalSchema(15, features="F", max_iter=30, batch=256, seed=0)


@pytest.fixture(scope="module")
def zero():
    """Relations of which no fact is known, one rule for each."""
    return planted_schema(2000, relations=5, seed=1)


@pytest.fixture(scope="module")
def fitted(base, zero):
    return {
        regime: InjectedLogic(zero.rules, regime=regime, model=base).fit(zero.schema)
        for regime in ("mf", "inference", "post", "pre", "joint")
    }


def test_relations_without_facts(zero, fitted):
    """Joint training reaches more than the premise of a rule tells, and at least what the other ways reach, but for
    what one draw of the data may differ by."""
    found = {regime: mean_precision(zero, model) for regime, model in fitted.items()}
    assert found["mf"] < 0.5 * found["joint"]
    assert found["joint"] > premise_precision(zero, fitted["mf"]) + 0.1
    assert found["joint"] > max(found["post"], found["inference"]) + 0.05
    assert found["joint"] > found["pre"] - 0.02


def test_few_facts(base):
    """With few facts rules still help, joined most."""
    made = planted_schema(2000, relations=5, told=0.05, seed=1)
    found = {
        regime: mean_precision(made, InjectedLogic(made.rules, regime=regime, model=base).fit(made.schema))
        for regime in ("mf", "post", "pre", "joint")
    }
    assert found["joint"] > max(found["post"], found["pre"]) - 0.005
    assert min(found["post"], found["pre"]) > found["mf"] + 0.02


def test_inference_and_post_factorization_agree_with_chaining(zero, fitted):
    """Inference gives certainty to what follows and to nothing else; rules never lower a prediction afterwards."""
    inference = fitted["inference"]
    certain = inference.column_probabilities(np.arange(len(zero.schema.predicates)))
    np.testing.assert_array_equal(certain, chain(zero.schema.with_reversed(), zero.rules).toarray())
    columns = [zero.schema.column(name) for name in zero.relations]
    before = expit(fitted["post"].model_.column_log_odds(columns))
    after = fitted["post"].column_probabilities(columns)
    assert (after >= before).all()
    assert (after > before).any()


@pytest.mark.parametrize("text", ["!person(x) => !place_of_birth(x, y)", "place_of_birth(x, y) => person(x)"])
def test_who_is_no_person_has_no_place_of_birth(tmp_path, text):
    """The first rule of the tutorial, from files: firms are not born, as they are not persons.

    Firms and persons have the same pattern with a place, so that nothing but the rule distinguishes them.
    """
    facts = tmp_path / "facts.tsv"
    lines = [f"{kind}{k}\ttown{k}\tmentioned in" for kind in ("ann", "firm") for k in range(20)]
    lines += [f"ann{k}\ttown{k}\tplace_of_birth" for k in range(10)]
    lines += [f"ann{k}\tperson" for k in range(20)] + [f"firm{k}\tfirm" for k in range(20)]
    facts.write_text("\n".join(lines))
    (tmp_path / "rules.txt").write_text(text)
    schema = read_schema(facts)
    rules = read_rules(tmp_path / "rules.txt", predicates=schema.predicates)
    pairs = [(f"{kind}{k}", f"town{k}") for kind in ("ann", "firm") for k in range(10, 20)]
    born = {}
    for regime in ("mf", "joint"):
        base = UniversalSchema(4, features="F", batch=32, max_iter=40, seed=0)
        model = InjectedLogic(rules, regime=regime, model=base, drawn=3).fit(schema)
        born[regime] = np.split(model.predict(pairs, ["place_of_birth"] * 20), 2)
    assert model.schema_.single.sum() == 60  # persons, firms and towns
    persons, firms = born["joint"]
    assert firms.mean() < 0.5 * born["mf"][1].mean()
    assert persons.mean() > 1.5 * firms.mean()
    assert born["mf"][0].mean() < 1.5 * born["mf"][1].mean()


def test_pairs_and_columns_say_the_same(zero, fitted):
    """By names or by numbers, and for pairs that only a reversed rule has made."""
    for model in fitted.values():
        schema = model.schema_
        rows = [0, 5, len(schema.pairs) - 1]
        found = model.predict([schema.pairs[row] for row in rows], ["relation1"] * 3)
        np.testing.assert_allclose(found, model.column_probabilities([schema.column("relation1")])[rows, 0], rtol=1e-6)
    refuses("pairs and predicates must have the same length", fitted["joint"].predict, [zero.schema.pairs[0]], [])


def test_a_second_fit_forgets_the_first(base, zero):
    """What one regime fitted says nothing in another."""
    model = InjectedLogic(zero.rules, model=clone(base).set_params(max_iter=2))
    for regime in ("post", "inference", "joint", "mf", "post"):
        fresh = InjectedLogic(zero.rules, regime=regime, model=model.model).fit(zero.schema)
        model.set_params(regime=regime).fit(zero.schema)
        assert set(vars(model)) == set(vars(fresh))
        np.testing.assert_array_equal(model.column_probabilities([0, 1]), fresh.column_probabilities([0, 1]))


def test_reversed_pairs_are_added_where_rules_need_them():
    """For a rule that swaps two variables, not for one about an entity and itself."""
    schema = schema_of([("e", "f", "a"), ("e", "e", "b"), ("f", "f", "b"), ("f", "f", "a")])
    for text, pairs in (("b(x, x) => a(x, x)", 3), ("a(x, y) => b(x, y)", 3), ("a(x, y) => b(y, x)", 4)):
        assert len(InjectedLogic([parse_rule(text)], regime="inference").fit(schema).schema_.pairs) == pairs


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({"rules": []}, "regime='joint' requires rules"),
        ({"rules": [parse_rule("pattern0.0(x, y) => relaton0(x, y)")]}, r"rule, line 1, column 21: .* 'relaton0'; did"),
        ({"model": UniversalSchema(rank=0)}, "rank must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_input(zero, how, fault):
    """What is wrong with rules and options is told before anything is trained."""
    refuses(fault, InjectedLogic(**{"rules": zero.rules, **how}).fit, zero.schema)


# ---- data and rules made from it


def test_planted_rules_hold_as_often_as_asked():
    """Told everything, rules are right in the asked share of pairs; told nothing, no relation has a fact."""
    made = planted_schema(8000, relations=3, confidence=0.8, told=1.0, seed=0)
    rows = np.setdiff1d(np.arange(8000), made.held)
    for rule in made.rules:
        premise, conclusion = (
            made.schema.cells[:, [made.schema.column(atom.predicate)]].toarray()[:, 0] for atom in rule.atoms
        )
        if rule.atoms[0].arguments == ("y", "x"):
            premise = np.where(made.schema.reversed_rows >= 0, premise[made.schema.reversed_rows], 0)
        assert conclusion[rows][premise[rows] > 0].mean() == pytest.approx(0.8, abs=0.07)
    assert made.truth.mean() == pytest.approx(0.1, abs=0.01)
    zero = planted_schema(400, relations=3, told=0.0, seed=0)
    assert not zero.schema.cells[:, [zero.schema.column(name) for name in zero.relations]].nnz
    assert not made.schema.cells[made.held][:, [made.schema.column(name) for name in made.relations]].nnz


def test_there_must_be_something_to_plant():
    """So few pairs that no pattern is found are refused."""
    refuses("no fact would be in the training data", planted_schema, 40, relations=1, patterns=1, recall=0.001, seed=0)


def test_mined_rules_are_counted():
    """Confidence and support are those of counting pairs one by one."""
    schema = some_schema(4, entities=5, facts=60)
    known = set(schema.triples())
    mined = {str(one.rule): one for one in mine_rules(schema, confidence=0.3, support=2)}
    expected = {}
    for a, b in itertools.product("abcd", repeat=2):
        premise = [(s, o) for s, o, p in known if p == a]
        for pair, follows in (
            ("x, y", lambda s, o, b=b: (s, o, b) in known),
            ("y, x", lambda s, o, b=b: (o, s, b) in known),
        ):
            right = sum(follows(s, o) for s, o in premise)
            if right >= 2 and right / len(premise) >= 0.3 and (a != b or pair == "y, x"):
                expected[f"{a}(x, y) => {b}({pair})"] = (pytest.approx(right / len(premise)), right)
    assert {name: (one.confidence, one.support) for name, one in mined.items()} == expected
    assert expected


def test_weights_of_rules_must_be_numbers():
    """They are checked where rules are made by hand, too."""
    refuses("weight of a rule", Rule, Implies(A, B), 0.0)


# ---- the suite


def test_published_groundings_ask_about_vectors_of_predicates():
    """In groundings that cells give, log-odds are products of vectors of predicates; drawn ones are of pairs."""
    schema = schema_of([("e", "f", "a"), ("g", "h", "a"), ("g", "h", "b")])
    source = AsPublished(schema, [parse_rule("a(x, y) => b(x, y)")], drawn=1)
    form = PairForm(schema, "F", rows=False, columns=False)
    start = form.vectors[1]
    cells = next(source.epoch(np.random.default_rng(0), 1))[0].reshape(-1, 2, 2)
    products = form(cells.reshape(-1, 2)).products[0].reshape(-1, 2, 2) - start
    given_by_cells = products[cells[:, 0, 0] >= len(schema.pairs)].tolist()
    assert sorted(given_by_cells) == [[[0, 0], [0, 1]], [[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    assert (products[cells[:, 0, 0] < len(schema.pairs)][:, :, 0] < 0).sum() == 2 * (len(cells) - 3) == 6


def test_all_regimes_are_measured():
    """Each gives an average precision of each relation, and premises are those of the factorization without rules."""
    made = planted_schema(400, relations=2, told=0.1, seed=0)
    problem = Problem(made.schema.with_reversed(), made.rules, made.relations, made.held, made.truth, made.truth | True)
    found = {one["name"]: one for one in regimes(problem, UniversalSchema(5, features="F", max_iter=2, seed=0))}
    assert list(found)[:6] == ["mf", "premise", "inference", "post", "pre", "joint"]
    for one in found.values():
        assert one["map"] == pytest.approx(np.mean(one["ap"]))
        assert one["unswapped"] == pytest.approx(np.mean(one["ap"][::2]))


@pytest.mark.realdata
def test_freebase_hides_what_is_asked(realdata):
    """No fact of a relation asked about is told of that half; premises are told; both orders are in one half."""
    problem = freebase(share=0.3, seed=0, root=realdata)
    schema = problem.schema
    columns = [schema.column(name) for name in problem.relations]
    assert not schema.cells[problem.rows][:, columns].nnz
    assert schema.cells[:, columns].nnz
    assert problem.truth.any(axis=0).all()
    assert not {rule.atoms[0].predicate for rule in problem.rules} & set(problem.relations)
    assert set(schema.reversed_rows[problem.rows]) == set(problem.rows)


@pytest.mark.realdata
def test_newswire_knows_no_fact_of_what_is_asked(realdata):
    """Rules and text alone: no cell of a relation, and judgements are those of the file."""
    problem = newswire(root=realdata)
    schema = problem.schema
    columns = [schema.column(name) for name in problem.relations]
    assert not schema.cells[:, columns].nnz
    assert not (problem.truth & ~problem.known).any()
    told = judgements(root=realdata)
    for column, name in enumerate(problem.relations):
        found = {
            schema.pairs[problem.rows[at]]: problem.truth[at, column] for at in problem.known[:, column].nonzero()[0]
        }
        assert found == {pair: true for pair, true in told[name].items() if pair in set(schema.pairs)}

"""Horn rules: all that hold are found, counted exactly and put together as told; what is asked is answered by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import refuses
from polyadic import HornRules, complete, facts_of, load
from polyadic.relations import kernels as horn_rules
from polyadic.relations.kernels import RuleScorer, graph_of, joining_paths, path_counts, property_counts
from reference import horn_rules as twin
from strategies import tries

ENTITIES, RELATIONS = 6, 2
FACTS = st.sets(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)),
    min_size=1,
    max_size=14,
).map(lambda facts: sorted(facts | {(0, r, ENTITIES - 1) for r in range(RELATIONS)}))


def everything(max_length=3, **options):
    return HornRules(max_length, support=1, confidence=0.0, smoothing=1.0, **options)


def listed(model):
    """Rules of a model as the twin lists them."""
    graph, K = model._reasoner.graph, model.shape_[1]
    rules = {}
    for row, counts in zip(model.paths_.tolist(), model.path_counts_.tolist(), strict=True):
        rules[tuple(r for r in row if r >= 0)] = tuple(counts)
    properties = {}
    for (body, place), right in zip(model.properties_.tolist(), model.property_counts_.tolist(), strict=True):
        tried = int(graph.bounds[body + 1] - graph.bounds[body])
        properties[_property(graph, K, body), _property(graph, K, int(graph.listed[place]))] = tried, right
    return rules, properties


def _property(graph, K, number):
    G = len(graph.relation)
    if number >= G:
        return number - G, None
    return int(graph.relation[number] + K) % (2 * K), int(graph.entity[number])


@tries(25)
@given(FACTS, st.integers(1, 3))
def test_all_rules_are_found_and_counted(facts, max_length):
    model = everything(max_length).fit(np.array(facts))
    paths, properties = listed(model)
    expected, expected_properties, _ = twin(facts, RELATIONS, max_length=max_length, k=1, smoothing=1.0, summed=True)
    assert paths == {rule: counts for rule, counts in expected.items() if rule[0] < RELATIONS}
    assert properties == expected_properties


@tries(10)
@given(FACTS, st.integers(1, 3), st.integers(1, 3), st.sampled_from(["noisy-or", "maximum"]))
def test_scores_are_those_of_the_best_rules(facts, max_length, k, aggregation):
    model = everything(max_length, k=k, aggregation=aggregation).fit(np.array(facts))
    *_, score = twin(facts, RELATIONS, max_length=max_length, k=k, smoothing=1.0, summed=aggregation == "noisy-or")
    for r in range(RELATIONS):
        for x in range(ENTITIES):
            for asked, back in ((model.objects, 0), (model.subjects, RELATIONS)):
                expected = [score(x, r + back, y) for y in range(ENTITIES)]
                np.testing.assert_allclose(asked([x], [r])[0], expected, rtol=1e-5, atol=1e-7)


@tries(10)
@given(FACTS, st.permutations(range(ENTITIES)))
def test_numbers_of_entities_do_not_matter(facts, numbers):
    facts = np.array(facts)
    renamed = np.array(numbers)[facts[:, [0, 2]]]
    renamed = np.column_stack([renamed[:, 0], facts[:, 1], renamed[:, 1]])
    one, other = everything().fit(facts), everything().fit(np.concatenate([renamed, renamed[:1]])[::-1])
    if len(one.objects([0], [0])[0]) == len(other.objects([0], [0])[0]):
        every = np.arange(ENTITIES)
        moved = other.objects(np.array(numbers), every * 0)[:, numbers]
        np.testing.assert_allclose(one.objects(every, every * 0), moved, rtol=1e-6)


def test_full_lists_are_taken_up_again(monkeypatch):
    """However few paths and properties fit in memory at once, the rules are the same."""
    rng = np.random.default_rng(0)
    facts = np.unique(rng.integers(0, [9, 3, 9], (60, 3)), axis=0)
    model = everything().fit(facts)
    for name, value in {"KEYS": 1 << 12, "CHUNK": 2, "SHARE": 3}.items():
        monkeypatch.setattr(horn_rules, name, value)
    assert listed(everything().fit(facts)) == listed(model)


def planted(right=30, wrong=10, towns=5):
    """People born in towns in lands, most of them citizens of these; beside what has nothing to do with it."""
    facts = [(f"person {i}", "born in", f"town {i % towns}") for i in range(right + wrong)]
    facts += [(f"town {i}", "lies in", f"land {i}") for i in range(towns)]
    facts += [(f"person {i}", "citizen of", f"land {i % towns if i < right else towns}") for i in range(right + wrong)]
    facts += [(f"land {i}", "rules", f"town {i}") for i in range(towns)]
    return facts_of(facts)


def test_planted_rules_are_found_exactly():
    model = HornRules(smoothing=1.0).fit(planted())
    (rule,) = [rule for rule in model.rules("citizen of", properties=False) if "lies in" in str(rule)]
    assert str(rule) == '"born in"(x, z) & "lies in"(z, y) => "citizen of"(x, y)'
    assert (rule.tried, rule.right) == (40, 30)
    assert [str(rule) for rule in model.rules("rules", k=1, properties=False)] == ['"lies in"(y, x) => rules(x, y)']
    (rule,) = [rule for rule in model.rules("citizen of", k=100) if "town 1" in str(rule) and "land 1" in str(rule)]
    assert (str(rule), rule.tried, rule.right) == ('"born in"(x, town 1) => "citizen of"(x, land 1)', 8, 6)


def test_paths_that_are_long_to_measure_are_drawn():
    """Of entities drawn at random the share that is right is near that of all, and never more than it was tried on."""
    facts = planted(6000, 2000)
    model = HornRules(steps=2000, seed=0).fit(facts)
    (rule,) = [rule for rule in model.rules("citizen of", properties=False) if "lies in" in str(rule)]
    assert rule.right < rule.tried < 8000
    assert rule.right / rule.tried == pytest.approx(0.75, abs=0.05)
    again = HornRules(steps=2000, seed=0).fit(facts)
    assert (again.path_counts_ == model.path_counts_).all()


@pytest.mark.parametrize("aggregation", ["noisy-or", "maximum"])
def test_reasons_add_up_and_rest_on_facts(aggregation):
    told = planted()
    model = HornRules(3, aggregation=aggregation, seed=0).fit(told)
    known = {*told.named()}
    for fact in [("person 3", "citizen of", "land 3"), ("land 2", "rules", "town 2"), ("town 0", "lies in", "land 4")]:
        why = model.explain(*fact, k=2)
        assert why.value == pytest.approx(model.predict(*([name] for name in fact))[0])
        assert why.base == pytest.approx(0, abs=1e-9)
        for reason, _ in why.parts:
            assert len(reason.groundings) <= 2
            assert all(grounding in known for facts in reason.groundings for grounding in facts)
            assert all(fact not in facts for facts in reason.groundings)
            assert reason.rule.right <= reason.rule.tried


def test_answers_probabilities_and_folder(tmp_path):
    told, asked = planted(), planted(36, 4)
    model = HornRules(seed=0).fit(told, validation=asked)
    assert complete(model, subject="person 32", relation="citizen of", k=1)[0].name == "land 2"
    assert 0 < complete(model, subject="person 32", relation="citizen of", k=1)[0].probability <= 1
    assert 0 < model.predict_proba(["person 32"], ["citizen of"], ["land 2"])[0] < 1
    assert model.relations(["person 32"], ["land 2"]).argmax() == told.relations.index("citizen of")
    model.save(tmp_path / "rules")
    loaded = load(tmp_path / "rules")
    ends = ["person 1", "town 2"], ["citizen of", "lies in"]
    np.testing.assert_array_equal(loaded.objects(*ends), model.objects(*ends))
    assert loaded.rules(k=5) == model.rules(k=5)
    fresh = facts_of(asked.named()[:3], entities=told.entities, relations=told.relations)
    with pytest.warns(UserWarning, match="occur in the training data"):
        assert model.evaluate(fresh).mean_reciprocal_rank > 0


def test_answers_are_those_that_a_rule_concludes():
    told = planted()
    model = HornRules(seed=0).fit(told)
    scores = model.objects(["person 32"], ["citizen of"])[0]
    every = complete(model, subject="person 32", relation="citizen of", k=len(told.entities), known=True)
    assert {answer.name for answer in every} == {told.entities[at] for at in np.flatnonzero(scores > 0)}
    assert 0 < len(every) < len(told.entities)


def test_doors():
    """What the kernels say of a base whose answer is seen at a glance: 0 -a-> 1 -b-> 2, 0 -c-> 2."""
    graph = graph_of(np.array([[0, 0, 1], [1, 1, 2], [0, 2, 2]]), 3, 3)
    how = {"max_length": 2, "steps": 10, "support": 1}
    paths, counts = joining_paths(graph, np.array([[0, 2]]), 2, **how)
    assert (paths.tolist(), counts.tolist()) == ([[0, 1, -1]], [1])
    pairs, right = path_counts(graph, graph.listed, paths, [np.array([2])], max_steps=10)
    assert (pairs.tolist(), right.tolist()) == ([1], [1])
    ((share, *_, counts),) = property_counts(graph, support=1, confidence=0.0, smoothing=1.0)
    assert (share, set(counts.tolist())) == (1.0, {1})


def test_rules_for_an_answer_are_those_of_its_score():
    told = HornRules(3, seed=0).fit(planted())._reasoner
    answers = RuleScorer(told.graph, told.rules)
    how = {"k": 2, "summed": True}
    scores = answers.scores(np.array([3, 7]), np.array([0, 1]), **how)
    for row, (known, relation) in zip(scores, ((3, 0), (7, 1)), strict=True):
        sums = [sum(part for *_, part in answers.rules_for(known, relation, y, **how)) for y in range(len(row))]
        np.testing.assert_allclose(row, sums, rtol=1e-6)


def test_refusals():
    refuses("max_length must be a whole number from 1 to 3; got 4", HornRules(4).fit, planted())
    refuses("the training data must contain at least one fact", HornRules().fit, np.zeros((0, 3), int))
    refuses("an integer array of shape", HornRules().fit, np.zeros((3, 2)))
    model = HornRules().fit(planted())
    refuses("there is no relation 'eats'", model.rules, "eats")
    refuses("there is no subject 'nobody'", complete, model, subject="nobody", relation="rules")
    refuses("k must be", model.explain, "land 2", "rules", "town 2", k=0)

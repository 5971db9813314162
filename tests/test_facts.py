"""Facts from tables and lists of names, and checks of their names and their column order."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from polyadic import HornRules, KnowledgeTensor, UniversalSchema, complete, facts_of, frame, schema_of
from polyadic.core.errors import InputWarning

from .helpers import refuses

FACTS = [(f"town {i}", "lies in", f"land {i % 3}") for i in range(9)]
FACTS += [(f"land {i}", "borders", f"land {(i + 1) % 3}") for i in range(3)]
TABLE = {"tail": [o for _, _, o in FACTS], "year": [1] * 12, "head": [s for s, *_ in FACTS]}
TABLE["relation"] = [r for _, r, _ in FACTS]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(TABLE, index=range(5, 17)),
        pa.table(TABLE),
        pd.DataFrame(TABLE).to_dict("records"),
        pd.DataFrame(TABLE).rename(columns={"head": "Subject", "relation": "predicate", "tail": "OBJECT"}),
        pd.DataFrame(FACTS, columns=["a", "b", "c"]),
        FACTS,
        np.array(FACTS),
    ],
)
def test_facts_of_any_table(table):
    """Columns by their usual names, or the only three in their order; the same facts and the same model."""
    assert facts_of(table).named() == facts_of(FACTS).named()
    one, other = (KnowledgeTensor(2, max_iter=2, seed=0).fit(each) for each in (table, FACTS))
    np.testing.assert_array_equal(one.object_factors_, other.object_factors_)
    assert one.evaluate([("town 0", "lies in", "land 1")]).objects.shape == (1,)
    if not isinstance(table, np.ndarray | list) and len(table.columns) > 3:
        assert list(schema_of(table).triples()) == [(s, o, r) for s, r, o in FACTS]


def test_columns_of_a_table():
    """Named ones, or refused: those missing, too many, or three in another order than their names say."""
    odd = pd.DataFrame({"a": TABLE["head"], "b": TABLE["relation"], "c": TABLE["tail"], "d": 1})
    assert facts_of(odd, columns=["a", "b", "c"]).named() == FACTS
    refuses("do not show which are subject, relation, object; set columns", facts_of, odd)
    refuses("do not show which are subject", facts_of, odd.rename(columns={"c": "relation"})[["a", "b", "relation"]])
    refuses("has no column 'e'; it has 'a'", facts_of, odd, columns=["a", "b", "e"])
    refuses("columns can be set only for a data frame", facts_of, FACTS, columns=["a", "b", "c"])
    numbers = pd.DataFrame({"tail": [1, 2, 0], "head": [0, 1, 2], "relation": [0, 0, 0]})
    assert KnowledgeTensor(2, max_iter=1).fit(numbers).facts_.tolist() == [[0, 0, 1], [1, 0, 2], [2, 0, 0]]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, ""])
def test_missing_names_are_refused_by_position(missing):
    facts = [*FACTS[:2], ("town 2", "lies in", missing)]
    for table in (facts, pd.DataFrame(facts, columns=["head", "relation", "tail"]), np.array(facts, object)):
        refuses("fact 3: expected the names of subject, relation and object", facts_of, table)
        refuses("fact 3: expected the names", KnowledgeTensor(2).fit, table)
        refuses("fact 3: expected the names", HornRules().fit, table)
    refuses("fact 2: expected the names of subject, object and predicate", schema_of, [FACTS[0], ("a", missing, "b")])
    refuses("fact 1: expected the names", facts_of, ["abc"])
    model = KnowledgeTensor(2, max_iter=1).fit(FACTS)
    refuses("subject names must be text or whole numbers, without missing values; item 2", model.objects,
            ["town 1", None if isinstance(missing, str) else missing], ["borders"] * 2)  # fmt: skip


def test_other_column_orders_are_noticed():
    """Of names and of ids, in training, test and validation, triples and pairs; and not in the right order."""
    wrong = [(s, o, r) for s, r, o in FACTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = facts_of(FACTS)
        schema_of(wrong)
        model = KnowledgeTensor(2, max_iter=1).fit(known)
    rng = np.random.default_rng(0)
    ids = np.column_stack([rng.integers(40, size=300), np.arange(300) % 40, rng.integers(3, size=300)])
    swapped = "the facts have 3 different relations, of which 3 are also entities, and 14 entities"
    with pytest.warns(InputWarning, match=swapped):
        facts_of(wrong)
    with pytest.warns(InputWarning, match="40 different relations"):
        KnowledgeTensor(2, max_iter=1).fit(ids)
    with pytest.warns(InputWarning, match="40 different relations"):
        facts_of(ids.astype(str))
    with pytest.warns(InputWarning, match="must be subject, object, predicate"):
        schema_of(FACTS)
    names = {"entities": known.entities, "relations": known.relations}
    refuses("fact 1: there is no relation 'land 0'; it is an entity, so the columns", facts_of, wrong, **names)
    refuses("no relation 'land 0'; it is an entity", model.evaluate, wrong)
    with pytest.warns(InputWarning, match="all 12, of which 12 with an entity as relation"):
        facts_of(wrong, unknown="skip", **names)


def test_similar_names_are_suggested():
    model = KnowledgeTensor(2, max_iter=1).fit(FACTS)
    refuses("there is no subject 'Town 1'; did you mean 'town 1'", model.objects, ["Town 1"], ["borders"])
    refuses("did you mean 'lies in'", complete, model, subject="town 1", relation="lie in")
    refuses("fact 1: there is no entity 'land9'; did you mean", model.evaluate, [("land9", "borders", "land 1")])
    refuses("no relation 'border'; did you mean 'borders'", model.update, facts_of([("new", "border", "land 1")]))
    schema = schema_of((s, o, r) for s, r, o in FACTS)
    refuses("no entity 'land_1'; did you mean 'land 1'", schema.row, "town 1", "land_1")
    refuses("there is no predicate 'border'; did you mean 'borders'", schema.column, "border")
    refuses("there is no entity pair", schema.row, "town 1", None)


def test_one_name_and_tables_for_universal_schemas():
    """One name is a list of one; a schema is made of a table where it is fitted or evaluated."""
    model = KnowledgeTensor(2, max_iter=1, seed=0).fit(FACTS)
    np.testing.assert_array_equal(
        model.predict("town 1", "lies in", "land 1"), model.predict(["town 1"], ["lies in"], ["land 1"])
    )
    table = pd.DataFrame(TABLE)
    one, other = (
        UniversalSchema(2, max_iter=1, seed=0).fit(each) for each in (table, schema_of((s, o, r) for s, r, o in FACTS))
    )
    pairs = [("town 1", "land 1")]
    np.testing.assert_array_equal(one.predict(pairs, ["borders"]), other.predict(pairs, ["borders"]))
    assert one.evaluate(pd.DataFrame({"head": ["town 1"], "tail": ["land 1"], "relation": ["borders"]})).mean > 0


@pytest.mark.parametrize(
    "model",
    [*(KnowledgeTensor(4, form=f, max_iter=5, seed=0) for f in ("ComplEx", "CP", "TuckER")), HornRules(support=1)],
)
def test_a_fact_has_one_score(model):
    """In answers for either end and for the relation, in predictions of facts, and in explanations."""
    model.fit(FACTS)
    for given in ({"subject": "town 1", "relation": "lies in"}, {"relation": "borders", "object": "land 1"},
                  {"subject": "land 1", "object": "land 2"}):  # fmt: skip
        answers = complete(model, **given, k=99, known=True)
        assert len(answers) > 1
        assert [one.score for one in answers] == sorted((one.score for one in answers), reverse=True)
        for one in answers:
            fact = [given.get(part, one.name) for part in ("subject", "relation", "object")]
            assert model.predict(*([name] for name in fact))[0] == pytest.approx(one.score, abs=1e-6)
            assert model.explain(*fact).value == pytest.approx(one.score, abs=1e-6)
            assert one.known == (tuple(fact) in FACTS)
        others = complete(model, **given, k=99)
        assert [one.name for one in others] == [one.name for one in answers if not one.known]


def test_probabilities_are_those_of_the_score():
    """A softmax of the scores over the answers that are not known."""
    model = KnowledgeTensor(4, max_iter=5, seed=0).fit(FACTS).calibrate([("town 0", "lies in", "land 1")])
    answers = complete(model, subject="town 0", relation="lies in", k=99)
    weights = np.exp([one.score / model.temperature_ for one in answers])
    np.testing.assert_allclose([one.probability for one in answers], weights / weights.sum(), rtol=1e-5)


def test_everything_known_is_told():
    model = KnowledgeTensor(2, max_iter=1).fit([(a, "knows", b) for a in "ab" for b in "ab"])
    with pytest.warns(InputWarning, match="no answer is left, because all 2 entities complete a training fact"):
        assert complete(model, subject="a", relation="knows") == []
    schema = schema_of([("a", "b", "x"), ("a", "c", "x"), ("a", "b", "y")])
    with pytest.warns(InputWarning, match="'x' is a known fact of all 2 pairs"):
        assert UniversalSchema(2, max_iter=1).fit(schema).likeliest("x") == []


def test_frames_of_answers():
    model = HornRules(support=1).fit(FACTS)
    answers = frame(complete(model, subject="land 1", relation="borders", known=True))
    assert list(answers) == ["name", "score", "probability", "known"]
    assert answers["known"].sum() == 1
    why = frame(model.explain("town 1", "lies in", "land 1"))
    assert why["name"].str.contains("=>").all()
    assert why["part"].sum() == pytest.approx(why["value"][0])
    assert list(frame(model.rules())) == ["rule", "premises", "right"]
    pairs = UniversalSchema(2, max_iter=1, seed=0).fit(schema_of((s, o, r) for s, r, o in FACTS)).likeliest("borders")
    assert list(frame(pairs)) == ["subject", "object", "probability", "known"]

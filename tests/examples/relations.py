"""Models of relations between entities: triples, universal schemas, rules, databases, composition."""

import numpy as np
from scipy.sparse import csr_array

from examples import Example
from polyadic import (
    RESCAL,
    BayesianFactorization,
    CollectiveFactorization,
    Database,
    Entries,
    HornRules,
    InjectedLogic,
    KnowledgeTensor,
    Relation,
    TransitiveVerbs,
    TupleClassifier,
    TypedRESCAL,
    UniversalSchema,
    VariationalFactorization,
    complete,
    facts_of,
    schema_of,
)
from polyadic.relations.rules import parse_rule

TOWNS = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
FACTS = facts_of([(town, "in", land) for town, land in TOWNS.items()] + [("Oslo", "near", "Bergen")])
HELD_OUT = facts_of([("Turin", "near", "Rome")], entities=FACTS.entities, relations=FACTS.relations)

STAFF = [(f"person {i}", f"firm {i}", what) for i in range(5) for what in ("works for", ", head of")]
SCHEMA = schema_of([*STAFF[1:], ("a town", "a land", "lies in")])
NEW = schema_of([("Ann", "Acme", ", head of"), ("person 0", "Acme", "works for")])
PAIRS, PREDICATES = [("person 0", "firm 0"), ("a town", "a land")], ["works for", "works for"]
RULE = parse_rule('", head of"(x, y) => "works for"(x, y)')

LIKES = csr_array(np.array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0.0]]))

STARS = np.array([[5, 1, np.nan, 4], [4, np.nan, 2, 5], [1, 5, 4, np.nan]])
GENRES = {"film": [0, 1, 2, 3], "genre": ["horror", "satire", "satire", "horror"]}
DATABASE = Database(
    {
        "stars": Relation(STARS, ("user", "film")),
        "genres": Relation(GENRES, ("film", "genre"), loss="logistic", unobserved="zero"),
    },
    entities={"film": range(4)},
)


def asked_of_database(model):
    """Give all that a model of a database can be asked."""
    asked = model.predict_distribution("stars", [(0, 2), (1, 1)])
    return [
        model.predict("genres", [(2, "satire")]),
        [*asked],
        model.predict_numbered("genres", np.array([[1, 0]])),
        model.most_similar("film", 3),
        [*map(dict.items, (model.factors_, model.offsets_, model.unobserved_))],
    ]


def asked_of_triples(model):
    """Give all scores of numbered triples."""
    return [model.objects([0, 1], [0, 0]), model.subjects([2], [0]), model.predict([0, 1], [0, 0], [2, 3])]


def of_triples(make, variant=""):
    return Example(
        make=make,
        fit=lambda model: model.fit(FACTS, validation=HELD_OUT),
        ask=lambda model: [
            *asked_of_triples(model),
            model.relations(["Oslo"], ["Norway"]),
            complete(model, subject="Rome", relation="in"),
            model.evaluate(HELD_OUT, relations=True),
            model.number_of("relation", "near"),
            model.facts_,
        ],
        variant=variant,
    )


def of_schema(make, variant="", similar="works for"):
    return Example(
        make=make,
        fit=lambda model: model.fit(SCHEMA),
        ask=lambda model: [
            model.predict(PAIRS, PREDICATES),
            model.log_odds([[0, 0], [2, 1]]),
            model.column_log_odds([0, 2]),
            model.likeliest("works for"),
            similar and model.most_similar(similar),
            model.evaluate([("person 0", "firm 0", "works for")]),
            model.predict_unseen(NEW),
        ],
        variant=variant,
    )


EXAMPLES = [
    of_triples(lambda: HornRules(3, support=1, steps=1, seed=0)),
    of_triples(lambda: HornRules(1, support=1, aggregation="maximum", k=2, steps=1, seed=0), "maximum"),
    of_triples(lambda: KnowledgeTensor(3, form="TuckER", relation_rank=2, max_iter=4, seed=0, threads=1)),
    of_triples(lambda: KnowledgeTensor(2, reciprocal=False, loss="logistic", max_iter=4, seed=0, threads=1), "complex"),
    Example(
        make=lambda: RESCAL(2, ridge_A=0.1, ridge_R=0.1, max_iter=5, tol=0.0, seed=0),
        fit=lambda model: model.fit([LIKES]),
        ask=asked_of_triples,
    ),
    Example(
        make=lambda: TypedRESCAL(2, ridge_A=0.1, ridge_R=0.1, max_iter=5, tol=0.0, seed=0),
        fit=lambda model: model.fit([LIKES], types=list("aabb"), attributes=csr_array(np.eye(4))),
        ask=lambda model: [*asked_of_triples(model), model.attribute_factors_],
    ),
    of_schema(lambda: UniversalSchema(3, features="NFET", biases="both", max_iter=3, seed=0)),
    of_schema(lambda: UniversalSchema(3, features="N", loss="bpr", max_iter=3, seed=0), "neighbours", similar=None),
    Example(
        make=lambda: InjectedLogic([RULE], regime="post", model=UniversalSchema(3, features="F", max_iter=3, seed=0)),
        fit=lambda model: model.fit(SCHEMA),
        ask=lambda model: [model.predict(PAIRS, PREDICATES), model.column_probabilities([0, 1]), model.derived_],
    ),
    Example(
        make=lambda: CollectiveFactorization(2, ridge={"user": 1.0, "film": 0.5, "genre": 0.5}, seed=0, threads=1),
        fit=lambda model: model.fit(DATABASE),
        ask=asked_of_database,
    ),
    Example(
        make=lambda: CollectiveFactorization(2, solver="sgd", max_iter=5, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(DATABASE),
        ask=asked_of_database,
        variant="sgd",
    ),
    Example(
        make=lambda: VariationalFactorization(2, max_iter=5, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(DATABASE),
        ask=lambda model: [*asked_of_database(model), model.relevance_, model.bound_],
    ),
    Example(
        make=lambda: BayesianFactorization(2, burn_in=2, draws=4, n_samples=2, seed=0, threads=1),
        fit=lambda model: model.fit(DATABASE, at={"stars": [(0, 2)]}),
        ask=lambda model: [*asked_of_database(model), [*model.averages("stars")], model.noise_, len(model.draws_)],
    ),
    Example(
        make=lambda: TransitiveVerbs(weight="log"),
        fit=lambda model: model.fit(
            Entries(np.array([[0, 0, 2], [1, 0, 2], [2, 1, 0]]), np.array([5.0, 5.0, 1.0]), (3, 2, 3)),
            nouns=[[1.0, 0.2], [1.0, 0.1], [0.0, 1.0]],
        ),
        ask=lambda model: [model.compose([0], [1], [2]), model.predict([0, 2], [0, 0], [2, 0])],
    ),
    Example(
        make=lambda: TupleClassifier(2, ridge=0.01, starts=2, max_iter=5, seed=0),
        fit=lambda model: model.fit(
            [[0, 0], [0, 1], [1, 0], [1, 1]], [True, False, False, True], features=[np.eye(2), np.eye(2)]
        ),
        ask=lambda model: [model.predict([[0, 1]]), model.predict_proba([[0, 1], [1, 1]])],
    ),
]

"""Its tools for choosing, validating and chaining work on ratings, facts, lists and tables of this library."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline

from polyadic import (
    MIRA,
    NMF,
    FactorizationMachine,
    GeneralizedPCA,
    ImplicitFactorization,
    InputError,
    KnowledgeTensor,
    MatrixFactorization,
    QueryGroups,
    TextTopics,
    TraceNormCompletion,
)

FOLDS = KFold(3, shuffle=True, random_state=0)


def kin(families=12):
    """Parents, children, siblings: each relation follows from the others."""
    facts = []
    for f in range(families):
        people = [f"p{f}.{k}" for k in range(4)]
        facts += [(people[a], "parent", people[b]) for a in (0, 1) for b in (2, 3)]
        facts += [(people[b], "child", people[a]) for a in (0, 1) for b in (2, 3)]
        facts += [(people[2], "sibling", people[3]), (people[3], "sibling", people[2])]
    return np.array(facts)


@pytest.mark.slow
def test_facts_are_rows_of_three_names():
    """Which rank is better shows; a fact of a stranger counts as not found."""
    facts = kin()
    model = KnowledgeTensor(2, max_iter=30, seed=0, threads=1)
    search = GridSearchCV(model, {"rank": [1, 16]}, cv=FOLDS).fit(facts)
    assert search.best_params_ == {"rank": 16}
    assert search.best_estimator_.entities_[0] == "p0.0"
    scores = cross_validate(model.set_params(rank=16), facts, cv=FOLDS)["test_score"]
    assert (scores > 0.3).all()
    fitted = model.fit(facts[:-10])
    assert fitted.score(facts[-10:]) == 0.0
    both = np.concatenate([facts[:10], facts[-10:]])
    assert fitted.score(both) == pytest.approx(fitted.score(facts[:10]) / 2)


def test_numbered_facts_are_scored_alike():
    """By numbers or by names."""
    facts = kin()
    entities, numbers = np.unique(facts[:, [0, 2]], return_inverse=True)
    kinds = np.unique(facts[:, 1], return_inverse=True)[1]
    ends = numbers.reshape(-1, 2)
    numbered = np.column_stack([ends[:, 0], kinds, ends[:, 1]])
    model = KnowledgeTensor(8, max_iter=5, seed=0, threads=1)
    by_number, by_name = model.fit(numbered).score(numbered), model.fit(facts).score(facts)
    assert by_number == pytest.approx(by_name)
    strange = np.array([[len(entities), 0, 0], numbered[1].tolist()])
    assert model.fit(numbered).score(strange) == pytest.approx(model.score(numbered[1:2]) / 2)
    with pytest.raises(InputError, match="this model identifies entities by integer ids"):
        model.score(facts)


def test_lists_are_divided_whole():
    """Groups of candidates, of which the costs stand in them."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((400, 5)), np.array([2.0, -1.0, 0.5, 0.0, 0.0])
    noise = rng.standard_normal(400)
    group = np.repeat(np.arange(100), 4)
    costs = np.array([g - min(g) for g in (-(X @ w) + 0.3 * noise).reshape(100, 4)]).ravel()
    groups = QueryGroups.of(X, costs=costs, group=group)
    search = GridSearchCV(MIRA(max_iter=3, seed=0), {"C": [1e-9, 0.1]}, cv=FOLDS).fit(groups)
    assert search.best_params_ == {"C": 0.1}
    random = -groups.cost(groups.choice(rng.random(400)))
    assert (cross_validate(MIRA(max_iter=3, seed=0), groups, cv=FOLDS)["test_score"] > 0.3 * random).all()
    np.testing.assert_array_equal(groups[np.array([5, 2])].costs, np.r_[groups[5:6].costs, groups[2:3].costs])
    np.testing.assert_array_equal(groups[np.arange(100) == 7].costs, groups[7:8].costs)


TEXTS = [
    f"the {'cat dog' if i % 2 else 'ship sea'} {'mouse' if i % 4 == 1 else 'sail'} number{i % 3}" for i in range(40)
]


def test_topics_in_a_chain():
    """Words are counted, topics found, labels learned; settings of every step are chosen together."""
    labels = np.arange(40) % 2
    chain = make_pipeline(CountVectorizer(), NMF(2, seed=0), LogisticRegression())
    search = GridSearchCV(chain, {"nmf__n_components": [1, 3]}, cv=FOLDS).fit(TEXTS, labels)
    assert search.best_params_ == {"nmf__n_components": 3}
    assert search.score(TEXTS, labels) == 1.0
    texts = make_pipeline(TextTopics("nmf", n_components=2, min_count=1, seed=0, language="en"), LogisticRegression())
    assert texts.fit(TEXTS, labels).score(TEXTS, labels) > 0.9


def test_machines_in_a_search():
    """Products of features, by their order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(200)
    search = GridSearchCV(FactorizationMachine(2, seed=0), {"rank": [0, 2]}, cv=FOLDS).fit(X, y)
    assert search.best_params_ == {"rank": 2}


@pytest.mark.parametrize(
    "model",
    [
        MatrixFactorization(2, seed=0),
        ImplicitFactorization(2, seed=0),
        TraceNormCompletion(2.0),
        GeneralizedPCA(2, seed=0),
        NMF(2, seed=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_columns_have_names(model):
    """Of rows that were folded in, as a data frame where that is asked for."""
    x = 1 + np.outer(np.arange(8.0), np.ones(6)) + np.eye(8, 6)
    fitted = model.fit(x)
    plain = fitted.transform(x)
    frame = fitted.set_output(transform="pandas").transform(x)
    prefix = type(model).__name__.lower()
    assert frame.columns.tolist() == [f"{prefix}{k}" for k in range(plain.shape[1])]
    np.testing.assert_array_equal(frame.to_numpy(), plain)

"""Tuples of words told true or false by a low-rank tensor, and prepositional phrases by it and by backing off."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from sklearn.base import clone

from experiments.data.clauses import Attachment, Phrases, attachment
from experiments.data.tnt_tagger import Tagger
from experiments.relations.attachment import back_off, features, plain_words, simple
from experiments.relations.composition import treebank_tagger
from helpers import refuses
from polyadic.core.penalties import L2
from polyadic.relations.attachment import TupleClassifier, _TupleObjective, _with_constant


def planted(rng, n=400, order=3, words=8):
    """Tuples whose truth is the sign of a product of hidden words."""
    X = rng.integers(0, words, (n, order))
    hidden = rng.choice([-1.0, 1.0], (order, words))
    return X, np.prod(hidden[np.arange(order), X], axis=1) > 0


def model(**how):
    return TupleClassifier(**{"rank": 4, "ridge": 0.1, "constant": 1.0, "starts": 2, "seed": 0} | how)


def test_products_of_words_are_learned():
    """What no word alone tells, nor any pair, is told by the product of all; held-out tuples too."""
    X, y = planted(np.random.default_rng(0))
    fitted = model().fit(X[:300], y[:300], features=[np.eye(8)] * 3)
    assert (fitted.predict(X[300:]) == y[300:]).mean() > 0.95
    again = clone(fitted).fit(X[:300], y[:300], features=[csr_array(np.eye(8))] * 3)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert all(after <= before for before, after in itertools.pairwise(fitted.history_))


def test_log_odds_are_those_of_the_formula():
    """Starts are averaged: each is a sum of products of weighted features with the constant first."""
    rng = np.random.default_rng(1)
    X, y = planted(rng, 60, 2, 3)
    F = [rng.normal(size=(3, 4)), rng.normal(size=(3, 2))]
    one = model(starts=1, max_iter=5).fit(X, y, features=F)
    two = model(starts=2, max_iter=5).fit(X, y, features=F)
    told = [rows.reshape(3, 2, 4) * 2**0.5 for rows in two.factors_]
    each = np.einsum("nsr,nsr->sn", told[0][X[:, 0]], told[1][X[:, 1]])
    np.testing.assert_allclose(each[0], one.decision_function(X))
    np.testing.assert_allclose(each.mean(axis=0), two.decision_function(X))
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-two.decision_function(X))))


def test_gradient_is_the_derivative():
    """The gradient agrees with differences of the objective."""
    rng = np.random.default_rng(2)
    F = [_with_constant(rng.normal(size=(4, 2)), 1.5), _with_constant(csr_array(np.eye(3)), 1.5)]
    X = np.stack([rng.integers(0, 4, 20), rng.integers(0, 3, 20)], axis=1)
    problem = _TupleObjective(F, X, rng.integers(0, 2, 20).astype(float), L2(0.7))
    theta = [rng.normal(size=(3, 2)), rng.normal(size=(4, 2))]

    def value(x):
        return problem.value_and_gradient([x[:6].reshape(3, 2), x[6:].reshape(4, 2)])[0]

    x = np.concatenate([t.ravel() for t in theta])
    gradient = np.concatenate([g.ravel() for g in problem.value_and_gradient(theta)[1]])
    np.testing.assert_allclose(gradient, approx_fprime(x, value, 1e-7), atol=1e-4)


def test_words_without_features_leave_the_others():
    """Of a word nothing is known about, the answer does not depend on which it is."""
    X, y = planted(np.random.default_rng(3), order=2)
    known = np.eye(10)[:, :8]
    fitted = model().fit(X, y, features=[known, known])
    odds = fitted.decision_function([[8, 1], [9, 1]])
    assert odds[0] == odds[1]


@pytest.mark.parametrize(
    ("X", "y", "F", "message"),
    [
        ([[0, 3]], [True], [np.eye(3)] * 2, "non-negative and less than"),
        ([[0]], [True], [np.eye(3)] * 2, "integer array of shape .n, 2."),
        ([[0, 1]], [2], [np.eye(3)] * 2, "one label .True or False. for each"),
        ([[0, 1]], [True], [np.eye(3), np.ones(3)], "features must be a numeric matrix"),
        ([[0, 1]], [True], [np.eye(3), np.full((2, 2), np.nan)], "row 0, column 0 of features is missing"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, F, message):
    """Each fault is told in a sentence."""
    refuses(message, model().fit, X, y, features=F)


class Same(Tagger):
    """A tagger to which all lemmas are the words."""

    def lemma(self, form, _tag):
        return form.lower()

    def likeliest(self, _form, tags):
        return tags[0]


def test_plain_words():
    """Numbers, years and names are alike."""
    assert plain_words(("Saw", "Bob", "In", "1984"), Same()) == ("saw", "<name>", "in", "<year>")
    assert plain_words(("saw", "1,000", "in", "IBM"), Same()) == ("saw", "<number>", "in", "ibm")


def test_backing_off_by_hand():
    """Four words that were seen decide; else triples together, then pairs together, then the preposition."""
    train = [
        (("eat", "soup", "with", "spoon"), True),
        (("eat", "soup", "with", "spoon"), True),
        (("eat", "soup", "with", "salt"), False),
        (("buy", "car", "with", "radio"), False),
        (("buy", "car", "with", "money"), False),
    ]
    asked = [
        ("eat", "soup", "with", "spoon"),  # as seen
        ("eat", "rice", "with", "spoon"),  # eat with spoon: 2 to 0
        ("eat", "soup", "with", "fork"),  # eat soup with: 2 to 1
        ("buy", "ship", "with", "sail"),  # buy with: 0 to 2
        ("see", "man", "with", "dog"),  # with: 2 to 3
        ("see", "man", "on", "hill"),  # nothing: the noun
    ]
    phrases = Phrases([words for words, _ in train], np.array([verbal for _, verbal in train]))
    test = Phrases(asked, np.array([True, True, True, False, False, False]))
    figures = back_off(Attachment(phrases, test, test), Same())
    assert figures["test"].value == 1
    assert simple(Attachment(phrases, test, test))["majority"].value == 0.5


def test_unseen_words_have_no_features_of_their_own():
    """A word and its plain form have columns if the training part has them."""
    train = [("eat", "soup", "with", "spoon"), ("eats", "Bob", "of", "salt")]
    verbs, nouns, prepositions, _ = features(
        [["eat", "see"], ["Ann", "rice"], ["of", "on"], ["salt"]], train, Same(), None
    )
    assert verbs.toarray().tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert nouns.toarray()[:, -1].tolist() == [1.0, 0.0]  # a name, as Bob
    assert prepositions.toarray().tolist() == [[1.0], [0.0]]


@pytest.mark.realdata
def test_published_figures():
    """Of the test part, the noun, the preposition and backing off tell what was published: .590, .722, .845."""
    data = attachment()
    found = simple(data)
    assert (round(found["majority"].value, 3), round(found["preposition"].value, 3)) == (0.590, 0.722)
    assert back_off(data, treebank_tagger())["test"].value == pytest.approx(0.845, abs=0.004)

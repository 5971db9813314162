"""Models of sequences."""

import numpy as np

from examples import Example
from polyadic import (
    HiddenMarkov,
    ObservableOperators,
    SequenceTagger,
    SpectralAutomaton,
    SpectralTransducer,
    TextTagger,
)
from polyadic.sequences.ngrams import NGrams
from polyadic.sequences.symbols import Coded, coded
from polyadic.syntax.trees import Tree

STRINGS = ["abab", "bab", "ab", "", "aab", ("b", "a", "b")] * 4
SHARED = coded(STRINGS, {"a": 0, "b": 1})
X = [[["w=the"], ["w=dog", "s=og"], ["w=barks"]], [["w=the"], ["w=barks"]], []]
VALUES = [[{"w": "the"}, {"w": "dog", "n": 0.5}, {"w": "barks", "n": -2}], [{"w": "the"}, {"w": "barks"}], []]
NUMBERS = np.array([[0.1, 2.0], [0.0, 1.5], [0.3, 1.9], [4.0, -1.0], [4.2, -1.4], [3.9, -1.2]] * 2)
TAGS = [["D", "N", "V"], ["D", "N"], []]


def treebank():
    none, heads = ("_", "_", "_"), np.array([2, 3, 0], np.int32)
    for noun, lemma in (("dogs", "dog"), ("cats", "cat")):
        columns = (("The", noun, "bark"), ("the", lemma, "bark"), ("DET", "NOUN", "VERB"), ("DT", "NNS", "VBP"))
        yield Tree(*columns, ("Definite=Def", "Number=Plur", "_"), heads, none, none, none)


def of_tags(make, variant="", tags=TAGS, X=X):
    return Example(
        make=make,
        fit=lambda model: model.fit(X, tags),
        ask=lambda model: [
            model.predict(X),
            model.predict_proba(X),
            model.score(X, tags),
            model.features_,
            model.top_features(2),
            model.transitions(),
        ],
        variant=variant,
    )


def of_strings(make, variant=""):
    return Example(
        make=make,
        fit=lambda model: model.fit(STRINGS),
        ask=lambda model: [
            model.score(["abc", ""]),
            model.score_sequences(["ab", "b"]),
            model.log_probabilities(SHARED),
            model.predict(["abab"]),
            model.predict_proba(["ab"]),
            model.next_symbols("ab"),
            model.aic(["ab"]),
            model.bic(["ab"]),
            model.sample(2, length=3, seed=0),
        ],
        variant=variant,
    )


def of_pairs(method):
    return Example(
        make=lambda: SpectralTransducer(2, method=method, max_length=1, penalty=1e-4, passes=3, beam=5),
        fit=lambda model: model.fit(["a", "b", "ab", "", "b"], ["A", "B", "A", "", "A"]),
        ask=lambda model: [
            model.log_likelihoods(["ab", ""], ["AB", "A"], given_input=True),
            model.score(["a"], ["A"]),
            model.predict(["ab"]),
            model.k_best(["ba", ""], k=2),
        ],
        variant=method,
    )


EXAMPLES = [
    of_tags(lambda: SequenceTagger(1, max_iter=3, seed=0)),
    of_tags(
        lambda: SequenceTagger(None, bio=True, max_iter=3, seed=0),
        "bio",
        tags=[["O", "B-dog", "I-dog"], ["B-dog", "O"], []],
    ),
    of_tags(lambda: SequenceTagger(None, max_iter=3, seed=0), "dicts", X=VALUES),
    Example(
        make=lambda: TextTagger(max_iter=2, min_count=1, seed=0),
        fit=lambda model: model.fit(treebank()),
        ask=lambda model: [[tree.conllu() for tree in model.trees(["The pigs bark."])], model.tag(["cats"]).lemmas],
    ),
    of_strings(lambda: HiddenMarkov(2, max_iter=5, unknown="missing", seed=0, threads=1)),
    of_strings(lambda: HiddenMarkov(2, init="random", max_iter=5, unknown="missing", seed=0, threads=1), "random"),
    Example(
        make=lambda: HiddenMarkov(
            2, emissions="gaussian", initial={"start": np.array([0.4, 0.6])}, fixed=["start"], max_iter=5, seed=0
        ),
        fit=lambda model: model.fit(NUMBERS, [7, 0, 5]),
        ask=lambda model: [
            model.score(NUMBERS, [7, 5]),
            model.score_sequences([NUMBERS]),
            model.predict([NUMBERS]),
            model.predict_proba([NUMBERS]),
            model.aic(NUMBERS),
            model.bic(NUMBERS),
            model.sample(2, length=3, seed=0),
        ],
        variant="gaussian",
    ),
    Example(
        make=lambda: ObservableOperators(2),
        fit=lambda model: model.fit(STRINGS),
        ask=lambda model: [
            model.score(["ab", ""]),
            model.next_symbols("ab"),
            model.raw_probability("ab"),
        ],
    ),
    Example(
        make=lambda: SpectralAutomaton((1, 2), max_length=2, passes=5, alphabet=["a", "b", ("c", 1)], unknown="b"),
        fit=lambda model: model.fit(STRINGS),
        ask=lambda model: [
            model.log_likelihoods(["ab", "", "z"]),
            model.score(["ab"]),
            model.perplexity(["ab"]),
            model.predict_proba(["ab", ""]),
            model.sample(2, max_length=5),
            model.tried_,
        ],
    ),
    *(of_pairs(method) for method in ("hull", "completion")),
    Example(
        make=lambda: NGrams(2),
        fit=lambda model: model.fit(SHARED, 2),
        ask=lambda model: [
            model.next_probabilities(np.array([[0], [1], [-1]])),
            model.along(SHARED),
            model.logs(Coded(np.array([0, 1]), np.array([0, 2]))),
        ],
    ),
]

"""Sequences as people have them: missing symbols are refused by place, flat sequences are one, nothing is a key."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyadic import HiddenMarkov, InputError, ObservableOperators, SpectralAutomaton, SpectralTransducer
from polyadic.core.errors import InputWarning
from polyadic.sequences.ngrams import NGrams
from polyadic.sequences.symbols import absent, coded, listed
from polyadic.syntax.spectral_grammar import SpectralGrammar

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter")
GOOD = [[1, 2, 1, 2, 2], [2, 1, 1, 2], [1, 2, 2]] * 4


class Doubled:
    """A transducer of sequences to themselves, which takes one argument as the others do."""

    def __init__(self):
        self.model = SpectralTransducer(1, passes=1)

    def fit(self, X):
        self.model.fit(X, GOOD)
        return self

    def score(self, X):
        return self.model.score(X, GOOD)

    def predict(self, X):
        return self.model.predict(X)

    def k_best(self, X):
        return self.model.k_best(X)


MODELS = {
    "HiddenMarkov": lambda: HiddenMarkov(2, max_iter=2),
    "ObservableOperators": lambda: ObservableOperators(2),
    "SpectralAutomaton": lambda: SpectralAutomaton(2, passes=2),
    "SpectralGrammar": lambda: SpectralGrammar(2, max_iter=5),
    "SpectralTransducer": Doubled,
}
ASKED = {
    "HiddenMarkov": ["predict", "predict_proba", "score", "score_sequences", "aic", "bic", "search"],
    "ObservableOperators": ["score"],
    "SpectralAutomaton": ["score", "perplexity", "log_likelihoods", "predict_proba"],
    "SpectralGrammar": ["probabilities", "brackets"],
    "SpectralTransducer": ["score", "predict", "k_best"],
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("missing", [None, float("nan"), "", pd.NA, pd.NaT, np.float64("nan")], ids=repr)
def test_missing_symbols_are_refused_by_place(name, missing):
    """When a model is fitted, and when it is asked."""
    bad = [GOOD[0], [2, 1, missing, 2], *GOOD[2:]]
    with pytest.raises(InputError, match=r"sequence 2, place 3: the symbol .* is missing; remove or replace it"):
        MODELS[name]().fit(bad)
    model = MODELS[name]().fit(GOOD)
    for method in ASKED[name]:
        with pytest.raises(InputError, match="sequence 2, place 3"):
            getattr(model, method)(bad)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (dict(enumerate(GOOD)), "sequences must be a list or array, in the order of the observations; got dict"),
        ({(1, 2), (2, 1)}, "got set"),
        (pd.DataFrame(np.eye(3)), "got DataFrame"),
        (sparse.csr_array(np.eye(3)), "got csr_array"),
        (7, "got int 7"),
        (np.array(7), "got ndarray"),
        (np.array(GOOD[0])[:, None], "a column of 5 symbols is not a list of sequences; pass X.ravel"),
        ([GOOD[0], {1: 2}], "sequence 2 must be a list or array, in the order of the observations; got dict"),
        ([GOOD[0], 5], "sequence 2 must be a list or array, in the order of the observations; got int 5"),
        ([GOOD[0], [1, [2]]], r"sequence 2, place 2: the symbol \[2\] must be hashable, such as text or a number"),
        (np.ma.array([GOOD[0], GOOD[0]], mask=[[0] * 5, [0, 1, 0, 0, 0]]), "sequence 2, place 2: the symbol None"),
        ([pd.Series([1, None, 2])], "sequence 1, place 2: the symbol nan"),
    ],
)
def test_what_has_no_order_is_refused(values, message):
    """By name; keys, names of columns and masked cells are never symbols."""
    for make in MODELS.values():
        with pytest.raises(InputError, match=message):
            make().fit(values)


def test_a_flat_sequence_is_one_sequence():
    """Of numbers or letters, in any container; several of them in one have lengths."""
    x = [1, 2, 1, 1, 2, 2, 1, 2]
    one = HiddenMarkov(2, max_iter=3).fit([x])
    for flat in (x, np.array(x), pd.Series(x, index=range(8, 0, -1)), pd.Series(x).astype("category"), tuple(x)):
        model = HiddenMarkov(2, max_iter=3).fit(flat)
        assert model.symbols_ == [1, 2]
        assert (model.moves_ == one.moves_).all()
        assert model.score(flat) == one.score([x])
    assert listed("aba") == ["aba"]
    assert listed(each for each in ["ab", "b"]) == ["ab", "b"]
    assert listed(pd.Series(["ab", "b"])) == ["ab", "b"]
    two = HiddenMarkov(2, max_iter=3).fit([x[:5], x[5:]])
    for stacked in (x, np.array(x), np.array(x)[:, None], [[symbol] for symbol in x]):
        assert (HiddenMarkov(2, max_iter=3).fit(stacked, [5, 3]).moves_ == two.moves_).all()
        assert [part.tolist() for part in two.predict(stacked, [5, 3])] == [
            part.tolist() for part in two.predict([x[:5], x[5:]])
        ]
    assert listed("abab", [1, 0, 3]) == ["a", "", "bab"]
    with pytest.raises(InputError, match="lengths must sum to the number of observations, 8; got 7"):
        one.score(x, [5, 2])
    with pytest.raises(InputError, match="lengths must be a whole number of at least 0; got -1"):
        one.score(x, [9, -1])


def test_real_values_as_symbols_are_told():
    """With their numbers; whole numbers, and real ones that recur, are symbols like others."""
    with pytest.warns(InputWarning, match=r"the 8 observations are numbers with 7 different values.*'gaussian'"):
        HiddenMarkov(2, max_iter=2).fit([[0.1, 0.23, 0.5, 0.11], [0.4, 0.2, 0.33, 0.2]])
    with pytest.warns(InputWarning, match="no sequence has two observations, so transitions are not learned; pass"):
        HiddenMarkov(1, init="random").fit(pd.Series(["a", "b", "a"]))
    HiddenMarkov(1, max_iter=2).fit([[0.5, 1.0, 0.5, 1.0, 0.5]])
    HiddenMarkov(1, max_iter=2).fit([[1.0, 2.0, 3.0]])


def test_missing_symbols_may_be_given_as_such():
    """If unknown symbols count as missing, a missing one does too; a score of no known symbol gives a warning."""
    model = HiddenMarkov(2, max_iter=2, unknown="missing").fit(GOOD)
    assert model.score([[1, None, 2], [float("nan")]]) == model.score([[1, 9, 2], [9]])
    with pytest.warns(
        InputWarning, match="none of the 2 symbols occurs in the training sequences; all count as missing"
    ):
        assert model.score([[8], [9]]) == pytest.approx(0)
    gaps = SpectralTransducer(1, aligned=True, passes=1).fit([["a", None], ["b"]], [["x", "y"], [None]])
    assert (gaps.inputs_, gaps.outputs_) == (["a", "b"], ["x", "y"])
    with pytest.raises(InputError, match="sequence 1, place 2: the symbol nan"):
        SpectralTransducer(1, aligned=True).fit([["a", float("nan")]], [["x", "y"]])
    with pytest.raises(InputError, match="at least one pair is required to compute a score"):
        gaps.score([], [])
    assert not any(map(absent, [0, 0.0, False, "0", " ", (), "nan"]))


def test_ngrams_take_encoded_strings():
    """Others are refused; the size of the alphabet is that of the symbols."""
    with pytest.raises(InputError, match=r"requires strings encoded by polyadic.sequences.symbols.coded"):
        NGrams().fit([1, 2, 1])
    data = coded(["ab", "ba"], {"a": 0, "b": 1})
    assert (NGrams(2).fit(data).along(data) == NGrams(2).fit(data, 2).along(data)).all()

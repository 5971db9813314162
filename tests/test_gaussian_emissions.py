"""Gaussian emissions: sums over paths by listing them, hmmlearn's figures, parameters that are given or found."""

import json
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from helpers import invoke
from polyadic import HiddenMarkov, InputError, load
from polyadic.core.errors import InputWarning
from polyadic.core.selection import select

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter")
KINDS = pytest.mark.parametrize("kind", ["diag", "full"])
STATES = 2


def parameters(d, kind, seed=0):
    """Return parameters with positive probabilities."""
    rng = np.random.default_rng(seed)
    start, moves = rng.dirichlet(np.full(STATES, 5)), rng.dirichlet(np.full(STATES, 5), size=STATES)
    covars = rng.uniform(0.5, 1.5, size=(STATES, d))
    if kind == "full":
        roots = rng.normal(size=(STATES, d, d))
        covars = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(d)
    return {"start": start, "moves": moves, "means": rng.normal(size=(STATES, d)), "covars": covars}


def paths(X, p):
    """Yield each path of states with its joint density with the observations."""
    matrices = [np.diag(c) if c.ndim == 1 else c for c in p["covars"]]
    densities = np.array([multivariate_normal(m, c).pdf(X) for m, c in zip(p["means"], matrices, strict=True)])
    densities = densities.reshape(STATES, len(X))
    for path in product(range(STATES), repeat=len(X)):
        value = p["start"][path[0]] * densities[path[0], 0]
        for i in range(1, len(X)):
            value *= p["moves"][path[i - 1], path[i]] * densities[path[i], i]
        yield path, value


def updated(sequences, p, kind, prior):
    """Return the parameters after one update, from the posterior of each path; slow."""
    starts, moves, posteriors = np.zeros(STATES), np.zeros((STATES, STATES)), []
    for X in sequences:
        listed = list(paths(X, p))
        whole, gamma = sum(value for _, value in listed), np.zeros((len(X), STATES))
        for path, value in listed:
            starts[path[0]] += value / whole
            gamma[range(len(X)), path] += value / whole
            for pair in pairwise(path):
                moves[pair] += value / whole
        posteriors.append(gamma)
    X, gamma = np.concatenate(sequences), np.concatenate(posteriors)
    means = np.array([np.average(X, axis=0, weights=weights) for weights in gamma.T])
    covars = [np.cov(X.T, aweights=w, ddof=0).reshape(X.shape[1], -1) for w in gamma.T]
    covars = [c + prior * np.eye(len(c)) / w.sum() for c, w in zip(covars, gamma.T, strict=True)]
    covars = np.array([np.diag(c) if kind == "diag" else c for c in covars])
    return starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True), means, covars


def observations(d, lengths=(4, 3, 1), seed=1):
    return [np.random.default_rng(seed + n).normal(size=(n, d)) * 2 for n in lengths]


def fitted(sequences, kind="diag", p=None, **how):
    return HiddenMarkov(STATES, emissions="gaussian", covariance_type=kind, initial=p, **how).fit(sequences)


@KINDS
@pytest.mark.filterwarnings("ignore:state . has")
@pytest.mark.parametrize("d", [1, 2])
def test_densities_and_updates_are_sums_over_paths(kind, d):
    """The score, the posterior states, the best path and one update of all parameters."""
    p, sequences = parameters(d, kind), observations(d)
    fixed = ("start", "moves", "means", "covars")
    model = fitted(sequences, kind, p, fixed=fixed, max_iter=1)
    assert all((getattr(model, f"{name}_") == p[name]).all() for name in fixed)
    for X in sequences:
        listed = dict(paths(X, p))
        assert model.score([X]) == pytest.approx(np.log(sum(listed.values())))
        assert tuple(model.predict([X])[0].tolist()) == max(listed, key=listed.get)
        first = sum(value for path, value in listed.items() if path[0] == 0) / sum(listed.values())
        assert model.predict_proba([X])[0][0, 0] == pytest.approx(first)
    for prior in (0.0, 0.5):
        model = fitted(sequences, kind, p, max_iter=1, covars_prior=prior)
        found = model.start_, model.moves_, model.means_, model.covars_
        for one, other in zip(found, updated(sequences, p, kind, prior), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@KINDS
def test_hmmlearn_agrees(kind):
    """From the same start, after the same iterations: parameters, paths, posteriors, scores and criteria."""
    hmm = pytest.importorskip("hmmlearn.hmm")
    p, lengths = parameters(2, kind), [30, 50, 20]
    X = np.concatenate(observations(2, lengths))
    prior = 0.01 if kind == "diag" else 0.0  # hmmlearn adds the prior to all cells of a full matrix
    other = hmm.GaussianHMM(STATES, kind, n_iter=20, tol=-1, init_params="", covars_prior=prior)
    other.startprob_, other.transmat_, other.means_, other.covars_ = p.values()
    other.fit(X, lengths)
    model = fitted(np.split(X, [30, 80]), kind, p, max_iter=20, tol=0, covars_prior=prior)
    for one, two in zip(
        ("start_", "moves_", "means_", "covars_"), ("startprob_", "transmat_", "means_", "_covars_"), strict=True
    ):
        np.testing.assert_allclose(getattr(model, one), getattr(other, two), atol=1e-10)
    for name in ("score", "aic", "bic"):
        assert getattr(model, name)(X, lengths) == pytest.approx(getattr(other, name)(X, lengths))
    assert np.concatenate(model.predict(X, lengths)).tolist() == other.predict(X, lengths).tolist()


@KINDS
@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_the_objective_never_rises(kind, prior):
    """With the prior and pseudo-counts, and whatever is fixed."""
    sequences = observations(3, (40, 25))
    for fixed in ((), ("means",), ("start", "covars")):
        model = fitted(sequences, kind, max_iter=30, tol=0, covars_prior=prior, smoothing=prior, fixed=fixed)
        assert np.diff(model.history_).max() <= 1e-10
    plain = fitted(sequences, kind, max_iter=5, covars_prior=0.0)
    assert -plain.history_[-1] * 65 == pytest.approx(plain.score(sequences))


def planted(many=30, length=100, seed=0):
    p = {
        "start": [0.6, 0.4],
        "moves": [[0.9, 0.1], [0.2, 0.8]],
        "means": [[0.0, 0.0], [2.0, -1.0]],
        "covars": [[[1.0, 0.5], [0.5, 1.0]], [[0.5, -0.2], [-0.2, 0.5]]],
    }
    one = fitted([np.zeros((3, 2))], "full", p, fixed=tuple(p), max_iter=1)
    return p, one.sample(many, length=length, seed=seed)


@pytest.mark.filterwarnings("ignore:state . has")
def test_planted_parameters_are_found():
    """From k-means clusters and random means, up to the order of states; BIC prefers the planted number."""
    p, sequences = planted()
    assert [len(x) for x in sequences] == [100] * 30
    for init in ("best", "random"):
        model = fitted(sequences, "full", init=init, max_iter=40)
        order = np.argsort(model.means_[:, 0])
        np.testing.assert_allclose(model.means_[order], p["means"], atol=0.1)
        np.testing.assert_allclose(model.covars_[order], p["covars"], atol=0.1)
        np.testing.assert_allclose(model.moves_[np.ix_(order, order)], p["moves"], atol=0.05)
    few = sequences[:5]
    models = [HiddenMarkov(k, emissions="gaussian", covariance_type="full", max_iter=20).fit(few) for k in (1, 2, 3)]
    assert np.argmin([model.bic(few) for model in models]) == 1
    chosen = select(HiddenMarkov(1, emissions="gaussian", max_iter=5), sequences[:5], budget=0.1)
    assert chosen.states >= 2


@KINDS
def test_criteria_count_free_parameters(kind):
    """By hand, for two states and three numbers; the model is one point on its saved copy too."""
    sequences = observations(3, (20, 12))
    model = fitted(sequences, kind, max_iter=3)
    free = 1 + 2 + 6 + (6 if kind == "diag" else 12)
    assert model.aic(sequences) == pytest.approx(2 * free - 2 * model.score(sequences))
    assert model.bic(sequences) == pytest.approx(np.log(32) * free - 2 * model.score(sequences))
    held = fitted(sequences, kind, max_iter=3, fixed=["start", "covars"])
    assert held.aic(sequences) == pytest.approx(2 * (2 + 6) - 2 * held.score(sequences))
    symbols = HiddenMarkov(2, max_iter=3).fit(["abcab", "bca"])
    assert symbols.aic(["ab"]) == pytest.approx(2 * (1 + 2 + 4) - 2 * symbols.score(["ab"]))
    assert symbols.bic(["ab"]) == pytest.approx(np.log(2) * 7 - 2 * symbols.score(["ab"]))


def test_shapes_of_observations():
    """Numbers are vectors of length one; an array of rows is one sequence, or several with lengths."""
    x = observations(1, (9,))[0]
    one = fitted([x], max_iter=3)
    for same in (x, x[:, 0], x[:, 0].tolist(), pd.Series(x[:, 0]), [x[:, 0]], [x.tolist()], x[None]):
        assert (fitted(same, max_iter=3).means_ == one.means_).all()
    two = fitted([x[:4], x[4:]], max_iter=3)
    for same in (x, x[:, 0], x.tolist()):
        model = HiddenMarkov(STATES, emissions="gaussian", max_iter=3).fit(same, [4, 5])
        assert (model.moves_ == two.moves_).all()
    assert two.score([x, []]) == two.score([x])
    assert [part.shape for part in two.predict_proba([x, []])] == [(9, 2), (0, 2)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.1, 0.2], [0.3, float("nan")]], "sequence 2, place 2, number 1 is missing or not finite"),
        (np.array([[0.1, 1.0], [np.inf, 2.0]]), "sequence 1, place 2, number 1 is missing or not finite"),
        (np.ma.array([0.1, 0.2, 0.3], mask=[0, 1, 0]), "sequence 1, place 2, number 1 is missing"),
        ([0.1, None, 0.3], "sequence 1, place 2, number 1 is missing"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "sequence 2 must have 2 numbers in each observation; got 3"),
        ([["a", "b"]], "sequence 1 must contain numbers, or vectors of equally many numbers"),
        ([[[1.0], [1.0, 2.0]]], "sequence 1 must contain numbers, or vectors of equally many numbers"),
        ({"a": [1.0, 2.0]}, "sequences must be a list or array, in the order of the observations; got dict"),
        (pd.DataFrame({"a": [1.0, 2.0]}), "sequence 1 must be a list or array, .* got DataFrame"),
        (np.zeros((2, 2, 2, 2)), "sequence 1 must have one row per observation; got an array of shape"),
        ([], "at least one observation"),
        ([1.0], "2 states require at least as many observations; got 1"),
    ],
)
def test_bad_observations_are_named(values, message):
    """By place."""
    with pytest.raises(InputError, match=message):
        fitted(values)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"initial": {"means": [[0.0], [1.0], [2.0]]}},
            r"initial: means must have the shape \(2, 1\); got the shape \(3",
        ),
        ({"initial": {"start": [0.5, 0.6]}}, r"start must have the shape \(2,\) and rows that sum to 1"),
        ({"initial": {"start": [-0.5, 1.5]}}, r"start must have the shape \(2,\) and rows that sum to 1"),
        (
            {"initial": {"emissions": [[1.0]]}},
            "emissions='gaussian' has no parameter 'emissions'; .* start, moves, means",
        ),
        ({"initial": {"start": [1.0, 0.0], "moves": np.eye(2), "covars": [[-1.0], [1.0]]}}, "not positive definite"),
        ({"initial": {"means": "x"}}, "initial: means must be an array of numbers; got 'x'"),
        ({"fixed": ["emissions"]}, "emissions='gaussian' has no parameter 'emissions'"),
        ({"init": "spectral"}, "init='spectral' requires symbols; use init='clusters' or 'random'"),
    ],
)
def test_bad_parameters_are_named(how, message):
    with pytest.raises(InputError, match=message):
        HiddenMarkov(STATES, emissions="gaussian", **how).fit([0.1, 0.5, 0.2])


def test_given_symbol_probabilities():
    """Their columns are in the order of the given symbols; what is impossible is refused; the rest is uniform."""
    emissions = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    given = {"symbols": ["b", "a", "c"], "emissions": emissions}
    model = HiddenMarkov(2, initial=given, fixed=["emissions"], max_iter=3).fit(["abab", "bba"])
    assert model.symbols_ == ["b", "a", "c"]
    assert (model.emissions_ == emissions).all()
    held = HiddenMarkov(2, initial=given | {"start": [1, 0], "moves": np.eye(2)}, fixed=["emissions", "start", "moves"])
    assert held.fit(["ab"]).score(["ab"]) == pytest.approx(np.log(0.1 * 0.9))
    with pytest.raises(InputError, match="the initial parameters give a training sequence the probability 0"):
        held.fit(["ac"])
    with pytest.raises(InputError, match="has the symbol 'd'"):
        held.fit(["ad"])
    many = HiddenMarkov(4, init="random", initial={"moves": np.full((4, 4), 0.25)}, fixed=["moves"], max_iter=2)
    assert (many.fit(["ab"]).moves_ == 0.25).all()


def test_degenerate_covariances_are_told():
    """With their numbers; without a prior no density is left."""
    x = np.array([0.0, 0.1, 0.2, 0.1, 0.0, 0.2, 50.0])
    with pytest.warns(InputWarning, match=r"state . has 1 expected observations and the smallest variance 0.01;"):
        fitted(x)
    with pytest.raises(InputError, match="a covariance is not positive definite; use fewer states, or increase covars"):
        fitted(x, covars_prior=0.0)
    with pytest.warns(InputWarning, match="the smallest variance"):
        fitted(np.column_stack([np.arange(10.0), np.arange(10.0)]) * 1e6, "full")


def test_numbers_in_a_file(tmp_path):
    """One vector per line; the commands give what Python gives."""
    path, model = tmp_path / "a.csv", tmp_path / "model"
    sequences = planted(2, 40)[1]
    text = "\n\n".join("\n".join(",".join(map(repr, row)) for row in x.tolist()) for x in sequences)
    path.write_text("speed,turn\n" + text + "\n")
    train = ["hmm", "train", path, "--out", model, "--states", 2, "--emissions", "gaussian", "--force"]
    told = json.loads(invoke(*train, "--json").stdout)
    assert (told["sequences"], told["observations"]) == (2, 80)
    fit = HiddenMarkov(2, emissions="gaussian").fit(sequences)
    again = load(model)
    assert all((getattr(fit, name) == getattr(again, name)).all() for name in ("moves_", "means_", "covars_"))
    assert told["bic"] == pytest.approx(fit.bic(sequences), abs=0.01)
    scored = json.loads(invoke("hmm", "score", model, path, "--json").stdout)
    assert scored["log_likelihood"] == pytest.approx(fit.score(sequences))
    lines = invoke("hmm", "states", model, path).stdout.splitlines()
    assert lines == [" ".join(map(str, states.tolist())) for states in fit.predict(sequences)]
    shown = json.loads(invoke("hmm", "top", model, "--json").stdout)["states"]
    assert [state["mean"] for state in shown] == fit.means_.tolist()
    path.write_text(invoke("hmm", "sample", model, "--number", 3, "--max-length", 5).stdout)
    assert json.loads(invoke("hmm", "score", model, path, "--json").stdout)["observations"] == 15
    for text, message in (("1 2\n3\n", "line 2 must have 2 numbers; got 1"), ("1\nx\n", "line 2 must contain numbers")):
        path.write_text(text)
        assert message in " ".join(invoke(*train).output.split())
    assert "--ends requires --emissions symbols" in invoke(*train, "--ends").output

"""Reranking by one command: methods on planted lists, figures from counts, differences, the report."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.cao2014 import compared, protocol
from experiments.cao2014.groups import CandidateGroups
from experiments.cao2014.lists import Lists, crossed
from experiments.cao2014.tasks import TASKS
from polyadic import InputError
from polyadic.core.query_groups import QueryGroups

K = 6


def ranked(rng, w, sentences):
    """Give lists of which the candidate of the highest score by planted weights is right, and the first at random."""
    X = (rng.random((sentences * K, len(w))) < 0.2).astype(float)
    scores = (X @ w).reshape(-1, K)
    words = 10
    right = words - np.argsort(np.argsort(-scores, axis=1), axis=1)
    counts = np.stack([right.ravel(), np.full(right.size, words)], axis=1)
    return CandidateGroups(
        QueryGroups(csr_array(X), 1 - right.ravel() / words, np.arange(0, right.size + 1, K)), counts
    )


def lists(seed=0, sentences=(160, 60, 80)):
    rng = np.random.default_rng(seed)
    w = np.outer(rng.normal(size=8), rng.normal(size=8)).ravel()
    return Lists(*(ranked(rng, w, n) for n in sentences), [("feature", str(at)) for at in range(64)])


def small():
    return {"orders": [2], "ranks": [1, 2], "mappings": ["guided", "sequential"], "epochs": 4, "seed": 0}


def test_methods():
    """All do better than the proposer and worse than the oracle; what is kept says what was chosen."""
    data = lists()
    low, high = (baseline["test"] for baseline in compared.baselines([data]).values())
    names = []
    for method in compared.methods(**small()):
        found = compared.measured(method, data)
        names.append(found["name"])
        assert low + 0.05 < compared.share_of(found["test"]) <= high
        assert len(found["choice"]) == 80
        figure = compared.figure("", [data.test], [[found["choice"]]])
        assert figure.value == pytest.approx(compared.share_of(found["test"]))
        assert len(found["training"]) == len(found["held_out"]) >= found["epochs"]
    assert names == [
        *("perceptron", "MIRA", "T-MIRA 2 1 guided", "T-MIRA 2 2 guided", "T-MIRA 2 1 sequential"),
        *("T-MIRA 2 2 sequential", "perceptron printed", "MIRA printed", "T-MIRA 2 1 guided printed"),
        *("T-MIRA 2 2 guided printed", "T-MIRA 2 1 sequential printed", "T-MIRA 2 2 sequential printed"),
    ]


def test_figures_by_epoch_are_of_fits_of_as_many_epochs():
    """After each epoch the counts are those of a model that ends there, whatever was best on the development lists."""
    data = lists(sentences=(40, 20, 20))
    model = compared.methods(**small())[1].models[0]
    curves = compared.by_epoch(model, data)
    for epochs in (1, 3):
        fitted = model.set_params(max_iter=epochs).fit(data.train.groups)
        assert curves["train"][epochs - 1] == compared.sums(data.train, fitted.rerank(data.train.groups))
        assert curves["test"][epochs - 1] == compared.sums(data.test, fitted.rerank(data.test.groups))


def test_figures_of_counts():
    """F of summed brackets; attachment of summed words; of several runs, both from sums over all."""
    assert compared.share_of([3, 4, 5, 9, 10]) == pytest.approx(2 * 3 / 9)
    assert compared.share_of([7, 9]) == pytest.approx(7 / 9)
    data = lists()
    first, second = [0] * 80, [1] * 80
    both = compared.figure("", [data.test], [[first, second]]).value
    one, other = (compared.figure("", [data.test], [[choice]]).value for choice in (first, second))
    assert both == pytest.approx((one + other) / 2)  # the same words in all


def test_each_sentence_is_judged_with_once():
    """Folds are no sentence twice, their figures add up to that of all, and what they learn from is the rest."""
    data = lists(sentences=(33, 12, 15))
    folds = [crossed(data, 3, fold) for fold in range(3)]
    costs = [[part.groups.costs for part in (fold.train, fold.dev, fold.test)] for fold in folds]
    for fold, (train, dev, test) in zip(folds, costs, strict=True):
        assert len(train) + len(dev) + len(test) == 60 * K
        assert fold.names == data.names
    whole = np.concatenate([part.groups.features.toarray() for part in data[:3]])
    judged = np.concatenate([fold.test.groups.features.toarray() for fold in folds])
    assert sorted(map(tuple, judged)) == sorted(map(tuple, whole))
    every = compared.figure("", [fold.test for fold in folds], [[[0] * len(fold.test.groups)] for fold in folds])
    assert every.value == pytest.approx(compared.baselines(folds)["one best"]["test"])
    assert every.used == 60
    assert crossed(data, 1, 0) is data
    with pytest.raises(InputError, match="folds must be a whole number of at least 3; got 2"):
        crossed(data, 2, 0)


def test_spectra():
    """Weights in guided cells are nearer to rank one than in sequence; values are of a matrix of unit norm."""
    found = compared.spectra(lists(), mappings=("guided", "sequential"), seed=0)
    assert found["guided"][0] > found["sequential"][0]
    assert np.sum(np.square(found["guided"])) == pytest.approx(1)


def penn(out, *options):
    """Run the experiment on planted lists, and return its results."""
    small = ["--tasks", "penn", "--orders", "2", "--ranks", "1", "--epochs", "2", "--json"]
    told = CliRunner().invoke(app, ["cao2014", "--out", str(out), *small, *options])
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)["penn"]


def test_differences_are_of_the_methods_chosen_on_development_lists(tmp_path, monkeypatch):
    """The difference is that of the mean figures over seeds; T-MIRA is the best of its kinds by seed."""
    monkeypatch.setitem(TASKS, "penn", lambda **_: (lists(sentences=(30, 12, 12)), {"features": 64}))
    facts = penn(tmp_path, "--shares", "0.5,1", "--seeds", "2", "--arms", "ours,printed")
    rows = facts["rows"]
    assert len(rows) == (2 + 1) * 8
    assert {line["name"] for line in facts["epochs"] if "test_gap" in line} == {
        *("T-MIRA 2 1 guided", "T-MIRA 2 1 guided printed")
    }
    gap = next(one for one in facts["differences"] if (one["share"], one["other"]) == (0.5, "MIRA"))
    mira = np.mean([row["figure"] for row in rows if (row["name"], row["share"]) == ("MIRA", 0.5)])
    best = [
        max(
            (
                row
                for row in rows
                if (row["seed"], row["share"], row["arm"]) == (seed, 0.5, "ours") and "T-MIRA" in row["name"]
            ),
            key=lambda row: row["held_out_figure"],
        )["figure"]
        for seed in (0, 1)
    ]
    assert gap["value"] == pytest.approx(np.mean(best) - mira)
    assert gap["low"] <= gap["value"] <= gap["high"]


def test_folds_of_all_lists(tmp_path, monkeypatch):
    """Every method is judged with all sentences, and tables are of what all folds add up to."""
    monkeypatch.setitem(TASKS, "penn", lambda **_: (lists(sentences=(30, 12, 12)), {"features": 64}))
    facts = penn(
        tmp_path / "out", "--shares", "0.5,1", "--mappings", "guided", "--folds", "3", "--seeds", "1", "--arms", "ours"
    )
    assert len(facts["rows"]) == 3 * 2 * 3
    gap = next(row for row in facts["differences"] if (row["share"], row["other"]) == (1, "MIRA"))
    sums = {
        name: np.sum([row["test"] for row in facts["rows"] if (row["name"], row["share"]) == (name, 1)], axis=0)
        for name in ("MIRA", "perceptron")
    }
    assert sums["MIRA"][1] == 54 * 10
    assert gap["low"] <= gap["value"] <= gap["high"]
    text = (tmp_path / "out" / "report.md").read_text()
    assert f"| {compared.share_of(sums['perceptron']):.3f}".replace("0.", ".") in text


@pytest.mark.slow
def test_other_lists_are_learned_from_anew(tmp_path, monkeypatch):
    """Where lists are replaced, nothing that was learned from the earlier ones is kept, though its seed be the same."""
    monkeypatch.setitem(TASKS, "penn", lambda *, seed, **_: (lists(seed), {"features": 64}))

    def figures(out, *options):
        return {(row["name"], row["seed"]): row["figure"] for row in penn(out, "--shares", "1", *options)["rows"]}

    figures(tmp_path / "one", "--seeds", "2")
    again = figures(tmp_path / "one", "--seeds", "1", "--seed", "1", "--force")
    assert again == figures(tmp_path / "two", "--seeds", "1", "--seed", "1")


def test_arms_are_compared_each_by_itself():
    """Orders and ranks of one arm are compared with those of the same arm, and single choices with what they change."""
    pairs = [*protocol._pairs(protocol.Settings(orders=(2, 3), ranks=(1, 2)))]
    assert ({"arm": "printed", "kind": "T-MIRA", "order": 2}, {"arm": "printed", "kind": "T-MIRA", "order": 3}) in pairs
    named = [tuple(map(protocol._called, pair)) for pair in pairs]
    assert ("MIRA printed", "perceptron printed") in named
    assert ("averaged", "T-MIRA order 2 rank 2 guided printed") in named
    assert ("init equal", "T-MIRA order 2 rank 2 guided") in named
    rows = [{"seed": 0, "arm": arm, "order": 2, "held_out_figure": 0.5, "choice": [arm]} for arm in ("ours", "printed")]
    assert protocol._chosen(rows, {"arm": "printed", "order": 2}) == [["printed"]]
    assert protocol._chosen(rows, {"arm": "printed", "order": 3}) == []

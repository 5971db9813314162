"""Settings that data choose: the walk, one standard error, time, Ctrl-C, and each family that has a search."""

import itertools
import math
from dataclasses import KW_ONLY

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import (
    HiddenMarkov,
    ImplicitFactorization,
    KnowledgeTensor,
    LogisticFactorization,
    LowRankTasks,
    MatchboxFactorization,
    MatrixFactorization,
    PairwiseRanking,
    TextClassifier,
    TextTopics,
    load,
)
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Model, Natural
from polyadic.core.selection import SearchSpace, held_out_share, select
from polyadic.relations.facts import facts_of, held_out_facts


class Bowl(Model):
    """A model whose loss is known: a bowl over its settings, with noise by unit."""

    size: Natural = 3
    _: KW_ONLY
    weight: Amount = 8.0
    fault: str = "none"

    def fit(self, X):
        """Learn nothing."""
        self.check()
        self.learned_ = list(X)
        return self

    def search(self, X, *, seed=0):
        """Take the losses from X: the best size and weight, the noise, and a journal of fits."""
        best, weight, noise, journal = X
        rows = np.random.default_rng(seed).standard_normal((40, 50))

        def fit(model):
            journal.append((model.size, model.weight))
            if model.fault == "stop" and len(journal) == 3:
                raise KeyboardInterrupt
            return model.fit([best])

        def losses(model):
            if model.fault == "nan" and model.weight != 8:
                return np.full(50, np.nan)
            mean = (model.size - best) ** 2 + math.log2(model.weight / weight) ** 2
            return mean + noise * rows[model.size + int(math.log2(model.weight))]

        return SearchSpace(
            values={"weight": (32.0, 16.0, 8.0, 4.0, 2.0, 1.0), "size": range(20)},
            fit=fit,
            last=lambda model: model.fit(X),
            losses=losses,
            units="cases",
            measure="loss",
            size="size",
        )


@given(st.integers(0, 19), st.sampled_from([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), st.integers(0, 19))
def test_the_bottom_of_a_bowl_is_found(size, weight, start):
    """From anywhere, with each place tried once, and few of them all."""
    journal = []
    model = select(Bowl(start), (size, weight, 0.0, journal))
    assert (model.size, model.weight) == (size, weight)
    assert len(set(journal)) == len(journal) == len(model.selection_.trials) <= 6 + 20 + 4
    assert model.selection_.complete
    assert model.selection_.settings == {"weight": weight, "size": size}
    assert model.learned_[0] == size  # fitted anew, to everything


def test_of_models_alike_the_smallest_is_taken():
    """Within one standard error of the difference, unit by unit; without noise nothing is alike."""
    exact = select(Bowl(3), (4, 8.0, 0.0, []))
    noisy = select(Bowl(3), (4, 8.0, 30.0, []))
    trials = noisy.selection_.trials
    assert exact.size == 4
    assert noisy.size == min(trial.settings["size"] for trial in trials)
    assert noisy.selection_.trials[noisy.selection_.best].settings == noisy.selection_.settings


def test_what_is_kept_is_not_tried():
    """Settings to keep stay, and a value of the model that is not listed is one more; none left is a plain fit."""
    journal = []
    model = select(Bowl(7, weight=5.0), (3, 4.0, 0.0, journal), keep=["size"])
    assert {size for size, _ in journal} == {7}
    assert journal[0] == (7, 5.0)
    assert model.weight == 4.0
    plain = select(Bowl(7), (3, 4.0, 0.0, journal), keep=["size", "weight"])
    assert (plain.size, hasattr(plain, "selection_")) == (7, False)
    with pytest.raises(InputError, match="rank is not a setting of Bowl"):
        select(Bowl(), (3, 4.0, 0.0, []), keep=["rank"])
    with pytest.raises(InputError, match="budget"):
        select(Bowl(), (3, 4.0, 0.0, []), budget=-1)


def test_time_that_is_up_ends_the_walk():
    """The first is always tried."""
    model = select(Bowl(9), (3, 1.0, 0.0, []), budget=0)
    assert (len(model.selection_.trials), model.selection_.complete, model.size) == (1, False, 9)
    assert "stopped early" in str(model.selection_)


def test_ctrl_c_gives_the_best_so_far():
    """It has not learned from everything, and says so; before the first fit there is nothing to give."""
    model = select(Bowl(9, fault="stop"), (3, 8.0, 0.0, []))
    assert (model.interrupted_, len(model.selection_.trials), len(model.learned_)) == (True, 2, 1)
    with pytest.raises(KeyboardInterrupt):
        select(Bowl(9, fault="stop"), (3, 8.0, 0.0, [None, None]))


def test_losses_that_are_no_numbers_are_the_worst():
    """A fit that diverged is not chosen."""
    model = select(Bowl(9, fault="nan"), (9, 1.0, 0.0, []))
    assert model.weight == 8
    assert math.isinf(max(trial.loss for trial in model.selection_.trials))


def test_models_without_a_search_say_so():
    """In one sentence."""
    with pytest.raises(InputError, match="Unchosen has no settings"):
        select(Unchosen(), None)


class Unchosen(Model):
    """A model that leaves nothing to choose."""

    size: Natural = 1


# ---- families


def ratings(rank, noise, *, share=0.35):
    """Factors with biases and noise, a part of the cells known."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 1)) + 2 * rng.standard_normal((80, rank)) @ rng.standard_normal((rank, 60))
    x += noise * rng.standard_normal(x.shape)
    return np.where(rng.random(x.shape) < share, x, np.nan)


def crowds():
    """People who like most things of their own kind, of four."""
    rng = np.random.default_rng(0)
    return (rng.random((80, 60)) < np.where(np.arange(80)[:, None] % 4 == np.arange(60) % 4, 0.5, 0.02)).astype(float)


def kin():
    """Facts of families: who is whose parent, child, sibling."""
    facts = []
    for family in range(12):
        old, *young = (f"{family}-{k}" for k in range(5))
        for a in young:
            facts += [(old, "parent", a), (a, "child", old)]
        facts += [(a, "sibling", b) for a, b in itertools.permutations(young, 2)]
    return facts_of(facts)


def strings():
    """Walks of three hidden states that each prefer two of six letters."""
    rng = np.random.default_rng(0)
    states = (rng.integers(3, size=(60, 1)) + np.cumsum(rng.random((60, 15)) < 0.3, axis=1)) % 3
    return (2 * states + (rng.random(states.shape) < 0.4)).tolist()


def marks():
    """Rows of features, and marks of which half are known: all go along one direction."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 8))
    Y = np.outer(X @ rng.standard_normal(8), rng.standard_normal(6)) + rng.standard_normal((90, 6))
    return X, np.where(rng.random(Y.shape) < 0.5, Y, np.nan)


def letters():
    """Documents of three topics, each with words of its own."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice([*word], 20)) for word in ("bcdf", "ghjk", "lmnp") * 20]


MARKS = marks()
FAMILIES = {
    "ratings": (MatrixFactorization(seed=0, threads=1, max_iter=20), lambda: ratings(2, 0.5), {}),
    "stars": (MatchboxFactorization(seed=0, max_iter=20), lambda: np.round(np.clip(ratings(2, 0.5), -2, 2)), {}),
    "counts": (ImplicitFactorization(seed=0, threads=1), crowds, {}),
    "strings": (HiddenMarkov(5, seed=0, max_iter=30), strings, {}),
    "pairs": (PairwiseRanking(seed=0, max_iter=20), crowds, {}),
    "labels of cells": (LogisticFactorization(4, n_negatives=2, seed=0, threads=1, max_iter=10, tol=0), crowds, {}),
    "truth values": (LogisticFactorization(4, seed=0, threads=1, max_iter=10, tol=0), crowds, {}),
    "marks": (LowRankTasks(4), lambda: MARKS[0], {"y": MARKS[1]}),
    "topics": (TextTopics(n_components=3, min_count=1, stop_words=None, seed=0, threads=1), letters, {}),
    "classes": (TextClassifier(C=1.0, language="en"), letters, {"y": [0, 1, 2] * 20}),
    "facts": (KnowledgeTensor(25, seed=0, threads=1, max_iter=10), kin, {}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_chooses(family, tmp_path):
    """No worse than by default where it was judged; the same again; and saved with all that was tried."""
    model, data, parts = FAMILIES[family]
    first, again = (select(model, data(), **parts) for _ in range(2))
    choice = first.selection_
    assert choice.trials[choice.best].loss <= choice.trials[0].loss
    assert choice.settings == {name: getattr(first, name) for name in choice.settings}
    first.save(tmp_path / "one")
    again.save(tmp_path / "two")
    files = [sorted((tmp_path / name).iterdir()) for name in ("one", "two")]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    assert str(load(tmp_path / "one").selection_).split(" (")[0] == str(choice).split(" (")[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("negatives", [0, 2])
def test_zeros_that_are_listed_are_learned(negatives):
    """What is given back is a fit to everything, with zeros that are drawn beside those listed, or without."""
    x = np.where(np.random.default_rng(1).random((80, 60)) < 0.3, crowds(), np.nan)
    model = LogisticFactorization(4, n_negatives=negatives, seed=0, threads=1, max_iter=5, tol=0)
    best = select(model, x, keep=["rank"])
    again = LogisticFactorization(**best.get_params()).fit(x)
    np.testing.assert_array_equal(best.row_factors_, again.row_factors_)


@pytest.mark.filterwarnings("ignore")
def test_what_is_chosen_is_near_the_best_there_is():
    """Cells never seen are predicted about as well as by the planted rank with the ridge that is best for them."""
    truth, known = ratings(2, 1.0, share=1.0), ratings(2, 1.0)
    i, j = np.nonzero(np.isnan(known))

    def error(model):
        return np.sqrt(np.mean((model.predict(i, j) - truth[i, j]) ** 2))

    best = min(
        error(MatrixFactorization(2, ridge=r, bias_ridge=1, seed=0).fit(known)) for r in (0.1, 0.2, 0.5, 1, 2, 4)
    )
    for start in (1, 10):
        model = select(MatrixFactorization(start, seed=0, threads=1), known)
        assert error(model) < 1.1 * best
        assert error(MatrixFactorization(start, seed=0, threads=1).fit(known)) > 1.2 * best


@pytest.mark.filterwarnings("ignore")
def test_what_a_model_refuses_is_not_chosen():
    """Pairs of symbols allow no ten states here: fewer are found; and if nothing else may be tried, it is told."""
    markov = HiddenMarkov(6, init="spectral", seed=0, max_iter=5)
    model = select(markov, ["abcabcabc", "bcabca", "cabcab"] * 9 + ["def"])
    assert model.states < 6
    assert any(math.isinf(trial.loss) for trial in model.selection_.trials)
    with pytest.raises(InputError, match="got 6"):
        select(markov, ["abcabcabc", "bcabca"] * 9, budget=0)
    assert model.unknown == "raise"


@given(st.integers(0, 99), st.integers(5, 60))
def test_facts_held_out_leave_others(seed, number):
    """All entities and relations that have facts keep one."""
    rng = np.random.default_rng(seed)
    triples = np.unique(rng.integers(0, [8, 3, 8], (number, 3)), axis=0)
    try:
        out = held_out_facts(triples, 0.3, seed=seed)
    except InputError:
        return
    assert 0 < out.sum() <= round(0.3 * len(triples))
    for columns in ([0, 2], [1]):
        assert {*triples[~out][:, columns].ravel().tolist()} == {*triples[:, columns].ravel().tolist()}


def test_facts_given_to_judge_by_are_not_learned():
    """Nothing is held out, and nothing fitted anew."""
    facts = kin()
    out = held_out_facts(facts.triples, 0.2)
    part, judged = facts.triples[~out], facts.triples[out]
    model = select(KnowledgeTensor(8, seed=0, threads=1, max_iter=5), part, validation=judged, keep=["rank"])
    assert len(model.facts_) == len(part)
    assert model.selection_.number == len(judged)
    assert model.result_.measured


def test_shares_that_are_held_out():
    """A tenth, or as many units as help."""
    assert (held_out_share(5000), held_out_share(2_000_000)) == (0.1, 0.05)

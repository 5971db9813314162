"""Planted filters and sentences from scratch: the published comparison, its readers and its parts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from experiments import data
from experiments.data.sentences import Compared, Labelled
from experiments.huang2017 import dimensions, labelled, paired, printed, protocol, synthetic
from experiments.huang2017.choosing import CLASSES, SCORES, Rule, choose
from experiments.huang2017.encoders import Grid, encoders
from experiments.huang2017.tables import figures
from polyadic import InputError
from polyadic.embedding import Embedding
from polyadic.metrics.figures import correlation

GOOD, BAD = ["good", "fine", "great", "lovely"], ["bad", "poor", "awful", "dull"]
FRAME = ["the", "film", "is", "a", "very", "story", "with", "actors", "and", "music"]
TINY = Grid(words=("ppmi-svd",), ranks=(2, 4), filters=((1, 3),), a=(1e-2,), min_count=1, starts=1)


def sentences(n, seed=0):
    """Sentences of praise and blame in a common frame."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(n):
        words = [*rng.choice(FRAME, 4), *rng.choice(GOOD if k % 2 else BAD, 2), *rng.choice(FRAME, 2)]
        made.append(Labelled([str(word) for word in words], k % 2))
    return made


def pairs(n, seed=0):
    """Pairs of which half say nearly the same."""
    rng = np.random.default_rng(seed)
    some = [" ".join(one.words) for one in sentences(2 * n, seed)]
    return [
        Compared(some[k], " ".join(rng.permutation(some[k].split())[:7]) if k % 2 else some[n + k], float(k % 2))
        for k in range(n)
    ]


# ---- planted filters


def test_filters_are_compared_over_shifts_order_and_sign():
    """Filters in another order, shifted and with another sign are the same filters; others are not."""
    f = synthetic.planted(3, 5, 0).filters
    moved = np.stack([np.roll(f[2], 3), -np.roll(f[0], 7), f[1]])
    assert synthetic.filter_error(moved, f) == pytest.approx(0, abs=1e-12)
    assert synthetic.filter_error(synthetic.planted(3, 5, 1).filters, f) > 0.1


def test_samples_are_convolutions():
    """Signals are sums of filters at places of the first half, the same for the same seed, in any number of blocks."""
    problem = synthetic.planted(1, 4, 0)
    x = np.concatenate(list(problem.samples(30)))
    w = np.linalg.lstsq(np.stack([np.roll(problem.filters[0], p) for p in range(4)], axis=1), x.T, rcond=None)[0]
    np.testing.assert_allclose(w, np.round(w), atol=1e-8)
    assert w.min() > -1e-8
    np.testing.assert_array_equal(x, np.concatenate(list(problem.samples(30))))


def test_cumulants_find_what_alternation_does_not():
    """With samples the error of cumulants falls; alternating steps explain the signals with other filters."""
    problem = synthetic.planted(2, 6, 0)
    few, many = (synthetic.by_cumulants(problem, number, starts=5)["error"] for number in (1_000, 50_000))
    assert many < few / 5 < 0.02
    found = synthetic.by_alternation(problem, 1_000, sweeps=200)
    left = [point["unexplained"] for point in found["curve"]]
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(left))
    assert left[-1] < 0.05
    assert found["error"] > 5 * few


@pytest.mark.slow
def test_recovery_is_a_share():
    """Where our method finds every case the authors' finds few; shares are of the cases."""
    case = synthetic.CASES[0]
    ours, theirs = (
        synthetic.recovery(case, method, starts=1, tries=3, seed=0)
        for method in ("joint, singular vector", "one by one, averaging")
    )
    assert ours == 1
    assert theirs in {0, 1 / 3}


def slow_mode(C, g, h):
    """Algorithm 4 for one tensor with dense matrices, step by step as printed; steps 12 and theorem A.1."""
    L, n = g.shape
    U = np.exp(2j * np.pi * np.outer(range(n), range(n)) / n) / np.sqrt(n)
    cir = [[np.array([[f[(i - j) % n] for j in range(n)] for i in range(n)]) for f in x] for x in (g, h)]
    G, H = (np.hstack(x) for x in cir)
    psi = np.zeros((L * n, L * n), complex)
    for j in range(L):
        for k in range(L):
            diagonal = np.conj(np.fft.fft(g[j]) * np.fft.fft(h[j])) * np.fft.fft(g[k]) * np.fft.fft(h[k])
            psi[j * n : (j + 1) * n, k * n : (k + 1) * n] = np.diag(diagonal)
    every = np.kron(np.eye(L), U)
    rows = np.stack([np.diag(H.T @ C[m] @ G) for m in range(n)])
    M = (rows @ every @ np.linalg.pinv(psi, rcond=1e-10) @ every.conj().T).real
    f = np.zeros((L, n))
    for k in range(L):
        block = M[:, k * n : (k + 1) * n]
        for p in range(n):
            inside = [(i, j) for i in range(n) for j in range(n) if (i - j) % n == p]
            f[k, p] = sum(block[i, j] / np.linalg.norm(block[:, j]) for i, j in inside) / len(inside)
    return f


def test_the_printed_update_is_the_printed_one():
    """With the product of spectra as Psi and theorem A.1 it is that of dense matrices; step 12 makes constants."""
    rng = np.random.default_rng(0)
    x, (g, h) = rng.standard_normal((5, 20)), rng.standard_normal((2, 2, 5))
    C = np.einsum("ai,bi,ci->abc", x, x, x)  # symmetric, as a cumulant is
    f, _ = printed.one_mode(C[None], g[None], h[None], printed.Variant("printed", "theorem A.1"))
    np.testing.assert_allclose(f[0], slow_mode(C, g, h), atol=1e-7)
    f, _ = printed.one_mode(C[None], g[None], h[None], printed.Variant())
    np.testing.assert_array_equal(f, 1)


def test_what_is_corrected_makes_the_difference():
    """Corrected, one planted filter is found and its tensor explained; as printed it is not."""
    C, f = synthetic.planted_tensor(synthetic.Case(6, 1, True, False), 0)
    rng = np.random.default_rng(0)
    errors = {
        v: synthetic.filter_error(printed.decompose(C, 1, v, sweeps=60, rng=rng)[0][0], f) for v in printed.VARIANTS
    }
    assert errors[printed.Variant("corrected", "singular vector")] < 1e-3 < errors[printed.Variant()]


def test_sentence_vectors_are_those_of_algorithm_2():
    """Hand-worked: a template (1, 0) of an indicator; its pseudo-inverse leaves signals as they are."""
    words = Embedding(["a", "b"], np.eye(2, dtype=np.float32))
    found = printed.embeddings(np.array([[[1.0, 0.0]], [[2.0, 0.0]]]), words, [["a", "b", "a"], ["b"], []], 2)
    np.testing.assert_allclose(found, [[[1, 1], [0.5, 0]], [[0, 0], [0.5, 0]], [[0, 0], [0, 0]]], atol=1e-6)


def test_both_methods_have_equal_starts():
    """More starts explain more; both keep the start that explains most; times are of all starts."""
    problem = synthetic.planted(2, 4, 0)
    for method in (synthetic.by_alternation, synthetic.by_sweep):
        one, three = (method(problem, 300, sweeps=20, starts=starts) for starts in (1, 3))
        assert three["unexplained"] <= one["unexplained"]
        assert [point["sweep"] for point in one["curve"]] == [1, 2, 4, 8, 16, 20]
    errors = synthetic.fourth_order(1, 4, samples=20_000, starts=2, seed=0)
    assert errors["4"] < 0.02


# ---- choosing


def test_the_better_candidate_is_chosen():
    """Of noise and of what predicts, the latter; its score is that of the cases left out."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    told, noise = y[:, None] + 0.3 * rng.standard_normal((200, 1)), rng.standard_normal((200, 5))
    splits = labelled.folds(y, 4, 0)
    found = choose([({"x": "noise"}, noise), ({"x": "told"}, told)], lambda X: X, y, CLASSES, splits)
    assert found.settings["x"] == "told"
    assert found.candidate is told
    assert 0.9 < found.score <= 1
    alone = choose([({}, noise)], lambda X: X, y, CLASSES, splits)
    assert alone.score < 0.65


def test_choosing_never_sees_what_is_scored():
    """Estimators are fitted to the first part of each split only, and scored on the second."""
    seen = []

    class Spy:
        def fit(self, X, y):
            seen.append(("fit", X[:, 0].tolist()))
            return self

        def predict(self, X):
            seen.append(("predict", X[:, 0].tolist()))
            return np.zeros(len(X))

    rule = Rule(lambda _: Spy(), (1.0,), lambda y, p: float((y == p).mean()), scaled=False)
    y, X = np.zeros(6), np.arange(6.0)[:, None]
    choose([({}, X)], lambda X: X, y, rule, [(np.arange(4), np.arange(4, 6))])
    assert seen == [("fit", [0.0, 1.0, 2.0, 3.0]), ("predict", [4.0, 5.0])]


def test_few_coordinates_are_the_first_columns():
    """Vectors of a lower rank are those of a model of that rank, in each segment."""
    texts = [case.words for case in sentences(80)]
    kinds = encoders(texts, TINY, 0)
    for candidate in kinds["convolutional"]():
        if candidate.settings.get("segments") == 2:
            found = candidate.encode(texts[:5])
            assert found.shape == (5, candidate.settings["rank"] * 2 * 2)
            if candidate.settings["rank"] == 2:
                narrow = found
    np.testing.assert_allclose(found.reshape(5, 2, 4, 2)[:, :, :2], narrow.reshape(5, 2, 2, 2))


# ---- methods


@pytest.mark.slow
def test_labels_are_told_by_what_tells_them():
    """Every method classifies unseen sentences; naive Bayes features tell these words apart without fault."""
    cases = sentences(160)
    split = labelled.folds(np.array([case.label for case in cases]), 4, 0)[0]
    found = labelled.evaluate(cases, split, TINY, 0)
    assert {"convolutional", "mean of words", "SIF", "NB-SVM", "NB features, convolutional"} <= set(found)
    assert all(len(line["right"]) == len(split[1]) for line in found.values())
    assert np.mean(found["NB features"]["right"]) > 0.95
    assert np.mean(found["mean of words"]["right"]) > 0.75


@pytest.mark.slow
def test_pairs_are_told_by_words_in_common():
    """Pairs of the same words are told from others; scores are correlated with what is predicted."""
    train, test = pairs(120), pairs(60, seed=1)
    one = {"strengths": (0.01,)}
    found = paired.evaluate(train, {"test": test}, CLASSES._replace(**one), TINY, 0)
    gold = [pair.score for pair in test]
    assert np.mean(np.array(found["words in common"]["predicted"]["test"]) == gold) > 0.9
    assert all(np.abs(line["cosine"]["test"]).max() <= 1.001 for line in found.values() if "cosine" in line)
    scored = paired.evaluate(train, {"test": test}, SCORES._replace(**one), TINY, 0)
    assert np.corrcoef(scored["words in common"]["predicted"]["test"], gold)[0, 1] > 0.8


def test_words_in_common_count_both_ways():
    """Shares of different words of either sentence, the smaller first; none where a sentence is empty."""
    found = paired.common(
        [Compared("a b c d", "a b x", 1.0), Compared("a b x", "a b c d", 1.0), Compared("", "a", 0.0)]
    )
    np.testing.assert_allclose(found, [[1 / 2, 2 / 3, 1], [1 / 2, 2 / 3, 1], [0, 0, 1]])


@pytest.mark.slow
def test_dimensions_are_chosen_on_training_data():
    """Every method has a number of components of those given, and a held-out accuracy for each."""
    cases = sentences(120)
    split = labelled.folds(np.array([case.label for case in cases]), 3, 0)[0]
    found = {}
    for kind in dimensions.KINDS:
        found |= dimensions.evaluate(kind, cases, split, ranks=(2, 4), seed=0)
    assert set(found["as printed"]["held_out"]) == {2, 4}
    assert all(line["settings"]["rank"] in {2, 4} for line in found.values() if "held_out" in line)
    assert all(len(line["right"]) == 40 for line in found.values())


# ---- figures


def test_correlation_is_pearsons_of_copies():
    """Weights are copies of rows; constant sides have no correlation."""
    rng = np.random.default_rng(0)
    rows, times = rng.standard_normal((20, 2)), rng.integers(0, 4, (5, 20))
    expected = [np.corrcoef(np.repeat(rows, counts, axis=0).T)[0, 1] for counts in times]
    np.testing.assert_allclose(correlation(rows, times), expected)
    assert np.isnan(correlation(np.column_stack([np.full(4, 0.1), np.arange(4)]), np.ones((1, 4), int))).all()


def test_paraphrases_have_accuracy_and_f():
    """Hand-worked: two of three right, one true positive, one false; always yes is added."""
    found = {
        "gold": {"msrp": [1, 0, 0]},
        "methods": {"mean of words": {"predicted": {"msrp": [1, 1, 0]}, "settings": {}}},
    }
    lines = {line["name"]: line for line in figures("msrp", found)}
    assert lines["mean of words"]["value"] == pytest.approx(2 / 3)
    assert lines["mean of words"]["F"] == pytest.approx(2 / 3)
    assert lines["always yes"]["F"] == pytest.approx(0.5)


def test_folds_of_a_set_count_together():
    """Predictions of folds are put together before they are correlated, and kept apart from those of the whole set."""
    rng = np.random.default_rng(0)

    def stage(n):
        gold = rng.random(n)
        guess = gold + 0.1 * rng.standard_normal(n)
        part = {"predicted": {"surprise.OnWN": guess.tolist()}, "settings": {}}
        return {"gold": {"surprise.OnWN": gold.tolist()}, "methods": {"mean of words": part}}

    lines = figures("sts2012", {"all": stage(750), "0": stage(40), "1": stage(35)})
    assert [line["set"] for line in lines] == ["surprise.OnWN", "surprise.OnWN, ten folds"]
    assert all(0.9 < line["value"] < 1 for line in lines)


# ---- the run


def planted(monkeypatch):
    """Replace the sets by small ones of the same kind, and choose from little."""
    own = protocol.OWN[:2]
    sets = {"train": ("MSRpar", "MSRvid"), "test": ("MSRpar", "MSRvid", *own)}

    def sts2012(part, root):
        assert root is None
        return {name: pairs(20, seed=len(name)) for name in sets[part]}

    monkeypatch.setattr(data, "labelled_sentences", lambda name, root: sentences(30, seed=len(name + str(root))))
    monkeypatch.setattr(data, "paraphrases", lambda part, root: pairs(20, seed=len(part + str(root))))
    monkeypatch.setattr(data, "sts2012", sts2012)
    monkeypatch.setattr(synthetic, "CASES", synthetic.CASES[:1])
    monkeypatch.setattr(protocol, "FEW", 100)
    monkeypatch.setattr(protocol, "STARTS", 2)
    monkeypatch.setattr(protocol, "OWN", own)
    for name in ("CLASSES", "SCORES"):
        monkeypatch.setattr(protocol, name, getattr(protocol, name)._replace(strengths=(0.01,)))
    few = {"grid": replace(TINY, ranks=(2,)), "samples": (500,), "filters": (1,), "tries": 1, "sweeps": 4}
    few["dimensions"] = (2, 4)
    made = protocol.Settings.given
    monkeypatch.setattr(protocol.Settings, "given", classmethod(lambda _, options: made({**few, **options})))


# ---- readers


@pytest.mark.realdata
def test_sets_have_their_published_sizes(realdata):
    """Sentences, labels and scores are as published."""
    mr = data.labelled_sentences("mr", root=realdata)
    assert len(mr) == 10_662
    assert sum(case.label for case in mr) == 5_331
    assert any("direção" in case.words for case in mr)
    train = data.paraphrases("train", root=realdata)
    assert sum(pair.score for pair in train) == 2_753
    assert train[0].left.startswith("Amrozi accused his brother")
    sets = data.sts2012("test", root=realdata)
    assert {name: len(part) for name, part in sets.items()} == data.STS2012["test"]
    assert min(pair.score for part in sets.values() for pair in part) == 0


def test_readers_refuse(tmp_path, monkeypatch):
    """Damaged files are named with the line and what was expected."""
    folder = tmp_path / "sentences"
    (folder / "mr").mkdir(parents=True)
    (folder / "mr" / "rt-polarity.neg").write_text("one line\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected 5,331 sentences, as published; found 1"):
        data.labelled_sentences("mr", root=tmp_path)
    with pytest.raises(InputError, match="name must be"):
        data.labelled_sentences("sst", root=tmp_path)
    (folder / "msrp").mkdir()
    (folder / "msrp" / "msr_paraphrase_test.txt").write_text("heading\n2\t1\t2\ta\tb\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: expected 0 or 1"):
        data.paraphrases("test", root=tmp_path)
    sts = folder / "sts2012" / "STS2012-train"
    sts.mkdir(parents=True)
    (sts / "STS.input.MSRpar.txt").write_text("a\tb\n", encoding="utf-8")
    for mark in ("5.5", "nan", "high"):
        (sts / "STS.gs.MSRpar.txt").write_text(f"{mark}\n", encoding="utf-8")
        with pytest.raises(InputError, match="expected a score from 0 to 5"):
            data.sts2012("train", root=tmp_path)
    (sts / "STS.input.MSRpar.txt").write_text("a b\n", encoding="utf-8")
    with pytest.raises(InputError, match="two sentences with a tab"):
        data.sts2012("train", root=tmp_path)

"""Laws of supervised analogy recovery, and of figures over questions that share word pairs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.datasets import analogy_questions
from polyadic.embedding import Embedding
from polyadic.metrics.analogies import analogies, kind_of, pair_figure, pairs_of
from polyadic.metrics.figures import Figure, difference
from polyadic.metrics.recovery import (
    FOLDS,
    PENALTIES,
    _divide,
    _leave_one_out,
    _leave_pairs_out,
    _ridge,
    _train,
    recovery,
)

seeds = st.integers(0, 2**32 - 1)


def combined(pairs, side=""):
    """All questions that combine two of so many pairs."""
    return [
        (f"l{side}{i:02}", f"r{side}{i:02}", f"l{side}{j:02}", f"r{side}{j:02}")
        for i in range(pairs)
        for j in range(pairs)
        if i != j
    ]


def vocabulary(left, right, *, extra=0, seed=0):
    more = np.random.default_rng(seed).normal(size=(extra, left.shape[1]))
    words = [f"{side}{i:02}" for side in "lr" for i in range(len(left))] + [f"x{i}" for i in range(extra)]
    return Embedding(words, np.concatenate([left, right, more]))


def planted(pairs=40, rank=6, noise=0.0, seed=0):
    """Right words that are left words turned by one rotation, which is far from no rotation."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(rank, rank)))[0]
    left = rng.normal(size=(pairs, rank))
    return vocabulary(left, left @ turn + noise * rng.normal(size=left.shape), extra=50, seed=seed)


def examples(n, rank, seed=0):
    """Three vectors and an answer of length 1 for each question, as a system to solve."""
    rng = np.random.default_rng(seed)
    a, b, c, d = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in rng.normal(size=(4, n, rank)))
    return np.hstack([-a, b, c]), b - a + c, d


def stacked(X, T, penalty):
    """Solve the same problem as ordinary least squares with a row for each penalized unknown."""
    p = X.shape[1]
    rows = np.concatenate([X, math.sqrt(penalty) * np.eye(p)])
    return np.linalg.lstsq(rows, np.concatenate([T, np.zeros((p, T.shape[1]))]))[0]


# ---- the solution


@given(st.integers(1, 40), st.integers(1, 6), st.floats(-4, 4), seeds)
def test_ridge_is_least_squares_with_more_rows(n, rank, power, seed):
    """Whether questions or unknowns are fewer, the solution is that of the stacked system, and its gradient is zero."""
    X, start, answers = examples(n, rank, seed)
    T, penalty = answers - start, 10**power
    E = _ridge(X, T).solution(penalty)
    np.testing.assert_allclose(E, stacked(X, T, penalty), atol=1e-7)
    np.testing.assert_allclose(X.T @ (X @ E - T) + penalty * E, 0, atol=1e-9 * max(1, penalty))


@pytest.mark.parametrize("penalty", [0, 1e-3, 1, 1e3, math.inf])
def test_primal_is_dual(penalty):
    """Questions of zeros change nothing but the side on which the problem is solved."""
    X, start, answers = examples(11, 5)
    T, none = answers - start, np.zeros((30, 15))
    dual, primal = _ridge(X, T), _ridge(np.concatenate([X, none]), np.concatenate([T, none[:, :5]]))
    assert (len(dual.right), len(primal.right)) == (11, 41)
    np.testing.assert_allclose(dual.solution(penalty), primal.solution(penalty), atol=1e-9)


@pytest.mark.parametrize("n", [7, 60])
def test_without_penalty_it_is_the_shortest_least_squares_solution(n):
    """At a penalty of 0 the solution is that of the pseudoinverse, even if questions are repeated."""
    X, start, answers = (np.concatenate([part, part[:3]]) for part in examples(n, 4))
    np.testing.assert_allclose(_ridge(X, answers - start).solution(0), np.linalg.pinv(X) @ (answers - start), atol=1e-8)


def test_planted_maps_are_found():
    """From more questions than unknowns of a row, the maps that made the answers come back."""
    X, start, _ = examples(40, 5)
    maps = np.random.default_rng(1).normal(size=(15, 5))
    added, _ = _train(X, start, X @ maps, None, 0.0)
    np.testing.assert_allclose(np.vstack([np.eye(5)] * 3) + added, maps, atol=1e-9)


@pytest.mark.parametrize("n", [9, 30])
def test_leaving_one_out_agrees_with_doing_it(n):
    """The closed form is the mean cosine over as many solutions as there are questions."""
    X, start, answers = examples(n, 4)
    penalties = [math.inf, 10.0, 0.5, 1e-3]
    expected = []
    for penalty in penalties:
        cosines = []
        for i in range(n):
            others = np.arange(n) != i
            E = _ridge(X[others], (answers - start)[others]).solution(penalty)
            prediction = start[i] + X[i] @ E
            cosines.append(prediction @ answers[i] / np.linalg.norm(prediction))
        expected.append(np.mean(cosines))
    found = _leave_one_out(_ridge(X, answers - start), X, start, answers, penalties)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_leaving_pairs_out_agrees_with_doing_it():
    """Each question of one fold is predicted from questions without any pair of that fold."""
    X, start, answers = examples(50, 3)
    folds = np.random.default_rng(2).integers(0, FOLDS, size=(50, 2))
    penalty = 0.3
    total = 0.0
    for i in np.flatnonzero(folds[:, 0] == folds[:, 1]):
        others = ~(folds == folds[i, 0]).any(axis=1)
        prediction = start[i] + X[i] @ stacked(X[others], (answers - start)[others], penalty)
        total += prediction @ answers[i] / np.linalg.norm(prediction)
    assert _leave_pairs_out(X, start, answers, folds, [penalty])[0] == pytest.approx(total / 50)


def test_best_penalty_is_chosen():
    """Where answers follow from a map, little penalty is best; where 3CosAdd is right and noise is large, much."""
    X, start, _ = examples(40, 4)
    rng = np.random.default_rng(0)
    turned = X @ rng.normal(size=(12, 4))
    learnt = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    plain = start + 1.5 * rng.normal(size=start.shape)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    assert _train(X, start, learnt, None, None)[1] < 0.1
    assert _train(X, start, plain, None, None)[1] >= 1
    assert _train(X, start, learnt, np.zeros((40, 2), int), None)[1] == math.inf  # a single fold leaves nothing


# ---- the protocol


@pytest.mark.parametrize("split", ["questions", "pairs"])
def test_planted_relation_is_learnt(split):
    """A rotation is learnt from enough questions and answers unseen ones, which 3CosAdd cannot."""
    found = recovery(planted(), {"turned": combined(40)}, split=split, runs=2, shares=[0.5, 1])
    assert found.accuracy["semantic", 1.0] == 1
    assert found.accuracy["semantic", 0.5] == 1
    assert found.untrained["semantic"] < 0.5
    assert max(fit.penalty for fit in found.fits[1.0]) < 1e-2


def test_random_vectors_are_learnt_by_heart():
    """Without any relation, questions over seen pairs are answered, those over unseen pairs are not."""
    rng = np.random.default_rng(0)
    random = vocabulary(*rng.normal(size=(2, 25, 40)), extra=100)
    by_heart, carried = (recovery(random, {"none": combined(25)}, split=s, shares=[1]) for s in ("questions", "pairs"))
    assert by_heart.accuracy["semantic", 1.0] > 0.9
    assert carried.accuracy["semantic", 1.0] < 0.1


@pytest.mark.parametrize("penalty", [math.inf, 1e12])
def test_untrained_is_3cosadd(penalty):
    """With an infinite or huge penalty every answer is that of the analogy measure; so are the untrained ones."""
    embedding, asked = planted(pairs=20, noise=0.5), {"gram1": combined(20)[:200], "rest": combined(20)[200:]}
    found = recovery(embedding, asked, penalty=penalty, runs=3, shares=[1])
    answers = {q: right for section in analogies(embedding, asked).answers.values() for q, right in section}
    expected = np.array([answers[question] for question in found.asked.questions]) & found.tested
    np.testing.assert_array_equal(found.right[1.0], expected)
    np.testing.assert_array_equal(found.right[0.0], expected)
    assert 0 < expected.sum() < found.tested.sum()


@given(st.integers(12, 25), st.sampled_from([0.1, 0.3, 0.6]), seeds)
def test_parts_are_disjoint_and_pairs_do_not_leak(pairs, test, seed):
    """Test and training part share no question; if pairs are held out, no word pair either, in neither order."""
    asked = combined(pairs)
    asked += [(b, a, d, c) for a, b, c, d in asked]
    numbered = pairs_of(asked)
    training, testing, folds = _divide(numbered, "questions", test, np.random.default_rng(seed))
    assert sorted([*training, *testing]) == list(range(len(asked)))
    assert len(testing) == round(test * len(asked))
    assert folds is None
    training, testing, folds = _divide(numbered, "pairs", test, np.random.default_rng(seed))
    seen, unseen = ({frozenset(asked[i][k : k + 2]) for i in part for k in (0, 2)} for part in (training, testing))
    assert not seen & unseen
    assert len(seen | unseen) == pairs
    assert len({(p, f) for p, f in zip(numbered.ravel(), folds.ravel(), strict=True)}) == pairs


def test_share_of_tested_questions():
    """Held pairs are as many as make the test part the share that was asked for."""
    numbered = pairs_of(combined(100))
    training, testing, _ = _divide(numbered, "pairs", 0.15, np.random.default_rng(0))
    assert (len(testing), len(training)) == (39 * 38, 61 * 60)


@pytest.mark.parametrize("split", ["questions", "pairs"])
def test_divisions_depend_on_seed_and_questions_only(split):
    """Neither vectors nor the order of questions, sections or vocabulary bear on them; another seed does."""
    asked = combined(20)
    one, other = planted(pairs=20, noise=0.5), planted(pairs=20, noise=0.5, seed=1)
    turned = Embedding(one.words[::-1], one.vectors[::-1])
    options = {"split": split, "runs": 2, "shares": [0.5]}
    first = recovery(one, {"a": asked[:9], "b": asked[9:]}, **options)
    again = recovery(turned, {"b": asked[:8:-1], "a": asked[:9]}, **options)
    assert first.as_dict() == again.as_dict()
    np.testing.assert_array_equal(first.right[0.5], again.right[0.5])
    np.testing.assert_array_equal(first.tested, recovery(other, {"": asked}, **options).tested)
    assert (first.tested != recovery(one, {"a": asked}, **options, seed=1).tested).any()
    assert (first.tested[0] != first.tested[1]).any()


def test_questions_are_counted():
    """Repeated questions count once, those with unknown words not at all; grammar is told from meaning."""
    embedding, asked = planted(pairs=10), combined(10)
    sections = {"gram1": asked[:50], "family": [*asked[50:], *asked[:5], ("l00", "r00", "l01", "z")], "": asked[:1]}
    found = recovery(embedding, sections, runs=2, shares=[0.5, 1])
    assert (found.covered, found.asked.repeated, found.total) == (90, 6, 97)
    assert found.asked.totals == {"semantic": 46, "syntactic": 51}
    assert sum(found.tests.values()) == found.tested.sum() == 2 * 14
    assert [fit.trained for fit in found.fits[0.5]] == [38, 38]
    upper = {"x": [tuple(word.upper() for word in question) for question in asked]}
    assert recovery(embedding, upper, runs=1, shares=[1]).covered == 90
    assert [kind_of(name) for name in ("gram9-plural-verbs", "", "currency")] == ["syntactic", "syntactic", "semantic"]


def test_words_of_the_question_can_be_answers():
    """Where right words lie close to left ones the word asked about is the nearest, unless it is left out."""
    rng = np.random.default_rng(0)
    left = rng.normal(size=(12, 8))
    close = vocabulary(left, left + 0.01 * rng.normal(size=left.shape))
    options = {"penalty": math.inf, "runs": 2, "shares": [1]}
    assert recovery(close, {"": combined(12)}, **options).untrained["syntactic"] == 1
    assert recovery(close, {"": combined(12)}, **options, exclude=False).untrained["syntactic"] < 0.9


def test_limit_of_the_vocabulary():
    """With a limit, later words are neither asked about nor answers."""
    embedding = planted(pairs=12)
    whole = Embedding(embedding.words[:24], embedding.vectors[:24])
    a, b = recovery(embedding, {"": combined(12)}, limit=24, runs=1), recovery(whole, {"": combined(12)}, runs=1)
    assert a.as_dict() == b.as_dict()
    with pytest.raises(InputError, match="none of the 132 questions has all four words in the vocabulary of 12 words"):
        recovery(embedding, {"": combined(12)}, limit=12)


def test_results_are_written_and_said():
    """JSON has every figure, and None for an infinite penalty; the sentence has kinds and shares."""
    embedding, asked = planted(pairs=12), {"gram1": combined(12)[:66], "rest": combined(12)[66:]}
    found = recovery(embedding, asked, penalty=math.inf, runs=2, shares=[1, 0.5], split="pairs")
    read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert read["penalties"] == {"0.5": [None, None], "1.0": [None, None]}
    assert read["accuracy"]["semantic"]["0.0"] == found.untrained["semantic"] == found.accuracy["semantic", 1.0]
    assert read["tests"] == found.tests
    assert str(found).startswith("split by pairs: semantic ")
    assert "(132 different questions known, 132 asked)" in str(found)
    assert "questions=" not in repr(found)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"split": "words"}, "split must be one of 'questions', 'pairs'; got 'words'"),
        ({"shares": [0.5, 0]}, "shares of the training set must be above 0 and at most 1; got 0"),
        ({"shares": [1.5]}, "at most 1; got 1.5"),
        ({"shares": []}, "shares must contain at least one share"),
        ({"test": 0}, "test must be a share between 0 and 1; got 0"),
        ({"test": math.nan}, "test must be a share between 0 and 1; got nan"),
        ({"penalty": -1}, "penalty must be a number of at least 0, or infinite; got -1"),
        ({"penalty": math.nan}, "penalty must be"),
        ({"runs": 0}, "runs must be"),
        ({"seed": -1}, "seed must be"),
        ({"limit": 0}, "limit must be"),
        (
            {"test": 0.001},
            "splitting 380 questions with 20 word pairs by split='questions' leaves 380 for training and 0 for testing",
        ),
        ({"test": 0.999}, "leaves 0 for training"),
        (
            {"split": "pairs", "test": 0.001},
            "splitting 380 questions with 20 word pairs by split='pairs' leaves 342 for training and 0",
        ),
    ],
)
def test_bad_options_are_refused(options, fault):
    """One sentence names the option, what is allowed, and what came."""
    with pytest.raises(InputError, match=fault):
        recovery(planted(pairs=20), {"": combined(20)}, **options)


def test_vectors_of_zeros_are_answered_wrongly():
    """They give neither a warning nor a fault."""
    zero = vocabulary(np.zeros((8, 3)), np.zeros((8, 3)))
    assert recovery(zero, {"": combined(8)}, runs=1).accuracy["syntactic", 1.0] < 0.5


# ---- figures


def test_figures_are_the_accuracies():
    """Each figure has the value of its accuracy, the untrained first, and two of the same tests can be compared."""
    embedding, asked = planted(pairs=20, noise=0.3), {"gram1": combined(20)[:190], "rest": combined(20)[190:]}
    found = recovery(embedding, asked, runs=3, shares=[0.2, 1])
    figures = {figure.name: figure for figure in found.figures("google")}
    expected = {f"google {kind} accuracy at {share:.0%}": a for (kind, share), a in found.accuracy.items()}
    assert {name: figure.value for name, figure in figures.items()} == pytest.approx(expected)
    assert len(expected) == 6
    gain = difference(figures["google semantic accuracy at 100%"], figures["google semantic accuracy at 0%"])
    assert gain.certain
    assert gain.low > 0


def test_analogies_have_figures():
    """Overall, semantic and syntactic; the single answers agree with the counts and stay out of what is written."""
    embedding, asked = planted(pairs=12, noise=0.5), {"gram1": combined(12)[:40], "rest": combined(12)[40:]}
    asked["rest"].append(("l00", "r00", "l01", "z"))
    found = analogies(embedding, asked)
    for name, section in found.sections.items():
        assert sum(right for _, right in found.answers[name]) == section.correct
        assert len(found.answers[name]) == section.covered
    all_, semantic, syntactic = found.figures("planted")
    assert [f.name for f in (all_, semantic, syntactic)] == [
        "planted accuracy",
        "planted semantic accuracy",
        "planted syntactic accuracy",
    ]
    assert all_.value == pytest.approx(found.accuracy)
    assert (all_.used, all_.total) == (found.covered, found.total)
    assert syntactic.value == pytest.approx(found.sections["gram1"].correct / 40)
    assert semantic.total == 93
    assert "answers" not in found.as_dict()
    assert "answers" not in repr(found)


def test_pair_figure_by_hand():
    """Pairs drawn 2, 1 and 0 times: the question of the first two counts twice, the others not at all."""
    asked = [(("a", "b", "c", "d"), 1, 2), (("d", "c", "e", "f"), 0, 1), (("e", "f", "b", "a"), 1, 1)]
    figure = pair_figure("x", asked, used=3, total=3)
    assert figure.rows.shape == (3, 6)
    assert figure.value == 0.5
    drawn = figure.statistic(figure.rows, np.array([[2, 1, 0], [1, 0, 2], [3, 0, 0]]))
    np.testing.assert_array_equal(drawn, [0.5, 1, math.nan])
    with pytest.raises(InputError, match="the metric 'x' requires at least one question"):
        pair_figure("x", [], used=0, total=3)


def test_too_many_pairs_are_refused(monkeypatch):
    """A table of all pairs that would fill the memory is refused."""
    monkeypatch.setattr("polyadic.metrics.analogies.MAX_PAIRS", 3)
    with pytest.raises(InputError, match="at most 3 distinct word pairs; got 4"):
        pair_figure("x", [(question, 1, 1) for question in combined(4)], used=12, total=12)


def holds_half(figure):
    low, high = figure.interval(resamples=200)
    return low <= 0.5 <= high


def test_intervals_allow_for_shared_pairs():
    """Where pairs differ in difficulty, intervals over pairs hold the truth, those over questions do not."""
    asked, over_pairs, over_questions = combined(20), 0, 0
    ends = pairs_of(asked)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ease = rng.normal(size=20)
        right = ease[ends].sum(axis=1) + rng.normal(size=len(asked)) > 0  # half of them, on average
        figure = pair_figure("", [(q, r, 1) for q, r in zip(asked, right, strict=True)], used=1, total=1)
        single = Figure("", np.column_stack([right, np.ones(len(right))]), used=1, total=1)
        over_pairs += holds_half(figure)
        over_questions += holds_half(single)
    assert over_pairs >= 50
    assert over_questions <= 40


# ---- real data


@pytest.mark.realdata
def test_google_questions(realdata):
    """Of Google's questions 171 are repeated; random vectors know none before, and few after, over unseen pairs."""
    sections = analogy_questions(root=realdata)
    words = sorted({word.lower() for questions in sections.values() for question in questions for word in question})
    embedding = Embedding(words, np.random.default_rng(0).normal(size=(len(words), 20)).astype(np.float32))
    found = recovery(embedding, sections, split="pairs", shares=[0.1], runs=1)
    assert (found.covered, found.asked.repeated, found.total) == (19373, 171, 19544)
    assert max(found.accuracy.values()) < 0.05
    assert set(found.tests) == {"semantic", "syntactic"}
    assert len(np.unique(pairs_of(found.asked.questions))) == 549
    assert PENALTIES[0] == math.inf

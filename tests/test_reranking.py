"""Rerankers as estimators: lists, blocks, classes, choices, costs, folders."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from polyadic import MIRA, InputError, QueryGroups, RankingPerceptron, TensorMIRA
from polyadic.core.solvers.run import Sweep
from polyadic.metrics.reranking import reranking
from polyadic.ranking.reranking import ClassGroups, as_rows, choose

MODELS = [RankingPerceptron(), MIRA(), MIRA(best=5, augmented=True), TensorMIRA(2), TensorMIRA(1, order=3)]


def planted(seed, *, lists=300, candidates=10, features=400, rank=1):
    """Lists whose costs follow weights of low rank in the guided order of features; most features are rare."""
    rng = np.random.default_rng(seed)
    hidden = np.random.default_rng(99)
    w = np.outer(hidden.exponential(1, 20) ** 2, hidden.standard_normal(20)).ravel()[hidden.permutation(400)][:features]
    n = lists * candidates
    X = csr_array((rng.random((n, features)) < 0.05).astype(float))
    s = (X @ w + 0.3 * rng.standard_normal(n)).reshape(lists, candidates)
    costs = np.round((s.max(axis=1, keepdims=True) - s) / 5, 3)
    return QueryGroups(X, costs.ravel(), np.arange(lists + 1) * candidates)


@pytest.fixture(scope="module")
def lists():
    return planted(0), planted(1)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_choices_cost_less(lists, model):
    """What is chosen from lists not learned from costs well below the first candidate, and not below the cheapest."""
    train, test = lists
    fitted = clone(model).fit(train)
    cost = test.cost(fitted.rerank(test))
    first, oracle = test.cost(test.starts[:-1]), test.cost(test.oracle)
    assert oracle < cost < oracle + 0.5 * (first - oracle)
    assert fitted.score(test) == -cost
    assert np.array_equal(fitted.predict(test), fitted.rerank(test))
    assert fitted.history_[-1] < fitted.history_[1]
    assert "callback" in fitted.get_params()


def test_the_best_epoch_is_kept(lists):
    """With lists held out the weights are those of the epoch that cost least there, and what was measured is true."""
    train, test = lists
    model = TensorMIRA(2, max_iter=6).fit(train, validation=test)
    measured = model.result_.measured
    assert test.cost(model.rerank(test)) == pytest.approx(min(measured))
    assert measured.index(min(measured)) <= model.result_.best
    again = TensorMIRA(2, max_iter=max(model.result_.best, 1)).fit(train)
    np.testing.assert_allclose(again.weights_, model.weights_)
    blocks = TensorMIRA(2, max_iter=6).fit(train, validation=[test[:7], test[7:]])
    np.testing.assert_allclose(blocks.result_.measured, measured)


def test_choosing(lists):
    """The model of least cost on lists held out, by order, rank and C."""
    train, test = lists
    models = [TensorMIRA(H, order=D, C=C, max_iter=3) for H in (1, 2) for D in (2, 3) for C in (1e-7, 0.1)]
    found = choose(models, train, validation=test)
    assert len(found.costs) == 8
    assert test.cost(found.best.rerank(test)) == pytest.approx(min(found.costs))
    assert found.best.C == 0.1
    with pytest.raises(InputError, match="at least one model"):
        choose([], train, validation=test)


def test_few_parameters_help_where_they_are_true():
    """On weights of rank one in the right cells, a tensor learned from few lists costs less than free weights."""
    hidden = np.random.default_rng(1)
    w = np.outer(hidden.exponential(1, 30) + 0.2, hidden.standard_normal(30))

    def lists(seed, n):
        rng = np.random.default_rng(seed)
        X = csr_array((rng.random((n * 10, 900)) < 0.02).astype(float))
        s = (X @ w.ravel(order="F")).reshape(n, 10)
        return QueryGroups(X, (s.max(axis=1, keepdims=True) - s).ravel(), np.arange(n + 1) * 10)

    train, test = lists(0, 60), lists(1, 500)
    costs = {}
    for model in (TensorMIRA(1, mapping="sequential", C=0.1, max_iter=20), MIRA(C=0.1, max_iter=20)):
        costs[type(model)] = test.cost(model.fit(train).rerank(test))
    assert costs[TensorMIRA] < 0.8 * costs[MIRA]
    assert sum(w.size for w in TensorMIRA(1).fit(train).factors_) == 60


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_classes(model):
    """Digits by their pixels, and flowers: far above chance, and near a linear classifier of scikit-learn."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1200], order[1200:]
    names = np.array([f"digit {k}" for k in range(10)])
    fitted = clone(model).fit(X[train], names[y[train]])
    assert fitted.classes_.tolist() == names.tolist()
    other = SGDClassifier(loss="hinge", random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    found = fitted.score(X[test], names[y[test]])
    assert found > (other - 0.03 if not isinstance(model, TensorMIRA) else 0.7)
    assert fitted.decision_function(csr_array(X[test])).shape == (len(test), 10)
    flowers, kinds = load_iris(return_X_y=True)
    flowers = StandardScaler().fit_transform(flowers)
    assert cross_val_score(clone(model), flowers, kinds, cv=3).mean() > (
        0.75 if isinstance(model, TensorMIRA) else 0.85
    )


def test_two_classes():
    """Of two classes the decision is one number, above zero for the second."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X @ [1.0, -2, 0.5] + 0.3 > 0
    model = MIRA(C=0.1).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (200,)
    assert np.array_equal(scores > 0, model.predict(X))
    assert model.score(X, y) > 0.95
    assert model.score(X, y, sample_weight=(model.predict(X) == y).astype(float)) == 1


def test_classes_held_out():
    """Validation of classes is a pair of rows and labels; labels that were not learned always cost."""
    X, y = load_iris(return_X_y=True)
    model = MIRA(max_iter=4).fit(X[:120], y[:120], validation=(X[120:], y[120:]))
    assert min(model.result_.measured) == pytest.approx(1 - model.score(X[120:], y[120:]))
    other = MIRA(max_iter=2).fit(X[:100], y[:100], validation=(X[100:], y[100:]))
    assert set(other.result_.measured) == {1.0}


def test_groups_of_classes_are_blocks():
    """Candidates of a row hold its features, and a one, at places of their class; blocks are cut between rows."""
    rng = np.random.default_rng(0)
    X, y = rng.random((7, 3)), np.array([0, 1, 2, 1, -1, 0, 2])
    groups = ClassGroups(as_rows(X), y, 3)
    groups._step = 3
    blocks = list(groups)
    assert [len(block) for block in blocks] == [3, 3, 1]
    dense = np.concatenate([block.features.toarray() for block in blocks]).reshape(7, 3, 3, 4)
    for i in range(7):
        for c in range(3):
            assert np.array_equal(dense[i, c, c], [*X[i], 1])
            assert not dense[i, c, [k for k in range(3) if k != c]].any()
    costs = np.concatenate([block.costs for block in blocks]).reshape(7, 3)
    assert np.array_equal(costs, np.arange(3) != y[:, None])


def test_a_matrix_of_classes():
    """With a mode of classes, a tensor of order 2 is a reduced rank classifier: its weights have that rank."""
    X, y = load_digits(return_X_y=True)
    model = TensorMIRA(6, sizes=(65, 10), mapping="sequential", C=0.1, averaged=False).fit(X / 16, y)
    W = model.weights_.reshape(10, 65)
    assert np.linalg.matrix_rank(W, tol=1e-8) == 6
    assert model.score(X / 16, y) > 0.75


def test_features_beyond_those_learned(lists):
    """They score nothing, or are refused; lists may also have fewer."""
    train, test = lists
    model = MIRA().fit(train)
    more = csr_array(np.pad(test.features.toarray(), ((0, 0), (0, 2)), constant_values=1))
    wide = QueryGroups(more, test.costs, test.starts)
    np.testing.assert_allclose(model.decision_function(wide), model.decision_function(test))
    with pytest.raises(InputError, match="feature 401 was not seen in fit"):
        model.rerank(wide, unknown="error")
    blank = QueryGroups(
        csr_array((more.data, more.indices, more.indptr), shape=(len(test.costs), 410)), test.costs, test.starts
    )
    assert np.array_equal(model.rerank(blank), model.rerank(test))
    narrow = QueryGroups(test.features[:, :5], test.costs, test.starts)
    assert model.decision_function(narrow).shape == test.costs.shape


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.eye(3), None, "must be QueryGroups"),
        (iter([planted(0, lists=2)]), None, "instead of an iterator"),
        ([np.eye(3)], None, "blocks must be QueryGroups"),
        ([], None, "at least one feature"),
        (3, None, "must be QueryGroups"),
        (np.eye(3), [1, 1, 1], "two classes"),
        (np.eye(3), [1, 2], "one per row"),
        ([["a"]], ["b"], "two classes|numeric array"),
        (np.array([[np.nan], [1.0]]), [0, 1], "row 0, column 0 of rows is missing"),
        (QueryGroups(csr_array((0, 3)), np.zeros(0), np.zeros(1, int)), None, "at least one candidate list"),
    ],
)
def test_what_cannot_be_learned_from(X, y, words):
    """One sentence for each."""
    with pytest.raises(InputError, match=words):
        MIRA().fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "validation", "words"),
    [
        (np.eye(4), [0, 1, 0, 1], (np.eye(3), [0, 1, 0]), "must have the same 4 features as the training data; got 3"),
        (np.eye(4), [0, 1, 0, 1], planted(0, lists=2), "a pair of rows"),
        (planted(0, lists=2), None, (np.eye(4), [0, 1, 0, 1]), "must be QueryGroups; got ndarray"),
        (planted(0, lists=2), None, iter([planted(0, lists=2)]), "instead of an iterator"),
        (planted(0, lists=2), None, 3, "must be QueryGroups"),
        (planted(0, lists=2), None, [], "at least one candidate list"),
        (planted(0, lists=2), None, planted(0, lists=2).only([]), "at least one candidate list"),
    ],
)
def test_what_cannot_be_held_out(X, y, validation, words):
    """Lists held out must be of the kind learned from, with as many features if they are rows."""
    with pytest.raises(InputError, match=words):
        MIRA().fit(X, y, validation=validation)


def test_failed_fits_change_nothing(lists):
    """A model that could not be fitted is not fitted; one that was, still chooses as before."""
    model = TensorMIRA(2, C=-1.0)
    with pytest.raises(InputError, match="C must be"):
        model.fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(NotFittedError):
        model.predict(np.eye(4))
    model.set_params(C=0.1).fit(np.eye(4), [0, 1, 0, 1])
    before, place = model.predict(np.eye(4)), model.place_
    with pytest.raises(InputError, match="two classes"):
        model.fit(np.eye(4), [1, 1, 1, 1])
    with pytest.raises(InputError, match="must be QueryGroups"):
        model.fit(lists[0], validation=[3])
    assert np.array_equal(model.predict(np.eye(4)), before)
    assert model.place_ is place
    assert not hasattr(model.fit(lists[0]), "classes_")


def test_empty_blocks_are_passed_over(lists):
    """A block without lists changes nothing, though it come first."""
    none = lists[0].only([])
    assert np.array_equal(MIRA().fit([none, lists[0], none]).weights_, MIRA().fit(lists[0]).weights_)


def test_groups_are_of_one_form(lists):
    """Other forms than CSR, and groups that are not there, are refused."""
    X = lists[0].features
    for other in (X.tocsc(), X.tocoo(), X.toarray()):
        with pytest.raises(InputError, match="csr_array"):
            QueryGroups(other, lists[0].costs, lists[0].starts)
        again = QueryGroups.of(other, costs=lists[0].costs, group=np.repeat(np.arange(300), 10))
        assert np.array_equal(again.features.toarray(), X.toarray())
    with pytest.raises(InputError, match="from 0 to 299; got -1"):
        lists[0].only([3, -1])
    with pytest.raises(InputError, match="indexed by a slice"):
        lists[0][0]


def test_what_a_model_cannot_be_asked(lists):
    """A model of lists has no classes; rows must have the features learned."""
    model = RankingPerceptron().fit(lists[0])
    with pytest.raises(InputError, match="X must be QueryGroups"):
        model.predict(np.eye(400))
    classes = RankingPerceptron().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="must have the same 4 features as in fit; got 3"):
        classes.predict(np.eye(3))


def test_ctrl_c_in_the_guide(lists):
    """Ctrl-C in the perceptron that guides the features leaves no model."""

    class Ending(list):
        passes = 0

        def __iter__(self):
            self.passes += 1
            if self.passes > 4:
                raise KeyboardInterrupt
            return super().__iter__()

    with pytest.raises(KeyboardInterrupt):
        TensorMIRA(2).fit(Ending([lists[0]]))


def test_quality_of_an_order_by_hand():
    """Grades 3, 0, 2 in the order of scores: 3 + 2 / log2(4) of 3 + 2 / log2(3); relevant at ranks 1 and 3 of 3."""
    groups = QueryGroups(csr_array((3, 1)), np.array([0.0, 3, 1]), np.array([0, 3]), np.array([3.0, 0, 2]))
    found = reranking([(groups, [3, 2, 1])])
    assert found.ndcg.value == pytest.approx(4 / (3 + 2 / np.log2(3)))
    assert found.map.value == pytest.approx((1 + 2 / 3) / 2)
    assert reranking([(groups, [3, 2, 1])], k=2).ndcg.value == pytest.approx(3 / (3 + 2 / np.log2(3)))
    assert reranking([(replace(groups, grades=None), [3, 2, 1])]).map.value == 1  # only the lowest cost is relevant


@pytest.mark.parametrize("graded", [True, False])
def test_quality_of_an_order_is_that_of_scikit_learn(graded):
    """With ties, grades that are all 0, and several blocks; the lists used are counted."""
    rng = np.random.default_rng(0)
    sizes, blocks, ndcg, precision = rng.integers(2, 9, 40), [], [], []
    for part in np.split(sizes, 4):
        of = np.repeat(np.arange(10), part)
        grades, scores = rng.integers(0, 3, len(of)).astype(float), rng.integers(0, 4, len(of)).astype(float)
        top = np.array([grades[of == i].max() for i in range(10)])[of]
        groups = QueryGroups.of(np.zeros((len(of), 1)), costs=top - grades, group=of)
        blocks.append((replace(groups, grades=grades) if graded else groups, scores))
        for i in range(10):
            gains = grades[of == i] - (0 if graded else grades[of == i].min())
            if gains.any():
                ndcg.append(ndcg_score([gains], [scores[of == i]], k=3))
                relevant = gains > 0 if graded else gains == gains.max()
                precision.append(average_precision_score(relevant, scores[of == i]))
    found = reranking(blocks, k=3)
    np.testing.assert_allclose(found.ndcg.rows[:, 0], ndcg)
    np.testing.assert_allclose(found.map.rows[:, 0], precision)
    assert (found.ndcg.used, found.ndcg.total) == (len(ndcg), 40)
    low, high = found.ndcg.interval()
    assert low < found.ndcg.value < high


def test_costs_by_hand():
    """First 3 and 2, cheapest 1 and 0, chosen 1 and one of two that share a score."""
    groups = QueryGroups(csr_array((5, 1)), np.array([3.0, 1, 2, 0, 4]), np.array([0, 2, 5]))
    found = reranking([(groups, [0, 1, 5, 2, 5])])
    assert found[:-2] == (2, 5, 2.5, 0.5, 2.0, 1.5, 1, 2.5, 1)
    assert found.gained == 0.5
    twice = reranking([(groups, [0, 1, 5, 2, 5]), (groups[:1], [1, 0])])
    assert (twice.lists, twice.reranked, twice.first, twice.tied) == (3, 2.0, 8 / 3, 1)
    assert np.isnan(reranking([(groups[:1].only([0]), [1, 1])])._replace(first=1.0, oracle=1.0).gained)
    with pytest.raises(InputError, match="no lists"):
        reranking([])


def test_sweeps_are_new_arrays(lists):
    """What an epoch yields does not change with the next."""
    seen = []
    model = TensorMIRA(2, max_iter=3, callback=lambda result: seen.append([x.copy() for x in result.factors]))
    model.fit(lists[0])
    assert len(seen) == 3
    assert not np.array_equal(seen[0][1], seen[1][1])
    assert isinstance(Sweep(seen[0], 0.0), Sweep)


@pytest.mark.realdata
def test_articles(realdata):
    """Of 100 articles of BBC news a tensor in guided cells learns nearly as much as free weights, in a 40th of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from polyadic.datasets.documents import bbc

    articles = bbc(realdata)
    order = np.random.default_rng(0).permutation(len(articles))[:600]
    y = np.array([articles[i].label for i in order])
    texts = [articles[i].text for i in order]
    words = TfidfVectorizer(sublinear_tf=True).fit(texts[:100])
    X, held = words.transform(texts[:100]), words.transform(texts[100:])
    free = RankingPerceptron().fit(X, y[:100])
    tensor = TensorMIRA(2).fit(X, y[:100])
    assert free.score(held, y[100:]) > 0.85
    assert tensor.score(held, y[100:]) > free.score(held, y[100:]) - 0.06
    assert 40 * sum(w.size for w in tensor.factors_) < len(free.weights_)
    blind = TensorMIRA(2, mapping="sequential", init="signs").fit(X, y[:100])
    assert blind.score(held, y[100:]) < tensor.score(held, y[100:])

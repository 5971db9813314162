"""The matrix side of the tutorial by one command: each part on small planted data, the report, the command."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from experiments.bouchard2015 import (
    binary,
    convex,
    databases,
    demonstrations,
    labels,
    posteriors,
    ratings,
    retrieval,
    solvers,
    topics,
    triangle,
)
from experiments.bouchard2015.report import report
from experiments.data.multilabel import Labelling
from experiments.data.ratings import Film, Fold, MovieLens, Viewer
from polyadic import Entries


def films(seed=0, n=60, m=40):
    """Ratings that follow from the occupation of a user and the genre of a film."""
    rng = np.random.default_rng(seed)
    users = [Viewer(int(rng.integers(15, 70)), "MF"[k % 2], ("baker", "pilot", "vet")[k % 3], "") for k in range(n)]
    items = [Film(f"Film {k}", 1990, (("Action", "Drama", "War")[k % 3],)) for k in range(m)]
    taste = rng.standard_normal((3, 3))
    x = 3 + taste[np.arange(n)[:, None] % 3, np.arange(m) % 3] + 0.3 * rng.standard_normal((n, m))
    known = rng.random(x.shape) < 0.3
    cells = [
        Entries(np.argwhere(which), np.clip(x, 1, 5)[which], x.shape, unobserved="missing") for which in (known, ~known)
    ]
    return MovieLens(cells[0], users, items, ["Action", "Drama", "War"]), Fold(*cells)


def test_ratings():
    """Every method is better than biases where ratings follow from groups, and tables of the groups help draws."""
    about, fold = films()
    found = {one["name"]: one["rmse"] for one in ratings.evaluate(fold, about, rank=3, seed=0)}
    best = [error for name, error in found.items() if name != "biases alone" and "point" not in name]
    assert max(best) < found["biases alone"]
    assert found["database of ratings, people, films, draws, rank 3"] < found["database of ratings, draws, rank 3"]
    tables = ratings.traits(about)
    assert tables["people"].data.shape == (60, 1 + 7 + 3)
    assert (tables["people"].data.sum(axis=1) >= 2).all()
    assert (tables["kinds"].data.sum(axis=1) == 1).all()


@pytest.mark.filterwarnings("ignore:stopped at max_iter")
def test_posteriors():
    """All methods predict whole stars of a subset; differences and effective sample sizes are reported."""
    about, fold = films()
    stars = Fold(*(Entries(part.indices, part.values.round(), part.shape, unobserved="missing") for part in fold))
    rows = posteriors.evaluate(stars, about, rank=2, seed=0, size=30, draws=40, leapfrog=4)
    pooled = posteriors.pooled({"u1": rows, "u2": rows})
    assert [row["name"] for row in pooled][:2] == ["Gibbs sampling", "Hamiltonian Monte Carlo"]
    assert all(row["log"] < 0 < row["rmse"] < 2 and 0.5 < row["coverage"] <= 1 for row in pooled)
    assert pooled[1]["samples"] > 0
    low, high = (pooled[2]["rmse_difference"][end] for end in ("low", "high"))
    assert low <= pooled[2]["rmse"] - pooled[0]["rmse"] <= high


def test_recommendations_with_a_table_beside():
    """Tags that tell the groups of columns raise recall where rows have few cells; choices are made within."""
    rng = np.random.default_rng(0)
    group = np.arange(180) % 3
    likes = np.array(
        [
            [row, column]
            for row in range(60)
            for column in rng.choice(np.flatnonzero(group == row % 3), 4, replace=False)
        ]
    )
    known = Entries(likes, np.ones(len(likes)), (60, 180))
    tags = np.array([[column, 3 * k + group[column]] for column in range(180) for k in range(4)])
    choices = {
        "with tags": {w: {"tags": databases._weighed(tags, (180, 12), ("column", "tag"), w)} for w in (0.1, 1.0)}
    }
    alone, beside = databases.recommended(known, choices, rank=4, seed=0)
    assert np.mean(beside["recall"]) > np.mean(alone["recall"]) > 20 / 180
    assert beside["weight"] in {0.1, 1.0}
    assert (alone["zero_weight"], alone["ridge"]) == (beside["zero_weight"], beside["ridge"])


def test_cells_are_parted():
    """Each cell is in one of two parts, with its value."""
    entries = Entries(np.argwhere(np.ones((20, 10))), np.arange(200.0), (20, 10))
    one, other = databases.parted(entries, 0.25, np.random.default_rng(0))
    assert sorted([*one.values, *other.values]) == list(range(200))
    assert 30 < len(other) < 70


def collection(*, texts=True):
    """Documents of two themes."""
    rng = np.random.default_rng(0)
    words = tuple(f"w{k}" for k in range(20)) if texts else tuple(map(str, range(20)))
    picks = [rng.integers(10, size=30) + 10 * (d % 2) for d in range(40)]
    table = csr_array(np.stack([np.bincount(pick, minlength=20) for pick in picks]))
    written = [[words[k] for k in pick] for pick in picks] if texts else None
    return topics.Collection(table, words, written, [str(d % 2) for d in range(40)] if texts else None)


@pytest.mark.parametrize("method", topics.METHODS)
def test_topics(method):
    """Two planted themes are found by every method, and agree with the groups of documents."""
    found = topics.evaluate(collection(), method, rank=2, seed=0)
    assert found["perplexity"] < 16
    assert method == "anchors" or found["nmi"] > 0.9
    assert len(found["topics"]) == 2
    assert topics.evaluate(collection(texts=False), method, rank=2, seed=0)["nmi"] is None


def test_labels():
    """Labels that follow from a few hidden numbers are told by both; the threshold is that of the training part."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((150, 2))
    X = (z @ rng.standard_normal((2, 30)) > 0.5).astype(float)
    Y = z @ rng.standard_normal((2, 4)) > 0.3
    names = [f"f{k}" for k in range(30)], [f"l{k}" for k in range(4)]
    parts = [Labelling(csr_array(X[rows]), Y[rows], *names) for rows in (slice(100), slice(100, None))]
    regression, completion = labels.evaluate(*parts, hidden=0.3, penalties=(20.0, 10.0), seed=0)
    assert regression["ap"] > 0.75
    assert completion["ap"] > 0.75
    gain = completion["gain"]
    assert gain["value"] == pytest.approx(completion["ap"] - regression["ap"])
    assert gain["low"] < gain["value"] < gain["high"]
    assert "gain" not in regression
    assert completion["chosen"][0] in (20.0, 10.0)


def test_convex_models(monkeypatch):
    """Each part on one small case: outliers are found, and tables have a row for each method."""
    monkeypatch.setattr(convex, "SIZES", {"a": 6, "b": 5, "c": 4})
    monkeypatch.setattr(convex, "PENALTIES", (0.3, 1.0))
    monkeypatch.setattr(convex, "SHAPE", (6, 5, 4))
    monkeypatch.setattr(convex, "OUTLIER_PENALTIES", (1.0,))
    monkeypatch.setattr(convex, "METHODS", {k: (f, s[:2]) for k, (f, s) in convex.METHODS.items() if "Tucker" not in k})
    cycle = convex.cycle(seed=0, runs=1)
    assert [round(row["objective"], 5) for row in cycle["by_hand"]] == [0.585, 0.29625]
    outliers = convex.planted_outliers(seed=0, runs=1)
    assert all(row["precision"][0] > 0.9 and row["recall"][0] > 0.7 for row in outliers)
    plain, robust = convex.corrupted_ratings(films()[1], share=0.1, seed=0)
    assert "gain" not in plain
    assert robust["precision"] > 0.2  # of a tenth
    rows = convex.tensors(share=0.6, seed=0, runs=1)
    assert [row["gain"]["value"] == 0 for row in rows] == [True, False, False, False]
    views = [{"hidden": 0.0, "name": "convex CCA", "shares": [0.9], "gain": None}]
    stages = {"cycle": cycle, "outliers": {"rows": outliers}, "views": {"rows": views}}
    text = report({"convex": stages, "tensors": rows, "corrupted": {"0.1": [plain, robust]}})
    assert "| positive | 0.58500 | -0.00 |" in text.replace("| 0.00 |", "| -0.00 |")
    assert "| 0.6 | latent trace norms |" in text


RECORDS = """.I 1
.T
blood flow
.W
flow of blood in the heart . heart rate
.I 2
.W
stars and planets , planets and moons
.I 3
.W
the moons of planets
.I 4
.W
heart and blood
"""
QUERIES = ".I 7\n.W\nheart blood\n.I 8\n.W\nsomething else\n.I 9\n.W\nplanets\n"


def test_retrieval_files(tmp_path):
    """Records are numbered in order, queries without a relevant abstract are left out, and grade 5 is not relevant."""
    (tmp_path / "cran").mkdir()
    for name, content in zip(retrieval.FILES["cran"], (RECORDS, QUERIES, "1 1 2\n1 4 1\n1 2 5\n3 3 4\n"), strict=True):
        (tmp_path / "cran" / name).write_text(content)
    found = retrieval.read(tmp_path, "cran")
    assert {*found.words} == {"blood", "heart", "planets", "flow", "moons"}
    assert found.relevant.tolist() == [[0, 0], [0, 3], [1, 2]]
    assert found.queries.sum() == 3
    scores = retrieval.bm25(found)
    assert (scores[0, [0, 3]] > 0).all()
    assert scores[0, [1, 2]].tolist() == [0, 0]
    n, length = found.counts.toarray(), found.counts.sum(axis=1)
    k = found.words.index("planets")
    tf, idf = n[1, k], np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    assert scores[1, 1] == pytest.approx(idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length[1] / length.mean())))


@pytest.mark.parametrize("method", ["bm25", "lsi", "rlsi l2 l1"])
def test_retrieval(method):
    """Queries of one word find documents of their theme; topics find those without the word, terms alone do not."""
    data = collection()
    queries = csr_array(np.eye(20)[[0, 3, 7, 11, 14, 18]])
    pairs = np.array([[q, d] for q in range(6) for d in range(40) if d % 2 == q // 3])
    judged = retrieval.Judged(data.table, data.words, queries, pairs)
    found = retrieval.evaluate(judged, method, rank=2, seed=0)
    assert np.mean(found["alone"]) > 0.9
    assert len(found["both"]) == 6
    if method.startswith("rlsi"):
        assert [row["penalty"] for row in found["settings"]] == [*retrieval.STRENGTHS]
    assert f"| {method} |" in report({"med": [found]})


def test_labelled_words_help():
    """The words of a theme are found by their mutual information, and improve labels from one document each."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    rates = 0.3 + 2.0 * (np.arange(30) // 10 == np.arange(3)[:, None])
    table, words = csr_array(rng.poisson(rates[labels])), tuple(f"w{k}" for k in range(30))
    data = triangle.Labelled(table, labels, rng.random(90) < 0.5, words, ("a", "b", "c"))
    chosen = triangle.labelled_words(data, per_label=4)
    assert (chosen.sum(axis=0) == 4).all()
    assert (np.nonzero(chosen)[0] // 10 == np.nonzero(chosen)[1]).all()
    found = triangle.evaluate(data, per_label=1, rank=3, seed=0)["accuracy"]
    assert found["collective, labelled words"] > 0.9
    assert len(found) == 6
    text = report({"labelled-words-bbc": [{"per_label": 1, "accuracy": found}] * 2})
    assert "| 1 | collective, labelled words |" in text


def test_newsgroups_are_read_without_headers(tmp_path, monkeypatch):
    """Messages are drawn per group and part, and their headers are left out."""
    monkeypatch.setattr(triangle, "MESSAGES", {"train": 6, "test": 2})
    for part in ("train", "test"):
        for group in ("sci.space", "rec.autos"):
            folder = tmp_path / f"20news-bydate-{part}" / group
            folder.mkdir(parents=True)
            for k in range(8):
                (folder / str(k)).write_text(f"Subject: header\n\n{group} engine\n", encoding="latin-1")
    data = triangle.newsgroups(tmp_path)
    assert (len(data.labels), data.test.sum(), data.names) == (16, 4, ("rec.autos", "sci.space"))
    assert "engine" in data.words
    assert "header" not in data.words


def test_losses_of_a_binary_matrix(monkeypatch):
    """A matrix of low sign rank: the logistic loss ranks held-out cells better at that rank; the report says so."""
    monkeypatch.setattr(binary, "RIDGES", (0.1, 0.3))
    rng = np.random.default_rng(0)
    truth = np.cos(rng.uniform(0, 6.3, (60, 1)) - rng.uniform(0, 6.3, 50)) > 0.8
    squared, logistic = binary.compare(
        binary.Binary(np.argwhere(truth), np.argwhere(~truth), truth.shape), rank=2, seed=0
    )
    assert logistic["average precision"] > squared["average precision"] > truth.mean()
    gain = logistic["difference in AUC"]
    assert gain["value"] == pytest.approx(logistic["AUC"] - squared["AUC"])
    assert gain["low"] < gain["value"] < gain["high"]
    assert "| signs | 2 |" in report({"binary": {"signs": {"2": [[squared, logistic]] * 3}}})


def test_the_auc_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(5, size=40), rng.integers(2, size=40)]).astype(float)
    times = rng.integers(3, size=(4, 40))
    expected = [roc_auc_score(rows[:, 1], rows[:, 0], sample_weight=taken) for taken in times]
    np.testing.assert_allclose(binary.auc(rows, times), expected)


def test_sampled_zeros_are_new_places_and_rows_are_whole():
    ones = np.argwhere(np.eye(12))
    zeros = binary.absent(binary.Binary(ones, None, (12, 12)), np.random.default_rng(0))
    assert len(np.unique(zeros, axis=0)) == 36
    assert (zeros[:, 0] != zeros[:, 1]).all()
    some = binary.some_rows(binary.Binary(ones, None, (12, 12)), np.random.default_rng(0))
    assert some.shape == (12, 12)


def test_solvers_are_compared_by_the_lowest_objective():
    """Epochs and times to a share of the decrease; a solver that does not come near has none."""
    histories = {"fast": [9.0, 1.05, 1.0], "slow": [9.0, 5.0, 2.0]}

    def fitted(history):
        def fit(callback):
            for _ in history[1:]:
                callback(None)
            return SimpleNamespace(history_=history)

        return fit

    fast, slow = solvers.compare({name: fitted(history) for name, history in histories.items()})
    assert (fast["epochs to 0.01"], fast["epochs to 0.001"], slow["epochs to 0.01"]) == (1, 2, None)


def test_penalties_of_ratings(monkeypatch):
    monkeypatch.setattr(solvers, "L1", (0.0, 1e3))
    _, fold = films()
    rows = solvers.sparse(fold, rank=2, seed=0)
    assert [row["components"] > 0 for row in rows] == [True, False, True, False]
    assert rows[1]["zeros_of_users"] == rows[1]["zeros_of_films"] == 1
    assert "| 1.0 | 1000.0 |" in report({"sparse": {"u1": rows}})


@pytest.fixture(scope="module")
def shown():
    return {**demonstrations.descent(seed=0), "signs": demonstrations.signs(seed=0)}


@pytest.mark.slow
def test_demonstrations(shown):
    """Steps that fall come within a thousandth of the truncated SVD, constant ones do not; signs need less rank."""
    last = {name: errors[-1] / shown["optimum"] - 1 for name, errors in shown["histories"].items()}
    assert 0 <= last["steps that fall"] < 1e-3 < last["constant steps"]
    rows = {(one["matrix"], one["rank"]): one for one in shown["signs"]}
    assert rows["diagonal", 3]["logistic"] == 0 < rows["diagonal", 10]["svd"]  # of equal singular values, any are kept


def test_report():
    """Tables of what stages found: means over folds, gains with intervals, nothing where a part was left out."""
    fold = [{"name": "biases alone", "rmse": 0.95, "seconds": 0.1}, {"name": "draws", "rmse": 0.9, "seconds": 2.0}]
    shown = {"recall": [0.1, 0.3], "ndcg": [0.2, 0.2], "zero_weight": 0.05, "ridge": 1.0, "weight": 0.0, "seconds": 3}
    text = report(
        {"ratings": {"u1": fold, "u2": fold}, "lastfm": [{"name": "alone", **shown}, {"name": "more", **shown}]}
    )
    assert "| draws | .9000 | .9000 | .9000 | 2.0 |" in text
    assert "| more | .200 (.000 to .000 more) | .200 (.000 to .000 more) |" in text
    assert "BBC" not in text


@pytest.mark.realdata
def test_bbc_and_lastfm(realdata):
    """Real collections are read in the form that the experiment needs."""
    bbc, kos = topics.bbc(realdata), topics.kos(realdata)
    assert bbc.table.shape[0] == len(bbc.texts) == len(bbc.groups) == 2225
    assert kos.table.shape[0] == 3430
    assert len(kos.words) == kos.table.shape[1]

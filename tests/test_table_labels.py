"""Several labels of the rows of a table: columns as features, labels as tasks, the command and its figures."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler, normalize
from typer.testing import CliRunner

from polyadic import LowRankTasks, TableLabels, load
from polyadic.cli import app
from polyadic.metrics.labels import label_measures

from .helpers import refuses

WORDS = {"war": ["soldier", "battle", "gun"], "love": ["kiss", "heart", "bride"]}


def films(rng, rows=80):
    """Two labels: of both, words of the plot say something."""
    Y = rng.random((rows, 2)) < 0.4
    plots = []
    for row in Y:
        of = [word for told, words in zip(row, WORDS.values(), strict=True) if told for word in rng.choice(words, 2)]
        plots.append(" ".join([*of, *rng.choice(["the", "film", "man"], 3)]))
    table = {"plot": plots, "year": rng.integers(1950, 2020, rows).tolist(), "land": rng.choice(["US", "FR"], rows)}
    return pd.DataFrame(table | dict(zip(WORDS, Y.astype(int).T, strict=True)))


def test_features_are_those_of_scikit_learn():
    """Standardized numbers, one-hot categories, word counts of length 1; the same model from all three."""
    table = films(np.random.default_rng(0))
    model = TableLabels(2, ridge=0.5, texts=["plot"], tol=1e-9).fit(table, ["war", "love"])
    words = normalize(CountVectorizer(token_pattern=r"\w+").fit_transform(table["plot"]).toarray())
    year = StandardScaler().fit_transform(table[["year"]])
    land = OneHotEncoder(sparse_output=False).fit_transform(table[["land"]])
    X, Y = np.hstack([words, year, land]), table[["war", "love"]].to_numpy(float)
    plain = LowRankTasks(2, ridge=0.5, loss="logistic", tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(X), atol=1e-4)
    assert model.score(table) == pytest.approx(plain.score(X, Y), abs=1e-6)
    assert set(model.scales_) == {"year"}
    codes = TableLabels(2, ridge=0.5, categories=["year"]).fit(table, ["war"])
    assert f"year={table['year'][0]}" in codes.encoder_.names_


def test_numbers_unknown_labels_and_missing_values():
    """Least squares of labels that are numbers; an unknown label is NaN, and a missing number counts as the mean."""
    x = np.linspace(-1, 1, 60)
    table = {"x": x, "a": 3 * x, "b": np.where(np.arange(60) % 2, 1 - x, np.nan)}
    model = TableLabels(2, ridge=1e-4, tol=1e-10).fit(table, ["a", "b"])
    assert model.model_.loss == "squared"
    np.testing.assert_allclose(model.predict({"x": [0.5, None]}), [[1.5, 0.5], [3 * x.mean(), 1 - x.mean()]], atol=0.01)
    assert np.isnan(model.targets(table)).sum() == 30


def test_what_cannot_be_learned_is_refused():
    table = films(np.random.default_rng(1), 30)
    refuses("the table has no column 'wars'; did you mean 'war'", TableLabels().fit, table, ["wars"])
    refuses("label land must contain numbers, or yes and no; row 1 is", TableLabels().fit, table, ["land"])
    refuses("the table must have a column of features", TableLabels().fit, {"a": [0, 1]}, ["a"])
    refuses("labels must be the names of one or more columns", TableLabels().fit, table, [])
    refuses("must have a value in a column of features", TableLabels().fit, {"a": [0, 1], "x": [None, ""]}, "a")
    model = TableLabels(1, ridge=1.0).fit(table, "war")
    refuses("the table has no column 'year'", model.predict, table.drop(columns="year"))
    wrong = table.astype({"year": str}).assign(year="x")
    refuses("column year must contain numbers, as in the training table; row 1 is 'x'", model.predict, wrong)


def test_command(tmp_path):
    """Trained with selected settings, saved, predicted and evaluated on other rows, with the figures of the metrics."""
    rng = np.random.default_rng(2)
    for name in ("train", "test"):
        films(rng).replace({"war": {0: "no", 1: "yes"}}).to_csv(tmp_path / f"{name}.csv", index=False)

    def run(*words):
        done = CliRunner().invoke(app, ["labels", *map(str, words), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    out, test = tmp_path / "model", tmp_path / "test.csv"
    told = run("train", tmp_path / "train.csv", "--labels", "war,love", "--text", "plot", "--out", out)
    assert (told["labels"], told["numbers"], told["categories"], told["loss"]) == (2, "year", "land", "logistic")
    assert set(told["choice"]["settings"]) == {"rank", "ridge"}
    rows = run("predict", out, test)["predictions"]
    model, table = load(out), pd.read_csv(test)
    np.testing.assert_allclose([[row["war"], row["love"]] for row in rows], model.predict_proba(table), atol=1e-4)
    found = run("evaluate", out, test)
    truth = table[["war", "love"]].replace({"no": 0, "yes": 1}).to_numpy(int)
    measures = label_measures(truth, model.decision_function(table), 0.0)
    assert found["micro_ap"] == pytest.approx(measures["micro_ap"])
    assert found["micro_f1"] == pytest.approx(measures["micro_f1"])
    assert found["micro_ap_low"] <= found["micro_ap"] <= found["micro_ap_high"]
    assert found["micro_ap"] > 0.95
    other = tmp_path / "years"
    run("train", tmp_path / "train.csv", "--labels", "year", "--out", other, "--rank", 1, "--ridge", 10)
    [line] = run("evaluate", other, test)["labels"]
    assert (line["label"], line["known_rows"]) == ("year", 80)
    (tmp_path / "bad.csv").write_text("a,b\n1\n3\n1,2\n")
    done = CliRunner().invoke(
        app, ["labels", "train", str(tmp_path / "bad.csv"), "--labels", "a", "--out", str(other), "-f"]
    )
    assert "2 of 3 rows of" in done.output

"""``polyadic machine``: lines of features in, a model in a folder, predictions out; and errors."""

import json
from functools import partial

import numpy as np
import pytest

from helpers import invoke
from polyadic import FactorizationMachineClassifier, load
from polyadic.supervised.task import _in_order
from polyadic.text.feature_lines import read_feature_lines

pytestmark = pytest.mark.filterwarnings("ignore::polyadic.core.solvers.run.NotConvergedWarning")


run = partial(invoke, "machine")


def written(path, X, y, qid=None):
    lines = []
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        group = "" if qid is None else f" qid:{qid[i]}"
        lines.append(f"{label:g}{group}" + "".join(f" {j + 1}:{value!r}" for j, value in enumerate(x.tolist())) + "\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file to train on and one to predict for each task; products of two features matter."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("lines")
    X = rng.standard_normal((300, 4)).round(3)
    truth = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    labels = {
        "regression": truth + 0.1 * rng.standard_normal(300),
        "classification": np.where(truth > 1, 1, -1),
        "ranking": np.digitize(truth, [-1, 1, 3]),
    }
    qid = np.arange(300) // 10
    found = {}
    for task, y in labels.items():
        groups = qid if task == "ranking" else None
        parts = (slice(0, 200), slice(200, None))
        found[task] = [
            written(folder / f"{task}{k}.txt", X[part], y[part], None if groups is None else groups[part])
            for k, part in enumerate(parts)
        ]
    return found


@pytest.mark.parametrize("solver", ["mcmc", "als", "adagrad", "sgd"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_what_is_trained_predicts_and_is_evaluated(files, tmp_path, task, solver):
    """By every solver; the folder says on the test lines what training said of them as validation."""
    train, test = files[task]
    more = ["--draws", 40] if solver == "mcmc" else ["--ridge", 0.2, "--max-iter", 80]
    done = run("train", train, "--out", tmp_path / "m", "--task", task, "--solver", solver, "--rank", 2,
               "--validation", test, "--json", *more)  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["rows"], told["features"]) == (200, 5)
    again = json.loads(run("evaluate", tmp_path / "m", test, "--json").stdout)
    name = "rmse" if task == "regression" else "accuracy"
    assert again[name] == told[f"validation_{name}"]
    assert again["rmse"] < 0.8 if task == "regression" else again["accuracy"] > 0.85
    shown = run("predict", tmp_path / "m", test).stdout.splitlines()
    assert shown[0] == ("prediction" if task == "regression" else "class\tP(1)")
    assert len(shown) == 101
    assert run("predict", tmp_path / "m", test, "--out", tmp_path / "p.txt").exit_code == 0
    assert (tmp_path / "p.txt").read_text().splitlines() == shown[1:]  # a pipe has no fewer digits
    X, _, _ = read_feature_lines(test)
    found = np.loadtxt(tmp_path / "p.txt", ndmin=2)
    np.testing.assert_allclose(found[:, 0], load(tmp_path / "m").predict(X), rtol=1e-6)
    in_json = json.loads(run("predict", tmp_path / "m", test, "--json").stdout)
    assert len(in_json["predictions"]) == in_json["rows"] == 100


@pytest.mark.parametrize(
    ("options", "of"), [(["--draws", 40], "prediction"), (["--task", "classification", "--solver", "als"], "class")]
)
def test_why_a_line_is_predicted_so(files, tmp_path, options, of):
    """The largest parts of each line, in a table, a file and in JSON, with the names that are given."""
    train, test = files["classification" if of == "class" else "regression"]
    assert run("train", train, "--out", tmp_path / "m", "--rank", 2, *options).exit_code == 0
    names = tmp_path / "names.txt"
    names.write_text("none\none\ntwo\nthree\nfour\n")
    how = ["predict", tmp_path / "m", test, "--why", 2]
    told = json.loads(run(*how, "--json").stdout)["predictions"]
    heading, *lines = run(*how, "--names", names).stdout.splitlines()
    shown = ["prediction", "base", "why"] if of == "prediction" else ["class", "P(1)", "log-odds", "base", "why"]
    assert heading.split("\t") == shown
    model, X = load(tmp_path / "m"), read_feature_lines(test).features
    scores = model.decision_function(X) if of == "class" else model.predict(X)
    for i, (line, row) in enumerate(zip(lines, told, strict=True)):
        why = model.explain(X[[i]], names.read_text().split())
        assert row["value"] == pytest.approx(scores[i], abs=1e-6)
        assert row["base"] == round(why.base, 6)
        assert row["why"] == [
            {"features": [*name], "part": round(part, 6)} for name, part in model.explain(X[[i]]).parts[:2]
        ]
        assert line.endswith(", ".join(f"{' * '.join(name)} {part:+.3g}" for name, part in why.parts[:2]))
    first = [row["why"][0]["features"] for row in told]
    assert first.count([1]) + first.count([2, 3]) > 95  # which the labels are made of
    assert run(*how, "--names", names, "--out", tmp_path / "p.txt").exit_code == 0
    assert (tmp_path / "p.txt").read_text().splitlines() == lines


def test_reasons_that_are_not_told(files, tmp_path):
    """Of means of probabilities, of names that do not fit, or for nothing."""
    train, test = files["classification"]
    assert run("train", train, "--out", tmp_path / "m", "--task", "classification", "--draws", 3).exit_code == 0
    names = tmp_path / "names.txt"
    names.write_text("one\n")
    for options, message in (
        (["--why", 2], "averages of probabilities cannot be decomposed"),
        (["--why", 2, "--names", names], "names must have one name for each of the 5 features; got 1"),
        (["--names", names], "--names can be used only together with --why"),
    ):
        done = run("predict", tmp_path / "m", test, *options)
        assert done.exit_code == 1
        assert message in done.stderr


def test_grades_are_ranked_within_their_groups(files, tmp_path):
    """Most pairs of groups that were not seen are in order."""
    train, test = files["ranking"]
    done = run("train", train, "--out", tmp_path / "m", "--task", "ranking", "--rank", 2)
    assert done.exit_code == 0, done.output
    assert json.loads(run("evaluate", tmp_path / "m", test, "--json").stdout)["pairs_in_order"] > 0.85
    done = run("evaluate", tmp_path / "m", files["regression"][1])
    assert done.exit_code == 1
    assert "it has none" in done.stderr
    done = run("train", files["regression"][0], "--out", tmp_path / "n", "--task", "ranking")
    assert done.exit_code == 1
    assert "must have a query id (qid:)" in done.stderr


def test_features_beyond_those_trained_are_counted_or_refused(files, tmp_path):
    """Skipped ones change nothing; with --unknown error the line is named."""
    train, _ = files["regression"]
    assert run("train", train, "--out", tmp_path / "m", "--draws", 3).exit_code == 0
    few, more = tmp_path / "few.txt", tmp_path / "more.txt"
    more.write_text("0 1:1\n0 2:1 77:5\n0 99:1\n")
    few.write_text("0 1:1\n0 2:1\n0\n")
    done = run("predict", tmp_path / "m", more)
    assert done.stdout == run("predict", tmp_path / "m", few).stdout
    assert "skipped 2 values" in done.stderr
    done = run("predict", tmp_path / "m", more, "--unknown", "error")
    assert done.exit_code == 1
    assert "row 2: feature 77 was not in the training data" in done.stderr


def test_pairs_in_order_are_those_of_counting():
    """Of equal scores half, of equal grades none; only within groups."""
    rng = np.random.default_rng(0)
    scores, grades, groups = rng.integers(0, 5, 60), rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    pairs = [(i, j) for i in range(60) for j in range(60) if groups[i] == groups[j] and grades[i] > grades[j]]
    right = np.mean([(np.sign(scores[i] - scores[j]) + 1) / 2 for i, j in pairs])
    assert _in_order(scores, grades, groups) == pytest.approx(right)


def test_classes_that_are_words(files, tmp_path):
    """A model that was fitted in a program may have them; it predicts lines all the same."""
    X, y, _ = read_feature_lines(files["classification"][0])
    FactorizationMachineClassifier(2, seed=0).fit(X, np.where(y > 0, "yes", "no")).save(tmp_path / "m")
    lines = run("predict", tmp_path / "m", files["classification"][1]).stdout.splitlines()
    assert lines[0] == "class\tP(yes)"
    assert {line.split("\t")[0] for line in lines[1:]} == {"yes", "no"}
    assert run("predict", tmp_path / "m", files["classification"][1], "--out", tmp_path / "p").exit_code == 0
    assert (tmp_path / "p").read_text().splitlines() == lines[1:]


def test_groups_of_features_have_penalties_of_their_own(files, tmp_path):
    """A number a line, the first for feature 0; faults name the file."""
    train, _ = files["regression"]
    groups = tmp_path / "groups.txt"
    groups.write_text("0\n0\n1\n1\n2\n")
    assert run("train", train, "--out", tmp_path / "m", "--draws", 3, "--set", f"groups={groups}").exit_code == 0
    assert load(tmp_path / "m").penalties_.shape == (3, 9)
    for text, message in (("0\n1\n", "for each of the 5 features"), ("a\n", "must contain a whole number")):
        groups.write_text(text)
        done = run("train", train, "--out", tmp_path / "n", "--draws", 3, "--set", f"groups={groups}")
        assert done.exit_code == 1
        assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:2\n", "line 1: expected a label"),
        ("1 1:2\n1 1:nan\n", "line 2: expected a finite number; got 'nan'"),
        ("1 1:x\n", "line 1: expected a finite number; got 'x'"),
        ("", "is empty"),
    ],
)
def test_bad_lines_are_refused(tmp_path, text, message):
    """With the file and the line; nothing is written."""
    file = tmp_path / "bad.txt"
    file.write_text(text)
    done = run("train", file, "--out", tmp_path / "m")
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ridge", 1], "--ridge is not used by --solver mcmc, only by als, adagrad, sgd"),
        (["--solver", "als", "--draws", 9], "--draws is not used by --solver als, only by mcmc"),
        (["--solver", "als", "--set", "learning_rate=1"], "--set learning_rate is not used by --solver als, only by"),
        (["--task", "classification"], "labels of two classes"),
        (["--task", "ranking", "--solver", "als"], "--task ranking requires --solver adagrad; got als"),
        (["--set", "loss=huber"], "--set loss is not used by --solver mcmc, only by als"),
        (["--task", "classification", "--set", "clip=true"], "--set clip is not used for --task classification"),
        (["--solver", "als", "--set", "loss=poisson"], "--set loss=poisson is not supported by --solver als"),
        (["--solver", "sgd", "--set", "loss=poisson"], "targets must not be negative"),
    ],
)
def test_options_that_do_not_fit_are_refused(files, tmp_path, options, message):
    """In one sentence, before a folder is made."""
    done = run("train", files["regression"][0], "--out", tmp_path / "m", *options)
    assert done.exit_code == 1
    assert message in done.stderr
    assert not (tmp_path / "m").exists()


def test_a_folder_of_another_kind_is_refused(files, tmp_path):
    """Neither read nor replaced."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "meta.json").write_text('{"kind": "corpus", "version": 1}')
    for arguments in (["predict", tmp_path / "other", files["regression"][1]],
                      ["train", files["regression"][0], "--out", tmp_path / "other", "--force"]):  # fmt: skip
        done = run(*arguments)
        assert done.exit_code == 1
        assert "other contains Corpus, " in done.stderr or "exists but is not a folder of kind 'model'" in done.stderr


def test_ctrl_c_keeps_whole_sweeps_or_nothing(files, tmp_path, monkeypatch):
    """Exit 130: after the first draw the folder is there and predicts, before it there is none."""
    from polyadic.supervised import fm_gibbs as machine_draws
    from polyadic.supervised import fm_solvers as machines

    original = machine_draws.anova_sweep
    for module, options, enough in ((machine_draws, [], 25), (machines, ["--solver", "als"], 5)):
        for sweeps, kept in ((enough, True), (0, False)):
            calls = iter(range(10**9))

            def stop(*arguments, calls=calls, last=sweeps * 9, **options):
                if next(calls) > last:
                    raise KeyboardInterrupt
                return original(*arguments, **options)

            monkeypatch.setattr(module, "anova_sweep", stop)
            out = tmp_path / f"{module.__name__}{kept}"
            done = run("train", files["regression"][0], "--out", out, *options)
            assert done.exit_code == 130, done.output
            assert ("kept the model of the last iteration" in done.stderr) == kept
            assert out.exists() == kept
            monkeypatch.undo()
            if kept:
                assert run("predict", out, files["regression"][1]).exit_code == 0

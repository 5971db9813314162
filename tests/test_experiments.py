"""The runner of experiments and benchmarks, and each experiment from its command to its report, on planted data."""

import json
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Literal
from unittest.mock import MagicMock

import numpy as np
import pytest
from typer.testing import CliRunner

import test_cao2014
import test_huang2017
import test_parser_options
import test_predictors_experiment
import test_relations_experiment
from experiments import BENCHMARKS, EXPERIMENTS, load_experiment
from experiments.__main__ import app, bench_command, experiment_command
from experiments.bouchard2015 import demonstrations
from experiments.cao2014.tasks import TASKS
from experiments.experiment import Run, done, option_of
from experiments.predictors import labels, schools
from experiments.spectral import hidden
from experiments.spectral import protocol as spectral
from experiments.syntax import languages, parsing
from polyadic import Corpus, Embedding, InputError, datasets, read_vectors
from polyadic.cli import demonstration as demo
from polyadic.core.files import plain
from polyadic.core.stage_cache import StageCache
from polyadic.datasets import Instance, SenseSet
from polyadic.metrics.completion import Gap
from polyadic.text.counts import Counts
from polyadic.words import evaluation as words
from polyadic.words.evaluation import induction


@pytest.mark.slow
def test_demo_tells_writes_and_repeats_itself(tmp_path):
    """The demonstration leaves usable folders and a picture, and the same seed gives the same vectors again."""
    told = []
    result = demo.run(tmp_path / "demo", rank=20, report=told.append)
    vectors = Embedding.load(tmp_path / "demo" / "vectors")
    assert vectors.vectors.shape == (result["words"], 20)
    assert result["zeros"] == (vectors.vectors == 0).mean() > 0.1
    assert len(Corpus.open(tmp_path / "demo" / "corpus")) == result["tokens"] > 200_000
    assert len(Counts.open(tmp_path / "demo" / "counts").entries) == result["entries"] > 1_000_000
    np.testing.assert_allclose(read_vectors(tmp_path / "demo" / "vectors.txt").vectors, vectors.vectors)
    assert (tmp_path / "demo" / "senses.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "demo" / "meta.json").read_text())["senses"] == result["senses"]
    assert any("apollo * god" in line for line in told)
    assert {"artemis", "zeus", "healer", "delphi", "gods", "goddess"} & set(result["senses"]["apollo * god"])
    again = demo.run(tmp_path / "demo", rank=20, report=told.append)
    assert again["senses"] == result["senses"]
    np.testing.assert_array_equal(Embedding.load(tmp_path / "demo" / "vectors").vectors, vectors.vectors)


# Tests of word vectors


def themed(n=40, rank=6, seed=0):
    """Vectors of which the last half of the columns are themes that decide, and the others are noise."""
    rng = np.random.default_rng(seed)
    themes = np.repeat(np.eye(rank // 2), -(-n // (rank // 2)), axis=0)[:n] + 0.01 * rng.random((n, rank // 2))
    noise = 5 * rng.standard_normal((n, rank // 2))
    return Embedding([f"w{k}" for k in range(n)], np.hstack([noise, themes]), components=rank // 2)


def gaps_of(vectors, rng):
    """Pairs of words of one theme: another of it is right, one of another theme is wrong."""
    kind = vectors.components.vectors.argmax(axis=1)
    cases = []
    for _ in range(60):
        theme = rng.integers(kind.max() + 1)
        a, b, c = rng.choice(np.flatnonzero(kind == theme), 3, replace=False)
        x, y = rng.choice(np.flatnonzero(kind != theme), 2, replace=False)
        names = [vectors.words[k] for k in (a, b, c, x, y)]
        cases.append(Gap((names[0], names[1]), *names[2:], 1.0))
    return cases


def test_models_are_compared_by_what_they_are_evaluated_by(tmp_path):
    """On the words that all know, the figures of a comparison are those of an evaluation, themes and all."""
    vectors = themed()
    datasets.write_gaps(tmp_path / "gaps.tsv", gaps_of(vectors, np.random.default_rng(1)))
    tests = words.made_tests(tmp_path)
    figures, _ = words.evaluate(vectors, tests)
    rows, left_out = words.compare({"a": vectors, "b": Embedding(vectors.words, vectors.vectors)}, tests)
    assert [row.name for row in rows] == [figure.name for figure in figures]
    np.testing.assert_equal([row.values[0] for row in rows], [figure.value for figure in figures])
    assert rows[0].values[0] == 1 > rows[0].values[1]
    assert left_out == {}


def test_what_one_set_lacks_does_not_hide_another(tmp_path):
    """A file of questions, or an order, without a known case is told by its name; the others have their figures."""
    vectors = themed(9)
    (tmp_path / "known.txt").write_text("w0 w1 w2 w3\nw1 w0 w3 w2\n")
    (tmp_path / "other.txt").write_text("x0 x1 x2 x3\n")
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "few.txt").write_text("w0\nw1\n\nw3\n")  # enough for pairs, not for triples
    tests = words.own_tests(questions=[tmp_path / "known.txt", tmp_path / "other.txt"], groups=[tmp_path / "groups"])
    figures, left_out = words.evaluate(vectors, tests)
    names = ["groups OD2 OPP", "groups OD2 accuracy", "known 3CosAdd accuracy", "known 3CosMul accuracy"]
    assert [figure.name for figure in figures] == names
    assert set(left_out) == {"outliers groups OD3", "outliers groups OD4", "analogies other"}
    _, missing = words.compare({"a": vectors, "b": vectors}, tests)
    assert missing == left_out


def test_files_of_one_name_are_told_apart(tmp_path):
    """Two files of the same name in two folders are two sets."""
    for name, score in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pairs.txt").write_text(f"w0 w1 {score}\nw1 w2 3\nw3 w4 0.5\n")
    files = [tmp_path / name / "pairs.txt" for name in ("a", "b")]
    figures, _ = words.evaluate(themed(9), words.own_tests(pairs=files))
    assert [figure.name for figure in figures] == [f"similarity {file}" for file in files]


def contexts(n=30, *, seed=0):
    """Instances of a word in two senses, each told by the words around it, and vectors that know them."""
    rng = np.random.default_rng(seed)
    about = {"fruit": ["apple", "pear", "plum", "fig"], "metal": ["iron", "zinc", "lead", "gold"]}
    gold, instances = {}, []
    for k in range(n):
        sense = ["fruit", "metal"][k % 2]
        around = " ".join(rng.choice(about[sense], 3))
        instances.append(Instance(f"date.{k}", "date.n", around, "date", ""))
        gold[f"date.{k}"] = {sense: 1.0}
    names = [word for some in about.values() for word in some]
    vectors = np.repeat(np.eye(2), 4, axis=0) + 0.1 * rng.random((8, 2))
    return SenseSet(instances, gold), Embedding([*names, "date"], np.vstack([vectors, [[1.0, 1.0]]]))


@pytest.mark.parametrize("rule", ["sum", "product"])
@pytest.mark.parametrize("number", [2, None])
def test_planted_senses_are_induced(rule, number):
    """Contexts of two senses fall into two clusters, by either rule; the number may be that of the labels."""
    test, vectors = contexts()
    found = induction(vectors, test, number=number, rule=rule)
    assert (found.v_measure, found.paired_f, found.fuzzy_nmi) == pytest.approx((1, 1, 1))


def test_contexts_that_cannot_be_answered_count(tmp_path):
    """Models that answer different contexts are compared over all of them; no number of senses is no None."""
    test, vectors = contexts()
    blind = Embedding(vectors.words, vectors.vectors * (np.arange(9) > 0)[:, None] * (np.arange(9) > 3)[:, None])
    sets = {"senses": partial(words._by_set, "senses", words._induced, sets={"senseval": test})}
    rows, _ = words.compare({"seeing": vectors, "blind": blind}, sets)
    assert {row.used for row in rows} == {30}
    assert all(row.differences[0].value < 0 for row in rows)
    with pytest.raises(InputError, match="number"):
        induction(vectors, test, number=0)


# The runner


def run(name, out, *options):
    return CliRunner().invoke(app, [name, "--out", str(out), *options])


def planted_spectral(monkeypatch):
    monkeypatch.setattr(spectral, "STRINGS", (25,))
    monkeypatch.setattr(spectral, "PENALTIES", (0.03,))
    monkeypatch.setattr(spectral, "SIZES", (200, 400))
    monkeypatch.setattr(spectral, "COLUMNS", {"upos": {"states": (2,), "seeds": 1}})
    for module in (spectral, hidden):
        monkeypatch.setattr(module, "web_treebank", test_parser_options.parts)


def planted_predictors(monkeypatch):
    monkeypatch.setattr(labels, "multilabel", lambda *_: test_predictors_experiment.texts())
    monkeypatch.setattr(schools, "school", lambda **_: test_predictors_experiment.pupils())


def planted_demonstrations(monkeypatch):
    few = {"histories": {"constant steps": [3.0, 2.0]}, "optimum": 1.0}
    monkeypatch.setattr(demonstrations, "descent", lambda *, seed: few if seed == 0 else None)
    monkeypatch.setattr(demonstrations, "signs", lambda *, seed: [] if seed == 0 else None)


RUNS = {
    "bouchard2015": (planted_demonstrations, "--parts demonstrations", "--seed 1", ("Wrong signs",)),
    "cao2014": (
        lambda patch: patch.setitem(TASKS, "penn", lambda **_: (test_cao2014.lists(sentences=(30, 12, 12)), {})),
        "--tasks penn --shares 0.5,1 --orders 2 --ranks 1 --epochs 2 --seeds 2",
        "--k 7",
        ("| T-MIRA 2 1 guided |", "T-MIRA - MIRA"),
    ),
    "huang2017": (
        test_huang2017.planted,
        "--folds 2 --trials 1",
        "--seed 1",
        ("Planted filters", "MR, accuracy", "SUBJ", "MSRP", "STS 2012", ".789"),
    ),
    "predictors": (
        planted_predictors,
        "--parts labels,schools --splits 2",
        "--seed 1",
        ("### bibtex", "| low-rank tasks |"),
    ),
    "relations": (test_relations_experiment.planted, "--parts knowledge --forms CP", "--seed 1", ("| CP |",)),
    "spectral": (
        planted_spectral,
        "--parts completion,tags --planted 2",
        "--planted 3",
        ("| strings | unseen strings count as | as counted ↓ |", "| operators | rank 2, fresh"),
    ),
    "syntax": (
        lambda patch: patch.setattr(parsing, "web_treebank", test_parser_options.parts),
        "--parts parsing --sizes 6,12 --seeds 1",
        "--sizes 6,12 --seeds 2",
        ("| 12 | 0 | with the tensor | 5 |",),
    ),
}
"""For each experiment: what replaces its data, options, options that its stages do not fit, and text of its report."""
LONG = {"huang2017", "predictors"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in RUNS])
def test_a_finished_run_is_kept(name, tmp_path, monkeypatch):
    """It writes tables; a second run makes no stage again and reports the same; other settings are refused or added."""
    prepare, options, other, texts = RUNS[name]
    prepare(monkeypatch)
    out, options = tmp_path / "out", options.split()
    first = run(name, out, *options)
    assert first.exit_code == 0, first.output + repr(first.exception)
    report = (out / "report.md").read_text(encoding="utf-8")
    assert [text for text in texts if text not in report] == []
    facts = json.loads((out / "report.json").read_text())
    assert bool([*out.glob("*.png")]) == (name in {"bouchard2015", "syntax", "cao2014", "huang2017"})
    stages = {path: path.stat().st_mtime_ns for path in out.rglob("*.json") if path.name != "report.json"}
    again = run(name, out, *options, "--json")
    assert json.loads(again.stdout) == facts
    assert {path: path.stat().st_mtime_ns for path in stages} == stages
    if name != "syntax":  # its stages have the seed in their names
        changed = run(name, out, *options, *other.split())
        assert changed.exit_code == 1, changed.output
        assert "was made with" in " ".join(changed.stderr.split())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bouchard2015", "--parts spam", "parts are demonstrations, convex, tensors, corrupted, ratings"),
        ("bouchard2015", "--folds 6", "Invalid value for '--folds'"),
        ("bailey2017", "text.txt --models cp-s,cp-x", "there is no model 'cp-x'; there are"),
        ("bailey2017", "text.txt --shifts a,b", "got 'a,b'"),
        ("bailey2017", "text.txt --kind spam", "'spam'"),
        ("bailey2017", "-", "cannot be read again"),
        ("bailey2017", "nowhere.txt", "nowhere.txt"),
        ("niitsuma2018", "-", "cannot be read again"),
        ("niitsuma2018", "nowhere.txt", "nowhere.txt"),
        ("niitsuma2018", "text.txt --rank 0", "Invalid value for '--rank'"),
        ("niitsuma2018", "text.txt --share 0", "Invalid value for '--share'"),
        ("cao2014", "--mappings guide", "must be one of 'guided', 'sequential', 'random', 'hashed'; got 'guide'"),
        ("cao2014", "--shares a", "--shares takes numbers between commas"),
        ("cao2014", "--shares 2", "--shares must be a finite number above 0 up to 1; got 2.0"),
        ("cao2014", "--folds 2", "--folds must be 1, or at least 3"),
        (
            "huang2017",
            "--parts mr,sst",
            "parts are synthetic, printed, figure4, fourth, mr-dimensions, subj-dimensions, mr, subj",
        ),
        ("huang2017", "--folds 1", "Invalid value for '--folds'"),
        ("predictors", "--parts label", "parts are machines, labels, schools; got label"),
        ("relations", "--forms x", "--forms must be one of"),
        ("spectral", "--parts hmm", "got hmm"),
        ("spectral", "--problems 2", "got 2"),
        ("syntax", "--parts parse", "got parse"),
        ("syntax", "--few 0", "few must be a whole number of at least 1; got 0"),
        ("syntax", "--sizes 0", "sizes must be a whole number of at least 1; got 0"),
    ],
)
def test_wrong_options_are_refused(name, options, message, tmp_path, monkeypatch):
    """Unknown parts, numbers out of range and texts that cannot be read are refused before anything is written."""
    monkeypatch.setattr(datasets, "similarity_sets", MagicMock())
    wrong = run(name, tmp_path / "out", *options.split())
    assert wrong.exit_code in {1, 2}
    assert message in " ".join(wrong.stderr.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [{"forms": ()}, {"seeds": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        load_experiment("relations").settings(**wrong)


class Rows(dict):
    """Stands for the facts of a stage: rows of every name, and none of them."""

    def __missing__(self, key):
        return []


@pytest.mark.parametrize("name", ["bouchard2015", "predictors", "relations", "spectral", "syntax"])
def test_every_part_has_stages_of_its_own(name, tmp_path, monkeypatch):
    """Parts can be gone through with nothing made: each has stages, no name stands twice, and labels can be written."""
    (tmp_path / "text.txt").write_text("a b")
    protocol = import_module(f"experiments.{name}.protocol")
    for module in (protocol, *(part for part in vars(protocol).values() if isinstance(part, ModuleType))):
        readers = {
            "nyt_split",
            "freebase_split",
            "tensor_split",
            "bbc",
            "kos",
            "pautomac_problem",
            "newsgroups",
            "news",
        }
        for reader in readers & set(vars(module)):
            monkeypatch.setattr(module, reader, MagicMock())
    if name == "bouchard2015":
        monkeypatch.setattr(protocol, "data", MagicMock(**{"multilabel.return_value": (1, 2)}))
        monkeypatch.setattr(protocol.retrieval, "read", MagicMock())
    for language in ("treebanks/UD_A", "propositions/UP_A"):
        (tmp_path / "syntax" / language).mkdir(parents=True)
    given = {
        "relations": {"text": (str(tmp_path / "text.txt"),)},
        "bouchard2015": {"collections": "c", "newsgroups": "n"},
    }
    run = Run(protocol.Settings(**given.get(name, {})), tmp_path, tmp_path)
    kept = []
    monkeypatch.setattr(
        StageCache, "keep", lambda _, stage, made_of, *__, **___: kept.append((stage, made_of)) or Rows()
    )
    for part, stages in protocol.STAGES.items():
        before = len(kept)
        done(StageCache(tmp_path, steps=None), part, stages(run))
        assert len(kept) > before, part
        assert all(stage == part or stage.startswith(f"{part}/") for stage, _ in kept[before:])
    assert len({stage for stage, _ in kept}) == len(kept)
    json.dumps([plain(dict(made_of)) for _, made_of in kept])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_setting_that_is_an_option_has_one(name):
    """The command of an experiment has its options, each with a help text; the list of commands describes it."""
    command = experiment_command(name)
    hints = load_experiment(name).settings.hints()
    options = {option.name: option for option in command.params}
    for setting, hint in hints.items():
        assert (setting in options) == (option_of(hint) is not None)
    assert all(option.help for option in options.values())
    assert {"out", "data", "force", "as_json"} < set(options)
    listed = CliRunner().invoke(app, ["--help"]).output
    assert name in listed
    assert command.help.split()[0] in listed


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_are_commands(name):
    """Each benchmark, and each of its commands, has a help text and options that the command line understands."""
    for each in getattr(bench_command(name), "commands", [None]):
        shown = CliRunner().invoke(app, ["bench", name, *([each] if each else []), "--help"])
        assert shown.exit_code == 0, shown.exception
        assert "Usage" in shown.output


def test_a_benchmark_reads_its_arguments(monkeypatch):
    """Numbers come between commas, defaults are those of the function, and values are checked against annotations."""
    got = {}

    def main(data: Literal["a", "b"], *, ranks: tuple[int, ...] = (3, 4), share: float = 0.5) -> None:
        got.update(data=data, ranks=ranks, share=share)

    monkeypatch.setattr("experiments.bench.rerank.main", main)

    def bench(*words):
        return CliRunner().invoke(app, ["bench", "rerank", *words])

    assert bench("a", "--ranks", "5,6").exit_code == 0
    assert got == {"data": "a", "ranks": (5, 6), "share": 0.5}
    assert bench("b").exit_code == 0
    assert got["ranks"] == (3, 4)
    assert "data must be one of 'a', 'b'; got 'c'" in bench("c").stderr
    assert "--ranks takes numbers between commas" in bench("a", "--ranks", "x").stderr


def test_an_unnamed_part_runs_alone_by_default():
    """Other parts of an experiment with a main part run only when they are named; an unknown one is refused."""
    for name in ("bailey2017", "niitsuma2018"):
        chosen = load_experiment(name)
        named = next(part for part in chosen.stages if part)
        assert chosen.chosen() == ("",)
        assert chosen.chosen((named,)) == (named,)
        with pytest.raises(InputError, match=f"parts are {named}.*; got spam"):
            chosen.chosen(("spam",))
        assert named in CliRunner().invoke(app, [name, "--help"]).output


def test_propositions_of_other_languages(tmp_path):
    """Predicates stand one column further to the left, and a folder without a test part is refused."""
    folder = tmp_path / "syntax" / "propositions" / "UP_German"
    folder.mkdir(parents=True)
    words = "1\tHunde\tHund\tNOUN\t_\t_\t2\tnsubj\t_\t_\tA0\n2\tbellen\tbellen\tVERB\t_\t_\t0\troot\tY\tbark.01\t_\n"
    (folder / "de-up-dev.conllu").write_text(words + "\n")
    [sentence] = languages.propositions(folder / "de-up-dev.conllu")
    assert [(each.place, each.sense, each.arguments) for each in sentence.propositions] == [
        (2, "bark.01", ((1, "A0"),))
    ]
    assert languages.names("propositions", tmp_path) == ["UP_German"]
    with pytest.raises(InputError, match="must have a test part"):
        languages.parts("propositions", "UP_German", tmp_path)

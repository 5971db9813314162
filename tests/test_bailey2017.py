"""The comparison of Bailey and Aeron, from a small text to its report: what it writes, skips, refuses and says."""

import contextlib
import inspect
import itertools
import json
import math
import os
import re
import shutil
import signal
import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.bailey2017 import drawing, printed, scoring
from experiments.bailey2017.models import MODELS, Model, Settings, ranks_of, shifts_of, variants
from experiments.bailey2017.protocol import EXPERIMENT
from experiments.bailey2017.tables import MEASURES
from experiments.experiment import run_experiment
from polyadic import Embedding, Entries, InputError, MissingExtraError, RandomVectors, datasets, metrics, plots
from polyadic.core.files import plain
from polyadic.core.stage_cache import RefusedError, StageCache
from polyadic.datasets import Review
from polyadic.interface import errors
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi
from polyadic.words import evaluation as words
from polyadic.words.phrases import phrase_vectors

TOPICS = [
    "moon rocket orbit lunar crew module launch saturn gemini capsule flight pilot",
    "god temple oracle myth altar priest zeus hera ritual shrine prophet omen",
    "film actor award scene oscar director camera studio script role cinema drama",
    "river lake valley bridge canal delta shore flood basin island stream harbor",
    "market bank money trade price stock credit profit loan tax merchant coin",
]
SHARED = ("apollo", "star", "bat")  # words of several topics, and of titles
MODELS_TRIED = "random,cbow,ppmi-svd,cp-s,cp-sn,jcp-s"
SMALL = ("--models", MODELS_TRIED, "--rank", 8, "--min-count", 5, "--quick", "--threads", 1)
STARTS = (
    *(f"Table {n}:" for n in (1, 2, 3)),
    *("Figures 1 and 2:", "Figure 3:", "Figure 4:"),
    *("Phrases:", "Every model against", "All other tests", "Time and memory", "Counts"),
)
STUDIES = ("--shifts", "1,2", "--shift-rank", 4, "--ranks", "4,8")


def article(title, topic, rng, *, name=False):
    """Write an article in the format of WikiExtractor: sentences of words of a topic, and of its title."""
    words = [*topic, *title]
    lines = [" ".join(rng.choice(words, 7)) + "." for _ in range(9)]
    lines += [f"{' '.join(title)} {topic[0]} {topic[1]} {topic[2]}."] * (6 if name else 0)
    text = "\n".join(lines)
    return f'<doc id="1" url="" title="{" ".join(title)}">\n{" ".join(title)}\n\n{text}\n</doc>\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Write 185 articles of five topics, and groups, pairs and questions of their words."""
    folder, rng = tmp_path_factory.mktemp("bailey2017"), np.random.default_rng(0)
    topics = [topic.split() for topic in TOPICS]
    articles = [article((shared, word), topic, rng) for topic in topics for shared in SHARED for word in topic]
    articles += [article(("grand", topic[3], topic[7]), topic, rng, name=True) for topic in topics]
    (folder / "text.txt").write_text("".join(articles), encoding="utf-8")
    (folder / "groups").mkdir()
    for k, topic in enumerate(topics):
        others = [topics[(k + j) % 5][k] for j in (1, 2, 3)]
        (folder / "groups" / f"{k}.txt").write_text("\n".join([*topic[:6], "", *others]), encoding="utf-8")
    pairs = [
        f"{a} {b} {9 if t is u else 1}"
        for t, u in itertools.product(topics, topics)
        for a, b in zip(t[:3], u[3:6], strict=True)
    ]
    (folder / "pairs.txt").write_text("\n".join(pairs), encoding="utf-8")
    both = [[(t[i], t[i + 1]) for t in topics for i in (0, 4)], [(t[i], t[i + 1]) for t in topics for i in (2, 6)]]
    asked = [": capitals", *_asked(both[0]), ": gram1-plural", *_asked(both[1])]
    (folder / "questions.txt").write_text("\n".join(asked), encoding="utf-8")
    return folder


def _asked(pairs):
    return [" ".join((*p, *q)) for p, q in itertools.permutations(pairs, 2)]


def own(place):
    return ("--groups", place / "groups", "--pairs", place / "pairs.txt", "--questions", place / "questions.txt")


def reproduce(place, out, *options):
    return CliRunner().invoke(app, ["bailey2017", *map(str, (place / "text.txt", "--out", out, *options))])


@contextlib.contextmanager
def without_data():
    """Leave the folder of published sets out, but for some reviews."""
    topics = [topic.split() for topic in TOPICS]
    rng = np.random.default_rng(1)
    reviews = [Review(" ".join(rng.choice(topics[n % 2], 2)), n % 2 == 0, f"cv{n:03d}") for n in range(60)]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("POLYADIC_DATA", raising=False)
        patch.setattr(datasets, "polarity", lambda _=None: reviews)
        yield


@pytest.fixture(autouse=True)
def _without_data():
    with without_data():
        yield


@pytest.fixture(scope="module")
def done(place):
    """Run it once, as from the command line."""
    with without_data():
        run = again(place, place / "out", "--json")
    assert run.exit_code == 0, run.output + repr(run.exception)
    return place / "out", json.loads(run.stdout), run


@pytest.fixture
def copied(done, tmp_path):
    """Give a finished run that may be changed."""
    return shutil.copytree(done[0], tmp_path / "out", copy_function=shutil.copy2)


def times(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def again(place, out, *options):
    return reproduce(place, out, *SMALL, *STUDIES, *own(place), "--kind", "all", *options)


def sentence(run):
    assert run.exit_code == errors.BAD_INPUT, run.output + repr(run.exception)
    return run.stderr.splitlines()[-1]


@pytest.mark.slow
def test_everything_is_there(done):
    """The folder has every stage; the report has every table and figure, and says what is left out."""
    out, report, run = done
    tried = MODELS_TRIED.split(",")
    studied = ["cp-s-shift-1", "cp-s-shift-2", "jcp-s-rank-4"]
    assert list(report["models"]) == tried + studied
    for name in tried + studied:
        assert Embedding.load(out / "models" / name).words == Embedding.load(out / "models" / "random").words
        kept = json.loads((out / "models" / f"{name}.json").read_text())["facts"]
        assert kept["peak_mib"] >= kept["idle_mib"] > 0
        assert kept["versions"]["numpy"] == np.__version__
    titles = [table["title"] for table in report["tables"]]
    text = (out / "report.md").read_text()
    assert [title for title in titles if f"## {title}\n" not in text] == []
    for start in STARTS:
        assert any(title.startswith(start) for title in titles), start
    assert "random vectors do as well as trained ones" in text
    assert report["corpus"]["digest"][:16] in text
    for figure in report["figures"]:
        assert (out / "figures" / f"{figure['name']}.png").read_bytes().startswith(b"\x89PNG")
    assert {figure["name"].partition("-")[0] for figure in report["figures"]} == {f"figure{n}" for n in (1, 2, 3, 4)}
    assert "POLYADIC_DATA" in report["left_out"]["outliers"]
    assert "never in the training" in report["left_out"]["completion"]
    assert f"left out: completion: {report['left_out']['completion']}" in run.stderr
    assert {"phrases own AUC", "names AUC"} & set(report["models"]["cp-sn"]["figures"])


@pytest.mark.slow
def test_figures_agree(done):
    """Tables, figures and models of the report tell the same numbers, and those are what the vectors give."""
    out, report, _ = done
    tables = {table["name"]: table for table in report["tables"]}
    (group,) = [name for name in tables if name.startswith("table1")]
    of = group.removeprefix("table1 ")
    rows = {row[0]: dict(zip(tables[group]["headings"], row, strict=True)) for row in tables[group]["rows"]}
    for model in MODELS_TRIED.split(","):
        for measure in MEASURES:
            figure = report["models"][model]["figures"][f"{of} {measure}"]
            assert rows[model][measure] == {key: figure[key] for key in ("value", "low", "high")}
    tests, _ = scoring.chosen_tests((), groups=[out.parent / "groups"])
    figures, _ = words.evaluate(Embedding.load(out / "models" / "cp-s"), tests)
    assert figures
    for figure in figures:
        assert report["models"]["cp-s"]["figures"][figure.name]["value"] == pytest.approx(figure.value)
    by_rank = next(figure for figure in report["figures"] if figure["name"].startswith("figure4"))
    assert by_rank["x"] == [4, 8]
    wide = rows["jcp-s"]["OD2 OPP"]
    assert by_rank["series"]["OD2 OPP"][1] == [wide["value"], wide["low"], wide["high"]]
    assert rows["jcp-s"]["OD2 OPP"]["value"] > rows["random"]["OD2 OPP"]["value"]
    assert tables["table3"]["headings"] == ["phrase", "jcp-s", "cp-sn", "cbow"]
    assert tables["table3"]["rows"][0] == ["pearl * bombardment", *["unknown: pearl, bombardment"] * 3]


@pytest.mark.slow
def test_comparison_is_with_the_best_pairwise_baseline(done):
    """The best pairwise model of a line has no difference from itself; the others have theirs, starred if certain."""
    table = next(table for table in done[1]["tables"] if table["name"] == "comparison")
    assert table["rows"]
    for name, _, best, value, *differences in table["rows"]:
        models = dict(zip(table["headings"][4:], differences, strict=True))
        figures = {model: done[1]["models"][model]["figures"].get(name) for model in models}
        assert value == max(figures[model]["value"] for model in models if MODELS[model].pairwise)
        assert models[best] is None
        for model, difference in models.items():
            if difference is not None:
                assert difference["value"] == pytest.approx(figures[model]["value"] - value)
                assert difference["certain"] == (difference["low"] > 0 or difference["high"] < 0)
    assert " *" in (done[0] / "report.md").read_text()


@pytest.mark.slow
def test_phrases_from_triples_are_those_of_the_counts(done):
    """The figures are those of vectors made of the triples; the difference is from the best pairwise vectors."""
    out, report, _ = done
    vectors, counts = Embedding.load(out / "models" / "cp-sn"), Counts.open(out / "counts" / "triples")
    cases = datasets.read_phrases(out / "tests" / "phrases.tsv")
    direct = metrics.phrases.phrases(vectors, cases, make=partial(phrase_vectors, vectors, ppmi(counts))).figures(
        "direct"
    )
    table = next(table for table in report["tables"] if table["name"] == "titles")
    row = next(dict(zip(table["headings"], row, strict=True)) for row in table["rows"] if row[0] == "cp-sn")
    for name, figure in zip(("selection", "retrieval"), direct, strict=True):
        found = row[f"phrases from triples {name}"]
        assert found["value"] == pytest.approx(figure.value)
        others = [each["figures"][f"phrases {name}"] for m, each in report["models"].items() if pairwise(m)]
        above = row[f"phrases from triples {name} above the best pairwise"]
        assert above["value"] == pytest.approx(figure.value - max(other["value"] for other in others))


def pairwise(model):
    return model in MODELS and MODELS[model].pairwise


@pytest.mark.slow
def test_a_second_run_does_nothing(done, place):
    """Nothing is written again but pictures, and the same report comes back."""
    out, report, _ = done
    before = times(out)
    run = again(place, out, "--json")
    assert json.loads(run.stdout) == report
    after = times(out)
    assert {path.parts[0] for path in before if after[path] != before[path]} <= {"figures"}
    assert set(after) == set(before)


@pytest.mark.slow
def test_a_killed_run_goes_on(place, copied):
    """What is missing is made, from the first missing stage on, and nothing before it is touched."""
    before = times(copied)
    shutil.rmtree(copied / "models" / "cp-sn")
    for name in ("scores/random", "tables", "report"):
        (copied / f"{name}.json").unlink()
    run = again(place, copied)
    assert run.exit_code == 0, run.output
    after = times(copied)
    assert set(after) == set(before)
    changed = {path for path in after if after[path] != before[path] and path.parts[0] != "figures"}
    assert (
        {"tables.json"}
        < {path.name for path in changed if len(path.parts) == 1}
        <= {*("report.json", "report.md", "tables.json")}
    )
    assert {path.parts[1].partition(".")[0] for path in changed if len(path.parts) > 1} == {"cp-sn", "random"}
    kept = [line for line in run.stdout.splitlines() if line.endswith("kept yes")]
    assert len(kept) == 8 + 2 * 9 - 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--rank", "9"), "models/random was made with rank 8 instead of 9; choose another folder"),
        (("--seed", "1"), "split was made with seed 0 instead of 1"),
        (("--min-count", "6"), "corpus was made with min_count 5 instead of 6"),
        (("--share", "0.2"), "split was made with share 0.1 instead of 0.2"),
        (("--pairs", "{place}/others.txt"), "scores/random was made with another test own similarity"),
    ],
)
def test_other_settings_are_refused(done, place, options, expected):
    """A finished stage of other settings is refused in a sentence that names them, and stays as it is."""
    (place / "others.txt").write_text("moon rocket 9\nmoon god 1\nmoon film 2\n", encoding="utf-8")
    before = times(done[0])
    assert expected in sentence(again(place, done[0], *(option.format(place=place) for option in options)))
    assert times(done[0]) == before


@pytest.mark.slow
def test_force_replaces_what_differs(place, copied):
    """With ``--force`` the models of another rank are made anew, and the corpus and counts are kept."""
    before = times(copied)
    few = ("--models", "random,ppmi-svd", "--shifts", "none", "--ranks", "none", "--rank", 6, "--force")
    run = again(place, copied, *few)
    assert run.exit_code == 0, run.output
    assert Embedding.load(copied / "models" / "ppmi-svd").rank == 6
    after = times(copied)
    same = [path for path in before if path.parts[0] in {"corpus", "split", "counts", "tests"}]
    assert [path for path in same if after[path] != before[path]] == []


class Quits:
    """A model that cannot be fitted."""

    error: BaseException = InputError("this text has no such tuples")

    def __init__(self, rank, *, seed=None):
        del rank, seed

    def fit(self, corpus):
        assert corpus is not None
        raise self.error


class Told:
    """Remembers the stages that were done."""

    def __init__(self):
        self.done = []

    @contextlib.contextmanager
    def __call__(self, name):
        facts = {}
        yield facts
        if not facts.get("kept"):
            self.done.append(name)


NOTHING = {"shifts": (), "ranks": (), "kinds": ()}


def few(place, monkeypatch):
    monkeypatch.setitem(MODELS, "quits", Model(Quits, "text"))
    source, groups = str(place / "text.txt"), (place / "groups",)
    how = {"models": ("random", "quits", "ppmi-svd"), "rank": 4, "min_count": 5, "quick": True, "alone": False}
    return Settings(source=source, groups=groups, **how, **NOTHING)


@pytest.mark.slow
def test_a_model_that_fails_is_left_out_and_one_that_is_stopped_is_not(place, tmp_path, monkeypatch):
    """A model that needs what is not installed is named with the reason; Ctrl-C ends the run, which then goes on."""
    out, told, settings = tmp_path / "out", Told(), few(place, monkeypatch)
    monkeypatch.setattr(Quits, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, out, settings=settings, steps=told)
    assert told.done[-2:] == ["models/ppmi-svd", "scores/ppmi-svd"]
    assert not (out / "report.json").exists()
    extra = MissingExtraError("gensim", "gensim", "word2vec")
    monkeypatch.setattr(Quits, "error", extra)
    sentences = []
    report = run_experiment(EXPERIMENT, out, settings=settings, steps=told, warn=sentences.append)
    assert told.done.count("models/random") == 1
    assert report["left_out"]["quits"] == str(extra)
    assert f"left out: quits: {extra}" in sentences
    assert list(report["models"]) == ["random", "ppmi-svd"]
    assert report["models"]["random"]["peak_mib"] is None
    number = len(told.done)
    run_experiment(EXPERIMENT, out, settings=settings, steps=told)
    assert told.done[number:] == []


class Dies:
    """A model whose process is ended from outside, as for want of memory."""

    def __init__(self, rank):
        del rank

    def fit(self, corpus):
        assert corpus is not None
        os.kill(os.getpid(), signal.SIGKILL)


class Warns(RandomVectors):
    """A model that warns."""

    def fit(self, corpus):
        warnings.warn("stopped too early", UserWarning, stacklevel=1)
        return super().fit(corpus)


@pytest.mark.slow
def test_what_happens_in_a_process_is_told(done, tmp_path, monkeypatch):
    """Bad settings, a warning and the end of a process of its own all come back as sentences."""
    source = done[0] / "corpus"
    rows = {"dies": Model(Dies, "text"), "warns": Model(Warns, "text")}
    for name, row in rows.items():
        monkeypatch.setitem(MODELS, name, row)
    settings = Settings(source=str(source), models=("nnse", *rows), rank=90, **NOTHING)
    report = run_experiment(EXPERIMENT, tmp_path / "out", settings=settings)
    assert "rank must be a whole number from 1 to 64; got 90" in report["left_out"]["nnse"]
    assert "most likely for want of memory" in report["left_out"]["dies"]
    assert report["models"]["warns"]["warnings"] == ["stopped too early"]
    assert "warns: stopped too early." in (tmp_path / "out" / "report.md").read_text()
    assert not (tmp_path / "out" / "corpus").exists()
    assert report["corpus"]["encoding"]["min_count"] == 5


@pytest.mark.realdata
def test_the_half_that_no_setting_was_chosen_on(realdata):
    """The test half of the published groups is every second one, in the order of their files, and is told apart."""
    tests, left_out = scoring.chosen_tests(["outliers"], root=realdata)
    groups = datasets.outlier_groups("wikisem500", root=realdata)[1::2]
    items = {part for group in groups for item in (*group.cluster, *group.outliers) for part in item.split("_")}
    vectors = Embedding(sorted(items), np.random.default_rng(0).normal(size=(len(items), 4)))
    figures, _ = words.evaluate(vectors, {"half": tests["outliers, test half"]})
    assert {figure.name.partition(" OD")[0] for figure in figures} == {"wikisem500 (test half)"}
    assert figures[0].used == figures[0].total == sum(len(group.outliers) for group in groups)
    assert left_out == {}


def test_options_of_the_text_come_too_late_for_a_corpus(tmp_path):
    """A corpus that is encoded already keeps its vocabulary."""
    (tmp_path / "meta.json").write_text("{}")
    late = ["bailey2017", str(tmp_path), "--out", str(tmp_path / "out"), "--max-size", "9"]
    assert "too late" in sentence(CliRunner().invoke(app, late))


def test_settings_of_a_row_reach_its_model():
    """A row's settings, the rank and the seed are arguments; a quick run has few sweeps; others are refused early."""
    row = MODELS["cp-sn"]
    assert row.arguments(rank=7, seed=3) == {"rank": 7, "seed": 3, **row.settings}
    assert MODELS["cbow"].arguments(rank=7, seed=3, quick=True)["epochs"] < 5
    assert "epochs" not in row.arguments(rank=7, seed=3, quick=True)
    for name, model in MODELS.items():
        made = model.make(**model.arguments(rank=7, seed=3))
        assert made.rank == 7, name
    for wrong in ({"models": ()}, {"models": ("cp", "cp")}, {"rank": 0}, {"share": 1.0}, {"shifts": (0.5,)}):
        with pytest.raises(InputError):
            Settings(**wrong)


def test_studies_belong_to_their_models():
    """Shifts and ranks are studied where their model is asked for; the main rank is the main model."""
    settings = Settings(models=("cp-s", "jcp-s"), rank=50, shifts=(1, 15), ranks=(25, 50))
    assert [v.row.weights["triples"]["shift"] for v in shifts_of(settings).values()] == [1.0, 15.0]
    assert [v.name for v in variants(settings)] == ["cp-s", "jcp-s", "cp-s-shift-1", "cp-s-shift-15", "jcp-s-rank-25"]
    assert ranks_of(settings)[50].main
    assert [v.name for v in variants(Settings(models=("cbow",)))] == ["cbow"]


def test_stages_are_remade_only_where_they_differ(tmp_path):
    """A stage is done once, refused when made of something else, replaced by force, and redone when it is gone."""
    calls = []

    def make():
        calls.append(1)
        (tmp_path / "a.txt").write_text("made")
        return {"size": 4, "odd": math.nan}

    def keep(store, **made_of):
        return store.keep("a", made_of, make, target=tmp_path / "a.txt")

    store = StageCache(tmp_path, steps=Told())
    first = keep(store, rank=3)
    assert (first["size"], first["odd"]) == (4, None)
    assert keep(store, rank=3) == first
    with pytest.raises(RefusedError, match="rank 3 instead of 4"):
        keep(store, rank=4)
    assert len(calls) == 1
    keep(StageCache(tmp_path, steps=Told(), force=True), rank=4)
    (tmp_path / "a.txt").unlink()
    keep(store, rank=4)
    assert len(calls) == 3
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(RefusedError, match="cannot be read"):
        keep(store, rank=4)


def test_an_interrupted_stage_is_not_kept(tmp_path):
    """A fit keeps what it reached when Ctrl-C comes, and a stage that holds such a fit is done again."""
    store, calls = StageCache(tmp_path, steps=Told()), []

    def make():
        calls.append(1)
        if len(calls) == 1:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return {"size": 4}

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        store.keep("a", {}, make)
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGINT) is handler
    assert store.keep("a", {}, make)["size"] == 4
    assert len(calls) == 2


def test_descriptions_hold_no_addresses():
    """What settings are described by is the same in every process."""
    found = json.dumps(plain({name: model.arguments(rank=1, seed=0) for name, model in MODELS.items()}))
    assert not re.search(r"0x[0-9a-f]{6}", found)


def test_drawings_show_their_numbers():
    """Points and bars stand where the numbers say, with gaps where there are none."""
    series = {"a": [[0.1, 0.0, 0.2], [0.3, 0.2, 0.4]], "b": [[0.5, 0.4, 0.6], [None, None, None]]}
    about = {"title": "t", "xlabel": "x", "ylabel": "y", "series": series}
    ax = drawing.axes({**about, "kind": "curves", "x": [10, 100]})
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.1, 0.3])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [0.5, np.nan])
    ax = drawing.axes({**about, "kind": "bars", "x": [10, 100]})
    assert [bar.get_height() for bar in ax.containers[0]] == [0.1, 0.3]
    with pytest.raises(InputError, match=r"the series 'a' must have shape \(3, 3\)"):
        plots.bars({"a": series["a"]}, ["x", "y", "z"])


def test_equal_ratios_are_equally_far_apart():
    """And each place is named by its number, whole."""
    x = [0.0625, 0.25, 1, 1_000_000]
    ax = plots.curves({"a": np.ones((4, 3))}, x, log=True)
    at = ax.transData.transform([(each, 1) for each in x])[:, 0]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.0625", "0.25", "1", "1,000,000"]
    assert not ax.xaxis.get_minorticklocs().size
    with pytest.raises(InputError, match="x must be positive"):
        plots.curves({"a": np.ones((2, 3))}, [0, 1], log=True)


def test_every_statistic_of_a_figure_can_be_read_again():
    """What the measures compute figures by is known by name where figures are kept."""
    measures = [import_module(f"polyadic.metrics.{name}") for name in metrics.__all__]
    found = {
        name
        for module in measures
        for name, function in vars(module).items()
        if inspect.isfunction(function) and [*inspect.signature(function).parameters] == ["rows", "times"]
    }
    assert {"ratio", "rank_correlation", "pair_ratio", "harmonic_mean"} <= found
    assert found == set(scoring.STATISTICS)


# ---- as printed


def _printed_twin(model, lists):
    """Fit a printed model in plain numpy: ReLU, mean squared error of each batch, L1 and Adam, as the formulas say."""
    rng, R = np.random.default_rng(model.seed), model.rank
    bits = [x.values / np.log(2) for x in lists]
    mean = (bits[0].mean() / R) ** (1 / lists[0].order) if len(lists) == 1 else (15 / R) ** 0.5
    U = mean * (1 + rng.standard_normal((lists[0].shape[0], R)) / 5)
    M, S = np.zeros_like(U), np.zeros_like(U)
    for step in range(1, model.steps + 1):
        G = np.zeros_like(U)
        for x, values in zip(lists, bits, strict=True):
            drawn = rng.integers(len(x), size=model.batch)
            cells = rng.integers(len(U), size=(round(model.zeros * model.batch), x.order))
            listed = {frozenset(row) for row in x.indices.tolist()}
            cells = [c for c in cells.tolist() if len(set(c)) == len(c) and frozenset(c) not in listed]
            seen = [(tuple(x.indices[e]), values[e]) for e in drawn] + [(tuple(c), 0.0) for c in cells]
            for words_, value in seen:
                rows = np.maximum(U[list(words_)], 0) if model.nonnegative else U[list(words_)]
                error = 2 * (rows.prod(axis=0).sum() - value) / len(seen)
                for d, word in enumerate(words_):
                    G[word] += error * np.delete(rows, d, axis=0).prod(axis=0)
        if model.nonnegative:
            G = G * (U > 0) + model.l1 * np.sign(U)
        M, S = 0.9 * M + 0.1 * G, 0.999 * S + 0.001 * G**2
        U = U - model.learning_rate * (M / (1 - 0.9**step)) / (np.sqrt(S / (1 - 0.999**step)) + 1e-8)
    return np.maximum(U, 0) if model.nonnegative else U


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("joint", [False, True])
def test_printed_models_follow_the_printed_formulas(nonnegative, joint):
    """Vectors after some steps are those of plain numpy, for one and two orders, with and without ReLU and L1."""
    rng = np.random.default_rng(3)
    lists = [
        Entries.collect(rows, rng.random(len(rows)) + 1, 9)
        for n in (2, 3)
        for rows in [[c for c in itertools.combinations(range(9), n) if rng.random() < 0.2]]
    ]
    lists = lists if joint else lists[1:]
    how = {"batch": 20, "steps": 40, "zeros": 2.0, "learning_rate": 0.1, "seed": 1}
    model = printed.PrintedCP(3, nonnegative=nonnegative, l1=0.01, **how)
    found = model.fit(lists if joint else lists[0]).vectors_
    np.testing.assert_allclose(found, _printed_twin(model, lists), atol=2e-3)
    assert bool((found == 0).any()) == nonnegative


def test_neighbours_nearby_and_chains():
    """Neighbours are counted by hand; chains lead from the printed models to those of the library."""
    vectors = Embedding(["a", "b", "c"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    figure = printed.neighbours_nearby(vectors, Entries.collect([[0, 1], [0, 2]], [1.0, 1.0], 3), common=2)
    assert figure.rows.tolist() == [[2, 2], [1, 2]]
    for name, chain in printed.CHAINS.items():
        first, *_, last = chain.values()
        assert (first, last) == (printed.ARMS[f"{name}, printed"], MODELS[name])

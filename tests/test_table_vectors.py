"""Word vectors by correspondence analysis: their kernels, the command line, and the published comparison."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app as experiments_app
from experiments.niitsuma2018 import protocol as niitsuma2018
from helpers import invoke
from polyadic import Corpus, CorrespondenceAnalysis, Embedding, InputError, KernelCorrespondenceAnalysis, count, load
from polyadic import datasets as sets
from polyadic.interface import errors
from polyadic.tables.vectors import CorrespondenceVectors
from polyadic.text.contexts import contexts

TOPICS = [
    "moon rocket orbit lunar crew module",
    "god temple oracle myth altar priest",
    "film actor award scene oscar role",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sentences of three topics, with stop words between."""
    rng = np.random.default_rng(0)
    lines = []
    for topic in [topic.split() for topic in TOPICS] * 120:
        some = rng.choice(topic, 5)
        lines.append(" ".join(f"the {word}" if rng.random() < 0.5 else word for word in some))
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    return Corpus.build(file, file.parent / "corpus", min_count=1, format="lines")


def test_vectors_are_coordinates(corpus):
    """Vectors of words and of contexts are the two sides of the analysis; of a symmetric table they are alike."""
    left = contexts(corpus, side="left")
    plain = CorrespondenceAnalysis(3, power=0.5).fit(left)
    for side in ("rows", "columns"):
        found = CorrespondenceVectors(3, side=side).fit(left)
        np.testing.assert_allclose(found.vectors_, plain.coordinates(side), atol=1e-5)
    pairs = count(corpus, order=2, width=2).entries
    rows, columns = (
        CorrespondenceVectors(3, side=side, count_exponent=0.5).fit(pairs).vectors_ for side in ("rows", "columns")
    )
    np.testing.assert_allclose(rows @ rows.T, columns @ columns.T, atol=1e-4)
    neighbours = CorrespondenceVectors(5).fit(pairs).embedding(corpus.vocabulary.words).neighbours("moon", top=4)
    assert {word for word, _ in neighbours} <= set(TOPICS[0].split())


def test_stop_words_are_weighed(corpus):
    """The stop-word kernel is that of kernel correspondence analysis; without a stop word in the text it is refused."""
    table, words = contexts(corpus, side="left"), corpus.vocabulary.words
    found = CorrespondenceVectors(3, stop_weight=2, stop_words={"the"}, words=words).fit(table)
    weights = np.where(np.array(words) == "the", 3.0, 1.0)
    masses = [np.asarray(table.sum(axis=axis)).ravel() / table.sum() for axis in (1, 0)]
    expected = KernelCorrespondenceAnalysis(
        3, power=0.5, row_kernel=weights / masses[0], column_kernel=weights / masses[1]
    ).fit(table)
    np.testing.assert_allclose(found.singular_values_, expected.singular_values_, rtol=1e-5)
    share = np.asarray((table / table.sum()).todense(), float)
    logs = np.log(np.where(share > 0, share, 1) / np.where(share > 0, np.outer(*masses), 1))
    s = np.linalg.svd(np.sqrt(weights)[:, None] * (share * logs) * np.sqrt(weights), compute_uv=False)
    weighed = CorrespondenceVectors(3, residual="g-test", stop_weight=2, stop_words={"the"}, words=words).fit(table)
    np.testing.assert_allclose(weighed.singular_values_, s[:3], rtol=1e-4)
    with pytest.raises(InputError, match="none of the stop words"):
        CorrespondenceVectors(3, stop_weight=2, stop_words={"of"}, words=words).fit(table)


def test_scores_move_words(corpus, tmp_path):
    """Scores of pairs change the vectors and are saved with them; those of unknown words are left out, or refused."""
    table, words = contexts(corpus), corpus.vocabulary.words
    scores = [("moon", "god", 8.0), ("film", "unknown", 3.0)]
    plain = CorrespondenceVectors(3).fit(table)
    found = CorrespondenceVectors(3, scores=scores, score_weight=5, words=words).fit(table)
    assert np.abs(found.singular_values_ - plain.singular_values_).max() > 1e-4
    none = CorrespondenceVectors(3, scores=scores, score_weight=0, words=words).fit(table)
    np.testing.assert_allclose(none.singular_values_, plain.singular_values_, rtol=1e-5)
    with pytest.raises(InputError, match="one pair of different vocabulary words"):
        CorrespondenceVectors(3, scores=scores[1:], words=words).fit(table)
    found.save(tmp_path / "model")
    back = load(tmp_path / "model", CorrespondenceVectors)
    assert back.scores == scores
    np.testing.assert_array_equal(back.vectors_, found.vectors_)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"scores": [("moon", "god", 1.0)], "residual": "g-test"}, "scores require residual='ca'"),
        ({"stop_weight": 1, "residual": "categorical-pca"}, "diagonal kernels; got residual='categorical-pca'"),
        ({"positive": False}, "positive require residual='sgns'"),
        ({"stop_weight": 1, "scores": [("moon", "god", 1.0)]}, "give one of them"),
        (
            {"stop_weight": 1, "stop_words": {"the"}},
            "must contain one word for each of the 19 rows",
        ),
        ({"score_weight": 2}, "score_weight requires scores"),
    ],
)
def test_options_that_do_not_go_together(options, fault, corpus):
    """What would have no effect is refused."""
    with pytest.raises(InputError, match=fault):
        CorrespondenceVectors(3, **options).fit(contexts(corpus))


def test_vectors_of_places_are_not_those_of_words(corpus):
    """Contexts at places are more than words; words at places have vectors."""
    table = contexts(corpus, positional=True)
    words = corpus.vocabulary.words
    assert len(CorrespondenceVectors(3).fit(table).embedding(words)) == len(words)
    with pytest.raises(InputError, match=r"one word for each of the 76 vectors of the columns; got 19"):
        CorrespondenceVectors(3, side="columns").fit(table).embedding(words)


# ---- the command line


def experiments(*arguments):
    return CliRunner().invoke(experiments_app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "ca"],
        ["--method", "root-ca", "--set", "contexts=left", "--set", "side=columns"],
        ["--method", "g-test", "--set", "window=centred"],
        [
            "--method",
            "kca",
            "--set",
            "residual=sgns",
            "--set",
            "power=1",
            "--set",
            "shift=2",
            "--set",
            "smoothing=0.75",
        ],
        ["--method", "kca", "--set", "stop_weight=-0.5"],
        ["--method", "g-test", "--set", "stop_weight=-0.5"],
        ["--method", "kca", "--set", "residual=sgns", "--set", "positive=false"],
        ["--method", "ca", "--set", "positional=true", "--set", "count_exponent=0.5"],
    ],
)
def test_train(options, corpus, tmp_path):
    """Every method and its options, from a corpus to vectors that say how they were made."""
    done = invoke("train", corpus.path, "--out", tmp_path / "v", "--rank", "4", *options, "--json")
    assert done.exit_code == 0, done.output + repr(done.exception)
    vectors = Embedding.load(tmp_path / "v")
    assert (vectors.rank, len(vectors)) == (4, 19)
    assert vectors.meta["trained"]["method"] == options[1]
    assert vectors.meta["trained"]["width"] == [{"ca": 5, "root-ca": 2}.get(options[1], 10)]


def test_train_with_scores(corpus, tmp_path):
    """Scores come from a file of pairs."""
    (tmp_path / "pairs.txt").write_text("moon god 5\nmoon rocket 1\n")
    how = ("--method", "kca", "--set", f"scores={tmp_path / 'pairs.txt'}", "--set", "score_weight=3", "--rank", "4")
    done = invoke("train", corpus.path, "--out", tmp_path / "v", *how)
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert Embedding.load(tmp_path / "v").meta["trained"]["scores"] == str(tmp_path / "pairs.txt")


def test_train_from_counts_of_pairs(corpus, tmp_path):
    """A folder of counts of pairs is a table."""
    invoke("count", corpus.path, "--out", tmp_path / "counts", "--order", "2", "--width", "5", "--min-count", "1")
    for source, out in ((tmp_path / "counts", "a"), (corpus.path, "b")):
        done = invoke("train", source, "--out", tmp_path / out, "--method", "ca", "--rank", "4")
        assert done.exit_code == 0, done.output
    a, b = (Embedding.load(tmp_path / out).vectors for out in "ab")
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            ["--method", "jcp", "--set", "contexts=left"],
            "--set contexts cannot be used with jcp, but only with ca, root-ca",
        ),
        (
            ["--method", "ca", "--set", "contexts=left", "--set", "window=chunk"],
            "--set window has no effect on one-sided",
        ),
        (
            ["--method", "ca", "--set", "shift=5"],
            "--set shift, --set smoothing and --set positive require --set residual=sgns; got --set residual=ca",
        ),
        (
            ["--method", "kca", "--set", "residual=categorical-pca", "--set", "stop_weight=1"],
            "requires a --set residual with diagonal kernels; got --set residual=categorical-pca",
        ),
        (
            ["--method", "kca", "--set", "stop_weight=-1"],
            "--set stop_weight must be a finite number greater than -1; got -1",
        ),
        (
            ["--method", "kca", "--set", "shift=5"],
            "--set shift, --set smoothing and --set positive require --set residual=sgns; got --set residual=ca",
        ),
        (["--method", "kca", "--set", "residual=sgns", "--set", "weights=log"], "--set weights has no effect"),
        (["--method", "kca", "--set", "scores=nowhere.txt"], "there is no file nowhere.txt"),
        (["--method", "ca", "--set", "order=3"], "the order of ca must be 2; got 3"),
        (["--method", "kca", "--set", "score_weight=7"], "--set score_weight requires scores"),
        (["--method", "kca", "--set", "residual=sgns", "--set", "shift=0.5"], "--set shift must be"),
        (
            ["--method", "ca", "--set", "positional=true", "--set", "side=columns"],
            "cannot be combined with positional",
        ),
        (["--method", "ca", "--set", "contexts=left", "--keep", "kept"], "--keep has no effect"),
    ],
)
def test_train_refuses(options, fault, corpus, tmp_path, monkeypatch):
    """Options without an effect, and what cannot be, are answered before any work."""
    monkeypatch.setattr("polyadic.words.training._data", None)  # what does the work
    done = invoke("train", corpus.path, "--out", tmp_path / "v", *options)
    assert done.exit_code == errors.BAD_INPUT, done.output
    assert fault in done.stderr
    assert not (tmp_path / "v").exists()


# ---- Niitsuma and Lee


@pytest.fixture
def scored(monkeypatch):
    """Pairs of the same topic are alike."""
    pairs = [
        (u, v, 9.0 if a == b else 1.0 + k)
        for k, (a, b) in enumerate([(0, 0), (1, 1), (0, 1), (1, 2), (2, 2), (0, 2)])
        for u, v in zip(TOPICS[a].split()[:3], TOPICS[b].split()[3:], strict=True)
    ]
    names = ("ws353", "men", "mturk-287", "mturk-771", "simlex-999")
    monkeypatch.setattr(sets, "similarity_sets", lambda _=None: {n: [*pairs, ("x", "y", 1.0)] for n in names[:4]} | {
        "simlex-999": [("moon", "rocket", 5.0), ("god", "temple", 4.0)]})  # fmt: skip


@pytest.mark.slow
def test_reproduce_niitsuma2018(corpus, scored, tmp_path):
    """One command makes the table, by both policies; a second run does nothing, and says the same."""
    del scored
    how = ("--out", tmp_path / "out", "--rank", "4", "--min-count", "2", "--share", "1", "--json")
    done = experiments("niitsuma2018", corpus.path, *how)
    assert done.exit_code == 0, done.output + repr(done.exception)
    report = json.loads(done.stdout)
    names = [row["name"] for row in report["rows"]]
    assert names[:4] == ["SGNS", "PPMI-SVD", "Linear CA F", "Linear CA G"]
    assert len(names) == 2 + 2 * len(niitsuma2018.ROWS)
    for row in report["rows"]:
        assert row["men"]["covered"] == row["men"]["total"] - 1
        assert (row["weight"] is None) == (" with " not in row["name"])
    best = {row["name"]: row["men"]["known"] for row in report["rows"]}
    assert best["Linear CA F"] > 0.5
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\| Linear CA F \| \.\d{3} \| .* \| \.189 \|", text)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "models").rglob("*") if path.is_file()}
    again = json.loads(experiments("niitsuma2018", corpus.path, *how).stdout)
    assert again == report
    assert {path: path.stat().st_mtime_ns for path in before} == before
    for changed in (("--rank", "5"), ("--width", "3"), ("--seed", "1")):
        other = experiments("niitsuma2018", corpus.path, *how, *changed)
        assert "was made with" in other.stderr, changed
    wider = experiments("niitsuma2018", corpus.path, *how, "--width", "3", "--force")
    fresh = experiments("niitsuma2018", corpus.path, "--out", tmp_path / "new", *how[2:], "--width", "3")
    values = [[(row["name"], row["men"]) for row in json.loads(run.stdout)["rows"]] for run in (wider, fresh)]
    assert values[0] == values[1]


@pytest.mark.parametrize("finished", [False, True])
def test_reproduce_says_what_ctrl_c_left(finished, corpus, scored, tmp_path, monkeypatch):
    """Before the first stage nothing is left, and that is said; later the finished stages are."""
    del scored

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(niitsuma2018, "_training" if finished else "_corpus", stop)
    done = experiments("niitsuma2018", corpus.path, "--out", tmp_path / "out", "--rank", "4", "--min-count", "2")
    assert done.exit_code == errors.INTERRUPTED
    said = f"kept the finished stages in {tmp_path / 'out'}; repeat the command to resume"
    assert done.stderr.splitlines()[-1] == f"polyadic: interrupted; {said if finished else 'nothing was written'}"
    assert (tmp_path / "out").exists() == finished

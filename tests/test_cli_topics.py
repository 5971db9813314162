"""``polyadic topics``: each of its verbs on a small file, their JSON and their errors."""

import json
import shutil
from functools import partial

import numpy as np
import pytest

from helpers import invoke

SUBJECTS = {"sky": "sun moon star cloud", "law": "court judge trial jury", "sea": "ship wave port sail"}
METHODS = ("nmf", "kl", "plsa", "lda", "anchors", "rlsi")
BY_LINE = ("--documents", "line")
SMALL = ["--n-components", "3", "--min-count", "1", "--set", "threads=1"]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """Ninety documents of three subjects, one a line, and the same as files of a folder."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("docs")
    lines = [" ".join(["the", *rng.choice(words.split(), 12)]) for _ in range(30) for words in SUBJECTS.values()]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "files").mkdir()
    for number, line in enumerate(lines):
        (folder / "files" / f"{number:03d}.txt").write_text(line, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(docs, tmp_path_factory):
    """A model of squares."""
    out = tmp_path_factory.mktemp("models") / "model"
    done = run("train", docs / "lines.txt", *BY_LINE, "--out", out, *SMALL)
    assert done.exit_code == 0, done.output
    return out


run = partial(invoke, "topics")


@pytest.mark.parametrize("method", METHODS)
def test_topics_are_the_subjects(docs, tmp_path, method):
    """Every method finds the words of the three subjects, and says how good they are."""
    done = run("train", docs / "files", "--out", tmp_path / "model", "--method", method, "--top", "4", "--json", *SMALL)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    found = sorted(sorted(words) for words in facts["words_of_topics"].values())
    assert found == sorted(sorted(words.split()) for words in SUBJECTS.values())
    assert (facts["documents"], facts["words"], facts["topics"], facts["diversity"]) == (90, 12, 3, 1)
    assert facts["npmi"] > 0.5
    assert facts["c_v"] > 0.5


def test_show_has_the_words_of_train(model, tmp_path):
    """Words are shown with or without JSON, and drawn."""
    picture = tmp_path / "topics.png"
    shown = run("show", model, "--top", "4", "--picture", picture)
    topics = json.loads(run("show", model, "--top", "4", "--json").stdout)["words_of_topics"]
    assert [line.split("\t")[1].split() for line in shown.stdout.splitlines()[1:]] == list(topics.values())
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "image files must be" in run("show", model, "--picture", tmp_path / "topics.jpeg").output


def test_assign_gives_each_document_its_subject(docs, model, tmp_path):
    """Documents of a subject share their topic; weights are written as they are; an unknown document has none."""
    (tmp_path / "more.txt").write_text("xyzzy\nthe sun and the moon\n", encoding="utf-8")
    rows = json.loads(run("assign", model, docs / "lines.txt", *BY_LINE, "--json").stdout)["documents"]
    assert [len({row["topic"] for row in rows[subject::3]}) for subject in range(3)] == [1, 1, 1]
    assert [row["document"] for row in rows] == list(range(1, 91))
    done = run("assign", model, tmp_path / "more.txt", *BY_LINE, "--out", tmp_path / "weights.npy", "--json")
    first, second = json.loads(done.stdout)["documents"]
    assert (first["topic"], first["share"]) == (None, 0)
    assert second["topic"] == rows[0]["topic"]
    assert np.load(tmp_path / "weights.npy").shape == (2, 3)
    assert (
        "exists already" in run("assign", model, docs / "lines.txt", *BY_LINE, "--out", tmp_path / "weights.npy").output
    )
    assert (
        "--out must be the name"
        in run("assign", model, docs / "lines.txt", *BY_LINE, "--out", tmp_path / "weights.txt").output
    )


@pytest.mark.parametrize("method", METHODS)
def test_documents_of_no_known_word_have_no_topic(docs, tmp_path, method):
    """Whatever the method gives them: mixtures are uniform where nothing is known."""
    (tmp_path / "more.txt").write_text("xyzzy\nsun moon\nzyxxy\n", encoding="utf-8")
    run("train", docs / "lines.txt", *BY_LINE, "--out", tmp_path / "model", "--method", method, *SMALL)
    rows = json.loads(run("assign", tmp_path / "model", tmp_path / "more.txt", *BY_LINE, "--json").stdout)["documents"]
    assert [row["topic"] is None for row in rows] == [True, False, True]
    assert [row["share"] for row in rows if row["topic"] is None] == [0, 0]


@pytest.mark.filterwarnings("default")
def test_one_file_in_another_encoding(docs, model, tmp_path):
    """It is left out and named, with its first odd byte; on request all stops, or its odd bytes alone are replaced."""
    shutil.copytree(docs / "files", tmp_path / "files")
    (tmp_path / "files" / "odd.txt").write_bytes("sun \xa35 moon".encode("latin-1"))
    (tmp_path / "files" / "pound.txt").write_text("sun \xa35 moon caf\xe9 caf\xe9", encoding="utf-8")
    how = ("train", tmp_path / "files", "--out", tmp_path / "model", *SMALL)
    skipped = run(*how, "--json")
    assert json.loads(skipped.stdout)["documents"] == 91
    assert json.loads(skipped.stderr.splitlines()[1])["warning"].startswith("skipped 1 of 92 files: ")
    assert "odd.txt is not utf-8: byte 4 (0xa3)" in skipped.stderr
    refused = run(*how, "--force", "--set", "errors=strict")
    assert refused.exit_code == 1
    assert "odd.txt is not utf-8: byte 4 (0xa3)" in refused.output
    for errors in ("replace", "ignore"):
        facts = json.loads(run(*how, "--set", f"errors={errors}", "--top", "99", "--force", "--json").stdout)
        words = {word for some in facts["words_of_topics"].values() for word in some}
        assert words == {"caf\xe9", *" ".join(SUBJECTS.values()).split()}
        assert facts["documents"] == 92
        done = run("assign", model, tmp_path / "files", "--set", f"errors={errors}", "--json")
        assert json.loads(done.stdout)["documents"][90]["words"]
    assert (
        run("choose", tmp_path / "files", "--n-components", "2", "--min-count", "1", "--set", "errors=ignore").exit_code
        == 0
    )


def test_documents_are_called_by_their_names(docs, model, tmp_path):
    """Files of a folder by their paths in it, rows of a table by their titles, lines by their numbers."""
    (tmp_path / "a.csv").write_text("title,body\nOf stars,the sun and the moon\n,the moon\n", encoding="utf-8")
    (tmp_path / "more").mkdir()
    for name in ("b.txt", "more/c.txt"):
        (tmp_path / name).write_text("the sun", encoding="utf-8")
    for source, options, names in (
        (tmp_path / "a.csv", ("--field", "body"), ["Of stars", 2]),
        (f"{tmp_path}/**/*.txt", (), ["b.txt", "more/c.txt"]),
    ):
        rows = json.loads(run("assign", model, source, *options, "--json").stdout)["documents"]
        assert [row["document"] for row in rows] == names


def test_each_file_of_a_glob_is_a_document(docs, tmp_path):
    """As in a folder; the lines of a file are documents if the user says so."""
    (tmp_path / "two.txt").write_text("sun moon\nsun star\n", encoding="utf-8")
    (tmp_path / "three.txt").write_text("moon\n", encoding="utf-8")
    for source, documents in ((tmp_path / "*.txt", 2), (tmp_path, 2), (tmp_path / "t*o.txt", 0), (docs / "0*.txt", 0)):
        done = run(
            "train",
            source,
            "--out",
            tmp_path / ".model",
            "--n-components",
            "1",
            "--min-count",
            "1",
            "--json",
            "--force",
        )
        assert (json.loads(done.stdout)["documents"] if documents else done.exit_code) == (documents or 1)


def test_an_interrupted_fit_is_kept_and_named(docs, tmp_path, monkeypatch):
    """Ctrl-C ends the fit; what was found is saved, and the exit code says so."""
    from polyadic.topics.nmf import NMF

    fit = NMF.fit

    def stopped(self, X, y=None):
        fit(self, X, y).interrupted_ = True
        return self

    monkeypatch.setattr(NMF, "fit", stopped)
    done = run("train", docs / "lines.txt", *BY_LINE, "--out", tmp_path / "model", *SMALL)
    assert done.exit_code == 130
    assert "interrupted; kept the topics found so far" in done.output
    assert run("show", tmp_path / "model").exit_code == 0
    assert run("choose", docs / "lines.txt", *BY_LINE, "--n-components", "2", "--min-count", "1").exit_code == 130


def test_topics_are_kept_when_their_figures_are_interrupted(docs, tmp_path, monkeypatch):
    """They are saved before they are judged, and the message says so."""
    from polyadic.metrics import topics

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(topics, "in_windows", stopped)
    done = run("train", docs / "lines.txt", *BY_LINE, "--out", tmp_path / "model", *SMALL)
    assert done.exit_code == 130
    assert "interrupted; kept the topics in" in done.output
    assert run("show", tmp_path / "model").exit_code == 0


def test_choose_finds_the_number_of_subjects(docs):
    """Three topics foretell documents held out best, of one, three and eight."""
    how = ["--n-components", "1,3,8", "--folds", "2", "--method", "plsa", "--min-count", "1", "--set", "threads=1"]
    facts = json.loads(run("choose", docs / "lines.txt", *BY_LINE, *how, "--json").stdout)
    assert [one["n_components"] for one in facts["scores"]] == [1, 3, 8]
    assert facts["by_perplexity"] == 3
    assert "perplexity" in run("choose", docs / "lines.txt", *BY_LINE, *how).stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["train", "absent.txt", "--out", "x"], "absent.txt"),
        (["train", "LINES", "--out", "MODEL"], "exists already"),
        (["train", "LINES", "--out", "x", "--min-count", "1000"], "--min-count 1000"),
        (
            ["train", "LINES", "--out", "x", *BY_LINE, "--method", "anchors", "--n-components", "50"],
            "possible anchor words",
        ),
        (["train", "LINES", "--out", "x", "--picture", "x.jpeg"], "image files must be"),
        (["train", "LINES", "--out", "x", "--picture", "absent/x.png"], "the folder absent does not exist"),
        (["train", "LINES", "--out", "x"], "is one document, but topics are learned from several; set --documents"),
        (["train", "JSON", "--out", "x"], "--field must name the column of"),
        (["assign", "MODEL", "EMPTY", *BY_LINE], "at least one document is required"),
        (["show", "absent"], "there is no folder absent"),
        (
            ["choose", "LINES", "--n-components", "5,x"],
            "--n-components must be a list separated by commas",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:n_components should be at most")
def test_faults_are_a_sentence(docs, model, tmp_path, monkeypatch, arguments, fault):
    """What cannot be done is said in one line, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    places = {"LINES": docs / "lines.txt", "MODEL": model, "JSON": docs / "a.jsonl", "EMPTY": docs / "empty.txt"}
    places["JSON"].write_text('{"text": "sun", "n": 1}\n', encoding="utf-8")
    places["EMPTY"].touch()
    done = run(*(places.get(word, word) for word in arguments))
    assert done.exit_code == 1
    assert fault in done.output
    assert not any(tmp_path.iterdir())

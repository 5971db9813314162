"""``lowrank topics``: each of its verbs on a small file, their JSON and their faults."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from lowrank.cli import app

SUBJECTS = {"sky": "sun moon star cloud", "law": "court judge trial jury", "sea": "ship wave port sail"}
METHODS = ("nmf", "kl", "plsa", "lda", "anchors", "rlsi")
SMALL = ["--rank", "3", "--min-count", "1", "--threads", "1"]


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
    done = run("train", docs / "lines.txt", "--out", out, *SMALL)
    assert done.exit_code == 0, done.output
    return out


def run(*arguments):
    return CliRunner().invoke(app, ["topics", *map(str, arguments)])


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
    assert "pictures are" in run("show", model, "--picture", tmp_path / "topics.jpeg").output


def test_assign_gives_each_document_its_subject(docs, model, tmp_path):
    """Documents of a subject share their topic; weights are written as they are; an unknown document has none."""
    (tmp_path / "more.txt").write_text("xyzzy\nthe sun and the moon\n", encoding="utf-8")
    rows = json.loads(run("assign", model, docs / "lines.txt", "--json").stdout)["documents"]
    assert [len({row["topic"] for row in rows[subject::3]}) for subject in range(3)] == [1, 1, 1]
    assert [row["document"] for row in rows] == list(range(1, 91))
    done = run("assign", model, tmp_path / "more.txt", "--out", tmp_path / "weights.npy", "--json")
    first, second = json.loads(done.stdout)["documents"]
    assert (first["topic"], first["share"]) == (None, 0)
    assert second["topic"] == rows[0]["topic"]
    assert np.load(tmp_path / "weights.npy").shape == (2, 3)
    assert "exists already" in run("assign", model, docs / "lines.txt", "--out", tmp_path / "weights.npy").output
    assert "must end in .npy" in run("assign", model, docs / "lines.txt", "--out", tmp_path / "weights.txt").output


def test_an_interrupted_fit_is_kept_and_named(docs, tmp_path, monkeypatch):
    """Ctrl-C ends the fit; what was found is saved, and the exit code says so."""
    from lowrank.models.topics.nmf import NMF

    fit = NMF.fit

    def stopped(self, X, y=None):
        fit(self, X, y).interrupted_ = True
        return self

    monkeypatch.setattr(NMF, "fit", stopped)
    done = run("train", docs / "lines.txt", "--out", tmp_path / "model", *SMALL)
    assert done.exit_code == 130
    assert "interrupted; kept the topics found so far" in done.output
    assert run("show", tmp_path / "model").exit_code == 0
    assert run("choose", docs / "lines.txt", "--ranks", "2", "--min-count", "1").exit_code == 130


def test_choose_finds_the_number_of_subjects(docs):
    """Three topics foretell documents held out best, of one, three and eight."""
    how = ["--ranks", "1,3,8", "--folds", "2", "--method", "plsa", "--min-count", "1", "--threads", "1"]
    facts = json.loads(run("choose", docs / "lines.txt", *how, "--json").stdout)
    assert [one["rank"] for one in facts["ranks"]] == [1, 3, 8]
    assert facts["by_perplexity"] == 3
    assert "perplexity" in run("choose", docs / "lines.txt", *how).stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["train", "absent.txt", "--out", "x"], "absent.txt"),
        (["train", "LINES", "--out", "MODEL"], "exists already"),
        (["train", "LINES", "--out", "x", "--min-count", "1000"], "1000"),
        (["train", "LINES", "--out", "x", "--method", "anchors", "--rank", "50"], "words can be anchors"),
        (["show", "absent"], "is not a topic-model folder"),
        (["choose", "LINES", "--ranks", "5,x"], "--ranks are whole numbers"),
    ],
)
def test_faults_are_a_sentence(docs, model, tmp_path, monkeypatch, arguments, fault):
    """What cannot be done is said in one line, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    given = [word.replace("LINES", str(docs / "lines.txt")).replace("MODEL", str(model)) for word in arguments]
    done = run(*given)
    assert done.exit_code == 1
    assert fault in done.output
    assert not any(tmp_path.iterdir())

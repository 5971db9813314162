"""``polyadic sentences``: each of its verbs on a small file, their JSON and their errors."""

import json
import textwrap
from functools import partial

import numpy as np
import pytest

from helpers import invoke
from polyadic import Corpus, Embedding, load

FRAME = ["the", "film", "is", "a", "very", "story", "with", "actors"]


pytestmark = pytest.mark.filterwarnings("ignore:.*sentences without a known word")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A hundred sentences and an empty line."""
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("text") / "lines.txt"
    made = [
        " ".join([*rng.choice(FRAME, 6), *rng.choice(["good", "fine"] if k % 2 else ["bad", "poor"], 2)])
        for k in range(100)
    ]
    file.write_text("\n".join([*made[:50], "", *made[50:]]) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def models(lines, tmp_path_factory):
    """A model of means, and a convolutional one."""
    folder = tmp_path_factory.mktemp("models")
    for method in ("sif", "convolutional"):
        how = ["--rank", "4", *(["--length", "3", "--filters", "1"] if method == "convolutional" else [])]
        done = run("train", lines, "--out", folder / method, "--method", method, *how)
        assert done.exit_code == 0, done.output
    return folder


run = partial(invoke, "sentences")


@pytest.mark.filterwarnings("ignore:1 of 101")
@pytest.mark.parametrize("method", ["sif", "convolutional"])
def test_a_row_for_each_line(lines, models, tmp_path, method):
    """Vectors are those of the model, one for each line, also for an empty one; what is there is not replaced."""
    out = tmp_path / "vectors.npy"
    done = run("encode", models / method, lines, "--out", out, "--json")
    facts = json.loads(done.stdout)
    vectors = np.load(out)
    assert (facts["sentences"], facts["features"]) == vectors.shape == (101, vectors.shape[1])
    assert not vectors[50].any()
    assert np.delete(vectors, 50, axis=0).any(axis=1).all()
    again = run("encode", models / method, lines, "--out", out)
    assert "exists already" in again.output
    assert "must be a .npy file" in run("encode", models / method, lines, "--out", tmp_path / "vectors.txt").output


@pytest.mark.filterwarnings("ignore:1 of 101")
def test_a_sentence_is_nearest_to_itself(lines, models):
    """The first of the nearest is a line with the same words."""
    query = lines.read_text(encoding="utf-8").split("\n")[7]
    best = json.loads(run("nearest", models / "sif", lines, query, "--top", "3", "--json").stdout)["nearest"]
    assert sorted(best[0]["sentence"].split()) == sorted(query.split())
    assert best[0]["cosine"] == pytest.approx(1, abs=1e-4)
    assert [one["cosine"] for one in best] == sorted((one["cosine"] for one in best), reverse=True)
    assert (
        "no word of the query is in the vocabulary of the model"
        in run("nearest", models / "sif", lines, "xyzzy").output
    )


def test_templates_are_of_convolutional_models(lines, models):
    """Filters are shown with the words under them; a model of means has none."""
    found = json.loads(run("templates", models / "convolutional", lines, "--top", "2", "--json").stdout)["templates"]
    assert len(found) == 4 * 2
    sentences = lines.read_text(encoding="utf-8").split("\n")
    for one in found:
        words = sentences[one["number"] - 1].split()
        assert words[one["word"] - 1 :][:3] == one["words"].split()
    assert "has no filters" in run("templates", models / "sif", lines).output


def test_similar_sentences_of_a_text(tmp_path):
    """Hard-wrapped lines are joined and split into sentences, and similar sentences are found without a saved model."""
    rng = np.random.default_rng(1)
    made = [f"The {a} keeper of the {b} saw a {c} ship in the morning." for a, b, c in rng.choice(FRAME, (150, 3))]
    page = textwrap.fill(" ".join(made), 70)
    (tmp_path / "page.txt").write_text(page, encoding="utf-8")
    how = ["--set", "rank=10", "--set", "min_count=1", "--json"]
    done = run("similar", tmp_path / "page.txt", made[70], *how)
    best = json.loads(done.stdout)["nearest"]
    assert best[0]["cosine"] == 1
    assert all(each["sentence"] == made[each["number"] - 1] for each in best)
    assert "a document is a sentence" in done.stderr
    corpus = Corpus.build(tmp_path / "page.txt", tmp_path / "corpus", min_count=1)
    found = json.loads(run("similar", corpus.path, made[70], *how).stdout)["nearest"]
    assert (found[0]["cosine"], found[0]["sentence"]) == (1, best[0]["sentence"])
    by_line = run("similar", tmp_path / "page.txt", made[70], *how, "--set", "documents=line")
    assert {each["sentence"] for each in json.loads(by_line.stdout)["nearest"]} <= {*page.split("\n")}


def test_a_static_encoder(lines, models, tmp_path):
    """Models of means become a static encoder; others say what to take."""
    assert run("static", models / "sif", "--out", tmp_path / "encoder").exit_code == 0
    assert (tmp_path / "encoder" / "modules.json").is_file()
    assert "static vectors require" in run("static", models / "convolutional", "--out", tmp_path / "other").output
    load(models / "sif").static().save(tmp_path / "words")
    converted = invoke("convert", tmp_path / "words", tmp_path / "new", "--to", "static")
    assert converted.exit_code == 0
    same = ("encoder", "new")
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in same)
    assert first == second


def test_words_of_ones_own(lines, tmp_path):
    """Word vectors may be given as a folder or a file."""
    Embedding(["good", "bad"], [[1.0, 0.0], [0.0, 1.0]]).save(tmp_path / "words")
    done = run("train", lines, "--out", tmp_path / "model", "--method", "mean", "--words", tmp_path / "words", "--json")
    assert json.loads(done.stdout)["words"] == 2


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["train", "absent.txt", "--out", "x"], "absent.txt"),
        (["train", "LINES", "--out", "MODELS/sif"], "exists already"),
        (["train", "LINES", "--out", "x", "--words", "bert"], "words must be"),
        (["train", "LINES", "--out", "x", "--rank", "500"], "rank must be below"),
        (
            ["train", "LINES", "--out", "x", "--method", "convolutional", "--rank", "3", "--length", "20"],
            "--length must be at most",
        ),
        (["train", "LINES", "--out", "x", "--length", "3"], "--length is not used by --method sif"),
        (["encode", "absent", "LINES", "--out", "v.npy"], "there is no folder absent"),
    ],
)
def test_faults_are_a_sentence(lines, models, tmp_path, monkeypatch, arguments, fault):
    """What cannot be done is said in one line, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    given = [word.replace("LINES", str(lines)).replace("MODELS", str(models)) for word in arguments]
    done = run(*given)
    assert done.exit_code == 1
    assert fault in done.output
    assert not any(tmp_path.iterdir())

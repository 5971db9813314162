"""``lowrank hmm``: what is learned is saved, told, drawn; faults are one sentence."""

import json

import pytest
from typer.testing import CliRunner

from lowrank.cli import app
from lowrank.models.sequences.hidden_storage import load_hidden

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter", "ignore:.*made of noise")


def ask(*words, fails=False):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert (done.exit_code != 0) == fails, done.output
    return done.stdout if not fails else done.output


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a b a b\nb a b\na a b b\n\na b\n" * 4)
    return path


def test_a_model_is_learned_and_used(lines, tmp_path):
    """With ends: sequences that are drawn end, paths of states are as long as sequences, perplexity is that of both."""
    model = tmp_path / "model"
    told = json.loads(ask("hmm", "train", lines, "--out", model, "--states", 3, "--steps", 20, "--ends", "--json"))
    assert (told["sequences"], told["symbols"]) == (20, 3)
    scored = json.loads(ask("hmm", "score", model, lines, "--json"))
    assert scored["perplexity"] == pytest.approx(told["perplexity"], abs=1e-3)
    assert scored["symbols"] == 52 + 20
    logs = [float(line) for line in ask("hmm", "score", model, lines, "--each").split()]
    assert sum(logs) == pytest.approx(scored["log_probability"])
    paths = ask("hmm", "states", model, lines).split("\n")[:-1]
    assert [len(path.split()) for path in paths[:5]] == [4, 3, 4, 0, 2]
    ask("hmm", "states", model, lines, "--out", tmp_path / "paths.txt")
    assert (tmp_path / "paths.txt").read_text().split("\n")[:-1] == paths
    drawn = ask("hmm", "sample", model, "--number", 6, "--seed", 1)
    assert len(drawn.split("\n")) == 7
    assert "</s>" not in drawn
    assert drawn == ask("hmm", "sample", model, "--number", 6, "--seed", 1)
    shown = json.loads(ask("hmm", "top", model, "--json"))["states"]
    assert len(shown) == 3
    assert "state" in ask("hmm", "top", model, "--top", 2)


def test_without_ends(lines, tmp_path):
    """Sequences that are drawn have the greatest length; a random start takes any number of states."""
    ask("hmm", "train", lines, "-o", tmp_path / "model", "--states", 4, "--init", "random", "--steps", 3)
    assert load_hidden(tmp_path / "model").symbols_ == ["a", "b"]
    drawn = ask("hmm", "sample", tmp_path / "model", "-n", 2, "--longest", 7).split("\n")
    assert [len(line.split()) for line in drawn[:2]] == [7, 7]


def test_faults_are_one_sentence(lines, tmp_path):
    """And what is there stays."""
    ask("hmm", "train", lines, "-o", tmp_path / "model", "--states", 2, "--steps", 3)
    assert "exists already" in ask("hmm", "train", lines, "-o", tmp_path / "model", fails=True)
    assert "as there are symbols, 2; got 9" in ask(
        "hmm", "train", lines, "-o", tmp_path / "model", "--force", "--states", 9, fails=True
    )
    (tmp_path / "other.txt").write_text("a x\n")
    assert "'x', which was not seen" in ask("hmm", "score", tmp_path / "model", tmp_path / "other.txt", fails=True)
    (tmp_path / "other.txt").write_text("a </s>\n")
    said = ask("hmm", "train", tmp_path / "other.txt", "-o", tmp_path / "m", "--ends", fails=True)
    assert "has the symbol </s> already" in said

"""``polyadic hmm``: what is learned is saved, told, drawn; faults are one sentence."""

import json

import pytest

from helpers import invoke
from polyadic import load

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter", "ignore:.*estimated from noise")


def ask(*words, fails=False):
    done = invoke(*words)
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
    told = json.loads(ask("hmm", "train", lines, "--out", model, "--states", 3, "--max-iter", 20, "--ends", "--json"))
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
    assert {row["symbol"] for state in shown for row in state["symbols"]} == {"a", "b", "</s>"}
    for state in shown:
        chances = [row["probability"] for row in state["symbols"]]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) == pytest.approx(1, abs=1e-5)
    assert "state" in ask("hmm", "top", model, "--top", 2)


def test_without_ends(lines, tmp_path):
    """Sequences that are drawn have the greatest length; a random start takes any number of states."""
    ask("hmm", "train", lines, "-o", tmp_path / "model", "--states", 4, "--init", "random", "--max-iter", 3)
    assert load(tmp_path / "model").symbols_ == ["a", "b"]
    drawn = ask("hmm", "sample", tmp_path / "model", "-n", 2, "--max-length", 7).split("\n")
    assert [len(line.split()) for line in drawn[:2]] == [7, 7]


def test_ends_of_their_own(tmp_path):
    """Sequences that have the end already get no second one, and as many states as there are symbols."""
    lines, model = tmp_path / "lines.txt", tmp_path / "model"
    lines.write_text("a b </s>\nb a </s>\nb b a </s>\n")
    how = ["--states", 2, "--init", "random", "--json"]
    told = json.loads(ask("hmm", "train", lines, "--out", model, *how))
    scored = json.loads(ask("hmm", "score", model, lines, "--json"))
    assert scored["symbols"] == 10
    assert scored["perplexity"] == pytest.approx(told["perplexity"], abs=1e-3)
    assert [len(path.split()) for path in ask("hmm", "states", model, lines).splitlines()] == [3, 3, 4]


def test_symbols_that_were_not_seen(lines, tmp_path):
    """They can be passed over: the rest has its probability, and they have states all the same."""
    model, other = tmp_path / "model", tmp_path / "other.txt"
    ask("hmm", "train", lines, "-o", model, "--states", 2, "--max-iter", 3)
    other.write_text("a b\nx\na x b\n")
    scored = json.loads(ask("hmm", "score", model, other, "--missing", "--json"))
    assert (scored["symbols"], scored["missing"]) == (4, 2)
    logs = [float(line) for line in ask("hmm", "score", model, other, "--missing", "--each").split()]
    assert logs[1] == pytest.approx(0, abs=1e-9)
    assert logs[2] > logs[0] - 1
    assert [len(path.split()) for path in ask("hmm", "states", model, other, "--missing").splitlines()] == [2, 1, 3]


def test_faults_are_one_sentence(lines, tmp_path):
    """And what is there stays."""
    ask("hmm", "train", lines, "-o", tmp_path / "model", "--states", 2, "--max-iter", 3)
    assert "exists already" in ask("hmm", "train", lines, "-o", tmp_path / "model", fails=True)
    assert "got 9 states and 2 symbols" in ask(
        "hmm", "train", lines, "-o", tmp_path / "model", "--force", "--states", 9, fails=True
    )
    (tmp_path / "other.txt").write_text("a x\n")
    assert "'x', which does not occur" in ask("hmm", "score", tmp_path / "model", tmp_path / "other.txt", fails=True)
    (tmp_path / "other.txt").write_text("a </s>\n")
    said = ask("hmm", "train", tmp_path / "other.txt", "-o", tmp_path / "m", "--ends", fails=True)
    assert "must not contain the end symbol </s>" in said

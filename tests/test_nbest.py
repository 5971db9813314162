"""N-best lists: JSON lines and SVMrank lines, as groups, in blocks, with every fault named; ``polyadic rerank``."""

import gzip
import itertools
import json
import os
from functools import partial

import numpy as np
import pytest

from helpers import invoke, output
from polyadic import InputError, NBestLists, load
from polyadic.ranking.nbest import SCORE, read_nbest
from polyadic.text.feature_lines import RankLines


def candidate(cost, features, **more):
    return {"cost": cost, "features": features, **more}


def made(seed, lists=60, *, names=30):
    """Lists in which features tell what a candidate costs; the proposer's score tells less."""
    rng = np.random.default_rng(seed)
    hidden = np.random.default_rng(7).standard_normal(names)
    for k in range(lists):
        candidates = []
        for c in range(int(rng.integers(1, 9))):
            has = rng.choice(names, 5, replace=False)
            cost = round(float(max(0.0, 4 - hidden[has].sum())), 3)
            score = round(-10.0 * c - cost, 2)
            candidates.append(candidate(cost, {f"f{j}": 1 for j in has}, text=f"{k}/{c}", score=score))
        yield {"id": f"list {k}", "candidates": candidates}


def write_nbest(path, lists):
    path.write_text("".join(json.dumps(each) + "\n" for each in lists), encoding="utf-8")


def test_lists_by_hand(tmp_path):
    """Dicts and lists of names, counts, scores less the highest, ids and texts that are missing."""
    path = tmp_path / "lists.jsonl.gz"
    lists = [
        {"id": 7, "candidates": [candidate(0.5, {"a": 2, "b": -1}, score=-3), candidate(0, ["b", "b", "c"], score=-5)]},
        {"candidates": [candidate(1, {}, text="only", score=0.0)]},
    ]
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, lists)).encode()))
    first, second = read_nbest(path)
    assert first[1:] == (7, [None, None], [0.5, 0.0], [{"a": 2, "b": -1, SCORE: 0}, {"b": 2, "c": 1, SCORE: -2}])
    assert (second.id, second.texts) == (1, ["only"])
    found = NBestLists(path)
    assert found.names == ["a", "b", SCORE, "c"]
    (groups,) = found
    assert groups.features.toarray().tolist() == [[2, -1, 0, 0], [0, 2, -2, 1], [0, 0, 0, 0]]
    assert (groups.costs.tolist(), groups.starts.tolist()) == ([0.5, 0, 1], [0, 2, 3])
    assert NBestLists(path, min_count=2).names == [SCORE]


def test_blocks_are_as_the_whole(tmp_path):
    """However small blocks are, they hold the same lists, as often as one goes through them."""
    path = tmp_path / "lists.jsonl"
    write_nbest(path, made(0))
    (whole,) = NBestLists(path)
    parts = NBestLists(path, size=50)
    assert len(list(itertools.islice(parts, 3))) == 3  # a pass that ends early does no harm
    for _ in range(2):
        blocks = list(parts)
        assert len(blocks) > 5
        assert np.array_equal(np.concatenate([b.features.toarray() for b in blocks]), whole.features.toarray())
        assert np.array_equal(np.concatenate([np.diff(b.starts) for b in blocks]), np.diff(whole.starts))


def test_unknown_features(tmp_path):
    """Features that have no number are counted, however often one goes through, or refused with their line."""
    path = tmp_path / "lists.jsonl"
    write_nbest(path, [{"candidates": [candidate(0, ["a", "x", "y"])]}, {"candidates": [candidate(0, ["y"])]}])
    lists = NBestLists(path, names=["a"])
    for _ in range(2):
        (groups,) = lists
        assert groups.features.shape == (2, 1)
        assert lists.ignored == 3
    with pytest.raises(InputError, match="line 1: unknown feature 'x'"):
        list(NBestLists(path, names=["a"], unknown="error"))
    path.unlink()
    assert len(list(lists)) == 1  # it is not read again


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "invalid JSON"),
        ("[]", "expected"),
        ('{"candidates": []}', "at least one"),
        ('{"candidates": [3]}', "expected"),
        ('{"candidates": [{"features": {}}]}', "cost is missing"),
        ('{"candidates": [{"cost": "low"}]}', "cost must be a finite number; got 'low'"),
        ('{"candidates": [{"cost": -1}]}', "not be negative"),
        ('{"candidates": [{"cost": NaN}]}', "cost must be a finite"),
        ('{"candidates": [{"cost": 1e999}]}', "cost must be a finite"),
        ('{"candidates": [{"cost": 1' + "0" * 400 + "}]}", "cost must be a finite"),
        ('{"candidates": [{"cost": true}]}', "cost must be"),
        ('{"candidates": [{"cost": 0, "text": "\\ud800"}]}', "surrogate"),
        ('{"candidates": [{"cost": 0, "score": 1, "features": ["(score)"]}]}', "both a score and a feature"),
        ('{"candidates": [{"cost": 0, "features": {"a": Infinity}}]}', "feature 'a' must be a finite"),
        ('{"candidates": [{"cost": 0, "features": [1]}]}', "must be strings"),
        ('{"candidates": [{"cost": 0, "features": 5}]}', "list of names or an object"),
        (
            '{"candidates": [{"cost": 0, "score": 1}, {"cost": 0}]}',
            "either all candidates of a list or no candidate must have a score",
        ),
        ("[" * 100_000, "recursion|JSON"),
    ],
)
def test_faulty_lines(tmp_path, line, words):
    """The file, the line and the fault."""
    path = tmp_path / "lists.jsonl"
    path.write_text('{"candidates": [{"cost": 0}]}\n\n' + line + "\n")
    with pytest.raises(InputError, match=rf"lists.jsonl, line 3: .*({words})"):
        NBestLists(path)


def test_files_that_are_no_lists(tmp_path):
    """Absent and empty files are refused; without costs, candidates cost nothing if so asked."""
    with pytest.raises(InputError, match=r"none\.jsonl"):
        NBestLists(tmp_path / "none.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(InputError, match="at least one candidate list"):
        NBestLists(empty)
    empty.write_text('{"candidates": [{"features": ["a"]}]}')
    assert next(iter(NBestLists(empty, costs=False))).costs.tolist() == [0]
    empty.write_text('{"candidates": [{"cost": null, "features": ["a"]}, {"cost": "?", "text": "\\ud83d\\ude00"}]}')
    assert next(iter(NBestLists(empty, costs=False))).costs.tolist() == [0, 0]


def test_relevance_becomes_cost(tmp_path):
    """A candidate costs what it lacks of the most relevant of its list; lists are whole in blocks of any size."""
    rng = np.random.default_rng(0)
    path = tmp_path / "lists.txt"
    rows = [(k, int(rng.integers(0, 5)), int(rng.integers(1, 9))) for k in range(30) for _ in range(1 + k % 4)]
    path.write_text("".join(f"{label} qid:{k} {at}:1.5\n" for k, label, at in rows))
    (whole,) = RankLines(path)
    best = {k: max(label for q, label, _ in rows if q == k) for k in range(30)}
    assert whole.costs.tolist() == [best[k] - label for k, label, _ in rows]
    parts = list(RankLines(path, size=40))
    assert len(parts) > 5
    assert np.concatenate([part.costs for part in parts]).tolist() == whole.costs.tolist()
    assert sum(map(len, parts)) == 30


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("1 1:2\n", "must have a query id"),
        ("1 qid:1 1:2\n0 qid:2 1:1\n1 qid:1 2:1\n", "be consecutive"),
        ("qid:1 1:2\n", "line 1: expected a label"),
        ("1 qid:1 1:2\n1 qid:1 1:nan\n", "line 2"),
        ("1 qid:1 1:inf\n", "line 1"),
    ],
)
@pytest.mark.parametrize("size", [5, 1000])
def test_faulty_rank_lines(tmp_path, lines, words, size):
    """Lists in pieces, lines without a list, labels and numbers."""
    path = tmp_path / "lists.txt"
    path.write_text(lines)
    with pytest.raises(InputError, match=words):
        list(RankLines(path, size=size))


rerank = partial(output, "rerank")


@pytest.fixture
def files(tmp_path):
    for k, name in enumerate(("train", "dev", "test")):
        write_nbest(tmp_path / f"{name}.jsonl", made(k))
    return tmp_path


@pytest.mark.parametrize("model", ["perceptron", "mira", "tensor-mira"])
def test_train_evaluate_apply(files, model):
    """Learned with lists held out, choices cost less than the first; what is applied is what is evaluated."""
    out = files / "model"
    options = ["--method", model, "--validation", files / "dev.jsonl", "--max-iter", 5, "--json"]
    told = json.loads(rerank("train", files / "train.jsonl", "--out", out, *options))
    assert (told["model"], told["features"]) == (model, 31)
    assert told["parameters"] == (31 if model != "tensor-mira" else 2 * (5 + 7)) or told["parameters"] == 2 * 12
    found = json.loads(rerank("evaluate", out, files / "test.jsonl", "--json"))
    assert found["oracle"] <= found["reranked"] < found["first"]
    assert (found["lists"], found["unknown_features"]) == (60, 0)
    chosen = files / "chosen.jsonl"
    rerank("apply", out, files / "test.jsonl", "--out", chosen, "--scores")
    lines = [json.loads(line) for line in chosen.read_text().splitlines()]
    costs = []
    for line, one in zip(lines, made(2), strict=True):
        assert line["id"] == one["id"]
        assert line["text"] == one["candidates"][line["chosen"]]["text"]
        assert line["score"] == max(line["scores"])
        costs.append(one["candidates"][line["chosen"]]["cost"])
    assert np.mean(costs) == pytest.approx(found["reranked"])
    assert "or --force" in rerank("apply", out, files / "test.jsonl", "--out", files / "test.jsonl", code=1)
    assert "choose another" in rerank("apply", out, files / "test.jsonl", "--out", out, "--force", code=1)
    before = chosen.read_text()
    rerank("apply", out, files / "test.jsonl", "--out", chosen, "--scores", "--force")
    assert chosen.read_text() == before
    assert rerank("apply", out, files / "test.jsonl").count("\n") == 60
    assert "next: polyadic rerank evaluate" in rerank("train", files / "train.jsonl", "--out", out, "--force")


def test_rank_lines_on_the_command_line(tmp_path):
    """SVMrank lines are known by their looks; a score for each line comes back."""
    rng = np.random.default_rng(0)
    path, out = tmp_path / "lists.txt", tmp_path / "model"
    X = rng.random((120, 6)).round(3)
    label = (X @ [3, -2, 0, 0, 1, 0]).round()
    rows = [
        f"{y:g} qid:{k // 6} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1))
        for k, (row, y) in enumerate(zip(X, label, strict=True))
    ]
    path.write_text("\n".join(rows))
    rerank("train", path, "--out", out, "--method", "mira", "--C", 0.1)
    scores = [float(line) for line in rerank("apply", out, path).splitlines()]
    np.testing.assert_allclose(scores, X @ load(out).weights_[1:])
    assert json.loads(rerank("evaluate", out, path, "--json"))["gained"] > 0.5


def test_refused(files):
    """One sentence for each: options of another model, folders, lists of the other kind, unknown features."""
    out, train = files / "model", files / "train.jsonl"
    assert "--order is not used by --method mira, only by tensor-mira" in rerank(
        "train", train, "--out", out, "--method", "mira", "--order", 3, code=1
    )
    rerank("train", train, "--out", out, "--method", "perceptron", "--max-iter", 1)
    assert "exists" in rerank("train", train, "--out", out, code=1)
    assert "there is no file" in rerank("train", files / "none.jsonl", "--out", files / "other", code=1)
    assert not (files / "other").exists()
    lines = files / "lists.txt"
    lines.write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    assert "by name" in rerank("evaluate", out, lines, code=1)
    rerank("train", lines, "--out", files / "numbered", "--method", "perceptron")
    assert "by number" in rerank("evaluate", files / "numbered", train, code=1)
    new = files / "new.jsonl"
    write_nbest(new, [{"candidates": [candidate(0, ["new"]), candidate(1, ["newer"])]}])
    assert json.loads(rerank("evaluate", out, new, "--json"))["unknown_features"] == 2
    assert "ignored 2 occurrences" in rerank("apply", out, new)
    assert "line 1: unknown feature 'new'" in rerank("evaluate", out, new, "--unknown", "error", code=1)
    new.write_text('{"candidates": [{"features": ["f1"]}]}')
    assert json.loads(rerank("apply", out, new))["chosen"] == 0
    assert "cost is missing" in rerank("evaluate", out, new, code=1)
    new.write_text("\n")
    assert "at least one candidate list" in rerank("evaluate", out, new, code=1)


def test_files_of_other_systems(files):
    """A byte order mark and line ends of Windows change nothing."""
    text = (files / "train.jsonl").read_text()
    (files / "other.jsonl").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    for name in ("train", "other"):
        rerank("train", files / f"{name}.jsonl", "--out", files / name, "--max-iter", 2)
    assert np.array_equal(load(files / "train").weights_, load(files / "other").weights_)


def test_pipes(files):
    """Lists from a pipe are read once: enough to choose from, not to learn; what would lose some is refused."""
    out, text = files / "model", (files / "test.jsonl").read_text()
    rerank("train", files / "train.jsonl", "--out", out, "--max-iter", 2)
    told = invoke("rerank", "apply", out, "-", "--format", "jsonl", stdin=text).output
    assert told == rerank("apply", out, files / "test.jsonl")
    assert "--format must be jsonl to read candidate lists from a pipe; got auto" in rerank("apply", out, "-", code=1)
    pipe = files / "pipe"
    os.mkfifo(pipe)
    assert "--format must be jsonl to read candidate lists from a pipe; got auto" in rerank(
        "evaluate", out, pipe, code=1
    )
    assert "several times" in rerank("train", pipe, "--out", files / "other", "--format", "jsonl", code=1)

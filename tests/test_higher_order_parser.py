"""The parser of higher order: what it learns, the lists that it proposes, and real sentences."""

import dataclasses

import numpy as np
import pytest

from experiments.cao2014.candidates import jackknife_dependencies, propose_dependencies
from experiments.cao2014.groups import feature_groups
from experiments.data.annotated import web_treebank
from experiments.syntax.higher_order import higher_orders, parses, restart_curve
from helpers import in_json, output, succeed
from polyadic import ArcFactored, Embedding, HigherOrderParser, InputError, LowRankParser, load
from polyadic.metrics.dependencies import dependency_score, match_trees
from polyadic.syntax.kernels.climbing import MAX_WORDS
from small_language import made, sentence


def fitted(trees=None, **options):
    return HigherOrderParser(4, **{"max_iter": 2, "bits": 12, "seed": 3, **options}).fit(trees or made(30, 0))


def attached(count, seed):
    """Sentences "w a b c u x": u hangs below a1 or b1; x hangs below u if that is below a, and below c otherwise."""
    rng, trees = np.random.default_rng(seed), []
    for _ in range(count):
        first = int(rng.integers(2))
        words = ["w", f"a{first}", f"b{1 - first}", "c", "u", "x"]
        heads = [0, 1, 1, 1, 2 if first else 3, 5 if first else 4]
        trees.append(sentence(words, ["W", "A", "B", "C", "U", "X"], heads, ["_"] * 6))
    return trees


@pytest.mark.parametrize("gamma", [0.3, 1.0])
@pytest.mark.parametrize("decoding", ["projective", "any"])
@pytest.mark.parametrize("order", [2, 3])
def test_a_small_language_is_learned(gamma, decoding, order):
    """Planted rules are found with and without the tensor; relations too; the loss falls."""
    options = {"gamma": gamma, "decoding": decoding, "C": 0.1, "bits": 14, "seed": 0}
    parser = HigherOrderParser(5, order=order, max_iter=6, **options).fit(made(60, 0))
    new = made(20, 1)
    score = dependency_score([match_trees(*pair) for pair in zip(new, parser.annotate(new), strict=True)])
    assert score.las == 1
    assert parser.history_[-1] < parser.history_[0] / 5
    assert parser.tree_weights_.any()


def test_what_only_two_arcs_tell_is_learned():
    """Where x hangs depends on the head of another word, which arcs do not see: order 2 learns it, order 1 does not."""
    trees, new = attached(80, 0), attached(40, 1)
    right = {}
    for order in (1, 2):
        how = {"gamma": 1.0, "bits": 14, "C": 0.1, "labels": False, "decoding": "any"}
        parser = (LowRankParser(**how) if order == 1 else HigherOrderParser(order=2, **how)).fit(trees)
        pairs = zip(new, parser.annotate(new), strict=True)
        right[order] = np.mean([found.heads[-1] == tree.heads[-1] for tree, found in pairs])
    assert right[2] == 1
    assert right[1] < 0.8


def test_another_seed_gives_another_parser():
    """And averages are not the last weights; but a tree does not depend on what was parsed before."""
    one = fitted()
    assert (fitted(seed=4).tree_weights_ != one.tree_weights_).any()
    assert (fitted(averaged=False).tree_weights_ != one.tree_weights_).any()
    rng, words = np.random.default_rng(0), ["d", "n", "v", "."] * 4
    trees = [
        sentence([f"{w}{rng.integers(5)}" for w in words], [w.upper() for w in words], [0] * 16, ["_"] * 16)
        for _ in range(9)
    ]
    one.tree_weights_ = rng.normal(size=one.tree_weights_.shape).astype(np.float32)
    one.restarts = 1  # with weights by chance the start decides
    forward = [tree.heads.tolist() for tree in one.annotate(trees)]
    assert [tree.heads.tolist() for tree in one.annotate(trees[::-1])] == forward[::-1]
    one.seed = 4
    assert [tree.heads.tolist() for tree in one.annotate(trees)] != forward


def test_sentences_without_end_are_refused():
    """More words than parts can be told apart by: said before anything is learned or parsed."""
    n = MAX_WORDS + 1
    long = sentence(["a"] * n, ["D"] * n, [0, *range(1, n)], ["_"] * n)
    parser = fitted()
    weights = parser.tree_weights_
    for call in (
        lambda: parser.parse(long.forms, long.xpos),
        lambda: parser.candidates(long, k=2),
        lambda: parser.score(long),
        lambda: parser.fit([*made(5, 0), long]),
    ):
        with pytest.raises(InputError, match="at most 4,094 words per sentence; got 4,095"):
            call()
    assert parser.tree_weights_ is weights


@pytest.mark.parametrize("decoding", ["projective", "any"])
def test_options_reach_the_parser(decoding):
    """Several roots, vectors, steps of one factor, features seen often, a start by chance: each makes another one."""
    trees = [sentence(["a", "b"], ["X", "Y"], [0, 0], ["_", "_"])] * 9
    options = {"C": 0.1, "bits": 12, "decoding": decoding}
    parser = HigherOrderParser(4, one_root=False, **options).fit(trees)
    assert parser.parse(["a", "b"], ["X", "Y"]).heads.tolist() == [0, 0]
    plain = fitted(**options)
    vectors = Embedding(["d0", "n1"], [[1.0, 2.0], [3.0, -1.0]])
    for more in ({"vectors": vectors}, {"updates": "cyclic"}, {"min_count": 40}, {"init": "random"}):
        other = fitted(**options, **more)
        assert other.parts_.U.shape != plain.parts_.U.shape or (other.parts_.U != plain.parts_.U).any()


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("decoding", ["projective", "any"])
def test_one_word_has_one_tree(order, decoding):
    """It is below the root, in the parse and in the list, whose score is that of the tree."""
    word = sentence(["a"], ["X"], [0], ["root"])
    parser = HigherOrderParser(2, order=order, decoding=decoding, bits=6, max_iter=2).fit([word, *made(3, 0)])
    assert parser.parse(["?"], ["?"]).heads.tolist() == [0]
    heads, scores = parser.candidates(word, k=5)
    assert heads.tolist() == [[0]]
    assert scores.tolist() == [parser.score(word)]


@pytest.mark.parametrize("parser", [LowRankParser, HigherOrderParser])
def test_parsers_propose_lists(parser):
    """Candidates differ, the best comes first with its score, and groups for a reranker come of them."""
    one = parser(4, max_iter=1, bits=12).fit(made(30, 0))
    trees = made(6, 1)
    lists = propose_dependencies(one, trees, k=6)
    for tree, found in zip(trees, lists, strict=True):
        assert len({tuple(heads) for heads in found.heads.tolist()}) == len(found.heads) == 6
        assert (np.diff(found.scores) <= 0).all()
        blind = dataclasses.replace(tree, heads=np.zeros(len(tree), np.int32))
        np.testing.assert_array_equal(one.candidates(blind, k=6)[0], found.heads)
        parsed = next(one.annotate([tree])).heads
        assert (found.heads == parsed).all(axis=1).any()
    folds = jackknife_dependencies(trees, folds=2, k=4, parser=lambda: parser(4, max_iter=1, bits=12))
    [groups], names = feature_groups(folds, min_count=1)
    assert groups.groups.starts[-1] == len(groups.counts) > len(trees)
    assert names


def test_lists_use_whole_sentences():
    """A parser that looks at lemmas proposes by them, where ArcFactored looks at words and tags alone."""
    trees = [dataclasses.replace(tree, lemmas=tuple(f"l{w}" for w in tree.forms)) for tree in made(30, 0)]
    parser = LowRankParser(4, max_iter=1, bits=12).fit(trees)
    tree = dataclasses.replace(trees[0], forms=("?",) * len(trees[0]))
    bare = dataclasses.replace(tree, lemmas=("_",) * len(tree))
    assert (parser.candidates(tree, k=2)[1] != parser.candidates(bare, k=2)[1]).any()
    weak = ArcFactored(max_iter=1, bits=12, seed=0).fit(trees)
    np.testing.assert_array_equal(weak.candidates(tree, k=2)[1], weak.candidates(bare, k=2)[1])


def test_the_suite_tells_what_was_asked_for(monkeypatch):
    """A row for each order, gains over the first, and a curve of restarts that leaves the parser as it was."""
    parts = {"train": made(10, 0), "dev": made(8, 1)}
    monkeypatch.setattr("experiments.syntax.higher_order.web_treebank", lambda part, **_: parts[part])
    told = higher_orders(12, gammas=(1.0,), orders=(1, 2), restarts=(0, 3))
    assert [row["order"] for row in told["rows"]] == [1, 2]
    assert told["rows"][0]["gain"]["UAS"]["value"] == 0
    assert told["rows"][1]["gain"]["UAS"]["value"] == pytest.approx(told["rows"][1]["uas"] - told["rows"][0]["uas"])
    assert [row["restarts"] for row in told["rows"][1]["restarts"]] == [0, 3]
    parser = fitted()
    restart_curve(parser, made(2, 0), [0])
    assert parser.restarts == 20
    parser.interrupted_ = True
    monkeypatch.setattr(LowRankParser, "fit", lambda *_: parser)
    with pytest.raises(KeyboardInterrupt):  # what a fit reached until Ctrl-C is no row
        higher_orders(12, gammas=(1.0,), orders=(1,))


@pytest.mark.realdata
def test_real_sentences():
    """Found trees score no less than those best by arcs, hardly ever less than the right ones, and are good."""
    train, dev = web_treebank("train")[:200], web_treebank("dev")[:60]
    parser = HigherOrderParser(10, max_iter=3, bits=18).fit(train)
    _, told = parses(parser, dev)
    assert told["uas"] > 0.7
    assert told["search_errors"] <= 2
    for tree in dev[:30]:
        found = dataclasses.replace(tree, heads=next(parser.annotate([tree])).heads)
        start = dataclasses.replace(tree, heads=LowRankParser.candidates(parser, tree, k=1)[0][0])
        assert parser.score(found) >= parser.score(start) - 1e-4


def test_the_command_line_learns_an_order(tmp_path):
    """``--order 2`` makes a parser of that order, which ``evaluate`` reads; 4 is refused."""
    gold, out = tmp_path / "gold.conllu", tmp_path / "parser"
    gold.write_text("".join(tree.conllu() for tree in made(20, 0)))
    words = ["parse", "train", gold, "--out", out, "--max-iter", 3, "--set", "C=0.1"]
    succeed(*words, "--order", 2)
    assert load(out).order == 2
    assert in_json("parse", "evaluate", out, gold)["uas"] > 0.9
    output(*words, "--order", 4, code=1)

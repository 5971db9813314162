"""What a low-rank parser can be told, what it says of poor input, and what its command line does with it."""

import dataclasses
import json
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.syntax import parsing
from experiments.syntax.parsing import pair_collisions
from helpers import invoke
from polyadic import ArcFactored, Embedding, InputError, LowRankParser, load
from polyadic.syntax.arc_features import (
    PAIRS,
    POS,
    TAG,
    WORD_TAG,
    SeveralRootsWarning,
    TokenCoder,
    coded,
    known_features,
    token_features,
    vector_rows,
)
from polyadic.syntax.kernels.arc_tensor import hashed_cells, tensor_cells
from polyadic.syntax.low_rank_parser import UnknownTagsWarning
from polyadic.syntax.trees import read_trees, untagged
from small_language import made, rooted, sentence

MORE = ("upos", "lemmas", "features")


def two_rooted(count, seed):
    """Sentences whose last word, a full stop, is a root as well."""
    trees = []
    for tree in made(count, seed):
        heads = [*tree.heads.tolist(), 0] if tree.xpos[-1] != "." else [*tree.heads.tolist()[:-1], 0]
        words, tags = (column if column[-1][0] == "." else (*column, ".") for column in (tree.forms, tree.xpos))
        trees.append(sentence(words, tags, heads, ["x"] * len(words)))
    return trees


def fitted(trees=None, **options):
    return LowRankParser(4, **{"max_iter": 3, "bits": 12, "C": 0.1, "seed": 3, **options}).fit(trees or made(30, 0))


@pytest.mark.parametrize("decoding", ["projective", "any"])
def test_several_roots_are_learned_if_they_are_allowed(decoding):
    """With one_root off, both roots are found; else there is one, and a warning says what was lost."""
    train, new = two_rooted(40, 0), two_rooted(10, 1)
    parser = fitted(train, one_root=False, decoding=decoding)
    for tree, found in zip(new, parser.annotate(new), strict=True):
        assert found.heads.tolist() == tree.heads.tolist()
    with pytest.warns(SeveralRootsWarning, match="sentences with several roots: 40 of 40"):
        parser = fitted(train, decoding=decoding)
    assert all((found.heads == 0).sum() == 1 for found in parser.annotate(new))


@pytest.mark.parametrize("init", ["svd", "random"])
def test_factors_in_turn_learn_a_small_language(init):
    """Steps of one factor find the rules too, on another way."""
    new = made(20, 1)
    parser = fitted(made(60, 0), updates="cyclic", max_iter=6, gamma=0.0, init=init)
    for tree, found in zip(new, parser.annotate(new), strict=True):
        assert found.heads.tolist() == tree.heads.tolist()
    assert (parser.parts_.V != fitted(made(60, 0), max_iter=6, gamma=0.0, init=init).parts_.V).any()


def test_vectors_tell_of_words_that_were_not_seen():
    """Words of two kinds and one tag, in any order: of new ones only the vectors know the kind."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 200)
    vectors = Embedding(
        [f"w{k}" for k in range(200)], np.stack([kinds, 1 - kinds], axis=1) + rng.normal(0, 0.1, (200, 2))
    )

    def pairs(low, high):
        for _ in range(150):
            one, other = (
                rng.choice(np.flatnonzero(kinds[low:high])) + low,
                rng.choice(np.flatnonzero(1 - kinds[low:high])) + low,
            )
            words, heads = ([one, other], [0, 1]) if rng.random() < 0.5 else ([other, one], [2, 0])
            yield sentence([f"W{k}" for k in words], ["X", "X"], heads, ["_", "_"])

    train, new = list(pairs(0, 150)), list(pairs(150, 200))
    right = {}
    for name, given_ in (("with", vectors), ("without", None)):
        parser = fitted(train, vectors=given_, max_iter=5)
        right[name] = np.mean([(a.heads == b.heads).all() for a, b in zip(new, parser.annotate(new), strict=True)])
    assert right["with"] > 0.95
    assert right["without"] < 0.7


def test_rows_of_vectors():
    """Length 1; lower case where the word itself is not there; neighbours on both sides; zeros for unknown words."""
    vectors = Embedding(["a", "B", "b"], [[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]])
    rows = vector_rows(["A", "B", "c", "b"], vectors)
    own = [[0, 0], [0.6, 0.8], [0, 1], [0, 0], [1, 0]]
    np.testing.assert_allclose(rows[:, :2], own, atol=1e-6)
    np.testing.assert_allclose(rows[:, 2:4], [[0, 0], [0, 0], *own[1:4]], atol=1e-6)
    np.testing.assert_allclose(rows[:, 4:], [[0, 0], *own[2:], [0, 0]], atol=1e-6)
    assert vector_rows(["A"], None) is None


@given(st.integers(0, 2**32 - 1), st.integers(5, 12))
def test_cells_are_those_that_are_scored(seed, bits):
    """The cell of a pair is where its weight is read."""
    trees = made(3, seed)
    known = known_features(trees, min_count=1)
    theta = np.random.default_rng(seed).normal(size=1 << bits).astype(np.float32)
    for tree in trees:
        triples, weights = tensor_cells(coded(token_features(tree), known), theta, PAIRS, heads=tree.heads)
        np.testing.assert_array_equal(theta[hashed_cells(triples, bits=bits)], weights.astype(np.float32))
    with pytest.raises(ValueError, match="triples must be an int64 array"):
        hashed_cells(triples[:, :2], bits=bits)


@pytest.mark.parametrize("bits", [6, 9, 24])
def test_collisions_are_counted(bits):
    """As many pairs as a set of them has; a pair shares its cell if the list of cells has it more than once."""
    trees = made(8, 0)
    known = known_features(trees, min_count=1)
    pairs = set()
    for tree in trees:
        triples, _ = tensor_cells(coded(token_features(tree), known), np.zeros(16, np.float32), PAIRS, heads=tree.heads)
        pairs |= set(map(tuple, triples.tolist()))
    times = Counter(hashed_cells(np.array(sorted(pairs)), bits=bits).tolist())
    found = pair_collisions(iter(trees), bits=bits)
    assert (found.pairs, found.cells) == (len(pairs), len(times))
    assert found.shared == pytest.approx(sum(n for n in times.values() if n > 1) / len(pairs))
    assert (found.shared == 0) == (bits == 24)
    with pytest.raises(InputError, match="at least one sentence"):
        pair_collisions([])


PARTS = {"train": made(30, 0), "dev": made(10, 1), "test": made(12, 2)}


def parts(part, **_):
    """Stand for the treebank of the experiment."""
    return PARTS[part]


def test_a_learning_curve(monkeypatch):
    """Every size has a row with both parsers; sizes beyond the treebank are all of it, once."""
    monkeypatch.setattr(parsing, "web_treebank", parts)
    rows = parsing.curve([5, 30, 100], seed=0)
    assert [row["sentences"] for row in rows] == [5, 30]
    for row in rows:
        for side in ("with", "without"):
            uas = row[side]["test"][0]
            assert uas["name"] == "UAS"
            assert uas["low"] <= uas["value"] <= uas["high"]
        gap = row["with"]["test"][0]["value"] - row["without"]["test"][0]["value"]
        assert row["worth"]["UAS"]["value"] == pytest.approx(gap)
    assert rows[1]["with"]["test"][0]["value"] > 0.95
    assert rows[1]["with"]["losses"][-1] < rows[1]["with"]["losses"][0]


def test_universal_tags_take_the_place_of_others():
    """Where the treebank has no tags of its own, universal ones are used; where there are none at all, that is said."""
    rows = token_features(dataclasses.replace(untagged(["a", "b"]), xpos=("_", "X"), upos=("NOUN", "VERB")))
    assert [rows[1][at] for at in (TAG, POS, WORD_TAG)] == ["t=NOUN", "p=NOUN", "wt=a NOUN"]
    assert rows[2][TAG] == "t=X"
    trees = [dataclasses.replace(tree, upos=tree.xpos, xpos=("_",) * len(tree)) for tree in made(30, 0)]
    new = made(5, 1)
    parser = fitted(trees)
    found = parser.annotate(dataclasses.replace(tree, upos=tree.xpos, xpos=("_",) * len(tree)) for tree in new)
    assert [tree.heads.tolist() for tree in found] == [tree.heads.tolist() for tree in new]
    bare = [dataclasses.replace(tree, xpos=("_",) * len(tree)) for tree in new]
    with pytest.raises(InputError, match="words must have parts of speech in column 4 or 5"):
        fitted(bare)
    with pytest.raises(InputError, match="must have tags in column 5"):
        ArcFactored().fit(bare)
    with pytest.warns(UnknownTagsWarning, match="of .* words have parts of speech that are unknown to the parser"):
        assert len(list(parser.annotate(bare))) == 5
    one = dataclasses.replace(new[0], xpos=("?", *new[0].xpos[1:]))  # a rare tag is no matter
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(fitted().annotate([one, *new]))) == 6


WORD = st.text("ab|=_ ", min_size=1, max_size=3)


@given(st.data(), st.integers(1, 5))
def test_numbers_are_those_of_names(data, n):
    """The fast way to number features gives what looking up each name gives, whatever words and tags look like."""
    words, tags, *rest = (tuple(data.draw(st.lists(WORD, min_size=n, max_size=n))) for _ in range(5))
    more = {name: data.draw(st.sampled_from([(), column])) for name, column in zip(MORE, rest, strict=True)}
    tree = dataclasses.replace(untagged(words), xpos=tags, **more)
    rows = token_features(tree)
    names = sorted({name for row in rows for name in row if name})
    known = {name: at for at, name in enumerate(names) if data.draw(st.booleans())}
    np.testing.assert_array_equal(TokenCoder(known)(tree), coded(rows, known))


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("init", ["svd", "random"])
def test_next_to_nothing_is_learned_from(gamma, init):
    """One word in one sentence, one relation, one column, sixteen cells; the same sentence many times."""
    word = sentence(["a"], ["X"], [0], ["root"])
    parser = LowRankParser(1, gamma=gamma, init=init, bits=4, max_iter=1).fit([word])
    assert parser.parse(["b"], ["Y"]) == ([0], ("root",))
    pair = sentence(["a", "b"], ["X", "Y"], [2, 0], ["_", "_"])
    parser = LowRankParser(7, gamma=gamma, init=init, bits=8, C=0.1).fit([pair] * 20)
    assert parser.parse(["a", "b"], ["X", "Y"]).heads.tolist() == [2, 0]
    assert all(np.isfinite(part).all() for part in parser.parts_)


def test_a_long_sentence():
    """Three hundred words become a tree with one root, in either way."""
    for decoding in ("projective", "any"):
        parser = fitted(max_iter=1, decoding=decoding)
        heads = parser.parse(["d1", "n1", "v1"] * 100, ["D", "N", "V"] * 100).heads
        assert rooted(heads)
        assert (heads == 0).sum() == 1


def test_the_arc_factored_parser_refuses_what_is_no_tree():
    """Heads beyond the sentence and cycles, as the other parser does; its parse is the first of its k best."""
    cycle = dataclasses.replace(made(1, 0)[0])
    object.__setattr__(cycle, "heads", np.array([2, 1, *cycle.heads[2:]], np.int32))
    with pytest.raises(
        InputError, match="sentence 2: heads must form a tree; the heads above word 1 do not lead to the root"
    ):
        ArcFactored(bits=10).fit([made(1, 0)[0], cycle])
    parser = ArcFactored(bits=12, max_iter=2, seed=0).fit(made(30, 0))
    for tree in made(10, 1):
        heads = parser.parse(tree.forms, tree.xpos)
        assert heads.dtype == np.int32
        assert heads.tolist() == parser.k_best(tree.forms, tree.xpos, k=2)[0][0].tolist() == tree.heads.tolist()


@pytest.mark.filterwarnings("default")
def test_the_command_line_compares_and_skips(tmp_path):
    """Parses are compared in pairs; sentences that are no tree are refused, or left out and counted."""
    said = []

    def call(*words, code=0):
        result = invoke("parse", *words)
        assert result.exit_code == code, result.output
        said.append(" ".join(result.stderr.split()))
        return result.stdout if not code else said[-1]

    def write(name, trees):
        (tmp_path / name).write_text("".join(tree.conllu() for tree in trees))
        return tmp_path / name

    gold = [dataclasses.replace(tree, upos=tree.xpos) for tree in made(30, 0)]
    wrong = [tree.with_heads(np.where(np.arange(len(tree)) == 0, 3, tree.heads), tree.relations) for tree in gold]
    files = [write("gold.conllu", gold), write("a.conllu", wrong), write("b.conllu", gold)]
    told = json.loads(call("compare", *files, "--json"))
    words = sum(map(len, gold))
    assert [row["figures"][0]["value"] for row in told["parses"]] == [pytest.approx(1 - 30 / words), 1.0]
    first = told["parses"][1]["minus first"][0]
    assert first["value"] == pytest.approx(30 / words)
    assert first["low"] <= first["value"] <= first["high"]
    assert first["certain"]
    assert "LAS without punctuation" in call("compare", *files)
    assert "at least two" in call("compare", *files[:2], code=1)
    assert "must have the same number of sentences as the treebank, 30; got 29" in call(
        "compare", *files, write("c.conllu", gold[1:]), code=1
    )
    others = [dataclasses.replace(tree, forms=tree.forms[::-1]) for tree in gold]
    assert "the words of sentence 1 differ" in call("compare", *files, write("d.conllu", others), code=1)
    cycle = "1\ta\t_\tX\tX\t_\t1\tx\t_\t_\n\n"
    bad = tmp_path / "bad.conllu"
    bad.write_text(cycle + files[0].read_text())
    model = tmp_path / "model"
    options = ("--set", "rank=3", "--set", "C=0.1", "--max-iter", 2)
    assert (
        "bad.conllu, sentence from line 1: heads must form a tree; the heads above word 1 do not lead to the root"
        in call("train", bad, "--out", model, code=1)
    )
    told = json.loads(call("train", bad, "--out", model, *options, "--invalid", "skip", "--no-one-root", "--json"))
    assert "skipped sentences whose heads do not form a tree: 1; first error: " in json.loads(said[-1])["warning"]
    assert told["sentences"] == 30
    assert not load(model).one_root
    assert json.loads(call("evaluate", model, bad, "--invalid", "skip", "--json"))["sentences"] == 30
    assert "skipped sentences whose heads do not form a tree: 1" in said[-1]
    bad.write_text(cycle)
    refused = call("train", bad, "--out", model, "--force", "--invalid", "skip", code=1)
    assert "has no sentences to train on" in refused
    vectors = Embedding(["d0", "n1"], np.eye(2, dtype=np.float32))
    vectors.save(tmp_path / "vectors")
    call(
        *("train", files[0], "--out", model, "--force", *options),
        *("--vectors", tmp_path / "vectors", "--set", "updates=cyclic"),
    )
    assert load(model).vectors.words == ("d0", "n1")
    call("apply", model, files[0], "--out", tmp_path / "out.conllu")
    assert b"\r" not in (tmp_path / "out.conllu").read_bytes()
    assert [len(tree) for tree in read_trees(tmp_path / "out.conllu")] == [len(tree) for tree in gold]


def test_what_was_printed_is_told_when_it_is_interrupted(tmp_path, monkeypatch):
    """Ctrl-C leaves on standard output what is there, and of a file nothing; the message says which."""
    fitted().save(tmp_path / "model")
    (tmp_path / "trees.conllu").write_text("".join(tree.conllu() for tree in made(5, 0)))
    words = ["parse", "apply", str(tmp_path / "model"), str(tmp_path / "trees.conllu")]
    after = 2

    def annotate(_, trees):
        for _, tree in zip(range(after), trees, strict=False):
            yield tree
        raise KeyboardInterrupt

    monkeypatch.setattr(LowRankParser, "annotate", annotate)
    found = invoke(*words)
    assert (found.exit_code, found.stdout.count("\n\n")) == (130, 2)
    assert "interrupted; kept what was printed until then" in found.stderr
    found = invoke(*words, "--out", tmp_path / "out")
    assert (found.exit_code, (tmp_path / "out").exists()) == (130, False)
    assert "interrupted; nothing was written" in found.stderr
    after = 0
    found = invoke(*words)
    assert (found.exit_code, found.stdout) == (130, "")
    assert "interrupted; nothing was written" in found.stderr


def test_plain_text_is_tagged_and_parsed(tmp_path):
    """It is what tagging and then parsing gives; a treebank's own tags are not looked at with a tagger."""
    trees = [dataclasses.replace(tree, upos=tree.xpos) for tree in made(40, 0)]
    blank = [dataclasses.replace(tree, upos=("X",) * len(tree), xpos=("X",) * len(tree)) for tree in trees]
    for name, some in {"trees": trees, "blank": blank}.items():
        (tmp_path / f"{name}.conllu").write_text("".join(tree.conllu() for tree in some), encoding="utf-8")
    (tmp_path / "text.txt").write_text(" ".join(trees[0].forms) + "\n", encoding="utf-8")

    def call(line):
        words = [str(tmp_path / word[1:]) if word[0] == "@" else word for word in line.split()]
        found = invoke(*words)
        return found.exit_code, found.stdout, " ".join(found.stderr.split())

    assert call("tag train @trees.conllu --out @tagger")[0] == 0
    assert call("parse train @trees.conllu --out @parser --max-iter 2 --set rank=2")[0] == 0
    assert call("tag apply @tagger @text.txt --text --by-line --out @tagged.conllu")[0] == 0
    at_once = call("parse apply @parser @text.txt --text --by-line --tagger @tagger")
    assert at_once == call("parse apply @parser @tagged.conllu")
    assert "\troot\t" in at_once[1]
    exact = json.loads(call("parse evaluate @parser @trees.conllu --tagger @tagger --json")[1])
    assert exact["uas"] > 0.95
    counted = json.loads(call("parse evaluate @parser @blank.conllu --tagger @tagger --json")[1])
    assert counted["uas"] == exact["uas"]
    for line, said in (
        ("parse apply @parser @text.txt --text", "--text requires --tagger"),
        ("parse apply @parser @trees.conllu --by-line", "--by-line is used only with --text"),
        ("parse apply @parser @text.txt --text --tagger @parser", "parser"),
    ):
        code, _, error = call(line)
        assert code == 1
        assert said in error

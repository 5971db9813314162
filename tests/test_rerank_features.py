"""Features of trees, by hand, and groups of candidates made of them."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array

from experiments.cao2014 import features
from experiments.cao2014.candidates import match_candidates
from experiments.cao2014.features import PHRASE_FEATURES, Featuriser, bucket, of_tag, of_tree
from experiments.cao2014.groups import CandidateGroups, feature_groups, load_ranked, narrowed, save_ranked
from experiments.cao2014.lists import (
    Lists,
    describe,
    featured,
    load_lists,
    load_parsed,
    make_lists,
    parse_parts,
    portion,
    save_lists,
    save_parsed,
)
from polyadic import InputError
from polyadic.core.query_groups import QueryGroups
from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.grammar import Parse

TREE = parse_phrase(
    "(S (NP (NNS Cats) (CC and) (NNS dogs)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) (NP (NN town))))) (. .))"
)
OTHER = parse_phrase(
    "(S (NP (NNS Cats) (CC and) (NNS dogs)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NN town)))) (. .))"
)


def names_of(tree):
    """Features of a tree with their counts."""
    numbers = {}
    found = Featuriser(tree.words(), lambda name: numbers.setdefault(name, len(numbers)))(tree)
    names = list(numbers)
    counts = np.bincount(found, minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True)}


def test_features_by_hand():
    """At least one of each kind, with its count."""
    found = names_of(TREE)
    expected = {
        ("rule", "S", "NP", "VP", "."): 1,
        ("rule parent", "VP", "NP", "NP", "PP"): 1,
        ("rule grandparent", "S", "VP", "NP", "NP", "PP"): 1,
        ("rule tag", "VBD", "VP", "VBD", "NP"): 1,
        ("rule word", "town", "NP", "NN"): 1,
        ("two", "S", "NP", "VP", 1): 1,
        ("three", "S", "-", "NP", "VP", 1): 1,
        ("heads tags", "S", "NP", "VBD", "NNS", False): 1,
        ("heads words", "VP", "saw", "man", True): 1,
        ("projection", "in", "PP", "NP", True): 1,
        ("head word", "saw", "S", "TOP"): 1,
        ("head word two", "town", "NP", "PP", "NP"): 1,
        ("seam", "VP", "VBD", "-", "NP", "NP", "DT"): 1,
        ("seam words", "NP", "man", "in"): 1,
        ("heavy", "NP", 5, 1, "."): 1,
        ("heavy", "PP", 2, 1, "."): 1,
        ("before", "PP", "NP", "man"): 1,
        ("after", "NP", "NP", "in"): 1,
        ("first", "NP", 3, "Cats"): 1,
        ("edge tags", "VP", "VBD", "NN", 5): 1,
        ("parallel", "NP", 3): 1,
        ("parallel labels", "NP", "NNS", "NNS"): 1,
        ("parallel length", "NP", 0, 0): 1,
        ("word parent", "town", "NN", "NP"): 1,
        ("word", "Cats", "NNS"): 1,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert of_tree(TREE) == {("right branch",): 5, ("other branches",): 2}
    assert of_tree(OTHER) == {("right branch",): 4, ("other branches",): 2}
    assert next(of_tag("NN", "dog", "NP", "S")) == ("word", "dog", "NN")
    assert [bucket(n) for n in (3, 4, 6, 20, 21)] == [3, 5, 10, 20, 21]


@pytest.mark.parametrize("kind", PHRASE_FEATURES)
def test_each_kind_gives_something(kind, monkeypatch):
    """Each function of the list gives features of a tree with a coordination that no other gives."""
    every = {name[0] for name in names_of(TREE)}
    monkeypatch.setattr(features, "PHRASE_FEATURES", [one for one in PHRASE_FEATURES if one is not kind])
    assert {name[0] for name in names_of(TREE)} < every


def candidates(parses=((TREE, -1.0), (OTHER, -1.5))):
    return match_candidates(TREE, [Parse(*parse) for parse in parses])


def test_groups_hold_what_differs():
    """Costs are 1 - F; a feature that candidates share is not there, others are less their smallest value."""
    [ranked], names = feature_groups([candidates(), candidates()], min_count=1)
    groups = ranked.groups
    assert names[0] == ("score",)
    np.testing.assert_allclose(groups.costs, [0, 1 - 2 * 6 / 13] * 2)
    assert ranked.counts[1].tolist() == [6, 7, 6, 8, 8]
    assert groups.oracle.tolist() == [0, 2] == ranked.one_best.tolist()
    X = groups.features.toarray()
    assert X[:, 0].tolist() == [0.5, 0, 0.5, 0]
    assert (X.min(axis=0) == 0).all()
    mine, others = names_of(TREE) | of_tree(TREE), names_of(OTHER) | of_tree(OTHER)
    for at, name in enumerate(names[1:], 1):
        both = [mine.get(name, 0), others.get(name, 0)]
        assert X[:2, at].tolist() == (np.array(both) - min(both)).tolist()
    assert set(names[1:]) == {name for name in mine | others if mine.get(name, 0) != others.get(name, 0)}


def test_rare_features_are_left_out():
    """Those that tell candidates of fewer training sentences apart; of other lists only known features are seen."""
    alone = match_candidates(
        TREE, [Parse(TREE, 0.0), Parse(parse_phrase(str(TREE).replace("(NN town)", "(NNP town)")), -1.0)]
    )
    training = [candidates(), candidates(), alone]
    (first, second), names = feature_groups(training, [alone], min_count=2)
    assert ("word", "town", "NNP") not in names
    assert ("rule", "NP", "NP", "PP") in names
    np.testing.assert_array_equal(second.groups.features.toarray(), first.groups.features.toarray()[4:])
    with pytest.raises(InputError, match="there are no training lists"):
        feature_groups([])


def test_a_part_has_its_own_features():
    """Narrowed to some sentences, groups are those that these sentences alone would have given."""
    alone = match_candidates(
        TREE, [Parse(TREE, 0.0), Parse(parse_phrase(str(TREE).replace("(NN town)", "(NNP town)")), -1.0)]
    )
    training = [candidates(), alone, candidates()]
    [whole], names = feature_groups(training, min_count=1)
    [some], kept = narrowed(whole.only([0, 2]), names=names, min_count=2)
    [wanted], wanted_names = feature_groups([training[0], training[2]], min_count=2)
    order = [kept.index(name) for name in wanted_names]
    assert sorted(order) == list(range(len(kept)))
    np.testing.assert_array_equal(some.groups.features.toarray()[:, order], wanted.groups.features.toarray())
    np.testing.assert_array_equal(some.counts, wanted.counts)


def test_groups_are_kept(tmp_path):
    """Written and read again; another folder is not overwritten; damage is told."""
    [ranked], names = feature_groups([candidates()], min_count=1)
    save_ranked(tmp_path / "train", ranked, names)
    again, same = load_ranked(tmp_path / "train")
    assert same == names
    np.testing.assert_array_equal(again.groups.features.toarray(), ranked.groups.features.toarray())
    np.testing.assert_array_equal(again.counts, ranked.counts)
    with pytest.raises(InputError, match="exists already"):
        save_ranked(tmp_path / "train", ranked, names)
    (tmp_path / "train" / "arrays.safetensors").write_bytes(b"short")
    with pytest.raises(InputError, match="is damaged"):
        load_ranked(tmp_path / "train")


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("indices", [0, 1, 1 << 30]),
        ("indices", [0, 1, -5]),
        ("indptr", [0, 3, 1, 2, 3]),
        ("counts", [[0, 0]] * 3),
        ("data", [1.0, np.nan, 1.0]),
        ("starts", [0, 4, 2, 4]),
    ],
)
def test_damaged_groups_are_refused(tmp_path, array, value):
    """Nothing is read beyond the arrays; names may hold characters that some take for ends of lines."""
    cells = csr_array((np.ones(3), np.array([0, 1, 2]), np.array([0, 1, 2, 3, 3])), shape=(4, 3))
    ranked = CandidateGroups(
        QueryGroups(cells, np.array([0, 0.1, 0, 0.2]), np.array([0, 2, 4])), np.zeros((4, 2), np.int64)
    )
    names = [("score",), ("word", "a\u2028b\x85c"), ("two", 1, True)]
    save_ranked(tmp_path / "one", ranked, names)
    assert load_ranked(tmp_path / "one")[1] == names
    path = tmp_path / "one" / "arrays.safetensors"
    held = load_file(path)
    save_file({**held, array: np.array(value, held[array].dtype)}, path)
    with pytest.raises(InputError, match="is damaged"):
        load_ranked(tmp_path / "one")


def test_lists_from_trees_to_groups(tmp_path):
    """All stages on a few sentences: parsed, described, featured, kept; shares of one seed contain one another."""
    trees = [TREE, OTHER] * 3
    lists = make_lists(trees, trees[:2], trees[2:3], k=4, folds=3, least=1)
    assert [len(part.groups) for part in lists[:3]] == [6, 2, 1]
    parsed = parse_parts(trees, trees[:2], trees[2:3], k=4, folds=3)
    facts = describe(parsed)
    save_parsed(tmp_path / "parsed", parsed)
    assert featured(load_parsed(tmp_path / "parsed"), least=1).names == lists.names
    assert facts["train"]["sentences"] == 6
    assert facts["test"]["one_best"]["f1"] <= facts["test"]["oracle"]["f1"]
    save_lists(tmp_path / "lists", lists)
    save_lists(tmp_path / "lists", lists)
    with pytest.raises(InputError, match="exists already"):
        save_lists(tmp_path / "lists", lists, overwrite=False)
    again = load_lists(tmp_path / "lists")
    assert again.names == lists.names
    assert isinstance(again, Lists)
    assert isinstance(again.dev, CandidateGroups)
    half, third = (portion(lists, share, seed=1, least=1) for share in (0.5, 1 / 3))
    assert (len(half.train.groups), len(third.train.groups)) == (3, 2)
    assert set(third.names) <= set(half.names) <= set(lists.names)
    with pytest.raises(InputError, match="at most 1"):
        portion(lists, 1.5)

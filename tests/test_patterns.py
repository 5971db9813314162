"""Patterns between mentions: worked sentences, and laws of paths on real trees."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from polyadic.relations.patterns import mentions, pattern_triples, patterns
from polyadic.relations.schema import schema_of
from polyadic.syntax.trees import read_trees

GOLDMAN = """
1 Marc Marc PROPN _ _ 8 nsubj _ Entity=Q1
2 Goldman Goldman PROPN _ _ 1 flat _ Entity=Q1
3 , , PUNCT _ _ 4 punct _ _
4 president president NOUN _ _ 1 appos _ _
5 of of ADP _ _ 7 case _ _
6 Farmland Farmland PROPN _ _ 7 compound _ Entity=Farmland_Dairies
7 Dairies Dairies PROPN _ _ 4 nmod _ Entity=Farmland_Dairies
8 criticized criticize VERB _ _ 0 root _ _
9 Saudi Saudi ADJ _ _ 10 amod _ _
10 Arabia Arabia PROPN _ _ 8 obj _ SpaceAfter=No
"""


@pytest.fixture
def goldman(tmp_path):
    path = tmp_path / "one.conllu"
    rows = ["\t".join(line.split()) for line in GOLDMAN.strip().splitlines()]
    path.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    return next(read_trees(path))


def test_names_are_runs_of_one_proper_noun(goldman):
    """Words of one name are one mention, with an adjective that has a capital; its head is the word they depend on."""
    told = [(m.name, m.first, m.last, m.head) for m in mentions(goldman)]
    assert told == [("Marc Goldman", 0, 1, 0), ("Farmland Dairies", 5, 6, 6), ("Saudi Arabia", 8, 9, 9)]


def test_mentions_may_be_given(goldman):
    """With a key the last column says which words are a mention, and of what."""
    assert [(m.name, m.first, m.last) for m in mentions(goldman, key="Entity")] == [
        ("Q1", 0, 1),
        ("Farmland Dairies", 5, 6),
    ]
    assert mentions(goldman, key="Link") == []


def test_hyphens_are_within_names(tmp_path):
    """One between two words of a name is part of it; one beside the name is not."""
    rows = ["1 - - PUNCT _ _ 2 punct _ _", "2 Al Al PROPN _ _ 4 compound _ _", "3 - - PUNCT _ _ 2 punct _ _"]
    rows += ["4 Qaeda Qaeda PROPN _ _ 0 root _ _", "5 - - PUNCT _ _ 4 punct _ _", "6 - - PROPN _ _ 4 flat _ _"]
    path = tmp_path / "hyphens.conllu"
    path.write_text("\n".join(rows).replace(" ", "\t") + "\n", encoding="utf-8")
    assert [(m.name, m.first, m.last) for tree in read_trees(path) for m in mentions(tree)] == [("Al - Qaeda", 1, 3)]


def test_forms_stand_for_lemmas_that_are_not_told(tmp_path):
    """Paths of a treebank without lemmas differ where its words do."""
    path = tmp_path / "bare.conllu"
    bare = [line.split() for line in GOLDMAN.strip().splitlines()]
    path.write_text("\n".join("\t".join([*row[:2], "_", *row[3:]]) for row in bare) + "\n", encoding="utf-8")
    told = [predicate for tree in read_trees(path) for *_, predicate in patterns(tree, max_gap=0)]
    assert told[:2] == ["path#->appos->president->nmod:of->", "path#<-nsubj<-criticized->obj->"]


def test_a_worked_sentence(goldman):
    """Paths climb and descend, words of case stand with the relation, words between are told if they are few."""
    told = list(patterns(goldman, max_gap=3))
    assert told == [
        ("Marc Goldman", "Farmland Dairies", "path#->appos->president->nmod:of->"),
        ("Marc Goldman", "Farmland Dairies", "words#, president of"),
        ("Marc Goldman", "Saudi Arabia", "path#<-nsubj<-criticize->obj->"),
        ("Farmland Dairies", "Saudi Arabia", "path#<-nmod:of<-president<-appos<-marc<-nsubj<-criticize->obj->"),
        ("Farmland Dairies", "Saudi Arabia", "words#criticized"),
    ]
    short = [predicate for *_, predicate in patterns(goldman, max_path=2, max_gap=0)]
    assert short == ["path#->appos->president->nmod:of->", "path#<-nsubj<-criticize->obj->"]
    assert list(patterns(goldman, max_path=0, max_gap=0)) == []


@pytest.mark.realdata
def test_paths_are_shortest_in_real_trees(realdata):
    """A path has as many steps as the words are apart in the tree, and as many lemmas but one."""
    seen = 0
    for tree in read_trees(realdata / "syntax/ud-english-ewt/en_ewt-ud-dev.conllu"):
        found = mentions(tree)
        if len(found) < 2:
            continue
        below = np.flatnonzero(tree.heads > 0)
        links = csr_array((np.ones(len(below)), (below, tree.heads[below] - 1)), shape=(len(tree), len(tree)))
        apart = shortest_path(links, directed=False)
        told = {(s, o): p for s, o, p in patterns(tree, max_path=100, max_gap=0)}
        names = [m.name for m in found]
        once = [m for m in found if names.count(m.name) == 1]
        for one, other in combinations(once, 2):
            path = told[one.name, other.name]
            assert path.count("<-") // 2 + path.count("->") // 2 == apart[one.head, other.head]
            seen += 1
    assert seen > 500


@pytest.mark.realdata
def test_a_treebank_becomes_a_schema(realdata):
    """Appositions and owners of the treebank are among what it says of pairs of names."""
    trees = read_trees(realdata / "syntax/ud-english-ewt/en_ewt-ud-train.conllu")
    schema = schema_of(pattern_triples(trees))
    counts = dict(zip(schema.predicates, np.bincount(schema.indices[:, 1]), strict=True))
    for common in ("path#->appos->", "path#->nmod:of->", "words#in", "words#'s"):
        assert counts[common] > 20
    assert "Saudi Arabia" in schema.entities
    assert "Arabia" not in schema.entities


def test_a_name_of_many_words_is_one(tmp_path):
    """Thousands of words, each part of the one before, name one entity."""
    rows = [f"{n}\tA\t_\tPROPN\t_\t_\t{n - 1}\tflat\t_\t_\n" for n in range(1, 5001)]
    (tmp_path / "a.conllu").write_text("".join(rows) + "\n")
    [tree] = read_trees(tmp_path / "a.conllu")
    assert [(mention.first, mention.last, mention.head) for mention in mentions(tree)] == [(0, 4999, 0)]

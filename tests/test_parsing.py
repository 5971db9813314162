"""Text parsed by spaCy becomes the trees that CoNLL-U files give; without spaCy one sentence says what to install."""

import sys

import pytest

from polyadic import InputError, MissingExtraError, pattern_triples
from polyadic.syntax.spacy_components import parse


def pipeline():
    """A blank pipeline with one component, which parses the one sentence it knows."""
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")

    @spacy.language.Language.component("by_hand")
    def by_hand(doc):
        heads = {"Ann": 1, "Lee": 2, "joined": 2, "\n": 2, "Acme": 2, "Rome": 5, "slept": 6}
        words = [word.text for word in doc]
        made = spacy.tokens.Doc(
            doc.vocab,
            words=words,
            spaces=[bool(word.whitespace_) for word in doc],
            heads=[heads.get(word, 2) for word in words],
            deps=["compound", "nsubj", "ROOT", "dep", "obj"][: len(words)],
            pos=["PROPN", "PROPN", "VERB", "SPACE", "PROPN"][: len(words)],
            lemmas=["Ann", "Lee", "join", "\n", "Acme"][: len(words)],
        )
        made.ents = [spacy.tokens.Span(made, 0, 2, "PERSON"), spacy.tokens.Span(made, 4, 5, "ORG")]
        return made

    nlp.add_pipe("by_hand")
    return nlp


def test_sentences_become_trees():
    """Heads are numbered without words of blanks; entities stand under Entity, and give patterns."""
    trees = list(parse(["Ann Lee joined \nAcme"], pipeline=pipeline()))
    [tree] = trees
    assert tree.forms == ("Ann", "Lee", "joined", "Acme")
    assert tree.heads.tolist() == [2, 3, 0, 3]
    assert tree.relations == ("compound", "nsubj", "root", "obj")
    assert tree.misc == ("Entity=Ann_Lee", "Entity=Ann_Lee", "_", "Entity=Acme")
    found = list(pattern_triples(trees, key="Entity"))
    assert ("Ann Lee", "Acme", "path#<-nsubj<-join->obj->") in found


def test_pipelines_that_are_not_there_or_do_not_parse():
    spacy = pytest.importorskip("spacy")
    with pytest.raises(InputError, match="has no parser"):
        list(parse(["Ann slept."], pipeline=spacy.blank("en")))
    with pytest.raises(InputError, match="cannot load the spaCy pipeline 'nowhere'"):
        list(parse(["Ann slept."], pipeline="nowhere"))


def test_spacy_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"polyadic\[spacy\]"):
        list(parse(["Ann slept."]))

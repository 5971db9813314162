"""Bracketed trees: read, cleaned, binarised and put back; heads; and how trees are compared, as evalb does it."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cao2014.candidates import shared
from experiments.data.annotated import penn_sample
from polyadic import InputError
from polyadic.metrics.brackets import (
    Bracketing,
    MatchedBrackets,
    bracket_figure,
    bracket_score,
    counted,
    match_brackets,
)
from polyadic.syntax.binarising import PARTIAL, annotate, bare, binarise, head_child, without_loops
from polyadic.syntax.brackets import Phrase, bracketing, category, clean, parse_phrase, read_phrases

labels = st.sampled_from(["S", "NP", "VP", "PP", "PRT", "ADVP", "X"])
tags = st.sampled_from(["NN", "VBZ", "DT", ",", ".", "CC", "POS", "IN"])
leaves = st.builds(lambda tag, word: Phrase(tag, (word,)), tags, st.text("abc", min_size=1, max_size=3))


def above(below):
    return st.builds(lambda x, y: Phrase(x, tuple(y)), labels, st.lists(below, min_size=1, max_size=5))


trees = st.recursive(leaves, above)


def unbinarise(tree):
    """Undo annotation and binarisation."""

    def parts(phrase):
        if phrase.word is not None:
            return (Phrase(bare(phrase.label), phrase.children),)
        below = tuple(part for child in phrase.below for part in parts(child))
        return below if phrase.label.startswith(PARTIAL) else (Phrase(bare(phrase.label), below),)

    return parts(tree)[0]


@given(st.lists(trees, min_size=1, max_size=3))
def test_trees_are_read_as_they_are_written(tmp_path_factory, written):
    """On one line or on many, compressed or not."""
    folder = tmp_path_factory.mktemp("trees")
    text = "\n".join(map(str, written))
    (folder / "plain.mrg").write_text(text.replace(" (", "\n  ("), encoding="utf-8")
    (folder / "packed.mrg.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("plain.mrg", "packed.mrg.gz"):
        assert list(read_phrases(folder / name)) == written
    assert parse_phrase(str(written[0])) == written[0]


def test_the_deepest_tree_is_worked_with():
    """Whatever can be read can be worked with, also a long phrase."""
    tree = parse_phrase("(S " * 149 + "(A b)" + ")" * 149)
    assert parse_phrase(str(tree)) == clean(tree) == shared(tree, {}) == tree
    assert len(tree.spans()) == 149
    assert unbinarise(binarise(tree)) == tree
    assert annotate(tree).words() == ["b"]
    assert len(parse_phrase("(S " + "(A b)" * 20_000 + ")").children) == 20_000


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(S (NN a)\n\n(S (NN b))", "line 1: a bracket opened on this line is never closed"),
        ("(S (NN a))\n)", "line 2: '\\)' is outside all"),
        ("(S (NN a))\nword", "line 2: 'word' is outside all"),
        ("(S\n(NN))", "line 2: brackets must contain"),
        ("(S (NN a) b)", "line 1: brackets must contain"),
        ("(S (NN a b))", "brackets must contain"),
        ("()", "brackets must contain"),
        ("(S " * 151 + "(A b)" + ")" * 151, "line 1: brackets are nested more than 150 levels deep"),
        (
            "(S (A b))\n" + "(A " * 100_000 + "b" + ")" * 100_000,
            "line 2: brackets are nested more than 150 levels deep",
        ),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, text, fault):
    """Brackets that do not fit are refused."""
    (tmp_path / "bad.mrg").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=fault):
        list(read_phrases(tmp_path / "bad.mrg"))


def test_one_tree_is_parsed():
    """Not two, and not none."""
    for text in ("", "(NN a) (NN b)"):
        with pytest.raises(InputError, match="must contain exactly one tree"):
            parse_phrase(text)


def test_clean_trees():
    """Traces go with what held nothing else; functions, indices and wrappers go; words stay in order."""
    raw = parse_phrase(
        "( (S (NP-SBJ-2 (PRP He)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1))) (ADVP|PRT (RP up)) "
        "(PP=3 (-NONE- *))) (-LRB- -LRB-) (. .)))"
    )
    assert str(clean(raw)) == "(S (NP (PRP He)) (VP (VBD said) (ADVP (RP up))) (-LRB- -LRB-) (. .))"
    assert clean(parse_phrase("( (S (-NONE- *)))")) is None
    assert {str(clean(parse_phrase(f"({x} (S (= =)))"))) for x in ("", "TOP", "ROOT", "S1")} == {"(S (= =))"}
    assert parse_phrase("(S\t(CD 10\u00a0000))").words() == ["10\u00a0000"]
    assert str(clean(parse_phrase("( (NP (NN a)) (. .))"))) == "(TOP (NP (NN a)) (. .))"
    assert [category(x) for x in ("NP-SBJ=1", "NP=1-SBJ", "-RRB-", "ADJP|ADVP-PRD")] == ["NP", "NP", "-RRB-", "ADJP"]


@given(above(trees))
def test_spans_tell_the_tree(tree):
    """Each phrase has a span of its words, and the words of its children add up to it."""
    spans = tree.spans()
    assert len(spans) == sum(1 for phrase in tree.walk() if phrase.word is None)
    assert spans[-1] == (tree.label, 0, len(tree.words()))
    assert [tag.word for tag in tree.tags()] == tree.words()
    for label, start, end in spans:
        assert 0 <= start < end <= len(tree.words())
        assert label in {phrase.label for phrase in tree.walk()}


@given(trees, st.integers(0, 3), st.booleans(), st.booleans())
def test_binarised_trees_can_be_put_back(tree, horizontal, tagged, splits):
    """Whatever labels remember; no phrase has more than two children, and all words stay where they are."""
    annotated = annotate(tree, tags=tagged, splits=splits)
    narrow = binarise(annotated, horizontal=horizontal)
    assert unbinarise(narrow) == tree == unbinarise(annotated)
    assert max((len(phrase.below) for phrase in narrow.walk()), default=0) <= 2
    assert narrow.words() == tree.words()
    assert [bare(tag.label) for tag in narrow.tags()] == [tag.label for tag in tree.tags()]


def test_marks_of_annotation_are_refused_in_labels():
    """They could not be told from those that are added."""
    for label in ("N^P", "@NP"):
        with pytest.raises(InputError, match="labels must not contain"):
            annotate(Phrase(label, (Phrase("NN", ("a",)),)))


def test_annotation_by_hand():
    """Parents, tags alone in their phrase, base and possessive noun phrases, kinds of verb phrases, bare sentences."""
    tree = parse_phrase(
        "(S (NP (NP (NNP Al) (POS 's)) (NN dog)) (VP (MD may) (VP (VB try) (S (VP (TO to) (VP (VB go)))))))"
    )
    wanted = (
        "(S^TOP (NP^S (NP^NP^poss^base (NNP^NP Al) (POS^NP 's)) (NN^NP dog)) (VP^S^fin (MD^VP may) (VP^VP^VB "
        "(VB^VP try) (S^VP^bare (VP^S^TO (TO^VP to) (VP^VP^VB (VB^VP^U go)))))))"
    )
    assert str(annotate(tree)) == wanted
    assert str(without_loops(parse_phrase("(NP (NP (NP (NN a)) (NN b)))"))) == "(NP (NP (NN a)) (NN b))"
    wide = parse_phrase("(VP (RB not) (VBZ is) (NP (NN a)) (PP (IN in)))")
    assert str(binarise(wide, horizontal=1)) == (
        "(VP (RB not) (@VP|VBZ>PP (@VP|VBZ>NP (VBZ is) (NP (NN a))) (PP (IN in))))"
    )
    assert binarise(wide, horizontal=0).below[1].label == "@VP|VBZ>"


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("VP", "MD VP", 0),
        ("VP", "ADVP VBZ NP", 1),
        ("PP", "IN NP", 0),
        ("NP", "DT JJ NN", 2),
        ("NP", "NNP NN NNS", 2),
        ("NP", "NP , SBAR ,", 0),
        ("NP", "NNP POS", 1),
        ("NP", "DT CD", 1),
        ("NP", "NN CC NN", 0),
        ("NP", "NP , NP CC NP", 0),
        ("SBAR", "IN S", 0),
        ("WHNP", "WP", 0),
        ("ADJP", "RB JJ PP", 1),
        ("UCP", "ADJP CC NP", 0),
        ("QP", "IN $ CD", 1),
        ("PRN", ", S ,", 1),
        ("ZZZ", "NN VB", 0),
    ],
)
def test_heads_by_hand(label, children, head):
    """Children whose category decides that of the phrase, by the published rules."""
    assert head_child(label, children.split()) == head


GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"


@pytest.mark.parametrize(
    ("tree", "counts"),
    [  # the sample that comes with evalb: matched, gold, test, and right tags of four words
        (GOLD, (4, 4, 4, 4)),
        ("(S (A (P this)) (B (Q is) (C (R a) (T test))))", (3, 4, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (R a) (U test))))", (4, 4, 4, 3)),
        ("(S (C (P this)) (B (Q is) (A (R a) (U test))))", (3, 4, 4, 3)),
        ("(S (A (P this)) (B (Q is) (R a) (A (T test))))", (3, 4, 4, 4)),
        ("(S (A (P this) (Q is)) (A (R a) (T test)))", (2, 4, 3, 4)),
        ("(S (P this) (Q is) (R a) (T test))", (1, 4, 1, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (R a) (T test)))))", (4, 4, 5, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (A (A (A (R a) (T test))))))))", (4, 4, 8, 4)),
        ("(TOP (S (A (P this)) (B (Q is) (A (R a) (T test)))))", (4, 4, 4, 4)),
    ],
)
def test_counts_are_those_of_evalb(tree, counts):
    """The published results of the program's own sample."""
    found = match_brackets(bracketing(parse_phrase(GOLD)), bracketing(parse_phrase(tree)))
    assert found == (*counts, 4)


def test_punctuation_does_not_count():
    """Where a comma is attached makes no difference; what holds only punctuation is no bracket; a quote is no word."""
    gold = bracketing(parse_phrase("(S (NP (NN a)) (, ,) (VP (VBZ b) (PRT (RP up))) (. .))"))
    other = bracketing(parse_phrase("(S (NP (NN a) (, ,)) (VP (VBZ b) (ADVP (RP up)) (X (. .))))"))
    assert counted(gold.spans, gold.tags) == counted(other.spans, gold.tags)
    assert match_brackets(gold, other) == (4, 4, 4, 3, 3)
    tagged = bracketing(parse_phrase("(S (NP (NN a) (CC ,)) (VP (VBZ b) (PRT (RP up))) (NN .))"))
    assert match_brackets(gold, tagged) == (4, 4, 4, 3, 3)


def test_trees_of_other_words_are_refused():
    """With the place of the first word that differs."""
    one, other = (Bracketing(words, ["X"] * len(words), []) for words in ("ab", "ac"))
    with pytest.raises(InputError, match="word 2 is 'b' in the gold tree and 'c' in the predicted tree"):
        match_brackets(one, other)
    with pytest.raises(InputError, match="got 2 and 1 words"):
        match_brackets(one, Bracketing("a", ["X"], []))
    for start, end in ((-1, 1), (0, 3), (1, 1)):
        with pytest.raises(InputError, match=f"got NP from {start} to {end}"):
            match_brackets(one, one._replace(spans=[("NP", start, end)]))


@given(trees, trees)
def test_f_is_symmetric_and_one_for_itself(one, other):
    """Precision and recall change places with the trees."""
    a = bracketing(one)
    b = Bracketing(a.words, a.tags, [span for span in other.spans() if span[2] <= len(a.words)])
    forth, back = match_brackets(a, b), match_brackets(b, a)
    assert (forth.matched, forth.gold, forth.found) == (back.matched, back.found, back.gold)
    assert match_brackets(a, a).f1 == 1.0
    assert 0 <= forth.f1 <= 1


def test_figures_of_a_corpus():
    """Sums of sentences, not means; the figure with an interval has the same value."""
    rows = [MatchedBrackets(3, 4, 5, 9, 10), MatchedBrackets(2, 2, 2, 5, 5), MatchedBrackets(0, 2, 1, 1, 2)]
    score = bracket_score(rows)
    assert (score.precision, score.recall) == (5 / 8, 5 / 8)
    assert score.f1 == pytest.approx(2 * score.precision * score.recall / (score.precision + score.recall))
    assert (score.complete, score.tagging, score.sentences) == (1 / 3, 15 / 17, 3)
    assert bracket_score(np.array(rows)) == score
    figure = bracket_figure("F", rows)
    assert figure.value == score.f1
    assert figure.interval()[0] <= figure.value <= figure.interval()[1]
    assert score.as_dict()["f1"] == score.f1
    with pytest.raises(InputError, match="no sentences"):
        bracket_score([])
    assert MatchedBrackets(0, 0, 0).f1 == 1.0


@pytest.mark.realdata
def test_a_treebank_is_read_whole(realdata):
    """The sample has its published size; all trees come back from annotation and binarisation, and from text."""
    files = penn_sample(root=realdata)
    assert (len(files), sum(map(len, files))) == (199, 3914)
    assert " ".join(files[0][1].words()) == "Mr. Vinken is chairman of Elsevier N.V. , the Dutch publishing group ."
    words = 0
    for tree in (tree for file in files for tree in file):
        words += len(tree.words())
        assert unbinarise(binarise(annotate(tree), horizontal=1)) == tree
    assert words == 94_084
    assert all(parse_phrase(str(tree)) == tree for tree in files[2])
    labels = {phrase.label for file in files for tree in file for phrase in tree.walk() if phrase.word is None}
    known = "ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP"
    assert labels <= {*known.split(" "), "WHADJP", "WHADVP", "WHNP", "WHPP", "X"}

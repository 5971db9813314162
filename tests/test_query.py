"""Queries: the matches agree with a regular expression over the words, and invalid queries raise InputError."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Corpus, InputError
from polyadic.syntax.text_tagger import _treebank_words
from polyadic.text import kernels
from polyadic.text.tokens import whitespace

LETTERS = "abc"
WORDS = st.sampled_from(LETTERS).map(lambda letter: (f'"{letter}"', letter))
SETS = st.sampled_from([("[]", "."), ('[word!="a"]', "[bc]"), ('[word="a" | word="c"]', "[ac]"), ('"[ab]"', "[ab]")])
TIMES = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,2}"])
QUERIES = st.recursive(
    WORDS | SETS,
    lambda below: st.one_of(
        st.lists(below, min_size=2, max_size=3).map(lambda parts: tuple(map(" ".join, zip(*parts, strict=True)))),
        st.lists(below, min_size=2, max_size=2).map(
            lambda parts: tuple(f"({' | '.join(side)})" for side in zip(*parts, strict=True))
        ),
        st.tuples(below, TIMES).map(lambda pair: tuple(f"({side}){pair[1]}" for side in pair[0])),
    ),
    max_leaves=5,
)


def expected(sentences, pattern):
    """Return the longest match from each position that does not lie within another one."""
    found, start = [], 0
    match = re.compile(pattern.replace(" ", "").replace("{,", "{0,")).fullmatch
    for sentence in sentences:
        n = len(sentence)
        spans = [(i, max((j for j in range(i + 1, n + 1) if match(sentence, i, j)), default=-1)) for i in range(n)]
        spans = [(i, j) for i, j in spans if j > 0]
        kept = [(i, j) for i, j in spans if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in spans)]
        found += [(start + i, start + j) for i, j in kept]
        start += n
    return found


@given(st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=5), QUERIES)
def test_queries_are_regular_expressions_over_words(sentences, query):
    """All matches are found, whichever condition is looked up first; matches do not cross sentences."""
    corpus = Corpus.build([[list(sentence) for sentence in sentences]], min_count=1)
    asked, pattern = query
    if re.fullmatch(pattern.replace(" ", "").replace("{,", "{0,"), ""):
        with pytest.raises(InputError, match="can match zero words"):
            corpus.lines.matches(asked)
        return
    starts, ends = corpus.lines.matches(asked)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected(sentences, pattern)
    starts, ends = corpus.lines.matches(asked + " within d")
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected(["".join(sentences)], pattern)


@pytest.fixture(scope="module")
def corpus():
    texts = [
        "The Bank of the river. He didn’t go. Is it well-known?",
        "Banks don't lend. Cafe and CAFÉ, mill miller; a rose.",
    ]
    return Corpus.build(texts, min_count=1, language="en", stop_words="language")


@pytest.mark.parametrize(
    ("query", "how", "words"),
    [
        ("bank", {}, ["Bank"]),
        ("bank", {"case": True}, []),
        ("Bank", {"case": True}, ["Bank"]),
        ("don't", {}, ["don't"]),
        ("don’t", {"case": True}, ["don't"]),
        ("DIDN'T", {}, ["didn’t"]),
        ("well-known", {}, ["well-known"]),
        ("the", {}, ["The", "the"]),
        ("mill*", {}, ["mill", "miller"]),
        ("*ill", {}, ["mill"]),
        ("r?se", {}, ["rose"]),
        ("of the r*", {}, ["of the river"]),
        ("cafe", {}, ["Cafe"]),
        ("cafe", {"diacritics": False}, ["Cafe", "CAFÉ"]),
        ('"bank"', {}, []),
        ('"bank"%c', {}, ["Bank"]),
        ('"cafe"%cd', {}, ["Cafe", "CAFÉ"]),
        ('[lc="bank.*"]', {}, ["Bank", "Banks"]),
        ('[lc="b.*" & word!="Bank"]', {}, ["Banks"]),
        ('[!(lc="[a-l].*" | lc="[n-z].*") & lc="m.*"]', {}, ["mill", "miller"]),
        ('[lc="don\'t"]', {}, ["don't"]),
        ('[lemma="bank"]', {}, ["Bank", "Banks"]),
        ('"it" "well"', {}, ["it well"]),
        ('"go" "Is"', {}, []),
        ('"go" "Is" within d', {}, ["go. Is"]),
        ('"go" "Is" within <s/>', {}, []),
    ],
)
def test_words_are_found_as_they_are_spelled(corpus, query, how, words):
    """Words outside the vocabulary are found, in any case and with any apostrophe, with a line for each."""
    assert [line.word for line in corpus.lines.find(query, **how)] == words


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ('[lemma="go"', r"character 12: '\]' is missing"),
        ("[lemma=go]", "character 8: a value in quotation marks is expected"),
        ('[pos="NOUN"]', "no attribute 'pos'; they have word, lc, lemma"),
        ('[lema="go"]', "did you mean 'lemma'"),
        ('"old house"', "each word of a phrase"),
        ('"a" within p', "followed by s .sentence. or d"),
        ('"a"{3,2}', "not a number of repetitions"),
        ('"a"{0}', "not a number of repetitions"),
        ('"("', "not a regular expression"),
        ('"a"%x', "%x is not a flag"),
        ('"a" & "b"', "'&' is not expected here"),
        ("[]*", "can match zero words"),
        ('"a"{70}', "more than 64 words"),
        ("!!", "at least one word"),
    ],
)
def test_what_cannot_be_asked_is_told(corpus, query, fault):
    """A syntax error raises InputError with its position, and is distinguished from a query without matches."""
    with pytest.raises(InputError, match=fault):
        corpus.lines.matches(query)


def test_the_text_is_restored(corpus):
    """Words and gaps restore the text, and each sentence its own punctuation."""
    texts = ["“Well,” he said.\n\n* * *\n(No.) Dr. Who’s co\u00adop", "", "...", " x ", "1.5 és é\u0301.\n"]
    text = Corpus.build(texts, min_count=1, language="en").text
    assert [text.document(k) for k in range(5)] == texts
    assert [text.sentence(k) for k in range(len(text.sentences) - 1)] == [
        "“Well,” he said.", "(No.) Dr. Who’s co\u00adop", "x", "1.5 és é\u0301."
    ]  # fmt: skip


def test_lines_in_the_order_of_the_words_beside():
    """Sorting only the lines that are shown gives the beginning of the full order."""
    rng = np.random.default_rng(0)
    corpus = Corpus.build(
        [" ".join(rng.choice(list("abcx"), 400)) for _ in range(3)], min_count=1, tokenizer=whitespace
    )
    for sort in ("left", "right"):
        sides = [(line.left if sort == "left" else line.right).split() for line in corpus.lines.find("x", sort=sort)]
        keys = [(side[::-1] if sort == "left" else side)[:5] for side in sides]
        assert keys == sorted(keys)
        assert [*corpus.lines.find("x", sort=sort, start=3, top=9)] == [*corpus.lines.find("x", sort=sort)][3:12]
    drawn = [*corpus.lines.find("x", sample=7, seed=1)]
    assert len({line.left for line in drawn}) == 7
    assert drawn == [*corpus.lines.find("x", sample=7, seed=1)]


def test_layers_of_annotated_text(tmp_path):
    """Lemmas and parts of speech of CoNLL-U can be searched; punctuation and contractions are restored."""
    rows = [
        ("1", "Dogs", "dog", "NOUN", "_"), ("2", "bark", "bark", "VERB", "SpaceAfter=No"),
        ("3", "!", "!", "PUNCT", "_"), None,
        ("1", "The", "the", "DET", "_"), ("2-3", "du", "_", "_", "_"), ("2", "de", "de", "ADP", "_"),
        ("3", "le", "le", "DET", "_"), ("4", "bark", "bark", "NOUN", "_"), None,
        ("1", "Le", "le", "DET", "_"), ("2", "bon", "bon", "DET", "_"), ("3", "oak", "oak", "DET", "SpaceAfter=No"),
        ("4", ".", ".", "PUNCT", "_"), None,
    ]  # fmt: skip
    lines = ["" if row is None else "\t".join([*row[:4], *"_____", row[4]]) for row in rows]
    (tmp_path / "a.conllu").write_text("# newdoc = A\n" + "\n".join(lines) + "\n", encoding="utf-8")
    corpus = Corpus.build(tmp_path / "a.conllu", min_count=1, language="en")
    assert [line.text for line in corpus.lines.find('[lemma="bark"]')] == ["Dogs bark!", "The de le bark"]
    assert [line.text for line in corpus.lines.find("oak")] == ["Le bon oak."]  # whatever was contracted before
    assert [line.word for line in corpus.lines.find('[pos="NOUN" & word!="D.*"]')] == ["bark"]
    assert [line.word for line in corpus.lines.find('[pos="DET"] [pos="ADP"] [pos="DET"]')] == ["The de le"]
    assert [line.word for line in corpus.lines.find('[pos!="NOUN|DET|ADP"]')] == ["bark"]
    assert sorted(corpus.vocabulary.words) == ["bark", "bon", "de", "dogs", "le", "oak", "the"]


def test_a_tagger_gives_layers():
    """Words are tagged in their sentences with punctuation; a contraction has the tag of its first part."""

    class Letters:
        def layers(self, sentences, language):
            return {
                "first": [[word[0] for word in parts[1::2]] for parts in sentences],
                "of": [[language] * (len(parts) // 2) for parts in sentences],
            }

    corpus = Corpus.build(["An old dog. * No!", "Be."], min_count=1, language="en", tagger=Letters())
    assert [line.word for line in corpus.lines.find('[first="[od]"]{2} ')] == ["old dog"]
    assert corpus.lines.count('[of="en"]') == 5
    words, places = _treebank_words(["“", "Don’t", " ", "well", "-", "known", " ", "U.S", ".”"], english=True)
    assert [words[at] for at in places] == ["Do", "well", "known", "U.S."]
    words, places = _treebank_words(["«", "L", "’", "eau", "»."], english=False)
    assert (words, places) == (["«", "L", "’", "eau", "»", "."], [1, 3])


@given(st.lists(st.integers(0, 5), max_size=40), st.lists(st.booleans(), min_size=6, max_size=6), st.integers(1, 9))
def test_positions_are_those_of_numpy(values, truth, at_once):
    """A scan in blocks, by several threads, returns the positions in order."""
    values, truth = np.array(values, np.uint16), np.array(truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "SCANNED", at_once)
        assert kernels.positions_where(values, truth).tolist() == np.flatnonzero(truth[values]).tolist()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_words_near_are_those_of_a_scan(codes, data):
    """Each token counts once, even near several matches; windows end with sentences and at gaps in the numbering."""
    n = len(codes)
    cuts = sorted(data.draw(st.sets(st.integers(1, n), max_size=4)) | {0, n})
    starts = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    left, right = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    number = np.array([2, -1, 0, 1], np.int32)
    positions, together = np.zeros((3, left + right), int), np.zeros(4, int)
    tokens = set()
    for at in starts:
        low, high = max(cut for cut in cuts if cut <= at), min(cut for cut in cuts if cut > at)
        for place, offset in enumerate([*range(-left, 0), *range(1, right + 1)]):
            if low <= at + offset < high:
                tokens.add(at + offset)
                if (word := number[codes[at + offset]]) >= 0:
                    positions[word, place] += 1
    for word in [number[codes[token]] for token in tokens]:
        together[3] += 1
        together[word] += word >= 0
    ends = np.array(starts) + 1
    found = kernels.words_near(
        np.array(starts), ends, np.array(cuts), np.array(codes, np.uint8), number, left, right, 3
    )
    assert (found[0].tolist(), found[1].tolist()) == (positions.tolist(), together.tolist())

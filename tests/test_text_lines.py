"""Laws of the lines of a corpus: what is asked for stands in them, all of them are found, in the order asked for."""

import csv
import io
import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import invoke
from polyadic import Corpus, InputError
from polyadic.core import frames
from polyadic.text import encoder
from polyadic.text.tokens import Tokenizer, whitespace

TEXTS = [
    "The bank of the river. A bank lends money! Banks don't lend to the river bank's owner.",
    "He sat on the BANK; the river ran. Dr. Bank wrote “don’t”.\nMoney in the bank of the river.",
    "Nothing here.",
]
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), max_size=6)


@pytest.fixture
def corpus(tmp_path):
    rows = io.StringIO()
    csv.writer(rows).writerows([["title", "year", "text"], *zip("ABC", ("1813", "1814", "1813"), TEXTS, strict=True)])
    (tmp_path / "a.csv").write_text(rows.getvalue(), encoding="utf-8")
    return Corpus.build(tmp_path / "a.csv", tmp_path / "corpus", min_count=1, field="text")


def shown(lines):
    return [line.text for line in lines]


@given(st.lists(SENTENCES, min_size=1, max_size=4), st.sets(st.sampled_from("abcd"), min_size=1, max_size=3))
def test_lines_are_those_in_which_all_words_stand(documents, asked):
    """A naive scan finds the same lines, one for each occurrence of the first word, in the same documents."""
    documents = [*documents, [["a"]]]
    corpus = Corpus.build(documents, min_count=1)
    expected = [
        (number, " ".join(sentence))
        for number, document in enumerate(documents)
        for sentence in document
        for word in sentence
        if asked <= set(sentence) and word == min(asked)
    ]
    found = list(corpus.lines.find(*sorted(asked)))
    assert [(line.document, line.text) for line in found] == expected
    assert corpus.lines.count(*sorted(asked)) == len(expected)
    assert all(line.text[a:b] in asked for line in found for a, b in line.places)
    assert len(corpus.lines) == sum(len(document) for document in documents)


def test_sentences_stand_as_in_the_text(corpus):
    """Case, marks and titles are kept; what is found is what the tokenizer counts."""
    assert shown(corpus.lines.find("bank", "river")) == [
        "The bank of the river.",
        "Banks don't lend to the river bank's owner.",
        "He sat on the BANK; the river ran.",
        "Money in the bank of the river.",
    ]
    denied = ["Banks don't lend to the river bank's owner.", "Dr. Bank wrote \u201cdon\u2019t\u201d."]
    assert shown(corpus.lines.find("don't")) == denied
    line = next(corpus.lines.find("bank", "river", where={"title": "B"}))
    assert (line.left, line.word, line.right) == ("He sat on the ", "BANK", "; the river ran.")
    assert line.fields == {"title": "B", "year": "1814"}
    assert corpus.vocabulary.counts[corpus.vocabulary["bank"]] == corpus.lines.count("bank")


def test_phrases_beginnings_and_distances(corpus):
    """Words between spaces follow one another, a star is any ending, a width bounds what stands between."""
    assert len(shown(corpus.lines.find("bank of the river"))) == 2
    assert len(shown(corpus.lines.find("bank*"))) == 7
    assert {line.word.lower() for line in corpus.lines.find("ban*")} >= {"bank", "banks"}, "whole words"
    assert shown(corpus.lines.find("money", "river", width=4)) == []
    assert shown(corpus.lines.find("money", "river", width=5)) == ["Money in the bank of the river."]
    assert shown(corpus.lines.find("money", "river", width=(1 << 31) - 1, top=(1 << 63) - 1)) != []
    assert shown(corpus.lines.find("Dr. Bank")) == ["Dr. Bank wrote “don’t”."]
    assert [line.word for line in corpus.lines.find("(dr. bank!)")] == ["Dr. Bank"]
    for odd in ("a AND b", "NEAR(a", "bank -river", "x:y", "*x"):
        list(corpus.lines.find(odd))


def test_sorting_and_paging(corpus):
    """Lines are sorted by the words beside the first one, and pages put together are the whole."""
    whole = list(corpus.lines.find("bank", sort="right"))
    sides = [re.findall(r"\w+", line.right.lower()) for line in whole]
    assert all(a <= b for a, b in pairwise(sides))
    lefts = [re.findall(r"\w+", line.left.lower())[::-1] for line in corpus.lines.find("bank", sort="left")]
    assert all(a <= b for a, b in pairwise(lefts))
    pages = [line for start in range(0, 9, 2) for line in corpus.lines.find("bank", sort="right", start=start, top=2)]
    assert pages == whole
    assert shown(corpus.lines.find("bank", where={"year": "1813"})) == shown(corpus.lines.find("bank"))[:3]


def test_jobs_and_tokenizers_change_no_line(monkeypatch):
    """Lines are the same however the text is divided; a tokenizer that only gives words has these as its lines."""
    texts = [f"The {i}th bank. A river!" for i in range(300)]
    whole = shown(Corpus.build(texts, min_count=1).lines.find("bank"))
    monkeypatch.setattr(encoder, "CHUNK", 500)
    assert shown(Corpus.build(texts, min_count=1, jobs=2).lines.find("bank")) == whole
    words = Corpus.build(["a bank\nof b"], min_count=1, tokenizer=whitespace)
    assert shown(words.lines.find("of")) == ["of b"]
    assert Tokenizer().sentences("Mr. X, 5.\n!") == [("Mr. X, 5.", ["mr", "x", "5"])]


def test_a_corpus_without_text_has_no_lines(tmp_path):
    """Lines require the text of a corpus; a flipped bit in any file raises InputError before anything is shown."""
    texts = ["a bank of b", "a river"]
    whole = Corpus.build(texts, tmp_path / "corpus", min_count=1)
    with pytest.raises(InputError, match="does not contain the running text; make the corpus again"):
        _ = whole.select([1]).lines
    for file in sorted((tmp_path / "corpus" / "text").iterdir()):
        good = file.read_bytes()
        for at in range(0, len(good), 7):
            file.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
            with pytest.raises(InputError, match=r"damaged|must contain"):
                [*Corpus.open(tmp_path / "corpus").lines.find("bank")]
        file.write_bytes(good)
    file = tmp_path / "corpus" / "text" / "gaps.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\7")
    with pytest.raises(InputError, match=f"checksum; delete {tmp_path / 'corpus'} and make the corpus again$"):
        [*Corpus.open(tmp_path / "corpus").lines.find("bank")]


def test_either_word_is_enough(corpus):
    """Lines of any of the words, as often as sets say; by relevance those with all of them come first."""
    lines, words = corpus.lines, ("bank", "river", "here")
    each = {word: {line.text for line in lines.find(word)} for word in words}
    found = [line.text for line in lines.find(*words, either=True)]
    assert set(found) == set.union(*each.values())
    assert lines.count(*words, either=True) == len(found)
    best = [line.text for line in lines.find("bank", "river", either=True, sort="relevance")]
    both = each["bank"] & each["river"]
    assert both
    assert set(best[: sum(line in both for line in best)]) == both
    with pytest.raises(InputError, match="width cannot be combined with 'either'"):
        next(lines.find("bank", "river", either=True, width=3))


def test_questions_are_checked(corpus):
    """A question without words, with a wrong order or a negative number is refused."""
    for arguments, options, fault in (
        ((), {}, "at least one word"),
        ((" ",), {}, "at least one word"),
        (("'",), {}, "at least one word; got"),
        (("a",), {"sort": "up"}, "sort must be one of"),
        (("a",), {"start": -1}, "start must be"),
        (("a", "b"), {"width": -1}, "width must be"),
        (("a", "b"), {"width": 1 << 32}, "width must be a whole number from 0 to 2147483648"),
        (("a\udcff",), {}, "must be valid Unicode; got 'a.udcff'"),
    ):
        with pytest.raises(InputError, match=f"^(?!.*damaged).*{fault}"):
            list(corpus.lines.find(*arguments, **options))


def test_lines_on_the_command_line(corpus):
    """The verb shows what the library finds: between tabs, as a table, as JSON."""

    def run(*arguments):
        done = invoke("lines", corpus.path, *arguments)
        assert done.exit_code == 0, done.output
        return done.stdout

    found = list(corpus.lines.find("bank", "river", sort="right"))
    names = {0: "A", 1: "B"}
    rows = [line.split("\t") for line in run("bank", "river", "--sort", "right").splitlines()]
    assert rows == [[names[line.document], line.left, line.word, line.right] for line in found]
    table = list(csv.DictReader(io.StringIO(run("bank", "river", "--sort", "right", "--csv", "-"))))
    assert [row["left"] + row["word"] + row["right"] for row in table] == shown(found)
    assert [row["year"] for row in table] == [line.fields["year"] for line in found]
    answer = json.loads(run("bank", "river", "--json", "--top", "2", "--where", "year=1813"))
    assert [line["text"] for line in answer["lines"]] == [line.text for line in corpus.lines.find("bank", "river")][:2]
    assert answer["count"] == len(list(corpus.lines.find("bank", "river", where={"year": "1813"})))
    file = corpus.path.parent / "lines.csv"
    assert run("bank", "river", "--sort", "right", "--csv", str(file)) == ""
    assert list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))) == table
    again = invoke("lines", corpus.path, "bank", "--csv", file)
    assert (again.exit_code, "--force" in again.stderr) == (1, True)
    nothing = invoke("lines", corpus.path, "bank", "--where", "year=1850")
    assert nothing.stderr == "polyadic: no match for 'bank' in documents with year=1850\n"
    nothing = invoke("lines", corpus.path, "banq", "river")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == (
        "polyadic: no match for 'banq' and 'river'; 'banq' does not occur in the text; did you mean 'bank'?\n"
    )
    refused = invoke("lines", corpus.path, "bank", "--where", "1813")
    assert "--where must have the form FIELD=VALUE" in refused.output


@pytest.mark.parametrize(
    ("text", "language", "word", "expected"),
    [
        ("पानी पीता है। वह पानी है।", "hi", "पानी", ["पानी", "पानी"]),
        ("பூமி சுற்றுகிறது.", "ta", "பூமி", ["பூமி"]),
        ("पान खाता है, पानी नहीं।", "hi", "पान", ["पान"]),
        ("Mr. Darcy came.", "en", "Mr. Darcy", ["Mr. Darcy"]),
        ("我去银行取钱。", "zh", "银行", ["银行"]),
    ],
)
def test_words_of_any_script_are_found_where_they_stand(text, language, word, expected):
    """Vowel signs belong to words, and no mark around one hides it."""
    lines = Corpus.build([text], min_count=1, language=language).lines
    assert [line.word for line in lines.find(word)] == expected
    assert lines.count(word) == len(expected)


def test_words_with_marks_are_found_in_text_that_is_tokenised():
    """What was cut by someone else may hold any mark, which is asked for as it stands."""
    rows = ["c is old", "c++ is .net", "a #tag of mr. darcy *", "f* is a start"]
    lines = Corpus.build(rows, min_count=1, tokenizer=whitespace).lines
    for word, row in (("c++", 1), (".net", 1), ("#tag", 2), ("mr. darcy", 2), ("*", 2)):
        found = list(lines.find(word))
        assert [(line.document, line.word) for line in found] == [(row, word)], word
    assert [line.document for line in lines.find("c")] == [0]


def test_lines_are_found_by_lemmas():
    """A corpus of lemmas knows every form of a word, and where it stands."""
    lines = Corpus.build(["Two mice ran.", "A mouse!"], min_count=1, tokenizer=Tokenizer(lemmas=True)).lines
    assert [line.word for line in lines.find("mouse")] == ["mice", "mouse"]
    assert [line.word for line in lines.find("run")] == ["ran"]


def test_fields_never_hide_what_a_line_is(tmp_path):
    """A field called as a part of the line is called field_word beside it; a field of any document has a column."""
    records = [{"text": "a bank", "word": "W", "document": "D7"}, {"text": "the bank", "left": "L", "extra": "e2"}]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    corpus = Corpus.build(tmp_path / "d.jsonl", tmp_path / "c", min_count=1, field="text")
    first, second = frames.records(corpus.lines.find("bank"))
    assert first == {
        "document": 0,
        "left": "a ",
        "word": "bank",
        "right": "",
        "field_word": "W",
        "field_document": "D7",
    }
    assert second == {"document": 1, "left": "the ", "word": "bank", "right": "", "field_left": "L", "extra": "e2"}
    table = invoke("lines", tmp_path / "c", "bank", "--csv", "-").stdout.splitlines()
    assert table[0] == "document,left,word,right,field_word,field_document,field_left,extra"
    assert table[1:] == ["0,a ,bank,,W,D7,,", "1,the ,bank,,,,L,e2"]

"""Laws of what depends on the language: sentences, words, stop lists, guesses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.text import languages
from polyadic.text.corpus import Corpus
from polyadic.text.stopwords import ENGLISH, MAX_STOP_WORDS, most_spread, stop_list, stop_words
from polyadic.text.tokens import Tokenizer

TEXTS = {
    "en": "The house stood at the end of a long road, and nobody in the village ever saw its doors open at night.",
    "de": "Das Haus stand am Ende einer langen Straße, und niemand im Dorf hatte je gesehen, dass sie offen war.",
    "fr": "La maison se trouvait au bout d'une longue route, et personne dans le village n'avait jamais vu ses portes.",
    "tr": "Ev uzun bir yolun sonunda duruyordu ve köyde hiç kimse kapılarının gece vakti açık olduğunu hiç görmemişti.",
    "zh": "那座房子坐落在一条长长的路的尽头，村里从来没有人见过它的门在夜里打开。大家都说那里住着一位老人。",
    "ja": "その家は長い道の終わりに立っていて、村の誰も夜にその扉が開いているのを見たことがありませんでした。",
}


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["en", "de", "fr", "tr", "zh", "xx"]))
def test_sentences_are_the_line(line, language):
    """Sentences put together are the line they were cut from."""
    line = line.replace("\n", " ")
    assert "".join(languages.sentences(line, language)) == line


@pytest.mark.parametrize("blank", [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"])
def test_any_blank_is_one(blank):
    """Numerals before blanks of two bytes and more, at which what cuts sentences fails."""
    for line in (f"I{blank}. ", f"See chapter IV{blank}. It is{blank}long. It{blank}ends."):
        assert "".join(languages.sentences(line, "en")) == line


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            ["Mr. Darcy met Dr. Watson in St. Louis.", "It was 5 p.m. in the U.S. Senate.", "See Fig. 3."],
        ),
        ("de", ["Am 3. Oktober kam z. B. Dr. Müller.", "Er blieb bis zum 24. 12. 1990.", "Dann ging er."]),
        ("fr", ["M. Dupont est venu.", "Il est parti avec Mme Durand."]),
        ("tr", ["Prof. Dr. Ahmet 3. Selim hakkında konuştu.", "Sonra gitti."]),
        ("zh", ["我爱北京。", "你呢？"]),
    ],
)
def test_abbreviations_end_no_sentence(language, sentences):
    """Titles, initials, abbreviations and ordinal numbers go on; what ends a sentence ends it."""
    text = ("" if language == "zh" else " ").join(sentences)
    assert [sentence.strip() for sentence in languages.sentences(text, language)] == sentences


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("fr", "L'eau qu'elle boit aujourd'hui", "l eau qu elle boit aujourd'hui"),
        ("it", "dell'acqua e un po' d’olio", "dell acqua e un po d olio"),
        ("tr", "IŞIK İstanbul'da", "ışık istanbul da"),
        ("en", "I don't see o'neil's", "i don't see o'neil"),
    ],
)
def test_apostrophes_and_letters_of_languages(language, text, words):
    """Elided words stand apart where a language elides; Turkish has two letters I."""
    assert Tokenizer(language=language)(text) == [words.split()]


def test_chinese_and_japanese_are_cut():
    """Text without spaces is cut into words where that can be done, and is a warning where it cannot."""
    pytest.importorskip("jieba")
    assert Tokenizer(language="zh")("我爱北京天安门。") == [["我", "爱", "北京", "天安门"]]
    corpus = Corpus.build([TEXTS["zh"]], min_count=1)
    assert corpus.settings["language"] == "zh"
    assert {"房子", "村里"} & set(corpus.vocabulary.words)


@pytest.mark.parametrize(("language", "help_"), [("ja", r"polyadic\[japanese\]"), ("th", "split the text into words")])
def test_clauses_as_words_are_warned_of(language, help_, monkeypatch):
    """Where words cannot be told apart, that is said, with what helps."""
    monkeypatch.setattr(languages, "segmenter", lambda _: None)
    with pytest.warns(UserWarning, match=rf"the language {language} is written without spaces, .*{help_}"):
        Corpus.build(["その家は長い道の終わりに"], min_count=1, language=language)


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_guessed(language):
    """A hundred characters tell the language."""
    assert languages.guess(TEXTS[language]) == language


def test_too_little_text_is_english():
    """A few words tell nothing, and are taken to be English."""
    assert languages.guess("die Bank") == languages.guess("A goose λόγος ran") == "en"
    assert [*map(languages.guess, ("Михаи́л чита́ет кни́гу.", "كِتَابٌ جَدِيدٌ عن اللغة"))] == ["ru", "ar"]  # other scripts tell
    assert Corpus.build(["die Bank"], min_count=1).settings["language"] == "en"


def test_kin_of_chinese_are_read_as_chinese(monkeypatch):
    """What is taken for Wu or Cantonese first is cut like Chinese, the likeliest language of two letters."""
    ranked = [("yue", -63.1), ("wuu", -64.0), ("zh", -65.5), ("ja", -90.0)]
    monkeypatch.setattr("py3langid.rank", lambda _: ranked)
    assert languages.guess("一页第节章一页第节章") == "zh"


def test_halves_of_characters_are_refused(tmp_path):
    """A text that is no text, from a file in an odd encoding or from a program, is refused where it is wrong."""
    (tmp_path / "a.txt").write_text("The cat +2AA- sat.")
    for source in (tmp_path / "a.txt", ["The cat \ud800 sat."]):
        with pytest.raises(InputError, match=r"unpaired surrogate in 'The cat .ud800 sat.'"):
            Corpus.build(source, min_count=1, encoding="utf-7")


def test_language_of_a_corpus(tmp_path):
    """Guessed once from the text, or as said; it decides how text is cut and which stop list is meant."""
    corpus = Corpus.build([TEXTS["de"]], min_count=1, stop_words="language")
    assert corpus.settings["language"] == "de"
    assert "language='de'" in corpus.settings["tokenizer"]
    assert {"haus", "straße"} <= set(corpus.vocabulary.words)
    assert not {"das", "und", "im"} & set(corpus.vocabulary.words)
    said = Corpus.build([TEXTS["de"]], min_count=1, stop_words="language", language="fr")
    assert "und" in said.vocabulary.words
    with pytest.raises(InputError, match="language must be auto or a code"):
        Corpus.build(["a"], language="german")
    with pytest.raises(InputError, match="language must be auto or a code"):
        Tokenizer(language="d")


LISTED = "ar bg ca cs da nl en fi fr de he hi hu id it nb pl pt ro ru sk es sv tr uk vi fa el zh ja ko"


@pytest.mark.parametrize("language", LISTED.split())
def test_stop_lists(language):
    """Thirty languages and more have a list, of words that the tokenizer can make."""
    words = stop_list(language)
    assert len(words) > 20
    if language in ("zh", "ja"):
        return
    tokenize = Tokenizer(language=language)
    assert [word for word in words if tokenize(word) != [[word]]] == []


def test_stop_words_by_name():
    """A list has the name of its language, or its code; other names are files."""
    assert stop_words("german") == stop_words("de") == stop_words("language", "de")
    assert stop_words("english") == stop_words("language") == ENGLISH
    assert stop_words("none") == stop_words(None) == frozenset()
    with pytest.raises(InputError, match="file klingon does not exist"):
        stop_words("klingon")
    with pytest.warns(UserWarning, match="no stop word list for the language la"):
        assert stop_words("language", "la") == frozenset()


def test_stop_words_from_the_text():
    """Words in most parts of a text are taken to be grammatical, whatever the language; numbers are not."""
    assert most_spread({"a": 9, "b": 9, "7": 9, "c": 1}) == ["a", "b", "c"]
    assert len(most_spread({f"w{i}": i for i in range(500)})) == MAX_STOP_WORDS
    topics = [f"topic{i}" for i in range(200)]
    texts = [" ".join(f"xa xb {topics[i]} xc" for _ in range(700)) for i in range(200)]
    corpus = Corpus.build(texts, min_count=1, stop_words="auto")
    assert {"xa", "xb", "xc"} <= set(corpus.settings["stop_words"])
    assert not any(re.match("x[abc]$", word) for word in corpus.vocabulary.words)


@pytest.mark.parametrize(
    "line", ["a " + "w" * 10_000, "w" * 30_000, "A b. " + "w" * 9_000 + ". So. " + "x" * 9_000 + " end"]
)
def test_long_words_are_passed(line):
    """A word as long as a stretch of a line is gone through, wherever the blank before it is."""
    assert "".join(languages.sentences(line, "en")) == line


def test_a_quotation_mark_without_a_partner_hides_no_sentences():
    """Not for long: on one line the rest of a text would else be a quotation. Nothing is lost."""
    text = 'The 5" pipe broke. ' + 'She said "stop." Then she left. It was late. ' * 200
    parts = list(languages.sentences(text, "en"))
    assert "".join(parts) == text
    assert max(map(len, parts)) <= languages.MAX_SENTENCE_LENGTH
    assert len(parts) > 500
    quoted = 'He said "yes. I will. Now." and left.'
    assert list(languages.sentences(quoted, "en")) == [quoted]


@given(st.lists(st.sampled_from(["a", "B", "ß", "1", "23", ".", "(", '"', " ", "\u00a0", "_", "word"]), max_size=8))
@pytest.mark.parametrize("language", ["en", "de"])
def test_ends_are_looked_at_behind_few_letters(language, parts):
    """Whether a sentence goes on is told by its last few characters as by all of it."""
    text = "".join(parts)
    whole = {"en": r"(?<![^\s(\[„“\"'])[^\W\d_]\.\s+$", "de": r"(?<![^\s(\[„“\"'])(?:[^\W\d_]|\d{1,2})\.\s+$"}[language]
    expected, end = [""], ""
    for part in languages._parts(text, language):
        expected[-1] += part
        end = (end[-4:] if part.strip() else end) + part
        if not re.search(whole, end):
            expected, end = [*expected, ""], ""
    assert list(languages.sentences(text, language)) == [each for each in expected if each]

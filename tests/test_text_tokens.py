"""Laws of the tokenizers and of the stop lists."""

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.text import tokens
from polyadic.text.characters import folded
from polyadic.text.stopwords import ENGLISH, stop_words
from polyadic.text.tokens import Tokenizer, composed, whitespace

WORD = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=8)


def words(text, **options):
    return [token for sentence in Tokenizer(**options)(text) for token in sentence]


@given(st.text())
def test_tokens_are_words(text):
    """Tokens hold no white space and no upper case, and no sentence is empty."""
    for sentence in Tokenizer()(text):
        assert sentence
        assert all(token == token.lower() and token.split() == [token] for token in sentence)


@given(st.text())
def test_tokenizing_is_idempotent(text):
    """Joining the tokens of a sentence by spaces and tokenizing them again changes nothing."""
    once = Tokenizer()(text)
    assert Tokenizer()("\n".join(" ".join(sentence) for sentence in once)) == once


@given(st.lists(WORD))
def test_spaces_separate_words(tokens):
    """Words of letters and digits between spaces come back, in lower case and with compatible letters."""
    expected = [unicodedata.normalize("NFC", folded(token, "en").lower()) for token in tokens]
    assert words(" ".join(tokens)) == expected


@given(st.text())
def test_kept_punctuation_loses_nothing_visible(text):
    """With ``punctuation="keep"`` the letters, digits and punctuation of the text all remain, in order."""
    visible = [c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c)[0] in "LNPS"]
    sentences = list(Tokenizer(punctuation="keep").parts(text))
    assert "".join(part for parts in sentences for part in parts).replace("\u034f", "") == (
        unicodedata.normalize("NFC", text).replace("\u034f", "")
    )
    tokens = "".join(word for parts in sentences for word in parts[1::2])
    assert [c for c in tokens if unicodedata.category(c)[0] in "LNPS"] == visible


@given(st.text())
def test_digits_policies(text):
    """``"zero"`` changes digits only and ``"drop"`` leaves no word that begins with one."""
    assert all(not token[0].isdecimal() for token in words(text, digits="drop"))
    zeroed = words(text, digits="zero")
    assert [len(token) for token in zeroed] == [len(token) for token in words(text)]
    assert {c for token in zeroed for c in token if c.isdecimal()} <= {"0"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don’t o'neil rock 'n' roll", "don't o'neil rock n roll"),
        ("the dogs' dog's 'so' o'sullivan's", "the dogs dog so o'sullivan"),
        ("well-known _emphasis_ new_york", "well known emphasis new_york"),
        ("3.14 1,000.5 1. 2, x.y", "3.14 1,000.5 1 2 x.y"),
        ("U.S. and J.R.R. Tolkien", "u.s and j.r.r tolkien"),
        ("cafe\u0301 co\u00adoperate", "café cooperate"),
        ("हिन्दी में", "हिन्दी में"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("中文。日本語", "中文 日本語"),
        ("ΟΔΟΣ İstanbul", "οδος i̇stanbul"),
    ],
)
def test_words_users_expect(text, expected):
    """Contractions, names, numbers, abbreviations, composed letters and other scripts come out whole."""
    assert words(text) == expected.split(" ")


def test_sentences():
    """A sentence ends at a line end and at final punctuation before white space, not at an initial."""
    text = 'He said "Go!" Then he left... J. Smith saw 3.5 men. 中文。日本語\nA title\n\nThe end'
    starts = [sentence[0] for sentence in Tokenizer()(text)]
    assert starts == ["he", "then", "j", "中文", "日本語", "a", "the"]


@given(st.lists(st.lists(st.from_regex(r"\S+", fullmatch=True), min_size=1), min_size=1))
def test_whitespace_keeps_tokenised_text(sentences):
    """Text that is tokenised already comes back as it is, whatever its tokens look like."""
    assert whitespace("\n".join(" ".join(sentence) for sentence in sentences)) == sentences


def test_policies_are_checked():
    """A misspelt policy is refused when the tokenizer is made."""
    with pytest.raises(InputError, match="digits must be one of"):
        Tokenizer(digits="remove")
    with pytest.raises(InputError, match="punctuation must be one of"):
        Tokenizer(punctuation="no")


def test_english_stop_words_are_tokens():
    """Each word of the built-in list is what the default tokenizer makes of it, so that it can match."""
    assert all(words(word) == [word] for word in ENGLISH)
    assert {"the", "of", "and", "don't", "i"} <= ENGLISH
    assert not {"good", "one's", "man", "new", "time"} & ENGLISH


def test_stop_words_from_anywhere(tmp_path):
    """A file with one word a line and an iterable of words give the same set; faults are named."""
    path = tmp_path / "stop.txt"
    path.write_text("\ufeffund\r\noder\n\n", encoding="utf-8")
    assert stop_words(path) == stop_words(str(path)) == stop_words(iter(["und", "oder"])) == {"und", "oder"}
    with pytest.raises(InputError, match="does not exist"):
        stop_words(tmp_path / "absent")
    with pytest.raises(InputError, match="is a folder; name a file"):
        stop_words(tmp_path)
    path.write_bytes("für\nwährend\n".encode("latin-1"))
    assert stop_words(path) == {"für", "während"}
    for wrong in (3, [3]):
        with pytest.raises(InputError, match="stop_words must be"):
            stop_words(wrong)


def test_words_are_taken_to_lemmas():
    """Forms become one word, in the language of the text; lower case is kept."""
    assert words("The mice were running.", lemmas=True) == ["the", "mouse", "be", "run"]
    assert words("Häuser, Bücher: er ging", lemmas=True, language="de") == ["haus", "buch", "er", "gehen"]
    assert words("Häuser", lemmas=True, language="de", lowercase=False) == ["Haus"]
    with pytest.raises(InputError, match="lemmas are not available for the language 'th'"):
        words("a", lemmas=True, language="th")


# A sentence for each of many languages, with the words of annex 29 that are not ours: a possessive 's, apostrophes
# where they part words, host names, numbers raised and lowered, Chinese without a dictionary, soft hyphens
SENTENCES = {
    "am": ("ሰላም፡ለዓለም።", {}),
    "ar": ("كَتَبَ الطَّالِبُ الدَّرْسَ. السَّلامُ عَلَيْكُم، ١٢٣٫٥ و٤٥", {}),
    "bn": ("আমি বাংলায় গান গাই।", {}),
    "bo": ("བོད་སྐད་ཡིག", {}),
    "ca": ("La col·lecció de l'Àlex és excel·lent; 3.000 llibres.", {"l'Àlex": ["l", "Àlex"]}),
    "de": ("Straßenbahn, z. B. Maßstäbe; »Öl«", {}),
    "el": ("Η ζωή είναι ωραία· ναι; Ὦ ἄνδρες Ἀθηναῖοι.", {}),
    "en": (
        "The (“brown”) fox can’t jump 32.3 feet, right? Well-known, e.g. 1,000,000 U.S. troops; C3PO's 3rd e-mail",
        {"can’t": ["can't"], "C3PO's": ["C3PO"]},
    ),
    "en-names": (
        "new_york 1984–85 A/B example.com naïve Ångström soft\u00adhyphen zero\u200dwidth",
        {
            "example.com": ["example", "com"],
            "soft\u00adhyphen": ["softhyphen"],
        },
    ),
    "en-numbers": (
        "ＡＢＣ１２３ ½ № x² H₂O 東京",
        {
            "x": ["x²"],
            "²": [],
            "H": ["H₂O"],
            "₂": [],
            "O": [],
            "東": ["東京"],
            "京": [],
        },
    ),
    "fa": ("می‌خواهم کتاب‌ها را بخوانم.", {}),
    "haw": ("Hawaiʻi ʻōlelo", {}),
    "he": ('צה״ל הודיע כי ג׳ירפה ראתה ארה״ב. צה"ל', {}),
    "hi": ("हिन्दी में लिखा हुआ वाक्य है। क्‍ष १२३", {}),
    "hy": ("Բարեւ Ձեզ։ Ի՞նչ է սա։", {}),
    "it": ("L'acqua; un po' d'olio", {"L'acqua": ["L", "acqua"], "d'olio": ["d", "olio"]}),
    "ka": ("გამარჯობა მსოფლიო.", {}),
    "ko": ("나는 학교에 갔다. 2024년 3월", {}),
    "ru": ("Привет! Кто-то сказал: «Да». Ёлка 3,14 т.е. и т.д.", {}),
    "sv": ("S:t Eriks k:a USA:s", {}),
    "ta": ("தமிழ் மொழி அழகானது.", {}),
    "tr": ("İstanbul'da 3", {"İstanbul'da": ["İstanbul", "da"]}),
    "uk": ("Здоров'я, п'ять, об’єкт", {"об’єкт": ["об'єкт"]}),
    "vi": ("Tôi đi học ở Hà Nội. Tiếng Việt", {}),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_words_are_those_of_annex_29(language):
    """Another program's word boundaries, in twenty scripts and languages, but for what is listed here."""
    text, ours = SENTENCES[language]
    parts = regex.split(r"(?wV1)\b", unicodedata.normalize("NFC", text))
    theirs = [part for part in parts if regex.search(r"[\p{L}\p{N}]", part)]
    expected = [folded(word, language[:2]) for part in theirs for word in ours.get(part, [part])]
    assert words(text, lowercase=False, language=language.split("-")[0]) == expected
    assert set(ours) <= set(theirs)


@pytest.mark.parametrize("unit", ["(a. ", "A. ", "a”.“ ", "x. Y. 5 ", "a’s ", "中。“ "])
def test_of_a_long_line_all_words_come(unit):
    """Of a line of 100,000 characters that looks like one sentence, or like many, nothing is lost."""
    found = Tokenizer().sentences(unit * 25_000)
    assert sum(len(tokens) for _, tokens in found) == 25_000 * sum(map(len, Tokenizer()(unit)))


def test_many_marks_are_parted():
    """Marks without end are put in order 30 at a time, and none is lost."""
    text = composed("a" + "\u0301\u0316" * 50_000)
    assert text.count("\u0316") == 50_000
    assert unicodedata.is_normalized("NFC", text[:1000])
    assert composed("\u0301\u0316" * 15) == unicodedata.normalize("NFC", "\u0301\u0316" * 15)


@pytest.mark.parametrize("kind", ["", "parting", "colon"])
@pytest.mark.parametrize("punctuation", [False, True])
@pytest.mark.parametrize("hashtags", [False, True])
@given(st.text("aAsSzZ019'_.,:-\"!#@ \t\x00\x7f", max_size=25) | st.text(st.characters(max_codepoint=127), max_size=25))
def test_plain_text_is_cut_as_any_other(punctuation, hashtags, kind, text):
    """The quick pattern for ASCII finds what the general one finds."""
    how = {"punctuation": punctuation, "hashtags": hashtags}
    quick, general = (tokens._pattern(kind, plain=plain, **how) for plain in (True, False))
    assert quick.findall(text) == general.findall(text)


def test_hashtags_mentions_and_emoji():
    """Emoji keep their modifiers, and hashtags and mentions keep their signs; mail addresses are not mentions."""
    text = "#MeToo @ada_l mail@host.org 👩‍🚀👍🏽 🇩🇪🇫🇷 ☀️ 1️⃣ #été"
    emoji = ["👩‍🚀", "👍🏽", "🇩🇪", "🇫🇷", "☀️", "1️⃣"]
    assert words(text, hashtags=True) == ["#metoo", "@ada_l", "mail", "host", "org", *emoji, "#été"]
    signs = [word for word in words(text, punctuation="keep") if not word[0].isalpha()]
    assert signs == ["#", "@", "@", ".", *emoji, "#"]
    assert words(text.replace(emoji[-1], "")) == ["metoo", "ada_l", "mail", "host", "org", "été"]


def test_marks_are_kept_or_dropped():
    """Stress and vowel marks are treated according to the language, unless ``marks`` is set."""
    text = "за\u0301мок شُكْرًا"
    assert words(text, language="ru") == ["замок", "شُكْرًا"]
    assert words(text, language="ru", marks="keep") == words(text, marks="keep") == ["за\u0301мок", "شُكْرًا"]
    assert words(text, marks="drop") == ["замок", "شكرا"]

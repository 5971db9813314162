"""The folder of a static encoder: its files, its vectors, and words cut as they are cut here."""

import json
import re
import unicodedata
from itertools import chain

import numpy as np
import pytest
from safetensors.numpy import load_file

from polyadic import Embedding, InputError, MeanSentences
from polyadic.text.tokens import Tokenizer

VECTORS = Embedding(["the", "film", "o'neil", "café"], np.arange(12.0).reshape(4, 3) + 1)


@pytest.fixture
def folder(tmp_path):
    VECTORS.save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def tokenizer(folder):
    return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))


def normalized(text, steps):
    """Do what the steps of a normalizer say."""
    for step in steps["normalizers"]:
        match step:
            case {"type": "Lowercase"}:
                text = text.lower()
            case {"type": "NFC"}:
                text = unicodedata.normalize("NFC", text)
            case {"type": "Replace", "pattern": {"String": old}, "content": new}:
                text = text.replace(old, new)
            case _:
                raise AssertionError(step)
    return text


def words_of(text):
    return list(chain.from_iterable(Tokenizer()(text)))


# ---- files


def test_words_have_their_vectors_and_unknown_ones_none(folder):
    """Each word's number is the row of its vector; the row of unknown words is zero."""
    about, rows = tokenizer(folder), load_file(folder / "model.safetensors")["embedding.weight"]
    vocabulary = about["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(len(rows))) == list(range(5))
    assert rows.dtype == np.float32
    for word in VECTORS.words:
        np.testing.assert_array_equal(rows[vocabulary[word]], VECTORS[word])
    assert not rows[vocabulary[about["model"]["unk_token"]]].any()


def test_the_folder_is_one_that_can_be_loaded(folder):
    """There is one module, at the folder itself, and a tokenizer that knows whole words only."""
    assert [m["path"] for m in json.loads((folder / "modules.json").read_text())] == [""]
    about = tokenizer(folder)
    assert about["model"]["type"] == "WordLevel"
    assert about["pre_tokenizer"]["type"] == "Split"
    assert about["pre_tokenizer"]["invert"] is True
    assert {"version", "truncation", "padding", "added_tokens", "post_processor", "decoder"} <= about.keys()


def test_means_of_rows_are_sentence_vectors(tmp_path):
    """The rows of a sentence's words in the file have the mean that the model gives it."""
    texts = ["A good film.", "A bad film!", "the O’Neil film", "good, good O'Neil"] * 3
    model = MeanSentences(a=0.1, removed=1, rank=3, seed=0).fit(texts)
    model.static().save_pretrained(tmp_path / "encoder")
    vocabulary = tokenizer(tmp_path / "encoder")["model"]["vocab"]
    rows = load_file(tmp_path / "encoder" / "model.safetensors")["embedding.weight"]
    means = [rows[[vocabulary[word] for word in words_of(text)]].mean(axis=0) for text in texts]
    np.testing.assert_allclose(model.transform(texts), means, atol=1e-6)


def test_folders_are_replaced_only_by_their_kind(folder, tmp_path):
    """What is there stays, but for an encoder that is to be overwritten."""
    with pytest.raises(InputError, match="exists already"):
        VECTORS.save_pretrained(folder)
    Embedding(["other"], [[1.0]]).save_pretrained(folder, overwrite=True)
    assert load_file(folder / "model.safetensors")["embedding.weight"].shape == (2, 1)
    VECTORS.save(tmp_path / "words")
    with pytest.raises(InputError, match="is not a folder of kind 'static-encoder'"):
        VECTORS.save_pretrained(tmp_path / "words", overwrite=True)


def test_the_word_of_unknown_words_is_taken(tmp_path):
    """Vectors with a word of that name are refused, and nothing is written."""
    with pytest.raises(InputError, match=r"'\[UNK\]' is reserved for unknown words"):
        Embedding(["[UNK]"], [[1.0]]).save_pretrained(tmp_path / "encoder")
    assert not any(tmp_path.iterdir())


# ---- words


@pytest.mark.parametrize(
    "text", ["Film", "THE O’Neil film", "cafe\u0301 Café", "fi\u00adlm", "İstanbul", "a\u2019b c\u00add"]
)
def test_texts_are_brought_into_the_same_form(folder, text):
    """After its normalizer a text is what the words here are cut from."""
    shown = normalized(text, tokenizer(folder)["normalizer"])
    assert [word for word in words_of(text) if word not in shown.split()] == []


@pytest.mark.parametrize("words", [["film"], ["film", "eBay"], ["film", "ℕ"], ["film", "𝒜"]])
def test_words_in_lower_case_are_found_in_any_case(tmp_path, words):
    """If no word of the vocabulary begins with what has a lower case, capitals of a text mean nothing."""
    Embedding(words, np.ones((len(words), 1))).save_pretrained(tmp_path / "encoder")
    assert normalized("Film", tokenizer(tmp_path / "encoder")["normalizer"]) == "film"


def test_words_with_capitals_are_told_apart(tmp_path):
    """Where the vocabulary has capitals, those of a text are kept."""
    Embedding(["Turkey", "turkey"], np.eye(2)).save_pretrained(tmp_path / "encoder")
    assert normalized("Turkey", tokenizer(tmp_path / "encoder")["normalizer"]) == "Turkey"


@pytest.mark.parametrize(
    "text",
    [
        "Don't panic! It's the U.S. army's 42nd well-known towel.",
        "J. Smith paid 1,000.50, i.e. 3.14 times more; rock’n’roll _new_york_ a__b",
        "mp3 1st x² ½ ① Ⅷ 日本語。नमस्ते தமிழ் Zoë cafe\u0301 d'a'b' 'quoted' dogs' dog's'",
        "1.a ab.c a.bc a.b.c 1.2.3 1,2,a ,1 .a a. 1's a'sb it's_",
        "Audi''s cars, the 'Iliad''s end, Jr.'s, Inc.'s",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # with a joiner that is not seen
    ],
)
def test_words_are_cut_as_here(folder, text):
    """The pattern of a word finds the words that are counted here."""
    regex = pytest.importorskip("regex")
    about = tokenizer(folder)
    pattern = about["pre_tokenizer"]["pattern"]["Regex"]
    pattern = re.sub(r"\\x\{(\w+)\}", lambda code: chr(int(code[1], 16)), pattern)  # as Python's library has it
    found = [match.group() for match in regex.finditer(pattern, normalized(text, about["normalizer"]))]
    assert found == words_of(text)


def test_card_says_what_is_known(tmp_path):
    """Source, method, figures and licence stand in the card; what is not known is said to be so."""
    trained = {"polyadic": "9.9", "source": "letters.txt", "method": "jcp", "threads": 3}
    known = Embedding(["film"], [[1.0]], meta={"trained": trained})
    known.save_pretrained(tmp_path / "letters", licence="cc-by-4.0", figures={"SimLex-999": ".31"})
    card = (tmp_path / "letters" / "README.md").read_text(encoding="utf-8")
    for said in ('license: "cc-by-4.0"', "# letters", "letters.txt", "jcp", "| SimLex-999 | .31 |", "polyadic 9.9"):
        assert said in card
    assert "threads" not in card
    VECTORS.save_pretrained(tmp_path / "bare")
    bare = (tmp_path / "bare" / "README.md").read_text(encoding="utf-8")
    assert "license:" not in bare
    assert "Not known" in bare


@pytest.mark.parametrize("order", ["C", "F"])
def test_vectors_come_back(tmp_path, order):
    """Words are those that they were, in their order, and vectors of float32 the same to the bit."""
    words = ["the", "New York", "ﬁlm", "e\u0301", "\u00e9", "🎬", '"', "\\", "\u200d", "straße", ""]
    vectors = np.random.default_rng(0).standard_normal((len(words), 3)).astype(np.float32, order=order)
    vectors[0] = -0.0, 1e-45, np.finfo(np.float32).max
    Embedding(words, vectors).save_pretrained(tmp_path / "encoder")
    again = Embedding.from_pretrained(tmp_path / "encoder")
    assert again.words == tuple(words)
    assert again.vectors.dtype == np.float32
    assert again.vectors.tobytes() == vectors.tobytes()
    again.save_pretrained(tmp_path / "second")
    for file in ("model.safetensors", "tokenizer.json", "modules.json"):
        assert (tmp_path / "second" / file).read_bytes() == (tmp_path / "encoder" / file).read_bytes()


def test_what_cannot_be_kept_is_told(tmp_path):
    with pytest.warns(UserWarning, match="the last 1 of 2"):
        Embedding(["a"], [[1.0, 2.0]], components=1).save_pretrained(tmp_path / "encoder")


@pytest.mark.parametrize("name", ["nowhere", "owner/name"])
def test_nothing_is_downloaded(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=name):
        Embedding.from_pretrained(name)


def test_damage_is_told(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        Embedding.from_pretrained(folder)

"""Laws of vector files: what is written is read back to the bit, and a fault names its file and line."""

import gzip
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.embedding import Embedding, read_vectors, write_projector, write_vectors
from strategies import embeddings

FORMATS = ["word2vec", "word2vec-binary", "glove", "fasttext"]
PETS = Embedding(["cat", "dog", "été"], np.array([[1, 0.1, -3e-9], [2, 5e20, 0], [0, 1e-42, 7]], np.float32))


def same(a, b):
    return a.words == b.words and a.vectors.tobytes() == b.vectors.tobytes()


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("kind", FORMATS)
@given(embedding=embeddings(largest=float(np.finfo(np.float32).max)))
def test_round_trip(tmp_path_factory, kind, ending, embedding):
    """Every format, gzipped or not, gives back the same words and the same bits, zeros of either sign included."""
    path = tmp_path_factory.mktemp("v") / f"v{ending}"
    write_vectors(embedding, path, format=kind)
    assert same(read_vectors(path, format=kind), embedding)
    assert path.read_bytes().startswith(b"\x1f\x8b") == bool(ending)


@pytest.mark.parametrize("kind", FORMATS)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(10, 40))
def test_format_is_recognised(tmp_path_factory, kind, seed, rank):
    """The first bytes tell the format of ordinary vectors."""
    path = tmp_path_factory.mktemp("v") / "v"
    vectors = np.random.default_rng(seed).normal(size=(3, rank)).astype(np.float32)
    embedding = Embedding(["the", "of", "12"], vectors)
    write_vectors(embedding, path, format=kind)
    assert same(read_vectors(path), embedding)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_limit_reads_the_first_words(tmp_path, kind, limit):
    """A limit gives the first words, and all if there are fewer; the rest need not even be there."""
    write_vectors(PETS, tmp_path / "v", format=kind)
    read = read_vectors(tmp_path / "v", limit=limit, format=kind)
    assert same(read, Embedding(PETS.words[:limit], PETS.vectors[:limit]))


def test_folders_are_read_too(tmp_path):
    """A folder of ours is read like a file of others."""
    Embedding(PETS.words, PETS.vectors, counts=[3, 2, 1], components=2, meta={"a": 1}).save(tmp_path / "v")
    read = read_vectors(tmp_path / "v", limit=2)
    assert (read.words, read.counts.tolist(), read.meta) == (("cat", "dog"), [3, 2], {"a": 1})
    assert read.components.rank == 2
    assert same(read_vectors(tmp_path / "v"), PETS)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_agrees(tmp_path, binary):
    """gensim reads what we write, and we read what gensim writes."""
    models = pytest.importorskip("gensim.models")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    write_vectors(PETS, ours, format="word2vec-binary" if binary else "word2vec")
    vectors = models.KeyedVectors.load_word2vec_format(str(ours), binary=binary)
    assert tuple(vectors.index_to_key) == PETS.words
    np.testing.assert_array_equal(vectors.vectors, PETS.vectors)
    vectors.save_word2vec_format(str(theirs), binary=binary)
    assert same(read_vectors(theirs), PETS)


def test_gensim_files_are_read():
    """The vector files that gensim brings with its tests are recognised and read."""
    datapath = pytest.importorskip("gensim.test.utils").datapath
    assert read_vectors(datapath("test_glove.txt")).vectors.shape == (76, 50)
    text, binary = read_vectors(datapath("crime-and-punishment.vec")), datapath("crime-and-punishment.bin")
    assert text.rank == 5
    with pytest.raises(InputError, match=r"fastText model; read the vectors from the \.vec"):
        read_vectors(binary)
    assert "the" in read_vectors(datapath("euclidean_vectors.bin"))


def test_words_may_hold_spaces_when_read(tmp_path):
    """As in glove.840B, where the last fields of a line are its numbers."""
    (tmp_path / "g").write_text(". . . 0.5 1\nat name@domain.com 2 3\n7 8 9\n", encoding="utf-8")
    assert read_vectors(tmp_path / "g").words == (". . .", "at name@domain.com", "7")


def test_variants_of_other_writers(tmp_path):
    """Trailing blanks, tabs, Windows line ends, empty lines, a byte order mark, and no newline at the end are fine."""
    wanted = Embedding(["a", "b"], [[1, 2], [3, 4]])
    for text in (
        "2 2\na 1 2 \nb 3 4 \n",
        "a\t1\t2\r\nb\t3\t4\r\n",
        "\ufeff2 2\na 1 2\n\nb 3 4",
        "a  1  2\nb  3  4\n\n",
    ):
        (tmp_path / "v").write_bytes(text.encode("utf-8"))
        assert same(read_vectors(tmp_path / "v"), wanted)
    header, a, b = b"2 2\n", b"a " + wanted.vectors[0].tobytes(), b"b " + wanted.vectors[1].tobytes()
    for content in (header + a + b, header + a + b"\n" + b + b"\n", header + a + b + b"\n"):
        (tmp_path / "v").write_bytes(content)
        assert same(read_vectors(tmp_path / "v"), wanted)


def test_encodings(tmp_path):
    """Words are decoded as asked; what cannot be decoded names its line."""
    (tmp_path / "v").write_bytes("a 1\nété 2\n".encode("latin-1"))
    assert read_vectors(tmp_path / "v", encoding="latin-1").words == ("a", "été")
    assert read_vectors(tmp_path / "v", errors="ignore").words == ("a", "t")
    with pytest.raises(InputError, match=r"v, line 2: the word b'\\xe9t\\xe9' cannot be decoded"):
        read_vectors(tmp_path / "v")
    with pytest.raises(InputError, match="one that extends ASCII"):
        read_vectors(tmp_path / "v", encoding="utf-16")


def test_repeated_words(tmp_path):
    """A word that comes twice is refused, or its first vector is kept."""
    (tmp_path / "v").write_text("3 1\na 1\na 2\nb 3\n")
    with pytest.raises(InputError, match="line 3: 'a' occurs more than once"):
        read_vectors(tmp_path / "v")
    assert same(read_vectors(tmp_path / "v", duplicates="first"), Embedding(["a", "b"], [[1], [3]]))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a 1 2\nb 3\n", "line 2: expected a word and 2 numbers; found 1 after the word"),
        ("a 1 2\nb 3 4 5\n", "line 2: expected a word and 2 numbers; found 3 after the word"),
        ("a 1 2\n\nb 3 x\n", "line 3: expected 2 numbers at the end of the line; found 'x'"),
        ("a 1 2\nb 3 x 4\n", "line 2: expected 2 numbers at the end of the line; found 'x'"),
        ("a 1 2\nb 3 4 x\n", "line 2: expected 2 numbers at the end of the line; found 'x'"),
        ("a 1 2\nb 3 1_0\n", "line 2: expected 2 numbers at the end of the line; found '1_0'"),
        ("a 1 2\nb 3 nan\n", "line 2: the vector of 'b' is not finite"),
        ("a 1 2\nb 3 1e99\n", "line 2: the vector of 'b' is not finite"),
        ("a 1 2\nhot dog 3 1e99\n", "line 2: the vector of 'hot dog' is not finite"),
        ("3 2\na 1 2\nb 3 4\n", "ends after 2 words; its first line announces 3"),
        ("1 2\na 1 2\nb 3 4\n", "line 3: the first line announces 1 word, but there are more"),
        ("9999999999 2\na 1 2\n", "ends after 1 word;"),
        ("a\n", "line 1: expected a word and its numbers; found 'a'"),
        ("", "contains no vectors"),
        ("\n\n", "contains no vectors"),
    ],
)
def test_malformed_text_is_refused(tmp_path, text, fault):
    """The message names the file and the line, what was expected and what was found."""
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=fault) as caught:
        read_vectors(tmp_path / "v.txt")
    assert "v.txt" in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda b: b[:-2], "ends after 2 words; its first line announces 3"),
        (lambda b: b + b"x", "continues after the 3 words"),
        (lambda b: b.replace(b"3 3\n", b"3 x\n"), "line 1: word2vec-binary files begin with the number of words"),
        (lambda b: b.replace(b"dog", b"cat"), "word 2: 'cat' occurs more than once"),
        (lambda b: b.replace(b"3 3\n", b"3 9999999\n"), "ends after 0 words"),
        (lambda _: b"", "line 1"),
    ],
)
def test_malformed_binary_is_refused(tmp_path, spoil, fault):
    """The message names the file and the word."""
    write_vectors(PETS, tmp_path / "v.bin", format="word2vec-binary")
    (tmp_path / "v.bin").write_bytes(spoil((tmp_path / "v.bin").read_bytes()))
    with pytest.raises(InputError, match=fault) as caught:
        read_vectors(tmp_path / "v.bin", format="word2vec-binary")
    assert "v.bin" in str(caught.value)


def test_malformed_gzip_and_missing_files_are_refused(tmp_path):
    """A file that cannot be opened or unpacked is named."""
    packed = gzip.compress(b"a 1 2\nb 3 4\n" * 99)
    for content in (packed[:40], packed[:20] + b"\xff\xff\xff" + packed[23:]):
        (tmp_path / "v.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"v\.gz"):
            read_vectors(tmp_path / "v.gz")
    with pytest.raises(InputError, match="there is no file"):
        read_vectors(tmp_path / "absent")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("word", ["", "New York", "a\tb", "a\nb", "\ud800"])
def test_words_that_a_format_cannot_hold_are_refused(tmp_path, kind, word):
    """A word with a blank is named, and no file is left behind."""
    with pytest.raises(InputError, match="word"):
        write_vectors(Embedding(["a", word], [[1.0], [2.0]]), tmp_path / "v", format=kind)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_too_large_are_refused(tmp_path, kind):
    """A number beyond float32 names its word, and no file is left behind."""
    with pytest.raises(InputError, match="vector of 'b' contains values that are too large for float32"):
        write_vectors(Embedding(["a", "b"], [[1.0], [1e300]]), tmp_path / "v", format=kind)
    assert list(tmp_path.iterdir()) == []


def test_malformed_numbers_are_refused_with_older_numpy(tmp_path, monkeypatch):
    """Where numpy only warns that a text is no number, the line is refused all the same."""
    right = np.fromstring

    def warns(text, dtype, sep):
        try:
            return right(text, dtype, sep=sep)
        except ValueError as error:
            warnings.warn(str(error), DeprecationWarning, stacklevel=2)
            return np.ones(2, dtype)

    monkeypatch.setattr(np, "fromstring", warns)
    (tmp_path / "v").write_text("a 1 2\nb 3 4 x\n")
    with pytest.raises(InputError, match="line 2: expected 2 numbers"):
        read_vectors(tmp_path / "v")


def test_lines_without_end_are_told(tmp_path):
    """A small gzipped file that holds one endless line is not read to its end."""
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"a " * (1 << 24)))
    with pytest.raises(InputError, match="line 1: a word and its numbers must not exceed 16,777,216 bytes"):
        read_vectors(tmp_path / "v.gz")


def test_projector_tables_are_the_vectors(tmp_path):
    """The tables say words, counts and numbers, row by row; a table of words alone has no heading."""
    rng = np.random.default_rng(0)
    embedding = Embedding(["a", "b c", "d"], rng.standard_normal((3, 4)).astype(np.float32), counts=[3, 2, 1])
    write_projector(embedding, tmp_path / "p")
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "p" / "tensors.tsv", dtype=np.float32), embedding.vectors)
    assert (tmp_path / "p" / "metadata.tsv").read_text() == "word\tcount\na\t3\nb c\t2\nd\t1\n"
    assert 'metadata_path: "metadata.tsv"' in (tmp_path / "p" / "projector_config.pbtxt").read_text()
    write_projector(Embedding(["x", "y"], np.eye(2)), tmp_path / "p", overwrite=True)
    assert (tmp_path / "p" / "metadata.tsv").read_text() == "x\ny\n"
    with pytest.raises(InputError, match="tab"):
        write_projector(Embedding(["x\ty"], [[1.0]]), tmp_path / "q")

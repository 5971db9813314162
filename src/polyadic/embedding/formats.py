r"""Read and write word vectors in the formats of other tools.

=================== ====================================================================================
``word2vec``        text; first line ``V R``, then per line a word and R numbers, separated by spaces
``fasttext``        the same (``.vec``)
``glove``           the same without the first line
``word2vec-binary`` first line ``V R``, then V times: word, space, R little-endian float32, optional ``\n``
``projector``       folder for TensorBoard's Embedding Projector, write only: ``tensors.tsv``, ``metadata.tsv``
=================== ====================================================================================

Numbers are float32 and survive a round trip exactly. A word ends at its first space, unless more than R fields follow:
then the last R fields are the numbers (GloVe's files contain words with spaces). Files may be gzipped.

Vectors are also exported as a static sentence encoder for sentence-transformers, without depending on it. A sentence is
the mean of the vectors of its words. The folder holds ``model.safetensors`` (the vectors, after a row of zeros for
unknown words), ``tokenizer.json`` (words as split by :class:`~polyadic.text.tokens.Tokenizer`) and ``modules.json``.
sentence-transformers includes unknown words in the mean, so its vectors are shorter than ours but have the same
direction. Load with ``sentence_transformers.SentenceTransformer(folder)``, version 5 or later; tested with 6.2.0.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from polyadic.core.errors import InputError, check_choice, check_int, counted, unreadable
from polyadic.core.files import damage_as_input_error, read_meta, whole_file, whole_folder, write_meta
from polyadic.core.progress import Advance, bar
from polyadic.embedding.vectors import Embedding
from polyadic.text.tokens import INNER, POINTS

FORMATS = ("word2vec", "word2vec-binary", "glove", "fasttext")
SNIFFED = 1 << 16  # bytes that format="auto" looks at
CHUNK = 1 << 24  # bytes read at a time from binary files
FASTTEXT_MODEL = (793712314).to_bytes(4, "little")  # the first bytes of fastText's own .bin
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PROJECTOR = """embeddings {
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
}
"""
BLANKS = " \t\n\r\x0b\x0c"  # what separates fields in these files
CARD_FIELDS = ("source", "corpus", "language", "method", "min_count", "stop_words", "rank", "window", "width", "seed")
"""Training settings shown on the model card."""
STATIC, VERSION, UNKNOWN = "static-encoder", 1, "[UNK]"
WORD = (
    r"(?!(?<=[\p{L}\p{N}\p{M}]')s\b)[\p{L}\p{N}][\p{L}\p{N}\p{M}\x{200C}\x{200D}]*"
    rf"(?:['_](?!s\b)[\p{{L}}\p{{N}}\p{{M}}]+|[{INNER}](?=\p{{L}})[\p{{L}}\p{{N}}\p{{M}}]+"
    r"|(?<=[\x{5d0}-\x{5ea}])\"(?=[\x{5d0}-\x{5ea}])[\p{L}\p{N}\p{M}]+"
    rf"|(?<=\p{{N}})[{POINTS}]\p{{N}}[\p{{L}}\p{{N}}\p{{M}}]*|(?<=\b\p{{L}})\.\p{{L}}\b)*"
)
"""Word pattern of :mod:`polyadic.text.tokens`, except for rare cases such as a letter number after a full stop."""
CARD = "card.md"  # template of the model card, with the headings that model hubs display


class _Source(NamedTuple):
    """Word vector file opened for reading, with a decoder and a progress bar."""

    path: Path
    stream: BinaryIO
    decode: Callable[[bytes], str]
    advance: Advance

    def ticks(self) -> Iterator[None]:
        """Advance the progress bar by the number of bytes read, each time the next item is requested."""
        raw = getattr(self.stream, "fileobj", None) or self.stream
        done = 0
        while True:
            yield
            now = raw.tell()
            self.advance(now - done)
            done = now


class _Rows:
    """Growing matrix that collects words and their vectors."""

    def __init__(self, rank: int, duplicates: str) -> None:
        self.index: dict[str, int] = {}
        self.rank, self.duplicates = rank, duplicates
        self.vectors = np.empty((0, rank), np.float32)

    def add(self, where: str, word: str, vector: np.ndarray) -> None:
        if not np.isfinite(vector).all():
            raise InputError(f"{where}: the vector of {word!r:.80} is not finite")
        row = len(self.index)
        if self.index.setdefault(word, row) != row:
            if self.duplicates == "first":
                return
            advice = "set duplicates='first' to keep the first vector of each word"
            raise InputError(f"{where}: {word!r:.80} occurs more than once; {advice}", "duplicates")
        if row == len(self.vectors):
            self.vectors.resize((2 * row or 1, self.rank), refcheck=False)
        self.vectors[row] = vector

    def embedding(self) -> Embedding:
        self.vectors.resize((len(self.index), self.rank), refcheck=False)
        return Embedding(self.index, self.vectors)


def read_vectors(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 the word users know for it
    limit: int | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    duplicates: str = "raise",
) -> Embedding:
    r"""Read word vectors in word2vec, GloVe or fastText format, or in the format of this library.

    The path is a file, optionally gzipped, of a ``format`` "word2vec", "word2vec-binary", "glove" or "fasttext", which
    "auto" detects from the first bytes, or a folder written by :meth:`Embedding.save`. At most ``limit`` words are
    read, from the first. ``encoding``, which must extend ASCII, and ``errors`` are those of :meth:`bytes.decode`. A
    repeated word raises an error, or with ``duplicates="first"`` its first vector is kept. InputError is raised if a
    line is malformed; the message names file and line, and what was expected and found.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = file.write_text("cat 1 0.5\ndog 1 -2\n")
    >>> read_vectors(file)["dog"]
    array([ 1., -2.], dtype=float32)
    """
    path = Path(path)
    check_choice("format", format, ("auto", *FORMATS))
    check_choice("duplicates", duplicates, ("raise", "first"))
    check_choice("errors", errors, ("strict", "replace", "ignore", "surrogateescape", "backslashreplace"))
    max_words = None if limit is None else check_int("limit", limit, low=1)
    if path.is_dir():
        whole = Embedding.load(path)
        if max_words is None or max_words >= len(whole):
            return whole
        counts = None if whole.counts is None else whole.counts[:max_words]
        about: dict[str, Any] = {"unknown": whole.unknown, "components": whole.components.rank, "meta": whole.meta}
        return Embedding(whole.words[:max_words], whole.vectors[:max_words], counts=counts, **about)
    try:
        extends = " 0\n".encode(encoding) == b" 0\n"
    except LookupError:
        extends = False
    if not extends:
        raise InputError(
            f"encoding must be one that extends ASCII, such as 'utf-8' or 'latin-1'; got {encoding!r}", "encoding"
        )
    with _opened(path) as stream, bar(f"reading {path.name}", total=path.stat().st_size, unit="B") as advance:
        kind = _sniff(path, stream) if format == "auto" else format
        if stream.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
            stream.seek(0)
        source = _Source(path, stream, lambda word: word.decode(encoding, errors), advance)
        rows = (_read_binary if kind == "word2vec-binary" else _read_text)(source, kind, max_words, duplicates)
    return rows.embedding()


def write_projector(embedding: Embedding, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write word vectors atomically to a folder for the TensorBoard Embedding Projector.

    Run ``tensorboard --logdir`` on it, or load its tables on the projector's web page. InputError is raised if a word
    contains a tab or line break, or something else than a projector folder to ``overwrite`` exists at that path.
    """
    if bad := [word for word in embedding.words if any(blank in word for blank in "\t\r\n")]:
        raise InputError(f"the word {bad[0]!r} contains a tab or a line break, which metadata.tsv does not support")
    columns = [embedding.words] if embedding.counts is None else [embedding.words, embedding.counts.tolist()]
    headings = [] if embedding.counts is None else ["word\tcount"]  # a table of one column has none
    words = [*headings, *("\t".join(map(str, row)) for row in zip(*columns, strict=True))]
    with whole_folder(path, kind="projector", overwrite=overwrite) as draft:
        (draft / "metadata.tsv").write_text("\n".join(words) + "\n", encoding="utf-8")
        np.savetxt(draft / "tensors.tsv", embedding.vectors, fmt="%.9g", delimiter="\t")
        (draft / "projector_config.pbtxt").write_text(PROJECTOR, encoding="utf-8")
        write_meta(draft, "projector", 1, words=len(embedding), rank=embedding.rank)


def write_vectors(embedding: Embedding, path: str | os.PathLike[str], *, format: str) -> None:  # noqa: A002 see above
    """Write word vectors to a file in the format of another tool, as float32.

    It is written atomically, and gzipped if the name ends in ``.gz``. The ``format`` is "word2vec", "word2vec-binary",
    "glove" or "fasttext". InputError is raised if a word is empty or contains white space, which none of the formats
    supports, or a number exceeds float32.
    """
    check_choice("format", format, FORMATS)
    embedding.warn_of_components()
    for row, word in enumerate(embedding.words):
        if not word or any(blank in word for blank in BLANKS):
            what = f"word {row} ({word!r}) is empty or contains white space"
            raise InputError(f"{what}, which the {format} format does not support; use Embedding.save")
    with whole_file(path) as draft, contextlib.ExitStack() as stack:
        stream = cast("BinaryIO", stack.enter_context(draft.open("wb")))
        if draft.suffix == ".gz":  # no name and no time inside, so that equal vectors give equal files
            packed = gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0)
            stream = cast("BinaryIO", stack.enter_context(packed))
        if format != "glove":
            stream.write(b"%d %d\n" % (len(embedding), embedding.rank))
        line = " %.9g" * embedding.rank  # nine digits tell any two float32 apart
        for word, row in zip(embedding.words, embedding.vectors, strict=True):
            with np.errstate(over="ignore"):
                vector = row.astype("<f4")
            if not np.isfinite(vector).all():
                raise InputError(f"the vector of {word!r} contains values that are too large for float32 files")
            binary = format == "word2vec-binary"
            numbers = b" " + vector.tobytes() if binary else (line % tuple(vector.tolist())).encode("ascii")
            try:
                stream.write(word.encode("utf-8") + numbers + b"\n")
            except UnicodeEncodeError as error:
                raise InputError(f"the word {word!r} cannot be written as UTF-8: {error}") from None


def _read_text(source: _Source, kind: str, limit: int | None, duplicates: str) -> _Rows:
    headed = kind != "glove"
    promised, rank = _header(source.path, source.stream.readline(SNIFFED), kind) if headed else (None, None)
    first = 1 + headed
    rows, ticks = (None if rank is None else _Rows(rank, duplicates)), source.ticks()
    wanted = min((n for n in (promised, limit) if n is not None), default=None)
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy before 2.4 says that a text is no number
        for line, text in enumerate(_lines(source, first), first):
            if text.isspace():
                continue
            if read == wanted:
                if read == limit:
                    break
                raise InputError(
                    f"{source.path}, line {line}: the first line announces {counted(read, 'word')}, but there are more"
                )
            if rows is None:
                rows = _Rows(_numbers_at_the_end(source.path, text), duplicates)
            where = f"{source.path}, line {line}"
            word, vector = _parse(where, text, rows.rank)
            rows.add(where, _decoded(where, source, word), vector)
            read += 1
            if read % 1024 == 0:
                next(ticks)
    if rows is None or read == 0:
        raise InputError(f"{source.path} contains no vectors")
    if wanted is not None and promised == wanted and read < wanted:
        raise InputError(f"{source.path} ends after {counted(read, 'word')}; its first line announces {promised:,}")
    return rows


def _lines(source: _Source, first: int) -> Iterator[bytes]:
    """Yield the lines of a file; raise InputError if a line is too long."""
    for line, text in enumerate(iter(lambda: source.stream.readline(CHUNK + 1), b""), first):
        if len(text) > CHUNK:
            raise InputError(f"{source.path}, line {line}: a word and its numbers must not exceed {CHUNK:,} bytes")
        yield text


def _read_binary(source: _Source, kind: str, limit: int | None, duplicates: str) -> _Rows:
    promised, rank = _header(source.path, source.stream.readline(SNIFFED), kind)
    rows, ticks = _Rows(rank, duplicates), source.ticks()
    width, chunk, start = 4 * rank, b"", 0
    for read in range(promised if limit is None else min(limit, promised)):
        space = chunk.find(b" ", start)
        if space < 0 or space + 1 + width > len(chunk):
            chunk, start = chunk[start:] + source.stream.read(max(CHUNK, 2 * width)), 0
            space = chunk.find(b" ")
            next(ticks)
        if space < 0 or space + 1 + width > len(chunk):
            raise InputError(f"{source.path} ends after {counted(read, 'word')}; its first line announces {promised:,}")
        where = f"{source.path}, word {read + 1}"
        word = _decoded(where, source, chunk[start:space].removeprefix(b"\n"))
        rows.add(where, word, np.frombuffer(chunk, "<f4", rank, space + 1))
        start = space + 1 + width
    if limit is None and (chunk[start:] + source.stream.read(1)).strip():
        raise InputError(f"{source.path} continues after the {counted(promised, 'word')} announced in its first line")
    return rows


def _parse(where: str, text: bytes, rank: int) -> tuple[bytes, np.ndarray]:
    """Parse a line of a text file into a word and its vector."""
    word, _, rest = text.strip().partition(b" ")
    with contextlib.suppress(ValueError, DeprecationWarning):
        # fromstring gives [-1.] for a text without numbers
        vector = np.fromstring(rest, np.float32, sep=" ") if rest else np.empty(0, np.float32)
        if len(vector) == rank:
            return word, vector
    fields = text.strip().rsplit(None, rank)
    if len(fields) <= rank:
        raise InputError(f"{where}: expected a word and {rank} numbers; found {len(text.split()) - 1} after the word")
    for field in fields[1:]:
        if not _is_number(field):
            raise InputError(
                f"{where}: expected {rank} numbers at the end of the line; found {field.decode('latin-1')!r:.80}"
            )
    extra = len(fields[0].split()) - 1
    if all(_is_number(field) for field in fields[0].split()[1:]) and extra:
        raise InputError(f"{where}: expected a word and {rank} numbers; found {rank + extra} after the word")
    with np.errstate(over="ignore"):  # what is too large is told as not finite
        return fields[0], np.array(fields[1:], np.float32)


def _header(path: Path, text: bytes, kind: str) -> tuple[int, int]:
    sizes = _two_sizes(text)
    if sizes is None:
        shown = text[:60].decode("latin-1").rstrip()
        raise InputError(
            f"{path}, line 1: {kind} files begin with the number of words and the number of dimensions; found {shown!r}"
        )
    return sizes


def _two_sizes(text: bytes) -> tuple[int, int] | None:
    fields = text.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields):
        return None
    words, rank = map(int, fields)
    return (words, rank) if words and 0 < rank < CHUNK else None


def _numbers_at_the_end(path: Path, text: bytes) -> int:
    """Return the number of dimensions of a GloVe file, which is the count of numbers at the end of its first line."""
    fields = text.split()
    rank = next((n for n, field in enumerate(reversed(fields[1:])) if not _is_number(field)), len(fields) - 1)
    if rank == 0:
        raise InputError(
            f"{path}, line 1: expected a word and its numbers; found {text[:60].decode('latin-1').rstrip()!r}"
        )
    return rank


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _sniff(path: Path, stream: BinaryIO) -> str:
    """Detect the format of a word vector file from its first bytes."""
    start = stream.read(SNIFFED)
    stream.seek(0)
    if start.startswith(FASTTEXT_MODEL):
        raise InputError(f"{path} is a fastText model; read the vectors from the .vec file instead")
    first, _, rest = start.removeprefix(BYTE_ORDER_MARK).partition(b"\n")
    sizes = _two_sizes(first)
    if sizes is None:
        return "glove"
    # R numbers in text take at least 2 R - 1 bytes, all printable; the bytes of R binary ones hardly ever all are.
    sample = rest.removeprefix(b"\n").partition(b" ")[2][: 2 * sizes[1] - 1]
    return "word2vec" if all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in sample) else "word2vec-binary"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressing gzip; raise InputError if it cannot be read."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield cast("BinaryIO", gzip.GzipFile(fileobj=raw) if zipped else raw)
    except (EOFError, zlib.error, OSError) as error:
        raise unreadable(path, error, "file or folder") from None


def _decoded(where: str, source: _Source, word: bytes) -> str:
    try:
        return source.decode(word)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: the word {word!r:.80} cannot be decoded ({error}); change the setting encoding or errors"
        ) from None


def write_static(embedding: Embedding, path: Path, card: Mapping[str, Any], *, overwrite: bool) -> None:
    """Write word vectors as a static sentence encoder; see :meth:`~polyadic.Embedding.save_pretrained`."""
    from safetensors.numpy import save

    if UNKNOWN in embedding.index:
        raise InputError(f"the word {UNKNOWN!r} is reserved for unknown words; remove it from the embedding")
    weights = np.zeros((len(embedding) + 1, embedding.rank), np.float32)  # in rows, as they are written
    weights[1:] = embedding.vectors
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    with whole_folder(path, kind=STATIC, overwrite=overwrite) as draft:
        (draft / "model.safetensors").write_bytes(save({"embedding.weight": weights}))
        _write_json(draft / "tokenizer.json", _tokenizer(embedding))
        _write_json(draft / "modules.json", [module])
        (draft / "README.md").write_text(_card(embedding, path.name, **card), encoding="utf-8")
        write_meta(draft, STATIC, VERSION, words=len(embedding), rank=embedding.rank)


def read_static(path: str | os.PathLike[str]) -> Embedding:
    """Read the word vectors of a static sentence encoder; see :meth:`~polyadic.Embedding.from_pretrained`."""
    from safetensors.numpy import load_file

    folder = Path(path)
    read_meta(folder, STATIC, VERSION)
    with damage_as_input_error(folder):
        weights = load_file(folder / "model.safetensors")["embedding.weight"]
        vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        return Embedding(words[1:], weights[1:])


def _card(embedding: Embedding, title: str, licence: str | None, figures: Mapping[str, object] | None) -> str:
    trained = embedding.meta.get("trained", {})
    said = [f"* {name.replace('_', ' ')}: {value}" for name, value in trained.items() if name in CARD_FIELDS]
    rows = ["| test | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in (figures or {}).items())]
    template = (files(__package__) / CARD).read_text(encoding="utf-8")
    return template.format(
        title=title,
        words=len(embedding),
        rank=embedding.rank,
        version=f" {trained['polyadic']}" if "polyadic" in trained else "",
        text="\n".join(said) or "Not known: say here what it is.",
        figures="\n".join(rows) if figures else "None: `polyadic evaluate` measures some.",
        licence=licence or "Not said: vectors of a text may be bound to its licence.",
        licence_key=f"license: {json.dumps(licence)}\n" if licence else "",
    )


def _tokenizer(embedding: Embedding) -> dict[str, Any]:
    normal: list[dict[str, Any]] = [{"type": "NFC"}]
    if embedding.lowercase:
        normal.insert(0, {"type": "Lowercase"})
    for old, new in (("\u2019", "'"), ("\u00ad", "")):
        normal.append({"type": "Replace", "pattern": {"String": old}, "content": new})
    cut = {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True}
    vocabulary = {UNKNOWN: 0, **{word: row for row, word in enumerate(embedding.words, 1)}}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    parts = ("truncation", "padding", "post_processor", "decoder")
    rest = {"added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": normal}, "pre_tokenizer": cut}
    return {"version": "1.0", **dict.fromkeys(parts), **rest, "model": model}


def _write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

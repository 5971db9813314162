"""Encode text as word ids: workers encode chunks of documents, and a second pass assigns the final ids.

The text is read once. A worker numbers the words of its chunk by first occurrence and writes the numbers to a spill
file; the parent assigns provisional numbers for the whole corpus. When the vocabulary is known, a second pass over the
spill files writes the final numbers. Only the word counts stay in memory (and, if word pairs are joined, a table of
fixed size and the frequent pairs).
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from polyadic.core.arrays import ArrayWriter
from polyadic.core.errors import InputError
from polyadic.core.executor import ProcessExecutor, cluster
from polyadic.core.executor.spill import Spilled, SpillFile
from polyadic.core.urls import is_file, is_url
from polyadic.text.formats.markup import clean_markup
from polyadic.text.lines import LineWriter
from polyadic.text.multiwords import MIN_COUNT, join_pairs, pairs, select_pairs
from polyadic.text.pieces import Piece, nested, size_of
from polyadic.text.readers import READ, Account, Files, unpacked_size
from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.executor import Executor
    from polyadic.text.pieces import Reading
    from polyadic.text.vocabulary import Vocabulary

Tokenize = Callable[[str], list[list[str]]]
Group = list[Piece] | Files
CHUNK = 1 << 21  # characters that one task of a worker takes
FIELDS = "documents.jsonl"
ROWS = "rows.npy"  # file with the row of the kept text for each sentence
SMALL = 2  # chunks; up to so many, starting workers costs more than it saves


class Chunk(NamedTuple):
    """Chunk of encoded documents, in which each word id is an index into the word list ``types``."""

    types: list[str]
    counts: NDArray[np.int64]  # how often each occurs
    numbers: Spilled  # of all tokens; then lengths of sentences, sentences of pieces, whether a piece starts a document
    starts: list[bool]  # the last of these
    fields: list[dict[str, str]]  # of the documents that start
    texts: list[list[tuple[str, list[str]]]]  # the sentences of each piece with their words, if they are to be kept
    account: Account  # of the files that were read


def encode(group: Group, tokenize: Tokenize, spool: SpillFile, *, keep_text: bool = False) -> Chunk:
    """Encode pieces of text or files as word ids, assigned in order of first occurrence."""
    account = Account()
    pieces = group.pieces(account) if isinstance(group, Files) else group
    index: defaultdict[str, int] = defaultdict(count().__next__)
    ids: list[NDArray[np.uint32]] = []
    lengths: list[int] = []
    sentences: list[int] = []
    starts: list[bool] = []
    fields: list[dict[str, str]] = []
    texts: list[list[tuple[str, list[str]]]] = []
    for some in chunks(pieces):
        read = [_sentences(piece, tokenize) for piece in some]
        split = [words for sentences_of in read for _, words in sentences_of]
        sizes = [len(words) for words in split]
        tokens = map(index.__getitem__, chain.from_iterable(split))
        lengths += sizes
        try:
            ids.append(np.fromiter(tokens, dtype=np.uint32, count=sum(sizes)))
        except TypeError as error:
            raise InputError(f"tokens must be strings; got an {error}") from None
        sentences += map(len, read)
        starts += [piece.starts for piece in some]
        fields += [dict(piece.fields) for piece in some if piece.starts]
        texts += read if keep_text else []
    types = list(index)
    odd = next((word for word in types if not isinstance(word, str)), None)
    if odd is not None:
        raise InputError(f"tokens must be strings; got {odd!r}")
    numbers = np.concatenate([*ids, np.zeros(0, np.uint32)])
    left = spool.leave([numbers, *(np.array(each, dtype=np.uint32) for each in (lengths, sentences, starts))])
    return Chunk(types, np.bincount(numbers, minlength=len(types)), left, starts, fields, texts, account)


def chunks(pieces: Iterable[Piece]) -> Generator[list[Piece]]:
    """Group pieces of text into chunks, each large enough for one task."""
    chunk: list[Piece] = []
    size = 0
    for piece in pieces:
        chunk.append(piece)
        size += size_of(piece) + 1
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def several_files(paths: list[str] | None, reading: Reading) -> Files | None:
    """Return the input files if they can be read in parallel, or None for any other input."""
    if not paths or not all(map(is_file, paths)):
        return None
    files = Files.of(
        [path if is_url(path) else str(Path(path).absolute()) for path in paths] if cluster() else paths, reading
    )
    return files if len(paths) > 1 or files.ranges() else None


def groups(files: Files, account: Account, advance: Callable[[float], None], jobs: int | None) -> Iterator[Group]:
    """Yield groups of files if the worker processes can read the files, otherwise chunks of text."""
    if not _executor(jobs).sees(files.paths):
        yield from chunks(files.pieces(account, advance))
        return
    for run in files.runs():
        large = len(files.paths) == 1 or unpacked_size(run.paths[0]) > READ
        if large and not (ranges := run.ranges()):
            yield from chunks(run.pieces(account, advance))
            continue
        for some in ranges if large else [run]:
            yield some
            advance(some.size)


def _executor(jobs: int | None) -> Executor:
    return cluster() or ProcessExecutor(jobs)


def encode_all(
    groups: Iterable[Group], tokenize: Tokenize, spool: SpillFile, jobs: int | None, *, keep_text: bool = False
) -> Generator[Chunk]:
    """Encode groups of text pieces or files in order, in worker processes if there are more than SMALL groups."""
    remaining, executor = iter(groups), _executor(jobs)
    first = [] if jobs == 1 and cluster() is None else list(islice(remaining, SMALL + 1))
    work = partial(encode, tokenize=tokenize, spool=spool, keep_text=keep_text)
    if len(first) > SMALL:
        yield from executor.imap(work, chain(first, remaining))
    else:
        yield from map(work, chain(first, remaining))


class Draft:
    """Corpus under construction, with provisional word ids on disk and word counts in memory."""

    def __init__(self, folder: Path, *, keep_text: bool = False) -> None:
        self._folder = folder
        self._lines = LineWriter(folder) if keep_text else None
        self._spool = SpillFile(folder / "parts")
        self._tables = (folder / "tables").open("w+b")  # the provisional number of each word of a chunk
        self._fields = (folder / FIELDS).open("w", encoding="utf-8", newline="\n")
        self._known = False
        self._parts: list[tuple[int, Spilled]] = []
        self.documents = self.tokens = 0  # so far, of all types
        self._index: dict[str, int] = {}
        self._counts = np.zeros(1 << 16, dtype=np.int64)

    def __enter__(self) -> Self:
        return self

    def fill(
        self, groups: Iterable[Group], tokenize: Tokenize, jobs: int | None = None, *, account: Account | None = None
    ) -> None:
        """Encode groups of text pieces or files and append them to the corpus; add the file counts to ``account``."""
        kept = self._lines is not None
        with contextlib.closing(encode_all(groups, tokenize, self._spool, jobs, keep_text=kept)) as made:
            for chunk in made:
                self.add(chunk)
                if account is not None:
                    account.add(chunk.account)

    def add(self, chunk: Chunk) -> None:
        """Append a chunk of encoded documents to the corpus."""
        index = self._index
        numbers = np.array([index.setdefault(word, len(index)) for word in chunk.types], dtype=np.uint32)
        if len(index) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(index), dtype=np.int64)])
        self._counts[numbers] += chunk.counts
        self._tables.write(numbers.data)
        self._parts.append((len(numbers), self._spool.take(chunk.numbers)))
        self._fields.writelines(f"{json.dumps(fields, ensure_ascii=False)}\n" for fields in chunk.fields)
        self._known |= any(chunk.fields)
        if self._lines is not None:
            self._lines.add(chunk.starts, chunk.fields, chunk.texts)
        self.documents += sum(chunk.starts)
        self.tokens += int(chunk.counts.sum())

    def counts(self) -> dict[str, int]:
        """Return the number of occurrences of each word."""
        return dict(zip(self._index, self._counts.tolist(), strict=False))

    def spread(self, block: int) -> dict[str, int]:
        """Count for each word the blocks of ``block`` consecutive tokens that contain the word."""
        parts = np.zeros(len(self._index), dtype=np.int64)
        for numbers, *_ in self._chunks():
            for start in range(0, len(numbers), block):
                parts[np.unique(numbers[start : start + block])] += 1
        return dict(zip(self._index, parts.tolist(), strict=True))

    def join(
        self, choose: Callable[[dict[str, int]], Vocabulary], *, min_count: int, stop_words: Iterable[str]
    ) -> list[str]:
        """Join frequent collocations with underscores, and return the joined words that ``choose`` selects."""
        words, min_pair_count = list(self._index), max(min_count, MIN_COUNT)
        usable = self._counts[: len(words)] >= min_count
        usable &= np.fromiter((any(letter.isalnum() for letter in word) for word in words), bool, len(words))
        usable[[self._index[word] for word in stop_words if word in self._index]] = False
        keys = select_pairs(pairs(self._sentences, usable, min_count=min_pair_count), self._counts[: len(words)])
        while len(keys):
            names = [f"{words[int(key) >> 32]}_{words[int(key) & (2**32 - 1)]}" for key in keys]
            index = {**self._index}
            numbers_of = np.array([index.setdefault(name, len(index)) for name in names], np.uint32)
            counts = np.zeros(len(index), np.int64)
            for numbers, lengths in self._sentences():
                counts += np.bincount(join_pairs(numbers, lengths, keys, numbers_of)[0], minlength=len(counts))
            vocabulary = choose(dict(zip(index, counts.tolist(), strict=True)))
            kept = np.array([name in vocabulary for name in names])
            if kept.all():
                self._index, self._counts = index, counts
                spool, parts = SpillFile(self._folder / "joined"), []
                for numbers, lengths, *rest in self._chunks():
                    parts.append((0, spool.take(spool.leave([*join_pairs(numbers, lengths, keys, numbers_of), *rest]))))
                self._spool.remove()
                self._spool, self._parts = spool, parts
                return names
            keys = keys[kept]
        return []

    def _sentences(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        return ((numbers, lengths) for numbers, lengths, *_ in self._chunks())

    def write(self, vocabulary: Vocabulary) -> None:
        """Write ``ids.npy``, ``sentences.npy`` and ``documents.npy`` with the word ids of ``vocabulary``."""
        dtype = np.uint16 if len(vocabulary) < 1 << 16 else np.uint32
        absent = len(vocabulary)
        final = np.full(len(self._index), absent, dtype=np.uint32)
        final[[self._index[word] for word in vocabulary.words]] = np.arange(absent)
        token, sentence, read = 0, 0, 0
        with contextlib.ExitStack() as stack:
            rows = None if self._lines is None else stack.enter_context(ArrayWriter(self._folder / ROWS, np.int64))
            ids = stack.enter_context(ArrayWriter(self._folder / "ids.npy", dtype))
            sentences = stack.enter_context(ArrayWriter(self._folder / "sentences.npy", np.int64))
            documents = stack.enter_context(ArrayWriter(self._folder / "documents.npy", np.int64))
            sentences.append([0])
            for numbers, lengths, per_piece, starts in self._chunks():
                new = final[numbers]
                kept = new < absent
                lengths_kept = _sums(kept, lengths)
                filled = lengths_kept > 0
                if rows is not None:
                    rows.append(read + np.flatnonzero(filled))
                read += len(lengths)
                ends = token + np.cumsum(lengths_kept[filled])
                before = sentence + np.concatenate([[0], np.cumsum(_sums(filled, per_piece))])
                ids.append(new[kept])
                sentences.append(ends)
                documents.append(before[:-1][starts > 0])
                token, sentence = token + int(kept.sum()), int(before[-1])
            documents.append([sentence])

    def __exit__(self, *_: object) -> None:
        """Delete the temporary files, and the metadata file if no document has metadata."""
        self._tables.close()
        self._fields.close()
        if self._lines is not None:
            self._lines.close()
        (self._folder / "tables").unlink()
        self._spool.remove()
        if not self._known:
            (self._folder / FIELDS).unlink(missing_ok=True)

    def _chunks(self) -> Iterator[list[NDArray[np.uint32]]]:
        self._tables.seek(0)
        for size, left in self._parts:
            numbers, *rest = self._spool.read(left)
            yield [np.frombuffer(self._tables.read(4 * size), np.uint32)[numbers] if size else numbers, *rest]


def _sums(flags: NDArray[np.bool_], lengths: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count the True values in consecutive segments of the given lengths."""
    total: NDArray[np.int64] = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
    edges: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return np.diff(total[edges])


def _sentences(piece: Piece, tokenize: Tokenize) -> list[tuple[str, list[str]]]:
    """Return the text and tokens of each sentence; for pre-tokenized input, the text is the tokens joined by spaces."""
    content = piece.content
    if not isinstance(content, str):
        return [(" ".join(words), words) for words in nested(content)]
    text = clean_markup(content) if piece.markup else content
    if isinstance(tokenize, Tokenizer):
        return tokenize.sentences(text)
    result = tokenize(text)
    if not isinstance(result, list):
        raise InputError(f"a tokenizer must return a list of sentences, each a list of strings; got {_kind(result)}")
    result = nested(result)
    odd = next((sentence for sentence in result if not isinstance(sentence, (list, tuple))), None)
    if odd is not None:
        raise InputError(f"a tokenizer must return sentences as lists of strings; got the sentence {_kind(odd)}")
    return [(" ".join(map(str, words)), list(words)) for words in result]


def _kind(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"

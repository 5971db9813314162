"""Encode text as word ids: workers encode chunks of documents, and a second pass assigns the final ids.

The text is read once. Every running word is kept as it is written, with what is written between it and the next word,
so that the text can be restored. A worker numbers the different words and the different strings between words of its
chunk by first occurrence and writes the numbers to a spill file; the parent assigns provisional numbers for the whole
corpus. When the vocabulary is known, a second pass over the spill files writes the final numbers. Only the different
words and their counts stay in memory (and, if word pairs are joined, a table of fixed size and the frequent pairs).
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from polyadic.core.arrays import ArrayWriter
from polyadic.core.errors import InputError
from polyadic.core.executor import Executor, ProcessExecutor, cluster
from polyadic.core.executor.spill import Spilled, SpillFile
from polyadic.core.urls import is_file, is_url
from polyadic.text.formats.markup import clean_markup
from polyadic.text.multiwords import MIN_COUNT, join_pairs, pairs, select_pairs
from polyadic.text.pieces import Piece, Reading, Sentence, Tokens, nested, size_of
from polyadic.text.readers import READ, Account, Files, unpacked_size
from polyadic.text.running import BREAK, FIELDS, RunningWriter
from polyadic.text.tokens import Tokenizer
from polyadic.text.vocabulary import Vocabulary, check_spelling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.multiwords import Numbers

Tokenize = Callable[[str], list[list[str]]]
Group = list[Piece] | Files
CHUNK = 1 << 21  # characters that one task of a worker takes
ROWS = "rows.npy"  # file with the number of the sentence of the running text for each sentence
SMALL = 2  # chunks; up to so many, starting workers costs more than it saves


class Tagger(Protocol):
    """Interface of taggers, which assign values such as parts of speech to the words of sentences.

    A sentence is given as its words between what is written before, between and after them.
    """

    def layers(self, sentences: list[list[str]], language: str | None) -> dict[str, list[list[str]]]:
        """Return a value for each word of each sentence, by layer."""


class Chunk(NamedTuple):
    """Chunk of encoded documents; words and gaps (what is written after a word) are numbered by first occurrence."""

    words: list[str]
    counts: NDArray[np.int64]  # how often each word occurs
    gaps: list[str]
    numbers: Spilled  # words, gaps, lengths of sentences, sentences of pieces, whether a piece starts a document
    starts: list[bool]  # the last of these
    leads: list[str]  # what is written before the first word of each document, and of the chunk if it goes on with one
    fields: list[dict[str, str]]  # of the documents that start
    written: bool  # whether it was read from text that is not tokenized
    layers: dict[str, list[str]]  # values of each layer, numbered by first occurrence; their numbers are spilled last
    account: Account  # of the files that were read


def encode(group: Group, tokenize: Tokenize, spool: SpillFile, tagger: Tagger | None = None) -> Chunk:
    """Encode pieces of text or files as numbers of words and gaps, assigned in order of first occurrence."""
    account = Account()
    pieces = group.pieces(account) if isinstance(group, Files) else group
    encoder = _Encoder()
    for some in chunks(pieces):
        encoder.add(some, tokenize, tagger)
    return encoder.chunk(spool, account)


class _Encoder:
    """Words, gaps and lengths of a chunk of documents while it is read."""

    def __init__(self) -> None:
        self._words: defaultdict[str, int] = defaultdict(count().__next__)
        self._gaps: defaultdict[str, int] = defaultdict(count().__next__)
        self._ids: list[Numbers] = []
        self._gap_ids: list[int] = []
        self._lengths: list[int] = []
        self._sentences: list[int] = []
        self._starts: list[bool] = []
        self._leads: list[str] = []
        self._fields: list[dict[str, str]] = []
        self._layers: dict[str, list[str]] = {}
        self._written = False
        self._before, self._leading = "", True  # what is written since the last word; whether none was read yet

    def add(self, pieces: Iterable[Piece], tokenize: Tokenize, tagger: Tagger | None) -> None:
        words: list[str] = []
        for piece in pieces:
            if piece.starts and self._starts:
                self._close(self._before.removesuffix(BREAK))
                self._before, self._leading = "", True
            self._starts.append(piece.starts)
            self._fields += [dict(piece.fields)] if piece.starts else []
            self._written |= isinstance(piece.content, (str, Tokens)) and isinstance(tokenize, Tokenizer)
            number = len(self._lengths)
            for parts, layers in _annotated(piece, tokenize, tagger):
                if len(parts) == 1:
                    self._before += parts[0] + BREAK
                    continue
                self._close(self._before + parts[0])
                self._leading = False
                words += parts[1::2]
                self._gap_ids.extend(map(self._gaps.__getitem__, parts[2:-1:2]))
                self._before = parts[-1] + BREAK
                for name in layers.keys() - self._layers.keys():
                    self._layers[name] = [""] * sum(self._lengths)
                for name, values in self._layers.items():
                    values.extend(layers.get(name) or [""] * (len(parts) // 2))
                self._lengths.append(len(parts) // 2)
            self._sentences.append(len(self._lengths) - number)
        try:
            numbers = map(self._words.__getitem__, words)
            self._ids.append(np.fromiter(numbers, dtype=np.uint32, count=len(words)))
        except TypeError as error:
            raise InputError(f"tokens must be strings; got an {error}") from None

    def _close(self, text: str) -> None:
        if self._leading:
            self._leads.append(text)
        else:
            self._gap_ids.append(self._gaps[text])

    def chunk(self, spool: SpillFile, account: Account) -> Chunk:
        """Return the encoded chunk; its ids remain in the spill file."""
        if self._starts:
            self._close(self._before.removesuffix(BREAK))
        odd = [word for word in self._words if not isinstance(word, str)]
        if odd:
            raise InputError(f"tokens must be strings; got {odd[0]!r}")
        check_spelling(self._words)
        ids = np.concatenate([*self._ids, np.zeros(0, np.uint32)])
        values: dict[str, dict[str, int]] = {name: {} for name in self._layers}
        layers = (_numbered(self._layers[name], numbers) for name, numbers in values.items())
        rest = (self._gap_ids, self._lengths, self._sentences, self._starts, *layers)
        left = spool.leave([ids, *(np.array(each, dtype=np.uint32) for each in rest)])
        counts = np.bincount(ids, minlength=len(self._words))
        texts = (list(self._words), counts, list(self._gaps))
        named = {name: list(number) for name, number in values.items()}
        return Chunk(*texts, left, self._starts, self._leads, self._fields, self._written, named, account)


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
    named = [path if is_url(path) else str(Path(path).absolute()) for path in paths] if cluster() else paths
    files = Files.of(named, reading)
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
    groups: Iterable[Group], tokenize: Tokenize, spool: SpillFile, jobs: int | None, tagger: Tagger | None
) -> Generator[Chunk]:
    """Encode groups of text pieces or files in order, in worker processes if there are more than SMALL groups."""
    remaining, executor = iter(groups), _executor(jobs)
    first = [] if jobs == 1 and cluster() is None else list(islice(remaining, SMALL + 1))
    work = partial(encode, tokenize=tokenize, spool=spool, tagger=tagger)
    yield from (executor.imap if len(first) > SMALL else map)(work, chain(first, remaining))


class Draft:
    """Corpus under construction, with provisional numbers of words on disk and word counts in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spool = SpillFile(folder / "parts")
        self._tables = (folder / "tables").open("w+b")  # the provisional numbers of the words and gaps of each chunk
        self._fields = (folder / FIELDS).open("w", encoding="utf-8", newline="\n")
        self._known = self._written = False
        self._parts: list[tuple[int, int, Spilled]] = []
        self._layers: dict[str, dict[str, int]] = {}  # number of each value of a layer
        self._layers_of: list[dict[str, Numbers]] = []  # those of the values of each chunk
        self._last: dict[int, int] = {}  # gap of the last word of a chunk whose document goes on in the next one
        self._last_text = ""  # of the last of these gaps
        self._leads: list[str] = []
        self._empty = True  # whether the last document has no word yet
        self.documents = self.tokens = 0  # so far, of all types
        self._index: dict[str, int] = {}
        self._gaps: dict[str, int] = {}
        self._counts = np.zeros(1 << 16, dtype=np.int64)
        self._words: list[str] = []  # as counted
        self._word_of = np.zeros(0, np.int64)  # number of the counted word of each written one, or -1
        self._joined: tuple[NDArray[np.uint64], Numbers] | None = None  # pairs of words, and their names

    def __enter__(self) -> Self:
        return self

    def fill(
        self,
        groups: Iterable[Group],
        tokenize: Tokenize,
        jobs: int | None = None,
        *,
        account: Account | None = None,
        tagger: Tagger | None = None,
    ) -> None:
        """Encode groups of text pieces or files and append them to the corpus; add the file counts to ``account``."""
        with contextlib.closing(encode_all(groups, tokenize, self._spool, jobs, tagger)) as made:
            for chunk in made:
                self.add(chunk)
                if account is not None:
                    account.add(chunk.account)
        self._normalize(tokenize)

    def add(self, chunk: Chunk) -> None:
        """Append a chunk of encoded documents to the corpus."""
        if not chunk.starts:
            return
        index, gaps = self._index, self._gaps
        numbers = _numbered(chunk.words, index)
        if len(index) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(index), dtype=np.int64)])
        self._counts[numbers] += chunk.counts
        leads = chunk.leads
        if not chunk.starts[0]:  # the chunk goes on with the document of the last one
            first, *leads = leads
            if self._empty and self._leads:
                self._leads[-1] += first
            else:
                self._last_text += BREAK + first
                self._last[max(self._last)] = gaps.setdefault(self._last_text, len(gaps))
        self._leads += leads
        gap_numbers = _numbered(chunk.gaps, gaps)
        self._tables.write(numbers.data)
        self._tables.write(gap_numbers.data)
        taken = self._spool.take(chunk.numbers)
        self._parts.append((len(numbers), len(gap_numbers), taken))
        _, gaps_here, _, per_piece, *_ = self._spool.read(taken)
        known = {name: self._layers.setdefault(name, {"": 0}) for name in chunk.layers}
        self._layers_of.append({name: _numbered(values, known[name]) for name, values in chunk.layers.items()})
        if len(gaps_here):
            self._last[len(self._parts) - 1] = int(gap_numbers[gaps_here[-1]])
            self._last_text = chunk.gaps[gaps_here[-1]]
        last_start = max((k for k, start in enumerate(chunk.starts) if start), default=None)
        self._empty = not per_piece[last_start or 0 :].any() and (last_start is not None or self._empty)
        self._fields.writelines(f"{json.dumps(fields, ensure_ascii=False)}\n" for fields in chunk.fields)
        self._known |= any(chunk.fields)
        self._written |= chunk.written
        self.documents += sum(chunk.starts)
        self.tokens += int(chunk.counts.sum())

    def _normalize(self, tokenize: Tokenize) -> None:
        """Assign the normalized word to each written word; given tokens are not normalized."""
        if isinstance(tokenize, Tokenizer) and self._written:
            normal = [tokenize.normal(word) for word in self._index]
            index: dict[str, int] = {}
            self._word_of = np.array([index.setdefault(word, len(index)) if word else -1 for word in normal], np.int64)
            self._words = list(index)
        else:
            self._words, self._word_of = list(self._index), np.arange(len(self._index))
        kept = self._word_of >= 0
        counts = np.bincount(self._word_of[kept], self._counts[: len(self._index)][kept], minlength=len(self._words))
        self._word_counts = counts.astype(np.int64)

    def counts(self) -> dict[str, int]:
        """Return the number of occurrences of each word."""
        return dict(zip(self._words, self._word_counts.tolist(), strict=True))

    def spread(self, block: int) -> dict[str, int]:
        """Count for each word the blocks of ``block`` consecutive tokens that contain the word."""
        parts = np.zeros(len(self._words), dtype=np.int64)
        for numbers, _ in self._sentences():
            for start in range(0, len(numbers), block):
                parts[np.unique(numbers[start : start + block])] += 1
        return dict(zip(self._words, parts.tolist(), strict=True))

    def join(
        self, choose: Callable[[dict[str, int]], Vocabulary], *, min_count: int, stop_words: Iterable[str]
    ) -> list[str]:
        """Join frequent collocations with underscores, and return the joined words that ``choose`` selects."""
        words, min_pair_count = self._words, max(min_count, MIN_COUNT)
        index = {word: number for number, word in enumerate(words)}
        usable = self._word_counts >= min_count
        usable &= np.fromiter((any(letter.isalnum() for letter in word) for word in words), bool, len(words))
        usable[[index[word] for word in stop_words if word in index]] = False
        keys = select_pairs(pairs(self._sentences, usable, min_count=min_pair_count), self._word_counts)
        while len(keys):
            names = [f"{words[int(key) >> 32]}_{words[int(key) & (2**32 - 1)]}" for key in keys]
            more = {**index}
            numbers_of = _numbered(names, more)
            counts = np.zeros(len(more), np.int64)
            for numbers, lengths in self._sentences():
                counts += np.bincount(join_pairs(numbers, lengths, keys, numbers_of)[0], minlength=len(counts))
            vocabulary = choose(dict(zip(more, counts.tolist(), strict=True)))
            kept = np.array([name in vocabulary for name in names])
            if kept.all():
                self._words, self._word_counts, self._joined = list(more), counts, (keys, numbers_of)
                return names
            keys = keys[kept]
        return []

    def _sentences(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield the numbers of counted words and the lengths of sentences for each chunk."""
        for forms, _, lengths, *_ in self._chunks():
            yield self._counted(forms, lengths)

    def _counted(self, forms: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
        numbers = self._word_of[forms]
        kept = numbers >= 0
        if not kept.all():
            numbers, lengths = numbers[kept], _sums(kept, lengths).astype(np.uint32)
        return numbers.astype(np.uint32), lengths

    def write(self, vocabulary: Vocabulary) -> None:
        """Write the running text, and ``ids.npy``, ``sentences.npy`` and ``documents.npy`` with the words in use."""
        dtype = np.uint16 if len(vocabulary) < 1 << 16 else np.uint32
        absent = len(vocabulary)
        final = np.full(len(self._words), absent, dtype=np.uint32)
        number_of = {word: number for number, word in enumerate(self._words)}
        final[[number_of[word] for word in vocabulary.words]] = np.arange(absent)
        token, sentence, read = 0, 0, 0
        counts = np.zeros(len(self._gaps), np.int64)
        for _, gaps, *_ in self._chunks():
            counts += np.bincount(gaps, minlength=len(counts))
        forms_counted = dict(zip(self._index, self._counts.tolist(), strict=False))
        gaps_counted = dict(zip(self._gaps, counts.tolist(), strict=True))
        words_of = [self._words[k] if k >= 0 else "" for k in self._word_of.tolist()]
        layers_of = {name: list(values) for name, values in self._layers.items()}
        writer = RunningWriter(self._folder, forms_counted, gaps_counted, self._leads, words_of, layers_of)
        with contextlib.ExitStack() as stack:
            running = stack.enter_context(writer)
            rows = stack.enter_context(ArrayWriter(self._folder / ROWS, np.int64))
            ids = stack.enter_context(ArrayWriter(self._folder / "ids.npy", dtype))
            sentences = stack.enter_context(ArrayWriter(self._folder / "sentences.npy", np.int64))
            documents = stack.enter_context(ArrayWriter(self._folder / "documents.npy", np.int64))
            sentences.append([0])
            for values, (forms, gaps, lengths, per_piece, starts, *numbers) in zip(
                self._layers_of, self._chunks(), strict=True
            ):
                layers = {name: values[name][at] for name, at in zip(values, numbers, strict=True)}
                running.append(forms, gaps, lengths, per_piece, starts, layers)
                words, sizes = self._counted(forms, lengths)
                if self._joined is not None:
                    words, sizes = join_pairs(words, sizes, *self._joined)
                new = final[words]
                kept = new < absent
                lengths_kept = _sums(kept, sizes)
                filled = lengths_kept > 0
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
        (self._folder / "tables").unlink()
        self._spool.remove()
        if not self._known:
            (self._folder / FIELDS).unlink(missing_ok=True)

    def _chunks(self) -> Iterator[list[Numbers]]:
        """Yield the arrays of each chunk.

        They contain the provisional numbers of words and gaps, the lengths of sentences, the number of sentences of
        each piece, whether a piece begins a document, and the numbers of the values of layers.
        """
        self._tables.seek(0)
        for part, (n_words, n_gaps, left) in enumerate(self._parts):
            words, gaps, *rest = self._spool.read(left)
            tables = np.frombuffer(self._tables.read(4 * (n_words + n_gaps)), np.uint32)
            gaps = tables[n_words:][gaps]
            if part in self._last:
                gaps[-1] = self._last[part]
            yield [tables[:n_words][words], gaps, *rest]


def _numbered(items: Iterable[str], index: dict[str, int]) -> Numbers:
    """Return the number of each item in an index, adding new items to the index."""
    return np.array([index.setdefault(item, len(index)) for item in items], np.uint32)


def _sums(flags: NDArray[np.bool_], lengths: Numbers) -> NDArray[np.int64]:
    """Count the True values in consecutive segments of the given lengths."""
    total, edges = (np.concatenate([[0], np.cumsum(each, dtype=np.int64)]) for each in (flags, lengths))
    return np.diff(total[edges])


def _annotated(piece: Piece, tokenize: Tokenize, tagger: Tagger | None) -> Iterator[Sentence]:
    """Yield each sentence with its layers."""
    content = piece.content
    if isinstance(content, Tokens) and isinstance(tokenize, Tokenizer):
        yield from content.sentences
    elif tagger is None:
        yield from ((parts, {}) for parts in _sentences(piece, tokenize))
    else:
        sentences = list(_sentences(piece, tokenize))
        layers = tagger.layers([parts for parts in sentences if len(parts) > 1], getattr(tokenize, "language", None))
        at = 0
        for parts in sentences:
            yield parts, {name: values[at] for name, values in layers.items()} if len(parts) > 1 else {}
            at += len(parts) > 1


def _sentences(piece: Piece, tokenize: Tokenize) -> Iterator[list[str]]:
    """Yield each sentence as its words, between what is written before, between and after them."""
    content = piece.content
    if isinstance(content, str):
        text = (clean_markup(content) if piece.markup else content).replace(BREAK, " ")
        if isinstance(tokenize, Tokenizer):
            yield from tokenize.parts(text)
            return
        result = tokenize(text)
        if not isinstance(result, list):
            raise InputError(
                f"a tokenizer must return a list of sentences, each a list of strings; got {_kind(result)}"
            )
        content = nested(result)
        odd = next((sentence for sentence in content if not isinstance(sentence, (list, tuple))), None)
        if odd is not None:
            raise InputError(f"a tokenizer must return sentences as lists of strings; got the sentence {_kind(odd)}")
    for words in nested(content):
        parts: list[Any] = [" "] * (2 * len(words) + 1)
        parts[1::2] = words
        parts[0], parts[-1] = "", "\n" if words else ""
        yield parts


def _kind(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"

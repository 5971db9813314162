"""Memory-mapped corpus of word ids, built from text."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.arrays import open_array, save_array
from polyadic.core.errors import InputError, check_int, counted
from polyadic.core.files import checked_in_background, folder_or_temporary, whole_folder, write_meta
from polyadic.core.progress import bar
from polyadic.core.urls import bytes_of
from polyadic.text import languages
from polyadic.text.encoder import ROWS, Draft, Tagger, Tokenize, chunks, groups, several_files
from polyadic.text.multiwords import join_words
from polyadic.text.pieces import Reading
from polyadic.text.readers import Account, Source, as_text, find_files, pieces, stamp
from polyadic.text.running import FIELDS, FILES, FOLDER
from polyadic.text.stopwords import BLOCK, most_spread, spelled_as_counted, stop_list
from polyadic.text.stopwords import stop_words as read_stop_words
from polyadic.text.store import KIND, VERSION, TextStore, name_of
from polyadic.text.tokens import Tokenizer, whitespace
from polyadic.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.concordance import ConcordanceLine

_ARRAYS = ("ids.npy", "sentences.npy", "documents.npy")
SAMPLES = 16  # number of pieces used for language detection
_BLOCK = 1 << 22  # tokens looked at together when a corpus is checked


@dataclasses.dataclass(eq=False, repr=False)
class Corpus(TextStore):
    """Memory-mapped corpus in which each document is a list of sentences and each sentence is a list of word ids.

    Created by :meth:`build` and :meth:`open`. Words outside the vocabulary and stop words are left out, and the
    remaining words become adjacent; empty sentences are dropped, empty documents are kept.

    Attributes
    ----------
    ids : (N,) uint16 or uint32 array
        Word number of each token.
    sentences : (S + 1,) int64 array
        Sentence offsets: sentence ``s`` is ``ids[sentences[s]:sentences[s + 1]]``.
    documents : (D + 1,) int64 array
        Document offsets: document ``d`` has the sentences from ``documents[d]`` to ``documents[d + 1]``.
    vocabulary : Vocabulary
        The word of each number; counts are those in ``ids``.
    settings, digest, path, fields, titles, text, lines
        See :class:`~polyadic.text.store.TextStore`.

    Examples
    --------
    >>> corpus = Corpus.build(["A rose is a rose. Is it?", "No."], min_count=1)
    >>> corpus
    Corpus(8 tokens, 5 words, 3 sentences, 2 documents)
    >>> corpus.vocabulary.words, corpus.ids.tolist(), corpus.document(0)
    (('a', 'is', 'rose', 'it', 'no'), [0, 2, 1, 0, 2, 1, 3, 4], [['a', 'rose', 'is', 'a', 'rose'], ['is', 'it']])
    """

    ids: NDArray[np.integer]
    sentences: NDArray[np.int64]
    documents: NDArray[np.int64]
    _: dataclasses.KW_ONLY
    vocabulary: Vocabulary

    @classmethod
    def build(
        cls,
        source: Source,
        path: str | os.PathLike[str] | None = None,
        *,
        min_count: int = 5,
        max_size: int | None = None,
        language: str = "auto",
        stop_words: str | os.PathLike[str] | Iterable[str] | None = None,
        tokenizer: Tokenize | None = None,
        tagger: Tagger | None = None,
        multiwords: bool = False,
        jobs: int | None = None,
        overwrite: bool = False,
        **reading: Any,
    ) -> Corpus:
        """Build a corpus from text: tokenize the text, choose the vocabulary, and encode the tokens as word ids.

        The result does not depend on the machine or on the number of processes.

        Parameters
        ----------
        source : path, folder, glob, "-" or iterable
            Text to read: see :func:`polyadic.text.readers.read`. An iterable is read once, so generators are allowed.
        path : path, optional
            Folder to create; by default a temporary folder that is deleted with the corpus object.
        min_count : int
            Minimum number of occurrences of a word in the vocabulary.
        max_size : int, optional
            Maximum size of the vocabulary; the most frequent words are kept.
        language : str
            Language code, such as "de"; ``"auto"`` detects it from the first text.
        stop_words : str, path or iterable of str, optional
            Words to remove after tokenization: ``"language"`` for the list of the language, ``"auto"`` for words that
            occur throughout the text (:func:`~polyadic.text.stopwords.most_spread`), or any source accepted by
            :func:`~polyadic.text.stopwords.stop_words`.
        tokenizer : callable, optional
            Function from the text of a document (or of a part of a long one, split at line ends) to a list of
            sentences, each a list of strings; a flat list of strings is one sentence. Default: ``Tokenizer()``. Use
            ``whitespace`` for pre-tokenized text.
        tagger : TextTagger, optional
            Fitted tagger, such as :class:`~polyadic.syntax.text_tagger.TextTagger`, whose parts of speech and lemmas
            can be searched. CoNLL-U files have theirs.
        multiwords : bool
            Whether to join adjacent words that co-occur far more often than by chance, such as ``new_york``: see
            :mod:`polyadic.text.multiwords`.
        jobs : int, optional
            Number of processes; all cores by default. Small inputs are processed without workers.
        overwrite : bool
            Whether to replace an existing corpus.
        **reading
            How files are read: see :class:`~polyadic.text.pieces.Reading`. With ``whitespace``, lines are not
            unwrapped.

        Raises
        ------
        InputError
            If the input is not valid or no words are left. No partial folder remains after any error.
        """
        tokenizer = Tokenizer() if tokenizer is None else tokenizer
        if not callable(tokenizer):
            raise InputError(
                f"tokenizer must be a function from text to a list of sentences; got {tokenizer!r}", "tokenizer"
            )
        jobs = None if jobs is None else check_int("jobs", jobs, low=1)
        min_count = check_int("min_count", min_count, low=1)
        max_size = None if max_size is None else check_int("max_size", max_size, low=1)
        language = language if language == "auto" else languages.check(language)
        stop = [] if stop_words in ("auto", "language") else sorted(read_stop_words(stop_words))
        how = Reading(**({"wrapped": False} if tokenizer is whitespace else {}) | reading)
        with folder_or_temporary(path) as (target, release):
            with whole_folder(target, kind=KIND, overwrite=overwrite) as folder:
                with Draft(folder) as draft:
                    account = Account()
                    language, tokenizer = _fill(draft, source, how, account, language, tokenizer, jobs, tagger)
                    if stop_words == "auto":
                        stop = most_spread(draft.spread(BLOCK))
                    elif stop_words == "language":
                        stop = sorted(read_stop_words("language", language))
                    elif stop and not (isinstance(stop_words, str) and stop_list(stop_words)):
                        stop = spelled_as_counted(stop, tokenizer, draft.counts())
                    choose = functools.partial(
                        Vocabulary.choose, min_count=min_count, max_size=max_size, stop_words=stop
                    )
                    pairs = draft.join(choose, min_count=min_count, stop_words=stop) if multiwords else []
                    draft.write(vocabulary := choose(draft.counts()))
                vocabulary.save(folder / "vocabulary.txt")
                settings: dict[str, Any] = {**choose.keywords, "multiwords": pairs if multiwords else None}
                settings |= {**dataclasses.asdict(how), "language": language, "tokenizer": name_of(tokenizer)}
                settings |= {"formats": dict(account.formats), "skipped": account.skipped}
                settings |= {"source": stamp(source) if find_files(source) not in (None, ["-"]) else None}
                write_meta(folder, KIND, VERSION, settings=settings, digest=_digest(folder))
            corpus = cls.open(target)
            corpus.keeper = _Keeper(release)
        return corpus

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Corpus:
        """Open a corpus folder, verify the arrays of word ids and offsets, and memory-map the arrays.

        A folder that is no corpus, has another version, or is damaged raises InputError, which names the file.
        """
        store = TextStore.open(path)
        folder = store.path
        with checked_in_background(folder, but=[f"{FOLDER}/{name}" for name in FILES]):
            vocabulary = Vocabulary.load(folder / "vocabulary.txt")
            ids = open_array(folder / "ids.npy", (np.uint16, np.uint32))
            sentences = open_array(folder / "sentences.npy", (np.int64,))
            documents = open_array(folder / "documents.npy", (np.int64,))
            _check_offsets(folder / "sentences.npy", sentences, end=len(ids), of="tokens in ids.npy")
            _check_offsets(folder / "documents.npy", documents, end=len(sentences) - 1, of="sentences in sentences.npy")
            _check_ids(folder / "ids.npy", ids, vocabulary)
        return cls(ids, sentences, documents, vocabulary=vocabulary, **vars(store))

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.documents) - 1

    def line(self, position: int) -> ConcordanceLine:
        """Return the sentence, as it is written, that contains a token of :attr:`ids`.

        Examples
        --------
        >>> corpus = Corpus.build(["A rose! Is it red?"], min_count=1)
        >>> corpus.line(4).text, corpus.line(4).word
        ('Is it red?', 'red')
        """
        start, stop = self.place(position)
        return self.lines.line(start, stop)

    def place(self, position: int) -> tuple[int, int]:
        """Return the first position in the running text, and the one after the last, of a token of :attr:`ids`."""
        if self._rows is None:
            raise InputError(f"{self.path} is part of a corpus and does not contain the text")
        sentence = int(np.searchsorted(self.sentences, position, side="right")) - 1
        start, stop = map(int, self.text.sentences[self._rows[sentence] : self._rows[sentence] + 2])
        of = self.text.word_of[self.text.forms[start:stop]]
        places = np.flatnonzero(of >= 0) + start
        words = [self.text.words[k] for k in of[of >= 0]]
        left, at = position - int(self.sentences[sentence]), 0
        for word in join_words(words, {*(self.settings.get("multiwords") or ())}):
            size = 1 if word == words[at] else 2
            if word in self.vocabulary:
                if not left:
                    return int(places[at]), int(places[at + size - 1]) + 1
                left -= 1
            at += size
        raise InputError(f"{self.path} is damaged: a sentence has fewer words in use than ids.npy has")

    @functools.cached_property
    def _rows(self) -> NDArray[np.int64] | None:
        file = self.path / ROWS
        rows = open_array(file, (np.int64,)) if file.exists() else None
        if rows is not None and len(rows) != len(self.sentences) - 1:
            wanted = f"one row for each of {len(self.sentences) - 1} sentences"
            raise InputError(f"{file} is damaged: it must have {wanted}; got {len(rows)}")
        return rows

    def select(
        self,
        documents: Sequence[int] | NDArray[np.integer],
        path: str | os.PathLike[str] | None = None,
        *,
        min_count: int = 1,
    ) -> Corpus:
        """Create a corpus from a subset of the documents, such as a training set.

        Parameters
        ----------
        documents : sequence of int
            Numbers of the documents, without repetition; they keep their order in this corpus.
        path : path, optional
            Folder to create; by default a temporary folder that is deleted with the corpus object.
        min_count : int
            Minimum number of occurrences of a word in these documents, whose vocabulary and counts the corpus has.

        Raises
        ------
        InputError
            If a number is out of range or repeated, or the documents contain no words.

        Examples
        --------
        >>> corpus = Corpus.build(["a rose is a rose", "a red rose", "no"], min_count=1)
        >>> corpus.select([2, 1]).document(0)
        [['a', 'red', 'rose']]
        """
        chosen = np.unique(np.asarray(documents, np.int64))
        last = self.n_documents - 1
        if len(chosen) != len(documents) or (len(chosen) and not 0 <= chosen[0] <= chosen[-1] <= last):
            raise InputError(f"documents must contain distinct document indices from 0 to {last:,}", "documents")
        edges = self.sentences[self.documents]  # of each document, in tokens
        ids = np.concatenate([self.ids[:0], *(self.ids[edges[d] : edges[d + 1]] for d in chosen)])
        counts = np.bincount(ids, minlength=len(self.vocabulary))
        counted = dict(zip(self.vocabulary.words, counts.tolist(), strict=True))
        vocabulary = Vocabulary.choose(counted, min_count=min_count)
        renumbered = np.full(len(self.vocabulary), -1)
        renumbered[[self.vocabulary.index[word] for word in vocabulary.words]] = np.arange(len(vocabulary))
        ids, kind = renumbered[ids], ids.dtype
        kept = np.concatenate([[0], np.cumsum(ids >= 0)])  # tokens before each that stay
        inside = [np.diff(self.sentences[self.documents[d] : self.documents[d + 1] + 1]) for d in chosen]
        ends = np.cumsum(np.concatenate([[0], *inside]))
        sizes = np.concatenate([[0], np.diff(self.documents)[chosen]])
        with folder_or_temporary(path) as (target, release):
            with whole_folder(target, kind=KIND, overwrite=False) as folder:
                save_array(folder / "ids.npy", ids[ids >= 0].astype(kind))
                save_array(folder / "sentences.npy", kept[ends])
                save_array(folder / "documents.npy", np.cumsum(sizes))
                if self.fields is not None:
                    kept_fields = (json.dumps(self.fields[d], ensure_ascii=False) for d in chosen)
                    (folder / FIELDS).write_text("".join(f"{line}\n" for line in kept_fields), encoding="utf-8")
                vocabulary.save(folder / "vocabulary.txt")
                settings = self.settings | {"part": {"documents": len(chosen), "of": self.digest}}
                write_meta(folder, KIND, VERSION, settings=settings, digest=_digest(folder))
            corpus = type(self).open(target)
            corpus.keeper = _Keeper(release)
        return corpus

    def document(self, number: int) -> list[list[str]]:
        """Return the sentences of a document as lists of words, without words outside the vocabulary."""
        if not -self.n_documents <= number < self.n_documents:
            raise IndexError(f"document {number} does not exist; the corpus has {self.n_documents} documents")
        number %= self.n_documents
        words = self.vocabulary.words
        edges = self.sentences[self.documents[number] : self.documents[number + 1] + 1].tolist()
        return [[words[i] for i in self.ids[a:b].tolist()] for a, b in itertools.pairwise(edges)]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sizes(self) -> dict[str, Any]:
        """Number of tokens, distinct words, sentences and documents, and the language of the corpus."""
        numbers = {"tokens": len(self), "words": len(self.vocabulary), "sentences": len(self.sentences) - 1}
        return {**numbers, "documents": self.n_documents, "language": self.settings["language"]}

    def __repr__(self) -> str:
        *numbers, _ = self.sizes.items()
        return f"Corpus({', '.join(f'{number:,} {what}' for what, number in numbers)})"


class _Keeper:
    """Object that deletes a temporary folder when it is garbage-collected."""

    def __init__(self, release: Callable[[], None]) -> None:
        weakref.finalize(self, release)


def _fill(
    draft: Draft,
    source: Source,
    how: Reading,
    account: Account,
    language: str,
    tokenizer: Tokenize,
    jobs: int | None,
    tagger: Tagger | None,
) -> tuple[str, Tokenize]:
    """Read and encode the text of a corpus, and return the language and the tokenizer."""
    files = find_files(source)
    total = bytes_of(file for file in files or () if file != "-")
    with bar("reading text", total=total or None, unit="documents" if files is None else "B") as advance:
        several = several_files(files, how)
        of_beginning = several.pieces(Account()) if several else pieces(source, how, advance=advance, account=account)
        read = chunks(of_beginning)
        first = next(read, [])
        if language == "auto":
            samples = first[:: max(-(-len(first) // SAMPLES), 1)]
            parts = (as_text(piece)[: languages.MAX_SAMPLED // SAMPLES] for piece in samples)
            language = languages.guess("\n".join(parts))
        texts = any(isinstance(piece.content, str) for piece in first)
        if isinstance(tokenizer, Tokenizer):
            if tokenizer.language is None:
                tokenizer = dataclasses.replace(tokenizer, language=language)
                if texts:
                    languages.warn_of_unspaced(language)
            if tokenizer.lemmas and first and not texts:
                advice = "to use the lemmas of CoNLL-U files, set field to 'lemma'"
                raise InputError(f"lemmas cannot be computed for pre-tokenized text; {advice}", "field")
        if several:
            read.close()
            draft.fill(groups(several, account, advance, jobs), tokenizer, jobs, account=account, tagger=tagger)
            several.warn_skipped(account)
            account.report()
        else:
            draft.fill(itertools.chain([first] if first else [], read), tokenizer, jobs, tagger=tagger)
    if not draft.tokens:
        what = "its documents contain no words" if draft.documents else "the source contains no documents"
        raise InputError(f"the corpus is empty: {what}")
    return language, tokenizer


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for name in (*_ARRAYS, "vocabulary.txt"):
        with (folder / name).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _check_offsets(path: Path, offsets: NDArray[np.int64], *, end: int, of: str) -> None:
    if len(offsets) < 2 or offsets[0] != 0:
        raise InputError(f"{path} is damaged: the offsets must start at 0 and have at least two elements")
    if offsets[-1] != end:
        raise InputError(f"{path} is damaged: the last offset must be {end}, the number of {of}; got {offsets[-1]}")
    for start in range(0, len(offsets) - 1, _BLOCK):
        steps = np.diff(offsets[start : start + _BLOCK + 1])
        if steps.min() < 0:
            raise InputError(
                f"{path} is damaged: offset {start + int(steps.argmin()) + 1} is smaller than the previous offset"
            )


def _check_ids(path: Path, ids: NDArray[np.integer], vocabulary: Vocabulary) -> None:
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        if block.max() >= len(vocabulary):
            raise InputError(
                f"{path} is damaged: it contains the id {block.max()}, but the vocabulary has {len(vocabulary)} words"
            )
        counts += np.bincount(block, minlength=len(vocabulary))
    if not np.array_equal(counts, vocabulary.counts):
        number = int((counts != vocabulary.counts).argmax())
        what = f"{vocabulary.words[number]!r} occurs {counted(counts[number], 'time')}"
        given = f"vocabulary.txt gives the count {vocabulary.counts[number]}"
        raise InputError(f"{path} does not match vocabulary.txt: {what}, but {given}")

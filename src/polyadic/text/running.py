r"""Running text of a corpus: every word as it is written, and the characters between words.

The word at position :math:`i` has the number ``forms[i]`` of its written form, and ``gaps[i]`` is the number of the
string between it and the next word, so that the text of any passage is restored by joining both. A document begins with
its ``lead``, what is written before its first word. Gaps contain the mark :data:`BREAK` where a sentence ends. Counts,
windows and queries are operations on these memory-mapped arrays; a word takes 4 to 8 bytes.

A counted word is what a tokenizer makes of a form, such as "bank" of "Bank"; it depends on the form only, so
``word_of`` gives its number for each form. A layer gives each form or each position one of a list of values, such as
lemmas or parts of speech.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.core.arrays import ArrayWriter, open_array, save_array
from polyadic.core.errors import InputError
from polyadic.core.files import checked_in_background, whole_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.multiwords import Numbers

BREAK = "\x1e"  # mark in a gap where a sentence ends
BLOCK = 1 << 16  # number of words with a checksum of their own
FOLDER = "text"  # within that of a corpus
FILES = ("forms.npy", "gaps.npy")
FIELDS = "documents.jsonl"  # metadata of the documents
LAYERS = "layers"  # folder of further values of each position
NOT_TEXT = ["ids.npy", "sentences.npy", "documents.npy", "rows.npy", "vocabulary.txt"]
NOT_TEXT += [f"{FOLDER}/{name}" for name in FILES]
"""Files of a corpus whose digests are not verified when the text is used."""
_UNSIGNED = (np.uint8, np.uint16, np.uint32)


class RunningWriter:
    """Writer of the running text of a corpus, given the counts of its forms and gaps by provisional number."""

    def __init__(
        self,
        folder: Path,
        forms: Mapping[str, int],
        gaps: Mapping[str, int],
        leads: Sequence[str],
        words: Sequence[str],
        layers: Mapping[str, Sequence[str]],
    ) -> None:
        self._folder = folder = folder / FOLDER
        folder.mkdir()
        gaps = dict(gaps)
        for lead in leads:
            gaps[lead] = gaps.get(lead, 0) + 1
        form_order, self._form = _ranked(forms)
        gap_order, self._gap = _ranked(gaps)
        names, counts = list(forms), np.fromiter(forms.values(), np.int64, len(forms))[form_order]
        number = {lead: k for k, lead in enumerate(gaps)}
        save_array(folder / "leads.npy", self._gap[[number[lead] for lead in leads]].astype(np.uint32))
        of = np.array(words, dtype=object)[form_order].tolist()
        totals: dict[str, int] = {}
        for word, n in zip(of, counts.tolist(), strict=True):
            if word:
                totals[word] = totals.get(word, 0) + n
        word_order, rank = _ranked(totals)
        place = dict(zip(totals, rank.tolist(), strict=True)) | {"": -1}
        save_array(folder / "word-of.npy", np.array([place[word] for word in of], np.int32))
        save_array(folder / "form-counts.npy", counts)
        known, gap_names = list(totals), list(gaps)
        _write_lines(folder / "forms.txt", [names[k] for k in form_order.tolist()])
        _write_lines(folder / "words.txt", [known[k] for k in word_order.tolist()])
        used = [gap_names[k] for k in gap_order.tolist() if gaps[gap_names[k]]]
        (folder / "gaps.json").write_text(json.dumps(used, ensure_ascii=True), encoding="ascii")
        kinds: tuple[type[np.integer], ...] = (_smallest(len(forms)), _smallest(len(used)), np.int64, np.int64)
        files = (*FILES, "sentences.npy", "documents.npy")
        self._writers = [ArrayWriter(folder / name, kind) for name, kind in zip(files, kinds, strict=True)]
        self._layers = {}
        for name, values in layers.items():
            (folder / LAYERS).mkdir(exist_ok=True)
            _write_lines(folder / LAYERS / f"{name}.txt", values)
            self._layers[name] = ArrayWriter(folder / LAYERS / f"{name}.npy", _smallest(len(values)))
        self._read = self._ended = 0

    def __enter__(self) -> Self:
        for writer in (*self._writers, *self._layers.values()):
            writer.__enter__()
        self._writers[2].append([0])
        return self

    def append(
        self,
        forms: Numbers,
        gaps: Numbers,
        lengths: Numbers,
        per_piece: Numbers,
        starts: Numbers,
        layers: Mapping[str, Numbers],
    ) -> None:
        """Append the arrays of a chunk, with provisional numbers of forms and gaps."""
        for name, writer in self._layers.items():
            writer.append(layers.get(name, np.zeros(len(forms), np.uint32)))
        self._writers[0].append(self._form[forms])
        self._writers[1].append(self._gap[gaps])
        self._writers[2].append(self._read + np.cumsum(lengths, dtype=np.int64))
        before = self._ended + np.concatenate([[0], np.cumsum(per_piece, dtype=np.int64)])
        self._writers[3].append(before[:-1][np.asarray(starts) > 0])
        self._read, self._ended = self._read + len(forms), int(before[-1])

    def __exit__(self, *error: object) -> None:
        self._writers[3].append([self._ended])
        for writer in (*self._writers, *self._layers.values()):
            writer.__exit__(*error)  # type: ignore[arg-type]
        if error[0] is None:
            arrays = [open_array(self._folder / name, _UNSIGNED) for name in FILES]
            save_array(self._folder / "checksums.npy", np.array([checksums(array) for array in arrays], np.uint32))


class RunningText:
    """Memory-mapped running text of a corpus folder; see the module for the arrays.

    The files of words and gaps are compared with the checksums of their blocks before anything is read from them.
    """

    def __init__(self, folder: str | os.PathLike[str], keeper: object = None) -> None:
        self._keeper = keeper
        self.path = Path(folder) / FOLDER
        if not (self.path / FILES[0]).is_file():
            advice = "make the corpus again from the text, as `polyadic corpus TEXT --out CORPUS` does"
            raise InputError(f"{folder} does not contain the running text; {advice}")
        self.forms, self.gaps = (open_array(self.path / name, _UNSIGNED) for name in FILES)
        self.sentences = open_array(self.path / "sentences.npy", (np.int64,))
        self.documents = open_array(self.path / "documents.npy", (np.int64,))
        self.leads = open_array(self.path / "leads.npy", (np.uint32,))
        self.form_counts = np.asarray(open_array(self.path / "form-counts.npy", (np.int64,)))
        self.word_of = np.asarray(open_array(self.path / "word-of.npy", (np.int32,)))
        self._sums = open_array(self.path / "checksums.npy", (np.uint32,), ndim=2)
        self._lock = threading.Lock()
        self._verified = False
        self._computed: dict[str, list[str]] = {}
        self._opened: dict[str, tuple[NDArray[np.unsignedinteger], list[str]]] = {}
        lengths = {len(self.forms), len(self.gaps), *self.sentences[-1:].tolist()}
        if (
            len(lengths) > 1
            or not len(self.sentences)
            or len(self.leads) != len(self.documents) - 1
            or self.form_counts.sum() != len(self.forms)
        ):
            raise InputError(f"{self.path} is damaged: its files do not have the same number of words or documents")

    def verify(self) -> None:
        """Compare all words and gaps with their checksums, once; raise InputError if a file is damaged."""
        with self._lock:
            if self._verified:
                return
            with ThreadPoolExecutor(2) as pool, checked_in_background(self.path.parent, but=NOT_TEXT):
                found = list(pool.map(checksums, (self.forms, self.gaps)))
            for name, sums, known in zip(FILES, found, self._sums, strict=True):
                wrong = np.flatnonzero(sums != known) if len(sums) == len(known) else [0]
                if len(wrong):
                    what = f"the words from {wrong[0] * BLOCK:,} on do not match their checksum"
                    advice = f"delete {self.path.parent} and make the corpus again"
                    raise InputError(f"{self.path / name} is damaged: {what}; {advice}")
            self._verified = True

    @functools.cached_property
    def form_names(self) -> list[str]:
        """Written form of each number."""
        return lines_of(self.path / "forms.txt", len(self.word_of))

    @functools.cached_property
    def words(self) -> list[str]:
        """Normalized words in descending order of frequency."""
        return lines_of(self.path / "words.txt", int(self.word_of.max(initial=-1)) + 1)

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Index of each normalized word."""
        return {word: number for number, word in enumerate(self.words)}

    @functools.cached_property
    def word_counts(self) -> NDArray[np.int64]:
        """Number of occurrences of each normalized word."""
        kept = self.word_of >= 0
        return np.bincount(self.word_of[kept], self.form_counts[kept], minlength=len(self.words)).astype(np.int64)

    @functools.cached_property
    def gap_texts(self) -> list[str]:
        """String of each gap."""
        try:
            texts = json.loads((self.path / "gaps.json").read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / 'gaps.json'} is damaged: {error}") from None
        return [str(text) for text in texts]

    @functools.cached_property
    def _on_one_line(self) -> list[str]:
        return [re.sub(r"\s*\n\s*", " ", text.replace(BREAK, "")) for text in self.gap_texts]

    @functools.cached_property
    def edges(self) -> NDArray[np.int64]:
        """Position of the first word of each document, and the number of words."""
        return np.asarray(self.sentences[self.documents])

    def computed(self, name: str, compute: Callable[[], list[str]]) -> list[str]:
        """Return a value for each normalized word; it is computed once and cached in the folder if that is writable."""
        file = self.path / f"{name}.txt"
        with self._lock:
            if name not in self._computed and file.is_file():
                sign, _, kept = file.read_bytes().partition(b"\n")
                if sign == f"{zlib.crc32(kept):08x}".encode() and kept.count(b"\n") == len(self.words):
                    self._computed[name] = kept.decode().split("\n")[:-1]
            if name not in self._computed:
                self._computed[name] = compute()
                kept = "".join(f"{value}\n" for value in self._computed[name]).encode()
                with contextlib.suppress(OSError, InputError), whole_file(file) as draft:
                    draft.write_bytes(f"{zlib.crc32(kept):08x}\n".encode() + kept)
        return self._computed[name]

    @functools.cached_property
    def layers(self) -> list[str]:
        """Names of the layers in the folder, besides word, lc and lemma."""
        return sorted(path.stem for path in (self.path / LAYERS).glob("*.npy"))

    def layer(self, name: str) -> tuple[NDArray[np.unsignedinteger], list[str]]:
        """Return the number of the value of a layer at each position, and the values."""
        if name not in self._opened:
            values = lines_of(self.path / LAYERS / f"{name}.txt")
            self._opened[name] = open_array(self.path / LAYERS / f"{name}.npy", _UNSIGNED), values
        return self._opened[name]

    def __len__(self) -> int:
        return len(self.forms)

    def document_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the document that contains each position."""
        return np.asarray(np.searchsorted(self.edges, positions, side="right") - 1, np.int64)

    def sentence_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the sentence that contains each position."""
        return np.asarray(np.searchsorted(self.sentences, positions, side="right") - 1, np.int64)

    def passage(self, start: int, stop: int, *, whole: bool = False) -> tuple[str, list[tuple[int, int]]]:
        """Return the text of the words from ``start`` to ``stop``, on one line, and the place of each word in it.

        If ``whole`` is set, what is written before and after them in their sentences is included.
        """
        self.verify()
        names, gaps = self.form_names, self._on_one_line
        parts: list[str] = [self._before(start)] if whole else [""]
        size = len(parts[0])
        places = []
        for form, gap in zip(self.forms[start:stop].tolist(), self.gaps[start:stop].tolist(), strict=True):
            word, between = names[form], gaps[gap]
            places.append((size, size + len(word)))
            parts += [word, between]
            size += len(word) + len(between)
        if start < stop:
            parts[-1] = self.gap_texts[self.gaps[stop - 1]].partition(BREAK)[0].rstrip() if whole else ""
        return "".join(parts), places

    def sentence(self, number: int) -> str:
        """Return a sentence as it is written."""
        return self.passage(*map(int, self.sentences[number : number + 2]), whole=True)[0]

    def _before(self, position: int) -> str:
        """Return the characters of the sentence before a word."""
        document = int(self.document_of(np.array([position]))[0])
        gap = self.leads[document] if position == self.edges[document] else self.gaps[position - 1]
        return self.gap_texts[gap].rpartition(BREAK)[2].replace("\n", " ").lstrip()

    def document(self, number: int) -> str:
        """Return a document as it is written, with its line breaks."""
        self.verify()
        names, gaps = self.form_names, self.gap_texts
        span = slice(*map(int, self.edges[number : number + 2]))
        pairs = zip(self.forms[span].tolist(), self.gaps[span].tolist(), strict=True)
        words = "".join(f"{names[form]}{gaps[gap]}" for form, gap in pairs)
        return f"{gaps[self.leads[number]]}{words}".replace(BREAK, "")


def checksums(array: NDArray[np.unsignedinteger]) -> Numbers:
    """Return the CRC-32 of each block of an array."""
    bounds = [*range(0, len(array), BLOCK), len(array)]
    return np.array([zlib.crc32(np.ascontiguousarray(array[a:b]).data) for a, b in pairwise(bounds)], np.uint32)


def _ranked(counts: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by descending count and then by code points, and the rank of each item."""
    names, values = list(counts), np.fromiter(counts.values(), np.int64, len(counts))
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    order = by_name[np.argsort(-values[by_name], kind="stable")]
    return order, np.argsort(order)


def _smallest(size: int) -> type[np.unsignedinteger]:
    """Return the smallest type of numbers below ``size``."""
    return next(kind for kind in _UNSIGNED if size <= np.iinfo(kind).max + 1)


def _write_lines(path: Path, words: Iterable[str]) -> None:
    path.write_bytes("".join(f"{word}\n" for word in words).encode())


def lines_of(path: Path, number: int | None = None) -> list[str]:
    """Return the lines of a file; raise InputError if their number is not ``number``."""
    try:
        words = path.read_bytes().decode().split("\n")[:-1]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from None
    if number not in (None, len(words)):
        raise InputError(f"{path} is damaged: it must have {number:,} lines; got {len(words):,}")
    return words

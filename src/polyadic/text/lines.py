"""Full-text index of the sentences of a corpus, for concordances.

The SQLite file ``text.sqlite`` has one row per document with its metadata, one row per sentence as written, and a
full-text index (FTS5) of the tokens, so that queries match what was counted. Results are streamed and sorted on disk.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.files import read_meta
from polyadic.text import languages
from polyadic.text.tokens import marks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FILE = "text.sqlite"
Place = Callable[[str], "tuple[int, int] | None"]
"""Find a word in a text; return its (start, end) or None."""
SORTS = ("document", "left", "right", "relevance")
MAX_ROWS = (1 << 63) - 1  # largest number of rows that SQLite can count
MAX_WIDTH = (1 << 31) - 1  # largest distance between words that SQLite can count
_SCHEMA = """
CREATE TABLE documents (id INTEGER PRIMARY KEY, fields TEXT NOT NULL);
CREATE TABLE sentences (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(sentence, content='', tokenize="unicode61 remove_diacritics 0 categories '{}'");
"""  # categories: all but separators and control characters, since words stand between spaces
_CATEGORIES = "L* M* N* P* S* Co"


class ConcordanceLine(NamedTuple):
    """Concordance line: a sentence that contains the search words, with the index and metadata of the document."""

    document: int
    fields: Mapping[str, str]
    text: str
    places: tuple[tuple[int, int], ...]  # start and end of each word searched for

    @property
    def left(self) -> str:
        """Text before the first search word."""
        return self.text[: self.places[0][0]] if self.places else self.text

    @property
    def word(self) -> str:
        """First search word as it is written in the text."""
        return self.text[slice(*self.places[0])] if self.places else ""

    @property
    def right(self) -> str:
        """Text after the first search word."""
        return self.text[self.places[0][1] :] if self.places else ""


class _Connection(sqlite3.Connection):
    """SQLite connection that is closed on garbage collection, because Python 3.13 warns about open connections."""

    def __del__(self) -> None:
        self.close()


class LineWriter:
    """Writer for the full-text index of a corpus."""

    def __init__(self, folder: Path) -> None:
        self._base = sqlite3.connect(folder / FILE, isolation_level=None, factory=_Connection, check_same_thread=False)
        # the folder is whole or absent, so a journal would guard nothing
        self._base.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA.format(_CATEGORIES))
        self._documents = self._sentences = 0

    def add(
        self,
        starts: Iterable[bool],
        fields: Iterable[Mapping[str, str]],
        sentences: Sequence[Sequence[tuple[str, Sequence[str]]]],
    ) -> None:
        """Append the sentences of text pieces, and the metadata of each new document."""
        self._base.execute("BEGIN")
        known = iter(fields)
        for start, some in zip(starts, sentences, strict=True):
            if start:
                text = json.dumps(next(known), ensure_ascii=False)
                self._base.execute("INSERT INTO documents VALUES (?, ?)", (self._documents, text))
                self._documents += 1
            at = range(self._sentences, self._sentences + len(some))
            self._base.executemany(
                "INSERT INTO sentences VALUES (?, ?, ?)",
                ((i, self._documents - 1, text) for i, (text, _) in zip(at, some, strict=True)),
            )
            self._base.executemany(
                "INSERT INTO words (rowid, sentence) VALUES (?, ?)",
                ((i, " ".join(words)) for i, (_, words) in zip(at, some, strict=True)),
            )
            self._sentences = at.stop
        self._base.execute("COMMIT")

    def close(self) -> None:
        """Close the database file."""
        self._base.close()


class Lines:
    """Searchable text of a corpus that was built with ``keep_text=True``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        settings = read_meta(path, "corpus").get("settings", {})
        self.path = Path(path) / FILE
        if not self.path.is_file():
            raise InputError(
                f"{path} does not contain the text; build the corpus again and keep the text, as `polyadic corpus TEXT"
                " --out CORPUS --keep-text` does"
            )
        tokenizer = str(settings.get("tokenizer"))
        self._pairs = {*(settings.get("multiwords") or ())}
        self._bare = "punctuation='drop'" in tokenizer
        self._lemma = languages.lemmatizer(settings["language"]) if "lemmas=True" in tokenizer else None
        self._bases = threading.local()
        self._base  # noqa: B018 # is opened now: a temporary corpus may be gone when it is asked

    @property
    def _base(self) -> sqlite3.Connection:
        """SQLite connection of the current thread."""
        if not hasattr(self._bases, "base"):
            uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            # whoever collects it, maybe another thread, closes it
            self._bases.base = sqlite3.connect(uri, uri=True, factory=_Connection, check_same_thread=False)
        base: sqlite3.Connection = self._bases.base
        return base

    def __len__(self) -> int:
        with self._checked():
            return int(self._base.execute("SELECT count(*) FROM sentences").fetchone()[0])

    @property
    def fields(self) -> list[str]:
        """Names of the metadata fields of documents, in order of first appearance."""
        with self._checked():
            query = (
                "SELECT key FROM documents, json_each(documents.fields) GROUP BY key"
                " ORDER BY min(documents.id), min(json_each.id)"
            )
            return [name for (name,) in self._base.execute(query)]

    def count(
        self, *words: str, width: int | None = None, either: bool = False, where: Mapping[str, str] | None = None
    ) -> int:
        """Count the sentences that contain all words, or any word if ``either`` is set; see :meth:`find`."""
        chosen, values = self._chosen(words, width, where, either=either)
        with self._checked():
            return int(self._base.execute(f"SELECT count(*) {chosen}", values).fetchone()[0])  # constants

    def find(
        self,
        *words: str,
        width: int | None = None,
        either: bool = False,
        sort: Literal["document", "left", "right", "relevance"] = "document",
        where: Mapping[str, str] | None = None,
        start: int = 0,
        top: int | None = None,
    ) -> Iterator[ConcordanceLine]:
        """Yield the sentences that contain all words, or any word if ``either`` is set.

        Words are found in any case; one with spaces is a phrase, and ``"bank*"`` matches all words that begin with
        "bank". ``width`` is the maximum number of other words between them; by default they may be anywhere in the
        sentence. Lines are in the order of the text, by the words to the left of the first match, nearest first, by
        those to its right, or by BM25, which ranks lines with most of the words, and the rarest, first. Only documents
        whose fields have the values ``where`` are searched; ``start`` lines are skipped.
        """
        check_choice("sort", sort, SORTS)
        check_int("start", start, low=0, high=MAX_ROWS)
        limit = -1 if top is None else check_int("top", top, low=1, high=MAX_ROWS)
        chosen, values = self._chosen(words, width, where, either=either)
        asked = [self._form(word) for word in words]
        self._base.create_function("side", 1, lambda text: _side(text, asked[:1], sort), deterministic=True)
        first = {"document": "", "relevance": "bm25(words), "}.get(sort, "side(text), ")
        query = f"SELECT document, fields, text {chosen} ORDER BY {first}sentences.id LIMIT ? OFFSET ?"
        with self._checked():
            for document, known, text in self._base.execute(query, (*values, limit, start)):
                yield ConcordanceLine(document, json.loads(known), text, _places(text, asked))

    def at(self, row: int, *words: str) -> ConcordanceLine:
        """Return the sentence with a given row id as a concordance line for the search words."""
        query = (
            "SELECT document, fields, text FROM sentences JOIN documents ON documents.id = document"
            " WHERE sentences.id = ?"
        )
        with self._checked():
            document, known, text = self._base.execute(query, (row,)).fetchone() or (0, "{}", "")
            return ConcordanceLine(
                document, json.loads(known), text, _places(text, [self._form(word) for word in words])
            )

    def document(self, number: int, *, start: int = 0, top: int | None = None) -> tuple[dict[str, str], list[str], int]:
        """Return the metadata of a document, the sentences from index ``start`` on, and the total sentence count."""
        check_int("start", start, low=0, high=MAX_ROWS)
        with self._checked():
            known = self._base.execute("SELECT fields FROM documents WHERE id = ?", (number,)).fetchone()
            if known is None:
                raise InputError(f"{self.path} has no document {number}; document indices start at 0")
            first, last = self._first(number), self._first(number + 1)
            end = last if top is None else min(last, first + start + check_int("top", top, low=1, high=MAX_ROWS))
            rows = self._base.execute(
                "SELECT text FROM sentences WHERE id >= ? AND id < ? ORDER BY id", (first + start, end)
            )
            return json.loads(known[0]), [text for (text,) in rows], last - first

    def _first(self, document: int) -> int:
        """Return the id of the first sentence of a document, or of the next non-empty document, by binary search."""
        low, high = 0, len(self)
        while low < high:
            half = (low + high) // 2
            (of,) = self._base.execute("SELECT document FROM sentences WHERE id = ?", (half,)).fetchone()
            low, high = (low, half) if of >= document else (half + 1, high)
        return low

    def _chosen(
        self, words: Sequence[str], width: int | None, where: Mapping[str, str] | None, *, either: bool
    ) -> tuple[str, list[str]]:
        """Return the SQL clause that selects the matching sentences, and the parameters of the query."""
        fields = dict(where or {})
        for asked in (*words, *fields, *fields.values()):
            if any("\ud800" <= sign <= "\udfff" for sign in asked):
                raise InputError(f"the search text must be valid Unicode; got {asked!r}")
        matched = _query([self._plain(word) for word in words], width, either=either)
        values = [value for name, text in fields.items() for value in (f"$.{json.dumps(name)}", text)]
        chosen = (
            "FROM words JOIN sentences ON sentences.id = words.rowid JOIN documents ON documents.id = document"
            " WHERE words MATCH ?" + " AND json_extract(fields, ?) = ?" * len(fields)
        )
        return chosen, [matched, *values]

    def _plain(self, word: str) -> str:
        """Return a word or phrase as tokenized in the corpus, without punctuation: "Mr. X" becomes "Mr X"."""
        word = word.replace("_", " ") if word.lower() in self._pairs else word
        parts = unicodedata.normalize("NFC", word).split()
        bare = [bare for part in parts if (bare := _bare(part))] if self._bare else parts
        return " ".join(bare or parts)

    def _form(self, word: str) -> Place:
        """Return a function that finds a word or phrase in a sentence, by lemma if the corpus has lemmas."""
        if self._lemma is None or word.endswith("*"):
            search = self._pattern(word).search
            return lambda text: None if (match := search(text)) is None else match.span()
        asked, lemma = self._plain(word).lower().split(), self._lemma
        forms = re.compile(rf"[\w{marks()}]+")

        def place(text: str) -> tuple[int, int] | None:
            matches = list(forms.finditer(text))
            lemmas = [lemma(match[0].lower()).lower() for match in matches]
            starts = (k for k in range(len(lemmas)) if lemmas[k : k + len(asked)] == asked)
            first = next(starts, None)
            return None if first is None else (matches[first].start(), matches[first + len(asked) - 1].end())

        return place

    def _pattern(self, word: str) -> re.Pattern[str]:
        """Return a regular expression that matches a word or phrase of the corpus in the original text."""
        normal = self._plain(word)
        normal = normal.rstrip("*") or normal
        parts = [re.escape(part).replace("'", "['’]") for part in normal.split()]
        start, end = ("" if languages.is_unspaced(letter) else rf"[\w{marks()}]" for letter in (normal[0], normal[-1]))
        before, behind = (f"(?<!{start})" if start else ""), (f"(?!{end})" if end and not word.endswith("*") else "")
        rest = f"{end}*" if end and word.endswith("*") else ""  # of a word that a prefix begins
        return re.compile(before + r"[\W_]+".join(parts) + rest + behind, re.IGNORECASE)

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            raise InputError(f"{self.path} is damaged: {error}") from None


def _query(words: Sequence[str], width: int | None, *, either: bool) -> str:
    """Return the SQLite FTS5 query that matches all or any of the given words."""
    if not words or not all(words):
        raise InputError("the query must contain at least one word")
    if either and width is not None:
        raise InputError("width cannot be combined with 'either'; omit one of the two", "width", "either")
    starts = [len(word) > 1 and word.endswith("*") for word in words]
    quoted = [
        '"' + (word.rstrip("*") if start else word).replace('"', '""') + '"' + "*" * start
        for word, start in zip(words, starts, strict=True)
    ]
    if width is None or len(words) == 1:
        return (" OR " if either else " ").join(quoted)
    return f"NEAR({' '.join(quoted)}, {check_int('width', width, low=0, high=MAX_WIDTH)})"


def _bare(word: str) -> str:
    """Remove the punctuation around a word, but keep a final asterisk."""
    letters = [k for k, sign in enumerate(word) if unicodedata.category(sign)[0] not in "PS"]
    return word[letters[0] : letters[-1] + 1] + "*" * word.endswith("*") if letters else ""


def _places(text: str, asked: Sequence[Place]) -> tuple[tuple[int, int], ...]:
    return tuple(span for place in asked if (span := place(text)) is not None)


def _side(text: str, asked: Sequence[Place], sort: str) -> str:
    """Return the sort key of a concordance line: the words to the left or right of the first match."""
    line = ConcordanceLine(0, {}, text, _places(text, asked))
    words = re.findall(r"\w+", (line.left if sort == "left" else line.right).lower())
    return " ".join(reversed(words) if sort == "left" else words)

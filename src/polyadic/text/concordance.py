"""Concordances: the matches of a query in a corpus, each with its context and its document."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from polyadic.core.errors import InputError, check_choice, check_int, meant
from polyadic.text import languages
from polyadic.text.query import Matches, Spelling, parse
from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.running import RunningText

SORTS = ("document", "left", "right", "relevance")
SORTED_BY = 5  # number of words by which lines are sorted
MAX_WIDTH = 1 << 31  # largest distance between words
K1, B = 1.2, 0.75  # parameters of BM25


class ConcordanceLine(NamedTuple):
    """Concordance line: a match of a query in its context, with the number and the metadata of the document."""

    document: int
    fields: Mapping[str, str]
    text: str
    places: tuple[tuple[int, int], ...]  # start and end of the match, and of further words searched for

    @property
    def left(self) -> str:
        """Text before the match."""
        return self.text[: self.places[0][0]] if self.places else self.text

    @property
    def word(self) -> str:
        """Match as it is written in the text."""
        return self.text[slice(*self.places[0])] if self.places else ""

    @property
    def right(self) -> str:
        """Text after the match."""
        return self.text[self.places[0][1] :] if self.places else ""


class Lines:
    """Iterator of concordance lines; ``count`` is the number of matches, including those that are not shown."""

    def __init__(self, lines: Iterator[ConcordanceLine], count: int) -> None:
        self._lines, self.count = lines, count

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConcordanceLine:
        return next(self._lines)


class Concordance:
    """Queries on the running text of a corpus; see :mod:`polyadic.text.query` for the query language."""

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus  # a TextStore, whose module imports this one
        self.text: RunningText = corpus.text  # is opened now: a temporary corpus may be gone when it is asked

    def __len__(self) -> int:
        return len(self.text.sentences) - 1

    @functools.cached_property
    def fields(self) -> list[str]:
        """Names of the metadata fields of documents, in order of first appearance."""
        return list(dict.fromkeys(name for fields in self.corpus.fields or () for name in fields))

    @functools.cached_property
    def spelling(self) -> Spelling:
        """Attributes of words that queries can use."""
        by_word: dict[str, Callable[[], Sequence[str]]] = {}
        tokenizer = self.corpus.settings["tokenizer"]
        if "lemmas=True" in tokenizer:
            by_word["lemma"] = lambda: self.text.words
        elif "lemma" not in self.text.layers and tokenizer.startswith("Tokenizer("):
            by_word["lemma"] = self._lemmas
        return Spelling(self.text, self._split, by_word)

    def _lemmas(self) -> list[str]:
        def of_words() -> list[str]:
            lemma = languages.lemmatizer(self.corpus.settings["language"])
            return [lemma(word).lower() for word in self.text.words]

        return self.text.computed("lemmas", of_words)

    def _split(self, query: str) -> list[tuple[str, str]]:
        """Return the words of a plain query as written and normalized; joined words become phrases."""
        pairs = {*(self.corpus.settings.get("multiwords") or ())}
        query = " ".join(part.replace("_", " ") if part.lower() in pairs else part for part in query.split())
        tokenizer = self.corpus.tokenizer
        if isinstance(tokenizer, Tokenizer):
            return [(form, tokenizer.normal(form)) for parts in tokenizer.parts(query) for form in parts[1::2]]
        return [(word, word) for sentence in tokenizer(query) for word in sentence]

    def matches(
        self, query: str, *, where: Mapping[str, str] | None = None, case: bool = False, diacritics: bool = True
    ) -> Matches:
        """Return the positions of all matches of a query in documents whose fields have the values in ``where``."""
        starts, ends = parse(query, self.spelling, case=case, diacritics=diacritics).find(self.text)
        if where:
            kept = self.documents_where(where)[self.text.document_of(starts)]
            starts, ends = starts[kept], ends[kept]
        return Matches(starts, ends)

    def documents_where(self, where: Mapping[str, str]) -> NDArray[np.bool_]:
        """Return a mask of the documents whose fields have the given values."""
        for name in where:
            if name not in self.fields:
                known = f"have the fields {', '.join(self.fields)}" if self.fields else "have no fields"
                near = meant(name, self.fields)
                raise InputError(f"no document has the field {name!r}; the documents of this corpus {known}{near}")
        return np.array([all(each.get(name) == value for name, value in where.items()) for each in self._fields_of])

    @functools.cached_property
    def _fields_of(self) -> Sequence[Mapping[str, str]]:
        return self.corpus.fields or ({},) * (len(self.text.documents) - 1)

    def count(self, *queries: str, **how: Any) -> int:
        """Return the number of lines that :meth:`find` returns."""
        return self.find(*queries, **how).count

    def find(
        self,
        *queries: str,
        width: int | None = None,
        either: bool = False,
        sort: Literal["document", "left", "right", "relevance"] = "document",
        where: Mapping[str, str] | None = None,
        start: int = 0,
        top: int | None = None,
        context: int | None = None,
        sample: int | None = None,
        case: bool = False,
        diacritics: bool = True,
        seed: int = 0,
    ) -> Lines:
        """Return a line for each match of the first query in sentences that match all other queries.

        Parameters
        ----------
        *queries : str
            Words, phrases or queries in CQL; see :mod:`polyadic.text.query`.
        width : int, optional
            Maximum number of other words between the matches; by default they may be anywhere in the sentence.
        either : bool
            Whether to find the matches of every query instead.
        sort : {"document", "left", "right", "relevance"}
            Order of the lines: that of the text; by the words to the left of the match, nearest first, or to its right;
            or by the BM25 score of the sentence, which ranks sentences with the most and the rarest matches first.
        where : dict of str to str, optional
            Values of metadata fields of the documents to search.
        start, top : int
            Number of lines to skip, and maximum number of lines.
        context : int, optional
            Number of words shown on either side; by default the sentence.
        sample : int, optional
            Number of lines to draw at random.
        case, diacritics : bool
            Whether the case and the diacritics of plain words must agree.
        seed : int
            Random seed of the sample.

        Raises
        ------
        InputError
            If a query cannot be read, or an argument is invalid.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["The old bank. A river bank!", "Banks."], min_count=1)
        >>> [(line.left, line.word) for line in corpus.lines.find("bank")]
        [('The old ', 'bank'), ('A river ', 'bank')]
        >>> [line.text for line in corpus.lines.find('[]{2} [word="ban.*"]', context=0)]
        ['The old bank', 'A river bank']
        """
        check_choice("sort", sort, SORTS)
        check_int("start", start, low=0)
        top = None if top is None else check_int("top", top, low=1)
        context = None if context is None else check_int("context", context, low=0)
        how = {"where": where, "case": case, "diacritics": diacritics}
        matches, every = self._found(queries, width=width, either=either, **how)
        chosen = np.arange(len(matches.starts))
        if sample is not None and check_int("sample", sample, low=1) < len(chosen):
            chosen = np.sort(np.random.default_rng(seed).choice(len(chosen), sample, replace=False))
        stop = len(chosen) if top is None else min(start + top, len(chosen))
        shown = self._sorted(matches, chosen, sort, every, stop, whole=context is None)[start:stop].tolist()
        spans = ((int(matches.starts[k]), int(matches.ends[k])) for k in shown)
        lines = (self.line(first, end, context=context, others=[] if either else every[1:]) for first, end in spans)
        return Lines(lines, len(matches.starts))

    def line(
        self, start: int, stop: int, *, context: int | None = None, others: Sequence[Matches] = ()
    ) -> ConcordanceLine:
        """Return the line of the words from ``start`` to ``stop`` with ``context`` words around, or their sentence."""
        text = self.text
        document = int(text.document_of(np.array([start]))[0])
        if context is None:
            first, last = (int(s) for s in text.sentence_of(np.array([start, stop - 1])))
            low, high = int(text.sentences[first]), int(text.sentences[last + 1])
        else:
            low = max(start - context, int(text.edges[document]))
            high = min(stop + context, int(text.edges[document + 1]))
        words, places = text.passage(low, high, whole=context is None)
        spans = [(start, stop)]
        for other in others:
            inside = slice(*np.searchsorted(other.starts, [low, high]))
            spans += [*zip(other.starts[inside].tolist(), other.ends[inside].tolist(), strict=True)][:1]
        shown = dict.fromkeys((places[a - low][0], places[min(b, high) - low - 1][1]) for a, b in spans)
        return ConcordanceLine(document, self._fields_of[document], words, tuple(shown))

    def document(
        self, number: int, *, start: int = 0, top: int | None = None
    ) -> tuple[Mapping[str, str], list[str], int]:
        """Return the metadata of a document, the sentences from index ``start`` on, and the total sentence count."""
        check_int("start", start, low=0)
        if not 0 <= number < len(self.text.documents) - 1:
            raise InputError(f"{self.corpus.path} has no document {number}; document indices start at 0")
        first, last = map(int, self.text.documents[number : number + 2])
        end = last if top is None else min(last, first + start + check_int("top", top, low=1))
        sentences = [self.text.sentence(k) for k in range(first + start, end)]
        return self._fields_of[number], sentences, last - first

    def _found(
        self, queries: Sequence[str], *, width: int | None = None, either: bool = False, **how: Any
    ) -> tuple[Matches, list[Matches]]:
        """Return the matches to show, and the matches of each query."""
        if not queries:
            raise InputError("the query must contain at least one word")
        if either and width is not None:
            raise InputError("width cannot be combined with 'either'; omit one of the two", "width", "either")
        width = None if width is None else check_int("width", width, low=0, high=MAX_WIDTH)
        first, *others = every = [self.matches(query, **how) for query in queries]
        if either:
            starts, ends = (np.concatenate(arrays) for arrays in zip(*every, strict=True))
            order = np.lexsort([-ends, starts])
            first = Matches(*(array[order] for array in (starts, ends)))
            kept = np.diff(first.starts, prepend=-1) > 0
        else:
            kept = np.ones(len(first.starts), bool)
            for other in others:
                kept &= self._beside(first, other, MAX_WIDTH if width is None else width)
        return Matches(first.starts[kept], first.ends[kept]), every

    def _beside(self, first: Matches, other: Matches, width: int) -> NDArray[np.bool_]:
        """Return whether each match has another, separate match in its sentence at most ``width`` words away."""
        if not len(other.starts):
            return np.zeros(len(first.starts), bool)
        sentences = self.text.sentence_of(first.starts)
        low, high = self.text.sentences[sentences], self.text.sentences[sentences + 1]
        before = np.searchsorted(other.ends, first.starts, side="right") - 1  # the nearest on either side
        after = np.searchsorted(other.starts, first.ends)
        left = (before >= 0) & (other.starts[before] >= low) & (first.starts - other.ends[before] <= width)
        next_starts = np.append(other.starts, np.iinfo(np.int64).max)[after]
        return np.asarray(left | ((next_starts < high) & (next_starts - first.ends <= width)))

    def _sorted(
        self,
        matches: Matches,
        chosen: NDArray[np.int64],
        sort: str,
        every: Sequence[Matches],
        stop: int,
        *,
        whole: bool,
    ) -> NDArray[np.int64]:
        """Return the selected matches in the requested order, sorted as far as the first ``stop``."""
        if sort == "document" or not len(chosen):
            return chosen
        if sort == "relevance":
            score = self._bm25(self.text.sentence_of(matches.starts[chosen]), every)
            return np.asarray(chosen[np.argsort(-score, kind="stable")])
        starts, ends = matches.starts[chosen], matches.ends[chosen]
        bounds, of = self.text.edges, self.text.document_of(starts)
        if whole:  # only the sentence is shown
            bounds, of = self.text.sentences, self.text.sentence_of(starts)
        edges = np.asarray(bounds)[of[:, None] + [0, 1]]
        order, key = np.arange(len(chosen)), np.zeros(len(chosen), np.int64)
        for k in range(SORTED_BY):  # only lines that may be shown are sorted further
            at = starts[order] - 1 - k if sort == "left" else ends[order] + k
            inside = (at >= edges[order, 0]) & (at < edges[order, 1])
            words = np.where(inside, self.text.word_of[self.text.forms[np.where(inside, at, 0)]], -1)
            key = key * len(self._ranks) + self._ranks[words]
            if stop < len(key):
                shown = key <= np.partition(key, stop - 1)[stop - 1]
                order, key = order[shown], key[shown]
            key = np.unique(key, return_inverse=True)[1]
        return np.asarray(chosen[order[np.argsort(key, kind="stable")]])

    @functools.cached_property
    def _ranks(self) -> NDArray[np.int64]:
        """Alphabetical rank of each counted word, from 1; the last, for positions without a counted word, is 0."""
        words = self.text.words
        ranks = np.zeros(len(words) + 1, np.int64)
        ranks[sorted(range(len(words)), key=words.__getitem__)] = np.arange(1, len(words) + 1)
        return ranks

    def _bm25(self, sentences: NDArray[np.int64], queries: Sequence[Matches]) -> NDArray[np.float64]:
        r"""Return BM25 of sentences, :math:`\sum_q \mathrm{idf}_q f_q (k + 1) / (f_q + k (1 - b + b l / \bar l))`."""
        n = len(self)
        lengths = np.diff(self.text.sentences)[sentences]
        norm = K1 * (1 - B + B * lengths / (len(self.text) / max(n, 1)))
        score = np.zeros(len(sentences))
        for query in queries:
            found, times = np.unique(self.text.sentence_of(query.starts), return_counts=True)
            at = np.minimum(np.searchsorted(found, sentences), max(len(found) - 1, 0))
            f = np.where(found[at] == sentences, times[at], 0) if len(found) else np.zeros(len(sentences))
            idf = max(np.log((n - len(found) + 0.5) / (len(found) + 0.5)), 1e-6)
            score += idf * f * (K1 + 1) / (f + norm)
        return score

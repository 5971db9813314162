r"""Word lists, n-grams, collocations, keywords, lexical diversity and trends, counted on the running text.

Every list starts from the number of an item at each position of the text, such as that of the word, its lemma, or the
n-gram that starts there. The items are counted in every document; frequencies, dispersion and keyness follow from this
table. Windows are running words: stop words and rare words are among them. Relative frequencies are per million running
words of the documents that are searched.

N-grams are counted exactly in memory of a few bytes per word. As many numbers as fit are packed into an integer of 63
bits; these are sorted, in parts with equal hashes, and numbered; longer n-grams begin with the number of a shorter
one, which is frequent if they are.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array, hstack

from polyadic.core.errors import InputError, check_int, named
from polyadic.core.settings import Count, Positive, Share, Within, check_setting
from polyadic.metrics.association import MEASURES, adjusted_p_values, p_value, simple_maths
from polyadic.metrics.dispersion import dispersion, text_dispersion_keyness
from polyadic.metrics.diversity import lexical_diversity
from polyadic.text import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.integer]
    Where = Mapping[str, str] | None

TextStore = Any  # the class of that name, which inherits from Usage: its module imports this one
log = logging.getLogger("polyadic")
CHUNK = 1 << 22  # words counted at a time
PART = 1 << 24  # n-grams sorted at a time
MIXER = np.uint64(0x9E3779B97F4A7C15)  # multiplier of the hash that divides n-grams into parts
SPECIAL = r'[*?\[\]"]'  # signs of wildcards and CQL
Order = Annotated[int, Within(1, 20)]  # number of words of an n-gram
Span = Annotated[int, Within(0, 1000)]  # number of words on a side of a match
Sign = Literal["positive", "negative", "both"]
Sort = Literal["frequency", "range", "dp", "alphabetical", "reversed"]
Keyness = Literal["log_likelihood", "log_ratio", "simple_maths", "percent_difference", "text_dispersion"]
Collocation = Literal[
    "log_likelihood", "chi_squared", "pmi", "mi3", "t_score", "z_score", "log_dice", "delta_p", "delta_p_backward",
    "log_ratio", "together", "frequency",
]  # fmt: skip
KEYNESS, COLLOCATIONS = get_args(Keyness), get_args(Collocation)[:-2]


class ItemFrequency(NamedTuple):
    """Frequency of a word or n-gram, and its dispersion over documents (NaN if there is only one document)."""

    item: str
    frequency: int
    per_million: float
    range: int  # number of documents that contain it
    dp: float
    juilland_d: float


class Collocate(NamedTuple):
    """Collocate of a query: its number of occurrences near the matches, with association measures.

    Each token near a match counts once in ``together``. ``positions`` are the numbers of matches that have the
    collocate at each position, from the leftmost to the rightmost; ``left`` and ``right`` are their sums.
    """

    item: str
    together: int
    left: int
    right: int
    frequency: int
    log_likelihood: float
    chi_squared: float
    pmi: float
    mi3: float
    t_score: float
    z_score: float
    log_dice: float
    delta_p: float
    delta_p_backward: float
    log_ratio: float
    positions: tuple[int, ...]


class Keyword(NamedTuple):
    """Keyword: item that is more frequent in the target than in the reference texts, or less (negative measures).

    The p-value of the log-likelihood is corrected for the number of items tested.
    """

    item: str
    frequency: int
    reference_frequency: int
    per_million: float
    reference_per_million: float
    range: int
    reference_range: int
    log_likelihood: float
    p_value: float
    log_ratio: float
    simple_maths: float
    percent_difference: float
    text_dispersion: float


class Diversity(NamedTuple):
    """Lexical diversity of a part of a text; see :mod:`polyadic.metrics.diversity`."""

    part: str
    tokens: int
    types: int
    ttr: float
    root_ttr: float
    mattr: float
    mtld: float
    hdd: float
    yule_k: float
    hapax_share: float


class Trend(NamedTuple):
    """Frequency of a query in the documents with one value of a metadata field."""

    query: str
    value: str
    frequency: int
    words: int
    per_million: float
    documents: int


class Occurrences(NamedTuple):
    """Positions of the matches of a query in a part of the text; the first word has the position 0."""

    query: str
    part: str
    frequency: int
    words: int
    per_million: float
    positions: tuple[int, ...]

    def binned(self, number: int) -> tuple[int, ...]:
        """Return the number of matches in each of ``number`` equal parts of the text."""
        cells = np.array(self.positions, np.int64) * number // self.words
        return tuple(np.bincount(cells, minlength=number).tolist())


class Column(NamedTuple):
    """Values of an attribute: the number of the value of each code, such as a form, and the code at each position."""

    names: Sequence[str]
    codes: NDArray[np.unsignedinteger]
    number: NDArray[np.int32]

    @classmethod
    def of(cls, corpus: TextStore, attribute: str) -> Column:
        """Return the column of an attribute of CQL, such as lc (counted words), word (as written) or lemma."""
        text, spelling = corpus.text, corpus.lines.spelling
        text.verify()
        if attribute == "word":
            return cls(text.form_names, text.forms, np.arange(len(text.form_names), dtype=np.int32))
        if attribute == "lc":
            return cls(text.words, text.forms, text.word_of)
        if attribute in spelling.by_word:
            values = spelling.by_word[attribute]()
            index = {value: number for number, value in enumerate(dict.fromkeys(values))}
            numbers = np.array([*(index[value] for value in values), -1], np.int32)
            return cls([*index], text.forms, numbers[text.word_of])
        spelling.test(attribute, lambda values: np.zeros(len(values), bool))  # raises InputError if it is unknown
        codes, names = text.layer(attribute)
        return cls(names, codes, np.arange(len(names), dtype=np.int32))

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of the value at each position, or -1 if it has none."""
        return np.asarray(self.number[self.codes[positions]])

    def everywhere(self) -> NDArray[np.int32]:
        """Return the number of the value at every position."""
        values = np.empty(len(self.codes), np.int32)
        for start in range(0, len(values), CHUNK):
            values[start : start + CHUNK] = self.number[self.codes[start : start + CHUNK]]
        return values


class Usage:
    """Methods of a corpus that count how words are used in its running text."""

    def word_list(
        self: Any,
        *,
        query: str | None = None,
        words: Sequence[str] | None = None,
        attribute: str = "lc",
        where: Where = None,
        parts: Annotated[int, Within(2)] | None = None,
        min_count: Count = 1,
        sort: Sort = "frequency",
        top: Count | None = None,
    ) -> list[ItemFrequency]:
        """Return the words of the running text with their frequency and dispersion.

        Parameters
        ----------
        query : str, optional
            Query for the words to list, such as ``"*ing"`` or ``'[pos="NOUN"]'``.
        words : sequence of str, optional
            List of words, phrases or queries to count instead; entries that do not occur are logged.
        attribute : str
            Values to count: lc (normalized words), word (as written), lemma, or another attribute, such as pos.
        where : dict of str to str, optional
            Values of metadata fields of the documents to search.
        parts : int, optional
            Number of equal parts of the text over which dispersion is computed (default: over documents).
        min_count : int
            Minimum frequency.
        sort : {"frequency", "range", "dp", "alphabetical", "reversed"}
            Sort order: frequency, range (number of documents), dispersion DP, alphabetical, or by word endings
            (reversed).
        top : int, optional
            Maximum number of words.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["A rose is a rose.", "Is it?"], min_count=1)
        >>> [(each.item, each.frequency, each.range) for each in corpus.word_list(top=2)]
        [('a', 2, 1), ('is', 2, 2)]
        """
        if parts is not None and where:
            raise InputError("parts of the whole text cannot be combined with where; omit one of the two", "parts")
        documents, edges = _searched(self, where), _edges(self, parts)
        counted = documents if parts is None else np.ones(parts, bool)
        if words is not None:
            if query is not None:
                raise InputError("words cannot be combined with query; omit one of the two", "words", "query")
            return _frequencies(*_of_list(self, words, edges, documents), edges, counted, min_count, 1, sort, top)
        column = Column.of(self, attribute)
        items = _only(column.everywhere(), self.text.edges, documents)
        if query is not None:
            starts, ends = self.lines.matches(query)
            if np.any(ends - starts > 1):
                raise InputError(
                    f"a word list contains single words, but the query {query!r} matches several; use n-grams"
                )
            items = _at_only(items, starts)
        names = column.names
        table = _counter(items, edges, len(names))
        return _frequencies(table, lambda k: names[k], edges, counted, min_count, 1, sort, top)

    def ngrams(
        self: Any,
        n: Order = 2,
        *,
        query: str | None = None,
        attribute: str = "lc",
        where: Where = None,
        min_count: Count = 2,
        min_range: Count = 1,
        sort: Sort = "frequency",
        top: Count | None = None,
    ) -> list[ItemFrequency]:
        """Return the sequences of n words within sentences (clusters, lexical bundles), counted exactly.

        Parameters
        ----------
        n : int
            Number of words of an n-gram, from 1 to 20; an n-gram does not cross the end of a sentence.
        query : str, optional
            Word, phrase or query that the listed n-grams must contain.
        attribute, where, sort, top
            See :meth:`word_list`.
        min_count : int
            Minimum frequency.
        min_range : int
            Minimum number of documents that contain the n-gram.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["A rose is a rose.", "Is a rose red?"], min_count=1)
        >>> [(each.item, each.frequency, each.range) for each in corpus.ngrams(2)]
        [('a rose', 3, 2), ('is a', 2, 2)]
        """
        check_setting("n", n, Order)
        check_setting("min_range", min_range, Count)
        documents, edges = _searched(self, where), np.asarray(self.text.edges)
        column = Column.of(self, attribute)
        values = _only(column.everywhere(), edges, documents)
        begins = None
        if query is not None:
            starts, ends = self.lines.matches(query)
            begins = np.unique((ends[:, None] - n + np.arange(n))[np.arange(n) <= (starts - ends + n)[:, None]])
        items, rows = _numbered_ngrams(values, np.asarray(self.text.sentences), n, min_count, begins)
        table = _counter(items, edges, len(rows))
        name = _joined(rows, column.names)
        return _frequencies(table, name, edges, documents, min_count, min_range, sort, top)

    def collocates(
        self: Any,
        query: str,
        *,
        left: Span = 5,
        right: Span = 5,
        across: bool = False,
        attribute: str = "lc",
        where: Where = None,
        min_count: Count = 2,
        sort: Collocation = "log_likelihood",
        top: Count | None = None,
    ) -> list[Collocate]:
        """Return the words near the matches of a query, with association measures.

        Each token near a match counts once, even if it is near several. The other row of the contingency table is the
        rest of the text; for logDice, R is the number of matches: see :mod:`polyadic.metrics.association`.

        Parameters
        ----------
        query : str
            Word, phrase or query in CQL.
        left : int
            Number of words to the left of a match.
        right : int
            Number of words to the right of a match.
        across : bool
            Count collocates across sentence ends, within the document.
        attribute, where, top
            See :meth:`word_list`.
        min_count : int
            Minimum number of occurrences near the matches.
        sort : str
            Association measure to sort by, or the number of occurrences near the matches (together) or in the text
            (frequency).

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["The old bank. An old river bank! The river."], min_count=1)
        >>> [(each.item, each.together, each.positions) for each in corpus.collocates("bank", left=2, right=1)]
        [('old', 2, (1, 1, 0))]
        """
        check_setting("sort", sort, Collocation)
        check_setting("left", left, Span)
        check_setting("right", right, Span)
        check_setting("min_count", min_count, Count)
        if not left + right:
            raise InputError("left and right must not both be 0", "left", "right")
        text, column = self.text, Column.of(self, attribute)
        V = len(column.names)
        starts, ends = self.lines.matches(query, where=where)
        bounds = np.asarray(text.edges if across else text.sentences)
        positions, together = kernels.words_near(starts, ends, bounds, column.codes, column.number, left, right, V)
        documents = _searched(self, where)
        N = int(np.diff(text.edges)[documents].sum())
        kept = np.flatnonzero(together[:-1] >= min_count)
        K, C, R = together[kept], _totals(column, self, documents)[kept], together[-1]
        found = {
            name: MEASURES[name].function(K, len(starts) if name == "log_dice" else R, C, N) for name in COLLOCATIONS
        }
        order = _best({"together": K, "frequency": C, **found}[sort], K, top, lambda k: column.names[kept[k]])
        places = positions[kept[order]]
        counts = np.stack([K[order], places[:, :left].sum(axis=1), places[:, left:].sum(axis=1), C[order]], axis=1)
        values = np.stack([found[name][order] for name in COLLOCATIONS], axis=1)
        items = [column.names[k] for k in kept[order].tolist()]
        rows = zip(items, counts.tolist(), values.tolist(), places.tolist(), strict=True)
        return [Collocate._make([item, *some, *measures, tuple(at)]) for item, some, measures, at in rows]

    def keywords(
        self: Any,
        against: TextStore | Mapping[str, str] | None = None,
        *,
        n: Order = 1,
        attribute: str = "lc",
        where: Where = None,
        min_count: Count = 5,
        keys: Sign = "positive",
        sort: Keyness = "log_likelihood",
        correction: Literal["holm", "benjamini-hochberg"] = "holm",
        max_p: Share | None = None,
        smoothing: Positive = 1.0,
        top: Count | None = None,
    ) -> list[Keyword]:
        """Return the words that are more frequent in target texts than in reference texts, or less.

        Parameters
        ----------
        against : corpus, or dict of str to str, optional
            Reference: another corpus, or the documents with these fields. By default, all documents that do not have
            the fields ``where``.
        n : int
            Number of words per item; 2 compares bigrams.
        attribute : str
            See :meth:`word_list`.
        where : dict of str to str, optional
            Fields of the target documents; all documents by default, if the reference is another corpus.
        min_count : int
            Minimum frequency in the text (for negative keywords, in the reference).
        keys : {"positive", "negative", "both"}
            Items to list: more frequent than in the reference (positive), less frequent (negative), or both.
        sort : {"log_likelihood", "log_ratio", "simple_maths", "percent_difference", "text_dispersion"}
            Measure to sort by; text_dispersion is the log-likelihood ratio of the numbers of documents.
        correction : {"holm", "benjamini-hochberg"}
            Correction of the p-values for multiple tests. Items with ``min_count`` occurrences in the text or the
            reference are tested; see :func:`~polyadic.metrics.association.adjusted_p_values`.
        max_p : float, optional
            Maximum corrected p-value.
        smoothing : float
            Constant that simple maths adds to both frequencies per million.
        top : int, optional
            Maximum number of keywords, of either sign.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["A rose is a rose."], min_count=1)
        >>> reference = Corpus.build(["A tulip is a tulip, a rose is a rose."], min_count=1)
        >>> [(each.item, each.frequency, each.reference_frequency) for each in corpus.keywords(reference, min_count=2)]
        [('rose', 2, 2)]
        """
        check_setting("keys", keys, Sign)
        check_setting("sort", sort, Keyness)
        check_setting("min_count", min_count, Count)
        check_setting("n", n, Order)
        target, reference, corpora = _compared(self, against, where)
        table, name, sizes = _joint_table(corpora, attribute, n, min_count, target | reference)
        of = np.stack([target, reference], axis=1)
        counts, ranges = table @ of.astype(np.int64), (table > 0).astype(np.int64) @ of.astype(np.int64)
        words = sizes @ of
        if not words.all():
            raise InputError("both texts of a comparison must contain at least one word")
        kept = np.flatnonzero(counts.max(axis=1) >= min_count)
        table, counts, ranges = table[kept], counts[kept], ranges[kept]
        K, R, C, N = counts[:, 0], words[0], counts.sum(axis=1), words.sum()
        found = {name: MEASURES[name].function(K, R, C, N) for name in KEYNESS if name in MEASURES}
        found["simple_maths"] = simple_maths(K, R, C, N, smoothing=smoothing)
        found["text_dispersion"] = text_dispersion_keyness(table[:, target | reference], target[target | reference])
        p = adjusted_p_values(p_value(found["log_likelihood"]), correction)
        million, score = 1e6 * counts / words, found[sort] - (sort == "simple_maths")

        def best(mine: int) -> list[int]:
            better = -score if mine else score
            some = np.flatnonzero(
                (better > 0) & (counts[:, mine] >= min_count) & (p <= (1 if max_p is None else max_p))
            )
            order = _best(better[some], counts[some, mine], top, lambda k: name(int(kept[some[k]])))
            return [int(some[k]) for k in order]

        order = [k for mine, sign in enumerate(("positive", "negative")) if keys in (sign, "both") for k in best(mine)]
        values = np.stack([found[KEYNESS[0]], p, *(found[each] for each in KEYNESS[1:])], axis=1).tolist()
        return [
            Keyword(name(int(kept[k])), *counts[k].tolist(), *million[k].tolist(), *ranges[k].tolist(), *values[k])
            for k in order
        ]

    def diversity(
        self: Any,
        by: str | None = None,
        *,
        attribute: str = "lc",
        where: Where = None,
        window: Count = 100,
        threshold: Share = 0.72,
        sample: Count = 42,
    ) -> list[Diversity]:
        """Return the lexical diversity of the text, of each document, or of the documents with each value of a field.

        Parameters
        ----------
        by : str, optional
            ``"document"``, or a metadata field; by default, the text is one part.
        attribute, where
            See :meth:`word_list`.
        window : int
            Window size of MATTR, in words.
        threshold : float
            Type-token ratio below which MTLD ends a segment (factor).
        sample : int
            Sample size of HD-D, in words.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> corpus = Corpus.build(["A rose is a rose.", "Is it?"], min_count=1)
        >>> [(each.part, each.tokens, each.types) for each in corpus.diversity("document")]
        [('1', 5, 3), ('2', 2, 2)]
        """
        column, edges = Column.of(self, attribute), self.text.edges
        result = []
        for part, chosen in groups(self, by, where):
            spans = [column.number[column.codes[edges[k] : edges[k + 1]]] for k in chosen.tolist()]
            values = np.concatenate(spans)
            if len(values := values[values >= 0]):
                found = lexical_diversity(values, window=window, threshold=threshold, sample=sample)
                result.append(Diversity(part, **found))  # type: ignore[arg-type] # the numbers of tokens and types are int
        return result

    def trends(self: Any, queries: str | Sequence[str], by: str, *, where: Where = None) -> list[Trend]:
        """Return the frequency of queries in the documents with each value of a field, in the order of the values.

        Numbers are sorted by size and dates by time. Documents without the field are left out.

        Parameters
        ----------
        queries : str or sequence of str
            Words, phrases or queries in CQL.
        by : str
            Metadata field whose values are compared, or ``"document"``.
        where : dict of str to str, optional
            See :meth:`word_list`.
        """
        return [
            Trend(each.query, each.part, each.frequency, each.words, each.per_million, documents)
            for each, documents in _occurrences(self, queries, by, where, empty=True)
        ]

    def occurrences(
        self: Any, queries: str | Sequence[str], by: str = "document", *, where: Where = None
    ) -> list[Occurrences]:
        """Return the positions of the matches of queries, by document or value of a field, for a dispersion plot.

        Parts without a match are left out. The plot is :func:`polyadic.plots.barcode`.

        Parameters
        ----------
        queries, where
            See :meth:`trends`.
        by : str
            Unit of a row: document, or a metadata field (one row per value).
        """
        return [each for each, _ in _occurrences(self, queries, by, where, empty=False)]


def _occurrences(
    corpus: TextStore, queries: str | Sequence[str], by: str, where: Where, *, empty: bool
) -> Iterator[tuple[Occurrences, int]]:
    """Yield the matches of each query in each part of a text, and the number of documents of the part."""
    edges = np.asarray(corpus.text.edges)
    parts = list(groups(corpus, by, where))
    for query in [queries] if isinstance(queries, str) else queries:
        starts = corpus.lines.matches(query, where=where).starts
        bounds = np.searchsorted(starts, edges)
        for part, chosen in parts:
            sizes = np.diff(edges)[chosen]
            before = np.cumsum(sizes) - sizes - edges[chosen]  # what to add to a position
            at = [starts[bounds[k] : bounds[k + 1]] + more for k, more in zip(chosen.tolist(), before, strict=True)]
            places = np.concatenate(at).tolist()
            words = int(sizes.sum())
            if places or empty:
                share = 1e6 * len(places) / words if words else float("nan")
                yield Occurrences(query, part, len(places), words, share, tuple(places)), len(chosen)


def fullest(found: Sequence[Occurrences], top: int | None) -> list[Occurrences]:
    """Return the ``top`` occurrences with the most matches, in their original order."""
    best = sorted(range(len(found)), key=lambda k: -found[k].frequency)[:top]
    return [found[k] for k in sorted(best)]


def groups(corpus: TextStore, by: str | None, where: Where = None) -> Iterator[tuple[str, Integers]]:
    """Yield the name and the numbers of the documents of each part: all, each document, or by value of a field."""
    documents = np.flatnonzero(_searched(corpus, where))
    if by is None:
        yield from [("all", documents)] if len(documents) else []
    elif by == "document" and "document" not in corpus.lines.fields:
        names = corpus.names
        yield from ((names[k], documents[j : j + 1]) for j, k in enumerate(documents.tolist()))
    else:
        corpus.lines.documents_where({by: ""})  # raises InputError if the field is unknown
        fields = corpus.fields or ()
        members: dict[str, list[int]] = {}
        for k in documents.tolist():
            if by in fields[k]:
                members.setdefault(fields[k][by], []).append(k)
        yield from ((value, np.array(members[value])) for value in in_order([*members]))


def in_order(values: Sequence[str]) -> list[str]:
    """Sort the values of a field: numbers by size, dates by time, and other strings in natural order.

    >>> in_order(["10", "9", "1e1"]), in_order(["3.10.2020", "12.1.2019"]), in_order(["act 10", "act 9"])
    (['9', '10', '1e1'], ['12.1.2019', '3.10.2020'], ['act 9', 'act 10'])
    """
    for key in (_number, _time):
        with contextlib.suppress(ValueError):
            return sorted(values, key=key)
    return sorted(values, key=lambda text: [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
                                            for part in re.split(r"(\d+)", text) if part])  # fmt: skip


def _number(text: str) -> tuple[bool, float]:
    """Return the sort key of a number; NaN comes last."""
    number = float(text)
    return math.isnan(number), number


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%d.%m.%Y").replace(tzinfo=UTC)


def _time(text: str) -> float:
    """Return the time of a date in ISO 8601, as day.month.year, or as in mail; raise ValueError for another text."""
    for read in (datetime.fromisoformat, _day, parsedate_to_datetime):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            when = read(text)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    raise ValueError(text)


def _searched(corpus: TextStore, where: Where) -> NDArray[np.bool_]:
    """Return a mask of the documents to search."""
    return corpus.lines.documents_where(where) if where else np.ones(corpus.n_documents, bool)


def _edges(corpus: TextStore, parts: int | None) -> NDArray[np.int64]:
    """Return the bounds of the documents, or of equal parts of the text."""
    if parts is None:
        return np.asarray(corpus.text.edges)
    return np.linspace(0, len(corpus.text), check_int("parts", parts, low=2) + 1).astype(np.int64)


def _only(items: NDArray[np.int32], edges: Integers, documents: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Replace the items of documents that are not searched by -1, in place."""
    for k in np.flatnonzero(~documents).tolist():
        items[edges[k] : edges[k + 1]] = -1
    return items


def _at_only(items: NDArray[np.int32], positions: Integers) -> NDArray[np.int32]:
    """Return the items at the given positions, and -1 elsewhere."""
    result = np.full_like(items, -1)
    result[positions] = items[positions]
    return result


def _totals(column: Column, corpus: TextStore, documents: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the frequency of each value in the chosen documents."""
    text, size = corpus.text, len(column.names) + 1
    if documents.all() and column.codes is text.forms:
        return np.bincount(column.number + 1, text.form_counts, minlength=size)[1:].astype(np.int64)
    return np.bincount(_only(column.everywhere(), text.edges, documents) + 1, minlength=size)[1:]


def _best(
    score: NDArray[Any], tie: NDArray[Any], top: int | None, name: Callable[[int], str] = lambda _: ""
) -> list[int]:
    """Return the indices of the largest scores; of equal ones, larger counts come first, then names; NaN is last."""
    score = np.where(np.isnan(score), -np.inf, score)
    kept = np.arange(len(score))
    if top is not None and check_int("top", top, low=1) < len(score):
        kept = np.flatnonzero(score >= np.partition(score, -top)[-top])
    return sorted(kept.tolist(), key=lambda k: (-score[k], -tie[k], name(k)))[:top]


class _Table(NamedTuple):
    """Frequencies of all items, and a function from items to their table of items and parts of the text."""

    totals: NDArray[np.int64]
    of: Callable[[NDArray[np.int64]], csr_array]


def _counter(items: NDArray[np.int32], edges: Integers, size: int) -> _Table:
    """Return the table of the items at each position."""
    totals = np.zeros(size, np.int64)
    for start in range(0, len(items), CHUNK):
        totals += np.bincount(items[start : start + CHUNK] + 1, minlength=size + 1)[1:]

    def of(kept: NDArray[np.int64]) -> csr_array:
        number = np.full(size + 1, -1, np.int32)
        number[kept] = np.arange(len(kept))
        return by_part(items, edges, len(kept), number)

    return _Table(totals, of)


def by_part(items: Integers, edges: Integers, size: int, number: NDArray[np.int32] | None = None) -> csr_array:
    """Count the items at each position, renumbered by ``number``, in each part of a text; shape (size, parts)."""
    blocks, first, n = [], 0, len(edges) - 1
    while first < n:
        last = max(int(np.searchsorted(edges, edges[first] + CHUNK, side="right")) - 1, first + 1)
        some = items[edges[first] : edges[last]]
        some = some if number is None else number[some]
        kept = some >= 0
        bounds = np.concatenate([[0], np.cumsum(kept)])[edges[first : last + 1] - edges[first]].astype(np.int32)
        ones = np.ones(bounds[-1], np.int32)
        block = csr_array((ones, some[kept].astype(np.int32), bounds), shape=(last - first, size)).T.tocsr()
        block.sum_duplicates()
        blocks.append(block)
        first = last
    return blocks[0] if len(blocks) == 1 else csr_array(hstack(blocks, format="csr"))


def _frequencies(
    table: _Table,
    name: Callable[[int], str],
    edges: Integers,
    chosen: NDArray[np.bool_],
    min_count: int,
    min_range: int,
    sort: str,
    top: int | None,
) -> list[ItemFrequency]:
    """Return the items of a table in the requested order, with their dispersion over the chosen documents or parts."""
    check_setting("sort", sort, Sort)
    check_setting("min_count", min_count, Count)
    kept = np.flatnonzero(table.totals >= min_count)
    early = min_range == 1 and sort not in ("range", "dp")  # the order is known before the dispersion
    if early:
        kept = kept[_sorted(table.totals[kept], lambda k: name(int(kept[k])), sort, top)]
    names = [name(k) for k in kept.tolist()]
    counts, sizes = table.of(kept)[:, np.flatnonzero(chosen)], np.diff(edges)[chosen]
    total = max(int(sizes.sum()), 1)
    rows: list[tuple[int, float, float]] = []
    step = max(CHUNK // max(len(sizes), 1), 1000)
    for start in range(0, len(kept), step):
        spread = dispersion(counts[start : start + step], sizes)
        alone = len(sizes) < 2
        dp, D = (np.full(len(spread["dp"]), np.nan) if alone else spread[key] for key in ("dp", "juilland_d"))
        rows += zip(spread["range"].tolist(), dp.tolist(), D.tolist(), strict=True)
    found = [
        ItemFrequency(item, n, 1e6 * n / total, *row)
        for item, n, row in zip(names, table.totals[kept].tolist(), rows, strict=True)
        if row[0] >= min_range
    ]
    if not early:
        score = np.array(
            [-each.dp if sort == "dp" else getattr(each, "range" if sort == "range" else "frequency") for each in found]
        )
        found = [found[k] for k in _sorted(score, lambda k: found[k].item, sort, top)]
    return found


def _sorted(score: NDArray[Any], name: Callable[[int], str], sort: str, top: int | None) -> list[int]:
    """Return the order by descending score, or alphabetical from the start or the end of words."""
    if sort not in ("alphabetical", "reversed"):
        return _best(score, score, top, name)
    way = -1 if sort == "reversed" else 1
    names = [name(k)[::way] for k in range(len(score))]
    return sorted(range(len(names)), key=lambda k: (names[k].casefold(), names[k]))[:top]


def literal(word: str) -> str:
    """Return a query that matches exactly this normalized word."""
    return word if not re.search(SPECIAL, word) else '[lc=="{}"]'.format(word.replace('"', r"\""))


def _of_list(
    corpus: TextStore, entries: Sequence[str], edges: Integers, documents: NDArray[np.bool_]
) -> tuple[_Table, Callable[[int], str]]:
    """Return the table of a list of queries; single words are looked up together."""
    text, split = corpus.text, corpus.lines.spelling.split
    of_word = np.full(len(text.words) + 1, -1, np.int32)
    starts, items, names = [], [], dict[str, str]()
    for entry in filter(str.strip, entries):
        words = [("", entry)] if entry in text.index else [] if re.search(SPECIAL, entry) else split(entry)
        key = " ".join(word for _, word in words) or entry
        if key in names:
            continue
        number, names[key] = len(names), entry
        if len(words) == 1 and key in text.index:
            of_word[text.index[key]] = number
        else:
            starts.append(corpus.lines.matches(entry).starts)
            items.append(np.full(len(starts[-1]), number))
    chosen = of_word[text.word_of]
    starts.append(kernels.positions_where(text.forms, chosen >= 0))
    items.append(chosen[text.forms[starts[-1]]])
    at, item = np.concatenate(starts), np.concatenate(items)
    kept = documents[text.document_of(at)]
    part = np.searchsorted(edges, at[kept], side="right") - 1
    table = csr_array((np.ones(len(part), np.int32), (item[kept], part)), shape=(len(names), len(edges) - 1))
    shown, totals = [*names.values()], np.asarray(table.sum(axis=1)).astype(np.int64)
    if absent := [shown[k] for k in np.flatnonzero(totals == 0).tolist()]:
        log.info("%d of %d entries of the list do not occur: %s", len(absent), len(shown), named(absent, 10))
    return _Table(totals, lambda kept: csr_array(table[kept])), shown.__getitem__


def _joined(rows: Integers, names: Sequence[str]) -> Callable[[int], str]:
    """Return a function from the number of an n-gram to its words."""
    return lambda k: " ".join([names[number] for number in rows[k].tolist()])


def _numbered_ngrams(
    values: NDArray[np.int32], sentences: Integers, n: int, min_count: int, begins: Integers | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of the n-gram at each position, or -1 if it is rarer or crosses the end of a sentence.

    The second result is the numbers of the words of each n-gram, shape (number of n-grams, n). N-grams start at
    ``begins``, by default anywhere.
    """
    V = int(values.max(initial=0)) + 1
    items = values if begins is None else _at_only(values, begins[(begins >= 0) & (begins < len(values))])
    rows = np.arange(V, dtype=np.int32)[:, None]
    inside = np.ones(len(values) + 1, bool)  # whether a word continues the sentence
    inside[sentences] = False
    while (k := rows.shape[1]) < n:
        m = 1
        while m < n - k and len(rows) * V ** (m + 1) < 1 << 63:
            m += 1
        items, rows = _longer(items, rows, values, inside, V, m, min_count)
    return items, rows


def _longer(
    items: NDArray[np.int32],
    rows: NDArray[np.int32],
    values: NDArray[np.int32],
    inside: NDArray[np.bool_],
    V: int,
    m: int,
    min_count: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Add m words to the n-gram at each position."""
    k, N = rows.shape[1], len(values)
    result, found, size = np.full(N, -1, np.int32), [], 0
    bits, last = (N // PART).bit_length(), max(N - k - m + 1, 0)  # the last position plus one
    for part in range(1 << bits):
        keys, places = [], []
        for start in range(0, last, CHUNK):
            here = slice(start, min(start + CHUNK, last))
            key, valid = items[here].astype(np.int64), items[here] >= 0
            for j in range(1, k + m):
                there = slice(here.start + j, here.stop + j)
                valid &= inside[there]
                if j >= k:
                    valid &= values[there] >= 0
                    key = key * V + values[there]
            if bits:
                valid &= (key.view(np.uint64) * MIXER) >> np.uint64(64 - bits) == part
            at = np.flatnonzero(valid)
            keys.append(key[at])
            places.append(start + at)
        key = np.concatenate([np.zeros(0, np.int64), *keys])
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        counts = np.diff(np.append(first, len(key)))
        often = counts >= min_count
        number = np.where(often, size + np.cumsum(often) - 1, -1).astype(np.int32)
        result[np.concatenate([np.zeros(0, np.int64), *places])[order]] = np.repeat(number, counts)
        found.append(key[first[often]])
        size += len(found[-1])
    left, words = np.concatenate(found), []
    for _ in range(m):
        left, word = np.divmod(left, V)
        words.append(word.astype(np.int32))
    return result, np.concatenate([rows[left], np.stack(words[::-1], axis=1)], axis=1)


def _compared(
    corpus: TextStore, against: TextStore | Mapping[str, str] | None, where: Where
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[TextStore]]:
    """Return which documents of one or two corpora, one after the other, are target and reference."""
    target = _searched(corpus, where)
    if where and not target.any():
        raise InputError(f"no document has {_named(where)}")
    if against is None or isinstance(against, Mapping):
        if not where:
            raise InputError("a comparison within one text needs where, the fields of the target documents", "where")
        reference = ~target if against is None else _searched(corpus, against)
        if not reference.any():
            what = f"no document has {_named(against)}" if against else f"all documents have {_named(where)}"
            raise InputError(f"{what}; there is nothing to compare with")
        if np.any(target & reference):
            raise InputError("target and reference must be different documents; some documents are in both")
        return target, reference, [corpus]
    others = np.ones(against.n_documents, bool)
    return np.append(target, ~others), np.append(np.zeros(len(target), bool), others), [corpus, against]


def _named(fields: Mapping[str, str]) -> str:
    return " and ".join(f"{name}={value}" for name, value in fields.items())


def _joint_table(
    corpora: Sequence[TextStore], attribute: str, n: int, min_count: int, documents: NDArray[np.bool_]
) -> tuple[csr_array, Callable[[int], str], NDArray[np.int64]]:
    """Return the table of the words or n-grams of one or two corpora, their names, and the sizes of the documents."""
    index: dict[str, int] = {}
    values, edges, sentences, N = [], [np.zeros(1, np.int64)], [], 0
    for corpus in corpora:
        column = Column.of(corpus, attribute)
        number = np.array([*(index.setdefault(name, len(index)) for name in column.names), -1], np.int32)
        values.append(column._replace(number=number[column.number]).everywhere())
        edges.append(N + np.asarray(corpus.text.edges)[1:])
        sentences.append(N + np.asarray(corpus.text.sentences))
        N += len(corpus.text)
    bounds, names = np.concatenate(edges), [*index]
    items = _only(np.concatenate(values), bounds, documents)
    rows = np.arange(len(names), dtype=np.int32)[:, None]
    if n > 1:
        items, rows = _numbered_ngrams(items, np.concatenate(sentences), n, min_count)
    return by_part(items, bounds, len(rows)), _joined(rows, names), np.diff(bounds)

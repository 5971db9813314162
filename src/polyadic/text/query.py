r"""Queries on the running text: words, phrases and wildcards, or a subset of the corpus query language CQL.

A plain query is a phrase. Its words are split and spelled as the corpus was, ``*`` stands for any letters and ``?`` for
one. A query in CQL is a regular expression over words: ``[]`` is any word, ``[lemma="go" & pos!="NOUN"]`` one with
these values, ``"bank"`` one with this form, and ``( | ) * + ? {m,n}`` combine them. Values are regular expressions that
match the whole value; the flags ``%c`` and ``%d`` ignore case and diacritics, ``%l`` takes the value literally.

A query is compiled into its position automaton (Glushkov 1961): each test of a word is a state, with the states that
may follow it. The rarest test that every match contains is looked up first; the automaton runs from the possible starts
around these words only. Of matches within each other the longest is kept, and a match lies in one sentence, or, with
``within d``, in one document.
"""

from __future__ import annotations

import contextlib
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from polyadic.core.errors import InputError, meant
from polyadic.text import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.running import RunningText

    Bools = NDArray[np.bool_]
    Positions = NDArray[np.int64]

T = TypeVar("T")
MAX_TESTS = 64  # states of an automaton
RUN = 1 << 16  # number of starts that an automaton processes at a time, so that its states fit into the cache
GROUP = 8  # number of states whose successors are looked up together
MAX_STARTS = 1 << 27  # possible starts of a match
STAR, MARK = "\ua840", "\ua841"
"""Letters that stand for the wildcards * and ? while a plain query is split into words."""


class Matches(NamedTuple):
    """Matches of a query in text order: the position of the first word of each, and the one after the last."""

    starts: Positions
    ends: Positions


@dataclass(frozen=True)
class Spelling:
    """Attributes of the words of a text, and the tokenization of plain queries.

    ``split`` returns the words of a plain query as written and as counted, and ``by_word`` gives the attributes of a
    counted word besides its form, such as lemmas.
    """

    text: RunningText
    split: Callable[[str], list[tuple[str, str]]]
    by_word: dict[str, Callable[[], Sequence[str]]]

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return ["word", "lc", *self.by_word, *(name for name in self.text.layers if name not in self.by_word)]

    def test(self, attribute: str, chosen: Callable[[Sequence[str]], Bools]) -> Test:
        """Return the test for words whose value of an attribute is selected."""
        text = self.text
        if attribute == "word":
            return Test(text, "", chosen(text.form_names))
        if attribute == "lc" or attribute in self.by_word:
            values = text.words if attribute == "lc" else self.by_word[attribute]()
            return Test(text, "", np.append(chosen(values), False)[text.word_of])
        if attribute not in text.layers:
            near = meant(attribute, self.attributes)
            known = ", ".join(self.attributes)
            raise InputError(f"the words of the corpus have no attribute {attribute!r}; they have {known}{near}")
        return Test(text, attribute, chosen(text.layer(attribute)[1]))


@dataclass(frozen=True, eq=False)
class Test:
    """Condition on words: its truth for each form (if ``layer`` is empty) or for each value of a layer."""

    text: RunningText
    layer: str
    truth: Bools

    def __call__(self, positions: Positions) -> Bools:
        """Return whether the test is true at each position."""
        return np.asarray(self.truth[self.values()[positions]])

    def values(self) -> NDArray[Any]:
        """Return the code of the value at each position of the text."""
        return self.text.layer(self.layer)[0] if self.layer else self.text.forms

    def size(self) -> int:
        """Return the number of words for which the test is true; for layers an estimate."""
        if self.layer:
            return int(len(self.text) * self.truth.mean())
        return int(self.text.form_counts[self.truth].sum())

    def positions(self) -> Positions:
        """Return the positions of all words for which the test is true."""
        return kernels.positions_where(self.values(), self.truth)


@dataclass(frozen=True, eq=False)
class Joined:
    """Conjunction or disjunction of tests, which may be negated."""

    tests: Sequence[Test | Joined]
    every: bool
    negated: bool = False

    def __call__(self, positions: Positions) -> Bools:
        """Return whether the condition is true at each position."""
        found = [test(positions) for test in self.tests]
        result = np.all(found, axis=0) if self.every else np.any(found, axis=0)
        return ~result if self.negated else result

    def size(self) -> int:
        """Return an upper bound of the number of words for which the condition is true."""
        sizes = [test.size() for test in self.tests]
        return (min if self.every else sum)(sizes) if not self.negated else 1 << 62

    def positions(self) -> Positions:
        """Return the positions of all words for which the condition is true."""
        if self.negated:
            first = next(_leaves(self))
            return (every := np.arange(len(first.text)))[self(every)]
        if not self.every:
            return np.unique(np.concatenate([test.positions() for test in self.tests]))
        found = min(self.tests, key=lambda test: test.size()).positions()
        return found[self(found)]


def _leaves(condition: Test | Joined) -> Iterator[Test]:
    return iter([condition]) if isinstance(condition, Test) else chain.from_iterable(map(_leaves, condition.tests))


def joined(tests: Sequence[Test | Joined], *, every: bool) -> Test | Joined:
    """Return the conjunction or disjunction of conditions, as one test where all are of one kind."""
    if len(tests) == 1:
        return tests[0]
    alike = [test for test in tests if isinstance(test, Test)]
    if len(alike) < len(tests) or len({test.layer for test in alike}) > 1:
        return Joined(tests, every)
    truths = [test.truth for test in alike]
    return replace(alike[0], truth=np.all(truths, axis=0) if every else np.any(truths, axis=0))


def negated(test: Test | Joined) -> Test | Joined:
    """Return the negation of a condition."""
    return replace(test, truth=~test.truth) if isinstance(test, Test) else replace(test, negated=not test.negated)


@dataclass(frozen=True)
class Node:
    """Expression over words: a test, a sequence, an alternation, or a repetition ``low`` to ``high`` times."""

    kind: str
    parts: tuple[Any, ...] = ()
    low: int = 1
    high: int | None = 1

    def sizes(self) -> tuple[int, float]:
        """Return the smallest and largest number of words of a match."""
        if self.kind == "test":
            return 1, 1
        inner = [part.sizes() for part in self.parts]
        if self.kind == "repeat":
            high = np.inf if self.high is None else self.high
            return inner[0][0] * self.low, inner[0][1] * high if inner[0][1] else 0
        fold = (sum, sum) if self.kind == "sequence" else (min, max)
        return fold[0](low for low, _ in inner), fold[1](high for _, high in inner)


class Automaton:
    """Position automaton of an expression: its tests, and the states that come first, come last and follow each."""

    def __init__(self, node: Node) -> None:
        self.tests: list[Any] = []
        self.follow: list[int] = []
        self.first, self.last, self.empty = self._add(node)
        if self.empty:
            raise InputError(
                "the query can match zero words, because all its parts are optional; add a part that is required"
            )

    def _add(self, node: Node) -> tuple[int, int, bool]:
        """Add the states of an expression; return its first and last states as bits, and whether it may be empty."""
        if node.kind == "test":
            if len(self.tests) == MAX_TESTS:
                raise InputError(f"the query is too long: it tests more than {MAX_TESTS} words, with repetitions")
            self.tests.append(node.parts[0])
            self.follow.append(0)
            return 1 << (len(self.tests) - 1), 1 << (len(self.tests) - 1), False
        if node.kind == "either":
            found = [self._add(part) for part in node.parts]
            first, last, empty = zip(*found, strict=True)
            return functools.reduce(or_, first), functools.reduce(or_, last), any(empty)
        if node.kind == "sequence":
            return self._chain([(part, False) for part in node.parts])
        copies = node.low if node.high is None else node.high
        result = self._chain([(node.parts[0], k >= node.low) for k in range(max(copies, 1))])
        if node.high is None:
            self._connect(result[1], self._last_copy if node.low > 1 else result[0])
        return (*result[:2], result[2] or node.low == 0)

    def _chain(self, parts: Sequence[tuple[Node, bool]]) -> tuple[int, int, bool]:
        """Add a sequence of expressions, each with a flag that it is optional."""
        first = last = 0
        empty = True
        for part, optional in parts:
            f, l, e = self._add(part)  # noqa: E741 # first, last, empty
            e = e or optional
            self._connect(last, f)
            self._last_copy = f
            first = first | f if empty else first
            last = last | l if e else l
            empty = empty and e
        return first, last, empty

    def _connect(self, last: int, first: int) -> None:
        for state in range(len(self.tests)):
            if last >> state & 1:
                self.follow[state] |= first

    def run(self, starts: Positions, limits: Positions) -> Positions:
        """Return the end of the longest match from each start, which lies before its limit, or -1 if there is none."""
        if len(starts) > RUN:
            bounds = range(0, len(starts), RUN)
            return np.concatenate([self.run(starts[k : k + RUN], limits[k : k + RUN]) for k in bounds])
        ends = np.full(len(starts), -1, np.int64)
        alive = np.arange(len(starts))
        wanted = np.full(len(starts), self.first, np.uint64)
        length = 0
        while len(alive):
            at = starts[alive] + length
            here = at < limits[alive]
            alive, wanted, at = alive[here], wanted[here], at[here]
            state = wanted & self._true(at, wanted)
            following = np.zeros(len(alive), np.uint64)
            for k, table in enumerate(self._after):
                following |= table[(state >> np.uint64(GROUP * k) & np.uint64((1 << GROUP) - 1)).astype(np.intp)]
            length += 1
            ends[alive[(state & np.uint64(self.last)) > 0]] = length
            going = following > 0
            alive, wanted = alive[going], following[going]
        return np.where(ends > 0, starts + ends, -1)

    def _true(self, at: Positions, wanted: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the tests that are true at each position, as bits; joined tests are evaluated only where wanted."""
        found = np.zeros(len(at), np.uint64)
        for values, table in self._tables.values():
            found |= table[values[at]]
        for number, test in self._joined:
            some = np.flatnonzero(wanted >> np.uint64(number) & np.uint64(1))
            found[some[test(at[some])]] |= np.uint64(1 << number)
        return found

    @functools.cached_property
    def _tables(self) -> dict[str, tuple[NDArray[Any], NDArray[np.uint64]]]:
        """Values of each layer at all positions, and for each value the tests that are true, as bits."""
        tables: dict[str, tuple[NDArray[Any], NDArray[np.uint64]]] = {}
        for number, test in enumerate(self.tests):
            if isinstance(test, Test):
                _, table = tables.setdefault(test.layer, (test.values(), np.zeros(len(test.truth), np.uint64)))
                table |= test.truth.astype(np.uint64) << np.uint64(number)
        return tables

    @property
    def _joined(self) -> Iterator[tuple[int, Joined]]:
        return ((number, test) for number, test in enumerate(self.tests) if isinstance(test, Joined))

    @functools.cached_property
    def _after(self) -> list[NDArray[np.uint64]]:
        """Tables of the states that may follow any subset of states, for each group of states."""
        tables = []
        for start in range(0, len(self.tests), GROUP):
            table = np.zeros(1, np.uint64)
            for states in self.follow[start : start + GROUP]:
                table = np.concatenate([table, table | np.uint64(states)])
            tables.append(table)
        return tables


@dataclass(frozen=True)
class Query:
    """Parsed query; ``crossing`` says whether a match may cross sentences."""

    node: Node
    crossing: bool = False

    def find(self, text: RunningText) -> Matches:
        """Return all matches in a text that are not inside another match."""
        text.verify()
        automaton = Automaton(self.node)
        edges = np.asarray(text.edges if self.crossing else text.sentences)
        if self.node.kind == "test":
            starts = automaton.tests[0].positions()
            return Matches(starts, starts + 1)
        if self.node.kind == "sequence" and all(part.kind == "test" for part in self.node.parts):
            return self._in_a_row(automaton.tests, edges)
        starts = self._starts(automaton, edges)
        of = np.searchsorted(edges, starts, side="right")
        ends = automaton.run(starts, edges[np.minimum(of, len(edges) - 1)])
        starts, ends = starts[ends >= 0], ends[ends >= 0]
        new = ends > np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends >= 0
        return Matches(starts[new], ends[new])

    def _in_a_row(self, tests: Sequence[Any], edges: Positions) -> Matches:
        """Return the matches of one test after another, from the rarest on."""
        rarest, *others = sorted(range(len(tests)), key=lambda k: tests[k].size())
        starts = tests[rarest].positions() - rarest
        starts = starts[(starts >= 0) & (starts + len(tests) <= edges[-1])]
        for k in others:
            starts = starts[tests[k](starts + k)]
        of = np.searchsorted(edges, starts, side="right")
        starts = starts[starts + len(tests) <= edges[of]]
        return Matches(starts, starts + len(tests))

    def _starts(self, automaton: Automaton, edges: Positions) -> Positions:
        """Return the sorted positions where a match may start, from the rarest word that every match has."""
        parts = self.node.parts if self.node.kind == "sequence" else (self.node,)
        rarest: tuple[int, Any, int, float] | None = None
        before: tuple[int, float] = (0, 0)
        for part in parts:
            inner = part
            while inner.kind == "repeat" and inner.low:
                inner = inner.parts[0]
            if inner.kind == "test" and (rarest is None or inner.parts[0].size() < rarest[0]):
                rarest = (inner.parts[0].size(), inner.parts[0], *before)
            low, high = part.sizes()
            before = (before[0] + low, before[1] + high)
        first = joined([test for k, test in enumerate(automaton.tests) if automaton.first >> k & 1], every=False)
        if rarest is None or first.size() <= rarest[0] * (rarest[3] - rarest[2] + 1):
            return np.asarray(first.positions())
        _, test, low, high = rarest
        found = test.positions()
        inside = found - edges[np.searchsorted(edges, found, side="right") - 1]  # words before it
        most = np.minimum(inside, min(high, 1 << 40)).astype(np.int64)
        found, most = found[most >= low], most[most >= low]
        if (sizes := most - low + 1).sum() > MAX_STARTS:
            raise InputError("the query is too general: too many positions may start a match; add a rarer word")
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.unique(np.repeat(found - most, sizes) + offsets)


def parse(query: str, spelling: Spelling, *, case: bool = False, diacritics: bool = True) -> Query:
    """Parse a query; plain words respect case if ``case``, and ignore diacritics if not ``diacritics``."""
    if any("\ud800" <= sign <= "\udfff" for sign in query):
        raise InputError(f"the search text must be valid Unicode; got {query!r}")
    if re.search(r'[\[\]"]', query):
        return _Parser(query, spelling).query()
    return Query(_plain(query, spelling, case=case, diacritics=diacritics))


def _plain(query: str, spelling: Spelling, *, case: bool, diacritics: bool) -> Node:
    """Return the expression of a phrase with wildcards."""
    words = spelling.split(query.replace("*", STAR).replace("?", MARK))
    if not words:
        raise InputError("the query must contain at least one word" + f"; got {query!r}" * bool(query.strip()))
    marks = "" if diacritics else "d"
    nodes = []
    for form, word in words:
        literal = word.replace(STAR, "*").replace(MARK, "?")
        if literal != word and literal in spelling.text.words:  # a word of text that is already tokenized
            form = word = literal  # noqa: PLW2901
        tests = [spelling.test("lc", _wild(word, marks))] if word else []
        if case or not word:
            tests.append(spelling.test("word", _wild(form.replace("'", "’"), marks)))
        nodes.append(Node("test", (joined(tests, every=True),)))
    return nodes[0] if len(nodes) == 1 else Node("sequence", tuple(nodes))


def _wild(word: str, flags: str) -> Callable[[Sequence[str]], Bools]:
    """Return a function that selects the values that match a word with wildcards; ’ also matches '."""
    if not re.search(f"[{STAR}{MARK}’]", word):
        return _chooser(word, flags + "l")
    signs = {STAR: ".*", MARK: ".", "’": "['’]"}
    return _chooser("".join(signs.get(sign, re.escape(sign)) for sign in word), flags)


def _chooser(pattern: str, flags: str) -> Callable[[Sequence[str]], Bools]:
    """Return a function that returns the values that a pattern fully matches."""
    literal, case, marks = "l" in flags, "c" in flags, "d" in flags
    pattern = _bare(pattern) if marks else pattern
    if literal and not case and not marks:
        return lambda values: _only(values, pattern)
    try:
        match = re.compile(re.escape(pattern) if literal else pattern, re.IGNORECASE if case else 0).fullmatch
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from None

    def chosen(values: Sequence[str]) -> Bools:
        found = (match(_bare(value) if marks else value) is not None for value in values)
        return np.fromiter(found, bool, len(values))

    return chosen


def _only(values: Sequence[str], value: str) -> Bools:
    chosen, at = np.zeros(len(values), bool), -1
    with contextlib.suppress(ValueError):
        while True:
            at = values.index(value, at + 1)
            chosen[at] = True
    return chosen


def _bare(text: str) -> str:
    """Remove diacritics."""
    if text.isascii():
        return text
    letters = (sign for sign in unicodedata.normalize("NFD", text) if unicodedata.category(sign) != "Mn")
    return unicodedata.normalize("NFC", "".join(letters))


_TOKENS = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?P<flags>%[a-zA-Z]+)?|(?P<times>\{\s*\d*\s*(?:,\s*\d*\s*)?\})"""
    r"""|(?P<name>[^\W\d]\w*)|(?P<sign>!==|!=|==|=|[\[\]()&|!*+?])|(?P<within><\w+\s*/?>))"""
)
WITHIN = {"s": False, "sentence": False, "d": True, "doc": True, "document": True, "text": True}


class _Parser:
    """Parser of CQL by recursive descent."""

    def __init__(self, query: str, spelling: Spelling) -> None:
        self._query, self._spelling = query, spelling
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        while query[at:].strip():
            token = _TOKENS.match(query, at)
            if token is None:
                where = at + len(query[at:]) - len(query[at:].lstrip())
                raise self._error(where, f"{query[where:][:12]!r} is not understood")
            kind = str(token.lastgroup)
            kind, value = ("string", token["string"]) if kind == "flags" else (kind, token[kind])
            value += (token["flags"] or "") if kind == "string" else ""
            self._tokens.append((kind, value, token.start(kind)))
            at = token.end()
        self._tokens.append(("end", "", len(query)))
        self._at = 0

    def query(self) -> Query:
        node = self._either()
        crossing = False
        if self._take("name", "within"):
            kind, value, at = self._tokens[self._at]
            name = value.strip("</ >")
            if kind not in ("name", "within") or name not in WITHIN:
                raise self._error(at, "'within' is followed by s (sentence) or d (document)")
            self._at += 1
            crossing = WITHIN[name]
        kind, value, at = self._tokens[self._at]
        if kind != "end":
            raise self._error(at, f"{value!r} is not expected here")
        return Query(node, crossing)

    def _error(self, at: int, what: str) -> InputError:
        return InputError(f"the query {self._query!r} cannot be read at character {at + 1}: {what}")

    def _take(self, kind: str, value: str | None = None) -> str | None:
        token = self._tokens[self._at]
        if token[0] != kind or value not in (None, token[1]):
            return None
        self._at += 1
        return token[1]

    def _expect(self, sign: str, after: str) -> None:
        if not self._take("sign", sign):
            raise self._error(self._tokens[self._at][2], f"{sign!r} is missing after {after}")

    def _list(self, part: Callable[[], T], sign: str) -> list[T]:
        """Parse parts separated by a sign."""
        parts = [part()]
        while self._take("sign", sign):
            parts.append(part())
        return parts

    def _either(self) -> Node:
        parts = self._list(self._sequence, "|")
        if len(parts) > 1 and all(part.kind == "test" for part in parts):
            return Node("test", (joined([part.parts[0] for part in parts], every=False),))
        return parts[0] if len(parts) == 1 else Node("either", tuple(parts))

    def _sequence(self) -> Node:
        parts = [*iter(self._item, None)]
        if not parts:
            raise self._error(self._tokens[self._at][2], 'a word is expected, such as "bank" or [lemma="bank"]')
        return parts[0] if len(parts) == 1 else Node("sequence", tuple(parts))

    def _item(self) -> Node | None:
        node: Node
        if self._take("sign", "("):
            node = self._either()
            self._expect(")", "the alternatives")
        elif self._take("sign", "["):
            if self._take("sign", "]"):
                every = np.ones(len(self._spelling.text.word_of), bool)
                node = Node("test", (Test(self._spelling.text, "", every),))
            else:
                node = Node("test", (self._any(),))
                self._expect("]", "the conditions of a word")
        elif self._tokens[self._at][0] == "string":
            node = Node("test", (self._value("word", "="),))
        else:
            return None
        while True:
            if times := self._take("times"):
                low, comma, high = times[1:-1].replace(" ", "").partition(",")
                least, most = int(low or 0), (int(high) if high else None if comma else int(low or 0))
                if most is not None and (most < least or not most):
                    raise self._error(self._tokens[self._at - 1][2], f"{times} is not a number of repetitions")
                node = Node("repeat", (node,), least, most)
            elif sign := next((sign for sign in "*+?" if self._take("sign", sign)), None):
                node = Node("repeat", (node,), int(sign == "+"), 1 if sign == "?" else None)
            else:
                return node

    def _any(self) -> Test | Joined:
        return joined(self._list(lambda: joined(self._list(self._one, "&"), every=True), "|"), every=False)

    def _one(self) -> Test | Joined:
        if self._take("sign", "!"):
            return negated(self._one())
        if self._take("sign", "("):
            test = self._any()
            self._expect(")", "the conditions")
            return test
        at = self._tokens[self._at][2]
        name = self._take("name")
        if name is None:
            raise self._error(at, f"an attribute is expected, such as {' or '.join(self._spelling.attributes[:3])}")
        sign = next((sign for sign in ("!==", "!=", "==", "=") if self._take("sign", sign)), None)
        if sign is None:
            raise self._error(self._tokens[self._at][2], f"= or != is missing after {name}")
        return self._value(name, sign)

    def _value(self, attribute: str, sign: str) -> Test | Joined:
        at = self._tokens[self._at][2]
        string = self._take("string")
        if string is None:
            raise self._error(at, "a value in quotation marks is expected")
        written, percent, flags = string.rpartition("%") if not string.endswith(("'", '"')) else (string, "", "")
        if percent and (odd := set(flags) - set("cdl")):
            known = "%c (ignore case), %d (ignore diacritics) and %l (literal)"
            raise self._error(at, f"%{min(odd)} is not a flag; the flags are {known}")
        value = re.sub(r"\\([\"'])", r"\1", written[1:-1])
        if " " in value.strip() and attribute in ("word", "lc"):
            raise self._error(
                at,
                "a value in quotation marks must be one word; write each word of a phrase in its own quotation marks",
            )
        flags += "l" if sign.endswith("==") or re.fullmatch(r"\w+", value) else ""
        test = self._spelling.test(attribute, _chooser(value, flags))
        return negated(test) if sign.startswith("!") else test

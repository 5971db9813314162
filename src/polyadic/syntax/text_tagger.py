"""Tagging of parts of speech, morphology and lemmas in sentences and plain text.

Three sequence taggers over the same features predict the columns upos, xpos and features of CoNLL-U, with the
morphology of a word as one tag; lemmas are predicted from word and xpos.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from itertools import accumulate, chain, islice
from typing import Any, Self

from polyadic.core.errors import InputError
from polyadic.core.model import Count, Model, Seed
from polyadic.core.solvers.run import Result
from polyadic.sequences.sequence_tagger import SequenceTagger, coded, learned_features
from polyadic.syntax.plain_text import plain_trees
from polyadic.syntax.tag_features import tag_features
from polyadic.syntax.trees import Tree, untagged

SETTINGS: dict[str, dict[str, Any]] = {
    "upos": {"loss": "likelihood"},
    "xpos": {"loss": "likelihood"},
    "features": {"rank": 20, "loss": "hinge"},
}
"""Settings for each column, selected on the development part of the English Web Treebank."""
COLUMNS = (*SETTINGS, "lemmas")  # predicted columns
BLOCK = 1000  # number of sentences tagged together
MAX_SUFFIX = 6  # maximum length of the endings in lemma rules


class TextTagger(Model):
    """Tagger of the CoNLL-U columns lemma, upos, xpos and features.

    Parameters
    ----------
    max_iter : int
        Number of training epochs for each predicted CoNLL-U column.
    min_count : int
        Minimum number of occurrences of a feature.
    callback : callable, optional
        Function called with the name of a column and a :class:`~polyadic.core.solvers.run.Result` after each pass.

    Attributes
    ----------
    taggers_, interrupted_ : dict of str to SequenceTagger, bool
        Tagger of each column, and whether Ctrl-C stopped the fit of the last one.
    features_, lemmas_ : dict of str to int, Lemmas
        Ids of the features that the taggers use; lemma dictionary and rules.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from polyadic.syntax.trees import untagged
    >>> tags = {"upos": ("NOUN", "VERB"), "xpos": ("NNS", "VBP")}
    >>> dogs = replace(untagged(["Dogs", "bark"]), lemmas=("dog", "bark"), **tags)
    >>> [pigs] = TextTagger(min_count=1).fit([dogs]).trees(["Pigs bark"])
    >>> pigs.upos, pigs.lemmas
    (('NOUN', 'VERB'), ('pig', 'bark'))
    """

    _: KW_ONLY
    max_iter: Count = 5
    min_count: Count = 2
    seed: Seed = 0
    callback: Callable[[str, Result], None] | None = None

    def fit(self, trees: Iterable[Tree]) -> Self:
        """Fit the tagger to the sentences of a treebank; an empty column is learned as empty.

        Ctrl-C in the last column, after its first pass, keeps the result so far; earlier it leaves the model unchanged.
        InputError is raised if there are no words, or a parameter is out of range.
        """
        self.check()
        bank = list(trees)
        if not any(map(len, bank)):
            raise InputError("a tagger requires at least one word")
        sentences, known = learned_features((tag_features(tree.forms) for tree in bank), min_count=self.min_count)
        taggers = {}
        for column, how in SETTINGS.items():
            tagger = SequenceTagger(max_iter=self.max_iter, min_count=self.min_count, seed=self.seed, **how)
            if self.callback is not None:
                tagger.callback = functools.partial(self.callback, column)
            tagger.fit_coded(sentences, len(known), [getattr(tree, column) for tree in bank])
            if tagger.interrupted_ and (not tagger.n_iter_ or column != [*SETTINGS][-1]):
                raise KeyboardInterrupt
            tagger.callback = None  # it belongs to this run
            taggers[column] = tagger
        rows = (zip(tree.forms, tree.xpos, tree.lemmas, strict=True) for tree in bank)
        self.lemmas_ = Lemmas.counted(row for tree in rows for row in tree if row[2] != "_" or row[0] == "_")
        self.taggers_, self.features_, self.interrupted_ = taggers, known, tagger.interrupted_
        return self

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Yield sentences with predicted lemmas, tags and morphology; other columns are unchanged."""
        stream = iter(trees)
        while block := list(islice(stream, BLOCK)):
            sentences = coded((tag_features(tree.forms) for tree in block), self.features_)
            columns = [tagger.predict_coded(sentences) for tagger in self.taggers_.values()]
            for tree, upos, xpos, features in zip(block, *columns, strict=True):
                lemmas = tuple(map(self.lemmas_.lemma, tree.forms, xpos))
                yield replace(tree, lemmas=lemmas, upos=tuple(upos), xpos=tuple(xpos), features=tuple(features))

    def trees(self, texts: Iterable[str], *, by_line: bool = False) -> Iterator[Tree]:
        """Split English texts into sentences, which empty lines (``by_line``: all lines) end, and yield them tagged."""
        return self.annotate(plain_trees(texts, by_line=by_line))

    def tag(self, forms: Sequence[str]) -> Tree:
        """Tag the words of one sentence and return the annotated tree."""
        return next(self.annotate([untagged(forms)]))

    def layers(self, sentences: list[list[str]], language: str | None) -> dict[str, list[list[str]]]:
        """Return the universal and specific parts of speech and the lemmas of the words of sentences.

        Parameters
        ----------
        sentences : list of list of str
            Each sentence as its words between what is written before, between and after them.
        language : str, optional
            Language code. English is split as in treebanks (*don't* is two words, of which the first one counts).

        Returns
        -------
        dict of str to list of list of str
            The layers ``pos``, ``tag`` and ``lemma``.
        """
        banks = [_treebank_words(parts, english=language in (None, "en")) for parts in sentences]
        found: dict[str, list[list[str]]] = {"pos": [], "tag": [], "lemma": []}
        for tree, (_, places) in zip(self.annotate(untagged(words) for words, _ in banks), banks, strict=True):
            for name, column in zip(found, (tree.upos, tree.xpos, tree.lemmas), strict=True):
                found[name].append([column[at] for at in places])
        return found


def _treebank_words(parts: list[str], *, english: bool) -> tuple[list[str], list[int]]:
    """Return the words and punctuation marks of a sentence, and the place among them of each of its words."""
    if not english:
        split: list[list[str]] = [[part] if k % 2 else re.findall(r"\S", part) for k, part in enumerate(parts)]
        sizes = list(accumulate(map(len, split), initial=0))
        return list(chain.from_iterable(split)), sizes[1:-1:2]
    text = "".join(parts).replace("\n", " ")
    words = [word for tree in plain_trees([text]) for word in tree.forms]
    starts, end = [], 0
    for word in words:
        end = max(text.find(word, end), end)
        starts.append(end)
        end += len(word) if text.startswith(word, end) else 0
    sizes = list(accumulate(map(len, parts)))
    return words, [max(bisect_right(starts, at) - 1, 0) for at in sizes[:-1:2]]


class Lemmas:
    """Lemmatizer with a dictionary of lower-cased words and tags, and suffix rules for unknown words."""

    def __init__(self, known: dict[tuple[str, str], str], capitals: Iterable[str] = ()) -> None:
        self.known = known
        self.capitals = frozenset(capitals)

    @functools.cached_property
    def _edits(self) -> dict[tuple[str, str], tuple[int, str]]:
        """The most frequent edit for each suffix and tag: the number of letters to remove and the letters to append."""
        edits: defaultdict[tuple[str, str], Counter[tuple[int, str]]] = defaultdict(Counter)
        for (word, tag), lemma in self.known.items():
            low = lemma.lower()
            different = (k for k, (a, b) in enumerate(zip(word, low, strict=False)) if a != b)
            shared = next(different, min(len(word), len(low)))
            for length in range(min(MAX_SUFFIX, len(word)) + 1):
                edits[word[len(word) - length :], tag][len(word) - shared, low[shared:]] += 1
        return {key: max(times, key=times.__getitem__) for key, times in edits.items()}

    @classmethod
    def counted(cls, rows: Iterable[tuple[str, str, str]]) -> Lemmas:
        """Build the lemma dictionary from (form, tag, lemma) rows, and find the tags whose lemmas keep capitals."""
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        kept: Counter[str] = Counter()
        for form, tag, lemma in rows:
            counts[form.lower(), tag][lemma] += 1
            if form[:1].isupper():
                kept[tag] += 1 if lemma[:1].isupper() else -1
        known = {key: max(times, key=times.__getitem__) for key, times in counts.items()}
        return cls(known, [tag for tag, more in kept.items() if more > 0])

    def lemma(self, form: str, tag: str) -> str:
        """Return the lemma of a word from the dictionary, or by the rule for the longest known suffix."""
        word = form.lower()
        known = self.known.get((word, tag))
        if known is not None:
            return known
        made = word
        for length in range(min(MAX_SUFFIX, len(word) - 1), -1, -1):
            edit = self._edits.get((word[len(word) - length :], tag))
            if edit is not None and edit[0] < len(word):
                made = word[: len(word) - edit[0]] + edit[1]
                break
        if tag not in self.capitals:
            return made
        same = [a if a.lower() == b else b for a, b in zip(form, made, strict=False)]
        return "".join(same) + made[len(same) :]

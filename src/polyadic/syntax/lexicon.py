r"""Smoothed scores of part-of-speech tags for words, with word classes for unseen words.

.. math:: P(t \mid w) = \frac{c(t, w) + \kappa\, P(t \mid s_w)}{c(w) + \kappa}, \qquad
   \operatorname{score}(t, w) = \log \frac{P(t \mid w)}{P(t)} = \log \frac{P(w \mid t)}{P(w)}

The signature :math:`s_w` is the shape and ending of a word, and :math:`P(t \mid s)` is estimated from rare words.
Counts of an annotated tag are smoothed by its plain tag likewise. The factor :math:`P(w)` is the same for all trees.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from polyadic.syntax.binarising import bare

ENDINGS = (
    "ing ed ion ions er ers est ly ity ities y al ic ive ous ble less ness ment ments ism ist ists ies es s ate ize "
    "ise en an ian ans ful ant ent ance ence"
)
SUFFIXES = ENDINGS.split()
RARE = 2  # maximum number of occurrences of words that give the word classes
KAPPA, KAPPA_SIGNATURE, KAPPA_TAG = 1.0, 5.0, 3.0
"""Pseudo-counts of the signature for a word, of rare words for a signature, and of the plain tag for an annotated."""


def signature(word: str, *, first: bool = False) -> str:
    """Return the word class of a word, based on capitals, digits, hyphens and the longest known suffix.

    >>> [signature(word) for word in ("Rolls", "1,200", "well-known", "unhappily", "NYSE", "U.S.")]
    ['C-s', 'num', 'l-hyphen', 'l-ly', 'CC', 'CC-dot']
    """
    letters = [c for c in word if c.isalpha()]
    digits = any(c.isdigit() for c in word)
    if digits and not letters:
        return "num-hyphen" if "-" in word else "num"
    if not letters:
        return "sign"
    if word[0].isupper():
        kind = "CC" if len(letters) > 1 and all(c.isupper() for c in letters) else "F" if first else "C"
    else:
        kind = "l" if word[0].islower() else "o"
    marks = "-digit" if digits else ""
    if "-" in word:
        return kind + marks + "-hyphen" + ("-ed" if word.endswith("ed") else "-s" if word.endswith("s") else "")
    if word.endswith("."):
        return kind + marks + "-dot"
    if kind != "CC":
        lower = word.lower()
        ending = max((s for s in SUFFIXES if lower.endswith(s) and len(lower) > len(s) + 1), key=len, default="")
        marks += "-" + ending if ending else ""
    return kind + marks


class Lexicon:
    """Lexicon of tag scores for words, estimated from sentences of (word, annotated tag) pairs.

    Tags below ``min_share`` times the probability of the best tag of a word are left out.
    """

    def __init__(self, sentences: Iterable[list[tuple[str, str]]], *, min_share: float = 1e-3) -> None:
        tokens = [(w, t, i == 0) for sentence in sentences for i, (w, t) in enumerate(sentence)]
        self.min_share = min_share
        words = Counter(word for word, _, _ in tokens)
        fine = Counter(tag for _, tag, _ in tokens)
        plain = Counter(bare(tag) for _, tag, _ in tokens)
        of_word, fine_of_word, of_signature = (defaultdict[str, Counter[str]](Counter) for _ in range(3))
        of_rare: Counter[str] = Counter()
        for word, tag, first in tokens:
            of_word[word][bare(tag)] += 1
            fine_of_word[word][tag] += 1
            if words[word] <= RARE:
                of_signature[signature(word, first=first)][bare(tag)] += 1
                of_rare[bare(tag)] += 1
        kinds: defaultdict[str, list[str]] = defaultdict(list)
        for tag in sorted(fine):
            kinds[bare(tag)].append(tag)
        # Plain mappings can be saved.
        self.words, self.fine, self.total = dict(words), dict(fine), len(tokens)
        self._plain, self._kinds = dict(plain), dict(kinds)
        self._of_word, self._fine_of_word, self._of_signature = (
            {key: dict(counts) for key, counts in table.items()} for table in (of_word, fine_of_word, of_signature)
        )
        self._of_rare = dict(of_rare or plain)  # if no word is rare, use all words

    def plain(self, word: str, *, first: bool = False) -> Mapping[str, float]:
        """Return the probability of each part-of-speech tag of a word, without annotation of the tags."""
        known = self._of_word.get(word, {})
        if not known and first and word.lower() in self._of_word:  # capitalised only at the start of a sentence
            known = self._of_word[word.lower()]
        count = sum(known.values())
        if count > 50:  # frequent: all its tags have been seen
            return {tag: c / count for tag, c in known.items()}
        seen = self._of_signature.get(signature(word, first=first), {})
        rare_total, seen_total = sum(self._of_rare.values()), sum(seen.values())
        probabilities = {}
        for tag in self._of_rare | known:
            prior = KAPPA_SIGNATURE * self._of_rare.get(tag, 0) / rare_total
            by_class = (seen.get(tag, 0) + prior) / (seen_total + KAPPA_SIGNATURE)
            probabilities[tag] = (known.get(tag, 0) + KAPPA * by_class) / (count + KAPPA)
        return probabilities

    def scores(self, word: str, *, first: bool = False, tag: str | None = None) -> dict[str, float]:
        """Return the score of each annotated tag of a word; ``tag`` limits the result to variants of a tag."""
        probabilities = {tag: 1.0} if tag in self._plain and tag is not None else self.plain(word, first=first)
        known = self._fine_of_word.get(word, {})
        total = self.words.get(word, 0)
        shares = {}
        for plain, p in probabilities.items():
            for fine in self._kinds[plain]:
                prior = p * self.fine[fine] / self._plain[plain]
                shares[fine] = (known.get(fine, 0) + KAPPA_TAG * prior) / (total + KAPPA_TAG)
        bound = self.min_share * max(shares.values())
        return {fine: math.log(q * self.total / self.fine[fine]) for fine, q in shares.items() if q > 0 and q >= bound}

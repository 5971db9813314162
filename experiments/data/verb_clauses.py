"""Subject, verb and object of clauses, from dependency trees or from tagged text.

Trees tell it (:func:`clauses_of_tree`). Where there are none, :func:`clauses_of_tags` looks for two noun phrases with
nothing but a verb group between them: a pattern over parts of speech, that finds fewer clauses and errs more often, in
as much text as there is. Both give lemmas of common nouns; names and pronouns are passed over.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from experiments.data.tnt_tagger import Tagger
    from polyadic.syntax.trees import Tree


class Clause(NamedTuple):
    """Lemmas of subject, verb and object."""

    subject: str
    verb: str
    object: str


def clauses_of_tree(tree: Tree) -> list[Clause]:
    """Read the clauses with subject and object off a tree of Universal Dependencies.

    Of a passive, the agent is the subject and the subject the object. Each of several joined subjects or objects
    counts. A joined verb, and one that depends on another without a subject of its own ("wants to buy"), has that of
    the other; a relative clause has the noun that it is about. Verbs with a negation count as others do.

    Examples
    --------
    >>> import numpy as np
    >>> from polyadic.syntax.trees import Tree
    >>> words, tags = ("dogs", "and", "cats", "chase", "mice"), ("NOUN", "CCONJ", "NOUN", "VERB", "NOUN")
    >>> above, names = np.array([4, 3, 1, 0, 4]), ("nsubj", "cc", "conj", "root", "obj")
    >>> none = ("_",) * 5
    >>> tree = Tree(words, ("dog", "and", "cat", "chase", "mouse"), tags, none, none, above, names, none, none)
    >>> [" ".join(clause) for clause in clauses_of_tree(tree)]
    ['dog chase mouse', 'cat chase mouse']
    """
    view = _View(tree)
    clauses = []
    for verb, kind in enumerate(tree.upos):
        if kind != "VERB":
            continue
        if view.passive(verb):
            subjects, objects = view.below(verb, "obl:agent"), view.subjects(verb)
        else:
            subjects, objects = view.subjects(verb), view.below(verb, "obj")
        ends = [[n for n in map(view.meant, view.joined(nouns)) if n is not None] for nouns in (subjects, objects)]
        lemmas = [[tree.lemmas[n].lower() for n in nouns if tree.upos[n] == "NOUN"] for nouns in ends]
        clauses += [Clause(s, tree.lemmas[verb].lower(), o) for s in lemmas[0] for o in lemmas[1]]
    return clauses


class _View:
    """The arcs of a tree, with words numbered from 0."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.children = tree, tree.children()
        self._lent: dict[int, list[int]] = {}  # by verb, so that those joined in a long row are climbed once

    def below(self, word: int, *relations: str) -> list[int]:
        return [child for child in self.children[word] if self.tree.relations[child] in relations]

    def passive(self, verb: int) -> bool:
        marks = {"nsubj:pass", "aux:pass", "obl:agent"}
        return any(self.tree.relations[child] in marks for child in self.children[verb])

    def joined(self, nouns: list[int]) -> list[int]:
        return list(chain.from_iterable((noun, *self.below(noun, "conj")) for noun in nouns))

    def subjects(self, verb: int) -> list[int]:
        """Return the subjects of a verb, or of the verbs above it that lend theirs."""
        climbed = [verb]
        while climbed[-1] not in self._lent and (above := self._lender(climbed[-1])) is not None:
            climbed.append(above)
        found = self._lent.get(climbed[-1])
        if found is None:
            found = self._own(climbed[-1])
        self._lent.update(dict.fromkeys(climbed, found))
        return found

    def _own(self, verb: int) -> list[int]:
        own = self.below(verb, "nsubj", "nsubj:pass")
        relation, head = self.tree.relations[verb], int(self.tree.heads[verb]) - 1
        if own or head < 0 or relation != "acl":
            return own
        # "a plan to buy shares" says not who buys, "people buying shares" does
        return [head] if "VerbForm=Ger" in self.tree.features[verb] else []

    def _lender(self, verb: int) -> int | None:
        """Return the verb that lends its subject to one without, if one does."""
        relation, head = self.tree.relations[verb], int(self.tree.heads[verb]) - 1
        if head < 0 or self.below(verb, "nsubj", "nsubj:pass"):
            return None
        lends = relation == "conj" or (relation == "xcomp" and not self.below(head, "obj", "iobj"))
        return head if lends and self.passive(head) == (relation == "conj" and self.passive(verb)) else None

    def meant(self, noun: int) -> int | None:
        """Return the antecedent of a relative pronoun: the noun above the clause."""
        if "PronType=Rel" not in self.tree.features[noun]:
            return noun
        word = noun
        while word >= 0 and self.tree.relations[word] != "acl:relcl":
            word = int(self.tree.heads[word]) - 1
        return int(self.tree.heads[word]) - 1 if word >= 0 else None


LETTERS = {
    **dict.fromkeys(["NN", "NNS"], "N"),
    **dict.fromkeys(["NNP", "NNPS"], "P"),
    **dict.fromkeys(["DT", "PDT", "PRP$", "WP$"], "D"),
    **dict.fromkeys(["JJ", "JJR", "JJS", "CD", "POS"], "J"),
    **dict.fromkeys(["VB", "VBP", "VBZ", "VBD"], "V"),
    **dict.fromkeys(["RB", "RBR", "RBS"], "R"),
    **dict.fromkeys(["WDT", "WP"], "W"),
    "VBN": "E",
    "VBG": "G",
    "MD": "M",
    "TO": "T",
    "RP": "F",
    "IN": "I",
    ",": ",",
}
"""One letter for each part of speech of the Penn Treebank that the patterns know."""
AUXILIARIES = {"be": "B", "have": "H", "do": "O"}
CONJUNCTIONS = frozenset(
    ["although", "as", "because", "if", "since", "that", "though", "unless", "until", "whereas", "whether", "while"]
)
"""Words tagged as prepositions that begin a clause, mostly or where a verb follows a noun phrase."""

# phrases have some 40 words, 8 others within them, or the time that a long sentence takes grows faster than it does
_BEFORE = r"(?:^|[^IYTDJNPVEG]|[JNP](?=D))[DJNP]{0,40}"  # no preposition or verb before the noun phrase
_SUBJECT = rf"{_BEFORE}(?P<first>N)(?:[IY][DJNP]{{0,40}}[NP]){{0,8}}(?:,?W)?R*"
_OBJECT = r"[DJNP]{0,40}(?P<second>N)(?![JNPRMHOBVEDW])"  # and not itself the subject of what follows
# A participle before a determiner has an object: it is a past tense that the tagger took for the other.
ACTIVE = re.compile(
    rf"(?={_SUBJECT}(?:(?:[MO]R*|[VHO]TR*)*(?P<base>[VHO]|E(?=D))|(?:MR*)*HR*(?P<perfect>E)|(?:[MHE]R*)*BR*(?P<going>G))"
    rf"F?{_OBJECT})"
)
PASSIVE = re.compile(rf"(?={_SUBJECT}(?:[MHB]R*)*BR*(?P<done>E)F?Y{_OBJECT})")


def clauses_of_tags(forms: Sequence[str], tags: Sequence[str], tagger: Tagger) -> list[Clause]:
    """Find clauses in a tagged sentence.

    Two noun phrases with a verb group between them, active or passive with *by*: "the dogs of the house have not
    chased (a) cats", "cats that were chased by dogs". A phrase after a preposition is no subject, but what it belongs
    to is; the last noun of a phrase stands for it.

    ``forms``, ``tags``: Words, and their tags of the Penn Treebank. ``tagger``: Knows lemmas.

    Examples
    --------
    >>> from experiments.data.tnt_tagger import Tagger
    >>> clause = "The old owner of the firm has sold all shares .".split()
    >>> known = dict(zip(("shares", "has", "sold"), ("share", "have", "sell"), strict=True))
    >>> class Told(Tagger):
    ...     def lemma(self, form, tag):
    ...         return known.get(form, form)
    >>> clauses_of_tags(clause, "DT JJ NN IN DT NN VBZ VBN DT NNS .".split(), Told())
    [Clause(subject='owner', verb='sell', object='share')]
    """
    letters = "".join([_letter(form, tag, tagger) for form, tag in zip(forms, tags, strict=True)])
    clauses = {}
    for pattern in (ACTIVE, PASSIVE):
        for match in pattern.finditer(letters):
            at = {name: match.start(name) for name, text in match.groupdict().items() if text}
            ends = [tagger.lemma(forms[at[name]], tags[at[name]]) for name in ("first", "second")]
            verb = next(at[name] for name in at if name not in {"first", "second"})
            subject, object_ = ends if pattern is ACTIVE else ends[::-1]
            clauses[verb] = Clause(subject, tagger.lemma(forms[verb], tags[verb]), object_)
    return list(clauses.values())


def _letter(form: str, tag: str, tagger: Tagger) -> str:
    letter = LETTERS.get(tag, "-")
    if letter in "VEG" and tag[:2] == "VB":
        return AUXILIARIES.get(tagger.lemma(form, tag), letter)
    if letter == "I":
        return "Y" if form == "by" else "-" if form.lower() in CONJUNCTIONS else letter
    return letter


CASED = Tokenizer(lowercase=False, punctuation="keep")
_CONTRACTED = re.compile(r"(?<=.)(?=n't$)|(?<=.)(?='(?:m|re|ve|ll|d)$)", re.IGNORECASE)


def sentences_as_tagged(text: str) -> list[list[str]]:
    """Divide plain text into sentences and words as treebanks do: with case and marks, contractions in two.

    Examples
    --------
    >>> sentences_as_tagged("It isn't the dog's bone. We've seen.")
    [['It', 'is', "n't", 'the', 'dog', "'s", 'bone', '.'], ['We', "'ve", 'seen', '.']]
    """
    return [
        [part for word in sentence for part in (_CONTRACTED.split(word) if "'" in word[1:] else (word,))]
        for sentence in CASED(text)
    ]


def tagged_sentences(text: str, tagger: Tagger) -> Iterator[tuple[list[str], list[str]]]:
    """Return the words and the tags of each sentence of a plain text."""
    sentences = sentences_as_tagged(text)
    yield from zip(sentences, tagger.tag(sentences), strict=True)

"""Text parsed by spaCy, an optional dependency: sentences with their trees, as from CoNLL-U files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, MissingExtraError
from polyadic.syntax.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spacy.language import Language


def parse(texts: Iterable[str], *, pipeline: str | Language = "en_core_web_sm") -> Iterator[Tree]:
    """Parse texts.

    Parameters
    ----------
    texts : iterable of str
    pipeline : str or spacy.language.Language
        A pipeline that parses, or the name of one that is installed. If it recognizes entities too, their names stand
        under ``Entity`` in the last column, where :func:`~polyadic.relations.patterns.mentions` finds them by that
        key.

    Yields
    ------
    Tree
        One for each sentence. Line breaks and other words of blanks alone are left out.

    Raises
    ------
    MissingExtraError
        If spaCy is not installed.
    InputError
        If the pipeline is not installed, or does not parse.
    """
    nlp = _loaded(pipeline) if isinstance(pipeline, str) else pipeline
    for doc in nlp.pipe(texts):
        if not doc.has_annotation("DEP"):
            raise InputError(f"the pipeline {nlp.meta.get('name')!r} does not parse; name one that does")
        for sentence in doc.sents:
            words = [word for word in sentence if not word.is_space]
            if words:
                yield word_tree(words)


def word_tree(words: list[Any]) -> Tree:
    """Give the words of a sentence, tokens of spaCy, with all that they have been told of."""
    number = {word.i: at for at, word in enumerate(words, 1)}
    heads = [0 if word.head.i == word.i else number.get(word.head.i, 0) for word in words]
    names = ["_" if not word.ent_type_ else f"Entity={_name(word)}" for word in words]
    blank = ("_",) * len(words)
    return Tree(
        forms=tuple(word.text for word in words),
        lemmas=tuple(word.lemma_ or "_" for word in words),
        upos=tuple(word.pos_ or "_" for word in words),
        xpos=tuple(word.tag_ or "_" for word in words),
        features=tuple(str(word.morph) or "_" for word in words),
        heads=np.array(heads, np.int32),
        relations=tuple("root" if head == 0 else word.dep_ or "_" for word, head in zip(words, heads, strict=True)),
        enhanced=blank,
        misc=tuple(names),
    )


def _name(word: Any) -> str:
    """Give the text of the entity that a word is part of, with what CoNLL-U has marks for taken out."""
    [entity] = [mention for mention in word.doc.ents if mention.start <= word.i < mention.end]
    return "_".join(entity.text.replace("|", " ").replace("_", " ").split())


def _loaded(name: str) -> Language:
    try:
        import spacy
    except ModuleNotFoundError:
        raise MissingExtraError("spacy", "spacy", "parsing text") from None
    try:
        return spacy.load(name)
    except OSError:
        raise InputError(f"there is no spaCy pipeline {name!r}; install it: python -m spacy download {name}") from None

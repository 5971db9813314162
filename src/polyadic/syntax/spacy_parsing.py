"""Trees from text parsed by spaCy, an optional dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, MissingExtraError
from polyadic.syntax.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spacy.language import Language


def parse(texts: Iterable[str], *, pipeline: str | Language = "en_core_web_sm") -> Iterator[Tree]:
    """Parse texts with spaCy; yield a tree for each sentence, without whitespace tokens.

    ``pipeline`` is a pipeline with a parser, or the name of an installed one. If it recognizes entities, their names
    are stored under ``Entity`` in the last column, where :func:`~polyadic.relations.patterns.mentions` finds them.
    """
    nlp = _loaded(pipeline) if isinstance(pipeline, str) else pipeline
    for doc in nlp.pipe(texts):
        if not doc.has_annotation("DEP"):
            raise InputError(f"the pipeline {nlp.meta.get('name')!r} has no parser; use one that has")
        for sentence in doc.sents:
            words = [word for word in sentence if not word.is_space]
            if words:
                yield word_tree(words)


def word_tree(words: list[Any]) -> Tree:
    """Convert the spaCy tokens of a sentence, with all their annotations, to a tree."""
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
    """Return the text of the entity that a word belongs to, without characters that CoNLL-U reserves."""
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
        raise InputError(
            f"cannot load the spaCy pipeline {name!r}; to install it: python -m spacy download {name}"
        ) from None

"""A tagger and a parser as components of a spaCy pipeline.

Entry points of the package register them, so spaCy finds them without an import:

    nlp = spacy.blank("en")
    nlp.add_pipe("polyadic_tagger", config={"model": "tagger"})
    nlp.add_pipe("polyadic_parser", config={"model": "parser"})

Tokens are those of spaCy's tokenizer, one word each; multiword tokens of a treebank (French *du*) are one word here.
Whitespace tokens are not words: they get the tag ``_SP`` and depend on the previous word, as in spaCy. A sentence with
several roots becomes several sentences, since spaCy requires one tree per sentence. ``nlp.to_disk`` saves the models
with the pipeline; ``nlp.to_bytes`` saves only their paths. ``nlp.update`` does not train them.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core.errors import InputError, needing
from polyadic.syntax.trees import Tree

if TYPE_CHECKING:
    from spacy.language import Language


def parse(texts: Iterable[str], *, pipeline: str | Language = "en_core_web_sm") -> Iterator[Tree]:
    """Parse texts with spaCy and yield a dependency tree for each sentence, without whitespace tokens.

    ``pipeline`` is a pipeline with a parser, or the name of an installed one. If it recognizes entities, their names
    are stored under ``Entity`` in the last column, where :func:`~polyadic.relations.patterns.mentions` finds them.
    """
    nlp = _loaded(pipeline) if isinstance(pipeline, str) else pipeline
    for doc in nlp.pipe(texts):
        if not doc.has_annotation("DEP"):
            raise InputError(f"the pipeline {nlp.meta.get('name')!r} has no parser; use a pipeline with a parser")
        for sentence in doc.sents:
            words = [word for word in sentence if not word.is_space]
            if words:
                yield word_tree(words)


def word_tree(words: list[Any]) -> Tree:
    """Convert the spaCy tokens of a sentence to a dependency tree with all annotations."""
    number = {word.i: at for at, word in enumerate(words, 1)}
    heads = [0 if word.head.i == word.i else number.get(word.head.i, 0) for word in words]
    names = ["_" if not word.ent_type_ else f"Entity={_name(word)}" for word in words]
    blank = ("_",) * len(words)
    tags = ((word.text, word.lemma_, word.pos_, word.tag_, str(word.morph)) for word in words)
    forms, lemmas, upos, xpos, features = (tuple(cell or "_" for cell in column) for column in zip(*tags, strict=True))
    relations = tuple("root" if head == 0 else word.dep_ or "_" for word, head in zip(words, heads, strict=True))
    rest = np.array(heads, np.int32), relations, blank, tuple(names)
    return Tree(forms, lemmas, upos, xpos, features, *rest)


def _name(word: Any) -> str:
    """Return the text of the entity that a word belongs to, without characters that CoNLL-U reserves."""
    [entity] = [mention for mention in word.doc.ents if mention.start <= word.i < mention.end]
    return "_".join(entity.text.replace("|", " ").replace("_", " ").split())


def _loaded(name: str) -> Language:
    with needing("spacy", "spacy", "parsing text"):
        import spacy
    try:
        return spacy.load(name)
    except OSError:
        advice = f"install it with python -m spacy download {name}"
        raise InputError(f"cannot load the spaCy pipeline {name!r}; {advice}") from None


class PipelineComponent(ABC):
    """Base class for spaCy pipeline components that apply a model, read from the folder ``model`` on first use.

    ``language`` is that of the sentence splitter, used if sentence boundaries are not set.
    """

    def __init__(self, model: str | None, *, language: str) -> None:
        self.path, self.language = model, language
        self._model: Any = None

    @property
    def model(self) -> Any:
        """The model of the component, or None if no model has been loaded or assigned."""
        return self._model  # spaCy reads it when it creates the component

    @model.setter
    def model(self, model: Any) -> None:
        """Set the model, which must be an instance of an accepted model class."""
        if not isinstance(model, self._model_classes()):
            names = " or ".join(kind.__name__ for kind in self._model_classes())
            raise InputError(f"the model must be a {names}; got a {type(model).__name__}")
        self._model = model

    def _read(self) -> Any:
        """Return the model, loading it on first use."""
        if self._model is None:
            if self.path is None:
                about = 'no model is set; pass the folder of a model: add_pipe(..., config={"model": "folder"})'
                raise InputError(about)
            self.from_disk(self.path)
        return self._model

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Save the model to a folder; ``exclude`` is ignored."""
        del exclude
        self._read().save(path, overwrite=True)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> Self:
        """Load the model from a folder; ``exclude`` is ignored."""
        from polyadic.core.serialization import load

        del exclude
        self._model = load(path, self._model_classes())
        return self

    def __call__(self, doc: Any) -> Any:
        """Annotate a spaCy ``Doc`` and return it."""
        self._begin_sentences(doc)
        sentences = [sentence for sentence in map(_words, doc.sents) if sentence]
        self._write(doc, sentences, self._annotated(map(word_tree, sentences)))
        return doc

    def _begin_sentences(self, doc: Any) -> None:
        """Set the sentence boundaries of a spaCy ``Doc`` unless they are already set."""
        from polyadic.text.languages import sentences

        if len(doc) < 2 or doc.has_annotation("SENT_START"):
            return
        words = _words(doc)
        begins = np.cumsum([0, *map(len, sentences(doc.text, self.language))])
        parts = np.searchsorted(begins, [word.idx for word in words], side="right")
        first = {0, *(words[at + 1].i for at in np.flatnonzero(np.diff(parts)))}
        for token in doc:
            token.is_sent_start = token.i in first

    @abstractmethod
    def _model_classes(self) -> tuple[type[Any], ...]:
        """Return the accepted model classes."""

    @abstractmethod
    def _annotated(self, trees: Iterator[Tree]) -> Iterator[Tree]:
        """Yield sentences annotated by the model."""

    @abstractmethod
    def _write(self, doc: Any, sentences: list[list[Any]], annotated: Iterator[Tree]) -> None:
        """Write the annotations of the model to the spaCy tokens."""


class TaggerComponent(PipelineComponent):
    """Pipeline component that sets ``tag_``, ``pos_``, ``lemma_`` and ``morph`` with a :class:`~polyadic.TextTagger`.

    If the treebank has no tags of its own, ``tag_`` holds the universal ones; ``pos_`` holds universal tags only. A
    :class:`~polyadic.SequenceTagger` trained on words (:func:`~polyadic.tag_features`) sets ``tag_``.
    """

    def _model_classes(self) -> tuple[type[Any], ...]:
        from polyadic.sequences.sequence_tagger import SequenceTagger
        from polyadic.syntax.text_tagger import TextTagger

        return TextTagger, SequenceTagger

    def _annotated(self, trees: Iterator[Tree]) -> Iterator[Tree]:
        from polyadic.syntax.tag_features import need_tags, tag_features

        if hasattr(model := self._read(), "annotate"):
            yield from model.annotate(trees)
            return
        if need_tags(model.features_):
            about = "the tagger was trained with parts of speech as input; use a tagger trained on words alone"
            raise InputError(about)
        for tree in trees:
            [tags] = model.predict([tag_features(tree.forms)])
            yield replace(tree, xpos=tuple(tags))

    def _write(self, doc: Any, sentences: list[list[Any]], annotated: Iterator[Tree]) -> None:
        from spacy.parts_of_speech import IDS

        for words, tree in zip(sentences, annotated, strict=True):
            for word, lemma, *tags in zip(words, tree.lemmas, tree.xpos, tree.upos, tree.features, strict=True):
                xpos, upos, features = ("" if tag == "_" else tag for tag in tags)
                word.tag_ = xpos or upos
                word.pos_ = upos if upos in IDS else ""
                word.lemma_ = lemma if lemma != "_" else ""
                word.set_morph(features)
        for token in doc:
            if token.is_space:
                token.tag_, token.pos_, token.lemma_ = "_SP", "SPACE", token.text


class ParserComponent(PipelineComponent):
    """Pipeline component that sets ``head`` and ``dep_`` with a parser such as :class:`~polyadic.LowRankParser`.

    It reads parts of speech, lemmas and morphology from the tokens, so a tagger must come first.
    """

    def _model_classes(self) -> tuple[type[Any], ...]:
        from polyadic.syntax.low_rank_parser import LowRankParser

        return (LowRankParser,)

    def _annotated(self, trees: Iterator[Tree]) -> Iterator[Tree]:
        annotated: Iterator[Tree] = self._read().annotate(trees)
        return annotated

    def _write(self, doc: Any, sentences: list[list[Any]], annotated: Iterator[Tree]) -> None:
        heads = np.arange(len(doc))
        relations = ["ROOT"] * len(doc)
        for words, tree in zip(sentences, annotated, strict=True):
            for word, head, relation in zip(words, tree.heads.tolist(), tree.relations, strict=True):
                if head:
                    heads[word.i] = words[head - 1].i
                    relations[word.i] = "dep" if relation == "_" else relation
        for sentence in doc.sents:
            above = next((token.i for token in sentence if not token.is_space), sentence.start)
            for token in sentence:
                if not token.is_space:
                    above = token.i
                elif token.i != above:
                    heads[token.i], relations[token.i] = above, "dep"
        columns = [heads - np.arange(len(doc)), [doc.vocab.strings.add(relation) for relation in relations]]
        doc.from_array(["HEAD", "DEP"], np.array([np.asarray(x).astype(np.uint64) for x in columns]).T)


def _words(tokens: Iterable[Any]) -> list[Any]:
    return [token for token in tokens if not token.is_space]


def make_tagger(nlp: Any, name: str, model: str | None) -> TaggerComponent:  # noqa: ARG001 # spaCy passes the name
    """Create the spaCy pipeline component ``polyadic_tagger``."""
    return TaggerComponent(model, language=nlp.lang)


def make_parser(nlp: Any, name: str, model: str | None) -> ParserComponent:  # noqa: ARG001 # as above
    """Create the spaCy pipeline component ``polyadic_parser``."""
    return ParserComponent(model, language=nlp.lang)


with contextlib.suppress(ImportError):  # without spaCy there are no pipelines
    from spacy.language import Language

    tagged = ["token.tag", "token.pos", "token.lemma", "token.morph", "doc.sents"]
    parsed = ["token.head", "token.dep", "doc.sents"]
    Language.factory("polyadic_tagger", default_config={"model": None}, assigns=tagged, func=make_tagger)
    Language.factory("polyadic_parser", default_config={"model": None}, assigns=parsed, func=make_parser)

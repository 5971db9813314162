"""Running text, documents and settings of a corpus folder, without the selection of words that models use."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from polyadic.core.errors import InputError
from polyadic.core.files import read_meta
from polyadic.text.concordance import Concordance
from polyadic.text.multiwords import join_words
from polyadic.text.pieces import nested
from polyadic.text.readers import name_of_document
from polyadic.text.running import FIELDS, RunningText, lines_of
from polyadic.text.tokens import Tokenizer, whitespace
from polyadic.text.usage import Usage

if TYPE_CHECKING:
    from polyadic.text.encoder import Tokenize

KIND, VERSION = "corpus", 3


@dataclasses.dataclass(eq=False, repr=False, kw_only=True)
class TextStore(Usage):
    """Running text of a corpus folder, which is opened without the word ids of models.

    Attributes
    ----------
    settings : dict
        Settings, files and language of the corpus.
    digest : str
        SHA-256 of the word ids, identical on all machines for the same text and settings.
    path : Path
        The folder.
    fields : tuple of dict, optional
        Metadata of each document, all strings: ``file`` if there are several files, ``title``, and the other columns of
        a table; None if no document has any. Read on first access.
    titles : tuple of str, optional
        Title of each document, empty if it has none; None if no document has one.
    text : RunningText
        Every word of the text as it is written.
    lines : Concordance
        Queries on the running text.
    """

    settings: dict[str, Any]
    digest: str
    path: Path
    keeper: object = None  # deletes a temporary folder when nothing refers to it any more

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a corpus folder; raise InputError for another folder or version."""
        folder = Path(path)
        meta = read_meta(folder, KIND, VERSION)
        for key, kind in (("settings", dict), ("digest", str)):
            if not isinstance(meta.get(key), kind):
                raise InputError(f"{folder / 'meta.json'} has no key {key!r}")
        return cls(settings=meta["settings"], digest=meta["digest"], path=folder)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.text.documents) - 1

    @functools.cached_property
    def fields(self) -> tuple[dict[str, str], ...] | None:
        """Metadata of each document, or None if no document has metadata."""
        file = self.path / FIELDS
        if not file.exists():
            return None
        try:
            fields = tuple(map(json.loads, lines_of(file, self.n_documents)))
        except json.JSONDecodeError as error:
            raise InputError(f"{file} is damaged: {error}") from None
        if not all(isinstance(each, dict) for each in fields):
            raise InputError(f"{file} is damaged: a line is not a JSON object")
        return fields

    @functools.cached_property
    def titles(self) -> tuple[str, ...] | None:
        """Title of each document, or None if no document has a title."""
        titles = tuple(" ".join(str(each.get("title", "")).split()) for each in self.fields or ())
        return titles if any(titles) else None

    @functools.cached_property
    def text(self) -> RunningText:
        """Every word of the text as it is written; :attr:`ids` are those of them that are in the vocabulary."""
        return RunningText(self.path, self.keeper)

    @functools.cached_property
    def lines(self) -> Concordance:
        """Queries on the running text."""
        return Concordance(self)

    def tokenize(self, text: str) -> list[list[str]]:
        """Tokenize new text into sentences of words with the tokenizer of the corpus.

        Raises
        ------
        InputError
            If the corpus was built with a custom tokenizer, or from lemmas in its files.

        Examples
        --------
        >>> from polyadic import Corpus
        >>> Corpus.build(["Ein Haus"], min_count=1, language="de").tokenize("Das Haus! Z. B. dieses.")
        [['das', 'haus'], ['z', 'b', 'dieses']]
        """
        if self.settings.get("field") == "lemma" and "conllu" in self.settings.get("formats", ()):
            what = f"new text cannot be tokenized for the corpus {self.path}"
            raise InputError(f"{what}, which contains lemmas from CoNLL-U files; use a corpus of word forms")
        pairs = {*(self.settings.get("multiwords") or ())}
        return [join_words(sentence, pairs) for sentence in nested(self.tokenizer(text))]

    @functools.cached_property
    def tokenizer(self) -> Tokenize:
        """Tokenizer of the corpus; raises InputError if the corpus was built with a custom tokenizer."""
        name = self.settings["tokenizer"]
        if name == name_of(whitespace):
            return whitespace
        if not name.startswith("Tokenizer("):
            what = f"new text cannot be tokenized for the corpus {self.path}"
            why = f"which was built with the custom tokenizer {name}"
            raise InputError(f"{what}, {why}; tokenize the text with this tokenizer")
        call = ast.parse(name, mode="eval").body
        assert isinstance(call, ast.Call)
        settings = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        return Tokenizer(**{"language": self.settings["language"], **settings})

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each document: the title, or else the file name, or else the document number starting at 1."""
        known = self.fields or ({},) * (self.n_documents)
        return tuple(name_of_document(fields) or str(number) for number, fields in enumerate(known, 1))


def name_of(tokenizer: Callable[[str], Any]) -> str:
    """Return the name or repr of a tokenizer without parts that change between runs, such as memory addresses."""
    if isinstance(tokenizer, Tokenizer):
        return repr(tokenizer)
    named = tokenizer if hasattr(tokenizer, "__qualname__") else type(tokenizer)
    return f"{named.__module__}.{named.__qualname__}"

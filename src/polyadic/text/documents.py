"""Document-term matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError
from polyadic.core.frames import refuse_named
from polyadic.text.pieces import nested

if TYPE_CHECKING:
    from polyadic.text.corpus import Corpus
    from polyadic.text.encoder import Tokenize


def document_table(corpus: Corpus) -> csr_array:
    """Return the document-term count matrix of a corpus, including empty documents, as float32."""
    starts = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
    return _counted(np.asarray(corpus.ids), starts, len(corpus.vocabulary))


def table_of_texts(texts: Iterable[str], index: Mapping[str, int], tokenizer: Tokenize) -> csr_array:
    """Return the document-term count matrix of new texts, with one column for each word in ``index``."""
    if isinstance(texts, str):
        raise InputError("texts must be an iterable of strings; got a single string: pass [text]", "texts")
    refuse_named(texts, "texts")
    known = []
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                f"texts must be an iterable of strings; got an element of type {type(text).__name__}", "texts"
            )
        known.append([index[word] for word in chain.from_iterable(nested(tokenizer(text))) if word in index])
    starts = np.cumsum([0, *map(len, known)])
    return _counted(np.fromiter(chain.from_iterable(known), np.int64, starts[-1]), starts, len(index))


def counts_by_row(table: Any) -> csr_array:
    """Convert a matrix of counts to CSR format without duplicates or explicit zeros; the input is not modified."""
    counts = csr_array(table)
    if not (counts.has_canonical_format and counts.data.all()):
        counts = counts.copy()
        counts.sum_duplicates()
        counts.eliminate_zeros()
    return counts


def _counted(ids: np.ndarray, starts: np.ndarray, words: int) -> csr_array:
    table = csr_array((np.ones(len(ids), np.float32), ids.astype(np.int32), starts), shape=(len(starts) - 1, words))
    table.sum_duplicates()
    return table

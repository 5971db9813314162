"""HTTP endpoints: functions that take a workspace and annotated request parameters and return JSON.

The server (:mod:`polyadic.explore.server`) and the export page (:mod:`polyadic.explore.export`) call them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from polyadic.explore.answers.parts import contrast, ratios
from polyadic.explore.answers.tables import table
from polyadic.explore.answers.text import document, lines, overview
from polyadic.explore.answers.topics import topic, topics
from polyadic.explore.answers.usage import barcode, collocates, diversity, keywords, ngrams, trends, word_list
from polyadic.explore.answers.words import ambiguous, component, phrase, places, senses, word, words

if TYPE_CHECKING:
    from polyadic.explore.answers.common import Answer

ANSWERS: dict[str, Callable[..., Answer]] = {
    each.__name__: each
    for each in (
        *(overview, words, word, senses, ambiguous, phrase, lines, document, places, component, topics, topic, table),
        *(contrast, ratios, word_list, ngrams, collocates, keywords, diversity, trends, barcode),
    )
}
"""Endpoints by name."""

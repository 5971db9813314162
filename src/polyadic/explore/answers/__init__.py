"""What is asked of a workspace: plain functions of it, whose parameters say what may be asked and whose answers are JSON.

The server (:mod:`polyadic.explore.server`) and the page to send (:mod:`polyadic.explore.export`) call them by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.explore.answers.parts import contrast, keywords, ratios
from polyadic.explore.answers.tables import table
from polyadic.explore.answers.text import document, lines, overview
from polyadic.explore.answers.topics import topic, topics
from polyadic.explore.answers.words import phrase, places, senses, theme, word, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.explore.answers.common import Answer

ANSWERS: dict[str, Callable[..., Answer]] = {
    each.__name__: each
    for each in (
        overview,
        words,
        word,
        senses,
        phrase,
        lines,
        document,
        places,
        theme,
        topics,
        topic,
        table,
        keywords,
        contrast,
        ratios,
    )
}
"""What may be asked, by name."""

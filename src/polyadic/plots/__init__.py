"""Plotting functions that draw on matplotlib axes and return the axes, without calling ``show``.

The axes are ``ax``, by default those of a new figure, ``ax.figure``.
"""

from polyadic.plots.axes import new_axes
from polyadic.plots.series import bars, curves, descent, objective
from polyadic.plots.tables import biplot, contributions, scree
from polyadic.plots.text import activation_map, barcode, senses, templates, topic_groups, topic_words, word_map

__all__ = [
    "activation_map",
    "barcode",
    "bars",
    "biplot",
    "contributions",
    "curves",
    "descent",
    "new_axes",
    "objective",
    "scree",
    "senses",
    "templates",
    "topic_groups",
    "topic_words",
    "word_map",
]

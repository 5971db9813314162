"""Pictures: functions that draw onto matplotlib axes and return them. They never call ``show``."""

from lowrank.plots.axes import new_axes
from lowrank.plots.sentences import activation_map, templates
from lowrank.plots.series import bars, curves, objective
from lowrank.plots.tables import biplot, contributions, scree
from lowrank.plots.topics import topic_groups, topic_words
from lowrank.plots.words import senses

__all__ = [
    "activation_map",
    "bars",
    "biplot",
    "contributions",
    "curves",
    "new_axes",
    "objective",
    "scree",
    "senses",
    "templates",
    "topic_groups",
    "topic_words",
]

"""Matrix and tensor factorization of language.

Public names are available here and in the package of their family: ``polyadic.words``, ``topics``, ``sentences``,
``tables``, ``completion``, ``relations``, ``supervised``, ``ranking``, ``syntax`` and ``sequences``. Measures are in
``polyadic.metrics``. Modules are imported when a name is first used.
"""

from polyadic import completion, ranking, relations, sentences, sequences, supervised, syntax, tables, topics, words
from polyadic import metrics as metrics
from polyadic.core.lazy import attach
from polyadic.core.version import __version__ as __version__

_FAMILIES = (completion, ranking, relations, sentences, sequences, supervised, syntax, tables, topics, words)
_HOMES = {
    "CP": "polyadic.core.forms",
    "Entries": "polyadic.core.entries",
    "InputError": "polyadic.core.errors",
    "L1": "polyadic.core.penalties",
    "L2": "polyadic.core.penalties",
    "MissingExtraError": "polyadic.core.errors",
    "NonNegative": "polyadic.core.penalties",
    "Objective": "polyadic.core.objective",
    "SearchSpace": "polyadic.core.selection",
    "Squared": "polyadic.core.losses",
    "TableReading": "polyadic.text.tables",
    "Term": "polyadic.core.objective",
    "select": "polyadic.core.selection",
    "fold": "polyadic.core.unfolding",
    "frame": "polyadic.core.frames",
    "load": "polyadic.core.serialization",
    "mode_dot": "polyadic.core.unfolding",
    "read_tns": "polyadic.core.tns",
    "unfold": "polyadic.core.unfolding",
    "write_tns": "polyadic.core.tns",
}
_HOMES |= {name: home for family in _FAMILIES for name, home in family.HOMES.items()}

__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, _HOMES)

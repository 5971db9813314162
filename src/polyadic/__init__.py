"""Matrix and tensor factorization of language.

The names are here, and by family in ``polyadic.words``, ``tables``, ``sentences``, ``topics``, ``completion``,
``relations``, ``predictors``, ``syntax`` and ``sequences``; figures are in ``polyadic.metrics``. Each is loaded when it
is first used.
"""

from polyadic import completion, predictors, relations, sentences, sequences, syntax, tables, topics, words
from polyadic import metrics as metrics
from polyadic._lazy import attach

_FAMILIES = (completion, predictors, relations, sentences, sequences, syntax, tables, topics, words)
_HOMES = {
    "CP": "polyadic.forms",
    "Entries": "polyadic.data",
    "InputError": "polyadic.errors",
    "L1": "polyadic.penalties",
    "L2": "polyadic.penalties",
    "MissingExtraError": "polyadic.errors",
    "NonNegative": "polyadic.penalties",
    "Objective": "polyadic.objective",
    "Search": "polyadic.models.chosen",
    "Squared": "polyadic.losses",
    "Term": "polyadic.objective",
    "chosen": "polyadic.models.chosen",
    "frame": "polyadic.frames",
    "load": "polyadic.models.folder",
    "read_tns": "polyadic.tns",
    "write_tns": "polyadic.tns",
}
_HOMES |= {name: home for family in _FAMILIES for name, home in family.HOMES.items()}

__version__ = "0.1.0"
__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, _HOMES)

"""Loaders for published test sets, and readers for files in the same formats.

Loaders read the folder ``root``, by default the one that the environment variable ``POLYADIC_DATA`` names (see
:func:`folder`), and compare sizes with the published ones; nothing is downloaded. A file that cannot be read, is
malformed, or has another size raises :class:`~polyadic.InputError`; the message names the file, and the line or
instance.
"""

from polyadic.core.lazy import attach

_NAMES = {
    "polyadic.datasets.documents": ("Article", "BBC", "KOS", "bbc", "kos", "polarity"),
    "polyadic.datasets.place": ("folder",),
    "polyadic.datasets.senses": (
        *("Instance", "SEMEVAL2013", "SENSEVAL", "SenseSet", "read_instances", "read_sense_key", "read_senseval"),
        *("semeval2013", "senseval"),
    ),
    "polyadic.datasets.words": (
        *("ANALOGIES", "OUTLIERS", "Pair", "Question", "SIMILARITY", "analogy_questions", "gensim_file"),
        *("outlier_groups", "read_candidates", "read_gaps", "read_outlier_group", "read_outlier_groups", "read_pairs"),
        *("read_phrases", "read_questions", "similarity_sets", "write_candidates", "write_gaps", "write_phrases"),
    ),
    "polyadic.metrics.sentiment": ("Review",),
}
HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

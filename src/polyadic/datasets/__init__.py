"""Loaders for published test sets, and readers for files in the same formats.

Loaders read the folder ``root``, by default the one that the environment variable ``POLYADIC_DATA`` names (see
:func:`folder`), and compare sizes with the published ones; nothing is downloaded. A file that cannot be read, is
malformed, or has another size raises :class:`~polyadic.InputError`; the message names the file, and the line or
instance.
"""

from polyadic.core.lazy import attach

HOMES = {
    "ANALOGIES": "polyadic.datasets.words",
    "Article": "polyadic.datasets.documents",
    "BBC": "polyadic.datasets.documents",
    "Instance": "polyadic.datasets.senses",
    "KOS": "polyadic.datasets.documents",
    "OUTLIERS": "polyadic.datasets.words",
    "Pair": "polyadic.datasets.words",
    "Question": "polyadic.datasets.words",
    "Review": "polyadic.metrics.sentiment",
    "SEMEVAL2013": "polyadic.datasets.senses",
    "SENSEVAL": "polyadic.datasets.senses",
    "SIMILARITY": "polyadic.datasets.words",
    "SenseSet": "polyadic.datasets.senses",
    "analogy_questions": "polyadic.datasets.words",
    "bbc": "polyadic.datasets.documents",
    "folder": "polyadic.datasets.place",
    "gensim_file": "polyadic.datasets.words",
    "kos": "polyadic.datasets.documents",
    "outlier_groups": "polyadic.datasets.words",
    "polarity": "polyadic.datasets.documents",
    "read_candidates": "polyadic.datasets.words",
    "read_gaps": "polyadic.datasets.words",
    "read_instances": "polyadic.datasets.senses",
    "read_outlier_group": "polyadic.datasets.words",
    "read_outlier_groups": "polyadic.datasets.words",
    "read_pairs": "polyadic.datasets.words",
    "read_phrases": "polyadic.datasets.words",
    "read_questions": "polyadic.datasets.words",
    "read_sense_key": "polyadic.datasets.senses",
    "read_senseval": "polyadic.datasets.senses",
    "semeval2013": "polyadic.datasets.senses",
    "senseval": "polyadic.datasets.senses",
    "similarity_sets": "polyadic.datasets.words",
    "write_candidates": "polyadic.datasets.words",
    "write_gaps": "polyadic.datasets.words",
    "write_phrases": "polyadic.datasets.words",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

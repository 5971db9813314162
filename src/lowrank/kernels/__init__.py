"""The doors to the compiled loops: each makes arrays contiguous and of one type, checks shapes, then calls its loop.

Nothing else in the library imports a loop. Loops run without the interpreter's lock, so parts of the work go to
threads; a part has its own output, and parts are added in a fixed order: as many threads, the same bits.
"""

from lowrank.kernels.counting import WordIndex, chunk_sets, count_tuples, index_words, tuple_work
from lowrank.kernels.cp import cp_predict, cp_pullback, cp_squared

__all__ = [
    "WordIndex",
    "chunk_sets",
    "count_tuples",
    "cp_predict",
    "cp_pullback",
    "cp_squared",
    "index_words",
    "tuple_work",
]

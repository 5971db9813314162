"""The doors to the compiled loops: each makes arrays contiguous and of one type, checks shapes, then calls its loop.

Nothing else in the library imports a loop. Loops run without the interpreter's lock, so parts of the work go to
threads; a part has its own output, and parts are added in a fixed order: as many threads, the same bits.
"""

from lowrank.kernels.counting import WordIndex, chunk_sets, count_tuples, index_words, tuple_work
from lowrank.kernels.cp import cp_predict, cp_pullback, cp_squared
from lowrank.kernels.doors import table
from lowrank.kernels.glove import GloveCells, glove_arrange, glove_epoch
from lowrank.kernels.lasso import nonnegative_lasso
from lowrank.kernels.mttkrp import mttkrp, mttkrp_symmetric
from lowrank.kernels.poisson import cp_poisson
from lowrank.kernels.rows import RowEntries, posterior_rows
from lowrank.kernels.stochastic import (
    RowPenalties,
    Touched,
    absent_cells,
    adagrad_rows,
    adagrad_whole_rows,
    adam_rows,
    add_cp_pullback,
    add_cp_squared,
    pull_rows,
    touch_rows,
)
from lowrank.kernels.tucker import tucker_core, tucker_predict, tucker_pullback, unfolding_gram

__all__ = [
    "GloveCells",
    "RowEntries",
    "RowPenalties",
    "Touched",
    "WordIndex",
    "absent_cells",
    "adagrad_rows",
    "adagrad_whole_rows",
    "adam_rows",
    "add_cp_pullback",
    "add_cp_squared",
    "chunk_sets",
    "count_tuples",
    "cp_poisson",
    "cp_predict",
    "cp_pullback",
    "cp_squared",
    "glove_arrange",
    "glove_epoch",
    "index_words",
    "mttkrp",
    "mttkrp_symmetric",
    "nonnegative_lasso",
    "posterior_rows",
    "pull_rows",
    "table",
    "touch_rows",
    "tucker_core",
    "tucker_predict",
    "tucker_pullback",
    "tuple_work",
    "unfolding_gram",
]

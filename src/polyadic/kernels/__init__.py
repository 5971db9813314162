"""The doors to the compiled loops: each makes arrays contiguous and of one type, checks shapes, then calls its loop.

Here are those that several families of models use; those of one family are in the folder named for it.

Nothing else in the library imports a loop. Loops run without the interpreter's lock, so parts of the work go to
threads; the parts, and the order in which they are added, are the same for any number of threads, and so are the bits.
"""

from polyadic.kernels.best import best_of_rows
from polyadic.kernels.conjugate import conjugate_rows
from polyadic.kernels.counting import (
    WordIndex,
    chunk_sets,
    count_tuples,
    index_words,
    indexed_length,
    tuple_marginals,
    tuple_work,
    word_positions,
)
from polyadic.kernels.cp import cp_predict, cp_pullback, cp_squared
from polyadic.kernels.doors import table
from polyadic.kernels.glove import GloveCells, glove_arrange, glove_epoch
from polyadic.kernels.lasso import nonnegative_lasso, sparse_activations
from polyadic.kernels.mttkrp import mttkrp, mttkrp_symmetric
from polyadic.kernels.nonnegative import divergence_rows, expected_rows, hals, nonnegative_rows, simplex_rows
from polyadic.kernels.poisson import cp_poisson
from polyadic.kernels.polya_gamma import polya_gamma
from polyadic.kernels.products import sparse_product
from polyadic.kernels.rows import RandomRows, RowEntries, posterior_rows, row_moments, variational_rows
from polyadic.kernels.sgd import absent_columns, sgd_cells, sgd_labels, sgd_pairs
from polyadic.kernels.stochastic import (
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
from polyadic.kernels.triples import adagrad_step, add_rows, logistic_rows, softmax_rows, summed_rows
from polyadic.kernels.tucker import tucker_core, tucker_predict, tucker_pullback, unfolding_gram

__all__ = [
    "GloveCells",
    "RandomRows",
    "RowEntries",
    "RowPenalties",
    "Touched",
    "WordIndex",
    "absent_cells",
    "absent_columns",
    "adagrad_rows",
    "adagrad_step",
    "adagrad_whole_rows",
    "adam_rows",
    "add_cp_pullback",
    "add_cp_squared",
    "add_rows",
    "best_of_rows",
    "chunk_sets",
    "conjugate_rows",
    "count_tuples",
    "cp_poisson",
    "cp_predict",
    "cp_pullback",
    "cp_squared",
    "divergence_rows",
    "expected_rows",
    "glove_arrange",
    "glove_epoch",
    "hals",
    "index_words",
    "indexed_length",
    "logistic_rows",
    "mttkrp",
    "mttkrp_symmetric",
    "nonnegative_lasso",
    "nonnegative_rows",
    "polya_gamma",
    "posterior_rows",
    "pull_rows",
    "row_moments",
    "sgd_cells",
    "sgd_labels",
    "sgd_pairs",
    "simplex_rows",
    "softmax_rows",
    "sparse_activations",
    "sparse_product",
    "summed_rows",
    "table",
    "touch_rows",
    "tucker_core",
    "tucker_predict",
    "tucker_pullback",
    "tuple_marginals",
    "tuple_work",
    "unfolding_gram",
    "variational_rows",
    "word_positions",
]

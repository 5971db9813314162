"""Numba kernels shared by several families; those of one family are in its package.

Each kernel is a Python function that checks shapes and makes arrays contiguous, followed by the compiled loops that it
calls. The loops release the GIL and run in threads. How work is split and sums are ordered does not depend on the
number of threads, so neither does the result.
"""

from polyadic.core.lazy import attach

HOMES = {
    "RandomRows": "polyadic.core.kernels.rows",
    "RowEntries": "polyadic.core.kernels.rows",
    "RowPenalties": "polyadic.core.kernels.stochastic",
    "Touched": "polyadic.core.kernels.stochastic",
    "absent_cells": "polyadic.core.kernels.stochastic",
    "absent_columns": "polyadic.core.kernels.sgd",
    "adagrad_rows": "polyadic.core.kernels.stochastic",
    "adagrad_step": "polyadic.core.kernels.triples",
    "adagrad_whole_rows": "polyadic.core.kernels.stochastic",
    "adam_rows": "polyadic.core.kernels.stochastic",
    "add_cp_pullback": "polyadic.core.kernels.stochastic",
    "add_cp_squared": "polyadic.core.kernels.stochastic",
    "add_rows": "polyadic.core.kernels.triples",
    "best_of_rows": "polyadic.core.kernels.best",
    "conjugate_rows": "polyadic.core.kernels.conjugate",
    "cp_predict": "polyadic.core.kernels.cp",
    "cp_pullback": "polyadic.core.kernels.cp",
    "cp_squared": "polyadic.core.kernels.cp",
    "divergence_rows": "polyadic.core.kernels.nonnegative",
    "expected_rows": "polyadic.core.kernels.nonnegative",
    "hals": "polyadic.core.kernels.nonnegative",
    "logistic_rows": "polyadic.core.kernels.triples",
    "mttkrp": "polyadic.core.kernels.matricized_products",
    "mttkrp_symmetric": "polyadic.core.kernels.matricized_products",
    "nonnegative_lasso": "polyadic.core.kernels.lasso",
    "nonnegative_rows": "polyadic.core.kernels.nonnegative",
    "polya_gamma": "polyadic.core.kernels.polya_gamma_sampler",
    "posterior_rows": "polyadic.core.kernels.rows",
    "pull_rows": "polyadic.core.kernels.stochastic",
    "row_moments": "polyadic.core.kernels.rows",
    "sgd_cells": "polyadic.core.kernels.sgd",
    "sgd_labels": "polyadic.core.kernels.sgd",
    "sgd_pairs": "polyadic.core.kernels.sgd",
    "simplex_rows": "polyadic.core.kernels.nonnegative",
    "softmax_rows": "polyadic.core.kernels.triples",
    "sparse_activations": "polyadic.core.kernels.lasso",
    "sparse_product": "polyadic.core.kernels.products",
    "summed_rows": "polyadic.core.kernels.triples",
    "table": "polyadic.core.kernels.common",
    "touch_rows": "polyadic.core.kernels.stochastic",
    "variational_rows": "polyadic.core.kernels.rows",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

"""Numba kernels shared by several model families.

The kernels of a single family are in the package of that family. Each kernel is a Python function that checks shapes
and makes arrays contiguous, followed by the compiled loops that it calls. The loops release the GIL and run in threads.
How work is split and sums are ordered does not depend on the number of threads, so neither does the result.
"""

from polyadic.core.lazy import attach

_NAMES = {
    "common": ("table",),
    "cp": ("cp_predict", "cp_pullback", "cp_squared", "mttkrp", "mttkrp_symmetric"),
    "lasso": ("nonnegative_lasso", "sparse_activations"),
    "nonnegative": ("divergence_rows", "expected_rows", "hals", "nnls_rows", "nonnegative_rows", "simplex_rows"),
    "polya_gamma_sampler": ("polya_gamma",),
    "products": ("sparse_product",),
    "rows": (
        *("RandomRows", "RowEntries", "conjugate_rows", "lasso_rows", "posterior_rows", "row_moments"),
        "variational_rows",
    ),
    "saga": ("LinearExamples", "saga_epoch"),
    "sgd": ("absent_columns", "sgd_cells", "sgd_labels", "sgd_pairs"),
    "stochastic": (
        *("RowPenalties", "Touched", "absent_cells", "adagrad_rows", "adagrad_whole_rows"),
        *("adam_rows", "add_cp_pullback", "add_cp_squared", "pull_rows", "touch_rows"),
    ),
    "triples": ("adagrad_step", "add_rows", "best_of_rows", "logistic_rows", "softmax_rows", "summed_rows"),
}
HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

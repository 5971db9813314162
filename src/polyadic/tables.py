"""Correspondence analysis: of two variables, of many, with other residuals and kernels."""

from polyadic._lazy import attach

HOMES = {
    "CorrespondenceAnalysis": "polyadic.models.tables.correspondence",
    "CorrespondenceVectors": "polyadic.models.tables.vectors",
    "KernelCorrespondenceAnalysis": "polyadic.models.tables.kernel_correspondence",
    "MultipleCorrespondenceAnalysis": "polyadic.models.tables.multiple",
    "cross_table": "polyadic.recipes.tables",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

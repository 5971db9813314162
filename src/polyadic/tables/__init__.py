"""Correspondence analysis of contingency tables: simple, multiple, and kernel correspondence analysis."""

from polyadic.core.lazy import attach

HOMES = {
    "CorrespondenceAnalysis": "polyadic.tables.correspondence",
    "CorrespondenceVectors": "polyadic.tables.vectors",
    "KernelCorrespondenceAnalysis": "polyadic.tables.kernel_correspondence",
    "MultipleCorrespondenceAnalysis": "polyadic.tables.multiple",
    "cross_table": "polyadic.tables.cross_table",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)

"""Numba kernels for parsers, grammars and semantic role labelling."""

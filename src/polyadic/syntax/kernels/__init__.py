"""Numba kernels of parsers, grammars and semantic roles."""

"""Numba kernels of word vectors."""

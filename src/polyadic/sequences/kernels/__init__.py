"""Numba kernels for automata, hidden Markov models and taggers."""

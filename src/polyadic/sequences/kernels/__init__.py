"""Numba kernels of automata, hidden Markov models and taggers."""

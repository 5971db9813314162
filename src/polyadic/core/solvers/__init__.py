"""Optimization algorithms, implemented as generators of iterations for :func:`~polyadic.core.solvers.run.run`."""

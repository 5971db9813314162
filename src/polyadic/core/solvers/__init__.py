"""Optimization algorithms. Each is a generator of iterations, which :func:`~polyadic.core.solvers.run.run` draws."""

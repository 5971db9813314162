"""Optimization algorithms: generators of iterations, run by :func:`~polyadic.core.solvers.run.run`."""

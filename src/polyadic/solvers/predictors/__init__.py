"""Solvers of factorization machines, of tasks, and of what chooses from lists."""

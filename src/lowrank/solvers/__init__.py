"""Solvers: generators that improve factors sweep by sweep, and the one loop that draws from them."""

from lowrank.solvers.quasi_newton import quasi_newton
from lowrank.solvers.run import NotConvergedWarning, Result, Sweep, run

__all__ = ["NotConvergedWarning", "Result", "Sweep", "quasi_newton", "run"]

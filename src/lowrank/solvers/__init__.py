"""Solvers: generators that improve factors sweep by sweep, and the one loop that draws from them."""

from lowrank.solvers.als import als
from lowrank.solvers.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from lowrank.solvers.hooi import hooi, hosvd
from lowrank.solvers.poisson import apr
from lowrank.solvers.quasi_newton import quasi_newton
from lowrank.solvers.rules import Adagrad, Adam
from lowrank.solvers.run import DivergedWarning, NotConvergedWarning, Result, Sweep, run
from lowrank.solvers.stochastic import stochastic

__all__ = [
    "Adagrad",
    "Adam",
    "Checkpoint",
    "DivergedWarning",
    "NotConvergedWarning",
    "Result",
    "Sweep",
    "als",
    "apr",
    "hooi",
    "hosvd",
    "load_checkpoint",
    "quasi_newton",
    "run",
    "save_checkpoint",
    "stochastic",
]

"""Solvers: generators that improve factors sweep by sweep, and the one loop that draws from them."""

from polyadic.solvers.adaptive import Adagrad, Adam
from polyadic.solvers.als import als
from polyadic.solvers.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from polyadic.solvers.hooi import hooi, hosvd
from polyadic.solvers.poisson import apr
from polyadic.solvers.quasi_newton import quasi_newton
from polyadic.solvers.run import DivergedWarning, NotConvergedWarning, Result, Sweep, run
from polyadic.solvers.stochastic import stochastic

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

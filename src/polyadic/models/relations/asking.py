"""What a tensor model of knowledge is made of: its form, its start, and the questions that facts answer."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from polyadic.bilinear import Complex, Core, Diagonal, Slices
from polyadic.errors import InputError
from polyadic.solvers.relations.triples import Questions, questions_of
from polyadic.text.relations.facts import Facts, checked_triples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.bilinear import Bilinear
    from polyadic.forms import Factors

Form = Literal["CP", "DistMult", "ComplEx", "RESCAL", "Tucker2", "TuckER", "Tucker3"]
FORMS: dict[str, tuple[Bilinear, tuple[int, int]]] = {
    "CP": (Diagonal(), (0, 1)),
    "DistMult": (Diagonal(), (0, 0)),
    "ComplEx": (Complex(), (0, 0)),
    "RESCAL": (Slices(), (0, 0)),
    "Tucker2": (Slices(), (0, 1)),
    "TuckER": (Core(), (0, 0)),
    "Tucker3": (Core(), (0, 1)),
}
"""The form of each, and which factor is that of subjects and which that of objects."""
SPREAD = 1e-3
"""Standard deviation of the start. The first step of Adagrad is as long for any."""


class EmptyRelationWarning(UserWarning):
    """A relation has no facts to learn from."""


def learned_facts(X: Facts | ArrayLike) -> tuple[NDArray[np.int64], int, int]:
    """Give triples, each once, how many entities there are, and how many relations.

    Raises
    ------
    InputError
        If there are none, or they are malformed.
    """
    if isinstance(X, Facts):
        triples, sizes = X.triples, (len(X.entities), len(X.relations))
    else:
        given = np.asarray(X)
        if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iu":
            raise InputError(f"facts must be whole numbers of shape (n, 3); got {given.dtype} of shape {given.shape}")
        given = given.astype(np.int64)
        sizes = (int(given[:, [0, 2]].max(initial=-1)) + 1, int(given[:, 1].max(initial=-1)) + 1)
        triples = checked_triples("facts", given, *sizes)
    if not len(triples):
        raise InputError("there are no facts to learn from")
    if sizes[0] < 2:
        raise InputError("all facts are about one entity; there is nothing to tell it from")
    told = np.unique(triples[:, 1])
    if len(told) < sizes[1]:
        first = np.setdiff1d(np.arange(sizes[1]), told)[0]
        name = repr(X.relations[first]) if isinstance(X, Facts) else first
        warnings.warn(
            f"{sizes[1] - len(told)} of {sizes[1]} relations have no fact to learn from, such as {name}; their scores"
            " mean nothing",
            EmptyRelationWarning,
            stacklevel=3,
        )
    return np.unique(triples, axis=0), *sizes


def start_of(form: str, n: int, K: int, *, rank: int, relation_rank: int | None, rng: np.random.Generator) -> Factors:
    """Give small random factors of entities, then what the form holds of relations."""
    kind, ends = FORMS[form]
    shapes: list[tuple[int, ...]] = [(n, kind.width(rank))] * (max(ends) + 1)
    shapes += kind.shapes(rank, K, relation_rank or rank)
    return [(SPREAD * rng.standard_normal(shape)).astype(np.float32) for shape in shapes]


def questions(triples: NDArray[np.int64], K: int, *, reciprocal: bool) -> list[Questions]:
    """Ask for the objects and the subjects of facts; by a reciprocal relation, ``r + K``, both are objects."""
    if reciprocal:
        return [questions_of(np.concatenate([triples, triples[:, ::-1] + [0, K, 0]]))]
    return [questions_of(triples), questions_of(triples, backwards=True)]

"""Transitive verbs as matrices that map between the latent factors of subjects and objects."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from polyadic.core import resources
from polyadic.core.containers import IMPUTE, complete, entries_of, numbers_of
from polyadic.core.errors import InputError, check_choice
from polyadic.core.model import Model
from polyadic.core.progress import tracked
from polyadic.embedding import unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.core.entries import Entries

Weight = Literal["total", "specific", "log", "count"]


class TransitiveVerbs(Model):
    r"""Transitive verb model that represents each verb by a matrix over subject and object factors.

    .. math:: V_v = \sum_{s, o} x_{svo}\, n_s n_o^\top, \qquad
              C(s, v, o) = V_v * n_s n_o^\top, \qquad \phi(s, v, o) = \sum C = n_s^\top V_v\, n_o

    :math:`C` is the representation of a sentence, and sentences are compared by cosine. :math:`\phi` is the
    plausibility of subject and object. Noun factors N are given. If the columns of N are orthonormal, V is the core of
    the Tucker2 decomposition :math:`X_v \approx N V_v N^\top`.

    Parameters
    ----------
    weight : {"total", "specific", "log", "count"}
        Weight :math:`x` of a clause with count :math:`c`: the positive part of its total correlation
        :math:`\log p(s, v, o) / p(s) p(v) p(o)`; of its specific interaction, which excludes the interactions of pairs
        (signed such that pairs have their PMI); :math:`\log (1 + c)`; or :math:`c`.

    Attributes
    ----------
    noun_factors_ : float32 ndarray of shape (nouns, R)
        Noun factors N, with rows of length 1 or 0.
    verb_factors_ : float32 ndarray of shape (verbs, R, R)
        Verb matrices V.

    References
    ----------
    Van de Cruys, Poibeau, Korhonen (2013), A tensor-based factorization model of semantic compositionality.
    Van de Cruys (2011), Two multivariate generalizations of pointwise mutual information.

    Examples
    --------
    Dogs (0) and cats (1) eat (0) meat (2); meat sees (1) dogs.

    >>> from polyadic.core.entries import Entries
    >>> counts = Entries(np.array([[0, 0, 2], [1, 0, 2], [2, 1, 0]]), np.array([5.0, 5.0, 1.0]), (3, 2, 3))
    >>> model = TransitiveVerbs(weight="log").fit(counts, nouns=[[1.0, 0.2], [1.0, 0.1], [0.0, 1.0]])
    >>> eaten, eating = model.predict([0, 2], [0, 0], [2, 0])
    >>> bool(eaten > 2 * eating)
    True
    """

    _: KW_ONLY
    weight: Weight = "total"

    def fit(self, X: Any, y: object = None, *, nouns: ArrayLike) -> Self:
        """Compute the verb matrices from clause counts.

        ``X``, Entries or an array of shape (nouns, verbs, nouns), has the count of each clause of subject, verb and
        object, and ``nouns``, of shape (nouns, R), latent factors such as those of :class:`~polyadic.topics.nmf.NMF`;
        their rows are scaled to length 1.
        """
        self.check()
        X = entries_of(X, "X", remedy=IMPUTE)
        N = complete(numbers_of(nouns, "nouns"), "nouns").values.astype(np.float32)
        if X.order != 3 or X.symmetric or N.ndim != 2 or X.shape[0] != len(N) or X.shape[2] != len(N):
            about = "clause counts must have shape (nouns, verbs, nouns), and noun factors must have one row"
            raise InputError(f"{about} for each noun; got counts of shape {X.shape} and factors of shape {N.shape}")
        rank, verbs = N.shape[1], X.shape[1]
        resources.check_memory(4.0 * verbs * rank**2, f"{verbs:,} verbs of rank {rank}", "take fewer verbs or factors")
        N = unit_rows(N)
        values, verb = associations(X, weight=self.weight), np.asarray(X.indices[:, 1])
        order = np.argsort(verb, kind="stable")
        bounds = np.searchsorted(verb[order], np.arange(verbs + 1))
        V = np.empty((verbs, rank, rank), np.float32)
        for v in tracked(range(verbs), "adding up verbs"):
            at = order[bounds[v] : bounds[v + 1]]
            s, _, o = X.indices[at].T
            V[v] = (N[s] * values[at, None]).T @ N[o]
        self.noun_factors_, self.verb_factors_ = N, V
        return self

    def compose(self, subjects: ArrayLike, verbs: ArrayLike, objects: ArrayLike) -> NDArray[np.float32]:
        """Return the representation :math:`C` of each sentence, shape (m, R, R), given the numbers of its words."""
        s, v, o = self._numbers(subjects, verbs, objects)
        N = self.noun_factors_
        return np.asarray(self.verb_factors_[v] * N[s][:, :, None] * N[o][:, None, :])

    def predict(self, subjects: ArrayLike, verbs: ArrayLike, objects: ArrayLike) -> NDArray[np.float32]:
        r"""Return the plausibility :math:`\phi` of each sentence, shape (m,), with the arguments of :meth:`compose`."""
        s, v, o = self._numbers(subjects, verbs, objects)
        N = self.noun_factors_
        return np.array([N[i] @ self.verb_factors_[j] @ N[k] for i, j, k in zip(s, v, o, strict=True)], np.float32)

    def _numbers(self, *given: ArrayLike) -> list[NDArray[np.int64]]:
        sizes = len(self.noun_factors_), len(self.verb_factors_), len(self.noun_factors_)
        places = []
        for name, numbers, size in zip(("subjects", "verbs", "objects"), map(np.asarray, given), sizes, strict=True):
            if numbers.ndim != 1 or len(numbers) != len(np.asarray(given[0])):
                got = f"{name} of shape {numbers.shape}"
                raise InputError(f"subjects, verbs and objects must be one-dimensional and of equal length; got {got}")
            if numbers.size and (numbers.dtype.kind not in "iu" or not 0 <= numbers.min() <= numbers.max() < size):
                raise InputError(f"{name} must be whole numbers from 0 to {size - 1}")
            places.append(numbers.astype(np.int64))
        return places


def associations(counts: Entries, *, weight: Weight = "total") -> NDArray[np.float64]:
    """Return the association weight of each tuple, with marginal probabilities estimated from the given counts."""
    check_choice("weight", weight, get_args(Weight))
    c = np.asarray(counts.values, float)
    if not (np.isfinite(c).all() and (c > 0).all()):
        raise InputError("clause counts must be positive and finite")
    if weight == "count":
        return c
    if weight == "log":
        return np.log1p(c)
    order = counts.order
    sizes = range(1, order + 1) if weight == "specific" else (1, order)
    total = np.zeros(len(c))
    for size in sizes:
        sign = (-1) ** (order - size) if weight == "specific" else (1 if size == order else -1)
        for places in combinations(range(order), size):
            _, group = np.unique(counts.indices[:, places], axis=0, return_inverse=True)
            total += sign * np.log(np.bincount(group.ravel(), weights=c)[group.ravel()] / c.sum())
    return np.maximum(total, 0.0)

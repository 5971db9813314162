"""Ranking data: groups of candidates with features and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Array, ArrayLike, Ints
from polyadic.core.containers import complete, numbers_of, targets_of
from polyadic.core.errors import InputError


@dataclass(frozen=True, eq=False)
class QueryGroups:
    """Groups of candidates to rank, such as n-best lists of a parser, documents of a query, or classes of a text.

    Parameters
    ----------
    features : csr_array of shape (candidates, features)
        Features of each candidate. The candidates of a group are consecutive, in the order of the model that proposed
        them, the best first.
    costs : ndarray of shape (candidates,)
        Non-negative cost of selecting each candidate.
    starts : ndarray of int of shape (groups + 1,)
        First candidate of each group, and the number of candidates.
    grades : ndarray of shape (candidates,), optional
        Relevance of each candidate, for ranking metrics; by default the highest cost of the group minus the own cost.

    Raises
    ------
    InputError
        If features are not in CSR form, shapes do not fit, a group is empty, a cost is negative, or a cost or a feature
        is not finite.

    Examples
    --------
    >>> groups = QueryGroups.of([[1, 0], [0, 1], [1, 1]], costs=[0.5, 0.0, 0.2], group=["a", "a", "b"])
    >>> len(groups), groups.oracle.tolist(), groups.choice([0.9, 0.1, 0.3]).tolist()
    (2, [1, 2], [0, 2])
    >>> round(groups.cost(groups.choice([0.9, 0.1, 0.3])), 2)
    0.35
    """

    features: csr_array
    costs: Array
    starts: Ints
    grades: Array | None = None

    def __post_init__(self) -> None:
        if getattr(self.features, "format", None) != "csr":
            raise InputError("features must be a csr_array; QueryGroups.of converts other matrices", "features")
        n = self.features.shape[0]
        if self.costs.shape != (n,):
            raise InputError(f"there must be one cost for each of {n:,} candidates; got shape {self.costs.shape}")
        if self.starts.ndim != 1 or not len(self.starts) or self.starts[0] != 0 or self.starts[-1] != n:
            raise InputError(f"starts must begin with 0 and end with the number of candidates, {n:,}", "starts")
        if (np.diff(self.starts) < 1).any():
            raise InputError(f"group {int(np.argmin(np.diff(self.starts) > 0))} has no candidates")
        if not (np.isfinite(self.costs) & (self.costs >= 0)).all():
            raise InputError(
                f"costs must be finite and not negative; got {self.costs.min()} to {self.costs.max()}", "costs"
            )
        if not np.isfinite(self.features.data).all():
            raise InputError("features must be finite", "features")

    @classmethod
    def of(cls, features: Any, *, costs: ArrayLike, group: ArrayLike) -> QueryGroups:
        """Build groups from features, costs and the ``group`` label of each candidate.

        The features may be in any array or sparse matrix; the candidates of a group must be consecutive.
        """
        X, names = csr_array(complete(numbers_of(features, "features"), "features").values), np.asarray(group)
        if names.shape != (X.shape[0],):
            raise InputError(
                f"there must be one group label for each of {X.shape[0]:,} candidates; got shape {names.shape}"
            )
        starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]]) if len(names) else np.zeros(0, int)
        if len(np.unique(names[starts])) < len(starts):
            raise InputError("the candidates of a group must be consecutive; sort them by group")
        return cls(X, np.asarray(targets_of(costs, "costs"), float), np.r_[starts, len(names)].astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int]:
        """Shape (n_groups,), which lets scikit-learn split the groups like an array."""
        return (len(self),)

    def __getitem__(self, which: slice | ArrayLike | tuple[Any, Any]) -> QueryGroups:
        """Return the groups selected by a slice without step, an array of indices or a boolean mask."""
        if isinstance(which, tuple) and len(which) == 2 and which[1] is Ellipsis:
            which = which[0]  # scikit-learn indexes arrays along their first axis
        if not isinstance(which, slice):
            at = np.asarray(which)
            if at.ndim != 1:
                raise InputError(f"groups can only be indexed by a slice or a one-dimensional array; got {which}")
            return self.only(np.flatnonzero(at) if at.dtype == bool else at)
        first, last, step = which.indices(len(self))
        if step != 1 or last <= first:
            raise InputError(
                f"a slice of groups must have step 1 and select at least one of {len(self):,} groups; got {which}"
            )
        rows = slice(int(self.starts[first]), int(self.starts[last]))
        return self._of(rows, self.starts[first : last + 1] - rows.start)

    def only(self, groups: ArrayLike) -> QueryGroups:
        """Return the groups with the given indices, in the given order."""
        at = np.asarray(groups, np.int64)
        if len(at) and not 0 <= at.min() <= at.max() < len(self):
            raise InputError(
                f"group indices must be from 0 to {len(self) - 1:,}; got {at.min()} to {at.max()}", "groups"
            )
        sizes = np.diff(self.starts)[at]
        starts = np.r_[0, np.cumsum(sizes)]
        rows = np.repeat(self.starts[at] - starts[:-1], sizes) + np.arange(starts[-1])
        return self._of(rows, starts)

    def _of(self, rows: Any, starts: Ints) -> QueryGroups:
        grades = None if self.grades is None else self.grades[rows]
        return QueryGroups(self.features[rows], self.costs[rows], starts, grades)

    @property
    def oracle(self) -> Ints:
        """Index of the lowest-cost candidate in each group; the first in case of ties."""
        return self.choice(-self.costs)

    def choice(self, scores: ArrayLike) -> Ints:
        """Return the candidate with the highest of finite scores in each group, by index; the first in case of ties."""
        s = np.asarray(scores, float)
        if s.shape != self.costs.shape or not np.isfinite(s).all():
            raise InputError(f"there must be one finite score for each of {len(self.costs):,} candidates")
        order = np.lexsort((-s, np.repeat(np.arange(len(self)), np.diff(self.starts))))  # stable
        return np.asarray(order[self.starts[:-1]])

    def cost(self, choice: ArrayLike) -> float:
        """Return the mean cost of the selected candidates, one candidate per group."""
        return float(self.costs[np.asarray(choice)].mean())

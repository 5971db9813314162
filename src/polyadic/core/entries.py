"""Sparse matrices and tensors in coordinate format: indices and values of the observed entries."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from operator import index
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import coo_array

from polyadic.core.annotations import AnyArray, ArrayLike, Ints, Mask
from polyadic.core.arrays import open_array, save_array
from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.core.files import checked_in_background, read_meta, whole_folder, write_meta

Unobserved = Literal["zero", "missing"]
VERSION = 1
BLOCK = 1 << 20  # entries processed at once where a temporary per entry is needed


def blocks(n: int, size: int | None = None) -> Iterator[slice]:
    """Yield consecutive slices of ``size`` elements (``BLOCK`` by default) that cover ``range(n)``."""
    step = BLOCK if size is None else size
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def rising(columns: AnyArray) -> Mask:
    """Return whether each tuple, a column of a matrix, is lexicographically greater than the one before."""
    later = np.zeros(columns.shape[1] - 1, bool)
    for column in columns[::-1]:
        later = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & later)
    return later


@dataclass(frozen=True, eq=False)
class Entries:
    """Observed entries of a matrix or tensor in coordinate format.

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Position of each entry, of any integer type. Stored column by column: ``indices.T`` is contiguous.
    values : ndarray of shape (n,)
        Value of each entry.
    shape : tuple of int
        Length of each mode.
    weights : ndarray of shape (n,), optional
        Non-negative weight of each entry in a loss; 1 by default.
    unobserved : {"zero", "missing"}
        Whether entries that are not listed are zero or missing.
    symmetric : bool
        Whether the array is supersymmetric (invariant under permutations of its modes). Each unordered tuple is then
        listed once and stands for all its permutations; indices decrease along a row (in a vocabulary ordered by
        frequency: the rarest word first), and rows are in lexicographic order.

    Raises
    ------
    InputError
        If shapes do not fit, an index is out of range, a value is not finite, a weight is negative, or symmetric
        entries are not in order.

    Examples
    --------
    >>> x = Entries(np.array([[1, 0], [2, 1]]), np.array([3.0, 4.0]), (3, 3), symmetric=True)
    >>> x.order, len(x), x.to_coo().toarray().tolist()
    (2, 2, [[0.0, 3.0, 0.0], [3.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    """

    indices: AnyArray
    values: AnyArray
    shape: tuple[int, ...]
    weights: AnyArray | None = None
    unobserved: Unobserved = "zero"
    symmetric: bool = False

    def __post_init__(self) -> None:
        check_choice("unobserved", self.unobserved, get_args(Unobserved))
        if self.indices.ndim != 2 or self.indices.dtype.kind not in "iu":
            raise InputError(
                f"indices must be an integer array of shape (n, order); got {self.indices.dtype} of shape"
                f" {self.indices.shape}",
                "indices",
            )
        if self.indices.shape[1] != len(self.shape):
            raise InputError(
                f"shape must contain one length for each of {self.indices.shape[1]} columns of indices;"
                f" got {self.shape}",
                "shape",
            )
        if not self.indices.flags.f_contiguous:
            object.__setattr__(self, "indices", np.asfortranarray(self.indices))
        for name, array in (("values", self.values), ("weights", self.weights)):
            if array is not None and array.shape != (len(self.indices),):
                raise InputError(
                    f"{name} must have shape ({len(self.indices)},), one value per entry; got shape {array.shape}"
                )
            if array is not None:
                self._refuse_unusual(name, array)
        if self.weights is not None and len(self) and self.weights.min() < 0:
            raise InputError(f"weights must not be negative; the smallest is {self.weights.min()}", "weights")
        for d, size in enumerate(self.shape):
            self._refuse_outside(d, size)
        if self.symmetric:
            self._refuse_disorder()

    @classmethod
    def collect(
        cls, indices: ArrayLike, values: ArrayLike, size: int | Sequence[int], *, unobserved: Unobserved = "zero"
    ) -> Entries:
        """Build entries from index tuples (n, order) and values (n,) in any order, adding those of duplicate tuples.

        ``size`` is the length of every mode of symmetric entries, where the order of the indices in a tuple does not
        matter; or the shape of entries that are not symmetric.

        Examples
        --------
        >>> x = Entries.collect([[0, 1, 2], [2, 0, 1], [3, 3, 0]], [1.0, 1.0, 5.0], 4)
        >>> x.indices.tolist(), x.values.tolist()
        ([[2, 1, 0], [3, 3, 0]], [2.0, 5.0])
        >>> Entries.collect([[0, 1], [1, 0], [0, 1]], [1.0, 2.0, 3.0], (2, 2)).values.tolist()
        [4.0, 2.0]
        """
        lengths = size if isinstance(size, Sequence) else [size]
        symmetric = lengths is not size
        for length in lengths:
            check_int("size", length, low=1)
        rows = np.asarray(indices)
        numbers: AnyArray = np.ma.filled(np.ma.asarray(values, float), np.nan)
        if rows.ndim != 2 or numbers.shape != (len(rows),):
            raise InputError(
                f"indices must have shape (n, order) and values shape (n,); got {rows.shape} and {numbers.shape}",
                "indices",
            )
        tuples = np.sort(rows, axis=1)[:, ::-1] if symmetric else rows
        unique, inverse = np.unique(tuples, axis=0, return_inverse=True)
        sums = np.bincount(inverse.ravel(), weights=numbers, minlength=len(unique))
        shape = tuple(lengths) * (unique.shape[1] if symmetric else 1)
        return cls(np.asfortranarray(unique), sums, shape, unobserved=unobserved, symmetric=symmetric)

    @property
    def order(self) -> int:
        """Number of modes."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.indices)

    def multiplicity(self) -> Ints:
        """Return the number of distinct permutations of each entry's indices; 1 unless the entries are symmetric.

        Examples
        --------
        >>> Entries.collect([[2, 1, 0], [1, 1, 0], [1, 1, 1]], [1, 1, 1], 3).multiplicity().tolist()
        [3, 1, 6]
        """
        copies = np.ones(len(self), np.int64)
        if self.symmetric:
            copies *= math.factorial(self.order)
            run = np.ones(len(self), np.int64)
            for d in range(1, self.order):
                repeated = self.indices[:, d] == self.indices[:, d - 1]
                if repeated.any():
                    run = np.where(repeated, run + 1, 1)
                    copies //= run
                else:  # the usual case; divisions are slow
                    run[:] = 1
        return copies

    def find(self, tuples: ArrayLike) -> Ints:
        """Return the position of each index tuple among the entries, or -1 for tuples that are not observed.

        The entries must be symmetric, and ``tuples`` integers of shape (m, order), each in any order.

        Examples
        --------
        >>> Entries.collect([[0, 1, 2], [3, 3, 0]], [1.0, 5.0], 4).find([[2, 1, 0], [0, 3, 3], [3, 1, 0]]).tolist()
        [0, 1, -1]
        """
        if not self.symmetric:
            raise InputError("Entries.find requires sorted symmetric entries; create them with Entries.collect")
        rows = np.asarray(tuples)
        if rows.ndim != 2 or rows.shape[1] != self.order or rows.dtype.kind not in "iu":
            raise InputError(
                f"tuples must be an integer array of shape (m, {self.order}); got {rows.dtype} of shape {rows.shape}",
                "tuples",
            )
        if not len(self):
            return np.full(len(rows), -1)
        rows = np.sort(rows, axis=1)[:, ::-1]
        low, high = np.zeros(len(rows), np.int64), np.full(len(rows), len(self), np.int64)
        for _ in range(len(self).bit_length()):
            middle = (low + high) // 2
            smaller, _ = self._compare(np.minimum(middle, len(self) - 1), rows)
            smaller &= low < high
            low = np.where(smaller, middle + 1, low)
            high = np.where(smaller, high, np.minimum(middle, high))
        _, equal = self._compare(np.minimum(low, len(self) - 1), rows)
        return np.where(equal, low, -1)

    def _compare(self, at: Ints, rows: AnyArray) -> tuple[Mask, Mask]:
        """Compare each entry with an index tuple; return masks of the lexicographically smaller and equal entries."""
        smaller, equal = np.zeros(len(rows), bool), np.ones(len(rows), bool)
        for d in range(self.order):
            index = self.indices[at, d]
            smaller |= equal & (index < rows[:, d])
            equal &= index == rows[:, d]
        return smaller, equal

    def holding(self, pairs: ArrayLike) -> Entries:
        """Return the entries whose indices include both members of at least one of the given pairs.

        The entries must be symmetric, and ``pairs`` integers of shape (m, 2), each in any order.

        Examples
        --------
        >>> x = Entries.collect([[0, 1, 2], [1, 2, 3], [0, 2, 3]], [5.0, 7.0, 9.0], 4)
        >>> x.holding([[2, 1], [0, 1]]).indices.tolist()
        [[2, 1, 0], [3, 2, 1]]
        """
        if not self.symmetric:
            raise InputError("Entries.holding requires symmetric entries; create them with Entries.collect")
        rows, size = np.asarray(pairs, np.int64).reshape(-1, 2), self.shape[0]
        keys = rows.max(axis=1, initial=0) * size + rows.min(axis=1, initial=size)
        found = [np.empty(0, np.int64)]
        for block in self.blocks():
            columns = self.indices[block].T.astype(np.int64)
            held = np.zeros(columns.shape[1], bool)
            for a, b in combinations(range(self.order), 2):  # indices decrease along a row
                held |= np.isin(columns[a] * size + columns[b], keys)
            found.append(block.start + np.flatnonzero(held))
        return self.only(np.concatenate(found))

    def squares(self) -> float:
        """Return the weighted sum of the squared values, counting each symmetric entry once.

        Examples
        --------
        >>> Entries.collect([[0, 1], [1, 2]], [3.0, 4.0], 3).squares()
        25.0
        """
        w = self.weights
        return sum(
            float(np.sum((1 if w is None else w[block]) * self.values[block].astype(float) ** 2))
            for block in self.blocks()
        )

    def hold_out(self, share: float, rng: np.random.Generator) -> tuple[Entries, Entries]:
        """Split the entries at random into a training set and a test set.

        The training set lists all entries, the held-out ones with weight zero: they are unknown rather than known to be
        zero. The ``share`` is from 0 to below 1; InputError is raised if it is too small for any entry.

        Examples
        --------
        >>> x = Entries.collect([[0, 1], [1, 2]], [3.0, 4.0], 3)
        >>> known, held = x.hold_out(0.5, np.random.default_rng(0))
        >>> known.weights.tolist(), held.values.tolist()
        ([1.0, 0.0], [4.0])
        """
        if not 0 <= check_number("validation", share) < 1:
            raise InputError(f"the held-out fraction must be less than 1; got {share}")
        out = np.sort(rng.choice(len(self), round(share * len(self)), replace=False, shuffle=False))
        if share and not len(out):
            raise InputError(
                f"holding out the fraction {share:g} of {len(self):,} entries leaves the test set empty; increase the"
                " fraction"
            )
        if not share:
            return self, replace(self, indices=self.indices[:0], values=self.values[:0], weights=None)
        weights = np.ones(len(self), np.float32) if self.weights is None else self.weights.copy()
        held = self.only(out, weights=weights[out])
        weights[out] = 0
        return replace(self, weights=weights), held

    def expand(self) -> Entries:
        """Expand symmetric entries to all permutations of their indices; return other entries unchanged."""
        if not self.symmetric:
            return self
        rows = np.concatenate([self.indices[:, axes] for axes in permutations(range(self.order))])
        indices, first = np.unique(rows, axis=0, return_index=True)
        return self.only(first % max(len(self), 1), indices=np.asfortranarray(indices), symmetric=False)

    def only(self, at: AnyArray, **changes: Any) -> Entries:
        """Return the entries selected by positions or by a mask, with the attributes in ``changes`` replaced."""
        weights = None if self.weights is None else self.weights[at]
        some = {"indices": np.asfortranarray(self.indices[at]), "values": self.values[at], "weights": weights}
        return replace(self, **some | changes)

    def to_coo(self) -> Any:
        """Convert to a :class:`scipy.sparse.coo_array` that contains all permutations of symmetric entries."""
        full = self.expand()
        return coo_array((full.values, tuple(full.indices.T)), shape=self.shape)

    def blocks(self) -> Iterator[slice]:
        """Yield slices that divide the entries into blocks small enough for temporary arrays."""
        return blocks(len(self))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the entries atomically to a folder that :meth:`load` can open; ``overwrite`` replaces entries there."""
        with whole_folder(path, kind="entries", overwrite=overwrite) as draft:
            self.write_into(draft)
            write_meta(draft, "entries", VERSION, **self.description())

    def write_into(self, folder: Path) -> None:
        """Write the arrays as ``.npy`` files to an existing folder."""
        save_array(folder / "indices.npy", np.ascontiguousarray(self.indices.T))
        save_array(folder / "values.npy", self.values)
        if self.weights is not None:
            save_array(folder / "weights.npy", self.weights)

    def description(self) -> dict[str, Any]:
        """Return the shape and other metadata to store in ``meta.json``."""
        return {
            "shape": list(self.shape),
            "unobserved": self.unobserved,
            "symmetric": self.symmetric,
            "weighted": self.weights is not None,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Entries:
        """Load entries saved by :meth:`save`, with memory-mapped arrays.

        A folder of another kind or version, or a damaged one, raises InputError.
        """
        meta = read_meta(path, "entries", VERSION)
        with checked_in_background(Path(path)):
            return cls.read_from(Path(path), meta)

    @classmethod
    def read_from(cls, folder: Path, meta: dict[str, Any]) -> Entries:
        """Load arrays written by :meth:`write_into`, given the metadata of the entries."""
        whole = tuple(np.dtype(code) for code in np.typecodes["AllInteger"])
        numbers: tuple[Any, ...] = (*whole, np.float32, np.float64)
        indices = open_array(folder / "indices.npy", whole, ndim=2)
        values = open_array(folder / "values.npy", numbers)
        try:
            weights = open_array(folder / "weights.npy", numbers) if meta["weighted"] else None
            how = {name: meta[name] for name in ("unobserved", "symmetric")}
            return cls(indices.T, values, tuple(map(index, meta["shape"])), weights, **how)
        except KeyError as error:
            raise InputError(f"{folder}: meta.json has no key {error}") from None
        except TypeError as error:
            raise InputError(f"{folder}: meta.json is damaged: {error}") from None
        except InputError as error:
            raise InputError(f"{folder}: {error}") from None

    def _refuse_unusual(self, name: str, array: AnyArray) -> None:
        if np.ma.is_masked(array):
            raise InputError(f"{name} must not be masked; leave out the masked entries")
        for block in self.blocks() if array.dtype.kind not in "biu" else ():
            bad = np.flatnonzero(~np.isfinite(array[block]))
            if bad.size:
                at = block.start + int(bad[0])
                raise InputError(f"{name} must be finite; entry {at} is {array[at]}")

    def _refuse_outside(self, mode: int, size: int) -> None:
        column = self.indices[:, mode]
        if len(column) and not (column.min() >= 0 and column.max() < size):
            at = int(np.flatnonzero((column < 0) | (column >= size))[0])
            raise InputError(f"index {column[at]} of entry {at} is out of range for mode {mode} of length {size}")

    def _refuse_disorder(self) -> None:
        if len(set(self.shape)) > 1:
            raise InputError(f"the modes of a symmetric array must have equal lengths; got shape {self.shape}")
        for block in self.blocks():
            rows = self.indices[max(block.start - 1, 0) : block.stop].T
            falling = np.ones(rows.shape[1], bool)
            for d in range(1, self.order):
                falling &= rows[d] <= rows[d - 1]
            bad = np.flatnonzero(~falling[1:] | ~rising(rows)) if falling[:1].all() else np.array([0])
            if bad.size:
                raise InputError(
                    "symmetric entries must be unique tuples of decreasing indices in lexicographic order;"
                    f" the order is violated near entry {block.start + int(bad[0])} (Entries.collect sorts tuples)"
                )

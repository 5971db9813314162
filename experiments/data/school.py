"""Examination scores of pupils in 139 schools of London: as many regressions over the same features."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.data.matlab import matlab
from polyadic.core.errors import InputError
from polyadic.datasets.place import check_count, folder

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

PUPILS, SCHOOLS, FEATURES = 15_362, 139, 27


class School(NamedTuple):
    """Pupils, school by school.

    ``features``: Year, gender, band of verbal reasoning, ethnic group and kind of school by truth values; two shares of
    pupils of the school, in per cent.
    """

    features: NDArray[np.float64]
    scores: NDArray[np.float64]
    schools: NDArray[np.int64]


def school(*, root: str | os.PathLike[str] | None = None) -> School:
    """Read the pupils.

    ``root``: See :func:`~polyadic.datasets.folder`; the file is ``multilabel/school.mat``.

    References
    ----------
    Argyriou, Evgeniou, Pontil (2008), Convex multi-task feature learning, section 6.2.
    """
    path = folder(root) / "multilabel" / "school.mat"
    with matlab(path, "lists X and Y") as arrays:
        X, Y = ([np.asarray(part, float) for part in arrays[name].ravel()] for name in ("X", "Y"))
        sizes = [len(part) for part in X]
        features, scores = np.vstack(X), np.concatenate([part.ravel() for part in Y])
    check_count(path, len(sizes), SCHOOLS, "schools")
    check_count(path, len(scores), PUPILS, "pupils")
    if features.shape != (PUPILS, FEATURES + 1) or not (features[:, -1] == 1).all():
        raise InputError(f"{path}: expected {FEATURES} features and ones; got an array of shape {features.shape}")
    return School(features[:, :-1], scores, np.repeat(np.arange(SCHOOLS), sizes))

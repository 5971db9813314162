"""The folder of a model of semantic roles: settings and names in ``meta.json``, weights and factors beside it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyadic.files import damage_told, numbered, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.syntax.predicates import PredicateFinder
from polyadic.models.syntax.role_frames import Known
from polyadic.models.syntax.semantic_roles import SemanticRoles
from polyadic.solvers.syntax.role_tensor import RoleParts

if TYPE_CHECKING:
    import os

KIND, VERSION = "semantic-roles", 1


def save_roles(model: SemanticRoles, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : SemanticRoles
    path : path
        The folder to make.
    overwrite : bool
        Whether a model that is there is replaced.

    Raises
    ------
    InputError
        If something else is there.
    """
    from safetensors.numpy import save

    settings = {name: getattr(model, name) for name in inspect.signature(SemanticRoles).parameters if name != "watch"}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    arrays = {name: np.ascontiguousarray(part) for name, part in model.parts_._asdict().items()}
    cells = np.flatnonzero(arrays.pop("theta"))
    arrays |= {"cells": cells, "weights": model.parts_.theta[cells], "predicates": model.predicates_.weights_}
    names = {kind: list(numbers) for kind, numbers in model.known_._asdict().items()}
    finder = {"features": list(model.predicates_.features_), "senses": model.predicates_.senses_}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        write_meta(draft, KIND, VERSION, settings=settings, known=names, roles=model.roles_, predicates=finder)


def load_roles(path: str | os.PathLike[str]) -> SemanticRoles:
    """Read what :func:`save_roles` wrote.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        model = SemanticRoles(**meta["settings"])
        model.check()
        model.costs = (model.costs[0], model.costs[1], model.costs[2])
        arrays = read_arrays(folder)
        model.known_ = Known(*(numbered("features", meta["known"][kind]) for kind in Known._fields))
        model.roles_ = [*numbered("roles", meta["roles"])]
        theta = np.zeros((1 << model.bits) + len(model.roles_) + 1, np.float32)
        cells, weights = arrays["cells"], arrays["weights"]
        if cells.dtype != np.int64 or (cells.size and not 0 <= cells.min() <= cells.max() < len(theta)):
            raise ValueError(f"cells are not numbers from 0 to {len(theta) - 1}")
        if cells.ndim != 1 or weights.shape != cells.shape or weights.dtype != np.float32:
            raise ValueError(f"weights are not {cells.size} numbers of float32, one for each cell")
        theta[cells] = weights
        model.parts_ = RoleParts(theta, *(arrays[name] for name in RoleParts._fields[1:]))
        words, paths = map(len, model.known_)
        K = model.rank if model.gamma < 1 else 1
        wanted = [theta.shape, (words, K), (words, K), (paths, K), (len(model.roles_) + 1, K)]
        if [part.shape for part in model.parts_] != wanted:
            raise ValueError(f"parts have the shapes {[part.shape for part in model.parts_]}, not {wanted}")
        finder = model.predicates_ = PredicateFinder()
        finder.features_ = numbered("features of predicates", meta["predicates"]["features"])
        finder.senses_, finder.weights_ = dict(meta["predicates"]["senses"]), arrays["predicates"]
        if not all(isinstance(sense, str) for sense in finder.senses_.values()):
            raise ValueError("senses are not strings")
        if finder.weights_.shape != (len(finder.features_),):
            raise ValueError(f"there are {len(finder.features_)} features of predicates, not {finder.weights_.shape}")
        if any(x.dtype != np.float32 or not np.isfinite(x).all() for x in (*model.parts_, finder.weights_)):
            raise ValueError("parts are not finite numbers of float32")
    return model

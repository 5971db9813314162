"""The folder of a low-rank parser: settings and names in ``meta.json``, weights and factors beside it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lowrank.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from lowrank.kernels.arc_tensor import DISTANCES, ArcParts
from lowrank.models.syntax.low_rank_parser import LowRankParser

if TYPE_CHECKING:
    import os

KIND, VERSION = "low-rank-parser", 1


def save_parser(model: LowRankParser, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted parser, whole or not at all.

    Parameters
    ----------
    model : LowRankParser
    path : path
        The folder to make.
    overwrite : bool
        Whether a parser that is there is replaced.

    Raises
    ------
    InputError
        If something else is there.
    """
    from safetensors.numpy import save

    settings = {name: getattr(model, name) for name in inspect.signature(LowRankParser).parameters if name != "watch"}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    arrays = {name: np.ascontiguousarray(part) for name, part in model.parts_._asdict().items()}
    rows = np.flatnonzero(model.relation_weights_.any(axis=1))
    arrays |= {"relation_rows": rows, "relation_weights": model.relation_weights_[rows]}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        names = {"features": list(model.features_), "relations": model.relations_}
        write_meta(draft, KIND, VERSION, settings=settings, cells=len(model.relation_weights_), **names)


def load_parser(path: str | os.PathLike[str]) -> LowRankParser:
    """Read what :func:`save_parser` wrote.

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
        model = LowRankParser(**meta["settings"])
        arrays = read_arrays(folder)
        model.features_ = {name: at for at, name in enumerate(meta["features"])}
        model.relations_ = meta["relations"]
        model.parts_ = ArcParts(*(arrays[name] for name in ArcParts._fields))
        F, R = len(model.features_), model.rank if model.gamma < 1 else 1
        wanted = [(1 << model.bits,), (F, R), (F, R), (DISTANCES, R)]
        if [part.shape for part in model.parts_] != wanted:
            raise ValueError(f"parts have the shapes {[part.shape for part in model.parts_]}, not {wanted}")
        if any(part.dtype != np.float32 or not np.isfinite(part).all() for part in model.parts_):
            raise ValueError("parts are not finite numbers of float32")
        weights = np.zeros((meta["cells"], len(model.relations_)), np.float32)
        weights[arrays["relation_rows"]] = arrays["relation_weights"]
        model.relation_weights_ = weights
    return model

"""The folder of a low-rank parser: settings and names in ``meta.json``, weights and factors beside it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyadic.embedding import Embedding
from polyadic.files import damage_told, numbered, read_arrays, read_meta, whole_folder, write_meta
from polyadic.kernels.syntax.arc_tensor import DISTANCES, ArcParts
from polyadic.models.syntax.arc_vectors import AROUND
from polyadic.models.syntax.higher_order import HigherOrderParser
from polyadic.models.syntax.low_rank_parser import RELATION_BITS, LowRankParser
from polyadic.models.syntax.parser_settings import check_order, check_settings

if TYPE_CHECKING:
    import os

KIND, VERSION = "low-rank-parser", 2
OTHER = {"watch", "vectors"}
"""What is no setting: it is not kept, or kept in a file of its own."""


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

    options = inspect.signature(type(model)).parameters
    settings = {name: getattr(model, name) for name in options if name not in OTHER}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    arrays = {name: np.ascontiguousarray(part) for name, part in model.parts_._asdict().items()}
    rows = np.flatnonzero(model.relation_weights_.any(axis=1))
    arrays |= {"relation_rows": rows, "relation_weights": model.relation_weights_[rows]}
    if isinstance(model, HigherOrderParser):
        arrays["tree_weights"] = model.tree_weights_
    words = None
    if model.vectors is not None:
        words, arrays["vectors"] = model.vectors.words, np.ascontiguousarray(model.vectors.vectors)
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        names = {"features": list(model.features_), "relations": model.relations_, "words": words}
        write_meta(draft, KIND, VERSION, settings=settings, **names)


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
        arrays = read_arrays(folder)
        words = meta["words"]
        vectors = None if words is None else Embedding(words, arrays["vectors"])
        settings = meta["settings"]
        model = (HigherOrderParser if "order" in settings else LowRankParser)(**settings, vectors=vectors)
        check_settings(model)
        model.features_ = numbered("features", meta["features"])
        model.relations_ = [*numbered("relations", meta["relations"])]
        model.parts_ = ArcParts(*(arrays[name] for name in ArcParts._fields))
        F, R = len(model.features_) + (AROUND * vectors.rank if vectors else 0), model.rank if model.gamma < 1 else 1
        wanted = [(1 << model.bits,), (F, R), (F, R), (DISTANCES, R)]
        if [part.shape for part in model.parts_] != wanted:
            raise ValueError(f"parts have the shapes {[part.shape for part in model.parts_]}, not {wanted}")
        rows, values = arrays["relation_rows"], arrays["relation_weights"]
        weights = np.zeros((1 << min(model.bits, RELATION_BITS), len(model.relations_)), np.float32)
        within = rows.dtype == np.int64 and (not rows.size or 0 <= rows.min() <= rows.max() < len(weights))
        if not within or rows.ndim != 1 or values.shape != (len(rows), weights.shape[1]):
            raise ValueError(f"weights of relations, of shape {values.shape}, do not go with their rows and names")
        weighed = [*model.parts_, values]
        if isinstance(model, HigherOrderParser):
            check_order(model)
            model.tree_weights_ = arrays["tree_weights"]
            weighed.append(model.tree_weights_)
            if model.tree_weights_.shape != (1 << model.bits,):
                raise ValueError(
                    f"weights of parts have the shape {model.tree_weights_.shape}, not {(1 << model.bits,)}"
                )
        if any(part.dtype != np.float32 or not np.isfinite(part).all() for part in weighed):
            raise ValueError("parts are not finite numbers of float32")
        weights[rows] = values
        model.relation_weights_ = weights
    return model

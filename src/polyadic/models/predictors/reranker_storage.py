"""The folder of a reranker: settings in ``meta.json``, weights beside it, names of features in ``names.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.predictors.linear_rerankers import MIRA, RankingPerceptron
from polyadic.models.predictors.tensor_mira import TensorMIRA

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from polyadic.models.predictors.reranking import Reranker

KIND, VERSION = "reranker", 1
MODELS: dict[str, type[Reranker]] = {model.__name__: model for model in (RankingPerceptron, MIRA, TensorMIRA)}


def save_reranker(model: Reranker, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Raises
    ------
    InputError
        If something else is there, or classes are neither texts nor numbers.
    """
    from safetensors.numpy import save
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    arrays: dict[str, NDArray[Any]] = {"weights": model.weights_}
    if isinstance(model, TensorMIRA):
        arrays |= {"place": model.place_} | {f"factor_{d}": w for d, w in enumerate(model.factors_)}
    settings = {name: value for name, value in model.get_params().items() if name != "watch"}
    classes = _plain(getattr(model, "classes_", None))
    if classes is not None and not all(isinstance(label, str | int | float) for label in classes):
        raise InputError(f"classes of type {type(classes[0]).__name__} cannot be saved; use texts or numbers")
    fitted = {"history": model.history_, "interrupted": model.interrupted_, "converged": model.converged_}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        (draft / "arrays.safetensors").write_bytes(save(contiguous))
        if model.names_ is not None:
            (draft / "names.json").write_text(json.dumps(list(model.names_), ensure_ascii=False), encoding="utf-8")
        told = {"settings": _plain(settings), "fitted": fitted, "named": model.names_ is not None}
        write_meta(draft, KIND, VERSION, model=type(model).__name__, classes=classes, **told)


def load_reranker(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_reranker` wrote: a model of the class that was saved.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        model: Any = MODELS[meta["model"]](**meta["settings"])
        arrays = read_arrays(folder)
        model.weights_ = arrays["weights"]
        model.names_ = json.loads((folder / "names.json").read_text(encoding="utf-8")) if meta["named"] else None
        if meta["classes"] is not None:
            model.classes_ = np.asarray(meta["classes"])
        fitted = meta["fitted"]
        model.history_, model.n_iter_ = fitted["history"], len(fitted["history"]) - 1
        model.interrupted_, model.converged_ = fitted["interrupted"], fitted["converged"]
        if isinstance(model, TensorMIRA):
            model.place_ = arrays["place"]
            model.factors_ = [arrays[f"factor_{d}"] for d in range(model.order)]
        _check(model)
    return model


def _check(model: Any) -> None:
    """Refuse arrays that do not fit together."""
    V = len(model.weights_)
    if model.weights_.ndim != 1 or not np.isfinite(model.weights_).all():
        raise ValueError("weights are not finite")
    if model.names_ is not None and len(model.names_) != V:
        raise ValueError(f"{len(model.names_)} names do not fit {V} weights")
    if hasattr(model, "classes_") and (len(model.classes_) < 2 or V % len(model.classes_)):
        raise ValueError(f"{V} weights do not fit {len(model.classes_)} classes")
    if not isinstance(model, TensorMIRA):
        return
    if any(w.ndim != 2 or w.shape[1] != model.rank or not np.isfinite(w).all() for w in model.factors_):
        raise ValueError(f"factors do not have the rank {model.rank}, or are not finite")
    cells = int(np.prod([len(w) for w in model.factors_]))
    if model.place_.shape != (V,) or not 0 <= model.place_.min() <= model.place_.max() < cells:
        raise ValueError(f"cells of features are not below {cells}, or not {V}")


def _plain(value: Any) -> Any:
    """Make JSON's types of numpy's."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value

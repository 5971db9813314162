"""The folder of a factorization machine: settings and classes in ``meta.json``, parameters or draws beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.predictors.bayesian_base import DrawnMachine
from polyadic.models.predictors.bayesian_machines import (
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
)
from polyadic.models.predictors.machine_base import TwoClasses
from polyadic.models.predictors.machine_classifier import FactorizationMachineClassifier
from polyadic.models.predictors.machine_ranking import FactorizationMachineRanker
from polyadic.models.predictors.machines import FactorizationMachine

if TYPE_CHECKING:
    import os

    from polyadic.models.predictors.machine_base import MachineBase

KIND, VERSION = "factorization-machine", 2
SCALARS: dict[type[Any], tuple[str, ...]] = {
    FactorizationMachine: ("bias_", "n_iter_", "interrupted_"),
    FactorizationMachineClassifier: ("bias_", "n_iter_", "interrupted_"),
    FactorizationMachineRanker: ("n_iter_", "interrupted_"),
    BayesianFactorizationMachine: ("n_draws_", "interrupted_", "mean_", "scale_", "noise_", "range_"),
    BayesianFactorizationMachineClassifier: ("n_draws_", "interrupted_"),
}
"""What each model has besides arrays and classes: numbers, of ``range_`` two."""
MODELS = {model.__name__: model for model in SCALARS}


def save_machine(model: MachineBase, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Raises
    ------
    InputError
        If something else is there.
    """
    from safetensors.numpy import save

    settings = {name: value for name, value in model.get_params().items() if name != "watch"}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    # a model that only had partial fits did not count sweeps
    fitted = {name: getattr(model, name, 0) for name in SCALARS[type(model)]}
    fitted["features"] = model.n_features_in_
    if isinstance(model, TwoClasses):
        fitted["classes"] = model.classes_.tolist()
    if isinstance(model, DrawnMachine):
        arrays = {"biases": np.array([bias for bias, _ in model.draws_]), "V": np.stack([V for _, V in model.draws_])}
        arrays["penalties"] = model.penalties_
    else:
        arrays = model._remembered()  # noqa: SLF001 its own affair
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        (draft / "arrays.safetensors").write_bytes(save(contiguous))
        write_meta(draft, KIND, VERSION, model=type(model).__name__, settings=settings, fitted=fitted)


def load_machine(path: str | os.PathLike[str]) -> Any:
    """Read a factorization machine that was saved.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> X, y = np.eye(4), np.arange(4.0)
    >>> model = FactorizationMachine(1, max_iter=5, tol=0, seed=0).fit(X, y)
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> model.save(folder)
    >>> bool((load_machine(folder).predict(X) == model.predict(X)).all())
    True
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["settings"].items()}
        if meta["model"] not in MODELS:
            raise InputError(f"{folder} holds a {meta['model']!r:.60}, which this polyadic does not know")
        model = MODELS[meta["model"]](**settings)
        _restore(model, meta["fitted"], read_arrays(folder))
    return model


def _restore(model: Any, fitted: dict[str, Any], arrays: dict[str, Any]) -> None:
    n, columns = fitted["features"], len(model._orders)  # noqa: SLF001 its own affair
    V = arrays["V"]
    drawn = isinstance(model, DrawnMachine)
    if (
        V.shape[int(drawn) :] != (n, columns)
        or V.ndim != 2 + drawn
        or not all(np.isfinite(array).all() for array in arrays.values())
    ):
        raise ValueError(
            f"parameters are of shape {V.shape}, or not finite; {n} features and {columns} columns are due"
        )
    model.n_features_in_ = n
    if isinstance(model, TwoClasses):
        model.classes_ = np.array(fitted["classes"])
        if model.classes_.shape != (2,):
            raise ValueError(f"classes must be two; got {model.classes_.tolist()}")
    for name in SCALARS[type(model)]:
        value = fitted[name]
        if np.shape(value) != ((2,) if name == "range_" else ()) or not np.isfinite(np.asarray(value, float)).all():
            raise ValueError(f"{name} is {value!r:.60}")
        setattr(model, name, tuple(value) if isinstance(value, list) else value)
    if drawn:
        if arrays["biases"].shape != V.shape[:1] or not len(V):
            raise ValueError(f"biases of shape {arrays['biases'].shape} do not fit {len(V)} draws")
        model.draws_ = [(float(b), v) for b, v in zip(arrays["biases"], V, strict=True)]
        model.penalties_ = arrays["penalties"]
    else:
        model._recall(arrays)  # noqa: SLF001 its own affair

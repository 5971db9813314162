"""The folder of a fitted model of a database: settings and names in ``meta.json``, its numbers beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.relations.bayesian import BayesianFactorization
from polyadic.models.relations.collective import CollectiveFactorization
from polyadic.models.relations.database import Database
from polyadic.models.relations.variational import VariationalFactorization
from polyadic.solvers.databases.gibbs import Priors

if TYPE_CHECKING:
    import os

    from polyadic.models.relations.base import DatabaseModel

KIND, VERSION = "database-model", 1
MODELS: dict[str, Any] = {
    kind.__name__: kind for kind in (CollectiveFactorization, VariationalFactorization, BayesianFactorization)
}


def save_model(model: DatabaseModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all; the cells of its tables are not written.

    Raises
    ------
    InputError
        If something else is there, or a setting is no number or text.
    """
    from safetensors.numpy import save

    arrays, others = model._fitted()  # noqa: SLF001 what it keeps is its own affair
    settings = {name: _plain(name, value) for name, value in model.get_params().items() if name != "watch"}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        database = model.database_.description()
        write_meta(
            draft, KIND, VERSION, model=type(model).__name__, settings=settings, database=database, fitted=others
        )


def _plain(name: str, value: Any) -> Any:
    """Give a setting in types of JSON."""
    if isinstance(value, Priors | Mapping):
        told = asdict(value) if isinstance(value, Priors) else value
        return {one: _plain(name, number) for one, number in told.items()}
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float | None):
        raise InputError(f"{name} cannot be saved: it is {value!r}, no number or text")
    return value


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_model` wrote.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        settings = dict(meta["settings"])
        if settings.get("priors"):
            settings["priors"] = Priors(**settings["priors"])
        model = MODELS[meta["model"]](**settings)
        model.database_ = Database.described(meta["database"])
        arrays = read_arrays(folder)
        rows = sum(model.database_.sizes.values()) + 1
        if arrays["state_0"].shape != (rows, model.rank):
            raise InputError(f"rows of {arrays['state_0'].shape} do not fit {rows} entities of rank {model.rank}")
        model._restore(arrays, meta["fitted"])  # noqa: SLF001 as above
    return model

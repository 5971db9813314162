"""The folder of a hidden Markov model: settings and symbols in ``meta.json``, probabilities beside it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.sequences.hidden_markov import HiddenMarkov

if TYPE_CHECKING:
    import os

KIND, VERSION = "hidden-markov-model", 1
PARTS = ("start_", "moves_", "emissions_")


def save_hidden(model: HiddenMarkov, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : HiddenMarkov
        Symbols must be texts or whole numbers.
    path : path
        The folder to make.
    overwrite : bool
        Whether a model that is there is replaced.

    Raises
    ------
    InputError
        If something else is there, nothing was learned yet, or symbols are of another kind.
    """
    from safetensors.numpy import save

    model._check_fitted()  # noqa: SLF001 # of one piece with the model
    model._check_settings()  # noqa: SLF001 # as above
    if other := [s for s in model.symbols_ if type(s) not in {str, int}]:
        raise InputError(f"symbols that are saved must be texts or whole numbers; got {other[0]!r}")
    names = [name for name in inspect.signature(HiddenMarkov).parameters if name != "watch"]
    settings = {name: getattr(model, name) for name in names}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    settings["states"] = len(model.start_)
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save({name: getattr(model, name) for name in PARTS}))
        write_meta(draft, KIND, VERSION, settings=settings, symbols=model.symbols_)


def load_hidden(path: str | os.PathLike[str]) -> HiddenMarkov:
    """Read what :func:`save_hidden` wrote.

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
        model = HiddenMarkov(**meta["settings"])
        model._check_settings()  # noqa: SLF001 # of one piece with the model
        model.symbols_ = meta["symbols"]
        if not isinstance(model.symbols_, list) or any(type(s) not in {str, int} for s in model.symbols_):
            raise ValueError("symbols are not texts or whole numbers")
        if len({*model.symbols_}) < len(model.symbols_):
            raise ValueError("a symbol stands there twice")
        arrays = read_arrays(folder)
        for name in PARTS:
            setattr(model, name, arrays[name])
        k, V = model.states, len(model.symbols_)
        found = [arrays[name].shape for name in PARTS]
        if found != [(k,), (k, k), (k, V)]:
            raise ValueError(f"tables have the shapes {found}, not {[(k,), (k, k), (k, V)]}")
        for name in PARTS:
            table = arrays[name]
            if table.dtype != np.float64 or not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1):
                raise ValueError(f"{name} holds no distributions")
    return model

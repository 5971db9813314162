"""The folder of a fitted model of sentences: settings in ``meta.json``, arrays, and the vectors of its words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.embedding import Embedding
from polyadic.errors import InputError
from polyadic.files import read_meta, whole_folder, write_meta

if TYPE_CHECKING:
    import os

    from polyadic.models.sentences.base import SentenceVectors

KIND, VERSION = "sentence-model", 1


def save_model(model: SentenceVectors, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted model, whole or not at all."""
    from safetensors.numpy import save

    fitted = {name: getattr(model, name) for name in model.saved}
    arrays = {name: np.ascontiguousarray(value) for name, value in fitted.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in fitted.items() if isinstance(value, int)}
    settings = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in model.get_params().items()
        if not isinstance(value, Embedding)
    }
    for name, value in settings.items():
        if not isinstance(value, str | int | float | None):
            raise InputError(f"{name} cannot be saved: it is {value!r}, no number or text")
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        model.embedding_.save(draft / "words")
        write_meta(draft, KIND, VERSION, model=type(model).__name__, settings=settings, numbers=numbers)


def load_model(kind: type[SentenceVectors], path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_model` wrote.

    Raises
    ------
    InputError
        If the folder holds another model, or is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    if meta.get("model") != kind.__name__:
        raise InputError(f"{folder} holds a {meta.get('model')}, not a {kind.__name__}")
    embedding = Embedding.load(folder / "words")
    try:
        model = kind(**{"words": embedding, **meta["settings"]})
        arrays = load((folder / "arrays.safetensors").read_bytes())
        fitted = {**meta["numbers"], **arrays}
        for name in model.saved:
            setattr(model, name, fitted[name])
        model.embedding_ = embedding
        model.check()
        model.check_arrays()
    except KeyError as error:
        raise InputError(f"{folder} is damaged: {error} is missing") from None
    except (OSError, TypeError, AttributeError, SafetensorError, InputError) as error:
        raise InputError(f"{folder} is damaged: {error}") from None
    return model

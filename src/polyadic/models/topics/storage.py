"""The folder of topics of text: settings and words in JSON, arrays beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta

if TYPE_CHECKING:
    from polyadic.models.topics.text import TextTopics

KIND, VERSION = "topic-model", 1
OWN = ("idf_", "background_")
"""Arrays of the model of text; the others belong to the method."""


def save_topics(model: TextTopics, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted model, whole or not at all."""
    from safetensors.numpy import save

    fitted = {name: value for name, value in vars(model.model_).items() if name.endswith("_")}
    arrays = {name: np.ascontiguousarray(a) for name, a in fitted.items() if isinstance(a, np.ndarray)}
    arrays |= {name: getattr(model, name) for name in OWN}
    params = model.get_params()
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
    stop = model.stop_words
    if stop is not None:
        settings["stop_words"] = str(stop) if isinstance(stop, str | os.PathLike) else sorted(stop)
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        (draft / "words.json").write_text(json.dumps(model.words_, ensure_ascii=False), encoding="utf-8")
        write_meta(draft, KIND, VERSION, settings=settings)


def load_topics(kind: type[TextTopics], path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_topics` wrote.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        model = kind(**meta["settings"])
        arrays = read_arrays(folder)
        words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        model.words_ = tuple(words)
        for name in OWN:
            setattr(model, name, arrays.pop(name))
        model.model_ = model._new()  # noqa: SLF001  a part of the same class
        for name, value in arrays.items():
            setattr(model.model_, name, value)
        model.model_.n_features_in_ = len(words)
        shape = model.model_.components_.shape
    fits = shape == (model.rank, len(words)) and {len(model.idf_), len(model.background_)} == {len(words)}
    if not fits or not all(isinstance(word, str) for word in words) or not np.isfinite(model.model_.components_).all():
        raise InputError(f"{folder} is damaged: its topics do not fit its words and settings")
    return model

"""The folders of taggers: settings and names in ``meta.json``, weights in ``arrays.safetensors``.

Of a matrix without a rank only the rows of features that have learned something are written.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.files import damage_told, numbered, read_arrays, read_meta, whole_folder, write_meta
from polyadic.kernels.sequences.tagging import TagParts
from polyadic.models.sequences.sequence_tagger import SequenceTagger
from polyadic.models.sequences.text_tagger import SETTINGS, TextTagger
from polyadic.text.syntax.lemmas import Lemmas

if TYPE_CHECKING:
    import os

    Path_ = str | os.PathLike[str]
    Arrays = dict[str, Any]

KIND, TEXT_KIND, VERSION = "sequence-tagger", "text-tagger", 1


def save_tagger(model: SequenceTagger, path: Path_, *, overwrite: bool = False) -> None:
    """Write a fitted tagger, whole or not at all.

    Parameters
    ----------
    model : SequenceTagger
    path : path
        The folder to make.
    overwrite : bool
        Whether a tagger that is there is replaced.

    Raises
    ------
    InputError
        If something else is there.
    """
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        _write_arrays(draft, _arrays(model))
        write_meta(draft, KIND, VERSION, features=list(model.features_), **_settings(model))


def load_tagger(path: Path_) -> SequenceTagger:
    """Read what :func:`save_tagger` wrote.

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
        return _tagger(meta, meta["features"], read_arrays(folder))


def save_text_tagger(model: TextTagger, path: Path_, *, overwrite: bool = False) -> None:
    """Write a fitted tagger of text; see :func:`save_tagger`."""
    with whole_folder(path, kind=TEXT_KIND, overwrite=overwrite) as draft:
        arrays = {
            f"{column}.{name}": value for column, one in model.taggers_.items() for name, value in _arrays(one).items()
        }
        _write_arrays(draft, arrays)
        columns = {column: _settings(tagger) for column, tagger in model.taggers_.items()}
        lemmas = [[*key, lemma] for key, lemma in model.lemmas_.known.items()]
        names = {"features": list(model.taggers_["upos"].features_), "capitals": sorted(model.lemmas_.capitals)}
        settings = {name: _plain(getattr(model, name)) for name in ("max_iter", "least", "seed")}
        write_meta(draft, TEXT_KIND, VERSION, settings=settings, columns=columns, lemmas=lemmas, **names)


def load_text_tagger(path: Path_) -> TextTagger:
    """Read what :func:`save_text_tagger` wrote; see :func:`load_tagger`."""
    folder = Path(path)
    meta = read_meta(folder, TEXT_KIND, VERSION)
    with damage_told(folder):
        model = TextTagger(**meta["settings"])
        arrays = read_arrays(folder)
        model.taggers_ = {}
        for column in SETTINGS:
            own = {name.partition(".")[2]: value for name, value in arrays.items() if name.startswith(f"{column}.")}
            model.taggers_[column] = _tagger(meta["columns"][column], meta["features"], own)
        model.lemmas_ = Lemmas({(word, tag): lemma for word, tag, lemma in meta["lemmas"]}, meta["capitals"])
    return model


def load_any_tagger(path: Path_) -> SequenceTagger | TextTagger:
    """Read a tagger of either kind; see :func:`load_tagger`."""
    if read_meta(path)["kind"] == TEXT_KIND:
        return load_text_tagger(path)
    return load_tagger(path)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _settings(model: SequenceTagger) -> dict[str, Any]:
    names = [name for name in inspect.signature(SequenceTagger).parameters if name != "watch"]
    return {"settings": {name: _plain(getattr(model, name)) for name in names}, "tags": model.tags_}


def _arrays(model: SequenceTagger) -> Arrays:
    U, V, T = model.parts_
    rows = np.flatnonzero(U.any(axis=1)).astype(np.int32)
    return {"rows": rows, "U": U[rows], "V": V, "T": T}


def _write_arrays(folder: Path, arrays: Arrays) -> None:
    from safetensors.numpy import save

    (folder / "arrays.safetensors").write_bytes(
        save({name: np.ascontiguousarray(value) for name, value in arrays.items()})
    )


def _tagger(meta: dict[str, Any], features: list[str], arrays: Arrays) -> SequenceTagger:
    """Make a tagger of what is read, or say what does not fit."""
    model = SequenceTagger(**meta["settings"])
    model.check()
    model.tags_, model.features_ = [*numbered("tags", meta["tags"])], numbered("features", features)
    Y = len(model.tags_)
    K = Y if model.rank is None else min(model.rank, Y)
    rows, some, V, T = (arrays[name] for name in ("rows", "U", "V", "T"))
    wanted = [(len(rows), K), (0 if model.rank is None else Y, K), (Y + 1, Y + 1)]
    if [part.shape for part in (some, V, T)] != wanted:
        raise ValueError(f"weights have the shapes {[part.shape for part in (some, V, T)]}, not {wanted}")
    if any(part.dtype != np.float32 or not np.isfinite(part).all() for part in (some, V, T)):
        raise ValueError("weights are not finite numbers of float32")
    if rows.dtype != np.int32 or rows.ndim != 1 or (np.diff(rows, prepend=-1, append=len(features)) < 1).any():
        raise ValueError(f"rows do not rise from 0 to below {len(features)}, the number of features")
    U = np.zeros((len(features), K), np.float32)
    U[rows] = some
    model.parts_ = TagParts(U, V, T)
    return model

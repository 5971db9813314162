"""The folder of a fitted model of a universal schema: settings and names in ``meta.json``, its numbers beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.relations.log_odds import Terms
from polyadic.models.relations.universal import UniversalSchema
from polyadic.text.relations.schema import Schema

if TYPE_CHECKING:
    import os

    from polyadic.models.relations.schema_model import SchemaModel

KIND, VERSION = "universal-schema", 1


def save_schema_model(model: SchemaModel, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Raises
    ------
    InputError
        If something else is there, or the model is of another kind.
    """
    from safetensors.numpy import save

    if not isinstance(model, UniversalSchema):
        raise InputError(f"a {type(model).__name__} cannot be saved, only a UniversalSchema")
    schema, terms = model.schema_, model.terms_
    arrays = {name: value for name, value in terms._asdict().items() if name != "W"}
    for name, matrix in (("W", terms.W), ("cells", schema.cells)):
        arrays |= {f"{name}_indptr": matrix.indptr, f"{name}_indices": matrix.indices, f"{name}_data": matrix.data}
    settings = {name: value for name, value in model.get_params().items() if name != "watch"}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
        fitted = {"history": model.history_, "converged": model.converged_, "interrupted": model.interrupted_}
        write_meta(
            draft, KIND, VERSION, settings=settings, pairs=schema.pairs, predicates=schema.predicates, fitted=fitted
        )


def load_schema_model(path: str | os.PathLike[str]) -> UniversalSchema:
    """Read what :func:`save_schema_model` wrote.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        model = UniversalSchema(**meta["settings"])
        arrays = read_arrays(folder)
        pairs = [(subject, object_) for subject, object_ in meta["pairs"]]
        predicates = len(meta["predicates"])
        schema = Schema(pairs, meta["predicates"], _matrix(arrays, "cells", (len(pairs), predicates)))
        plain = {name: arrays[name] for name in Terms._fields if name != "W"}
        model.schema_, model.terms_ = schema, Terms(W=_matrix(arrays, "W", (predicates, predicates)), **plain)
        _check(model)
        model.history_, model.converged_ = meta["fitted"]["history"], meta["fitted"]["converged"]
        model.interrupted_, model.n_iter_ = meta["fitted"]["interrupted"], len(model.history_) - 1
    return model


def _matrix(arrays: dict[str, Any], name: str, shape: tuple[int, int]) -> Any:
    """Put a sparse matrix together, and refuse one that does not fit."""
    from scipy.sparse import csr_array

    matrix = csr_array(tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")), shape=shape)
    matrix.check_format()
    return matrix


def _check(model: UniversalSchema) -> None:
    """Refuse terms that do not fit the names."""
    terms, schema = model.terms_, model.schema_
    pairs, predicates, entities = len(schema.pairs), len(schema.predicates), len(schema.entities) + 1
    expected = {"U": pairs, "V": predicates, "T": entities, "D1": predicates, "D2": predicates}
    expected |= {"a": pairs, "b": predicates}
    for name, size in expected.items():
        array = getattr(terms, name)
        if len(array) != size or not np.isfinite(array).all():
            raise InputError(f"{name} must hold {size:,} rows of finite numbers; got shape {array.shape}")
    if terms.U.shape[1] != terms.V.shape[1] or len({terms.T.shape[1], terms.D1.shape[1], terms.D2.shape[1]}) > 1:
        raise InputError("vectors that are multiplied differ in length")

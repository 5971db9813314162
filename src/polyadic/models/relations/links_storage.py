"""The folder of a model of triples: settings and names in ``meta.json``, factors and learned facts beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.relations.asking import FORMS
from polyadic.models.relations.knowledge import KnowledgeTensor
from polyadic.text.relations.facts import checked_triples

if TYPE_CHECKING:
    import os

KIND, VERSION = "knowledge-tensor", 1


def save_links(model: KnowledgeTensor, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Raises
    ------
    InputError
        If something else is there.
    """
    from safetensors.numpy import save

    factors = [model.subject_factors_]
    if model.object_factors_ is not model.subject_factors_:
        factors.append(model.object_factors_)
    arrays = {f"factor_{k}": np.ascontiguousarray(x) for k, x in enumerate([*factors, *model.relation_factors_])}
    arrays["facts"] = np.ascontiguousarray(model.facts_)
    settings = {name: value for name, value in model.get_params().items() if name != "watch"}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        names = {"entities": model.entities_, "relations": model.relations_}
        write_meta(draft, KIND, VERSION, settings=settings, **names)


def load_links(path: str | os.PathLike[str]) -> KnowledgeTensor:
    """Read what :func:`save_links` wrote.

    Raises
    ------
    InputError
        If the folder holds something else, or is damaged.
    """
    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        model = KnowledgeTensor(**meta["settings"])
        arrays = read_arrays(folder)
        model.entities_, model.relations_ = meta["entities"], meta["relations"]
        _restore(model, arrays)
    return model


def _restore(model: KnowledgeTensor, arrays: dict[str, Any]) -> None:
    """Put factors into their places; their shapes must be those of the form."""
    form, ends = FORMS[model.form]
    facts, factors = arrays["facts"], [arrays[f"factor_{k}"] for k in range(len(arrays) - 1)]
    n, width = len(factors[0]), form.width(model.rank)
    relations = len(factors[max(ends) + 1])
    wanted = [(n, width)] * (max(ends) + 1) + form.shapes(model.rank, relations, model.relation_rank or model.rank)
    if [x.shape for x in factors] != wanted:
        raise ValueError(f"factors have the shapes {[x.shape for x in factors]}, not {wanted}")
    if not all(np.isfinite(x).all() for x in factors):
        raise ValueError("factors are not finite")
    K = relations // 2 if model.reciprocal else relations
    for names, size in ((model.entities_, n), (model.relations_, K)):
        if names is not None and len(names) != size:
            raise ValueError(f"{len(names)} names do not fit {size} rows")
    model.facts_ = checked_triples("facts", facts, n, K)
    model._place(factors)  # noqa: SLF001 its own affair

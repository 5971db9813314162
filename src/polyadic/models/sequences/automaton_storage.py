"""The folder of a spectral automaton: settings and symbols in ``meta.json``, weights and counts beside it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError, check_int
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.models.sequences.automata import WeightedAutomaton
from polyadic.models.sequences.automaton_fitting import checked_settings
from polyadic.models.sequences.automaton_smoothing import SmoothedAutomaton
from polyadic.models.sequences.ngrams import NGrams
from polyadic.models.sequences.spectral_automaton import SpectralAutomaton
from polyadic.models.sequences.substrings import ANYWHERE, AT_END, AT_START, WHOLE, Substrings

if TYPE_CHECKING:
    import os

KIND, VERSION = "automaton", 1
COUNTS = ("keys", "counts", "lengths")
NOT_KEPT = ("watch", "alphabet")
"""Parameters that are not written: the symbols are."""


def save_automaton(model: SpectralAutomaton, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : SpectralAutomaton
    path : path
        The folder to make.
    overwrite : bool
        Whether a model that is there is replaced.

    Raises
    ------
    InputError
        If something else is there, or symbols are neither all strings nor all whole numbers.
    """
    from safetensors.numpy import save

    symbols = [symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in model.symbols_]
    if {type(symbol) for symbol in symbols} not in ({str}, {int}):
        raise InputError("a model can be written whose symbols are all strings or all whole numbers")
    smooth, tree = model.model_, model.model_.ngrams.tree_
    parts = {"alpha0": smooth.automaton.alpha0, "A": smooth.automaton.A, "alpha_inf": smooth.automaton.alpha_inf}
    counts = {name: getattr(tree, name) for name in COUNTS}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        arrays = {name: np.ascontiguousarray(part) for name, part in (parts | counts).items()}
        (draft / "arrays.safetensors").write_bytes(save(arrays))
        write_meta(
            draft,
            KIND,
            VERSION,
            settings=_settings(model),
            symbols=symbols,
            share=smooth.share,
            ngrams={"order": smooth.ngrams.order, "discount": smooth.ngrams.discount, "strings": tree.strings},
            tried=[[rank, value if np.isfinite(value) else None] for rank, value in model.tried_.items()],
            history=model.history_,
        )


def _settings(model: SpectralAutomaton) -> dict[str, Any]:
    names = [name for name in inspect.signature(SpectralAutomaton).parameters if name not in NOT_KEPT]
    settings = {name: getattr(model, name) for name in names}
    settings["rank"] = np.asarray(model.rank).tolist()
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}


def load_automaton(path: str | os.PathLike[str]) -> SpectralAutomaton:
    """Read what :func:`save_automaton` wrote.

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
        arrays, told = read_arrays(folder), meta["ngrams"]
        model = SpectralAutomaton(**meta["settings"], alphabet=meta["symbols"])
        checked_settings(model)
        model.symbols_ = _checked_symbols(meta["symbols"], model.unknown)
        automaton = WeightedAutomaton(*(arrays[name] for name in ("alpha0", "A", "alpha_inf")))
        if automaton.size != len(model.symbols_) or not 0 <= meta["share"] <= 1:
            raise ValueError(f"{len(model.symbols_)} symbols and share {meta['share']} do not fit {automaton.size}")
        ngrams = NGrams(told["order"], discount=told["discount"]).checked()
        keys, counts, lengths = (arrays[name] for name in COUNTS)
        strings = check_int("strings", told["strings"], low=1)
        tree = Substrings(keys, counts, lengths, automaton.size, strings)
        _check_counts(tree, ngrams.order)
        ngrams.tree_ = tree
        model.model_ = SmoothedAutomaton(automaton, ngrams, meta["share"])
        model.automaton_, model.rank_ = automaton, automaton.rank
        model.tried_ = {rank: float("nan") if value is None else value for rank, value in meta["tried"]}
        model.history_, model.interrupted_ = list(map(float, meta["history"])), False
    return model


def _checked_symbols(symbols: Any, unknown: Any) -> list[Any]:
    if not isinstance(symbols, list) or {type(symbol) for symbol in symbols} not in ({str}, {int}):
        raise ValueError("symbols must be all strings or all whole numbers")
    if unknown is not None and unknown not in symbols:
        raise ValueError(f"{unknown!r} is no symbol")
    return symbols


def _check_counts(tree: Substrings, order: int) -> None:
    """Refuse a tree that cannot be one: what is seen goes on with a symbol or ends, but for the longest."""
    keys, counts, lengths = tree.keys, tree.counts, tree.lengths
    fits = {part.dtype for part in (keys, counts, lengths)} == {np.dtype(np.int64)} and len(keys) > 0
    fits = fits and counts.shape == (*keys.shape, 4) and lengths.shape == keys.shape and counts.min() >= 0
    fits = fits and keys[0] == -1 and bool((np.diff(keys) > 0).all() and (tree.parent < np.arange(len(keys))).all())
    for seen, end in ((ANYWHERE, AT_END), (AT_START, WHOLE)) if fits else ():
        onward = np.bincount(tree.parent[1:], counts[1:, seen], minlength=len(keys)) + counts[:, end]
        fits = fits and (onward == counts[:, seen])[lengths < order].all()
    if not fits:
        raise ValueError("counts of substrings do not fit their keys")

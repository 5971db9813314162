"""Serialization of models: ``meta.json`` with settings, ``state.json`` with fitted attributes, and an array file.

Supported are all models and the values they hold: numbers, strings, lists, mappings, dense and sparse arrays, named
tuples, objects of this library and other models. Plain values are JSON values; anything else is an object
whose first key gives its type::

    {"array": "7"}    {"tuple": [1, 2]}    {"map": {"a": 1}}    {"object": "polyadic.text.vocabulary:Vocabulary", ...}

No code is executed on loading: classes and functions are looked up by name in this library only. ``meta.json`` holds a
digest of each file and of itself, so that damage is detected.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from scipy import sparse

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError
from polyadic.core.files import META, check_whole, damage_as_input_error, read_meta, whole_folder, write_meta
from polyadic.core.model import Model

KIND, VERSION = "model", 2
STATE, ARRAYS = "state.json", "arrays.safetensors"
NOT_KEPT = frozenset({"callback"})  # settings of a fit rather than of the model, which are not saved
OPENED = {
    "embedding": ("polyadic.embedding", "Embedding", "load"),
    "corpus": ("polyadic.text.corpus", "Corpus", "open"),
    "counts": ("polyadic.text.counts", "Counts", "open"),
}
"""Kinds of folders other than models: module, class and method that opens one."""
LARGE = 1 << 12  # size from which an array is checked for zero rows: hashed weights are mostly zeros


def save(model: Model, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Save a fitted model to a folder; see :meth:`~polyadic.core.model.Model.save`."""
    from safetensors.numpy import save as packed

    writer = Writer()
    settings = writer.settings(model)
    state = _text(writer.mapping(model._state()))  # noqa: SLF001 # of one piece with the model
    arrays = packed(writer.arrays)
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / STATE).write_bytes(state)
        (draft / ARRAYS).write_bytes(arrays)
        write_meta(draft, KIND, VERSION, model=writer.name(type(model)), settings=settings)


def load(path: str | os.PathLike[str], kind: type[Any] | tuple[type[Any], ...] = object) -> Any:
    """Load a saved model, embedding, corpus or counts, and return the object.

    InputError is raised if the folder holds another class than ``kind``, has another version, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from polyadic import NMF
    >>> model = NMF(1, seed=0).fit(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> model.save(folder)
    >>> load(folder)
    NMF(n_components=1, seed=0)
    """
    folder = Path(path)
    what = str(read_meta(folder)["kind"])
    if what in OPENED:
        module, name, opener = OPENED[what]
        cls = getattr(importlib.import_module(module), name)
        _check_kind(folder, cls, kind)
        return getattr(cls, opener)(folder)
    if what != KIND:
        raise InputError(
            f"{folder} contains {what!r:.60} instead of a model, or was written by an older version of polyadic"
        )
    from safetensors.numpy import load as unpacked

    meta = read_meta(folder, KIND, VERSION)
    check_whole(folder)
    with damage_as_input_error(folder):
        if not {STATE, ARRAYS, META} <= meta["digests"].keys():
            raise ValueError("meta.json contains no checksums of the model files")
        reader = Reader(dict(unpacked((folder / ARRAYS).read_bytes())))
        model = reader.model(meta["model"], meta["settings"], json.loads((folder / STATE).read_bytes()))
    _check_kind(folder, type(model), kind)
    return model


def _check_kind(folder: Path, cls: type[Any], kind: type[Any] | tuple[type[Any], ...]) -> None:
    if not issubclass(cls, kind):
        wanted = " or ".join(base.__name__ for base in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{folder} contains {cls.__name__}, but {wanted} is required")


class Writer:
    """Serializer that converts values to JSON types, and collects arrays without duplicates."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self._known: dict[Any, tuple[Any, Any]] = {}  # keeps the array, so that its address is not reused

    def settings(self, model: Model) -> dict[str, Any]:
        """Convert the settings of a model to JSON types."""
        kept = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_KEPT}
        return self.mapping(kept)

    def mapping(self, values: dict[str, Any]) -> dict[str, Any]:
        """Convert a dict of values to JSON types; raise InputError if a value cannot be saved."""
        written = {}
        for name, value in values.items():
            try:
                written[name] = self(value)
            except TypeError as error:
                raise InputError(f"{name} cannot be saved: {error}") from None
        return written

    def __call__(self, value: Any) -> Any:  # noqa: C901, PLR0911, PLR0912 # one line for each kind of value
        """Convert a value to JSON types."""
        if isinstance(value, np.generic):
            return self._scalar(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if type(value) is range:
            return {"range": [value.start, value.stop, value.step]}
        if type(value) is list:
            return [self(item) for item in value]
        if type(value) in (tuple, set, frozenset):
            items = value if type(value) is tuple else sorted(value, key=repr)
            return {type(value).__name__: [self(item) for item in items]}
        if type(value) is dict:
            if all(type(key) is str for key in value):
                return {"map": {key: self(item) for key, item in value.items()}}
            return {"pairs": [[self(key), self(item)] for key, item in value.items()]}
        if type(value) in (np.ndarray, np.memmap):
            return self._array(value)
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if sparse.issparse(value):
            return self._sparse(value)
        if isinstance(value, Model):
            state = self.mapping(value._state())  # noqa: SLF001 # as in save
            return {"model": self.name(type(value)), "settings": self.settings(value), "state": state}
        if isinstance(value, functools.partial):
            return {"partial": self(value.func), "arguments": self(value.args), "options": self(value.keywords)}
        return self._of_this_library(value)

    def name(self, named: Any) -> str:
        """Return the qualified name of a class or function of this library."""
        module, name = named.__module__, named.__qualname__
        if module.split(".")[0] != "polyadic" or "<" in name:
            raise TypeError(f"{module}.{name} is not part of polyadic")
        return f"{module}:{name}"

    def _scalar(self, value: np.generic) -> Any:
        """Convert a numpy scalar together with its dtype, which affects the precision of products."""
        if isinstance(value, np.str_):
            return str(value)
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > 16 - 8 * (value.dtype.kind != "c"):
            raise TypeError(f"numbers of type {value.dtype} are not supported")
        return {"number": self(value.item()), "dtype": value.dtype.str}

    def _of_this_library(self, value: Any) -> Any:
        kind = type(value)
        if callable(value) and hasattr(value, "__qualname__"):
            return {"function": self.name(value)}
        if isinstance(value, tuple):
            return {"named tuple": self.name(kind), "fields": [self(item) for item in value]}
        if not hasattr(value, "__dict__"):
            raise TypeError(f"objects of type {kind.__module__}.{kind.__qualname__} are not supported")
        parts = {k: v for k, v in vars(value).items() if not isinstance(getattr(kind, k, None), cached_property)}
        if is_dataclass(kind):
            parts |= {each.name: [] for each in fields(kind) if not each.metadata.get("kept", True)}
        return {"object": self.name(kind), "parts": self.mapping(parts)}

    def _array(self, array: AnyArray) -> Any:
        address = (array.ctypes.data, array.strides) if array.size else None  # empty arrays have no address
        place = address, array.shape, array.dtype  # the same for views of one array
        if place in self._known:
            return self._known[place][1]
        if array.dtype.kind in "OUS":
            items = [self(item) for item in array.ravel().tolist()]
            written: Any = {"objects": items, "shape": list(array.shape), "dtype": array.dtype.str}
        elif array.dtype.kind == "c":
            written = {"complex array": self._array(np.stack([array.real, array.imag]))}
        elif array.dtype.kind in "biuf":
            written = self._numbers(np.asarray(array))
        else:
            raise TypeError(f"arrays of type {array.dtype} are not supported")
        self._known[place] = array, written
        return written

    def _numbers(self, array: AnyArray) -> Any:
        flipped = array.flags.f_contiguous and not array.flags.c_contiguous  # rounding depends on the memory order
        array = np.asarray(array.T if flipped else array, order="C")
        flags = {"flipped": True} if flipped else {}
        if array.size >= LARGE:
            rows = np.flatnonzero(array.reshape(len(array), -1).view(np.uint8).any(axis=1))
            if 2 * len(rows) < len(array):
                return {"array": self._stored(array[rows]), "rows": self._stored(rows), "length": len(array), **flags}
        return {"array": self._stored(array), **flags}

    def _stored(self, array: AnyArray) -> str:
        key = str(len(self.arrays))
        self.arrays[key] = array
        return key

    def _sparse(self, matrix: Any) -> Any:
        form, kind = matrix.format, type(matrix).__name__
        if form not in ("csr", "csc", "coo"):
            raise TypeError(f"a {kind} is not supported; convert the sparse matrix to csr, csc or coo format")
        parts = (matrix.data, matrix.coords) if form == "coo" else (matrix.data, matrix.indices, matrix.indptr)
        return {"sparse": kind, "shape": list(map(int, matrix.shape)), "parts": self(parts)}


class Reader:
    """Deserializer for values written by :class:`Writer`."""

    def __init__(self, arrays: dict[str, AnyArray]) -> None:
        self.arrays = arrays
        self._whole: dict[str, AnyArray] = {}

    def model(self, name: str, settings: dict[str, Any], state: dict[str, Any]) -> Model:
        """Create a model from its settings and fitted attributes."""
        kind = _named(name)
        if not issubclass(kind, Model):
            raise TypeError(f"{name} is not a model")
        model: Model = kind(**self.mapping(settings))
        model.check()
        model._restore(self.mapping(state))  # noqa: SLF001 # of one piece with the model
        return model

    def mapping(self, written: dict[str, Any]) -> dict[str, Any]:
        """Restore a dict of serialized values."""
        return {name: self(value) for name, value in written.items()}

    def __call__(self, written: Any) -> Any:
        """Restore a serialized value."""
        if isinstance(written, list):
            return [self(item) for item in written]
        if not isinstance(written, dict):
            return written
        return self.READERS[next(iter(written), "")](self, written)

    def _array(self, written: dict[str, Any]) -> AnyArray:
        key = written["array"]
        if key not in self._whole:
            array = self.arrays[key]
            if "rows" in written:
                whole = np.zeros((written["length"], *array.shape[1:]), array.dtype)
                whole[self.arrays[written["rows"]]] = array
                array = whole
            self._whole[key] = array.T if written.get("flipped") else array
        return self._whole[key]

    def _objects(self, written: dict[str, Any]) -> AnyArray:
        items, shape = self(written["objects"]), written["shape"]
        array = np.empty(len(items), object)
        array[:] = items
        return array.reshape(shape).astype(written["dtype"])

    def _complex(self, written: dict[str, Any]) -> AnyArray:
        parts = self(written["complex array"])
        array = np.empty(parts.shape[1:], np.result_type(parts.dtype, np.complex64))
        array.real, array.imag = parts
        return array

    def _sparse(self, written: dict[str, Any]) -> Any:
        kinds = {f"{form}_{what}" for form in ("csr", "csc", "coo") for what in ("array", "matrix")}
        if written["sparse"] not in kinds:
            raise ValueError(f"{written['sparse']!r:.60} is not a sparse matrix")
        return getattr(sparse, written["sparse"])(self(written["parts"]), shape=tuple(written["shape"]))

    def _object(self, written: dict[str, Any]) -> Any:
        value = object.__new__(_named(written["object"]))
        vars(value).update(self.mapping(written["parts"]))
        return value

    def _named_tuple(self, written: dict[str, Any]) -> Any:
        kind = _named(written["named tuple"])
        if not issubclass(kind, tuple):
            raise TypeError(f"{kind} is not a tuple")
        return kind(*self(written["fields"]))

    def _partial(self, written: dict[str, Any]) -> Any:
        return functools.partial(self(written["partial"]), *self(written["arguments"]), **self(written["options"]))

    READERS: dict[str, Callable[[Reader, dict[str, Any]], Any]] = {  # noqa: RUF012 # constant
        "float": lambda _, w: float(w["float"]),
        "complex": lambda _, w: complex(*w["complex"]),
        "path": lambda _, w: Path(w["path"]),
        "range": lambda _, w: range(*w["range"]),
        "tuple": lambda self, w: tuple(self(w["tuple"])),
        "set": lambda self, w: set(self(w["set"])),
        "frozenset": lambda self, w: frozenset(self(w["frozenset"])),
        "map": lambda self, w: self.mapping(w["map"]),
        "pairs": lambda self, w: {self(key): self(value) for key, value in w["pairs"]},
        "dtype": lambda _, w: np.dtype(w["dtype"]),
        "number": lambda self, w: np.dtype(w["dtype"]).type(self(w["number"])),
        "model": lambda self, w: self.model(w["model"], w["settings"], w["state"]),
        "function": lambda _, w: _named(w["function"]),
        "array": _array,
        "objects": _objects,
        "complex array": _complex,
        "sparse": _sparse,
        "object": _object,
        "named tuple": _named_tuple,
        "partial": _partial,
    }


def _named(name: str) -> Any:
    """Return the class or function of this library with the given qualified name."""
    module, _, attribute = name.partition(":")
    value: Any = None
    if module.split(".")[0] == "polyadic" and "__" not in name:
        try:
            value = attrgetter(attribute)(importlib.import_module(module))
        except (ImportError, AttributeError):
            raise ValueError(
                f"{name!r:.60} does not exist in this version of polyadic; use the version that wrote it"
            ) from None
    if getattr(value, "__module__", "").split(".")[0] != "polyadic":  # such as a name that a module imports
        raise ValueError(f"{name!r:.60} is not defined in this library")
    return value


def _text(content: Any) -> bytes:
    return (json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n").encode()

"""Checkpoints: what a long run has reached, written to disk from time to time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from polyadic.errors import InputError, check_number
from polyadic.files import check_replaceable, check_whole, read_meta, whole_folder, write_meta
from polyadic.solvers.run import Result

if TYPE_CHECKING:
    import os

KIND, VERSION = "checkpoint", 1


class Checkpoint:
    """A ``watch`` for :func:`~polyadic.solvers.run.run` that saves the factors reached so far.

    The folder is replaced as a whole, so a run that is killed leaves the checkpoint before.

    Parameters
    ----------
    path : path
        The folder to write; one that holds a checkpoint is replaced.
    every : float
        Seconds between two checkpoints.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from polyadic.solvers import Sweep, load_checkpoint, run
    >>> path = Path(tempfile.mkdtemp()) / "reached"
    >>> halves = (Sweep([np.array([2.0**-k])], 2.0**-k) for k in range(99))
    >>> _ = run(halves, max_iter=3, watch=Checkpoint(path, every=0))
    >>> load_checkpoint(path).factors
    [array([0.125])]
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float = 60.0) -> None:
        check_number("every", every)
        check_replaceable(path, KIND, overwrite=True)
        self.path = Path(path)
        self.every = every
        self._saved = time.monotonic()

    def __call__(self, result: Result) -> None:
        """Save ``result`` if it is time."""
        if time.monotonic() - self._saved >= self.every:
            save_checkpoint(result, self.path)
            self._saved = time.monotonic()


def save_checkpoint(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a folder of ``factors.safetensors`` and ``meta.json`` with the history; it is whole or absent."""
    import numpy as np
    from safetensors.numpy import save

    factors = {f"factor{k}": np.ascontiguousarray(u) for k, u in enumerate(result.factors)}
    history = {"history": result.history, "seconds": result.seconds, "measured": result.measured, "best": result.best}
    with whole_folder(path, kind=KIND, overwrite=True) as draft:
        (draft / "factors.safetensors").write_bytes(save(factors))
        write_meta(draft, KIND, VERSION, **history)


def load_checkpoint(path: str | os.PathLike[str]) -> Result:
    """Read what :class:`Checkpoint` wrote; its factors are a start to go on from.

    Raises
    ------
    InputError
        If the folder is of another kind or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    meta = read_meta(path, KIND, VERSION)
    check_whole(path)
    file = Path(path) / "factors.safetensors"
    try:
        tensors = load(file.read_bytes())
        factors = [tensors[f"factor{k}"] for k in range(len(tensors))]
        return Result(factors, meta["history"], meta["seconds"], meta["measured"], int(meta["best"]))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, json.JSONDecodeError) as error:
        raise InputError(f"{file} is damaged or missing: {error}") from None

"""Checkpoints: what a long run has reached, written to disk from time to time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError, check_number
from polyadic.core.files import check_replaceable, check_whole, plain, read_meta, remove_whole, whole_folder, write_meta
from polyadic.core.solvers.run import Result
from polyadic.core.stage_cache import RefusedError, differences

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

KIND, VERSION = "checkpoint", 1
EVERY = 60.0
"""Seconds between two checkpoints."""


class Checkpoint:
    """A ``callback`` for :func:`~polyadic.core.solvers.run.run` that saves the factors reached so far.

    The folder is replaced as a whole, so a run that is killed leaves the checkpoint before.

    Parameters
    ----------
    path : path
        The folder to write; one that holds a checkpoint is replaced.
    every : float
        Seconds between two checkpoints.
    made_of : mapping, optional
        All that the run hangs on, in JSON's types. A checkpoint of a run that was made of the same is gone on from.
    overwrite : bool
        Whether, with ``made_of``, one of another run is replaced.

    Attributes
    ----------
    reached : Result or None
        What was there to go on from: its factors are where the solver is to start.

    Raises
    ------
    InputError
        If something else is there, or with ``made_of`` a checkpoint of another run, or a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from polyadic.core.solvers.run import Sweep, run
    >>> from polyadic.words.checkpoint import load_checkpoint
    >>> path = Path(tempfile.mkdtemp()) / "reached"
    >>> halves = (Sweep([np.array([2.0**-k])], 2.0**-k) for k in range(99))
    >>> _ = run(halves, max_iter=3, callback=Checkpoint(path, every=0))
    >>> load_checkpoint(path).factors
    [array([0.125])]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        every: float = EVERY,
        made_of: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        check_number("every", every)
        check_replaceable(path, KIND, overwrite=True)
        self.path = Path(path)
        self.every = every
        self.reached: Result | None = None
        self._made_of: dict[str, Any] | None = plain(made_of)
        if self._made_of is not None and self.path.exists():
            other = differences(read_meta(path, KIND, VERSION).get("made_of") or {}, self._made_of)
            if other and not overwrite:
                raise RefusedError(
                    f"{path} is of a fit that was stopped, with {other}; take its settings to go on with it, or"
                    " replace it (--force, overwrite=True)"
                )
            try:
                self.reached = None if other else load_checkpoint(path)
            except InputError as error:
                raise RefusedError(f"{error}; delete {path}, and the fit begins anew") from None
        self._saved = time.monotonic()

    def __call__(self, result: Result) -> None:
        """Save ``result`` if it is time."""
        if self.due():
            save_checkpoint(result, self.path, made_of=self._made_of)
            self._saved = time.monotonic()

    def due(self) -> bool:
        """Tell whether it is time."""
        return time.monotonic() - self._saved >= self.every

    def done(self) -> None:
        """Remove it, as the run is at its end."""
        if self.path.exists():
            remove_whole(self.path)


def save_checkpoint(result: Result, path: str | os.PathLike[str], *, made_of: Mapping[str, Any] | None = None) -> None:
    """Write a folder of ``factors.safetensors`` and ``meta.json`` with the history; it is whole or absent."""
    import numpy as np
    from safetensors.numpy import save

    factors = {f"factor{k}": np.ascontiguousarray(u) for k, u in enumerate(result.factors)}
    history = {"history": result.history, "seconds": result.seconds, "measured": result.measured, "best": result.best}
    # with a measure the factors are those of the best sweep, and what came after it is not gone on from
    history = {name: kept[: result.best + 1] if isinstance(kept, list) else kept for name, kept in history.items()}
    with whole_folder(path, kind=KIND, overwrite=True) as draft:
        (draft / "factors.safetensors").write_bytes(save(factors))
        write_meta(draft, KIND, VERSION, **history, made_of=made_of)


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

"""Checkpoints of long-running model fits."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyadic.core import files
from polyadic.core.errors import InputError, check_number
from polyadic.core.solvers.run import Result
from polyadic.core.stage_cache import RefusedError, differences

KIND, VERSION = "checkpoint", 1
EVERY = 60.0  # seconds between two checkpoints


class Checkpoint:
    """Callback that saves the current factors to a checkpoint, every 60 seconds by default.

    The folder is replaced atomically, so a killed run leaves the previous checkpoint. ``made_of`` holds all inputs of
    the run as JSON values: a checkpoint with the same inputs is loaded as ``reached``, whose factors are the start of
    the solver; that of another run is refused, or replaced with ``overwrite``.
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
        files.check_replaceable(path, KIND, overwrite=True)
        self.path = Path(path)
        self.every = every
        self.reached: Result | None = None
        self._made_of: dict[str, Any] | None = files.plain(made_of)
        if self._made_of is not None and self.path.exists():
            other = differences(files.read_meta(path, KIND, VERSION).get("made_of") or {}, self._made_of)
            if other and not overwrite:
                what = (
                    f"{path} is a checkpoint of a fit with other settings ({other}); use the settings of the checkpoint"
                )
                raise RefusedError(
                    f"{what} to resume the fit, or overwrite=True to replace the checkpoint", "overwrite"
                )
            try:
                self.reached = None if other else load_checkpoint(path)
            except InputError as error:
                raise RefusedError(f"{error}; delete {path} to start the fit again") from None
        self._saved = time.monotonic()

    def __call__(self, result: Result) -> None:
        """Save a checkpoint of the current result if the time interval has passed."""
        if time.monotonic() - self._saved >= self.every:
            save_checkpoint(result, self.path, made_of=self._made_of)
            self._saved = time.monotonic()

    def done(self) -> None:
        """Delete the checkpoint after a completed fit."""
        if self.path.exists():
            files.remove_whole(self.path)


def save_checkpoint(result: Result, path: str | os.PathLike[str], *, made_of: Mapping[str, Any] | None = None) -> None:
    """Save the factors and the training history of a model to a checkpoint folder, atomically."""
    import numpy as np
    from safetensors.numpy import save

    factors = {f"factor{k}": np.ascontiguousarray(u) for k, u in enumerate(result.factors)}
    history = {"history": result.history, "seconds": result.seconds, "measured": result.measured, "best": result.best}
    # with a measure the factors are those of the best sweep, so later sweeps are dropped
    history = {name: kept[: result.best + 1] if isinstance(kept, list) else kept for name, kept in history.items()}
    with files.whole_folder(path, kind=KIND, overwrite=True) as draft:
        (draft / "factors.safetensors").write_bytes(save(factors))
        files.write_meta(draft, KIND, VERSION, **history, made_of=made_of)


def load_checkpoint(path: str | os.PathLike[str]) -> Result:
    """Load a checkpoint saved by :class:`Checkpoint`."""
    from safetensors.numpy import load

    meta = files.read_meta(path, KIND, VERSION)
    files.check_whole(path)
    with files.damage_as_input_error(Path(path)):
        tensors = load((Path(path) / "factors.safetensors").read_bytes())
        factors = [tensors[f"factor{k}"] for k in range(len(tensors))]
        return Result(factors, meta["history"], meta["seconds"], meta["measured"], int(meta["best"]))

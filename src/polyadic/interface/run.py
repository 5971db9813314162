"""Common steps of training commands: check the settings, read the data, fit, save and report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from polyadic.core.files import check_replaceable

if TYPE_CHECKING:
    from polyadic.core.model import Model


class Interrupted(KeyboardInterrupt):
    """Exception raised when Ctrl-C ends a run; ``kept`` describes the saved results."""

    def __init__(self, *kept: str) -> None:
        super().__init__(*kept)
        self.kept = kept


class Saved(dict[str, Any]):
    """Result of a command that writes a model."""

    next: Sequence[object] = ()  # command that uses the model
    kept: Sequence[str] = ()  # what was saved, if Ctrl-C ended the run; the exit code says so
    notes: Sequence[str] = ()

    def then(self, *command: object) -> Self:
        """Suggest a command that uses the model, and return the result."""
        self.next = command
        return self


class Incomplete(dict[str, Any]):
    """Result of a command with partly invalid input, printed before an exit with the code for invalid input."""


def check_out(out: Path, *, force: bool) -> None:
    """Raise InputError if a model cannot be saved to the folder; with ``force``, it may replace a saved model."""
    from polyadic.core.serialization import KIND

    check_replaceable(out, KIND, overwrite=force)


def train(
    model: Model,
    read: Callable[[], Any],
    out: Path,
    *,
    force: bool,
    summary: Callable[[Any], Mapping[str, Any]],
    fit: Callable[[Any], Model] | None = None,
) -> Saved:
    """Fit a model to the data returned by ``read``, by ``fit`` or its own ``fit``, and save it; see :func:`save`.

    Settings and the output path are checked before anything is read.
    """
    model.check()
    check_out(out, force=force)
    fitted = (fit or model.fit)(read())
    saved = save(fitted, out, force=force, summary=summary)
    if "choice" in saved:
        saved.notes = [str(fitted.selection_)]
    return saved


def save(model: Model, out: Path, *, force: bool, summary: Callable[[Any], Mapping[str, Any]]) -> Saved:
    """Save a fitted model and return the result of the command, with the figures that ``summary`` reports about it."""
    stopped = getattr(model, "interrupted_", False)  # by Ctrl-C
    if stopped and not getattr(model, "n_iter_", True):
        raise Interrupted
    model.save(out, overwrite=force)
    if stopped:
        raise Interrupted(f"the model of the last iteration in {out}")
    selection = getattr(model, "selection_", None)
    saved = Saved(out=str(out), **summary(model))
    if selection is not None:
        saved["choice"] = selection.summary()
    return saved

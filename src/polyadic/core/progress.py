"""Progress bars on a terminal; no output otherwise."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


class Advance(Protocol):
    """Callback that advances a progress bar."""

    def __call__(self, amount: float = 1, *, note: str = "") -> None:
        """Add ``amount`` to the completed work and show ``note`` at the end of the line."""


class StepTimer(Protocol):
    """Timer of named steps that reports the duration and the dict filled by the ``with`` block."""

    def __call__(self, name: str) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Time the ``with`` block."""


@contextlib.contextmanager
def no_steps(name: str) -> Iterator[dict[str, Any]]:  # noqa: ARG001 # one of StepTimer
    """Do nothing: a :class:`StepTimer` without reports."""
    yield {}


@contextlib.contextmanager
def bar(label: str, total: float | None = None, *, unit: str = "") -> Iterator[Advance]:
    """Show a progress bar on standard error if it is a terminal; yield ``advance(amount, note="...")``.

    ``unit`` is the unit of ``total``; without a total the bar only shows activity.
    """
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %") if total else TextColumn("{task.completed:,.0f} " + unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total, note="")

        def advance(amount: float = 1, *, note: str = "") -> None:
            progress.update(task, advance=amount)
            if note:
                progress.update(task, note=note)

        yield advance


@contextlib.contextmanager
def sweeps(model: Any, label: str) -> Iterator[None]:
    """Show the iterations of a fit in the ``with`` block, using the ``callback`` of the model."""
    if not hasattr(model, "callback"):
        yield
        return
    callback = model.callback
    with bar(label, getattr(model, "max_iter", None) or getattr(model, "epochs", None)) as advance:
        model.callback = _Sweeping(advance, callback)
        try:
            yield
        finally:
            model.callback = callback


class _Sweeping:
    """Callback that advances a bar by iterations, and by fractions of one if the model reports them."""

    def __init__(self, advance: Advance, callback: Any) -> None:
        self._advance, self._share, self._callback = advance, 0.0, callback
        self.reached = getattr(callback, "reached", None)
        if self.reached is not None:
            advance(self.reached.n_iter)

    def __call__(self, result: Any) -> None:
        if self._callback is not None:
            self._callback(result)
        self._advance(1 - self._share, note=f"objective {result.history[-1]:,.4g}")
        self._share = 0.0

    def within(self, share: float) -> None:
        """Advance to a fraction of the current iteration; never move the bar back."""
        if share > self._share:
            self._advance(share - self._share)
            self._share = share


def tracked(items: Iterable[Item], label: str, *, total: float | None = None) -> Iterator[Item]:
    """Yield the items while showing a progress bar; ``total`` is the number of items."""
    with bar(label, total) as advance:
        for item in items:
            yield item
            advance()


def _silent(amount: float = 1, *, note: str = "") -> None:
    """Ignore progress, because there is no terminal."""

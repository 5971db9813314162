"""Progress bars that are shown only on a terminal, and notes on how input is understood."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")

LOG = logging.getLogger("polyadic")  # logger of notes; the command line prints its messages of level INFO


def note(message: str, *settings: str) -> None:
    """Log how input is understood, and the names of the settings in the message, as :class:`InputWarning` has them."""
    LOG.info("%s", message, extra={"settings": settings})


class Advance(Protocol):
    """Callback that advances a progress bar."""

    def __call__(self, amount: float = 1, *, note: str = "") -> None:
        """Advance the bar by ``amount``, and show ``note`` at the end of the line."""


class StepTimer(Protocol):
    """Interface of step timers, which report the duration and the results of a ``with`` block."""

    def __call__(self, name: str) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Measure the duration of the ``with`` block, and yield a dict for its results."""


@contextlib.contextmanager
def no_steps(name: str) -> Iterator[dict[str, Any]]:  # noqa: ARG001 # one of StepTimer
    """Step timer that reports nothing."""
    yield {}


@contextlib.contextmanager
def bar(label: str, total: float | None = None, *, unit: str = "") -> Iterator[Advance]:
    """Context manager that shows a progress bar on a terminal and yields a function to advance the bar.

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
    """Show a progress bar over the iterations of a model that is fitted in the ``with`` block."""
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
    """Callback that advances a progress bar with each iteration, or with fractions of an iteration."""

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
        """Advance the bar to a fraction of the current iteration."""
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
    """Ignore a progress update, because no bar is shown."""

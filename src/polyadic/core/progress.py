"""A progress bar on a terminal, nothing when piped."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


class Advance(Protocol):
    """Tell the bar how far the work has come."""

    def __call__(self, amount: float = 1, *, note: str = "") -> None:
        """Add ``amount`` to what is done and show ``note`` at the end of the line."""


class Steps(Protocol):
    """Tells how long a step took, and what the body put into the dict that it is given."""

    def __call__(self, name: str) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Time the body."""


@contextlib.contextmanager
def untold(name: str) -> Iterator[dict[str, Any]]:  # noqa: ARG001 # one of Steps
    """Tell nobody."""
    yield {}


@contextlib.contextmanager
def bar(label: str, total: float | None = None, *, unit: str = "") -> Iterator[Advance]:
    """Show a bar on standard error while the body runs, if standard error is a terminal.

    Parameters
    ----------
    label : str
        What is being done.
    total : float, optional
        The amount of work; without it the bar only shows that something moves.
    unit : str
        What ``total`` counts; shown as a rate per second. ``"B"`` for bytes.

    Yields
    ------
    advance : callable
        ``advance(amount, note="...")``.

    Examples
    --------
    >>> with bar("counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance()
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
    """Show how far the fit in the body has come, by the sweeps, or draws, that its model tells of.

    Examples
    --------
    >>> from polyadic import SymmetricCP
    >>> model = SymmetricCP(2)
    >>> with sweeps(model, "factorizing"):
    ...     model.callback is not None
    True
    >>> model.callback is None
    True
    """
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
    """Moves a bar by sweeps, and within them as far as the model tells."""

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
        """Take note of the share of a sweep that is done; one that is tried again does not move the bar."""
        if share > self._share:
            self._advance(share - self._share)
            self._share = share


def tracked(items: Iterable[Item], label: str, *, total: float | None = None) -> Iterator[Item]:
    """Give the items one by one under a bar.

    Parameters
    ----------
    items : iterable
        What the work goes through.
    label : str
        What is being done.
    total : float, optional
        How many items there are.

    Examples
    --------
    >>> sum(tracked([1, 2, 3], "adding"))
    6
    """
    with bar(label, total) as advance:
        for item in items:
            yield item
            advance()


def _silent(amount: float = 1, *, note: str = "") -> None:
    """Advance nothing: there is no terminal to show it on."""

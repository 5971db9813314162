"""Pictures of matrix completion: how fast a descent comes near the best that its rank allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError, check_number
from polyadic.plots.axes import new_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def descent(histories: Mapping[str, Sequence[float]], optimum: float, *, ax: Any = None) -> Any:
    """Show by epoch how far errors are above the least that is possible, as a share of it.

    Of a matrix all of whose cells are known, the least is the sum of the squared singular values beyond the rank.

    Parameters
    ----------
    histories : mapping of str to sequence of float
        Such as ``history_`` of models, by the name in the legend; above 0.
    optimum : float
        Above 0.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If there is nothing to show, or a number is not above 0.

    References
    ----------
    Eckart, Young (1936), The approximation of one matrix by another of lower rank.
    """
    check_number("optimum", optimum, above=True)
    for name, errors in histories.items():
        if not len(errors) or not (np.isfinite(errors).all() and (np.asarray(errors) > 0).all()):
            raise InputError(f"the errors of {name!r} must be numbers above 0, at least one")
    if not histories:
        raise InputError("there is no descent to show")
    ax = new_axes() if ax is None else ax
    for name, errors in histories.items():
        above = np.asarray(errors) / optimum - 1
        ax.plot(range(len(above)), np.where(above > 0, above, np.nan), label=name)
    ax.set_yscale("log")
    ax.set_xlabel("epoch")
    ax.set_ylabel("squared error above the optimum, relative")
    ax.legend()
    return ax

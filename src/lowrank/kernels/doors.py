"""What every door does: arrays are made contiguous and of one type, and parts of the work go to threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray


def frozen(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Give a contiguous view that cannot be written to, so that mapped files and arrays share one compiled loop."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def in_threads(work: Callable[[int], Any], threads: int) -> list[Any]:
    """Run ``work(0)`` .. ``work(threads - 1)`` at the same time; results in that order."""
    if threads == 1:
        return [work(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))

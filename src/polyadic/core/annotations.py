"""Short names of array types and of paths, for annotations."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["AnyArray", "Array", "ArrayLike", "DTypeLike", "Factors", "Floats", "Ints", "Ints32", "Mask", "Path"]

AnyArray = NDArray[Any]
Array = NDArray[np.float64]
Factors = list[AnyArray]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Mask = NDArray[np.bool_]
Path = str | os.PathLike[str]

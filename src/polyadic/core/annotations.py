"""Short names of array types and of paths, for annotations."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
Array = NDArray[np.float64]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Mask = NDArray[np.bool_]
Path = str | os.PathLike[str]

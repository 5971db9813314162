"""MATLAB files of research data."""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def matlab(path: Path, what: str) -> Iterator[dict[str, Any]]:
    """Yield the arrays of a MATLAB file; errors in the block become InputError with ``what`` as expected content."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        yield loadmat(path)
    # scipy does not check what it reads, so that damage ends in any of these
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError, MatReadError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as a MATLAB file with {what}: {error}") from None

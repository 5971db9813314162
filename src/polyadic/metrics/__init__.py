"""Evaluation metrics with confidence intervals, in one module per task, such as ``polyadic.metrics.similarity``.

Each module begins with the definition of its task and is imported on first access.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType  # a public signature

__all__ = [module.name for module in pkgutil.iter_modules(__path__)]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__

"""Named protocols: data, split, models, metrics, in one command.

A suite is a folder, and its ``protocol.py`` says all of it: settings, what is done, and how it is told.

To add a **stage** to a suite, write one function in its ``protocol.py`` that gives stages, and name it in ``STAGES``:

.. code-block:: python

    def _chunks(run: Run[Settings]) -> Stages:
        for seed in range(run.settings.seeds):
            yield Stage(str(seed), {"seed": seed}, partial(chunks.compared, seed=seed, root=run.root))


    STAGES = {..., "chunks": _chunks}

Each stage has a name, what it is made of, and a function that makes its facts. ``python -m experiments`` then does it
once, skips it when it is done, refuses to mix it with other settings, and writes its facts to ``report.json``; a line
of ``SECTIONS`` in ``report.py`` makes a table of them. What a stage found comes back from ``yield``, for stages that
depend on it, and what the function returns takes the place of the facts by name. A **setting** is a field of
``Settings``; with an :class:`~experiments.experiment.Option` in its annotation it is an option of the command. A new
**suite** is a ``protocol.py`` with ``SUITE``, and a name in :data:`SUITES`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from experiments.experiment import Suite

SUITES = (
    "bailey2017",
    "bouchard2015",
    "cao2014",
    "huang2017",
    "niitsuma2018",
    "predictors",
    "relations",
    "spectral",
    "syntax",
)


def load_suite(name: str) -> Suite[Any]:
    """Give a suite by its name."""
    suite: Suite[Any] = import_module(f"experiments.{name}.protocol").SUITE
    return suite


def source(name: str) -> Path:
    """Give the file that says all of a suite."""
    return Path(__file__).parent / name / "protocol.py"

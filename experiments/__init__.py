"""Published experiments, research data sets and benchmarks: ``python -m experiments NAME``.

An experiment is a folder; its ``protocol.py`` holds the settings, the stages and the report. To add a **stage**, write
a function that yields stages in ``protocol.py`` and list it in ``STAGES``:

.. code-block:: python

    def _chunks(run: Run[Settings]) -> Stages:
        for seed in range(run.settings.seeds):
            yield Stage(str(seed), {"seed": seed}, partial(chunks.compared, seed=seed, root=run.root))


    STAGES = {..., "chunks": _chunks}

A stage has a name, all that its result depends on, and a function that computes the result. The runner computes it
once, refuses to mix it with other settings, and writes it to ``report.json``; an entry of ``SECTIONS`` in ``report.py``
formats it as a table. A **setting** is a field of ``Settings``; with an :class:`~experiments.experiment.Option` in its
annotation it is an option of the command. A new **experiment** is a ``protocol.py`` with ``EXPERIMENT``, and a name in
:data:`EXPERIMENTS`. A new **benchmark** is a module of ``experiments/bench`` with a function ``main``, or several
functions in ``COMMANDS``, whose parameters are the arguments and options of the command.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from experiments.experiment import Experiment

EXPERIMENTS = (
    *("bailey2017", "bouchard2015", "cao2014", "huang2017", "niitsuma2018"),
    *("predictors", "relations", "spectral", "syntax"),
)
BENCHMARKS = tuple(
    sorted(
        file.stem for file in (Path(__file__).parent / "bench").glob("*.py") if file.stem not in {"__init__", "common"}
    )
)


def load_experiment(name: str) -> Experiment[Any]:
    """Return an experiment by its name."""
    experiment: Experiment[Any] = import_module(f"experiments.{name}.protocol").EXPERIMENT
    return experiment


def source(name: str) -> Path:
    """Return the file that defines an experiment or a benchmark."""
    folder = Path(__file__).parent
    return folder / name / "protocol.py" if name in EXPERIMENTS else folder / "bench" / f"{name}.py"

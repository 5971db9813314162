"""What every test shares: threads, the profile of hypothesis, and the folder of real data."""

import functools
import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest
import typer.testing

from polyadic.core import resources

# Where a test does not say how many threads work, one does, on any machine: they cost more than they save at the size
# of tests, and how many there are decides the last digits.
resources.cores = lambda: 1
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
gc.disable()  # while tests are found and modules imported, nearly all that is made stays
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background

# The commands that the app describes are built once in a process, not at each call: that takes longer than most calls.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# How long an example takes says how busy the machine is, not whether a law holds.
patient = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# A run tries the same examples as the last, so that it fails where the code changed and nowhere else; new examples
# are looked for with `pytest --hypothesis-profile=explore`. A run without the slow tests tries a quarter of them.
hypothesis.settings.register_profile("polyadic", patient, derandomize=True)
hypothesis.settings.register_profile("quick", patient, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("explore", patient)
hypothesis.settings.load_profile("polyadic")


def compile_once() -> None:
    """Let one process compile a kernel while the others that need it wait, and load it from the cache.

    Workers of pytest-xdist begin at the same time; several would compile the same kernels otherwise.
    """
    import fcntl  # Windows has none

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    alone, held = Dispatcher.compile, set()

    def compile_or_load(kernel: Dispatcher, signature: object) -> object:
        index = getattr(getattr(kernel._cache, "_cache_file", None), "_index_path", None)
        if index is None or index in held:  # not cached, or recursive
            return alone(kernel, signature)
        path = Path(index).with_suffix(".lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        # All threads take the lock of numba first, and a kernel never waits for one that calls it.
        with global_compiler_lock, path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.add(index)
            try:
                return alone(kernel, signature)
            finally:
                held.remove(index)

    Dispatcher.compile = compile_or_load


if os.name == "posix" and "PYTEST_XDIST_WORKER" in os.environ:
    compile_once()


@pytest.fixture(scope="session")
def realdata() -> Path:
    """Give the folder of real data; tests that ask for it are marked ``realdata``."""
    folder = Path(os.environ["POLYADIC_DATA"])
    if not folder.is_dir():
        pytest.fail(f"POLYADIC_DATA names {folder}, which is no folder")
    return folder


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples in ``make test``; ``--hypothesis-profile`` comes later and has the last word."""
    if "not slow" in config.option.markexpr:
        hypothesis.settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Begin to collect garbage, but for what was imported: it stays."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``realdata`` where there is none."""
    if os.environ.get("POLYADIC_DATA"):
        return
    skip = pytest.mark.skip(reason="POLYADIC_DATA is not set: it names the folder of real data")
    for item in items:
        if item.get_closest_marker("realdata"):
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that the page was not tested, where it was not for want of a browser."""
    skipped = terminalreporter.stats.get("skipped", [])
    if any("there is no Chromium" in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(
            "The page was not tested: there is no Chromium (apt-get install chromium, or POLYADIC_BROWSER=...)."
        )

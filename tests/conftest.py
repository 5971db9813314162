"""What every test shares: the profile of hypothesis, and the folder of real data."""

import os
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("polyadic", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("polyadic")


@pytest.fixture(scope="session")
def realdata() -> Path:
    """Give the folder of real data; tests that ask for it are marked ``realdata``."""
    folder = Path(os.environ["POLYADIC_DATA"])
    if not folder.is_dir():
        pytest.fail(f"POLYADIC_DATA names {folder}, which is no folder")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``realdata`` where there is none."""
    if os.environ.get("POLYADIC_DATA"):
        return
    skip = pytest.mark.skip(reason="POLYADIC_DATA is not set: it names the folder of real data")
    for item in items:
        if item.get_closest_marker("realdata"):
            item.add_marker(skip)

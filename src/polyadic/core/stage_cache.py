"""Cache of pipeline stages: finished stages are stored with their inputs, and skipped when a run is repeated."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polyadic.core.errors import InputError
from polyadic.core.files import plain, whole_file
from polyadic.core.resources import reraised_interrupts

if TYPE_CHECKING:
    from polyadic.core.progress import StepTimer

Facts = dict[str, Any]
Model = TypeVar("Model")


class RefusedError(InputError):
    """Exception raised if a stored stage was made from different inputs or cannot be read."""


class StageCache:
    """Cache of pipeline stages in a folder.

    The output of a stage ``a/b`` is described by ``a/b.json``: its inputs and, once it is finished, its summary,
    without which it is repeated. With ``force``, a stage of other inputs is replaced instead of raising an error.
    """

    def __init__(self, folder: Path, *, steps: StepTimer, force: bool = False) -> None:
        self.folder = folder
        self._steps = steps
        self._force = force

    def check_ours(self, name: str, target: Path) -> None:
        """Raise RefusedError if the output path of a stage exists but was not created by an earlier run."""
        if target.exists() and not self._force and read_label(self.folder / f"{name}.json") is None:
            raise RefusedError(
                f"{target} exists and was not made by this command; choose another folder, or replace it"
                " with overwrite=True",
                "overwrite",
            )

    def keep(
        self, name: str, made_of: Mapping[str, Any], make: Callable[[], Facts], *, target: Path | None = None
    ) -> Facts:
        """Return the stored summary of a stage, or run the stage by calling ``make``, which writes ``target``.

        RefusedError is raised if the stage was made of other inputs than ``made_of``, and KeyboardInterrupt if Ctrl-C
        was pressed during the stage, even if a fit returned what it had reached.
        """
        label = self.folder / f"{name}.json"
        wanted = plain(made_of)
        kept = read_label(label)
        kept = kept if kept and kept["facts"] is not None else None
        if kept and (other := differences(kept["made_of"], wanted)):
            if not self._force:
                raise RefusedError(
                    f"{self.folder / name} was made with {other}; choose another folder, or replace it"
                    " with overwrite=True",
                    "overwrite",
                )
            kept = None
        with self._steps(name) as shown:
            if kept and (target is None or target.exists()):
                shown["kept"] = True
                return dict(kept["facts"])
            label.parent.mkdir(parents=True, exist_ok=True)
            write_json(label, {"made_of": wanted, "facts": None})  # a label never describes an older target
            start = time.perf_counter()
            try:
                with reraised_interrupts():  # an interrupted fit is not a result
                    facts = plain(make())
            except BaseException:
                if target is None or not target.exists():
                    label.unlink(missing_ok=True)
                raise
            facts["stage_seconds"] = round(time.perf_counter() - start, 3)
            reported = {key: value for key, value in facts.items() if isinstance(value, int | str) and key != "seconds"}
            shown.update(reported)
            write_json(label, {"made_of": wanted, "facts": facts})
        return dict(facts)


def whole(model: Model) -> Model:
    """Return the fitted model; raise KeyboardInterrupt if Ctrl-C stopped its fit early."""
    if any(getattr(fitted, "interrupted_", False) for fitted in (model, getattr(model, "model_", None))):
        raise KeyboardInterrupt
    return model


def read_label(label: Path) -> Facts | None:
    """Read the description of a stored stage; return None if there is none, raise RefusedError if it is damaged."""
    try:
        kept = json.loads(label.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RefusedError(f"{label} cannot be read ({error}); delete it to run the stage again") from None
    if not isinstance(kept, dict) or not {"made_of", "facts"} <= set(kept):
        raise RefusedError(f"{label} is not a valid description of a stage; delete it to run the stage again")
    return kept


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, content: str) -> None:
    """Write a text file atomically, unless it already has the given content."""
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        with whole_file(path) as draft:
            draft.write_text(content, encoding="utf-8", errors="backslashreplace")  # file names may not be valid text


def digest(content: str | bytes) -> str:
    """Return the first half of a SHA-256 digest, in hexadecimal."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:32]


def differences(kept: Facts, wanted: Facts) -> str:
    """Describe the settings that differ from those of a stored stage."""
    keys = [key for key in {**wanted, **kept} if kept.get(key) != wanted.get(key)]
    return ", ".join(
        f"{key} {_short(kept.get(key))} instead of {_short(wanted.get(key))}"
        if _short(kept.get(key)) and _short(wanted.get(key))
        else f"another {key}"
        for key in keys
    )


def _short(value: Any) -> str:
    """Format a setting, or return "" if it is too long or structured to be informative."""
    text = "none" if value is None else str(value)
    return "" if len(text) >= len(digest("")) or isinstance(value, list | dict) else text

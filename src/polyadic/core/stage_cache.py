"""The folder of a run: finished stages, each with what it was made of, so that a second run skips them."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, TypeVar

from polyadic.core.errors import InputError
from polyadic.core.files import plain, whole_file
from polyadic.core.resources import interrupts_told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from polyadic.core.progress import Steps

Facts = dict[str, Any]
Model = TypeVar("Model")


class RefusedError(InputError):
    """A stage is there and was made of something else, or cannot be read."""


class StageCache:
    """Keeps the stages of a run.

    A stage ``a/b`` is what it wrote, and the file ``a/b.json``, which says what it was made of and, in the end, what
    was found. Where that file is there and says the same, nothing is done; where it does not say yet what was found,
    the run was cut short, and the stage is done again.

    Parameters
    ----------
    folder : Path
        Of the run.
    steps : callable
        Told of each stage.
    force : bool
        Whether stages made of something else are replaced instead of refused.
    """

    def __init__(self, folder: Path, *, steps: Steps, force: bool = False) -> None:
        self.folder = folder
        self._steps = steps
        self._force = force

    def check_ours(self, name: str, target: Path) -> None:
        """Refuse a stage that lies there although no run began it, so that it is not replaced.

        Raises
        ------
        RefusedError
            If there is one.
        """
        if target.exists() and not self._force and read_label(self.folder / f"{name}.json") is None:
            raise RefusedError(
                f"{target} is there, and was made by something else; name another folder, or replace it (--force,"
                " overwrite=True)"
            )

    def keep(
        self, name: str, made_of: Mapping[str, Any], make: Callable[[], Facts], *, target: Path | None = None
    ) -> Facts:
        """Give the facts of a stage, which is made if it is not there.

        Parameters
        ----------
        name : str
            Of the stage.
        made_of : mapping
            All that the result depends on.
        make : callable
            Does the work, and gives facts for JSON.
        target : Path, optional
            The file or folder that ``make`` leaves, whole, over what may be there.

        Raises
        ------
        RefusedError
            If the stage is there and was made of something else, which the message names.
        KeyboardInterrupt
            If Ctrl-C was heard while it was made, even where a fit kept what it had reached.
        """
        label = self.folder / f"{name}.json"
        wanted = plain(made_of)
        kept = read_label(label)
        kept = kept if kept and kept["facts"] is not None else None
        if kept and (other := differing(kept["made_of"], wanted)):
            if not self._force:
                raise RefusedError(
                    f"{self.folder / name} was made with {other}; name another folder, or replace it (--force,"
                    " overwrite=True)"
                )
            kept = None
        with self._steps(name) as shown:
            if kept and (target is None or target.exists()):
                shown["kept"] = True
                return dict(kept["facts"])
            label.parent.mkdir(parents=True, exist_ok=True)
            write_json(label, {"made_of": wanted, "facts": None})  # a label never describes what was there before
            start = time.perf_counter()
            try:
                with interrupts_told():  # what a fit reached until Ctrl-C is no result
                    facts = plain(make())
            except BaseException:
                if target is None or not target.exists():
                    label.unlink(missing_ok=True)
                raise
            facts["stage_seconds"] = round(time.perf_counter() - start, 3)
            told = {key: value for key, value in facts.items() if isinstance(value, int | str) and key != "seconds"}
            shown.update(told)
            write_json(label, {"made_of": wanted, "facts": facts})
        return dict(facts)


def whole(model: Model) -> Model:
    """Give a fitted model, or stop the run if Ctrl-C ended its fit early: it cannot be judged.

    Raises
    ------
    KeyboardInterrupt
        If it did.
    """
    if any(getattr(fitted, "interrupted_", False) for fitted in (model, getattr(model, "model_", None))):
        raise KeyboardInterrupt
    return model


def read_label(label: Path) -> Facts | None:
    """Read what a stage was made of and what was found, or None if it is not finished.

    Raises
    ------
    RefusedError
        If the file is damaged.
    """
    try:
        kept = json.loads(label.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RefusedError(f"{label} cannot be read ({error}); delete it, and the stage is done again") from None
    if not isinstance(kept, dict) or not {"made_of", "facts"} <= set(kept):
        raise RefusedError(f"{label} does not describe a stage; delete it, and the stage is done again")
    return kept


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON, whole."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, content: str) -> None:
    """Write a text whole, unless the file holds it already."""
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        with whole_file(path) as draft:
            draft.write_text(content, encoding="utf-8", errors="backslashreplace")  # of names that are no text


def digest(content: str | bytes) -> str:
    """Give the first half of a SHA-256, in hexadecimal."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:32]


def differing(kept: Facts, wanted: Facts) -> str:
    """Name the settings of what is kept that are not those wanted now."""
    keys = [key for key in {**wanted, **kept} if kept.get(key) != wanted.get(key)]
    return ", ".join(
        f"{key} {_short(kept.get(key))} instead of {_short(wanted.get(key))}"
        if _short(kept.get(key)) and _short(wanted.get(key))
        else f"another {key}"
        for key in keys
    )


def _short(value: Any) -> str:
    """Write a setting, or nothing where it would tell nobody anything."""
    text = "none" if value is None else str(value)
    return "" if len(text) >= len(digest("")) or isinstance(value, list | dict) else text

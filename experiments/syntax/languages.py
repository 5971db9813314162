"""Parsing and semantic roles in other languages, with the tensor and without.

The folder of test sets holds clones of repositories of Universal Dependencies, such as ``UD_Greek-GDT``, in
``syntax/treebanks``, and folders of Universal Propositions 1.0, such as ``UP_German``, in ``syntax/propositions``. A
treebank without a training part is learned from its development part; every fifth of the training sentences is set
aside where there is no development part left.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.syntax import parsing, roles
from polyadic.core.errors import InputError
from polyadic.datasets.place import folder
from polyadic.syntax.propositions import read_propositions
from polyadic.syntax.trees import read_trees

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from polyadic.core.stage_cache import Facts
    from polyadic.syntax.propositions import Sentence

    Root = str | os.PathLike[str] | None


def names(kind: str, root: Root = None) -> list[str]:
    """Return the treebanks or propositions that the folder of test sets holds."""
    where = folder(root) / "syntax" / kind
    return sorted(path.name for path in where.iterdir()) if where.is_dir() else []


def parts(kind: str, name: str, root: Root = None) -> dict[str, Path]:
    """Return the files of a treebank by part, at least one to learn from and ``test``."""
    where = folder(root) / "syntax" / kind / name
    found = {path.stem.rpartition("-")[2]: path for path in where.glob("*-u[dp]-*.conllu")}
    if "test" not in found or len(found) < 2:
        raise InputError(f"{where} must have a test part and a training or development part; got {sorted(found)}")
    return found


def parsed(name: str, *, seed: int, root: Root = None) -> Facts:
    """Learn parsers of first order from a treebank, and evaluate them on its test part."""
    trees = {part: list(read_trees(path)) for part, path in parts("treebanks", name, root).items()}
    train = trees.get("train") or trees["dev"]
    if len(trees) < 3:
        train, trees["dev"] = [tree for at, tree in enumerate(train) if at % 5], train[::5]
    return {"treebank": name, **parsing.compared(train, dev=trees["dev"], test=trees["test"], seed=seed)}


def labelled(name: str, *, seed: int, root: Root = None) -> Facts:
    """Learn semantic roles from propositions, and evaluate them on the test part."""
    files = parts("propositions", name, root)
    train, test = (list(propositions(files[part])) for part in ("train" if "train" in files else "dev", "test"))
    return {"propositions": name, **roles.compared(train, test, seed=seed)}


def propositions(path: Path) -> Iterator[Sentence]:
    """Read sentences with predicates in columns 9 and 10, as in languages other than English."""
    with tempfile.TemporaryDirectory() as made:
        moved = Path(made) / "moved.conllu"
        lines = path.read_text(encoding="utf-8").splitlines()
        moved.write_text("".join(f"{_moved(line)}\n" for line in [*lines, ""]), encoding="utf-8")
        yield from read_propositions(moved)


def _moved(line: str) -> str:
    cells = line.split("\t")
    return line if len(cells) < 10 else "\t".join([*cells[:8], "_", "_", *cells[9:]])

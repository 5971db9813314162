"""Work killed at each of its file operations, one after another, in children of this program; prints what came of it.

``python kills.py FOLDER SIGNAL FIRST STEP VERB ...`` runs a verb in copies of FOLDER, in a child that gets the signal
at operation FIRST, FIRST + STEP, ... until one is not reached; and again after each, unhindered, in the same copy. The
verb ``-fill`` writes the folder ``a`` anew, ``-aside`` does so as on systems that cannot exchange names.
"""

import contextlib
import importlib
import io
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from polyadic import files

MODULES = (
    *("numba", "safetensors.numpy", "scipy.sparse", "typer", "rich.console", "polyadic.cli.train"),
    *("polyadic.recipes.words", "polyadic.models.words.joint", "polyadic.text.counts"),
)
"""What children find imported, as importing hangs on no file of theirs."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.scandir", "ctypes.dlsym"}


def work(arguments):
    """Do what is asked; give the exit status."""
    if arguments[0] in ("-fill", "-aside"):
        if arguments[0] == "-aside":
            files._exchange = lambda _one, _other: False
        with files.whole_folder("a", kind="poems", overwrite=True) as draft:
            for name in ("one", "two"):
                (draft / name).write_text("new", encoding="utf-8")
            files.write_meta(draft, "poems", 1)
        return 0
    from polyadic.cli import main

    sys.argv = ["polyadic", *arguments]
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


def child(arguments, at=0, number=signal.SIGKILL):
    """Work in a child, which gets a signal at an operation; give its status, and what it said."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        with os.fdopen(read) as told:
            text = told.read()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text
    seen = 0

    def hook(event, details):
        nonlocal seen
        if event in EVENTS or (event == "open" and isinstance(details[2], int) and details[2] & WRITES):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), number)

    sys.addaudithook(hook)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = work(arguments)
    at = 0
    os.write(write, said.getvalue().encode()[-2000:])
    os._exit(status)


def tree(folder):
    """All files below a folder, with their sizes."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def main():
    folder, number, first, step, arguments = Path(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5:]
    for module in () if arguments[0].startswith("-") else MODULES:
        importlib.import_module(module)
    for at in range(first, 10_000, step):
        copy = folder.parent / f"{folder.name}-{at}"
        shutil.copytree(folder, copy)
        os.chdir(copy)
        status, _ = child(arguments, at, number)
        row = {"at": at, "status": status, "killed": tree(copy)}
        row["again"], row["said"] = child(arguments)
        row["left"] = tree(copy)
        sys.stdout.write(json.dumps(row) + "\n")
        os.chdir(folder.parent)
        shutil.rmtree(copy)
        if status != -number and status not in (130, 143):
            return


if __name__ == "__main__":
    main()

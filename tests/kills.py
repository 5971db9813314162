"""Work killed at each of its file operations, one after another, in children of this program; prints what came of it.

``python kills.py FOLDER SIGNAL POINTS VERB ...`` runs a verb in a copy of FOLDER, and again in others where it gets the
signal at one of so many of its operations, or at each for 0; and after each once more, unhindered, in the same copy.
The verb ``-fill`` writes the folder ``a`` anew, ``-aside`` does so as on systems that cannot exchange names.
"""

import atexit
import contextlib
import importlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from polyadic import files

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
    """Work in a child, which gets a signal at an operation; give its status, and what it said if it could."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        with os.fdopen(read) as told:
            text = told.read()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), json.loads(text or "{}")
    tempfile.tempdir = str(Path("tmp").absolute())
    seen = 0

    def hook(event, details):
        nonlocal seen
        if event in EVENTS or (event == "open" and isinstance(details[2], int) and details[2] & WRITES):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), number)

    sys.addaudithook(hook)
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = work(arguments)
        atexit._run_exitfuncs()  # temporary folders go as a process ends
    at, told = 0, {"text": said.buffer.getvalue().decode()[-2000:], "modules": [*sys.modules], "operations": seen}
    with os.fdopen(write, "w") as pipe:
        json.dump(told, pipe)
    os._exit(status)


def tree(folder):
    """All files below a folder, with their sizes."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def main():
    folder, number, points, arguments = Path(sys.argv[1]), *map(int, sys.argv[2:4]), sys.argv[4:]
    (folder / "tmp").mkdir(exist_ok=True)
    copy = Path(tempfile.mkdtemp()) / folder.name
    places = [0, 0]  # where it is left alone: first to import what it needs, then to count its operations
    for number_of_run, at in enumerate(places):
        shutil.copytree(folder, copy)
        os.chdir(copy)
        row = {"at": at, "before": tree(copy)}
        row["status"], said = child(arguments, at, number)
        if not number_of_run:
            for module in said["modules"]:
                with contextlib.suppress(ImportError):
                    importlib.import_module(module)
        elif not at:
            last = said["operations"]
            points = points or last
            places += sorted({1 + k * last // points for k in range(min(points, last))})
        row["killed"] = tree(copy)
        row["again"], said = child(arguments) if at else (row["status"], said)
        row["said"] = said.get("text", "")
        row["left"] = tree(copy)
        sys.stdout.write(json.dumps(row) + "\n")
        os.chdir(folder.parent)
        shutil.rmtree(copy)
    copy.parent.rmdir()


if __name__ == "__main__":
    main()

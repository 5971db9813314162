"""Work stopped at each of its file operations, one after another, in children of this program; prints what came of it.

``python kills.py FOLDER WAY POINTS VERB ...`` runs a verb in a copy of FOLDER, and again in others where it is stopped
at one of so many of its operations, or at each for 0; and after each once more, unhindered, in the same copy. The ways:
``kill`` and ``term`` are signals, from ``full`` on there is no room for a file, a folder or a byte more, ``each`` takes
them in turn. The verb ``-fill`` writes the folder ``a`` anew, ``-aside`` does so as where names cannot be exchanged.
"""

import atexit
import contextlib
import errno
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import typer

from polyadic import cli
from polyadic.core import files

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM}
WRONG = 70
"""Exit status of what raised."""
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
    sys.argv = ["polyadic", *arguments]
    try:
        cli.main()
    except SystemExit as ended:
        return ended.code or 0
    except BaseException:  # noqa: BLE001 # that is what is looked for
        traceback.print_exc()
        return WRONG
    return 0


def child(arguments, at=0, way="kill"):
    """Work in a child, which is stopped at an operation; give its status, and what it said if it could."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        with os.fdopen(read) as told:
            text = told.read()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), json.loads(text or "{}")
    seen = 0

    def hook(event, details):
        nonlocal seen
        opened = event == "open" and isinstance(details[2], int) and details[2] & WRITES
        if event in EVENTS or opened:
            seen += 1
            if seen == at and way != "full":
                os.kill(os.getpid(), SIGNALS[way])
            elif seen == at:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        if way == "full" and 0 < at <= seen and (opened or event == "os.mkdir"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), details[0])

    sys.addaudithook(hook)
    status, text = heard(arguments, end=atexit._run_exitfuncs)  # temporary folders go as a process ends
    at, told = 0, json.dumps({"text": text, "operations": seen})  # the pipe itself is one more
    with os.fdopen(write, "w") as pipe:
        pipe.write(told)
    os._exit(status)


def heard(arguments, end=lambda: None):
    """Work, and do what is done at the end; give the status, and what was said."""
    tempfile.tempdir = str(Path("tmp").absolute())
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = work(arguments)
        end()
    return status, said.buffer.getvalue().decode()[-2000:]


def tree(folder):
    """All files below a folder, with their sizes."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def main():
    folder, way, points, arguments = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    cli.app = typer.main.get_command(cli.app)  # once, as it takes longer than most of what follows
    (folder / "tmp").mkdir(exist_ok=True)
    copy = Path(tempfile.mkdtemp()) / folder.name
    shutil.copytree(folder, copy)
    os.chdir(copy)
    heard(arguments)  # here, so that children find all that it imports
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    places = [0]  # where it is left alone, to count its operations
    for number, at in enumerate(places):
        shutil.rmtree(copy)
        shutil.copytree(folder, copy)
        os.chdir(copy)
        row = {"at": at, "way": ["kill", "term", "full"][number % 3] if way == "each" else way, "before": tree(copy)}
        row["status"], said = child(arguments, at, row["way"])
        if not at:
            last = said["operations"]
            points = points or last
            places += sorted({1 + k * last // points for k in range(min(points, last))})
        row["stopped"], row["said"] = tree(copy), said.get("text", "")
        row["again"], said = child(arguments) if at else (row["status"], said)
        row["said"] += said.get("text", "")
        row["left"] = tree(copy)
        sys.stdout.write(json.dumps(row) + "\n")
    shutil.rmtree(copy.parent)


if __name__ == "__main__":
    main()

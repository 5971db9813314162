"""Whatever stops a run, and whenever: what was there stays, or what is new is whole; the run can be done again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import verbs
from polyadic.core.errors import InputError
from polyadic.core.files import made_folder, write_meta

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="of Linux")
SCRIPT = Path(__file__).parent / "kills.py"


def stopped(folder, *arguments, way="kill", points=0):
    """Leave it alone, and stop it at some of its file operations, or at all; give a row for each."""
    command = [sys.executable, SCRIPT, folder, way, points, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLCONFIGDIR": str(folder / "tmp")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def below(files, folder):
    """The files below a folder, by their names in it."""
    return {name.removeprefix(folder): size for name, size in files.items() if name.startswith(folder)}


@pytest.mark.parametrize("way", ["-fill", "-aside"])
def test_a_folder_is_replaced_at_once(way, tmp_path):
    """Where names are exchanged there is no moment without a whole folder; elsewhere the next run finds the old one."""
    folder = tmp_path / "w"
    (folder / "a").mkdir(parents=True)
    write_meta(folder / "a", "poems", 1, old="old")
    old = {"meta.json": (folder / "a" / "meta.json").stat().st_size}
    left_alone, *rows = stopped(folder, way)
    new = below(left_alone["left"], "a/")
    assert len(rows) > 10
    for row in rows:
        assert row["status"] == -signal.SIGKILL
        there = below(row["stopped"], "a/")
        assert there in (old, new) or way == "-aside"
        if not there:
            [aside] = {name.split("/")[0] for name in row["stopped"] if "-of-a/" in name}
            assert below(row["stopped"], f"{aside}/") == old
        assert (row["again"], row["left"]) == (0, left_alone["left"]), row


def test_two_processes_and_one_name(tmp_path):
    """Of two that write a name one goes on and the other is refused, until the first has ended, however it has."""
    wait = "import sys; from pathlib import Path; from polyadic.core.files import locked\n"
    wait += "with locked(Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    for end in (subprocess.Popen.communicate, subprocess.Popen.kill):
        with subprocess.Popen(
            [sys.executable, "-c", wait, tmp_path / "a"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as first:
            first.stdout.readline()
            with pytest.raises(InputError, match=f"process {first.pid} is writing .*a; wait until it ends"):
                fill(tmp_path / "a")
            fill(tmp_path / "b")
            end(first)
        fill(tmp_path / "a")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def fill(folder):
    with made_folder(folder):
        (folder / "poem.txt").write_text("A rose.", encoding="utf-8")


def test_one_of_many_gets_a_name(tmp_path):
    """Processes that begin at the same moment: never two of them at once."""
    code = "import sys, time; from pathlib import Path; from polyadic.core.files import locked, InputError\n"
    code += "sys.stdin.read(1)\ntry:\n with locked(Path(sys.argv[1])): print('mine', flush=True); sys.stdin.read()\n"
    code += "except InputError: print('refused', flush=True)"
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "a"], **pipe) for _ in range(4)]
    for run in runs:
        run.stdin.write("g")
        run.stdin.flush()
    said = sorted(run.stdout.readline().strip() for run in runs)
    for run in runs:
        run.communicate()
    assert said == ["mine", "refused", "refused", "refused"]


CALLS = verbs.TRAINED | verbs.CALLED
STAGED = "explore make"
"""It leaves its folder stage by stage, as a run that is kept does."""
KEPT = "train t.txt --out v --keep k --min-count 2 --rank 4 --set max_iter=2 --set threads=1 --set tol=0"
COMMANDS = dict(verbs.verbs())
STOPPED = {"kill": {-signal.SIGKILL}, "term": {143, 0}, "full": {1, 0}}
"""How what is stopped may end; it may have been done."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give small input of every verb, and what those that learn make of it."""
    folder = tmp_path_factory.mktemp("made")
    command = [sys.executable, Path(verbs.__file__), folder, "0", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(list(map(str, command)), env=environment, check=True, capture_output=True)
    return folder / "whole"


def check_stopped(left_alone, *rows):
    """Under every name is what was there before or what is new; a second run does all of it, and nothing stays."""
    old, new = left_alone["before"], left_alone["left"]
    assert left_alone["status"] == left_alone["again"] == 0, left_alone["said"]
    for row in rows:
        assert row["status"] in STOPPED[row["way"]], row["said"]
        for name in {name.split("/")[0] for name in old.keys() & new.keys()}:
            assert below(row["stopped"], name) in (below(old, name), below(new, name)), row
        assert row["way"] == "kill" or row["stopped"].keys() <= old.keys() | new.keys(), row
        assert row["again"] == 0, row["said"]
        assert row["left"].keys() == new.keys(), row


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted({*CALLS} - {STAGED, "serve"}))
def test_every_verb_may_be_stopped(verb, made):
    """At six of its file operations, while it replaces what is there; ``serve`` writes nothing and runs until Ctrl-C.

    ``test_a_folder_is_replaced_at_once`` stops the mechanism that all share at each of its operations.
    """
    call = CALLS[verb].split()
    force = any("--force" in option.opts for option in COMMANDS[verb if verb in COMMANDS else f"{verb} train"].params)
    check_stopped(*stopped(made, *call, *(["--force"] if force else []), way="each", points=6))


every_stage = pytest.mark.parametrize("call", [KEPT, CALLS[STAGED]], ids=["train", "explore"])


@every_stage
def test_stages_may_be_stopped(call, tmp_path):
    """A run that keeps its stages continues from those that are whole."""
    (tmp_path / "t.txt").write_text(verbs.TEXT, encoding="utf-8")
    left_alone, *rows = stopped(tmp_path, *call.split(), "--force", way="each", points=6)
    assert {row["way"] for row in rows} == STOPPED.keys()
    check_stopped(left_alone, *rows)


@pytest.mark.slow
@every_stage
@pytest.mark.parametrize("way", STOPPED)
def test_stages_may_be_stopped_in_each_way(way, call, tmp_path):
    """The same holds for each way of being stopped at the same places."""
    (tmp_path / "t.txt").write_text(verbs.TEXT, encoding="utf-8")
    check_stopped(*stopped(tmp_path, *call.split(), "--force", way=way, points=5))

"""Whatever kills a run, and whenever: what was there stays, or what is new is whole; the run can be done again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polyadic.errors import InputError
from polyadic.files import made_folder, write_meta

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="of Linux")
SCRIPT = Path(__file__).parent / "kills.py"


def killed(folder, *arguments, number=signal.SIGKILL, first=1, step=1):
    """Kill it at its file operations; give a row for each, the last of which was not reached."""
    command = [sys.executable, SCRIPT, folder, int(number), first, step, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
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
    *rows, last = killed(folder, way)
    new = below(last["left"], "a/")
    assert len(rows) > 10
    for row in rows:
        assert row["status"] == -signal.SIGKILL
        there = below(row["killed"], "a/")
        assert there in (old, new) or way == "-aside"
        if not there:
            [aside] = {name.split("/")[0] for name in row["killed"] if "-of-a/" in name}
            assert below(row["killed"], f"{aside}/") == old
        assert (row["again"], row["left"]) == (0, last["left"]), row


def test_two_processes_and_one_name(tmp_path):
    """Of two that write a name one goes on and the other is refused, until the first has ended, however it has."""
    wait = "import sys; from pathlib import Path; from polyadic.files import claimed\n"
    wait += "with claimed(Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    for end in (subprocess.Popen.communicate, subprocess.Popen.kill):
        with subprocess.Popen(
            [sys.executable, "-c", wait, tmp_path / "a"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as first:
            first.stdout.readline()
            with pytest.raises(InputError, match=f"process {first.pid} is writing .*a; wait until it has ended"):
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
    code = "import sys, time; from pathlib import Path; from polyadic.files import claimed, InputError\n"
    code += "sys.stdin.read(1)\ntry:\n with claimed(Path(sys.argv[1])): print('mine', flush=True); sys.stdin.read()\n"
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


TEXT = "\n".join(f"the cat number{i % 9} sat on mat{i % 7} and dog{i % 5} ran home{i % 4}." for i in range(60))
CORPUS = ["corpus", "t.txt", "--out", "c", "--min-count", 2, "--jobs", 1, "--force"]
TRAIN = ["train", "t.txt", "--out", "v", "--keep", "k", "--keep-text", "--min-count", 2, "--rank", 4, "--max-iter", 2]
TRAIN += ["--threads", 1, "--tol", 0, "--force"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
@pytest.mark.parametrize(
    ("arguments", "step"),
    [(CORPUS, 7), (TRAIN, 23)],
    ids=["corpus", "train"],
)
def test_runs_can_be_done_again(arguments, step, number, tmp_path):
    """At some of its operations; afterwards there is what there would have been, and nothing besides."""
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "t.txt").write_text(TEXT, encoding="utf-8")
    *rows, last = killed(folder, *arguments, number=number, step=step)
    assert len(rows) > 3
    for row in rows:
        assert row["status"] in (-number, 143)
        assert row["again"] == 0, row["said"]
        assert row["left"].keys() == last["left"].keys(), row

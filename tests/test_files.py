"""Files and folders that are whole or absent, arrays on disk, and the messages about both."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import content
from polyadic.core import files, resources
from polyadic.core.arrays import ArrayWriter, open_array
from polyadic.core.errors import InputError, MissingExtraError, check_choice, check_int, check_number
from polyadic.core.files import plain, read_meta, whole_file, whole_folder, write_meta
from polyadic.core.progress import bar
from strategies import tries

FAILURES = [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device"), InputError("no"), SystemExit()]


def make_folder(path, text="old", kind="poems", **how):
    with whole_folder(path, kind=kind, **how) as draft:
        (draft / "poem.txt").write_text(text)
        write_meta(draft, kind, 1)


def fill(writer, work):
    with writer as draft:
        work(draft)


def break_off(writer, work, error):
    """Begin to write, then fail."""
    with writer as draft:
        work(draft)
        raise error


def test_whole_file(tmp_path):
    """A file appears when it is complete, beside which nothing is left; a second one takes its place."""
    target = tmp_path / "a.txt"
    for text in ("one", "two"):
        with whole_file(target) as draft:
            draft.write_text(text)
            assert draft.parent == target.parent
            assert draft.suffix == target.suffix
            assert not target.exists() or target.read_text() != text
        assert content(tmp_path) == {"a.txt": text.encode()}


def test_no_file_takes_the_place_of_a_folder(tmp_path):
    """It is refused before any work is done."""
    with pytest.raises(InputError, match="is a folder; specify a file"):
        whole_file(tmp_path).__enter__()
    assert content(tmp_path) == {}


@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_whole_file_fails(error, tmp_path):
    """If writing fails the old file, or no file, is what is there."""
    for before in ({}, {"a.txt": b"old"}):
        for name, old in before.items():
            (tmp_path / name).write_bytes(old)
        with pytest.raises(type(error)):
            break_off(whole_file(tmp_path / "a.txt"), lambda draft: draft.write_text("half"), error)
        assert content(tmp_path) == before


def test_whole_folder(tmp_path):
    """A folder appears when it is complete; an empty folder of its name is filled; another only if asked."""
    make_folder(tmp_path / "a")
    (tmp_path / "b").mkdir()
    make_folder(tmp_path / "b")
    assert content(tmp_path / "a") == content(tmp_path / "b")
    with pytest.raises(InputError, match="a exists already; choose another name, or replace it"):
        make_folder(tmp_path / "a", "new")
    make_folder(tmp_path / "a", "new", overwrite=True)
    assert (tmp_path / "a" / "poem.txt").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_whole_folder_fails(error, overwrite, tmp_path):
    """If writing fails the old folder, or no folder, is what is there."""
    if overwrite:
        make_folder(tmp_path / "a")
    before = content(tmp_path)
    writer = whole_folder(tmp_path / "a", kind="poems", overwrite=overwrite)
    with pytest.raises(type(error)):
        break_off(writer, lambda draft: (draft / "poem.txt").write_text("half"), error)
    assert content(tmp_path) == before


@pytest.mark.parametrize("step", [1, 2])
def test_whole_folder_is_not_renamed(step, tmp_path, monkeypatch):
    """If the old folder cannot be moved aside, or the new one not into its place, the old one stays."""
    make_folder(tmp_path / "a")
    monkeypatch.setattr(files, "_exchange", lambda _one, _other: False)
    before, calls, replace = content(tmp_path), [], Path.replace

    def refuse(path, target):
        calls.append(path)
        if len(calls) == step:
            raise OSError(errno.EACCES, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="Permission denied"):
        make_folder(tmp_path / "a", "new", overwrite=True)
    assert content(tmp_path / "a") == {name.removeprefix("a/"): data for name, data in before.items() if name != "a"}
    assert [path.name for path in tmp_path.iterdir() if any(path.iterdir())] == ["a"]


def test_whole_folder_overwrites_its_own_kind_only(tmp_path):
    """Not even when asked is something else deleted: another kind, a folder of the user's, a file."""
    make_folder(tmp_path / "a", kind="songs")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("years of work")
    (tmp_path / "c").write_text("a file")
    before = content(tmp_path)
    for name, message in [
        ("a", "is not a folder of kind 'poems', so it was not overwritten"),
        ("b", "is not a folder of kind .poems., so it was not overwritten"),
        ("c", "c"),
    ]:
        with pytest.raises(InputError, match=message):
            make_folder(tmp_path / name, overwrite=True)
    assert content(tmp_path) == before


def test_parents_must_exist(tmp_path):
    """A misspelt folder is not made."""
    for make in (make_folder, lambda path: whole_file(path).__enter__()):
        with pytest.raises(InputError, match=r"cannot write .*b: the folder .*missing does not exist"):
            make(tmp_path / "missing" / "b")
    assert content(tmp_path) == {}


@pytest.mark.skipif(os.name == "nt", reason="rights are those of POSIX")
def test_others_may_read(tmp_path):
    """Finished files and folders have the rights that any new file has."""
    mask = os.umask(0o027)
    try:
        with whole_file(tmp_path / "a") as draft:
            draft.write_text("a")
        make_folder(tmp_path / "b")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o750


def test_meta_survives_the_disk(tmp_path):
    """Settings come back as they were, in any script."""
    write_meta(tmp_path, "poems", 3, words=["Rose", "роза", "バラ"], width=2, share=0.1, none=None)
    meta = {"kind": "poems", "version": 3, "words": ["Rose", "роза", "バラ"], "width": 2, "share": 0.1, "none": None}
    assert read_meta(tmp_path, "poems", 3) == read_meta(tmp_path) == meta


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "contains no poems: the folder has no meta.json"),
        (b"", "meta.json cannot be read"),
        (b'{"kind": "poems", "vers', "meta.json cannot be read"),
        (b"\xff\xfe", "meta.json cannot be read"),
        (b"[1, 2]", "is not valid metadata: it has no key 'kind'"),
        (b'{"version": 1}', "is not valid metadata: it has no key 'kind'"),
        (b'{"kind": "songs", "version": 1}', "of kind .songs., but a folder of kind .poems. is required"),
        (
            b'{"kind": "poems", "version": 2}',
            "version 2 of the poems format, but this version of polyadic reads version 1",
        ),
        (b'{"kind": "poems"}', "version None of the poems format"),
    ],
)
def test_meta_refusals(text, message, tmp_path):
    """A folder that is not what it should be is refused in a sentence that says what it is."""
    if text is not None:
        (tmp_path / "meta.json").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_meta(tmp_path, "poems", 1)


@tries(30)
@given(
    pieces=st.lists(hnp.arrays(np.uint16, st.integers(0, 5)), max_size=5),
    kind=st.sampled_from([np.uint16, np.int64, np.float32]),
)
def test_arrays_written_in_pieces(pieces, kind, tmp_path_factory):
    """What is appended, in any number of pieces, is one array that numpy reads too."""
    path = tmp_path_factory.mktemp("arrays") / "a.npy"
    with ArrayWriter(path, kind) as writer:
        for piece in pieces:
            writer.append(piece)
    truth = np.concatenate([np.empty(0, kind), *pieces]).astype(kind)
    for array in (open_array(path, (kind,)), np.load(path)):
        assert array.dtype == kind
        assert np.array_equal(array, truth)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
def test_array_writer_fails(error, tmp_path):
    """A writer that is left by an error passes it on, and its file does not pass for a whole one."""
    with pytest.raises(type(error)):
        break_off(ArrayWriter(tmp_path / "a.npy", np.uint16), lambda writer: writer.append([1, 2, 3]), error)
    with pytest.raises(InputError, match="damaged"):
        open_array(tmp_path / "a.npy", (np.uint16,))


def test_arrays_are_read_only(tmp_path):
    """Opened arrays cannot be changed by accident."""
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        open_array(tmp_path / "a.npy", (np.int64,))[0] = 7


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), "must contain .*int64 or uint16; got shape .3,. and type float64"),
        (np.ones((2, 2), int), "got shape .2, 2. and type int64"),
        (np.array(5), "got shape .. and type int64"),
        (np.array([None]), "is damaged"),
    ],
)
def test_array_refusals(array, message, tmp_path):
    """Arrays of another type or shape, or that could run code, are refused."""
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=message):
        open_array(tmp_path / "a.npy", (np.int64, np.uint16))


def test_array_files_that_are_none(tmp_path):
    """An archive, noise, an empty file, a folder and nothing at all are no arrays."""
    np.savez(tmp_path / "zip.npz", a=np.ones(3))
    (tmp_path / "noise").write_bytes(b"\x93NUMPY" + bytes(range(99)))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for name in ("zip.npz", "noise", "empty", "folder", "nothing"):
        with pytest.raises(InputError, match=name):
            open_array(tmp_path / name, (np.float64,))


@given(low=st.integers(-5, 5), value=st.integers(-9, 9) | st.floats() | st.booleans() | st.text(max_size=2) | st.none())
def test_checks_of_numbers(low, value):
    """Whole numbers and finite numbers in range pass, as Python's own types; everything else is refused with reason."""
    value = np.int16(value) if type(value) is int and low % 2 else value
    real = isinstance(value, (int, float, np.int16)) and not isinstance(value, bool) and np.isfinite(value)
    whole = real and not isinstance(value, float)
    for check, sound in [
        (lambda: check_int("n", value, low=low), whole and value >= low),
        (lambda: check_int("n", value, low=low, high=low + 3), whole and low <= value <= low + 3),
        (lambda: check_number("n", value, low=low), real and value >= low),
        (lambda: check_number("n", value, low=low, above=True), real and value > low),
    ]:
        if sound:
            assert check() == value
            assert type(check()) in (int, float)
        else:
            with pytest.raises(InputError, match=r"^n must be a (whole|finite) number .*; got "):
                check()


def test_check_choice():
    """A choice is one of those offered, or all of them are named."""
    assert check_choice("colour", "red", ("red", "blue")) == "red"
    with pytest.raises(InputError, match="colour must be one of 'red', 'blue'; got None"):
        check_choice("colour", None, ("red", "blue"))


def test_machine(monkeypatch):
    """There is a core to work on; what cannot fit into memory is refused, unless the system does not tell."""
    assert resources.cores() >= 1
    resources.check_memory(0, "nothing", "be glad")
    monkeypatch.setattr(resources, "free_memory", lambda: 1 << 30)
    with pytest.raises(
        InputError, match=r"a galaxy needs [\d,]+ MiB of memory, but only 1,024 MiB are free; take a star"
    ):
        resources.check_memory(1e30, "a galaxy", "take a star")
    monkeypatch.setattr(resources, "free_memory", lambda: None)
    resources.check_memory(1e30, "a galaxy", "take a star")


def test_bars_are_silent_when_piped(capfd):
    """Where standard error is no terminal nothing is shown."""
    with bar("counting", total=3, unit="words") as advance:
        advance()
        advance(2, note="done")
    assert capfd.readouterr() == ("", "")


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    """What somebody else puts under the name while the work goes on is not replaced."""

    def meanwhile(draft):
        write_meta(draft, "poems", 1)
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "thesis.txt").write_text("years of work")

    with pytest.raises(InputError, match="exists already"):
        fill(whole_folder(tmp_path / "a", kind="poems"), meanwhile)
    assert content(tmp_path) == {"a": None, "a/thesis.txt": b"years of work"}


def test_the_folder_one_stands_in_is_not_replaced(tmp_path, monkeypatch):
    """A folder that is the working directory is refused before the work."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is or contains the current folder"):
        make_folder(".")
    assert content(tmp_path) == {}


def test_what_has_no_name_is_not_written():
    """Settings and results are the same from run to run: an address is none; sets have an order."""
    assert plain({"words": {"b", "a"}, "at": Path("x"), "size": np.int64(3)}) == {
        "words": ["a", "b"],
        "at": "x",
        "size": 3,
    }
    with pytest.raises(TypeError, match="an object of type object cannot be written as JSON"):
        plain([object()])


def test_a_missing_extra_travels_between_processes():
    """The error a worker raises arrives whole."""
    from multiprocessing.reduction import ForkingPickler

    error = ForkingPickler.loads(ForkingPickler.dumps(MissingExtraError("gensim", "gensim", "MediaWiki text")))
    assert (str(error), error.name) == ('MediaWiki text needs gensim: pip install "polyadic[gensim]"', "gensim")


def test_a_file_is_no_folder_of_ours(tmp_path):
    """A text given where a corpus is needed is said to be no folder."""
    (tmp_path / "wiki.txt").write_text("text")
    with pytest.raises(InputError, match=r"wiki.txt contains no corpus: it is not a folder"):
        read_meta(tmp_path / "wiki.txt", "corpus")


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs signals that can be blocked")
def test_interrupts_are_held_though_another_thread_takes_them():
    """A signal that a thread which does not block it takes comes after the body; then the handler is back."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    before, reached = signal.signal(signal.SIGINT, signal.default_int_handler), []
    try:
        with pytest.raises(KeyboardInterrupt), resources.deferred_interrupts():  # noqa: PT012 # what is held is tested
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(50):
                time.sleep(0.001)
            reached.append("end")
        assert reached == ["end"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        thread.join()


@pytest.mark.parametrize(
    ("rows", "folder", "limit", "used", "cached", "left"),
    [
        ("0::/box", "sys/fs/cgroup/box", "memory.max", "memory.current", "inactive_file", 500),
        ("0::/box/inner", "sys/fs/cgroup/box", "memory.max", "memory.current", "inactive_file", 500),
        ("0::/elsewhere", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", 500),
        (
            "3:cpu,memory:/box\n0::/",
            "sys/fs/cgroup/memory/box",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
            500,
        ),
        ("0::/other", "sys/fs/cgroup/box", "memory.max", "memory.current", "inactive_file", 4096),
    ],
)
def test_containers_have_less_memory(rows, folder, limit, used, cached, left, tmp_path, monkeypatch):
    """The limits of control groups of both kinds count, from the own one up; what is cached can be had back."""
    for name, text in (
        ("proc/meminfo", "MemTotal: 8 kB\nMemAvailable: 4 kB\n"),
        ("proc/self/cgroup", rows + "\n"),
        (f"{folder}/{limit}", "1000\n"),
        (f"{folder}/{used}", "700\n"),
        (f"{folder}/memory.stat", f"anon 3\n{cached} 200\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    monkeypatch.setattr(resources, "SYSTEM", tmp_path)
    assert resources.free_memory() == left
    (tmp_path / folder / limit).write_text("max\n", encoding="ascii")
    assert resources.free_memory() == 4096


def test_only_what_the_dead_left_is_swept(tmp_path):
    """Drafts of processes that run, of other machines and of nobody stay; what was moved aside gets its name back."""
    names, mine = {}, files._start(os.getpid()) or 0
    for kind, host, start in (("dead", files._host(), 1), ("other", "0" * 8, 1), ("alive", files._host(), mine)):
        for end in (".txt", "-of-poems", "-of-songs"):
            names[kind, end] = f".polyadic-{host}-{os.getpid()}-{start}-{'a' * 12}{end}"
    (tmp_path / "songs").mkdir()
    (tmp_path / ".polyadic-mine").write_text("mine", encoding="utf-8")
    for (_, end), name in names.items():
        if end == ".txt":
            (tmp_path / name).write_text("draft", encoding="utf-8")
        else:
            (tmp_path / name).mkdir()
    files._sweep(tmp_path)
    gone = {name for (kind, _), name in names.items() if kind == "dead"}
    assert {path.name for path in tmp_path.iterdir()} == {"songs", "poems", ".polyadic-mine", *names.values()} - gone


def test_a_copy_is_sealed_anew(tmp_path):
    """What was copied from another folder, its digests too, gets those of what is there."""
    make_folder(tmp_path / "a")
    with whole_folder(tmp_path / "b", kind="poems") as draft:
        for file in (tmp_path / "a").iterdir():
            (draft / file.name).write_bytes(file.read_bytes())
        (draft / "poem.txt").write_text("another", encoding="utf-8")
    assert files.check_whole(tmp_path / "b") == 2


def test_digests_name_files_of_the_folder_only(tmp_path):
    """Whatever meta.json names, nothing outside the folder is read; what else it says is sealed too."""
    make_folder(tmp_path / "a")
    meta = read_meta(tmp_path / "a")
    for name in ("/dev/zero", "../b.txt"):
        write_meta(tmp_path / "a", **meta | {"digests": meta["digests"] | {name: "0" * 64}})
        with pytest.raises(InputError, match=f"a is damaged: {name} is missing"):
            files.check_whole(tmp_path / "a")
    write_meta(tmp_path / "a", **meta | {"more": 3})
    with pytest.raises(InputError, match=r"meta\.json is damaged: its content does not match its checksum"):
        files.check_whole(tmp_path / "a")


@pytest.mark.skipif(os.name != "posix", reason="links and devices of POSIX")
def test_links_and_devices_are_not_replaced(tmp_path):
    """What is no file of its own stays what it is."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(InputError, match=f"{name} is a link or a device and cannot be replaced"):
            fill(whole_file(tmp_path / name), lambda draft: draft.write_text("new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("name", ["digests", "sealed"])
def test_what_seals_is_sealed(name, tmp_path):
    """Where the name of what seals a folder is damaged, the folder does not pass for an older one."""
    make_folder(tmp_path / "a")
    meta = read_meta(tmp_path / "a")
    meta[f"{name}x"] = meta.pop(name)
    write_meta(tmp_path / "a", **meta)
    with pytest.raises(InputError, match=r"meta\.json is damaged"):
        files.check_whole(tmp_path / "a")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of those that have ended")
def test_who_was_killed_no_longer_writes():
    """Also before its parent has asked how it ended: what it had begun is swept by the next one."""
    with subprocess.Popen(["sleep", "60"]) as killed:
        start = files._start(killed.pid)
        assert files._runs(killed.pid, start)
        killed.kill()
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        assert not files._runs(killed.pid, start)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux holds it")
def test_memory_is_held():
    """What needs more than the bound is told; afterwards there is none."""
    with pytest.raises(
        MemoryError, match=r"the memory limit of [\d,]+ MiB was exceeded \(Unable to allocate 1\.00 TiB"
    ):
        take(2**40)
    with resources.memory_limit(2**34):
        assert resources.free_memory() <= 2**34
        with pytest.raises(InputError, match=r"a lot needs .* lower it"):
            resources.check_memory(2.0**34, "a lot", "lower it")
    with pytest.raises(InputError, match="memory must be at least 256 MiB"), resources.memory_limit(2**20):
        pass
    with resources.memory_limit(2**20, enforced=False):
        assert resources.free_memory() == 0


def take(size):
    with resources.memory_limit(None):
        np.ones(size, np.uint8)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux holds it")
def test_products_need_no_memory_of_their_own():
    """BLAS, which ends the process where it finds no room to work in, has taken it before the bound is there."""
    code = "import numpy as np\nfrom polyadic.core.resources import memory_limit\n"
    code += "a, b, held = *np.ones((2, 512, 512)), []\n"
    code += "with memory_limit(900 << 20):\n try:\n  while True: held.append(np.ones(1 << 20))\n"
    code += " except MemoryError: np.matmul(a, a, out=b)\nprint(b[0, 0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "512.0\n", done.stderr

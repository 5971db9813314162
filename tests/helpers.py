"""Functions that several test files share: the command line, folders, arrays."""

import contextlib
import itertools
import json
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from polyadic.cli import app
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.interface import errors

# The command line


def invoke(*arguments, stdin=None):
    """Run the command line in this process and return the result that click records."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def output(*arguments, code=0, stdin=None):
    """Run the command line, check its exit code, and return all that it printed."""
    done = invoke(*arguments, stdin=stdin)
    assert done.exit_code == code, done.output + repr(done.exception)
    return done.output


def succeed(*arguments, stdin=None):
    """Run the command line, check that it succeeds, and return its standard output."""
    done = invoke(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


def in_json(*arguments, stdin=None):
    """Run the command line with ``--json`` and return the parsed output."""
    return json.loads(succeed(*arguments, "--json", stdin=stdin))


def sentence(done):
    """Return the one line on standard error of a run that failed because of its input."""
    assert done.exit_code == errors.BAD_INPUT, done.output
    assert isinstance(done.exception, SystemExit)
    (line,) = done.stderr.splitlines()
    if line.startswith("{"):
        return json.loads(line)["error"]
    assert line.startswith("polyadic: ")
    return line


def refuses(message, function, *arguments, **options):
    """Check that a call raises InputError with a message."""
    with pytest.raises(InputError, match=message):
        function(*arguments, **options)


# Files


def content(folder):
    """Return the bytes of all files below a folder by relative path, and None for each folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def edit_meta(folder, **changes):
    """Change what the ``meta.json`` of a folder says; what becomes None is left out."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8")) | changes
    kept = {key: value for key, value in meta.items() if value is not None}
    (folder / "meta.json").write_text(json.dumps(kept), encoding="utf-8")


def edit_array(file, change):
    """Write an array anew after a change."""
    np.save(file, change(np.load(file)))


@contextlib.contextmanager
def files_no_longer_than(size):
    """Let no file of this process grow beyond a size in the ``with`` block."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


# Arrays


def some_entries(seed=0, *, size=12, n=60, order=3):
    """Draw symmetric entries with positive values."""
    rng = np.random.default_rng(seed)
    return Entries.collect(rng.integers(0, size, (n, order)), rng.random(n) + 0.1, size)


def match_columns(found, truth, *, signs=True):
    """Match the columns of factors, the same way in each mode, so that the smallest product of cosines is largest.

    Return this product, of absolute cosines unless ``signs``, and the column of ``truth`` for each of ``found``.
    """
    cosines = 1.0
    for u, v in zip(found, truth, strict=True):
        cosines = cosines * ((u / np.linalg.norm(u, axis=0)).T @ (v / np.linalg.norm(v, axis=0)))
    cosines = cosines if signs else np.abs(cosines)
    orders = itertools.permutations(range(len(cosines)))
    return max((min(cosines[r, s] for r, s in enumerate(order)), order) for order in orders)

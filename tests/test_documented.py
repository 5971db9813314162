"""The examples of the documentation print what the pages show.

A page is run from top to bottom in a folder that contains what ``polyadic example`` writes. A ``console`` block has
commands, on lines that begin with ``$``, and their output; a ``python`` block with ``>>>`` is a doctest. All doctests
of a page share one namespace. ``...`` stands for any text, and amounts of white space are not compared.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import typer

import polyadic
from polyadic.cli import app
from polyadic.datasets.examples import write_examples

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^( *)```(console|python)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FAILED = re.compile(r"^(polyadic: |\{\"error\": )", re.MULTILINE)
RUN = {"console": re.compile(r"^\$ ", re.MULTILINE), "python": re.compile("^>>> ", re.MULTILINE)}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CHECKER = doctest.OutputChecker()
COLUMNS = 100
"""Width of the terminal."""


def blocks(page):
    """Return the blocks of a page that are run: first line, language, text without indentation."""
    text = page.read_text(encoding="utf-8")
    found = [
        (text.count("\n", 0, block.start(3)) + 1, block[2], textwrap.dedent(block[3])) for block in BLOCK.finditer(text)
    ]
    return [block for block in found if RUN[block[1]].search(block[2])]


MISREAD = sorted((ROOT / "docs" / "results").glob("misread-*.md"))
PAGES = [page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *MISREAD] if blocks(page)]


def commands(text):
    """Split a console block into commands and their outputs: line, command, output."""
    found = []
    for at, line in enumerate(text.splitlines()):
        if line.startswith("$ "):
            found.append([at, line[2:], ""])
        elif found and not found[-1][2] and found[-1][1].endswith("\\"):
            found[-1][1] += f"\n{line.removeprefix('> ')}"
        else:
            assert found, "a console block begins with a line `$ command`"
            found[-1][2] += f"{line}\n"
    return found


def difference(where, source, want, got):
    """Describe an unexpected output."""
    example = doctest.Example(source, want)
    told = CHECKER.output_difference(example, got, FLAGS | doctest.REPORT_UDIFF)
    return f"{where}: {source.strip()}\n{told}"


READ = re.compile(
    r"polyadic: (.*: (encoded as|separated by|one column|JSON|RDF)|[\d,]+ files? \(.*\); a document is |left out: )"
)
"""Notes on how a table or a text was read, which are printed on standard error and omitted in the pages."""


class Shell:
    """Runs commands one after another; only the current folder is kept between them."""

    def __init__(self, folder, bin_folder):
        self.folder = folder
        self.after = bin_folder / "folder"
        for name, call in {"polyadic": "-m polyadic ", "python": ""}.items():
            script = bin_folder / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n')
            script.chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(polyadic.__file__).parents[1]),  # the package that is tested
            "COLUMNS": str(COLUMNS),
            "MPLBACKEND": "Agg",
            "PYTHONIOENCODING": "utf-8",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, command):
        """Return the exit code of a command and what it printed, to either stream."""
        script = f"set -e\n{command}\npwd > '{self.after}'\n"
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        if done.returncode == 0:
            self.folder = Path(self.after.read_text(encoding="utf-8").strip())
        printed = done.stdout.decode("utf-8").splitlines(keepends=True)
        return done.returncode, "".join(line for line in printed if not READ.match(line))


def run_page(page, shell):
    """Yield every command or Python example of a page: where, source, output expected, output, whether it fits.

    A command may fail only where the page shows its error: a line that begins with ``polyadic:``, or the JSON of it.
    """
    name = page.relative_to(ROOT)
    namespace = {"__name__": "__main__"}
    for first, language, text in blocks(page):
        if language == "console":
            for at, command, want in commands(text):
                code, got = shell.run(command)
                fits = CHECKER.check_output(want, got, FLAGS) and (code == 0 or FAILED.search(want) is not None)
                yield f"{name}:{first + at}", f"$ {command}\n", want, got, fits
        else:
            found = []
            os.chdir(shell.folder)
            test = doctest.DocTestParser().get_doctest(text, namespace, str(name), str(name), first - 1)
            runner = Runner(found)
            runner.run(test, out=lambda _: None, clear_globs=False)
            namespace = test.globs
            yield from found


class Runner(doctest.DocTestRunner):
    """Collects the outcome of every example."""

    def __init__(self, found):
        super().__init__(optionflags=FLAGS)
        self.found = found

    def _add(self, test, example, got, *, fits):
        where = f"{test.filename}:{test.lineno + example.lineno + 1}"
        self.found.append((where, f">>> {example.source}", example.want, got, fits))

    def report_start(self, _out, test, example):
        """Print nothing before an example."""

    def report_success(self, _out, test, example, got):
        """Keep an output as expected."""
        self._add(test, example, got, fits=True)

    def report_failure(self, _out, test, example, got):
        """Keep an output that differs."""
        self._add(test, example, got, fits=False)

    def report_unexpected_exception(self, _out, test, example, exc_info):
        """Keep an exception."""
        self._add(test, example, f"{exc_info[0].__name__}: {exc_info[1]}\n", fits=False)


def slow(page):
    """Return the parameter of a page; all but the first two pages of a new user are left to `make test-all`."""
    return page if page.name in {"README.md", "start.md"} else pytest.param(page, marks=pytest.mark.slow)


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """Write the example files once."""
    folder = tmp_path_factory.mktemp("documented") / "example"
    write_examples(folder)
    return folder


MENTIONED = re.compile(r"^ *(?:\$ )?(polyadic [^\n]*)|(?<!})`(polyadic [^`\n]+)`", re.MULTILINE)
"""Commands of any block, and those in the text."""


def unknown_words(command):
    """Return the subcommands and options of a command that do not exist."""
    here, wrong = typer.main.get_command(app), []
    for word in shlex.split(command, comments=True)[1:]:
        if not word.startswith("-") and hasattr(here, "commands"):
            if word not in here.commands:  # such as COMMAND, where any may be meant
                return [] if word.isupper() else [*wrong, word]
            here = here.commands[word]
        elif word.startswith("--"):
            flags = {flag for option in here.params for flag in (*option.opts, *option.secondary_opts)}
            wrong += {word.partition("=")[0]} - flags - {"--help"}
    return wrong


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda page: page.name)
def test_mentioned_commands_exist(page):
    """Where a page names a command, be it run or not, its subcommands and options exist."""
    if page.name in ("renamed.md", "changes.md"):
        return
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = {block or inline for block, inline in MENTIONED.findall(text)}
    assert {command: wrong for command in found if (wrong := unknown_words(command))} == {}


@pytest.mark.parametrize("page", [slow(page) for page in PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_print_what_they_show(page, examples, tmp_path, monkeypatch):
    """Every command and every line of Python of a page gives the output below it."""
    folder, bin_folder = tmp_path / "here", tmp_path / "bin"
    folder.mkdir()
    bin_folder.mkdir()
    shutil.copytree(examples, folder / "example")
    monkeypatch.chdir(folder)
    failures = [
        difference(where, source, want, got)
        for where, source, want, got, fits in run_page(page, Shell(folder, bin_folder))
        if not fits
    ]
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)

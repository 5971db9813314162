"""The rules of style that a machine can check, read from the syntax trees of ``src/polyadic``."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import polyadic
import polyadic.kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "src" / "polyadic"
DOORS = PACKAGE / "kernels"
KERNELS = DOORS / "loops"

LONGEST_FILE = 400
LONGEST_MODEL = 200
LONGEST_FUNCTION = 40
# A kernel may be twice as long: a call into another file would defeat the compile cache, and a hot loop that is cut
# into pieces passes its buffers around instead of showing them.
LONGEST_KERNEL = 80
# From four parameters on, a reader of a call can no longer tell which value is which option.
PARAMETERS_BEFORE_KEYWORDS = 3

COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "jitclass"}
KERNELS_MAY_IMPORT = {"numba", "numpy", "math", "__future__"}
MODERN_RANDOM = {"default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox"}
SLOW_TO_IMPORT = ("numba", "scipy", "sklearn", "rich", "typer", "joblib", "loky")
KEYWORDS_ARE_CONTENT = {"files.py: write_meta"}  # its keywords are what it writes, none can be misspelt

Function = ast.FunctionDef | ast.AsyncFunctionDef


def paths() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def kernel_paths() -> list[Path]:
    return [path for path in sorted(KERNELS.rglob("*.py")) if path.name != "__init__.py"]


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def where(path: Path, node: ast.AST | None = None) -> str:
    line = f":{node.lineno}" if node is not None else ""
    return f"{path.relative_to(PACKAGE)}{line}"


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            yield node


def public(body: list[ast.stmt]) -> Iterator[tuple[Function | ast.ClassDef, bool]]:
    """Give the public classes and functions of a body, and whether each is a method."""
    for node in body:
        if isinstance(node, ast.If):  # names under TYPE_CHECKING or a version check
            yield from public(node.body)
        if not isinstance(node, (*Function.__args__, ast.ClassDef)) or node.name.startswith("_"):
            continue
        yield node, False
        if isinstance(node, ast.ClassDef):
            yield from ((member, True) for member, _ in public(node.body))
            yield from ((m, True) for m in node.body if isinstance(m, Function) and m.name == "__init__")


def public_functions(path: Path) -> Iterator[tuple[Function, bool]]:
    return ((node, method) for node, method in public(tree(path).body) if isinstance(node, Function))


def docstring_lines(node: ast.AST) -> int:
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return first.end_lineno - first.lineno + 1


def length(path: Path, node: Function) -> int:
    """Count the lines of a function without its docstring; in the command line also without its table of options."""
    start = node.body[0].lineno if "cli" in path.parts else node.lineno
    return node.end_lineno - start + 1 - docstring_lines(node)


def imports(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Give each imported module, and each name imported from a module, with its full name."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["polyadic", *path.relative_to(PACKAGE).parent.parts]
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            yield from ((node, f"{module}.{alias.name}") for alias in node.names)


def called_name(node: ast.expr) -> str:
    """Name what a decorator or a call refers to: ``numba.njit(...)`` is ``njit``."""
    if isinstance(node, ast.Call):
        return called_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def compiled(path: Path) -> Iterator[tuple[Function, ast.expr]]:
    for function in functions(path):
        for decorator in function.decorator_list:
            if called_name(decorator) in COMPILERS:
                yield function, decorator


def test_there_is_something_to_check():
    """The rules below look at the package, not at an empty folder."""
    assert PACKAGE / "__init__.py" in paths()


def test_files_are_short():
    """A model file has at most 200 lines, any other file at most 400."""
    limits = {path: LONGEST_MODEL if PACKAGE / "models" in path.parents else LONGEST_FILE for path in paths()}
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths()}
    assert [f"{where(p)}: {lengths[p]} lines, {limits[p]} allowed" for p in paths() if lengths[p] > limits[p]] == []


def test_functions_are_short():
    """A function has at most 40 lines without its docstring, a kernel at most 80."""
    limits = {path: LONGEST_KERNEL if path in kernel_paths() else LONGEST_FUNCTION for path in paths()}
    assert [
        f"{where(path, node)}: {node.name} has {length(path, node)} lines, {limits[path]} allowed"
        for path in paths()
        for node in functions(path)
        if length(path, node) > limits[path]
    ] == []


def test_public_names_have_docstrings():
    """Every module and every public class, function and method says what it is."""
    bare = [where(path) for path in paths() if len(ast.get_docstring(tree(path)) or "") < len("Words.")]
    bare += [
        f"{where(path, node)}: {node.name}"
        for path in paths()
        for node, _ in public(tree(path).body)
        if node.name != "__init__"
        and not ast.get_docstring(node)
        and "overload" not in map(called_name, node.decorator_list)
    ]
    assert bare == []


def test_only_doors_lead_to_kernels():
    """A module of loops is imported by its doors in ``polyadic.kernels`` and by nobody else."""
    assert [
        f"{where(path, node)}: {name}"
        for path in paths()
        if DOORS not in path.parents
        for node, name in imports(path)
        if name.startswith("polyadic.kernels.loops.")
    ] == []


def test_compiled_functions_are_kernels():
    """Functions are compiled in ``kernels/loops/`` only, and not in their doors."""
    assert [
        f"{where(path, function)}: {function.name}"
        for path in paths()
        if path not in kernel_paths()
        for function, _ in compiled(path)
    ] == []


def test_kernels_are_cached():
    """Every compiled function is written ``@njit(cache=True)``: the second process does not compile again."""
    assert [
        f"{where(path, function)}: {function.name}"
        for path in kernel_paths()
        for function, decorator in compiled(path)
        if not any(
            keyword.arg == "cache" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            for keyword in getattr(decorator, "keywords", [])
        )
    ] == []


def test_kernels_call_kernels_of_their_own_file():
    """A kernel module imports numba, numpy and math only: the cache does not notice changes of other files."""
    assert [
        f"{where(path, node)}: {name}"
        for path in kernel_paths()
        for node, name in imports(path)
        if name.split(".")[0] not in KERNELS_MAY_IMPORT
    ] == []


def test_kernels_are_tested_by_name():
    """Each public kernel, and each door, is named in ``tests/``: beside its slow twin or in a law it obeys."""
    tests = [path for path in TESTS.glob("*.py") if path != Path(__file__).resolve()]
    tested = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in tests)))
    kernels = {f.name: where(path, f) for path in kernel_paths() for f, _ in compiled(path)}
    doors = dict.fromkeys(filter(str.islower, polyadic.kernels.__all__), "kernels/__init__.py")
    named = {name: place for name, place in (kernels | doors).items() if not name.startswith("_")}
    assert [f"{place}: {name}" for name, place in named.items() if name not in tested] == []


def test_library_does_not_print():
    """Only the command line prints."""
    assert [
        where(path, node)
        for path in paths()
        if PACKAGE / "cli" not in path.parents
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ] == []


def test_nothing_is_pickled():
    """No file format of ours can run code: no pickle, under any of its names."""
    picklers = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
    found = [where(path, node) for path in paths() for node, name in imports(path) if name.split(".")[0] in picklers]
    found += [
        where(path, node.value)
        for path in paths()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
    ]
    assert found == []


def test_errors_are_caught_by_name():
    """No bare ``except``: it would swallow Ctrl-C."""
    assert [
        where(path, node)
        for path in paths()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ] == []


def test_no_state_is_global():
    """No function rebinds a name of its module."""
    assert [
        where(path, node) for path in paths() for node in ast.walk(tree(path)) if isinstance(node, ast.Global)
    ] == []


def test_randomness_is_an_argument():
    """Random numbers come from a ``numpy.random.Generator``, never from the state that all code shares."""
    found = [where(path, node) for path in paths() for node, name in imports(path) if name.split(".")[0] == "random"]
    found += [
        f"{where(path, node)}: {name}"
        for path in paths()
        for node, name in imports(path)
        if name.startswith("numpy.random.") and name.split(".")[2] not in MODERN_RANDOM
    ]
    found += [
        f"{where(path, node)}: {ast.unparse(node)}"
        for path in paths()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value) in {"np.random", "numpy.random"}
        and node.attr not in MODERN_RANDOM
    ]
    assert found == []


def test_misspelt_options_are_refused():
    """No public function takes ``**kwargs``, which would accept a misspelt option and ignore it."""
    assert [
        f"{where(path, node)}: {node.name}"
        for path in paths()
        for node, _ in public_functions(path)
        if node.args.kwarg is not None and f"{where(path)}: {node.name}" not in KEYWORDS_ARE_CONTENT
    ] == []


def test_options_are_given_by_name():
    """In a public function of more than three parameters at most one option can be given by position."""
    assert [
        f"{where(path, node)}: {node.name}({ast.unparse(node.args)})"
        for path in paths()
        for node, method in public_functions(path)
        if parameters(node) - method > PARAMETERS_BEFORE_KEYWORDS and len(node.args.defaults) > 1
    ] == []


def parameters(node: Function) -> int:
    return len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


@pytest.mark.parametrize("folder", ["src", "tests", "bench"])
def test_no_work_is_left_in_comments(folder):
    """What remains to be done is written in an issue, not in the source."""
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")  # the line of this file that names them is left out below
    assert [
        f"{path.name}:{number}"
        for path in sorted((TESTS.parent / folder).rglob("*.py"))
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ] == []


@pytest.mark.parametrize("path", [p for p in paths() if p.name == "__init__.py"], ids=where)
def test_public_names_exist(path):
    """Every name in the ``__all__`` of a package can be had from it."""
    package = importlib.import_module(".".join(["polyadic", *path.parent.relative_to(PACKAGE).parts]))
    assert [name for name in getattr(package, "__all__", []) if not hasattr(package, name)] == []


def test_dir_lists_public_names():
    """``dir(polyadic)`` shows what can be used, though nothing of it is loaded yet."""
    assert set(polyadic.__all__) - {"__version__"} <= set(dir(polyadic))


def test_import_loads_nothing_slow():
    """``import polyadic`` loads none of the large packages it may need later."""
    code = f"import sys, polyadic; print(*sorted(set({SLOW_TO_IMPORT}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []

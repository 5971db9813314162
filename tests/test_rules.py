"""The rules of style that a machine can check, read from the syntax trees of ``src/polyadic``."""

from __future__ import annotations

import ast
import functools
import gc
import graphlib
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import polyadic
import polyadic.core.kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "src" / "polyadic"

# From four parameters on, a reader of a call can no longer tell which value is which option.
PARAMETERS_BEFORE_KEYWORDS = 3

COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "stencil", "cfunc", "jitclass"}
KERNELS_MAY_IMPORT = {"numba", "numpy", "math", "__future__"}
MODERN_RANDOM = {"default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox"}
SLOW_TO_IMPORT = ("numba", "scipy", "sklearn", "rich", "typer", "joblib", "loky")
KEYWORDS_ARE_CONTENT = {"core/files.py: write_meta"}  # its keywords are what it writes, none can be misspelt
# Those that nothing knows are, which tests/test_recipes.py says.
KEYWORDS_ARE_REFUSED = {
    "words/training.py: train",
    "words/training.py: counted",
    "explore/workspace.py: build",
    "relations/training.py: train_facts",
    "core/selection.py: select",
    "core/containers.py: validated",
    "core/entries.py: only",
    "core/streams.py: decoded",
    "completion/coupled/gibbs.py: of",
    "completion/coupled/gibbs.py: resumed",
    "text/concordance.py: count",
}
# Those of reading are fields of a dataclass, which takes no others: tests/test_text_readers.py.
KEYWORDS_ARE_REFUSED |= {"text/readers.py: read", "text/readers.py: documents", "text/corpus.py: build"}
KEYWORDS_ARE_REFUSED |= {"topics/text_topics.py: corpus"}
KEYWORDS_ARE_REFUSED |= {
    "interface/errors.py: main",
    "interface/task.py: verb",
}  # typer's context and Verb take no others

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def paths() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def kernel_paths() -> list[Path]:
    """Give the modules of kernels: ``kernels.py`` of a family, or the modules in its folder ``kernels``."""
    return [path for path in paths() if path.stem == "kernels" or path.parent.name == "kernels"]


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


@functools.cache
def tree(path: Path) -> ast.Module:
    gc.disable()  # which would look at all trees again and again, of which none is garbage
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    finally:
        gc.enable()


def where(path: Path, node: ast.AST | None = None) -> str:
    line = f":{node.lineno}" if node is not None else ""
    return f"{path.relative_to(PACKAGE)}{line}"


def functions(path: Path) -> Iterator[Function]:
    for node in nodes(path):
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


def imports(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Give each imported module, and each name imported from a module, with its full name."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["polyadic", *path.relative_to(PACKAGE).parent.parts]
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            yield from ((node, f"{module}.{alias.name}") for alias in node.names)


def imported_at_once(path: Path) -> set[str]:
    """Give the names that a module imports outside of its functions, for types too."""
    later = {id(inner) for function in functions(path) for inner in ast.walk(function)}
    return {name for node, name in imports(path) if id(node) not in later}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def names_used(code: Iterable[ast.AST], known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Give module and name of what a piece of code uses of the modules and names that its file knows."""
    for inner in code:
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in known:
            yield tuple(known[inner.id].rpartition(".")[::2])
        elif isinstance(inner, ast.Attribute):
            root = inner.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in known:
                rest = ast.unparse(inner.value).partition(".")[2]
                yield ".".join(filter(None, [known[root.id], rest])), inner.attr


def known_names(path: Path) -> dict[str, str]:
    """Give what the names that a file imports stand for."""
    known = {}
    for node in nodes(path):
        if isinstance(node, ast.Import):
            known |= {alias.asname: alias.name for alias in node.names if alias.asname}
            known |= {top: top for top in (a.name.split(".")[0] for a in node.names if not a.asname)}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (*Function.__args__, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def bound_in(function: Function) -> set[str]:
    """Give the parameters of a function and the names that it assigns."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {argument.arg for argument in function.args.args}


def kernel_uses() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Tell which other names of the kernels each name of the kernels uses."""
    uses: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for path in kernel_paths():
        module = module_of(path)
        own = {name: node for node in tree(path).body for name in defined(node)}
        known = known_names(path) | {name: f"{module}.{name}" for name in own}
        uses |= {(module, name): set(names_used(ast.walk(node), known)) for name, node in own.items()}
    lazy = polyadic.core.kernels
    uses |= {(lazy.__name__, name): {(module, name)} for name, module in lazy.HOMES.items()}
    return {name: {other for other in others if other in uses} for name, others in uses.items()}


def kernels_used(path: Path) -> set[tuple[str, str]]:
    return set(names_used(nodes(path), known_names(path)))


def test_there_is_something_to_check():
    """The rules below look at the package, not at an empty folder."""
    assert PACKAGE / "__init__.py" in paths()


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


def test_imports_make_no_circle():
    """A module can be read after those it imports: they lead back to it nowhere, not for types either."""
    modules = {module_of(path) for path in paths()}
    graph = {
        module_of(path): {name if name in modules else name.rpartition(".")[0] for name in imported_at_once(path)}
        & modules - {module_of(path)}
        for path in paths()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_compiled_functions_are_kernels():
    """Functions are compiled in ``kernels.py`` and ``kernels/`` only."""
    assert [
        f"{where(path, function)}: {function.name}"
        for path in paths()
        if path not in kernel_paths()
        for function, _ in compiled(path)
    ] == []


def test_names_of_a_module_are_bound_once():
    """No constant, function or class takes the name of another of its file, which whoever uses that one would meet."""
    twice = []
    for path in paths():
        bound: set[str] = set()
        for node in tree(path).body:
            if isinstance(node, ast.AugAssign | ast.For):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            parts = [part for target in targets for part in getattr(target, "elts", [target])]
            names = {getattr(part, "id", getattr(part, "name", None)) for part in parts} - {None}
            twice += [f"{where(path, node)}: {name}" for name in sorted(names & bound)]
            bound |= names
    assert twice == []


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


def test_kernels_whose_sums_may_be_reordered_are_inlined():
    """A kernel with ``fastmath`` that another calls is part of it: ``inline="always"`` or ``forceinline=True``.

    Compiled alone it may sum in another order than within the other. A process that compiles uses the one, a process
    that reads the cache the other: the first run on a machine had other last bits than the second.
    """
    assert [
        f"{where(path, function)}: {function.name}"
        for path in kernel_paths()
        for function, decorator in compiled(path)
        if "fastmath" in ast.unparse(decorator)
        and not {"inline", "forceinline"} & {keyword.arg for keyword in decorator.keywords}
        and any(
            isinstance(node, ast.Name) and node.id == function.name
            for caller, _ in compiled(path)
            for node in ast.walk(caller)
        )
    ] == []


def test_sums_that_may_be_reordered_store_nothing_on_the_way():
    """With ``fastmath``, a loop that adds up a number and stores in an array is two loops.

    Compiled as one it has two orders, and which of them runs depends on how far apart its arrays lie in memory: the
    last bits differed from one call to the next.
    """
    loops = ast.For | ast.While

    def adds_and_stores(loop: ast.AST) -> bool:
        inside = [node for node in ast.walk(loop) if isinstance(node, ast.Assign | ast.AugAssign)]
        targets = [target for node in inside for target in getattr(node, "targets", [getattr(node, "target", None)])]
        adds = any(
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, int))
            for node in inside
        )
        return adds and any(isinstance(target, ast.Subscript) for target in targets)

    assert [
        f"{where(path, loop)}: {function.name}"
        for path in kernel_paths()
        for function, decorator in compiled(path)
        if "fastmath" in ast.unparse(decorator)
        for loop in ast.walk(function)
        if isinstance(loop, loops)
        and not any(isinstance(node, loops) for node in ast.walk(loop) if node is not loop)
        and adds_and_stores(loop)
    ] == []


def test_kernels_call_kernels_of_their_own_file():
    """A compiled function uses nothing of another module of ours: numba's cache notices changes of one file only."""
    assert [
        f"{where(path, function)}: {function.name} uses {module}.{name}"
        for path in kernel_paths()
        for function, _ in compiled(path)
        for module, name in names_used(ast.walk(function), known_names(path))
        if module.split(".")[0] == "polyadic" and name not in bound_in(function)
    ] == []


def test_kernels_are_called_by_tests():
    """A test uses each compiled function, and each public function of a module of kernels, directly or through another.

    A name in a comment is no test.
    """
    uses = kernel_uses()
    todo = [name for path in TESTS.rglob("*.py") for name in kernels_used(path) if name in uses]
    seen = set(todo)
    while todo:
        todo.extend(uses[todo.pop()] - seen)
        seen.update(todo)
    loops = {(module_of(path), function.name) for path in kernel_paths() for function, _ in compiled(path)}
    assert sorted(".".join(name) for name in loops - seen) == []


def test_library_does_not_print():
    """Only the command line prints."""
    assert [
        where(path, node)
        for path in paths()
        if PACKAGE / "cli" not in path.parents
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ] == []


def test_nothing_is_pickled():
    """No file format of ours can run code: no pickle, under any of its names."""
    picklers = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
    found = [where(path, node) for path in paths() for node, name in imports(path) if name.split(".")[0] in picklers]
    found += [
        where(path, node.value)
        for path in paths()
        for node in nodes(path)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
    ]
    assert found == []


def test_errors_are_caught_by_name():
    """No bare ``except``: it would swallow Ctrl-C."""
    assert [
        where(path, node)
        for path in paths()
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ] == []


def test_no_state_is_global():
    """No function rebinds a name of its module."""
    assert [where(path, node) for path in paths() for node in nodes(path) if isinstance(node, ast.Global)] == []


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
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
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
        if node.args.kwarg is not None
        and f"{where(path)}: {node.name}" not in KEYWORDS_ARE_CONTENT | KEYWORDS_ARE_REFUSED
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


@pytest.mark.parametrize("folder", ["src", "tests", "experiments"])
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

"""Messages: an InputError carries the names of the settings that it speaks of, so that a command can name options."""

import ast
import re
from pathlib import Path

import pytest

import polyadic

HERE = Path(__file__).parents[1]
FILES = {
    path.relative_to(folder).as_posix(): path
    for folder in (Path(polyadic.__file__).parents[1], HERE)
    for path in sorted((folder / ("experiments" if folder == HERE else "polyadic")).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
BOUND = r"(?<![\w.`'\"/-])"
LONG = rf"{BOUND}([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(.`'\"/])"
"""A name with an underscore is no word of a sentence."""
SUBJECT = r"^([a-z_]\w*)(?= (?:must|has|have|is|are|needs|takes)\b)"
VALUED = rf"(?<!such as ){BOUND}([a-z]\w*)=(?=['\w{{])"


def names_of(node: ast.AST) -> set[str]:
    """Return the parameters of a function, or the fields of a class."""
    if isinstance(node, ast.ClassDef):
        return {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
    arguments = node.args
    return {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


KNOWN = {
    name
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef | ast.FunctionDef)
    for name in names_of(node)
}


CARRIERS = {"InputError", "InputWarning"}
for tree in [*TREES.values()] * 2:  # twice, for classes whose base is defined in a later file
    CARRIERS |= {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in CARRIERS for base in node.bases)
    }


def unnamed(node: ast.AST, near: frozenset[str] = frozenset()):
    """Yield each InputError with its message, and the settings that it speaks of and does not carry."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        near |= names_of(node)
    for child in ast.iter_child_nodes(node):
        yield from unnamed(child, near)
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name) and node.func.id in CARRIERS:
        parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        spoken = {name for pattern in (LONG, VALUED) for name in re.findall(pattern, text)} & KNOWN
        spoken |= {*re.findall(SUBJECT, text)} & near
        given = {each.value for each in node.args[1:] if isinstance(each, ast.Constant)}
        if spoken - given and len(given) == len(node.args) - 1:  # others are computed
            yield node, text, sorted(spoken - given)


@pytest.mark.parametrize("name", FILES)
def test_errors_carry_their_settings(name):
    """Where a message names a setting, so does the exception."""
    assert [(node.lineno, text, missing) for node, text, missing in unnamed(TREES[name])] == []

"""The examples of ``--help`` run as they are printed, where ``polyadic example`` has written its files.

``python tests/test_examples.py`` writes docs/schemas.json anew: what each of them prints with ``--json``.
"""

import json
import os
import re
import shlex
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import typer
from typer.testing import CliRunner

from polyadic.cli import EXAMPLES, GROUPS, app
from polyadic.datasets.examples import FILES, write_examples
from polyadic.syntax.propositions import read_propositions
from polyadic.syntax.trees import read_trees

NOT_HERE = ("polyadic explore ", "polyadic serve ", "polyadic demo ")
"""What serves until Ctrl-C, what needs the text of another package."""
MAKE = (" train ", " corpus ", " count ", " convert ", " parse apply ")
"""What others begin with, in that order."""


SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
BY_NAME = {
    "cells",
    "entities",
    "new_entities",
    "unobserved",
    "left_out",
    "settings",
    "steps",
    "values",
    "whole",
    "damaged",
}
BY_NAME |= {"neighbours", "phrases", "words_of_classes", "words_of_topics"}
"""Objects whose keys are names in the data, or of steps; ``senses`` is one too where it is no list."""
NAMES = re.compile(r"minus .*|reader|novel|question|exclamation|quotation|.*_[1-9]")
"""Keys that are names in the data of the examples, or as many as there are axes."""
KINDS = ((bool, "boolean"), (int, "number"), (float, "number"), (str, "string"))


def succeed(*words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, repr(done.exception))
    return done.stdout


def examples(group=None):
    """Give the commands of each example, one after another."""
    if group is None:
        yield from (command.split("\n\n") for command in EXAMPLES.values())
        for apps in GROUPS.values():
            for each in apps.values():
                yield from examples(each)
        return
    yield from (command.epilog.split("\n\n")[1:] for command in group.registered_commands if command.epilog)
    for below in group.registered_groups:
        yield from examples(below.typer_instance)


def turn(commands):
    return next((k for k, what in enumerate(MAKE) if what in commands[-1]), len(MAKE))


def every_command():
    """Give the commands that run here, each where those before it have run."""
    for commands in sorted(examples(), key=turn):
        for command in commands:
            program, *words = shlex.split(command)
            assert program == "polyadic"
            if not command.startswith(NOT_HERE) and command != "polyadic example":
                yield words


def in_json(words):
    """Call a verb again with ``--json``; None if it has no such option. Give its name and what it prints."""
    group, path = typer.main.get_command(app), []
    for word in words:
        group = group.commands[word]
        path.append(word)
        if not hasattr(group, "commands"):
            break
    flags = {flag for option in group.params for flag in option.opts}
    if "--json" not in flags:
        return None
    force = ["--force"] if "--force" in flags and "--force" not in words else []
    return " ".join(path), json.loads(succeed(*words, "--json", *force))


def schema_of(value, *, by_name=False):
    """Describe a value: kinds, and for objects which keys there are, all of which must be there."""
    if isinstance(value, dict) and by_name:
        kinds = [schema_of(each) for each in value.values()]
        alike = bool(kinds) and all(kind == kinds[0] for kind in kinds)
        return {"type": "object", **({"additionalProperties": kinds[0]} if alike else {})}
    if isinstance(value, dict):
        named = {key for key in value if key in BY_NAME or (key == "senses" and isinstance(value[key], dict))}
        keys = {key: schema_of(value[key], by_name=key in named) for key in value if not NAMES.fullmatch(key)}
        return {"type": "object", "properties": keys, "required": sorted(keys)}
    if isinstance(value, list):
        parts = [schema_of(each) for each in value]
        first = parts[0] if parts else {}
        return {"type": "array", "items": first if all(part == first for part in parts) else {}}
    if value is None:  # a number or a name that is not known here
        return {}
    return {"type": [next(name for kind, name in KINDS if isinstance(value, kind)), "null"]}


def either(one, other):
    """Describe what is one or the other: the keys of both, of which those must be there that both have."""
    if one == other or one.get("type") != "object" or other.get("type") != "object":
        return one if one == other else {}
    keys = {**other.get("properties", {}), **one.get("properties", {})}
    for key in {*one.get("properties", {})} & {*other.get("properties", {})}:
        keys[key] = either(one["properties"][key], other["properties"][key])
    return {"type": "object", "properties": keys, "required": sorted({*one["required"]} & {*other["required"]})}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what is small has its warnings, which a user would see, too
def test_every_example_runs_as_printed_and_in_json(tmp_path, monkeypatch):
    """Each verb does something with the files that the package carries; with ``--json`` it prints what is promised."""
    monkeypatch.chdir(tmp_path)
    write_examples("example")
    monkeypatch.chdir("example")
    schemas, run = json.loads(SCHEMAS.read_text(encoding="utf-8"))["$defs"], 0
    for words in every_command():
        succeed(*words)
        run += 1
        if printed := in_json(words):
            jsonschema.validate(printed[1], schemas[printed[0]])
    assert run > 60
    assert len(schemas) > 40


def test_example_writes_what_it_lists(tmp_path, monkeypatch):
    """All files, whole and once; again only by force."""
    monkeypatch.chdir(tmp_path)
    listed = succeed("example").splitlines()
    assert [line.split("\t")[0] for line in listed[1 : len(FILES) + 1]] == [*FILES]
    for name in FILES:
        assert (tmp_path / "example" / name).exists()
    assert len(list((tmp_path / "example" / "holmes").iterdir())) == 12
    before = {file: file.read_bytes() for file in (tmp_path / "example").rglob("*.*")}
    succeed("example", "--force")
    assert {file: file.read_bytes() for file in (tmp_path / "example").rglob("*.*")} == before


def test_borders_are_mutual_and_held_out_facts_are_of_known_entities(tmp_path):
    write_examples(tmp_path / "e")
    parts = [
        [tuple(line.split("\t")) for line in (tmp_path / "e" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
        for name in ("facts", "valid", "test", "pairs")
    ]
    learned, valid, test, pairs = parts
    every = Counter([*learned, *valid, *test])
    assert max(every.values()) == 1
    assert {(s, r, o) for s, o, r in pairs} == {*every}
    borders = {(s, o) for s, r, o in every if r == "borders"}
    assert borders == {(o, s) for s, o in borders}
    known = {end for s, _, o in learned for end in (s, o)}
    assert {end for s, _, o in [*valid, *test] for end in (s, o)} <= known


def test_latin_is_grammatical(tmp_path):
    """Subjects agree with their verbs, adjectives with their nouns; roles follow the cases."""
    write_examples(tmp_path / "e")
    trees = [*read_trees(tmp_path / "e" / "latin.conllu"), *read_trees(tmp_path / "e" / "latin-test.conllu")]
    assert len({tree.forms for tree in trees}) > 0.9 * len(trees)
    for tree in trees:
        features = [dict(pair.split("=") for pair in each.split("|") if "=" in pair) for each in tree.features]
        for word, head in enumerate(tree.heads.tolist()):
            if tree.relations[word] == "nsubj":
                assert features[word]["Number"] == features[head - 1]["Number"]
                assert features[word]["Case"] == "Nom"
            if tree.relations[word] == "amod":
                assert features[word] == features[head - 1]
    for sentence in read_propositions(tmp_path / "e" / "roles.conllu"):
        (proposition,) = sentence.propositions
        for argument in proposition.arguments:
            case = sentence.tree.features[argument.place - 1]
            if argument.role in {"ARG0", "ARG1", "ARG2"}:
                assert case.startswith("Case=" + {"ARG0": "Nom", "ARG1": "Acc", "ARG2": "Dat"}[argument.role])


def write_schemas():
    """Run all examples in a folder of their own, and write what they print."""
    schemas = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_examples("example")
        os.chdir("example")
        for words in every_command():
            succeed(*words)
            if printed := in_json(words):
                schema = schema_of(printed[1])
                schemas[printed[0]] = either(schemas.get(printed[0], schema), schema)
        os.chdir("/")
    content = {"$schema": DRAFT, "$defs": dict(sorted(schemas.items()))}
    SCHEMAS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_schemas()

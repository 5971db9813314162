"""The examples of ``--help`` run as they are printed, where ``polyadic example`` has written its files."""

import shlex
from collections import Counter

import pytest
from typer.testing import CliRunner

from polyadic.cli import GROUPS, VERBS, app
from polyadic.datasets.examples import FILES, write_examples
from polyadic.text.syntax.propositions import read_propositions
from polyadic.text.syntax.trees import read_trees

NOT_HERE = ("polyadic explore ", "polyadic demo ", "polyadic reproduce ")
"""What serves until Ctrl-C, what needs the text of another package, and what takes hours on published sets."""
MAKE = (" train ", " corpus ", " count ", " convert ", " parse apply ")
"""What others begin with, in that order."""


def succeed(*words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, repr(done.exception))
    return done.stdout


def examples(group=None):
    """Give the commands of each example, one after another."""
    if group is None:
        yield from (command.split("\n\n") for panel in VERBS.values() for command in panel.values())
        for apps in GROUPS.values():
            for each in apps.values():
                yield from examples(each)
        return
    yield from (command.epilog.split("\n\n")[1:] for command in group.registered_commands if command.epilog)
    for below in group.registered_groups:
        yield from examples(below.typer_instance)


def turn(commands):
    return next((k for k, what in enumerate(MAKE) if what in commands[-1]), len(MAKE))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what is small has its warnings, which a user would see, too
def test_every_example_runs_as_printed(tmp_path, monkeypatch):
    """Each verb does something with the files that the package carries, whatever was made before by the others."""
    monkeypatch.chdir(tmp_path)
    write_examples("example")
    monkeypatch.chdir("example")
    run = 0
    for commands in sorted(examples(), key=turn):
        for command in commands:
            program, *words = shlex.split(command)
            assert program == "polyadic"
            if not command.startswith(NOT_HERE) and command != "polyadic example":
                succeed(*words)
                run += 1
    assert run > 60


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

"""Every verb of the command line, called with what people, programs and foes might write; prints what came of it.

``python verbs.py FOLDER SEED NUMBER `` fills FOLDER with small input and calls each verb rightly once, then
NUMBER times with something changed: a line of JSON for each call.
"""

import json
import os
import shutil
import sys
import tempfile
import traceback
import webbrowser
from pathlib import Path
from random import Random
from typing import Literal, get_args, get_origin

import typer
import uvicorn
from typer.testing import CliRunner

from mutants import ARFF, DECLARED, NBEST, PROPOSITIONS, RATINGS
from polyadic.cli import app

TEXT = "\n".join(f"the cat number{i % 9} sat on mat{i % 7} and dog{i % 5} ran home{i % 4}." for i in range(60))
TREES = "".join(
    f"1\t{a}\t{a}\tPROPN\tN\t_\t2\tnsubj\t_\t_\n2\t{v}\t{v}\tVERB\tV\t_\t0\troot\t_\t_\n"
    f"3\t{b}\t{b}\tPROPN\tN\t_\t2\tobj\t_\t_\n\n"
    for a, v, b in [("Ann", "sees", "Bob"), ("Bob", "hears", "Ann"), ("Eve", "sees", "Ann"), ("Bob", "likes", "Eve")]
)
FILES = {
    "t.txt": TEXT,
    "a.toml": DECLARED,
    "ratings.csv": RATINGS + "bob,Ran,2\ncid,Heat,4\ncid,Ran,1\n",
    "films.txt": "Ran\nHeat\n",
    "cells.csv": "user,film\nann,Ran\nbob,Heat\n",
    "answers.csv": "eye,hair\nblue,fair\nbrown,dark\nblue,dark\nbrown,dark\ngreen,fair\nblue,fair\n",
    "marks.csv": "text,size,a,b\nwar and love,1,1,yes\nlove,2,1,no\nwar,,0,yes\npeace,4,0,\n",
    "facts.tsv": "".join(f"e{i}\t{r}\te{(i * 3 + 1) % 7}\n" for i in range(7) for r in ("likes", "knows")),
    "schema.tsv": "".join(f"e{i}\te{i * 3 % 7}\t{'likes' if i % 2 else 'X , head of Y'}\n" for i in range(9))
    + "e1\te3\tX , head of Y\n",
    "rules.txt": 'likes(x, y) => "X , head of Y"(x, y)\n',
    "lines.svm": "".join(f"{i % 2} {i % 3 + 1}:1 {i % 4 + 4}:0.5\n" for i in range(12)),
    "lists.jsonl": NBEST * 3,
    "trees.conllu": TREES,
    "roles.conllu": PROPOSITIONS * 4,
    "phrases.mrg": "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n"
    "( (S (NP-SBJ (NN man)) (VP (VBZ sees) (NP (DT a) (NN dog)))))\n",
    "columns.txt": "He PRP B-NP\nsees VBZ B-VP\n\nShe PRP B-NP\nruns VBZ B-VP\n",
    "strings.txt": "a b a\nb\na a b\n\nb a\n" * 4,
    "pairs.txt": "cat dog 3.5\nthe sat 1\ncat mat1 2\ndog1 ran 1\n",
    "questions.txt": "the cat sat dog1\n",
    "groups/one.txt": "the\ncat\n\nsat\n",
    "groups.txt": "0\n1\n",
    "empty": "",
    "other.arff": ARFF,
    "spare/x": "x",
}
TRAINED = {
    "corpus": "corpus t.txt --out c --min-count 1 --set jobs=1 --language en",
    "count": "count c --out n --order 3 --width 4 --threads 1 --tns n.tns",
    "train": "train n --out v --rank 3 --set max_iter=2 --set tol=0 --set threads=1",
    "convert": "convert v v.txt --to word2vec",
    "explore make": "explore t.txt --out sh --only-make --set min_count=1 --set language=en --set threads=1",
    "sentences train": "sentences train t.txt --out m-sentences --method mean --words v",
    "sentences": "sentences train t.txt --out m-filters --method convolutional --rank 3 --filters 1 --length 2",
    "substitutes train": "substitutes train t.txt --out m-substitutes --rank 2 --epochs 1 --min-count 1",
    "classify train": "classify train answers.csv --out m-classify --field eye --label hair --language en",
    "topics train": "topics train t.txt --documents line --out m-topics --n-components 2 --min-count 1 --set threads=1",
    "complete train": "complete train ratings.csv --out m-complete --rank 1 --set threads=1",
    "database train": "database train a.toml --out m-database --method als --rank 1 --set threads=1",
    "relations train": "relations train facts.tsv --out m-relations --rank 2 --max-iter 1 --set threads=1",
    "relations": "relations train schema.tsv --out m-universal --method universal --rank 2 --max-iter 1",
    "labels train": "labels train marks.csv --labels a,b --text text --out m-labels",
    "machine train": "machine train lines.svm --out m-machine --rank 1 --draws 3 --set threads=1",
    "rerank train": "rerank train lists.jsonl --out m-rerank --max-iter 1 --method mira --set min_count=1",
    "parse train": "parse train trees.conllu --out m-parse --set rank=2 --max-iter 1",
    "parse constituents train": "parse constituents train phrases.mrg --out m-phrases --cycles 1",
    "tag train": "tag train trees.conllu --out m-tag --max-iter 1 --min-count 1",
    "roles train": "roles train roles.conllu --out m-roles --rank 2 --max-iter 1 --bits 8",
    "automaton train": "automaton train strings.txt --out m-automaton --rank 1",
    "hmm train": "hmm train strings.txt --out m-hmm --states 1 --max-iter 2",
}
"""What is called first, as others need what it makes."""
MADE = {"sentences", "relations", "explore make"}
"""Calls of verbs that have another."""
CALLED = {
    "neighbours": "neighbours v cat dog1",
    "explore": "explore sh --export page.html --word cat",
    "phrase": "phrase v cat dog1",
    "senses": "senses v cat --corpus c",
    "lines": "lines c cat sat",
    "words": "words c *at --min-count 2",
    "ngrams": "ngrams c cat --size 3",
    "collocates": "collocates c cat --left 2",
    "keywords": "keywords c --against t.txt --min-count 1 --keys both",
    "diversity": "diversity c --window 5",
    "trends": "trends marks.cs? love --by a --field text",
    "barcode": "barcode c cat",
    "components": "components v cat",
    "table": "table answers.csv --rows eye --columns hair",
    "evaluate": "evaluate v --pairs pairs.txt",
    "compare": "compare v v.txt --pairs pairs.txt",
    "check": "check c n v",
    "example": "example files",
    "plan": "plan c --workers 2",
    "sentences encode": "sentences encode m-sentences t.txt --out e.npy",
    "sentences similar": "sentences similar t.txt cat --set rank=3",
    "substitutes list": "substitutes list m-substitutes cat cat",
    "sentences nearest": "sentences nearest m-sentences t.txt cat",
    "sentences templates": "sentences templates m-filters t.txt",
    "sentences static": "sentences static m-sentences --out static",
    "classify apply": "classify apply m-classify answers.csv --field eye --why 2",
    "classify evaluate": "classify evaluate m-classify answers.csv --field eye --label hair",
    "classify top": "classify top m-classify",
    "topics show": "topics show m-topics",
    "topics assign": "topics assign m-topics t.txt --documents line",
    "topics choose": (
        "topics choose t.txt --documents line --n-components 1,2 --folds 2 --min-count 1 --set threads=1"
        " --set language=en"
    ),
    "complete predict": "complete predict m-complete cells.csv --columns user,film",
    "complete recommend": "complete recommend m-complete ann",
    "complete similar": "complete similar m-complete ann --rows",
    "complete components": "complete components m-complete",
    "serve": "serve m-complete",
    "complete add": "complete add m-complete ratings.csv --out m-complete-more",
    "database add": "database add m-database ratings=ratings.csv --out m-database-more",
    "database predict": "database predict m-database ratings cells.csv",
    "database similar": "database similar m-database film Ran",
    "relations predict": "relations predict m-relations facts.tsv",
    "relations add": "relations add m-relations facts.tsv --out m-relations-more --epochs 1",
    "relations evaluate": "relations evaluate m-relations facts.tsv",
    "relations similar": "relations similar m-universal likes",
    "relations patterns": "relations patterns trees.conllu --out f.tsv --min-count 1",
    "relations rules check": "relations rules check rules.txt --facts schema.tsv",
    "relations rules mine": "relations rules mine schema.tsv --support 1",
    "labels predict": "labels predict m-labels marks.csv",
    "labels evaluate": "labels evaluate m-labels marks.csv",
    "machine predict": "machine predict m-machine lines.svm",
    "machine evaluate": "machine evaluate m-machine lines.svm",
    "rerank apply": "rerank apply m-rerank lists.jsonl",
    "rerank evaluate": "rerank evaluate m-rerank lists.jsonl",
    "parse apply": "parse apply m-parse trees.conllu",
    "parse evaluate": "parse evaluate m-parse trees.conllu",
    "parse compare": "parse compare trees.conllu trees.conllu trees.conllu",
    "parse constituents apply": "parse constituents apply m-phrases questions.txt",
    "parse constituents evaluate": "parse constituents evaluate m-phrases phrases.mrg",
    "tag apply": "tag apply m-tag trees.conllu",
    "tag evaluate": "tag evaluate m-tag trees.conllu",
    "tag top": "tag top m-tag",
    "roles apply": "roles apply m-roles roles.conllu",
    "roles evaluate": "roles evaluate m-roles roles.conllu",
    "automaton score": "automaton score m-automaton strings.txt",
    "automaton sample": "automaton sample m-automaton --number 2 --max-length 3",
    "hmm score": "hmm score m-hmm strings.txt",
    "hmm states": "hmm states m-hmm strings.txt",
    "hmm top": "hmm top m-hmm",
    "hmm sample": "hmm sample m-hmm --number 2 --max-length 3",
}
NOT_CALLED = {"demo", "neighbors"}
"""Verbs that are work of their own, and another name of one."""
HUGE = ["1" + "0" * 30, "9223372036854775808", "2147483648", "99999999"]
NUMBERS = ["0", "-1", "1", "2", "3", "nan", "inf", "-inf", "1e999", "-0.0", "1e-320", "0.5", "0x10", "1_0", "٣", "one"]
PLACES = [
    *("missing", "spare", "empty", "t.txt", "v", "v.txt", "c", "n", "m-tag", "m-hmm", ".", "missing/x", "t.txt/x", "-"),
    *("trees.conllu", "facts.tsv", "other.arff", "a" * 300, "\udcff", "*", "[", "~", "new", "spare/new", "new.png"),
]
TEXTS = [
    *(
        "",
        " ",
        "a\nb",
        "\U0001f600",
        "%s",
        "{}",
        "../x",
        "--",
        "-x",
        "a" * 5000,
        ",",
        "=",
        "a=b",
        "1/0",
        "1,2",
    ),
    *(
        "auto",
        "none",
        "A,B",
        "cat",
        "*",
        '"',
        "a*b",
        "the cat",
        "\udcff",
        "log",
        "0/0",
        "1e999,2",
        "likes",
        "utf-16",
        "utf-7",
    ),
]
WORK = {
    "epochs",
    "max_iter",
    "draws",
    "passes",
    "starts",
    "steps",
    "number",
    "max_length",
    "length",
    "longest",
    "jobs",
    "threads",
    "updates",
}
WORK |= {
    "burn_in",
    "cycles",
    "kept",
    "negative",
    "candidates",
    "batch",
    "rank",
    "n_nonnegative",
    "order",
    "states",
    "bits",
    "filters",
}
"""Options whose value is how much work is wanted."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
WRITING = dict.fromkeys(("os.remove", "os.mkdir", "os.rmdir", "os.truncate"), 1)
WRITING |= dict.fromkeys(("os.rename", "os.link", "os.symlink"), 2)
"""Events of audit, and how many paths come first in their details."""


def verbs(group=None, path=()):
    """Give the commands by their words."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from verbs(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def likely(option):
    """Give values that an option may be meant to have."""
    hint = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    hints = {hint, *get_args(hint)}
    for each in hints:
        if get_origin(each) is Literal:
            return [str(value) for value in get_args(each)]
    if option.metavar in ("DIR", "FILE", "CORPUS", "VECTORS", "FACTS", "LISTS", "RULES", "COUNTS"):
        return PLACES
    if int in hints:
        return ["0", "1", "2", "3", "5"]
    return ["0", "0.5", "1", "2.5"] if float in hints else TEXTS


def value(option, draw):
    """Draw a value of an option, right or wrong."""
    pools = [NUMBERS, PLACES, TEXTS, *([] if option.name in WORK else [HUGE])]
    return draw.choice(likely(option) if draw.random() < 0.6 else draw.choice(pools))


def changed(call, command, draw):
    """Change a call: an argument or a value is another, or missing, or options are added."""
    words = [f"{word}-2" if before == "--out" else word for before, word in zip(["", *call], call, strict=False)]
    start = next(at for at, word in enumerate(words) if word == command.name) + 1
    for _ in range(draw.choice([1, 1, 2])):
        at = draw.randrange(start, len(words)) if len(words) > start else 0
        way = draw.random()
        if at and way < 0.3 and not words[at].startswith("--"):
            option = {name: each for each in command.params for name in each.opts}.get(words[at - 1])
            words[at] = value(option, draw) if option else draw.choice(PLACES + TEXTS)
        elif at and way < 0.35:
            del words[at]
        options = [option for option in command.params if option.param_type_name == "option"]
        for option in draw.sample(options, min(len(options), draw.choice([0, 1, 1, 2, 3]))):
            name = draw.choice([*option.opts, *option.secondary_opts])
            words += [name] if option.is_flag else [name, value(option, draw)]
    return words


def called(words, outside):
    """Call a verb; say what came of it."""
    outside.clear()
    done = CliRunner().invoke(app, words)
    row = {
        "call": words,
        "code": done.exit_code,
        "said": done.stderr.rstrip().rpartition("\n")[2][:300],
        "outside": outside[:],
    }
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        row["raised"] = "".join(traceback.format_exception(done.exception))[-2500:]
    return row


def fill(folder):
    """Write small input."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def kept_within(folder):
    """Refuse all writing elsewhere, and give the list of what was refused."""
    outside = []

    def hook(event, details):
        if event not in WRITING and not (event == "open" and isinstance(details[2], int) and details[2] & WRITES):
            return
        for path in details[: WRITING.get(event, 1)]:
            place = folder / os.fsdecode("" if isinstance(path, int) else Path(path).absolute())
            ours = (folder, Path(os.devnull), Path("/proc"))
            if "__pycache__" not in place.parts and not any(place.is_relative_to(each) for each in ours):
                outside.append(f"{event} {place}")
                raise PermissionError(f"{place} lies outside")

    sys.addaudithook(hook)
    return outside


def main():
    folder, draw, number = Path(sys.argv[1]).resolve(), Random(int(sys.argv[2])), int(sys.argv[3])
    fill(folder / "whole")
    (folder / "tmp").mkdir()
    tempfile.tempdir = os.environ["MPLCONFIGDIR"] = str(folder / "tmp")
    outside = kept_within(folder)
    uvicorn.Server.run = lambda *_, **__: None  # which would serve until Ctrl-C
    webbrowser.open = lambda _: True

    def report(verb, words):
        row = {"verb": verb, **called(words, outside)}
        sys.stdout.write(json.dumps(row) + "\n")

    os.chdir(folder / "whole")
    for verb, call in (TRAINED | CALLED).items():
        report(verb, call.split())
    for verb, command in verbs():
        for at in range(number if verb not in NOT_CALLED else 0):
            copy = folder / str(at)
            shutil.copytree(folder / "whole", copy)
            os.chdir(copy)
            report(verb, changed((TRAINED | CALLED)[verb].split(), command, draw))
            os.chdir(folder)
            shutil.rmtree(copy)


if __name__ == "__main__":
    main()

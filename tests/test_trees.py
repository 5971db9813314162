"""Dependency trees: what a file says is what is read, and what is read can be written again."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.annotated import read_tagged_trees
from polyadic import InputError
from polyadic.syntax.trees import InvalidTreesWarning, read_trees

SENTENCE = """\
# text = Don't go
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VB	_	3	aux	3:aux	_
2	n't	not	PART	RB	Polarity=Neg	3	advmod	3:advmod	_
3	go	go	VERB	VB	VerbForm=Inf	0	root	0:root	SpaceAfter=No
3.1	gone	go	VERB	VBN	_	_	_	3:conj	CopyOf=3

"""


def written(folder, text, name="trees.conllu"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def words(heads):
    """Lines of a sentence with these heads."""
    return "".join(f"{n}\tw{n}\tw\tX\t_\t_\t{head}\tdep\t_\t_\n" for n, head in enumerate(heads, 1))


def test_a_sentence_is_read_as_it_stands(tmp_path):
    """Words keep their columns; multiword tokens and empty nodes are no words, but nothing is lost."""
    twice = written(tmp_path, "\n\n" + SENTENCE + SENTENCE.rstrip("\n"))
    first, second = read_trees(twice)
    assert first.forms == ("Do", "n't", "go") == second.forms
    assert (first.lemmas, first.upos, first.xpos) == (("do", "not", "go"), ("AUX", "PART", "VERB"), ("VB", "RB", "VB"))
    assert (first.features[1], first.misc[2], first.enhanced[0]) == ("Polarity=Neg", "SpaceAfter=No", "3:aux")
    assert (first.heads.tolist(), first.relations) == ([3, 3, 0], ("aux", "advmod", "root"))
    assert first.comments == ("# text = Don't go",)
    assert [before for before, _ in first.skipped] == [0, 3]
    assert first.conllu() == SENTENCE == second.conllu()
    assert first.children() == [[], [], [0, 1], [2]]


def test_compressed_files_are_read(tmp_path):
    """A suffix of compression is understood."""
    path = tmp_path / "trees.conllu.gz"
    path.write_bytes(gzip.compress(SENTENCE.encode()))
    assert [tree.conllu() for tree in read_trees(path)] == [SENTENCE]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=8))
def test_trees_and_only_trees_are_taken(tmp_path_factory, heads):
    """Heads are accepted exactly when a walk from each word reaches a root."""
    path = written(tmp_path_factory.mktemp("trees"), words(heads))

    def rooted(word):
        for _ in heads:
            word = heads[word - 1] if 0 < word <= len(heads) else word
        return word == 0

    if all(rooted(word) for word in range(1, len(heads) + 1)):
        [tree] = read_trees(path)
        assert tree.heads.tolist() == heads
        assert sorted(np.concatenate([below for below in tree.children() if below])) == list(range(len(heads)))
    else:
        with pytest.raises(InputError, match="sentence from line 1"):
            list(read_trees(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SENTENCE + "1\tw\n", "line 8 must have 10 columns separated by tabs; got 2"),
        (SENTENCE + words([0, 0]).replace("2\tw2", "4\tw2"), "line 9 must begin with word number 2; got '4'"),
        (SENTENCE + words([3, 0]), "line 8: a head must be a number from 0 to 2; got '3'"),
        (words([0, 1]).replace("2\tw2", "-2\tw2"), "line 2 must begin with word number 2; got '-2'"),
        (words([0, 1]).replace("2\tw2", "2.\tw2"), "line 2 must begin with word number 2; got '2.'"),
        (words(["_"]), "got '_'"),
        (
            words([0]).rstrip("\n") + "\n# late\n" + words([0, 1]).split("\n")[1],
            "line 2 is a comment; comments must come",
        ),
        (words([0, 1]) + "# last", "line 3 is a comment; comments must come"),
        (words([0, -1]), "got '-1'"),
        (words([0, "9" * 5000]), "got '99999999999999999999'"),
        (words([0, 3, 2]), "heads must form a tree; the heads above word 2 do not lead to the root"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, text, message):
    """A malformed file is refused with the line and the fault."""
    with pytest.raises(InputError, match=message):
        list(read_trees(written(tmp_path, text)))


OLDER = """\
1\tHij\thij\tPron\tPron\tper|3|ev\t2\tsu\t2\tsu
2\tslaapt\tslaap\tV\tV\tintrans|ott\t0\tROOT\t0\tROOT
3\t#\t#\tPunc\tPunc\tpunt\t0\tpunct\t2\tpunct

"""


def test_the_older_format(tmp_path):
    """CoNLL-X is read and written as it stands, several roots too; PHEAD and PDEPREL go with their tree."""
    [tree] = read_trees(written(tmp_path, OLDER))
    assert (tree.upos, tree.xpos, tree.features[0]) == (("Pron", "V", "Punc"), ("Pron", "V", "Punc"), "per|3|ev")
    assert (tree.heads.tolist(), tree.enhanced, tree.misc) == ([2, 0, 0], ("2", "0", "2"), ("su", "ROOT", "punct"))
    assert tree.conllu() == OLDER
    other = tree.with_heads(np.array([2, 0, 2], np.int32), ["su", "ROOT", "punct"])
    assert other.conllu().split("\n")[2] == "3\t#\t#\tPunc\tPunc\tpunt\t2\tpunct\t_\t_"
    blind = "".join("\t".join([*row.split("\t")[:6], *"____"]) + "\n" for row in OLDER.split("\n")[:-2]) + "\n"
    [bare] = read_trees(written(tmp_path, blind), heads=False)
    assert bare.with_heads(tree.heads, tree.relations).relations == tree.relations
    with pytest.raises(InputError, match="sentence from line 1: a head must be a number from 0 to 3; got '_'"):
        list(read_trees(written(tmp_path, blind)))


def test_another_tree(tmp_path):
    """Enhanced dependencies and empty nodes belong to the old tree; other columns, comments and multiwords stay."""
    [tree] = read_trees(written(tmp_path, SENTENCE))
    changed = tree.with_heads(np.array([0, 1, 1], np.int32), ["root", "advmod", "x"])
    want = SENTENCE.replace("\t3\taux\t3:aux", "\t0\troot\t_").replace("\t3\tadvmod\t3:advmod", "\t1\tadvmod\t_")
    want = want.replace("\t0\troot\t0:root\tSpace", "\t1\tx\t_\tSpace")
    assert changed.conllu() == "".join(line for line in want.splitlines(keepends=True) if not line.startswith("3.1"))
    assert tree.conllu() == SENTENCE


@pytest.mark.parametrize("head", ["\ufeff", "\n \n", "# alone\n\n", ""])
@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n", "\n\n\n"])
def test_what_is_not_kept(tmp_path, head, ends, last):
    """Ends of lines, marks, empty lines and comments alone come out as the format wants them."""
    text = (head + SENTENCE + SENTENCE.rstrip("\n") + last).replace("\n", ends)
    path = tmp_path / "trees.conllu"
    path.write_bytes(text.encode())
    assert "".join(tree.conllu() for tree in read_trees(path)) == SENTENCE + SENTENCE


@pytest.mark.parametrize(
    ("text", "said"), [("\xe9", "not utf-8: byte 3 .* convert it to UTF-8$"), ("\0", "NUL.*convert it")]
)
def test_the_format_is_utf_8(tmp_path, text, said):
    """Nobody can give another encoding, so the message does not ask for one."""
    path = tmp_path / "trees.conllu"
    path.write_bytes(("1\tw" + text + words([0])[4:]).encode("latin-1"))
    with pytest.raises(InputError, match=said):
        list(read_trees(path))


def test_sentences_that_are_no_tree_may_be_left_out(tmp_path):
    """They are counted, the first is named; what is no sentence at all is refused as ever."""
    path = written(tmp_path, "\n".join([words([0, 1]), words([2, 1]), words([0]), words(["_"]), words([0, 0])]))
    with pytest.warns(
        InvalidTreesWarning,
        match=r"skipped sentences .*: 2; first error: .*line 4: heads must form a tree; the heads above word 1",
    ):
        trees = list(read_trees(path, invalid="skip"))
    assert [tree.heads.tolist() for tree in trees] == [[0, 1], [0], [0, 0]]
    assert [len(tree) for tree in read_trees(path, heads=False)] == [2, 2, 1, 1, 2]
    with pytest.raises(InputError, match="invalid must be one of"):
        next(read_trees(path, invalid="drop"))
    with pytest.raises(InputError, match="10 columns"):
        list(read_trees(written(tmp_path, words([1]) + "\n1\tw\n"), invalid="skip"))


def test_tagged_trees(tmp_path):
    """Three columns are form, tag and head; a fourth is the relation; a ragged sentence is refused."""
    [one, two] = read_tagged_trees(written(tmp_path, "It\tPRP\t2\nis\tVBZ\t0\n\nNo\tUH\t0\troot\n"))
    assert (one.forms, one.xpos, one.heads.tolist(), one.relations) == (
        ("It", "is"),
        ("PRP", "VBZ"),
        [2, 0],
        ("_", "_"),
    )
    assert two.relations == ("root",)
    with pytest.raises(InputError, match="line 2 must have 3 or 4 columns"):
        list(read_tagged_trees(written(tmp_path, "It\tPRP\t2\nis\tVBZ\t0\troot\n")))


@pytest.mark.realdata
def test_a_treebank_is_written_as_it_was(realdata):
    """The development part of EWT has its published size, and is written byte for byte; so is the Penn sample read."""
    path = realdata / "syntax" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"
    trees = list(read_trees(path))
    assert (len(trees), sum(map(len, trees))) == (2001, 25147)
    assert "".join(tree.conllu() for tree in trees) == path.read_text(encoding="utf-8")
    penn = sorted((realdata / "syntax" / "ptb-sample-dependencies").glob("*.dp"))
    assert sum(1 for file in penn for _ in read_tagged_trees(file)) == 3914

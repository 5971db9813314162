"""Test sets are found, counted and parsed, and a malformed file names its line."""

import gzip
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError, MissingExtraError, TableReading, datasets
from polyadic.core.errors import InputWarning
from polyadic.datasets import (
    Instance,
    read_gaps,
    read_instances,
    read_outlier_group,
    read_pairs,
    read_questions,
    read_sense_key,
    read_senseval,
)
from polyadic.metrics.outliers import OutlierGroup
from strategies import plain_words

names = plain_words.map(lambda word: word.translate(dict.fromkeys(map(ord, '#,;:|"'), "x")))
scores = st.floats(-1e9, 1e9)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "file.txt"
        path.write_bytes(text.encode("utf-8"))
        return path

    return write


@given(st.lists(st.tuples(names, names, scores), min_size=1), st.sampled_from("\t,; "), st.sampled_from(["\n", "\r\n"]))
def test_pairs_round_trip(tmp_path_factory, pairs, mark, end):
    """Tabs, commas, semicolons or spaces, and any end of line: the pairs come back, scores to the bit."""
    path = tmp_path_factory.mktemp("p") / "pairs"
    path.write_bytes(end.join(f"{u}{mark}{v}{mark}{score!r}" for u, v, score in pairs).encode("utf-8"))
    assert read_pairs(path, TableReading(decimal=".")) == pairs


def test_comments_and_headings(file):
    """Comments, empty lines and headings are skipped; a heading tells the column of the score."""
    wanted = [("old", "new", 1.58), ("smart", "bright", 9.2)]
    for text in (
        "# SimLex\n# Word 1\tWord 2\tHuman (mean)\nold\tnew\t1.58\nsmart\tbright\t9.2\n\n",
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\nold\tnew\tA\t1.58\t3\nsmart\tbright\tA\t9.2\t2\n",
        "Word 1,Word 2,Human (mean)\nold,new,1.58\nsmart,bright,9.2\n",
        "\ufeffold new 1.58 7\r\nsmart bright 9.2 8\r\n",
    ):
        assert read_pairs(file(text)) == wanted


def test_column_of_the_score(file):
    """Columns are chosen by position or by heading, as in all tables."""
    verbs = file("a\tb\tV\t6.5\tX\nc\td\tV\t1\tX\n")
    assert read_pairs(verbs, columns=[1, 2, 4]) == [("a", "b", 6.5), ("c", "d", 1)]
    headed = file("w1\tw2\tmean\tsd\na\tb\t5\t2\n")
    assert read_pairs(headed, columns=["w1", "w2", "sd"]) == [("a", "b", 2)]
    assert read_pairs(headed) == [("a", "b", 5)]
    with pytest.raises(InputError, match=r"has no column 'median'; it has 'w1', 'w2', 'mean', 'sd'"):
        read_pairs(headed, columns=["w1", "w2", "median"])


def test_untidy_files_of_words(tmp_path):
    """Encodings, compression and separators are recognised, or set, and bad lines are skipped and shown."""
    text = "Wort 1;Wort 2;Wert\nMädchen;Junge;7,5\nTür;Tor;8,25\nhalb;ganz\n"
    (tmp_path / "paare.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "paare.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    for name in ("paare.csv", "paare.csv.gz"):
        with pytest.warns(InputWarning, match="skipped 1 of 3 rows .line 4: expected two words and a number"):
            assert read_pairs(tmp_path / name) == [("Mädchen", "Junge", 7.5), ("Tür", "Tor", 8.25)]
        with pytest.raises(InputError, match="line 4: expected two words"):
            read_pairs(tmp_path / name, TableReading(errors="strict"))
    (tmp_path / "fragen.txt").write_bytes(": Städte\nKöln,Rhein,München,Isar\n".encode("cp1252"))
    assert read_questions(tmp_path / "fragen.txt") == {"Städte": [("Köln", "Rhein", "München", "Isar")]}
    (tmp_path / "slash.txt").write_text("a/b/c d/e\n")
    assert read_questions(tmp_path / "slash.txt", TableReading(sep="/")) == {"": [("a", "b", "c d", "e")]}
    (tmp_path / "gruppe.txt").write_bytes("Bär\nLöwe\n\nTür\n".encode("utf-16"))
    assert read_outlier_group(tmp_path / "gruppe.txt") == OutlierGroup(("Bär", "Löwe"), ("Tür",), "gruppe")


@given(st.lists(plain_words, min_size=1), st.lists(plain_words, min_size=1), st.sampled_from(["\n", "\r\n"]))
def test_outlier_group_round_trip(tmp_path_factory, cluster, others, end):
    """Cluster words and outliers come back in order, repeated ones repeated."""
    path = tmp_path_factory.mktemp("g") / "Q1.txt"
    path.write_bytes(end.join([*cluster, "", *others, ""]).encode("utf-8"))
    assert read_outlier_group(path) == OutlierGroup(tuple(cluster), tuple(others), "Q1")


def test_questions(file):
    """Sections hold their questions."""
    assert read_questions(file(": capitals\nAthens Greece Oslo Norway\n: verbs\na\tb\tc\td\r\n")) == {
        "capitals": [("Athens", "Greece", "Oslo", "Norway")],
        "verbs": [("a", "b", "c", "d")],
    }
    assert list(read_questions(file("a b c d\n"))) == [""]


def context(text, **other):
    given_ = {"id": "add.v.1", "lemma": "add", "partOfSpeech": "v", "token": "adds", "tokenStart": 3, "tokenEnd": 7}
    attributes = " ".join(f'{key}="{value}"' for key, value in (given_ | other).items() if value is not None)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<instances>\n<instance {attributes}>{text}</instance></instances>'


def pos(context, answers='<answer instance="i" senseid="S1"/>', name="i"):
    return f'<corpus><lexelt item="hard-a"><instance id="{name}">{answers}{context}</instance></lexelt></corpus>'


def test_contexts(file):
    """Offsets count characters after entities and accents are read; the end is the first one behind the target."""
    assert read_instances(file(context("He adds  salt."))) == [Instance("add.v.1", "add.v", "He", "adds", "salt.")]
    text = context("&amp;é adds&lt;\n", tokenStart=3, tokenEnd=7)
    assert read_instances(file(text)) == [Instance("add.v.1", "add.v", "&é", "adds", "<")]


def test_keys(file):
    """Weights are read as they stand; without one a sense has the largest of its line; comments are left out."""
    text = "add.v add.v.1 add%2:32:01::/4 x/y/1.5\nadd.v add.v.2 a !! sure/2\n\nadd.v add.v.3 a b/3 c/2 c/1 b\n"
    assert read_sense_key(file(text)) == {
        "add.v.1": {"add%2:32:01::": 4, "x/y": 1.5},
        "add.v.2": {"a": 1},
        "add.v.3": {"a": 3, "b": 3, "c": 2},
    }


def test_senseval_format(file):
    """Tokens are joined by spaces, loose words among them, lost slashes left out; each answer has weight 1."""
    wf = [f'<wf pos="X">{word}</wf>' for word in ("a", "b", "hard", "c", "&lt;p>")]
    text = f"<context> {wf[0]} FRASL <compound>{wf[1]}</compound> of <head> {wf[2]}</head> to <s snum='1'/>{wf[3]}"
    two = '<answer instance="i" senseid="S1"/><answer instance="i" senseid="S2"/>'
    found = read_senseval(file(pos(text + wf[4] + "</context>", two)))
    assert found.instances == [Instance("i", "hard-a", "a b of", "hard", "to c <p>")]
    assert found.gold == {"i": {"S1": 1, "S2": 1}}


ONE = '<instance id="i"><answer senseid="S1"/><context><head>a</head></context></instance>'
HEAD = "given\tanswer\twrong\tmatched\tassociation\na b\tc\td\te\t1\n"


@pytest.mark.parametrize(
    ("read", "text", "fault"),
    [
        (read_pairs, "a b 1\nc d\n", "line 2: expected two words and a number in column 3; found 2 cells"),
        (read_pairs, "a b 1\n\nc d x\n", "line 3: expected two words and a number in column 3; found 'x'"),
        (read_pairs, "a b 1\nc d nan\n", "line 2: expected two words and a number in column 3; found 'nan'"),
        (read_pairs, "a b\n", "must have columns for word 1, word 2, score; line 1 has only 2"),
        (read_pairs, "# nothing\n", "must have columns for word 1, word 2, score"),
        (read_pairs, "w1 w2 score\n", "contains no word pairs"),
        (read_outlier_group, "a\nb\n", "found no empty line"),
        (read_outlier_group, "\na\n", "found no empty line"),
        (read_outlier_group, "a\n\nb\n\nc\n", "line 5: .* found a third block"),
        (read_questions, ": s\na b c d\na b c\n", "line 3: expected four words; found 3"),
        (read_questions, ": s\n", "contains no questions"),
        (read_gaps, HEAD + "a b\t\td\te\t1", "line 3: a field that should contain words is empty"),
        (read_gaps, HEAD + "a b\tc\td x\te\t1", "line 3: expected one word; found 'd x'"),
        (read_gaps, HEAD + "a b\tc\td\te\tmuch", "line 3: expected a number; found 'much'"),
        (read_instances, context("He  adds"), r"add\.v\.1: expected 'adds' at characters 3 to 7; found ' add'"),
        (read_instances, context("He adds", token=None), "must have a non-empty attribute 'token'"),
        (read_instances, context("He adds", id=None), "the element 'instance' must have a non-empty attribute 'id'"),
        (read_instances, context("He adds", tokenEnd="x"), r"must be whole numbers; got \['3', 'x'\]"),
        (read_instances, context("He & adds"), "line 3: not well-formed XML"),
        (read_instances, "<instances/>", "contains no instances"),
        (read_sense_key, "a a.1 s/1\na a.2\n", "line 2: expected a lemma, an instance and its senses; found 2 fields"),
        (read_sense_key, "a a.1 !!\n", "line 1: expected a lemma"),
        (read_sense_key, "a a.1 s\n\na a.1 t\n", r"line 3: the instance 'a\.1' occurs more than once"),
        (read_sense_key, "a a.1 s/x\n", "expected a sense, or sense/weight with a positive weight; found 's/x'"),
        (read_sense_key, "a a.1 s/0\n", "found 's/0'"),
        (read_sense_key, "a a.1 s/inf\n", "found 's/inf'"),
        (read_sense_key, "a a.1 s/\n", "found 's/'"),
        (read_sense_key, "a a.1 /1\n", "found '/1'"),
        (read_sense_key, "", "contains no senses"),
        (
            read_senseval,
            pos("<context><wf>a</wf></context>"),
            "i: expected one target, marked by a 'head' element; found 0",
        ),
        (read_senseval, pos("<context><head>a</head><head>b</head></context>"), "expected one target.*found 2"),
        (read_senseval, pos("<context><head>a</head></context>", ""), "i: expected an 'answer' element with a sense"),
        (
            read_senseval,
            pos("<context><head>a</head></context>", "<answer/>"),
            "'answer' must have a non-empty attribute 'senseid'",
        ),
        (read_senseval, pos("", name=""), "the element 'instance' must have a non-empty attribute 'id'"),
        (read_senseval, pos("<context>\n<wf></context>"), "line 2: not well-formed XML"),
        (read_senseval, "<corpus/>", "contains no instances"),
        (
            read_senseval,
            f'<corpus><lexelt item="a-n">{ONE}{ONE}</lexelt></corpus>',
            "i: the identifier occurs more than once",
        ),
    ],
)
def test_malformed_files_are_refused(file, read, text, fault):
    """The message names file and line, or file and instance, what was expected and what was found."""
    with pytest.raises(InputError, match=rf"file\.txt.*{fault}"):
        read(file(text), *([TableReading(errors="strict")] if read in {read_pairs, read_questions} else []))


def test_unreadable_files_are_refused(tmp_path):
    """A missing file, or one that is not text, is named."""
    (tmp_path / "binary").write_bytes(b"\xe9 b\0 1\n")
    for name, fault in (("absent", "there is no file .*absent"), ("binary", "binary is not a text file")):
        for read in (read_pairs, read_outlier_group, read_questions):
            with pytest.raises(InputError, match=fault):
                read(tmp_path / name)


def test_folder(monkeypatch, tmp_path):
    """The argument comes first, then the environment variable; without either the message says what to set."""
    monkeypatch.setenv("POLYADIC_DATA", str(tmp_path))
    assert datasets.folder() == tmp_path
    assert datasets.folder(tmp_path.parent) == tmp_path.parent
    with pytest.raises(InputError, match="is not a folder; the path given must name"):
        datasets.folder(tmp_path / "absent")
    monkeypatch.setenv("POLYADIC_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="is not a folder; POLYADIC_DATA must name"):
        datasets.folder()
    monkeypatch.delenv("POLYADIC_DATA")
    with pytest.raises(InputError, match="set the environment variable POLYADIC_DATA"):
        datasets.similarity_sets()


def test_incomplete_sets_are_refused(tmp_path):
    """A folder that does not hold what was published says how much of it is there."""
    group = tmp_path / "words" / "outlier-8-8-8" / "one.txt"
    group.parent.mkdir(parents=True)
    group.write_text("a\n\nb\n")
    with pytest.raises(InputError, match="outlier-8-8-8: expected 8 groups, as published; found 1"):
        datasets.outlier_groups("8-8-8", root=tmp_path)
    with pytest.raises(InputError, match=r"there is no file .*ws353\.txt"):
        datasets.similarity_sets(tmp_path)
    with pytest.raises(InputError, match="name must be one of 'wikisem500', '8-8-8'; got '888'"):
        datasets.outlier_groups("888", root=tmp_path)
    where = tmp_path / "senses" / "semeval2013-wsi"
    for place in ("contexts", "gold"):
        (where / place).mkdir(parents=True)
    (where / "gold" / "all.key").write_text("add.v add.v.1 s/4\n")
    (where / "contexts" / "add.v.xml").write_text(context("He adds salt."))
    with pytest.raises(InputError, match=r"semeval2013-wsi: expected [0-9,]+ instances with gold labels, as published"):
        datasets.semeval2013(tmp_path)
    with pytest.raises(InputError, match=r"there is no file .*line\.pos"):
        datasets.senseval(tmp_path)


def test_gensim_files():
    """The two similarity sets and the questions that gensim brings are parsed whole."""
    pytest.importorskip("gensim")
    assert read_pairs(datasets.gensim_file("wordsim353.tsv"))[0] == ("love", "sex", 6.77)
    assert len(read_pairs(datasets.gensim_file("wordsim353.tsv"))) == 353
    assert len(read_pairs(datasets.gensim_file("simlex999.txt"))) == 999
    questions = read_questions(datasets.gensim_file("questions-words.txt"))
    assert (len(questions), sum(map(len, questions.values()))) == (14, 19544)
    with pytest.raises(InputError, match=r"gensim has no test file 'men\.txt'"):
        datasets.gensim_file("men.txt")


def test_gensim_is_an_extra(monkeypatch):
    """Without gensim one sentence says what to install."""
    monkeypatch.setitem(sys.modules, "gensim.test.utils", None)
    with pytest.raises(MissingExtraError, match=r'pip install "polyadic\[gensim\]"'):
        datasets.gensim_file("wordsim353.tsv")


@pytest.mark.realdata
def test_published_sets(realdata):
    """Every set of the folder is there in full."""
    sets = datasets.similarity_sets(realdata)
    assert {name: len(pairs) for name, pairs in sets.items()} == {
        n: size for n, (_, size) in datasets.SIMILARITY.items()
    }
    assert sets["ws353"][0] == ("love", "sex", 6.77)
    wiki, eight = (datasets.outlier_groups(name, root=realdata) for name in ("wikisem500", "8-8-8"))
    assert (len(wiki), sum(len(g.cluster) for g in wiki), sum(len(g.outliers) for g in wiki)) == (500, 3998, 2812)
    assert all(len(g.cluster) == len(g.outliers) == 8 for g in eight)
    assert sum(len(q) for q in datasets.analogy_questions("msr", root=realdata).values()) == 8000
    assert len(datasets.analogy_questions(root=realdata)) == 14

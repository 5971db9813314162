"""From text to tagged words: how it is cut, what is told of words, figures of tags, and ``polyadic tag``."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.annotated import CONLL2000, chunks, web_treebank
from experiments.syntax.tagging import chunk_rows, cut_rows
from helpers import in_json, invoke
from polyadic import InputError, TextTagger, load, read_columns, tag_features
from polyadic.metrics.chunks import Span, begun_by_b, by_kind, span_figures, spans, tag_accuracy
from polyadic.sequences.sequence_tagger import TagLearner, spans_only
from polyadic.syntax.columns import headed_columns
from polyadic.syntax.plain_text import plain_sentences, plain_trees, read_paragraphs
from polyadic.syntax.tag_features import need_tags, shape
from polyadic.syntax.text_tagger import Lemmas
from polyadic.syntax.trees import Tree, read_trees
from strategies import tries


def cut(text, **how):
    return [" ".join(sentence.forms) for sentence in plain_sentences(text, **how)]


# Text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't, won't and don't.", "I ca n't , wo n't and do n't ."),
        ("dont cannot gonna DIDN’T", "do nt can not gon na DID N’T"),
        ("the dog's and dogs' o'neil's", "the dog 's and dogs ' o'neil 's"),
        ("you'll we've they're I'd I'm", "you 'll we 've they 're I 'd I 'm"),
        ("a well-known non-stop e-mail", "a well - known non-stop e-mail"),
        ("On 11/28/2000, at 5pm or 10:30 a.m. it cost $1,234.50 (5%).",
         "On 11/28/2000 , at 5 pm or 10:30 a.m. it cost $ 1,234.50 ( 5 % ) ."),
        ("Call 713-853-3989 or mail a.b@c.org!", "Call 713-853-3989 or mail a.b@c.org !"),
        ("See http://www.a.org/x?y=1, and www.b.com.", "See http://www.a.org/x?y=1 , and www.b.com ."),
        ("Wait... what?! -- Yes :)", "Wait ... what ?! -- Yes :)"),
        ("Dr. J. Smith of the U.S. army", "Dr. J. Smith of the U.S. army"),
        ("the 1990s, 21st and/or AT&T", "the 1990s , 21st and / or AT&T"),
        ("Café naïve 日本語", "Café naïve 日本語"),
        ("a-b.c@d.org x.y.com, non-stop.org/a", "a-b.c@d.org x.y.com , non-stop.org / a"),
    ],
)  # fmt: skip
def test_words_are_cut_as_in_the_treebank(text, words):
    """By rules that the module names."""
    assert " ".join(cut(text)) == words


def test_sentences_end():
    """At full stops before what may begin a sentence, and at the end of paragraphs; not after titles and initials."""
    text = 'He left. (She stayed.) "Why?" asked Mr. Li. No\nidea! e.g. this one\n\nno end\r\n\r\nlast'
    assert cut(text) == [
        "He left .", "( She stayed . )", '" Why ? " asked Mr. Li .', "No idea ! e.g. this one", "no end", "last",
    ]  # fmt: skip
    assert cut("He left. ) She stayed.") == ["He left . )", "She stayed ."]
    assert cut("one line\nand one\n", by_line=True) == ["one line", "and one"]
    assert cut("") == cut(" \n\n ") == []


@given(st.text(max_size=40))
@tries(100)
def test_no_letter_is_lost_or_moved(text):
    """Words and the spaces between them are the text, and lines of CoNLL-U stay lines."""
    found = list(plain_sentences(text))
    assert "".join("".join(one.forms) for one in found) == re.sub(r"\s", "", text)
    for one in found:
        said = "".join(form + " " * (not glued) for form, glued in zip(one.forms, one.glued, strict=True))
        assert said == f"{one.text} "
        assert len(one.tree(1).conllu().split("\n")) == len(one.forms) + 4


def test_trees_of_text_are_read_back(tmp_path):
    """They are CoNLL-U, with spaces told."""
    trees = list(plain_trees(["Don't go!", "It's me."]))
    (tmp_path / "a").write_text("".join(tree.conllu() for tree in trees))
    read = list(read_trees(tmp_path / "a"))
    assert [tree.forms for tree in read] == [("Do", "n't", "go", "!"), ("It", "'s", "me", ".")]
    assert read[0].misc == ("SpaceAfter=No", "_", "SpaceAfter=No", "_")
    assert read[1].comments == ("# sent_id = 2", "# text = It's me.")
    assert not read[0].heads.any()


def test_paragraphs_are_read(tmp_path):
    """An empty line ends one; Windows' line ends are line ends."""
    (tmp_path / "a").write_bytes("\ufeffone\r\ntwo\r\n\r\n \nthree".encode())
    assert list(read_paragraphs(tmp_path / "a")) == ["one\ntwo", "three"]


# Words


def test_what_is_told_of_words():
    """The word, its ends and shape, two neighbours on each side, and parts of speech if there are any."""
    rows = tag_features(["The", "U.S.", "dogs"])
    assert {"W=The", "w=the", "s=Aa", "<t", "<the", ">he", "w-1=<edge>", "w+1=u.s.", "w+2=dogs", "w+0=the u.s."} <= set(
        rows[0]
    )
    assert {"w-2=the", "w-1=u.s.", "w-1=u.s. dogs", "w+1=<edge>", ">dogs", "<dogs"} <= set(rows[2])
    with_tags = tag_features(["a", "b", "c"], ["X", "Y", "Z"])
    assert {"t-2=X Y Z", "t-1=Y Z", "t+0=Z", "t-1=Y", "t-2=X", "t+1=<edge>"} <= set(with_tags[2])
    assert all(set(plain) <= set(more) for plain, more in zip(tag_features(["a", "b", "c"]), with_tags, strict=True))
    assert (need_tags(with_tags[0]), need_tags(rows[0])) == (True, False)
    assert need_tags(["w=a", "t+0=X"])
    assert tag_features([]) == tag_features([], []) == []
    with pytest.raises(InputError, match="must equal the number of parts of speech; got 1 and 2"):
        tag_features(["a"], ["X", "Y"])


def test_a_word_does_not_tell_of_itself_as_of_another():
    """Features of one place are never those of another, whatever words are."""
    for row in tag_features(["w", "=", "w-1=w", ">", "é"]):
        assert len(row) == len(set(row))
    assert shape("") == ""
    assert shape("ÉCOLE-2b") == "A-0a"


def test_lemmas_keep_capitals_where_names_do():
    """Seen words have their lemma, others that of words that end alike."""
    rows = [
        ("Dogs", "NNS", "dog"),
        ("dogs", "NNS", "dog"),
        ("Paris", "NNP", "Paris"),
        ("boxes", "NNS", "box"),
        ("I", "PRP", "I"),
    ]
    lemmas = Lemmas.counted(rows)
    words = [("DOGS", "NNS"), ("Cats", "NNS"), ("foxes", "NNS"), ("McIvor", "NNP"), ("i", "PRP"), ("x", "ZZ")]
    assert [lemmas.lemma(*word) for word in words] == ["dog", "cat", "fox", "McIvor", "I", "x"]
    small = [("von", "NNP", "von"), ("de", "NNP", "de")]  # what is small anyway tells nothing of capitals
    assert Lemmas.counted([*rows, *small]).lemma("Rome", "NNP") == "Rome"
    again = Lemmas(lemmas.known, lemmas.capitals)
    assert [again.lemma(*word) for word in words] == [lemmas.lemma(*word) for word in words]


def test_lemmas_end_as_most_do():
    """Of words with the longest ending in common; never is all of a word cut off."""
    lemmas = Lemmas.counted([("boxes", "N", "box"), ("foxes", "N", "fox"), ("does", "N", "doe"), ("is", "V", "be")])
    words = ("ashes", "N"), ("hoes", "N"), ("os", "V"), ("es", "V")
    assert [lemmas.lemma(*word) for word in words] == ["ash", "hoe", "os", "es"]


def test_columns(tmp_path):
    """Blank lines divide sentences; a line with more or fewer columns is named."""
    path = tmp_path / "a.txt"
    path.write_text("\n\nHe\tPRP B-NP\nran VBD  B-VP\n\n\nYes UH O")
    assert list(read_columns(path)) == [(("He", "ran"), ("PRP", "VBD"), ("B-NP", "B-VP")), (("Yes",), ("UH",), ("O",))]
    path.write_text("He PRP B-NP\n\nran VBD\n")
    with pytest.raises(
        InputError, match=re.escape(f"{path}, line 3 must have 3 columns separated by spaces or tabs; got 2")
    ):
        list(read_columns(path))
    with pytest.raises(InputError, match="line 1 must have 4 columns"):
        list(read_columns(path, columns=4))
    path.write_text("10\u00a0000 CD\t O\t\n", encoding="utf-8")
    assert list(read_columns(path)) == [(("10\u00a0000",), ("CD",), ("O",))]
    path.write_bytes(b"a b\n\xff c\n")
    with pytest.raises(InputError, match="is not utf-8"):
        list(read_columns(path))


CONLL = "-DOCSTART- -X- O\n\n# id1\n# id 2\nHe PRP B-NP\nran VBD O\n\n# NN B-NP\n# NN O\n\n# PRP O\n\n#end\n"


def test_boundaries_and_comments(tmp_path):
    """Documents and comments are no words; a word # at the start has a tag of the file, and any other line is named."""
    path = tmp_path / "a.txt"
    path.write_text(CONLL)
    words = [("He", "ran"), ("#", "#"), ("#",)]
    assert [columns[0] for columns in read_columns(path)] == words
    assert [len(heading) for heading, _ in headed_columns(path)] == [1, 2, 0, 0, 1]
    path.write_text("#one\n\n# two\nthree\n#\n")
    assert list(read_columns(path)) == [(("#one",),), (("three", "#"),)]
    path.write_text("He PRP\n\n-DOCSTART-\nHe PRP O\nran VBD O\n")
    with pytest.raises(InputError, match="line 1 must have 3 columns"):
        list(read_columns(path))
    path.write_text("a O\n# b c\n")
    with pytest.raises(InputError, match="line 2 must have 2 columns"):
        list(read_columns(path))


def test_boundaries_and_comments_are_written_again(tmp_path):
    """The output has a column more, for a boundary too; the weights of a tagger are shown."""
    path, model = tmp_path / "a.txt", tmp_path / "model"
    path.write_text(CONLL)
    told = json.loads(invoke("tag", "train", path, "--columns", "--out", model, "--json").stdout)
    assert (told["sentences"], told["words"], told["tags"]) == (3, 5, 2)
    lines = invoke("tag", "apply", model, path).stdout.splitlines()
    assert lines[:6] == ["-DOCSTART- -X- O O", "", "# id1", "# id 2", "He PRP B-NP B-NP", "ran VBD O O"]
    shown = json.loads(invoke("tag", "top", model, "--top", 3, "--json").stdout)
    fitted = load(model)
    assert {row["tag"]: [(f["feature"], f["weight"]) for f in row["features"]] for row in shown["tags"]} == {
        tag: [(name, pytest.approx(weight)) for name, weight in pairs] for tag, pairs in fitted.top_features(3).items()
    }
    assert len(shown["transitions"]) == 3


# Figures


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-NP I-NP O B-NP", [("NP", 0, 2), ("NP", 3, 4)]),
        ("B-NP B-NP I-NP", [("NP", 0, 1), ("NP", 1, 3)]),
        ("O I-NP I-NP", [("NP", 1, 3)]),
        ("B-NP I-VP I-VP O", [("NP", 0, 1), ("VP", 1, 3)]),
        ("I-A-B I-A-B I-A", [("A-B", 0, 2), ("A", 2, 3)]),
        ("O O", []),
        ("", []),
    ],
)
def test_spans_as_conlleval_reads_them(tags, found):
    """Also where an I- follows nothing of its kind."""
    assert spans(tags.split()) == [Span(*one) for one in found]


def test_figures_of_spans_by_hand():
    """Two sentences: 5 spans, 6 found, 4 of them right."""
    gold = [["B-NP", "I-NP", "B-VP", "O", "B-NP"], ["B-PP", "B-NP"]]
    found = [["B-NP", "I-NP", "B-VP", "B-VP", "I-NP"], ["B-VP", "I-NP"]]
    # right: NP 0-2, VP 2-3, NP 4-5 and NP 1-2, which begin by I- after a span of another kind
    f1, precision, recall = span_figures(gold, found)
    assert (f1.value, precision.value, recall.value) == pytest.approx((2 * 4 / (5 + 6), 4 / 6, 4 / 5))
    assert tag_accuracy(gold, found).value == 3 / 7
    rows = {row.name: row[1:] for row in by_kind(gold, found)}
    assert rows == {"NP": (3, 3, 3), "VP": (1, 3, 1), "PP": (1, 0, 0)}
    low, high = f1.interval()
    assert low <= f1.value <= high
    assert np.isnan(span_figures([["O"]], [["O"]])[0].value)
    for bad, message in (
        ([["X"]], "span tags must be O"),
        ([["B-"]], "span tags must be O"),
        ([[]], "one tag for each of the 1 tokens"),
        ([], "same number of sentences"),
    ):
        with pytest.raises(InputError, match=message):
            span_figures([["O"]], bad)


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=6))
def test_begun_by_b_is_what_bio_allows(tags):
    """Spans begin by B- always where each move is one that a tagger of spans may make; I- is then never a first."""
    names = ["B-A", "B-B", "I-A", "I-B", "O"]
    at = [len(names), *map(names.index, tags)]
    assert begun_by_b(tags) == bool(np.isfinite(spans_only(names)[at[:-1], at[1:]]).all())
    assert begun_by_b(tags) == all(tags[span.first][0] == "B" for span in spans(tags))


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=12))
def test_spans_cover_all_but_what_is_outside(tags):
    """Each token lies in one span, or is O."""
    inside = Counter(at for span in spans(tags) for at in range(span.first, span.end))
    assert inside == Counter(at for at, tag in enumerate(tags) if tag != "O")
    assert all(tags[at][2:] == span.kind for span in spans(tags) for at in range(span.first, span.end))


# Treebanks


def tree_of(words):
    """A tree of rows of form, lemma, upos, xpos, features, the first above all others."""
    columns = list(zip(*(word.split("/") for word in words.split()), strict=True))
    n = len(columns[0])
    heads, relations = np.array([0] + [1] * (n - 1), np.int32), ("root",) + ("dep",) * (n - 1)
    return Tree(*columns, heads, relations, ("_",) * n, ("_",) * n)


SMALL = [
    tree_of("The/the/DET/DT/Definite=Def dogs/dog/NOUN/NNS/Number=Plur bark/bark/VERB/VBP/_ ././PUNCT/./_"),
    tree_of("A/a/DET/DT/Definite=Ind cat/cat/NOUN/NN/Number=Sing sleeps/sleep/VERB/VBZ/Person=3 ././PUNCT/./_"),
    tree_of("Cats/cat/NOUN/NNS/Number=Plur see/see/VERB/VBP/_ the/the/DET/DT/Definite=Def dog/dog/NOUN/NN/Number=Sing"),
]
NAMES = ("lemmas", "upos", "xpos", "features")


def test_columns_are_learned_and_the_others_stay():
    """What was learned is told again; heads, relations and comments are not touched, nor the trees that came in."""
    model = TextTagger(min_count=1).fit(SMALL)
    bare = [Tree(t.forms, *[("_",) * len(t)] * 4, t.heads, t.relations, t.enhanced, t.misc, ("# hi",)) for t in SMALL]
    for gold, blank, found in zip(SMALL, bare, model.annotate(bare), strict=True):
        assert [getattr(found, name) for name in NAMES] == [getattr(gold, name) for name in NAMES]
        assert (found.heads is gold.heads, found.relations, found.comments) == (True, gold.relations, ("# hi",))
        assert blank.upos == ("_",) * len(blank)
    [pigs] = model.trees(["The dogs sleeps."])
    assert pigs.xpos == ("DT", "NNS", "VBZ", ".")
    assert model.tag(["The", "cat"]).upos == ("DET", "NOUN")
    silent = [replace(tree, lemmas=("_",) * len(tree)) for tree in SMALL]
    assert TextTagger(min_count=1, max_iter=1).fit([*silent, *silent, *SMALL]).tag(["dogs"]).lemmas == ("dog",)
    assert len(model.tag([])) == 0
    assert list(model.annotate([])) == []


def test_text_tagger_refitted_and_interrupted():
    """What fails or is stopped leaves what was."""
    model = TextTagger(seed=1, max_iter=3, min_count=1).fit(SMALL)
    text = ["The dogs bark. Wugs sleeps, the cat!"]
    before = [tree.conllu() for tree in model.trees(text)]

    def callback(column, result):
        if column == stop:
            raise KeyboardInterrupt

    model.callback = callback
    stop = "upos"
    with pytest.raises(KeyboardInterrupt):
        model.fit(SMALL[:1])
    stop = "xpos"
    with pytest.raises(KeyboardInterrupt):
        model.fit(SMALL[:1])
    with pytest.raises(InputError, match="at least one word"):
        model.fit([])
    assert [tree.conllu() for tree in model.trees(text)] == before
    stop = "features"
    assert model.fit(SMALL).interrupted_


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_ctrl_c_before_the_end_of_a_first_pass_leaves_the_old_fit(monkeypatch, stop):
    """In the passes of upos and xpos, in the one that the low rank of morphology starts from, and in its first."""
    model = TextTagger(min_count=1, max_iter=1).fit(SMALL)
    before, count, epoch = model.taggers_, iter(range(1, 9)), TagLearner.epoch

    def interrupted(learner, rng):
        if next(count) == stop:
            raise KeyboardInterrupt
        return epoch(learner, rng)

    monkeypatch.setattr(TagLearner, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(SMALL)
    assert model.taggers_ is before


# Command line


run = partial(invoke, "tag")


@pytest.fixture
def bank(tmp_path):
    """A small treebank in a file."""
    path = tmp_path / "bank.conllu"
    path.write_text("".join(tree.conllu() for tree in SMALL))
    return path


def test_commands_of_text(tmp_path, bank):
    """A tagger of CoNLL-U tags CoNLL-U, text of a file and text of standard input, and is judged."""
    out = tmp_path / "tagger"
    told = in_json("tag", "train", bank, "--out", out, "--min-count", 1)
    assert (told["sentences"], told["words"]) == (3, 12)
    assert {"loss of upos", "loss of xpos", "loss of features"} < set(told)
    assert run("train", bank, "--out", out).exit_code == 1
    (tmp_path / "a.txt").write_text("The dogs bark.\nThe cat sleeps.")
    tagged = run("apply", out, "--text", tmp_path / "a.txt")
    assert [tree.upos for tree in read_trees(io_path(tmp_path, tagged.stdout))] == [
        ("DET", "NOUN", "VERB", "PUNCT")
    ] * 2
    assert run("apply", out, "--text", "-", stdin="The dogs bark.\nThe cat sleeps.").stdout == tagged.stdout
    assert run("apply", out, bank, "--out", tmp_path / "again").exit_code == 0
    assert (tmp_path / "again").read_text() == bank.read_text()
    judged = in_json("tag", "evaluate", out, bank)["figures"]
    assert {figure["name"]: figure["value"] for figure in judged} == dict.fromkeys(NAMES, 1.0)
    assert "upos\t1" in run("evaluate", out, bank).stdout


def io_path(folder, text):
    (folder / "output").write_text(text)
    return folder / "output"


def test_commands_of_columns(tmp_path):
    """Words with and without parts of speech; a tag more at the end of each line."""
    with_tags, without = tmp_path / "three", tmp_path / "two"
    with_tags.write_text("He PRP B-NP\nran VBD B-VP\n\nA DT B-NP\ndog NN I-NP\nran VBD B-VP\n\n" * 5)
    without.write_text(re.sub(r" [A-Z]+ ", " ", with_tags.read_text()))
    for path, more in ((with_tags, ["--rank", 2, "--loss", "hinge"]), (without, ["--l2", 0.001])):
        out = tmp_path / f"{path.name}.model"
        done = run("train", path, "--columns", "--out", out, "--max-iter", 8, *more)
        assert done.exit_code == 0, done.output
        assert load(out).bio
        figures = in_json("tag", "evaluate", out, path, "--tables")
        assert [figure["value"] for figure in figures["figures"]] == [1.0] * 4
        assert figures["kinds"][0]["name"] == "NP"
        tagged = run("apply", out, path).stdout.split("\n")
        assert tagged[0] == path.read_text().split("\n")[0] + " B-NP"
        assert len(tagged) == len(path.read_text().split("\n"))
    [words] = [re.sub(" .*", "", without.read_text())]
    assert run("apply", tmp_path / "two.model", "-", stdin=words).stdout.split("\n")[:3] == ["He B-NP", "ran B-VP", ""]
    assert "kind\tgold" in run("evaluate", tmp_path / "two.model", without, "--tables").stdout


def test_spans_that_begin_by_i_are_learned(tmp_path):
    """As in CoNLL-2003, where B-X stands only between two spans of a kind."""
    path, out = tmp_path / "columns", tmp_path / "model"
    path.write_text("Rome I-LOC\nis O\nold O\n\nAnn I-PER\nLee I-PER\nsees O\nRome I-LOC\n\n" * 5)
    assert in_json("tag", "train", path, "--columns", "--out", out)["bio"] is False
    assert not load(out).bio
    figures = in_json("tag", "evaluate", out, path)["figures"]
    assert [figure["value"] for figure in figures] == [1.0] * 4


def test_faults_of_commands(tmp_path, bank):
    """One sentence each, exit code 1."""
    columns = tmp_path / "columns"
    columns.write_text("a X\n\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "one").write_text("a\n")
    run("train", columns, "--columns", "--out", tmp_path / "c")
    (tmp_path / "tagged").write_text("a N X\nb N X\n\n")
    run("train", tmp_path / "tagged", "--columns", "--out", tmp_path / "g", "--min-count", 2)
    run("train", bank, "--out", tmp_path / "t", "--max-iter", 1)
    faults = [
        (["train", bank, "--out", tmp_path / "x", "--rank", 3], "--rank is used only with --columns"),
        (["train", tmp_path / "empty", "--out", tmp_path / "x"], "at least one word"),
        (["train", tmp_path / "empty", "--columns", "--out", tmp_path / "x"], "at least one token"),
        (["train", tmp_path / "one", "--columns", "--out", tmp_path / "x"], "at least two columns"),
        (["train", columns, "--out", tmp_path / "x"], "must have 10 columns"),
        (["apply", tmp_path / "t", "-"], "standard input, line 1 must have 10 columns"),
        (["apply", tmp_path / "c", "-"], "standard input, line 2 must have 2 columns"),
        (
            ["evaluate", tmp_path / "g", columns],
            "must have a column of parts of speech between the columns of words and tags, because",
        ),
        (
            ["apply", tmp_path / "g", tmp_path / "one"],
            "must have a column of parts of speech after the column of words, because",
        ),
        (["apply", tmp_path / "c", "--text", columns], "--text requires a model trained on CoNLL-U"),
        (["apply", tmp_path / "t", "--by-line", bank], "--by-line is used only with --text"),
        (["apply", tmp_path, bank], "contains no output of polyadic"),
        (["apply", tmp_path / "t", tmp_path / "none"], "there is no file"),
        (["evaluate", tmp_path / "t", tmp_path / "empty"], "has no words"),
        (["evaluate", tmp_path / "c", tmp_path / "empty"], "has no words"),
    ]
    for words, message in faults:
        done = run(*words, stdin="a b\nc\n")
        assert (done.exit_code, message in done.output) == (1, True), done.output
        assert done.output.count("\n") == 1
    assert not (tmp_path / "x").exists()


# Real data


@pytest.mark.realdata
def test_chunks_of_real_sentences(realdata):
    """A twentieth of the training part is enough for an F1 near .9, also with a rank of 10."""
    assert {part: len(chunks(part, root=realdata)) for part in CONLL2000} == {"train": 8_936, "test": 2_012}
    full, low = chunk_rows({"any": {"max_iter": 4}, "10": {"rank": 10, "max_iter": 4}}, shares=(0.05,), root=realdata)
    assert full["F1"] > 0.88
    assert low["F1"] > 0.88
    assert low["minus_low"] <= low["minus_first"] <= low["minus_high"]
    with pytest.raises(InputError, match="part must be one of 'train', 'test'"):
        chunks("dev", root=realdata)


@pytest.mark.realdata
def test_text_of_the_treebank_is_cut_as_it_is_there(realdata):
    """Nearly all words of the development part, and most sentences."""
    words, sentences = cut_rows(web_treebank("dev", root=realdata))
    assert words["value"] > 0.98
    assert sentences["value"] > 0.75


@pytest.mark.realdata
def test_tags_of_real_sentences(realdata):
    """A few hundred sentences give five parts of speech in six."""
    trees = web_treebank("dev", root=realdata)
    model = TextTagger(max_iter=2).fit(trees[:600])
    gold = trees[600:800]
    found = list(model.annotate(gold))
    for name in ("upos", "lemmas"):
        assert tag_accuracy([getattr(t, name) for t in gold], [getattr(t, name) for t in found]).value > 0.85


def test_of_a_long_paragraph_all_words_come():
    """Of 100,000 characters that look like one address, or like one quotation, nothing is lost or read again."""
    for text in ('" ' * 50_000, "-." * 50_000, "a-" * 50_000):
        assert "".join(form for sentence in plain_sentences(text) for form in sentence.forms) == text.replace(" ", "")
    assert cut('He left. " " “Then” he came.') == ["He left .", '" " “ Then ” he came .']

"""Structure of texts: parts that are left out are counted and can be included, and texts are split without loss."""

import logging
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from polyadic import Corpus
from polyadic.cli import app
from polyadic.core.errors import InputError, InputWarning
from polyadic.text import readers
from polyadic.text.pieces import LEFT_OUT, Reading
from polyadic.text.readers import Account, documents, pieces, read, survey

HEADER = "<teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc>{}</teiHeader>"
PEOPLE = (
    '<profileDesc><particDesc><listPerson><person xml:id="ann"><persName><surname>Lee</surname><forename>Ann</forename>'
    '</persName><sex value="F"/><affiliation ref="#g"/></person></listPerson><listOrg><org xml:id="g"><orgName>Greens'
    '</orgName></org></listOrg></particDesc><settingDesc><setting><date when="2001-02-03">x</date></setting>'
    "</settingDesc></profileDesc>"
)
PLAY = (
    "<front><titlePage><docTitle>A Play</docTitle></titlePage><castList><castItem><role xml:id='b'>BOB</role>"
    "</castItem></castList></front><body><div><head>ACT 1</head><div><head>Scene 1<note>n</note></head>"
    "<stage>Enter Ann.</stage><sp who='#ann'><speaker>ANN.</speaker><l part='I'>Who is <stage>aside</stage> there?</l>"
    "</sp><sp who='#b'><speaker>BOB.</speaker><p>Bob<note>A note.</note>, her friend.</p></sp></div></div></body>"
)


def tei(text, people=PEOPLE):
    return f'<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="en">{HEADER.format(people)}<text>{text}</text></TEI>'


def counted(path, **reading):
    """Return the lines of the documents, and what was left out."""
    account = Account()
    found = "".join(map(readers.as_text, pieces(path, Reading(**reading), account=account)))
    return found.splitlines(), {kind: n for kind, n in account.left_out.items() if n}


def test_a_play_is_what_is_spoken(tmp_path):
    """Labels, stage directions, headings, cast lists and notes are left out, counted, and read on request."""
    (tmp_path / "a.xml").write_text(tei(PLAY))
    left_out = {"boilerplate": 2, "headings": 2, "stage": 2, "speakers": 2, "notes": 1}
    assert counted(tmp_path / "a.xml") == (["Who is there?", "Bob, her friend."], left_out)
    lines, left_out = counted(tmp_path / "a.xml", include=["speakers", "stage", "notes", "headings"])
    expected = [
        "ACT 1",
        "Scene 1",
        "n",
        "Enter Ann.",
        "ANN.",
        "Who is aside there?",
        "BOB.",
        "Bob , her friend.",
        "A note.",
    ]
    assert (lines, left_out) == (expected, {"boilerplate": 2})


def test_speeches_have_speakers(tmp_path):
    """A speech is a document with the name, sex and party that the header gives, and the headings above it."""
    (tmp_path / "a.xml").write_text(tei(PLAY))
    told = [dict(document.fields) for document in documents(tmp_path / "a.xml", documents="speaker")]
    above = {"title": "T", "date": "2001-02-03", "language": "en", "heading": "ACT 1 / Scene 1"}
    ann = above | {"part": "1", "speaker": "Ann Lee", "sex": "F", "party": "Greens"}
    assert told == [ann, above | {"part": "2", "speaker": "BOB"}]
    (tmp_path / "b.xml").write_text(tei("<body><p>Nobody speaks.</p></body>"))
    with pytest.raises(InputError, match="has no speakers, so documents cannot be 'speaker'"):
        list(read(tmp_path / "b.xml", documents="speaker"))


def test_parliaments(tmp_path):
    """Applause, gestures, gaps and notes are left out; each text of a corpus is a document."""
    debate = (
        '<body><div><note type="speaker">The Chair:</note><u who="#ann" ana="#chair"><seg>We <kinesic><desc>laughter'
        "</desc></kinesic>begin.</seg><vocal><desc>applause</desc></vocal><seg>Now.</seg></u><gap><desc>INAUDIBLE</desc>"
        "</gap></div></body>"
    )
    (tmp_path / "a.xml").write_text(f"<teiCorpus>{HEADER.format(PEOPLE)}{tei(debate, '')}{tei(debate, '')}</teiCorpus>")
    assert list(read(tmp_path / "a.xml")) == ["We begin.\nNow.\n"] * 2
    assert counted(tmp_path / "a.xml")[1] == {"speakers": 2, "stage": 4, "notes": 2}
    first = next(documents(tmp_path / "a.xml", documents="speaker"))
    assert first.fields["speaker"], first.fields["role"] == ("Ann Lee", "chair")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            'mas<lb break="no"/>ter, har-<lb break="no"/>bour, mas-\n <lb n="5" break="no"/>ter',
            "master, harbour, master",
        ),
        ('ves-<pb break="no"/><fw>12</fw><lb break="no"/>sel', "vessel"),
        ("the vessel<pb/>returned<lb/>late", "the vessel returned late"),
        ("Unter-<lb/>schied, Guts-<lb/>Hof", "Unterschied, Guts-Hof"),
        ("<app>\n<lem>north</lem> <rdg>south</rdg></app>ward", "northward"),
        ("<app><rdgGrp><rdg>first</rdg></rdgGrp><rdg>second</rdg></app>", "first"),
        ("<app><lem>a <app><lem>b</lem><rdg>c</rdg></app></lem><rdg>d</rdg></app>", "a b"),
        ('base<app from="#x"><lem>base</lem><rdg>other</rdg></app>', "base"),
        (
            "<choice><sic>knig</sic><corr>knight</corr></choice> <choice><reg>one</reg><reg>two</reg></choice>",
            "knight one",
        ),
        ("<subst><del>long</del> <add>short</add></subst> <supplied>x</supplied><surplus>y</surplus>z", "short xz"),
        ("<hi>W</hi>hen <name><forename>A</forename><surname>B</surname></name>", "When A B"),
        ("end.<note>1</note>Next, song<note>2</note>.", "end. Next, song."),
        ('<w join="right">did</w><w>n\'t</w><pc>.</pc><w>So</w><w>it</w> <w>is</w><pc>!</pc>', "didn't. So it is!"),
    ],
)
def test_words_are_neither_glued_nor_broken(text, right, tmp_path):
    """Breaks inside words join the parts, other breaks separate words; one of several alternative forms is read."""
    (tmp_path / "a.xml").write_text(tei(f"<body><p>{text}</p></body>"))
    assert list(read(tmp_path / "a.xml")) == [f"{right}\n"]


PAGE = """<html lang="de"><body><nav>Menu</nav><h1>One</h1><p>First<a href="#n1"><sup>1</sup></a> and<sup><a
href="#n2">2</a></sup>, page <a href="#x">12</a>.<span class="pagenum">[12]</span></p><p hidden>No</p>
<figure><figcaption>Dog</figcaption></figure><table><tr><td>Bob</td><td>12</td></tr><tr><td>Ann</td><td>13</td></tr>
</table><p>Red<br>blue <del>old</del>H<sub>2</sub>O</p><h2>Two</h2><p style="display:none">x</p><p>End.</p>
<aside role="doc-footnote" id="n1">Note.</aside><p><a id="n2"></a><a href="#r">2</a> Another.</p></body></html>"""


def test_pages_are_running_text(tmp_path):
    """Notes and their marks, page numbers, menus, captions and hidden parts are left out; a row is a line."""
    (tmp_path / "a.html").write_text(PAGE)
    lines = ["One", "First and, page 12.", "Bob\t12", "Ann\t13", "Red", "blue H2O", "Two", "End."]
    left_out = {"navigation": 1, "notes": 4, "headers": 1, "hidden": 2, "captions": 1, "deletions": 1}
    assert counted(tmp_path / "a.html") == (lines, left_out)
    lines = counted(tmp_path / "a.html", include=["notes", "headers"])[0]
    assert [lines[1], *lines[-3:]] == ["First and, page 12. [12]", "End.", "Note.", "2 Another."]
    found = list(documents(tmp_path / "a.html", documents="heading"))
    assert [document.fields for document in found] == [
        {"title": "One", "language": "de", "part": "1", "heading": "One"},
        {"title": "One", "language": "de", "part": "2", "heading": "One / Two"},
    ]
    assert found[1].text == "Two\nEnd.\n"


def test_books_without_their_apparatus(tmp_path):
    """The cover, the contents and the copyright page are left out, and notes that another file contains."""
    files = {
        "cover.html": "<p>A Book</p>",
        "toc.html": "<nav epub:type='toc'>One, Two</nav>",
        "one.html": "<h1>One</h1><p>Text<a href='notes.html#a1'><sup>1</sup></a>.<i epub:type='pagebreak'>5</i></p>",
        "notes.html": "<p id='a1'>1. A note.</p><p>Not a note.</p>",
        "rights.html": "<body epub:type='copyright-page'><p>All rights reserved.</p></body>",
    }
    container = '<container xmlns="c"><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in files)
    order = "".join(f'<itemref idref="{name}"/>' for name in files)
    guide = '<guide><reference type="cover" href="cover.html"/></guide>'
    package = f"<package><manifest>{items}</manifest><spine>{order}</spine>{guide}</package>"
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        for name, content in {**files, "META-INF/container.xml": container, "book.opf": package}.items():
            book.writestr(name, content)
    assert counted(tmp_path / "a.epub") == (
        ["One", "Text.", "Not a note."],
        {"boilerplate": 3, "notes": 2, "headers": 1},
    )


def test_lines_of_wikis_are_not_glued(tmp_path):
    """Tags of line breaks end a line."""
    gensim = pytest.importorskip("gensim")  # noqa: F841 # it is imported by the reader
    from polyadic.text.formats.markup import clean_markup

    assert clean_markup("one<br/>two<p>three</p>four [[a|b]]s").split() == ["one", "two", "three", "four", "bs"]
    drawn = "<timeline>\nbar:x\n</timeline>\nsee [[wikt:b|b]]\n[[Категория:Х]]\n [[de:A]] [[fr:B]]\n"
    assert clean_markup(drawn).split() == ["see", "b"]


WORDS = st.lists(st.sampled_from(["a", "bc", "d.", "— e", "# f", "Chapter I", "\n", "\n\n"]), max_size=30)


@given(
    st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(["line", "sentence", "paragraph", "heading", "1", "3", "1,000 words"]),
)
def test_no_word_is_lost_by_splitting(texts, unit):
    """The documents of a text are its words in order, are numbered from 1, and have the requested number of words."""
    texts = [" ".join(words) for words in texts]
    for text in texts:
        parts = list(documents([text], documents=unit))
        assert " ".join(part.text for part in parts).split() == text.split()
        assert [part.fields["part"] for part in parts] == [str(number) for number in range(1, len(parts) + 1)]
        size = Reading(documents=unit).words
        if size and parts:
            sizes = [sum(any(map(str.isalnum, word)) for word in part.text.split()) for part in parts]
            assert set(sizes[:-1]) <= {size}
            assert sizes[-1] <= size
    numbers = [document.fields["part"] for document in documents(texts, documents=unit)]
    assert numbers.count("1") == sum(bool(text.split()) for text in texts)


def test_headings_of_plain_text(tmp_path):
    """Chapters, Markdown and wiki headings begin documents; headings with nothing between them are joined."""
    text = (
        "Title\n\nPART ONE\n\nChapter I. The start\n\na\nb\n\n## Next\nc\n\nLast\n====\nd\n== wiki ==\ne\n第三章 水\nf"
    )
    (tmp_path / "a.txt").write_text(text)
    told = [document.fields.get("heading") for document in documents(tmp_path / "a.txt", documents="heading")]
    assert told == [None, "PART ONE / Chapter I. The start", "Next", "Last", "wiki", "第三章 水"]


def test_tokens_are_split_by_sentences_and_words():
    """Tokenized sentences can be split into lines; other units require text."""
    tokens = [["a", "b", "c"], ["d"], ["e", "f"]]
    assert [d.text for d in documents([tokens], documents="line")] == ["a b c", "d", "e f"]
    assert [d.text for d in documents([tokens], documents="sentence")] == ["a b c", "d", "e f"]
    assert [d.text.split() for d in documents([tokens], documents="2")] == [["a", "b"], ["c", "d"], ["e", "f"]]
    with pytest.raises(InputError, match="tokenized sentences, so documents cannot be 'paragraph'"):
        list(documents([tokens], documents="paragraph"))


@pytest.mark.parametrize(
    ("reading", "fault"),
    [
        ({"include": ["note"]}, r"include must name kinds .*; got 'note'; did you mean 'notes'\?"),
        ({"include": "notes"}, "include must be a list"),
        ({"documents": "lines"}, r"documents must be paragraph, line.*; got 'lines'; did you mean 'line'\?"),
        ({"documents": "0"}, "or a number of words"),
    ],
)
def test_unknown_names_are_refused(reading, fault):
    with pytest.raises(InputError, match=fault):
        Reading(**reading)


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_note_says_what_was_left_out(jobs, tmp_path, monkeypatch, caplog):
    """Structure that is left out is reported once, for any number of files and processes."""
    monkeypatch.setattr(readers, "TASK", 1)
    for number in range(5):
        (tmp_path / f"{number}.xml").write_text(tei(PLAY))
    caplog.set_level(logging.INFO, "polyadic")
    reading = {"include": [kind for kind in LEFT_OUT if kind not in ("notes", "stage")]}
    Corpus.build(tmp_path, min_count=1, jobs=jobs, **reading)
    told = "left out: 10 notes, 10 stage directions; to read this as text, use include=['notes', 'stage']"
    assert caplog.messages == [told]


@pytest.mark.parametrize(("verb", "option"), [("lines", "--include "), ("words", "--set include=")])
def test_notes_name_options(verb, option, tmp_path):
    """The command line replaces the settings in a note by its options, with lists separated by commas."""
    (tmp_path / "a.xml").write_text(tei(PLAY))
    said = CliRunner().invoke(app, [verb, str(tmp_path / "a.xml"), "friend"]).stderr
    assert f"use {option}notes,speakers,stage," in said


def test_own_folders_are_no_text(tmp_path):
    """Folders written by polyadic raise InputError that names the commands to use, and are left out among texts."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a rose")
    corpus = tmp_path / "texts" / "corpus"
    Corpus.build(["a rose"], corpus, min_count=1)
    with pytest.raises(
        InputError, match="kind 'corpus' written by polyadic, not a folder of text; use it with polyadic"
    ):
        list(read(corpus))
    with pytest.warns(InputWarning, match="left out 1 folder written by polyadic among the texts: .*corpus"):
        assert list(read(tmp_path / "texts")) == ["a rose"]


@pytest.mark.parametrize(
    ("name", "unit", "said"),
    [
        ("a.txt", None, {"documents": 1, "document_is": "a file"}),
        ("a.xml", None, {"document_is": "a TEI text"}),
        ("a.txt", "1000", {"document_is": "1,000 words"}),
        ("a.txt", "heading", {"document_is": "the text below a heading"}),
    ],
)
def test_what_a_document_is(name, unit, said, tmp_path):
    (tmp_path / name).write_text("a")
    facts = survey(tmp_path, Reading(documents=unit))
    assert {key: facts[key] for key in ("documents", "document_is") if key in facts} == said

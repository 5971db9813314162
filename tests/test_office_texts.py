"""Readers of office documents, speech, records and characters read the text, and leave out everything else."""

import io
import json
import logging
import unicodedata
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError, InputWarning
from polyadic.text import readers
from polyadic.text.characters import Decoding, folded
from polyadic.text.formats import office, speech
from polyadic.text.pieces import File, Reading
from polyadic.text.readers import Account, Files, documents, read

SENTENCES = {
    "de": "Größe und Übung – „schöne Straßen“ führen über die Brücke, sagte er.",
    "fr": "L’été où Noël tombait, la forêt était déjà brûlée et l’âne très fâché.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności; gęślą jaźń.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy a všichni lidé rodí se svobodní.",
    "ru": "Все люди рождаются свободными и равными в своём достоинстве и правах.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar; çay içtim.",
    "en": "The keeper’s daughter didn’t answer. “It’s late,” he said — café closed.",
}
ENCODINGS = {
    "de": ["cp1252", "utf-16", "utf-8-sig", "cp850"],
    "fr": ["cp1252", "mac-roman"],
    "en": ["cp1252", "utf-16-le", "utf-32"],
    "pl": ["cp1250", "iso8859-2"],
    "cs": ["cp1250"],
    "ru": ["cp1251", "koi8-r"],
    "el": ["cp1253"],
    "tr": ["cp1254"],
}


def told(path, **reading):
    """Return the text of each document with its fields other than the file."""
    return [(d.text, {k: v for k, v in d.fields.items() if k != "file"}) for d in documents(path, **reading)]


def noted(caplog, path, **reading):
    """Return the notes about a file."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "polyadic"):
        list(read(path, **reading))
    return "\n".join(record.message for record in caplog.records)


@pytest.mark.parametrize(("language", "encoding"), [(name, e) for name, each in ENCODINGS.items() for e in each])
def test_encodings_are_detected_and_said(language, encoding, tmp_path, caplog):
    """A text is the same in all encodings, and one other than UTF-8 is named."""
    path = tmp_path / "a.txt"
    text = f"{SENTENCES[language]}\n" * 3
    if encoding in ("cp850", "iso8859-2", "mac-roman"):
        text = text.encode(encoding, "ignore").decode(encoding)
    path.write_bytes(text.encode(encoding))
    assert list(read(path)) == [text]
    assert ("1 file (" in noted(caplog, path)) == (encoding != "utf-8-sig")


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_signs_of_a_wrong_encoding(language, wrong, tmp_path):
    """UTF-8 decoded as another encoding is reported, and the text itself is not."""
    path = tmp_path / "a.txt"
    good = SENTENCES[language]
    path.write_text(good, encoding="utf-8")
    assert list(read(path)) == [good]  # a warning would be an error
    garbled = "".join(bytes([byte]).decode(wrong, "ignore") or chr(byte) for byte in good.encode())
    path.write_text(garbled, encoding="utf-8")
    with pytest.warns(InputWarning, match=r"found UTF-8 that was decoded wrongly at \d+ places, such as"):
        list(read(path))


def test_control_characters_name_the_probable_encoding(tmp_path):
    """Windows text that is read as Latin-1 has control characters, which are reported."""
    (tmp_path / "a.txt").write_bytes(SENTENCES["en"].encode("cp1252"))
    with pytest.warns(
        InputWarning, match=r"control characters .* at 6 places, such as .*probably written in cp1252 or cp1250"
    ):
        list(read(tmp_path / "a.txt", encoding="latin-1"))


def test_parts_of_a_file_are_counted_together(tmp_path, monkeypatch):
    """Encodings and signs that are found in parts of a file, by several processes, are added."""
    monkeypatch.setattr(readers, "TASK", 500)
    (tmp_path / "a.txt").write_text(f"Itâ€™s {SENTENCES['de']}\n" * 40, encoding="utf-8")
    parts = Files.of([str(tmp_path / "a.txt")], Reading()).ranges()
    account = Account()
    for part in parts:
        own = Account()
        list(part.pieces(own))
        account.add(own)
    assert len(parts) > 3
    assert account.decoding.mojibake.total() == 40


def test_folded_by_hand():
    """Compatibility forms are folded, and marks by language; distinctive characters are preserved."""
    assert folded("ﬁeld oﬃcer uſefulneſs ＡＢＣ１２ ３．１４", "en") == "field officer usefulness ABC12 3.14"
    assert folded("ｶﾞ ĳs ǆep ⼀ 𝓪", "en") == "ガ ijs džep 一 a"
    assert folded("x² ½ № ℃ ™ Ⅳ ：！", "en") == "x² ½ № ℃ ™ Ⅳ ：！"
    assert folded("ﻣﺮﺣﺒﺎ العـــربية كِتَابٌ", "ar") == "مرحبا العربية كتاب"
    assert folded("كِتَابٌ", "ar", "keep") == folded("كِتَابٌ", "fa") == "كِتَابٌ"
    assert folded("Михаи́л, йод, ёлка", "ru") == "Михаил, йод, ёлка"
    assert folded("שָׁלוֹם", "he") == "שלום"
    for kept in ("می‌خواهم", "आधुनिक हिन्दी", "தமிழ்", "café naïve Ångström"):
        assert folded(kept, "fa") == folded(kept, "hi") == kept
    assert folded("за́мок كِتَابٌ", "en", "drop") == "замок كتاب"


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["en", "ar", "ru", "he"]))
def test_folding_keeps_what_unicode_says_is_compatible(text, language):
    """Folding is idempotent, and apart from compatibility forms only marks are removed."""
    once = folded(text, language)
    assert folded(once, language) == once
    kept = folded(text, language, "keep")
    assert unicodedata.normalize("NFKC", kept).replace(" ", "") == unicodedata.normalize("NFKC", text).replace(" ", "")


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELS = '<R xmlns="r"><Relationship Id="a" Type="http://x/officeDocument" Target="word/main.xml"/></R>'


def run(text, properties=""):
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(path):
    body = (
        f"<w:p>{run('The gardener ')}<w:ins>{run('always ')}</w:ins>"
        "<w:del><w:r><w:delText>never </w:delText></w:r></w:del>"
        f"{run('came.')}<w:r><w:footnoteReference w:id='2'/></w:r><w:r><w:commentReference w:id='1'/></w:r></w:p>"
        f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('One ')}</w:p><w:p>{run('paragraph.')}</w:p>"
        f"<w:sdt><w:sdtContent><w:p>{run('A control.')}</w:p></w:sdtContent></w:sdt>"
        f"<w:tbl><w:tr><w:tc><w:p>{run('Cell')}</w:p></w:tc><w:tc><w:p>{run('Cell two')}</w:p></w:tc></w:tr></w:tbl>"
        f"<w:p>{run('Bro')}<w:r><w:softHyphen/></w:r>{run('ken,')}<w:r><w:br/></w:r>{run('non')}<w:r><w:noBreakHyphen/></w:r>"
        f"{run('stop')}{run('unseen', '<w:rPr><w:vanish/></w:rPr>')}{run('.')}<w:r>"
        f"<w:txbxContent><w:p>{run('In a box.')}</w:p>"
        "</w:txbxContent></w:r></w:p>"
    )
    part = "<w:{0} {1}><w:{2} w:id='{3}'><w:p>{4}</w:p></w:{2}></w:{0}>"
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("_rels/.rels", RELS)
        parts.writestr("word/main.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        parts.writestr("word/footnotes.xml", part.format("footnotes", W, "footnote", 2, run("A note.")))
        parts.writestr("word/comments.xml", part.format("comments", W, "comment", 1, run("A comment.")))
        parts.writestr("word/header1.xml", f"<w:hdr {W}><w:p>{run('A header')}</w:p></w:hdr>")


def odt(path):
    def element(text):
        return f"<text:p>{text}</text:p>"

    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body>{}</text:note-body></text:note>"
    comment = "<office:annotation><dc:creator>Ann</dc:creator>{}</office:annotation>"
    deleted = "<text:tracked-changes><text:changed-region><text:deletion>{}</text:deletion></text:changed-region>"
    boxes = f"<draw:text-box>{element('In a box.')}</draw:text-box>"
    body = (
        f"{deleted.format(element('never'))}</text:tracked-changes>"
        + element(f"The <text:span>gardener</text:span> always<text:s/>came.{note.format(element('A note.'))}"
                  f"{comment.format(element('A comment.'))}")
        + "<text:h>One paragraph.</text:h><text:section>" + element("A control.") + "</text:section>"
        + "".join(f"<table:table-cell>{element(text)}</table:table-cell>" for text in ("Cell", "Cell two"))
        + element(f"Bro\u00adken,<text:line-break/>non-stop.<draw:frame>{boxes}</draw:frame>")
    )  # fmt: skip
    names = " ".join(f'xmlns:{name}="{name}"' for name in ("office", "text", "draw", "table", "dc", "style"))
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("content.xml", f"<office:text {names}>{body}</office:text>")
        header = f"<style:master-page><style:header>{element('A header')}</style:header></style:master-page>"
        parts.writestr("styles.xml", f"<office:master-styles {names}>{header}</office:master-styles>")
        parts.writestr("meta.xml", f"<office:meta {names}><dc:title>A title</dc:title></office:meta>")


def rtf(path):
    path.write_bytes(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\header A header\par}The {\b gardener} always "
        rb"{\deleted never }came.{\footnote\pard A note.}{\*\annotation A comment.}\par One paragraph.\par A control."
        rb"\par\trowd\intbl Cell\cell Cell two\cell\row Bro\-ken, non-stop{\v unseen}.\par"
        rb"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt In a box.\par}}}}"
    )


@pytest.mark.parametrize("make", [docx, odt, rtf])
def test_word_processors(make, tmp_path, caplog):
    """The text is that after accepting tracked changes; notes and the like are left out, counted and read by option."""
    if make is rtf:
        pytest.importorskip("striprtf")
    path = tmp_path / f"a.{make.__name__}"
    make(path)
    lines = [
        "The gardener always came.",
        "One paragraph.",
        "A control.",
        "Cell",
        "Cell two",
        "Broken, non-stop.",
        "In a box.",
    ]
    assert next(read(path)).splitlines() == lines
    said = noted(caplog, path)
    for part in ("1 note", "1 header", "1 deletion", "1 comment"):
        assert part in said
    everything = next(read(path, include=["notes", "comments", "headers", "deletions", "hidden"]))
    for part in (*lines[1:5], "A note.", "A comment.", "A header", "never", *(["unseen"] if make is not odt else [])):
        assert part in everything


@pytest.mark.parametrize("suffix", ["docx", "odt"])
def test_notes_that_are_links(suffix, tmp_path, caplog):
    """A link to a note is its mark, and the target paragraph is the note; other links are text."""
    path = tmp_path / f"a.{suffix}"
    with zipfile.ZipFile(path, "w") as parts:
        if suffix == "docx":
            link, place = "<w:hyperlink w:anchor='{}'>{}</w:hyperlink>", "<w:bookmarkStart w:name='{}'/>"
            one, two = link.format("_ftn1", run("1")), link.format("part2", run("2"))
            rows = f"{run('In 1980')}{one}{run(' and ')}{two}", f"{place.format('_ftn1')}{run('See.')}"
            rows += (f"{place.format('part2')}{run('Part')}",)
            body = "".join(f"<w:p>{row}</w:p>" for row in rows)
            parts.writestr("_rels/.rels", RELS)
            parts.writestr("word/main.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        else:
            link, place = "<text:a xlink:href='#{}'>{}</text:a>", "<text:bookmark text:name='{}'/>"
            rows = f"In 1980{link.format('ftn1', 1)} and {link.format('part2', 2)}", f"{place.format('ftn1')}See."
            rows += (f"{place.format('part2')}Part",)
            body = "".join(f"<text:p>{row}</text:p>" for row in rows)
            parts.writestr("content.xml", f"<text:text xmlns:text='text' xmlns:xlink='xlink'>{body}</text:text>")
    assert next(read(path)).splitlines() == ["In 1980 and 2", "Part"]
    assert "left out: 1 note;" in noted(caplog, path)
    assert next(read(path, include=["notes"])).splitlines() == ["In 1980 and 2", "See.", "Part"]


@pytest.mark.parametrize("suffix", ["docx", "odt"])
def test_headings_and_interviews_of_word_processors(suffix, tmp_path, caplog):
    """Paragraphs with a heading style begin documents; the speaker labels of an interview are left out."""
    talk = [f"{who}: Answer number {k}." for k in range(3) for who in ("INTERVIEWER", "P1")]
    for name, rows in (("a", [(1, "One"), (0, "first"), (2, "Two"), (0, "second")]), ("b", [(0, row) for row in talk])):
        with zipfile.ZipFile(tmp_path / f"{name}.{suffix}", "w") as parts:
            if suffix == "docx":
                mark = "<w:pPr><w:pStyle w:val='berschrift{}'/></w:pPr>"
                body = "".join(f"<w:p>{mark.format(level) * bool(level)}{run(row)}</w:p>" for level, row in rows)
                style = "<w:style w:styleId='berschrift{0}'><w:name w:val='heading {0}'/></w:style>"
                parts.writestr("_rels/.rels", RELS)
                parts.writestr("word/main.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
                parts.writestr("word/styles.xml", f"<w:styles {W}>{style.format(1)}{style.format(2)}</w:styles>")
            else:
                head = "<text:h text:outline-level='{}'>{}</text:h>"
                body = "".join(head.format(*row) if row[0] else f"<text:p>{row[1]}</text:p>" for row in rows)
                parts.writestr("content.xml", f"<text:text xmlns:text='text'>{body}</text:text>")
    found = [(d.fields["heading"], d.text) for d in documents(tmp_path / f"a.{suffix}", documents="heading")]
    assert found == [("One", "One\nfirst\n"), ("One / Two", "Two\nsecond\n")]
    turns = [(d.fields["speaker"], d.text.strip()) for d in documents(tmp_path / f"b.{suffix}", documents="speaker")]
    assert [f"{who}: {said}" for who, said in turns] == talk
    assert f"use format='{suffix}'" in noted(caplog, tmp_path / f"b.{suffix}")
    assert next(read(tmp_path / f"b.{suffix}", format=suffix)).splitlines() == talk


def test_word_documents_as_python_docx_writes_them(tmp_path):
    """Paragraphs and cells of a document written by another library come back in order."""
    document = pytest.importorskip("docx").Document()
    document.core_properties.author = "An author"
    for text in SENTENCES.values():
        document.add_paragraph(text)
    document.add_table(2, 2).cell(1, 1).text = "last"
    document.save(tmp_path / "a.docx")
    [(text, fields)] = told(tmp_path / "a.docx")
    assert text.splitlines() == [*SENTENCES.values(), "last"]
    assert fields["author"] == "An author"


CUES = [("Ann", "Where is the *captain*?"), ("Bob", "He went\nbelow, with"), ("Bob", "the map."), ("Ann", "At 10:30?")]
SUBTITLES = {
    "srt": lambda n, who, text: f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{who.upper()}: {text}\n\n",
    "vtt": lambda n, who, text: f"id-{n}\n00:0{n}.000 --> 00:0{n}.900 align:start\n<v {who.upper()}>{text}\n\n",
    "ass": lambda _, who, text: f"Dialogue: 0,0,1,{who.upper()},,{{\\i1}}{text}\n",
}
HEADS = {
    "srt": "\ufeff",
    "vtt": "WEBVTT\n\nNOTE not\nread\n\n",
    "ass": "[Events]\nFormat: Layer, Start, End, Name, Effect, Text\n",
}


@pytest.mark.parametrize("suffix", SUBTITLES)
def test_subtitles(suffix, tmp_path):
    """The same cues are read from each format, without numbers, times and tags."""
    tags = {"srt": ("<i>", "</i>"), "vtt": ("<c.x>", "</c>"), "ass": ("{\\b1}", "{\\b0}")}[suffix]
    content = HEADS[suffix]
    for number, (who, text) in enumerate(CUES, 1):
        marked = text.replace("*", tags[0], 1).replace("*", tags[1], 1)
        written = marked.replace("\n", "\\N") if suffix == "ass" else marked
        content += SUBTITLES[suffix](number, who, written)
    path = tmp_path / f"a.{suffix}"
    path.write_text(content, encoding="utf-8")
    turns = ["Where is the captain?", "He went below, with the map.", "At 10:30?"]
    assert next(read(path)).splitlines() == turns
    assert [(t.strip(), f["speaker"]) for t, f in told(path, documents="speaker")] == [
        *zip(turns, ("ANN", "BOB", "ANN"), strict=True)
    ]


def test_columns_of_subtitles_are_those_of_events(tmp_path):
    """Without a Format line of events, the default columns are used; the Format line of styles is ignored."""
    cue = "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,Well, hello.\n"
    for number, after in enumerate(("", "[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n")):
        path = tmp_path / f"{number}.ass"
        path.write_text(cue + after)
        assert [(text, fields["speaker"]) for text, fields in told(path, documents="speaker")] == [
            ("Well, hello.\n", "Ann")
        ]


def test_subtitles_of_frames_and_sounds(tmp_path, caplog):
    """A dash begins a turn, but not a number; sounds in brackets are left out, and rolling captions are read once."""
    (tmp_path / "a.sub").write_text("{0}{25}The sum is|-1 or so.\n")
    assert next(read(tmp_path / "a.sub")) == "The sum is -1 or so.\n"
    (tmp_path / "a.sub").write_text("{0}{25}{y:i}Hello|there.\n{30}{50}- Who?|- [door slams] Me.\n")
    assert next(read(tmp_path / "a.sub")).splitlines() == ["Hello there.", "Who?", "Me."]
    assert "left out: 1 nonverbal event" in noted(caplog, tmp_path / "a.sub")
    (tmp_path / "a.vtt").write_text(
        "WEBVTT\n\n00:00.000 --> 00:02.000\n \nhello<00:00:00.500><c> my</c>\n\n00:02.000 --> 00:02.010\nhello my\n"
        " \n\n00:02.010 --> 00:04.000\nhello my\ndear<00:00:03.000><c> friend</c>\n"
    )
    assert list(read(tmp_path / "a.vtt")) == ["hello my dear friend\n"]


INTERVIEW = """INTERVIEWER: And then?

P1: The water came. [laughs] Late.

INTERVIEWER: When?

P2: At 10:30. 00:12:31

P1: Yes.
"""
GERMAN = "Interview\n\nI: Wie?\n\nB1: Es war so: kalt. (lacht)\n\nI: Aha.\n\nB1: Ja.\n\nI: Gut.\n\nB2: Nein.\n"
WHATSAPP = """[01/02/2020, 10:11:12] Ann: Hi: you
there
[01/02/2020, 10:12:12] Bob: \u200eimage omitted
[01/02/2020, 10:13:12] Ann: ok
[01/02/2020, 10:14:12] Bob: see https://x.org
"""
ANDROID = """1/2/20, 10:11 PM - Messages are encrypted.
1/2/20, 10:12 PM - Ann: Hi
1/2/20, 10:13 PM - Bob: <Media omitted>
1/2/20, 10:14 PM - Ann: At 10:30?
1/2/20, 10:15 PM - Bob: ok
"""
IRC = """[10:11] <ann> hi
[10:12] <@bob> hello ann: so?
[10:12] *** joe joins
[10:13] <ann> fine
[10:15] <@bob> ok
"""
TIMES = "00:00 Ann: So?\n00:12 Bob: No.\n01:40 Ann: Why?\n02:00 Bob: So.\n"
OTTER = "Ann  0:00\nSo?\n\nBob  0:12\nNo.\n\nAnn  0:30\nWhy?\n\nBob  0:40\nSo.\n"
SPOKEN = {
    "interview": (INTERVIEW, "transcript", "And then?/The water came. Late./When?/At 10:30./Yes."),
    "german": (GERMAN, "transcript", "Interview/Wie?/Es war so: kalt./Aha./Ja./Gut./Nein."),
    "russian": ("Интервьюер: Где?\nРеспондент: Там.\n" * 2, "transcript", "Где?/Там./Где?/Там."),
    "times": (TIMES, "transcript", "So?/No./Why?/So."),
    "otter": (OTTER, "transcript", "So?/No./Why?/So."),
    "whatsapp": (WHATSAPP, "chat", "Hi: you/there/ok/see"),
    "android": (ANDROID, "chat", "Hi/At 10:30?/ok"),
    "irc": (IRC, "chat", "hi/hello ann: so?/fine/ok"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_transcripts_and_chats(name, tmp_path, caplog):
    """Turns are read without labels, times and sounds; each is a document with its speaker, and all by option."""
    content, kind, lines = SPOKEN[name]
    path = tmp_path / "a.txt"
    path.write_text(content, encoding="utf-8")
    assert speech.kind_of(content) == kind
    assert next(read(path)).splitlines() == lines.split("/")
    assert f"read as a {kind}, because" in noted(caplog, path)
    assert next(read(path, format="text")).split() == content.split()
    speakers = [fields["speaker"] for _, fields in told(path, documents="speaker") if "speaker" in fields]
    assert len({*speakers}) > 1


def test_speakers_and_times_are_fields(tmp_path):
    """Speaker and time are known for each turn."""
    (tmp_path / "a.txt").write_text(INTERVIEW)
    turns = [(f["speaker"], f.get("time")) for _, f in told(tmp_path / "a.txt", documents="speaker")]
    assert turns == [("INTERVIEWER", None), ("P1", None), ("INTERVIEWER", None), ("P2", "00:12:31"), ("P1", None)]
    (tmp_path / "b.txt").write_text(ANDROID)
    first = told(tmp_path / "b.txt", documents="speaker")[0][1]
    assert {"speaker": "Ann", "date": "1/2/20", "time": "10:12 PM"}.items() <= first.items()


@pytest.mark.parametrize(
    "text",
    [
        "HAMLET: To be, or not to be.\n\nOPHELIA: My lord.\n\nHAMLET: Go to.\n\nOPHELIA: O help him.\n\n" * 3,
        "HAMLET. To be.\n\nOPHELIA. My lord.\n\n" * 9,
        "Shall I compare thee:\nThou art more lovely: and more temperate\nRough winds do shake:\n" * 5,
        "".join(f"Smith, J. ({1990 + n}): The title {n}. Berlin: Springer, {n}:12-34.\n" for n in range(30)),
        "Pancakes\n\nServes: 4\nTime: 00:20\n\nIngredients:\n- flour: 200 g\n\nStep 1: mix.\nStep 2: fry.\n\n" * 6,
        "Name: Ann\nAge: 3\nCity: Oslo\n\nName: Bob\nAge: 4\nCity: Rome\n\n" * 5,
        "".join(f"R{n}: The system must do {n}.\n" for n in range(30)),
        "Q: What is it?\nA: one\nB: two\nC: three\n\n" * 8,
        "".join(f"2020-01-01 10:11:{n} INFO: started\n2020-01-01 10:12:{n} ERROR: x\n" for n in range(10, 40)),
        "".join(f"{9 + n // 4}:{15 * (n % 4):02d} Talk {n}: The theme of {n}\n" for n in range(20)),
        "“Well,” he said: “come in.” The interviewer: a tall man.\n\nIt was late. He said: never.\n\n" * 9,
    ],
)
def test_what_is_no_transcript(text):
    """Plays, verse, bibliographies, recipes, lists, quizzes, logs and novels are not recognised as transcripts."""
    assert speech.kind_of(text) is None


def test_mail_without_quotes(tmp_path, caplog):
    """Quoted lines with the line above them, older messages below and signatures are left out; own text stays."""
    head = "Subject: Re\nFrom: a@b.org\nContent-Type: text/plain; charset=utf-8\n\n"
    own = "I wrote: this is mine.\n\n{}My answer.\n"
    path = tmp_path / "a.eml"
    for quoted, after, kinds in (
        ("On Mon, Feb 1, 2020 at 10:11 AM Bob <b@x.org>\nwrote:\n> old\n> text\n\n", "", "1 quotation"),
        ("> old\n", "-- \nAnn\nPhone 1\n", "1 quotation, 1 signature"),
        ("", "\nLe lun. 1 févr. 2020 à 10:11, Bob a écrit :\n\nancien\n", "1 quotation"),
        ("", "\n-----Ursprüngliche Nachricht-----\nVon: Bob\n\nalt\n", "1 quotation"),
        ("", "\nFrom: Bob\nSent: Monday\nTo: Ann\nSubject: old\n\nold\n", "1 quotation"),
    ):
        path.write_text(head + own.format(quoted) + after, encoding="utf-8")
        assert next(read(path)).split() == own.format("").split()
        assert f"left out: {kinds};" in noted(caplog, path)
        assert "My answer." in next(read(path, include=["quotes", "signatures"]))


def test_mail_in_an_unknown_encoding(tmp_path):
    """The encoding of a message is detected if the declared encoding does not exist."""
    text = f"{SENTENCES['ru']}\n"
    (tmp_path / "a.eml").write_bytes(b"Content-Type: text/plain; charset=X-UNKNOWN\n\n" + text.encode("koi8-r"))
    assert next(read(tmp_path / "a.eml")) == text


def test_headers_of_several_lines():
    """All lines that recur at the edges of pages are left out, such as the line numbers of proofs."""
    file = File("a.pdf", io.BufferedReader(io.BytesIO()), Reading(), decoding=Decoding())
    body = [[f"{word} line {n}" for n in ("one", "two", "three", "four")] for word in ("first", "second", "third")]
    pages = [["THE BOOK", *page, *map(str, range(1, 9)), f"Page {at}"] for at, page in enumerate(body)]
    assert [page.split("\n") for page in office._without_edges(file, pages)] == body
    assert file.left_out["headers"] == 3 * 10


def test_project_gutenberg(tmp_path, caplog):
    """Only the text between the START and END lines is read, and the title is known."""
    story = "It was late.\n\nThe end.\n"
    (tmp_path / "a.txt").write_text(
        "The Project Gutenberg eBook of A Tale\n\nTitle: A Tale\n\nAuthor: Nobody\n\n*** START OF THE PROJECT GUTENBERG"
        f" EBOOK A\nTALE ***\n\n\n{story}\n\nEnd of the Project Gutenberg EBook of A Tale\n\n"
        "*** END OF THIS PROJECT GUTENBERG EBOOK A TALE ***\n\nUnited States\n"
    )
    assert told(tmp_path / "a.txt") == [(story, {"title": "A Tale", "author": "Nobody"})]
    assert "left out: 2 boilerplate sections" in noted(caplog, tmp_path / "a.txt")
    assert "United States" in next(read(tmp_path / "a.txt", include=["boilerplate"]))
    (tmp_path / "a.txt").write_text(  # before 2003
        "The Project Gutenberg Etext of A Tale\n\n***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***\n\n"
        f"Why?\n*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n{story}\n"
        "End of Project Gutenberg's A Tale\n"
    )
    assert told(tmp_path / "a.txt") == [(story, {})]


def test_json(tmp_path, caplog):
    """JSON lines, an array, and a list in one object give the same documents, also for nested fields."""
    records = [{"id": n, "user": {"text": f"Text {n} &amp; so https://t.co/a1 #b @c 👍🏽"}} for n in range(3)]
    texts = [(f"Text {n} & so #b @c 👍🏽", {"id": str(n)}) for n in range(3)]
    for content in (
        "\n".join(map(json.dumps, records)),
        json.dumps(records, indent=1),
        json.dumps({"meta": {"n": 3}, "data": records}, indent=1),
    ):
        (tmp_path / "a.json").write_text(content)
        assert told(tmp_path / "a.json", field="user.text") == texts
        assert "left out: 3 links" in noted(caplog, tmp_path / "a.json", field="user.text")
    (tmp_path / "a.json").write_text(json.dumps(records[1]))
    assert told(tmp_path / "a.json", field="user.text") == texts[1:2]
    (tmp_path / "a.json").write_text(json.dumps({"parts": [{"text": "a"}, {"text": "b"}], "tags": ["x"]}))
    assert [text for text, _ in told(tmp_path / "a.json", field="parts.text")] == ["a", "b"]
    (tmp_path / "a.json").write_text('{"a": 1')
    with pytest.raises(InputError, match="is not valid JSON"):
        list(read(tmp_path / "a.json", field="a"))


def test_rows_of_csv_are_mended_or_skipped(tmp_path):
    """Separators in a text at the end of a row belong to it; other rows that are too long are skipped and shown."""
    (tmp_path / "a.csv").write_text('id,text\n1,"a, b"\n2,the 5" screen, too\n3,c\n')
    with pytest.warns(InputWarning, match="1 row with stray quotation marks or separators read as text"):
        assert list(read(tmp_path / "a.csv", field="text")) == ["a, b", 'the 5" screen, too', "c"]
    with pytest.raises(InputError, match="line 3: expected 2 cells; got 3"):
        list(read(tmp_path / "a.csv", field="text", errors="strict"))
    (tmp_path / "a.csv").write_text("text,id\na,1\nb, c,2\nd,3\n")
    with pytest.warns(InputWarning, match=r"skipped 1 of 4 rows \(line 3: expected 2 cells; got 3\)"):
        assert list(read(tmp_path / "a.csv", field="text")) == ["a", "d"]


def test_sheets_and_labels(tmp_path, caplog):
    """All sheets of an Excel file that have the column are read; labels of fastText are fields."""
    book = pytest.importorskip("openpyxl").Workbook()
    for title, rows in (("One", [["id", "text"], [1, "a"]]), ("Two", [["text"], ["b"]]), ("Notes", [["who"], ["c"]])):
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.remove(book.worksheets[0])
    book.save(tmp_path / "a.xlsx")
    assert told(tmp_path / "a.xlsx", field="text") == [("a", {"sheet": "One", "id": "1"}), ("b", {"sheet": "Two"})]
    assert "sheets without a column 'text' were not read: 'Notes'" in noted(caplog, tmp_path / "a.xlsx", field="text")
    assert told(tmp_path / "a.xlsx", field="text", sheet="Two") == [("b", {})]
    (tmp_path / "a.txt").write_text("__label__pos __label__en A nice film.\n__label__neg No.\n")
    assert told(tmp_path / "a.txt") == [("A nice film.", {"label": "pos en"}), ("No.", {"label": "neg"})]


def test_pages_of_pdf(tmp_path, caplog):
    """Lines and numbers at the edges of pages are left out, and words that are hyphenated at line ends are joined."""
    pytest.importorskip("pypdf")
    plt = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.backends.backend_pdf import PdfPages

    months = ("spring", "summer", "autumn", "winter")
    lines = ["The committee met in {} to discuss the ques-", "tion of the harbour and the price of fish that"]
    file = io.BytesIO()
    with plt.rc_context({"pdf.fonttype": 42}), PdfPages(file) as pdf:
        for page in range(4):
            figure = plt.figure(figsize=(6, 3))
            texts = [
                "Journal of Harbours",
                lines[0].format(months[page]),
                lines[1],
                f"rises in {months[page]}.",
                f"{page + 7}",
            ]
            for number, line in enumerate(texts):
                figure.text(0.05, 0.9 - number / 8, line)
            pdf.savefig(figure)
            plt.close(figure)
    (tmp_path / "a.pdf").write_bytes(file.getvalue())
    sentence = (
        "The committee met in {0} to discuss the question of the harbour and the price of fish that rises in {0}."
    )
    assert " ".join(next(read(tmp_path / "a.pdf")).split()) == " ".join(map(sentence.format, months))
    assert "left out: 8 headers" in noted(caplog, tmp_path / "a.pdf")

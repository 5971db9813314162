r"""Readers for subtitles, transcripts of interviews, and chats, with the speaker of each turn.

A file without a telling suffix is a *chat* if many lines begin with a time and a name that occurs again, and a
*transcript* if at least half of its paragraphs begin with labels that occur again and again, some of them as only
transcripts have them ("INTERVIEWER:", "P1:", "Q:", a time). Plays, whose labels are names, are not recognised, nor are
lists of records, whose labels follow one another in one order.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.text.formats.plain import is_wrapped, text_pieces, unwrapped, without_links

if TYPE_CHECKING:
    from polyadic.text.formats.plain import Part
    from polyadic.text.pieces import File, Piece

MIN_TURNS = 4  # number of turns from which a file is recognised
MIN_OFTEN = 1.5  # mean number of turns of a speaker from which labels are those of speakers

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[.,]\d{1,3})?(?:[\s\u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[./-](?:\d{1,2}|[A-Za-z]{3})[./-]\d{1,4}"
_MESSAGE = re.compile(
    rf"""^[\u200e\ufeff]*
    (?: (?P<bracket>\[)(?:(?P<date>{_DATE})[,T]?\s+)?(?P<time>{_TIME})\]\s*
      | (?P<date2>{_DATE})[,T]?\s+(?P<time2>{_TIME})\s+(?:[-–]\s+)?
      | (?P<time3>{_TIME})\s+(?:From\s+|(?=<\S))
      | (?=<\S) )
    (?: <[ @+%&~]?(?P<nick>[^>\s]{{1,40}})>\s
      | (?P<name>[^\s:<\]*-][^:\n\]]{{0,50}}?)[ \t]*(?(bracket)(?::[ \t]|:?$)|:(?:[ \t]|$))
      | (?P<event>(?=[^\s:]).*$) )""",
    re.MULTILINE | re.VERBOSE,
)
"""First line of a message: WhatsApp, Discord, Zoom and IRC."""
_TURN = re.compile(
    rf"""^[ \t\ufeff]*(?:[\[(]?(?P<time>{_TIME})[\])]?[ \t]+)?
    (?P<name>[^\W\d_][\w.’'-]*(?:[ ][\w.’'()-]+){{0,3}}?)
    (?:(?:[ ]?[\[(](?P<time2>{_TIME})[\])])?:(?:[ \t]+|$)|[ ]{{1,3}}(?P<time3>{_TIME})[ \t]*$)""",
    re.MULTILINE | re.VERBOSE,
)
"""Beginning of a turn in a transcript."""
_GENERIC = re.compile(
    r"""[A-Z]{1,3}[ ]?\d{1,3} | [QARI] | (?i: (?:int|mod|res) | (?:interviewe|interviewt|moderat|speaker|participant
    |respondent|researcher|facilitator|investigator|befragte|sprecher|teilnehmer|enquêt|locut|entrevista|hablante
    |intervista|респондент|интервьюер|участни|badacz|respondent|görüşmeci|katılımcı)\w* (?:[ ]\w{1,3})? )""",
    re.VERBOSE,
)
"""Labels that only transcripts have."""
_EVENT = re.compile(
    r"""\(\([^()\n]{1,80}\)\) | \[[^\[\]\n]{1,80}\] | <[^<>\n]{1,40}>
    | \((?:\d+(?:[.,]\d+)?s?|(?i:long[ ]|short[ ])?(?i:pause|laugh|chuckle|sigh|cough|inaudible|unclear|crosstalk
    |silence|applause|lacht|lachen|seufzt|hustet|räuspert|unverst|rire|rit\b|soupir|risas|ríe|risate|ride\b|смех|сме[её]тся|пауза
    |śmiech|gülüyor)[^()\n]{0,30})\)""",
    re.VERBOSE,
)
"""Sounds, pauses and remarks in a transcript."""
_STAMP = re.compile(
    rf"[\[(]{_TIME}[\])]|(?<![\w:.])\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,3}})?(?![\w:])"
    r"|^[ \t]*\d{1,2}:\d{2}\b[ \t]*|[ \t]\d{1,2}:\d{2}[ \t]*$",
    re.MULTILINE,
)
_LEVEL = re.compile("INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL")  # of messages in the log of a program


def kind_of(text: str) -> str | None:
    """Return "chat" or "transcript" if the beginning of a file is recognised as one, otherwise None."""
    written = sum(1 for line in text.split("\n") if line.strip())
    messages = [match for match in _MESSAGE.finditer(text) if match["nick"] or match["name"]]
    if _are_turns([_speaker(match) for match in messages]) and len(messages) * 5 >= written:
        return "chat"
    turns = [*_TURN.finditer(text)]
    labels = [_speaker(match) for match in turns]
    blocks = sum(1 for block in re.split(r"\n[ \t]*\n", text) if block.strip())
    generic = sum(1 for name in labels if _GENERIC.fullmatch(name))
    timed = sum(1 for match in turns if _time(match))
    following = {*pairwise(labels)}
    in_order = len({*labels}) > 2 and len(following) == len({label for label, _ in following})
    marked = generic * 4 >= len(labels) or timed * 2 >= len(labels)
    often = len(turns) * 2 >= min(blocks, written)
    return "transcript" if marked and often and not in_order and _are_turns(labels) else None


def _are_turns(names: list[str]) -> bool:
    """Return whether several names recur as labels."""
    known = Counter(names)
    several = len(known) > 1 and len(names) >= MIN_TURNS and not any(map(_LEVEL.fullmatch, known))
    return several and len(names) >= MIN_OFTEN * len(known)


def _speaker(match: re.Match[str]) -> str:
    groups = match.groupdict()
    name = groups.get("nick") or groups.get("name") or ""
    return " ".join(name.removesuffix(" to Everyone").split())


def _time(match: re.Match[str]) -> str:
    return next((text for name, text in match.groupdict().items() if name.startswith("time") and text), "")


def read_turns(file: File, *, events: bool) -> Iterator[Piece]:
    """Read a transcript, or a chat unless ``events``, without labels and times; speakers become metadata.

    Remarks in transcripts, such as sounds in brackets, are left out.
    """
    text = "".join(file.texts())
    wrapped = (events and is_wrapped(text)) if file.reading.wrapped is None else file.reading.wrapped
    yield from _turns(file, text, events=events, wrapped=wrapped)


def document_pieces(file: File, parts: list[Part], form: str, fields: Mapping[str, str]) -> Iterator[Piece]:
    """Yield the text of a document, or the turns if the document is recognised as a transcript or a chat."""
    text = "".join(part for part in parts if isinstance(part, str))
    if file.reading.format == "auto" and (kind := kind_of(text.replace("\n", "\n\n"))):  # a line is a paragraph
        file.left_out[f"{kind} {form}"] += 1
        yield from _turns(file, text, events=kind == "transcript", wrapped=False, known=fields)
    else:
        yield from text_pieces(parts, wrapped=False, fields=fields)


def _turns(
    file: File, text: str, *, events: bool, wrapped: bool, known: Mapping[str, str] | None = None
) -> Iterator[Piece]:
    """Yield the turns of a transcript or the messages of a chat."""
    matches = [*(_TURN if events else _MESSAGE).finditer(text)]
    names = Counter(map(_speaker, matches))
    if events:  # "He said this: ..." is not a label
        matches = [
            m for m in matches if names[n := _speaker(m)] > 1 or _GENERIC.fullmatch(n) or n.isupper() or _time(m)
        ]

    def parts() -> Iterator[str | Mapping[str, str]]:
        ends = [*(match.start() for match in matches), len(text)]
        yield _spoken(file, text[: ends[0]], wrapped=wrapped, events=False)[0]
        for match, end in zip(matches, ends[1:], strict=True):
            groups = match.groupdict()
            said, first = _spoken(file, text[match.end() : end], wrapped=wrapped, events=events)
            time = _time(match)
            stamp = f"{time} " if time and not file.leaves_out("timestamps") else ""
            name, event = _speaker(match), groups.get("event") or ""
            event = "" if event and file.leaves_out("events") else event
            fields = {"speaker": name, "date": groups.get("date") or groups.get("date2") or "", "time": time or first}
            yield {key: value for key, value in fields.items() if value or key == "speaker"}
            label = f"{name}: " if name and not file.leaves_out("speakers") else ""
            row = f"{stamp}{label}{event}{said}"
            yield row if row.endswith("\n") or not row else f"{row}\n"

    yield from text_pieces(parts(), wrapped=False, fields=known)


def _spoken(file: File, text: str, *, wrapped: bool, events: bool) -> tuple[str, str]:
    """Return the spoken text of a turn, and its first time stamp."""
    time = ""
    text = without_links(file, unwrapped(text) if wrapped else text)
    if not events and re.match(r"\s*(?:\u200e|<[^<>\n]+>\s*$)", text) and file.leaves_out("events"):
        return "", ""  # "<Media omitted>"
    if events:
        if (stamps := _STAMP.findall(text)) and file.leaves_out("timestamps", len(stamps)):
            time, text = stamps[0].strip("[]() \t"), _STAMP.sub(" ", text)
        if (remarks := _EVENT.findall(text)) and file.leaves_out("events", len(remarks)):
            text = _EVENT.sub(" ", text)
    rows = (re.sub(r"[ \t]+(?=[,.;:!?])", "", " ".join(row.split())) for row in text.split("\n"))
    return "".join(f"{row}\n" for row in rows if row), time


_TIMING = re.compile(r"\s*(?:\d+:)?\d+:\d+[.,:\d]*\s*-->|(?:\d+:\d\d:\d\d\.\d+,?){2}\s*$")  # the latter is SubViewer's
_TAG = re.compile(
    r"</?(?:[ibusvc]|font|ruby|lang|br)\b[^<>]*>|<rt>.*?</rt>|<\d[\d:.,]*>|\{(?:\\|[yYfFcCsSoP]:)[^{}]*\}|[♪♫]"
)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]+)>")
_DASH = r"(?:[-–—‐](?=[ ]\S|[^\s\d])|>>+)[ ]?"  # "-1" is a number
_LABEL = r"[A-ZÀ-ÞА-ЯЁ][A-ZÀ-ÞА-ЯЁ0-9 .'’#-]{1,30}:[ ]+(?=\S)"
_BEGINS = re.compile(rf"(?:{_DASH})?(?P<label>{_LABEL})?")
_EVENT_COLUMNS = "Layer,Start,End,Style,Name,MarginL,MarginR,MarginV,Effect,Text"  # if there is no Format line
_ENDED = re.compile(r"[.!?…。！？؟।][\"'”’»)\]]*$")


def read_subtitles(file: File) -> Iterator[Piece]:
    """Read subtitles (.srt, .vtt, .ass, .ssa, .sub) without numbers, times and tags; cues are joined to sentences.

    A dash or a name in capitals at the beginning of a line begins a new turn; names become metadata.
    """
    source = re.sub(r"<br ?/?>|\[br\]", " ", "".join(file.texts()))
    rolling = re.search(r"<\d\d:\d\d:\d\d[.,]\d+>", source) is not None  # each line is repeated in the next cue
    cues = _cues(source)
    if not cues and source.strip():
        raise InputError(f"{file.name} contains no subtitle times; if it is plain text, use format='text'", "format")
    named = sum(1 for _, cue in cues if _TURN.match(_TAG.sub("", cue))) * 2 > len(cues)
    begins = _TURN if named else _BEGINS

    def parts() -> Iterator[str | Mapping[str, str]]:
        row, last, speaking = "", "", ""
        for name, cue in cues:
            lines = [" ".join(html.unescape(_TAG.sub("", line)).split()) for line in cue.split("\n")]
            lines = [line for before, line in pairwise([last, *lines]) if not (rolling and line == before)]
            last = lines[-1] if lines else last
            for text in re.split(rf"\n(?={_DASH}|{_LABEL})", "\n".join(lines)):
                said = " ".join(text.split())
                if (events := _EVENT.findall(said)) and file.leaves_out("events", len(events)):
                    said = " ".join(_EVENT.sub(" ", said).split())
                if re.fullmatch(rf"(?:{_DASH})?\([^()]+\)", said) and file.leaves_out("events"):
                    continue
                mark = begins.match(said)
                speaker = (mark and mark[mark.re.groupindex["name" if named else "label"]]) or ""
                speaker = " ".join((speaker or name).strip(" :").split())
                begun = bool(mark and mark.end())
                new = (begun and not speaker) or (bool(speaker) and speaker != speaking)
                if row and (new or _ENDED.search(row)):
                    yield f"{row}\n"
                    row = ""
                said = said[mark.end() :] if mark else said
                if new and speaker != speaking:
                    yield {"speaker": speaker}
                    speaking = speaker
                if new and speaker and not file.leaves_out("speakers"):
                    said = f"{speaker}: {said}"
                row = f"{row} {said}".strip()
        yield f"{row}\n" if row else ""

    yield from text_pieces(parts(), wrapped=False)


def _cues(source: str) -> list[tuple[str, str]]:
    """Return the speaker, if it is known, and the text of each cue."""
    lines = source.lstrip("\ufeff").split("\n")
    if spoken := [line[9:] for line in lines if line.startswith("Dialogue:")]:
        heads = [line[7:] for line in lines if re.match(r"Format:.*\bText\b", line)]  # others describe styles
        names = [name.strip() for name in (heads or [_EVENT_COLUMNS])[-1].split(",")]
        cells = [dict(zip(names, row.split(",", len(names) - 1), strict=False)) for row in spoken]
        return [
            (cell.get("Name", cell.get("Actor", "")), re.sub(r"\\[Nn]", "\n", text.replace("\\h", " ")))
            for cell in cells
            if not re.search(r"\{[^}]*\\p[1-9]", text := cell.get("Text", ""))  # a drawing
        ]
    if numbered := [match[1] for line in lines if (match := re.match(r"(?:\{\d+\}\{\d*\}|\[\d+\]\[\d*\])(.*)", line))]:
        return [("", text.replace("|", "\n")) for text in numbered]
    cues: list[list[str]] = []
    inside = False
    for before, line in pairwise(["", *lines]):
        if _TIMING.match(line):
            if inside and before.strip() and (before.strip().isdecimal() or cues[-1][-2:-1] == [""]):
                cues[-1].pop()  # the number or the name of this cue
            cues.append([])
            inside = True
        elif not before.strip() and re.match(r"(?:NOTE|STYLE|REGION)\b", line):
            inside = False
        elif inside:
            cues[-1].append(line.strip())
    parts = (part for cue in cues for part in re.split(r"\n?(?=<v[ .])", "\n".join(filter(None, cue))) if part)
    return [(voice[1] if (voice := _VOICE.match(part)) else "", part) for part in parts]

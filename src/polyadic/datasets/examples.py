"""Small example files for every command, written by ``polyadic example``.

A book and facts about European countries are included in the package; tables, strings and lists are derived from them.
Ratings and Latin and English sentences are synthetic, as their descriptions say.

References
----------
Doyle (1892), The adventures of Sherlock Holmes; in the public domain. Fisher (1940), The precision of discriminant
functions: eye and hair colours of 5,387 children of Caithness.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise

import numpy as np

from polyadic.core.files import whole_folder, write_meta
from polyadic.datasets.grammars import Word, conllu, english_tree, latin_sentence, plain

KIND, VERSION = "examples", 1
FOLDER = files(__package__) / "files"
PARAGRAPH = 25  # minimum number of words of a paragraph that is used as a document
READERS, READ = 200, 9
GROUPS = {
    "family": ("father mother brother sister daughter wife uncle husband", "cab lamp snow"),
    "body": ("hand hands face eyes head arm lips finger hair feet", "train letter money"),
    "house": ("door window room lamp chair bed stairs floor", "marriage doctor river"),
    "time": ("day night morning evening week hour month year", "stone horse coat"),
}
"""Related words of the book, and words unrelated to each group, chosen by hand."""
SENTENCES, TESTED = 400, 80
"""Number of Latin sentences for training and for testing."""
PHRASED, PHRASED_MORE = 150, 50
"""Number of English sentences for training and for testing."""
SPELLED, LISTED = 3_000, 500
"""Number of words of the book in ``letters.txt``, and of lists of spellings."""
FILES = {
    "holmes/": "twelve stories of Sherlock Holmes, one file each",
    "groups/": "groups of related words of the stories, with outliers, to evaluate word vectors",
    "stories.csv": "paragraphs of the stories with their titles; paragraphs.txt: without titles",
    "marks.csv": "paragraphs without punctuation, and which of three marks they had; marks-test.csv: for testing",
    "letters.txt": "words of the stories as sequences of letters",
    "eyes.csv": "table of counts: eye and hair colours of 5,387 children",
    "ratings.csv": "synthetic ratings of novels by 200 readers; new-ratings.csv: more; new.csv: pairs to predict",
    "library.toml": "description of coupled tables: the ratings, and kinds and authors of the novels (novels.csv)",
    "ratings.libfm": "the ratings as feature vectors, for training; valid.libfm: for validation",
    "facts.tsv": "facts about European countries, for training; valid.tsv, test.tsv: for validation and testing",
    "pairs.tsv": "all these facts as subject, object and predicate; rules.txt: rules about them",
    "latin.conllu": "synthetic Latin dependency trees; latin-test.conllu: for testing; latin.txt: their plain text",
    "roles.conllu": "the same sentences with semantic roles; roles-test.conllu: for testing",
    "phrases.mrg": "synthetic English constituency trees; phrases-test.mrg: for testing; phrases.txt: their plain text",
    "spellings.jsonl": "lists of a word and its misspellings, to rerank; test.jsonl: for testing",
}
"""Descriptions of the files."""


def write_examples(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write all example files to a folder atomically."""
    rng = np.random.default_rng(1892)
    with whole_folder(folder, kind=KIND, overwrite=overwrite) as draft:
        stories = dict(holmes())
        groups = {name: [*words.split(), "", *others.split(), ""] for name, (words, others) in GROUPS.items()}
        texts = {f"groups/{name}.txt": "\n".join(lines) for name, lines in groups.items()}
        for number, (title, story) in enumerate(stories.items(), 1):
            texts[f"holmes/{number:02} {title}.txt"] = story
        words = re.findall("[a-z]+", " ".join(stories.values()).lower())
        ratings = [*_ratings(rng)]
        facts = _facts(rng)
        learned, held = _held_out(facts)
        sentences = [latin_sentence(rng) for _ in range(SENTENCES + TESTED)]
        lists = [_spellings(word, rng) for word in _some(words, 2 * LISTED, rng, min_length=6)]
        phrases = [english_tree(np.random.default_rng(at)) for at in range(PHRASED + PHRASED_MORE)]
        texts |= {name: _carried(name) for name in ("eyes.csv", "novels.csv", "library.toml", "rules.txt")} | {
            "stories.csv": _table("story", "text", rows=_paragraphs(stories)),
            "paragraphs.txt": "".join(f"{text}\n" for _, text in _paragraphs(stories)),
            "marks.csv": _marks(stories, lambda at: at % 4 < 3),
            "marks-test.csv": _marks(stories, lambda at: at % 4 == 3),
            "letters.txt": "".join(f"{' '.join(word)}\n" for word in _some(words, SPELLED, rng)),
            "ratings.csv": _table("reader", "novel", "stars", rows=ratings),
            "new-ratings.csv": _table("reader", "novel", "stars", rows=[("you", "Emma", 5), ("you", "Dracula", 2)]),
            "new.csv": _table("reader", "novel", rows=(("reader 1", title) for title in _novels()[0])),
            "ratings.libfm": _features(ratings[::5] + ratings[1::5] + ratings[2::5] + ratings[3::5]),
            "valid.libfm": _features(ratings[4::5]),
            "facts.tsv": _lines(learned),
            "valid.tsv": _lines(held[::2]),
            "test.tsv": _lines(held[1::2]),
            "pairs.tsv": _lines((subject, object_, predicate) for subject, predicate, object_ in facts),
            "latin.conllu": _trees(sentences[:SENTENCES], roles=False),
            "latin-test.conllu": _trees(sentences[SENTENCES:], roles=False),
            "roles.conllu": _trees(sentences[:SENTENCES], roles=True),
            "roles-test.conllu": _trees(sentences[SENTENCES:], roles=True),
            "latin.txt": "".join(plain(sentence) + "\n" for sentence in sentences[SENTENCES:]),
            "phrases.mrg": "".join(f"{phrase}\n" for phrase in phrases[:PHRASED]),
            "phrases-test.mrg": "".join(f"{phrase}\n" for phrase in phrases[PHRASED:]),
            "phrases.txt": "".join(" ".join(phrase.words()) + "\n" for phrase in phrases[PHRASED:]),
            "spellings.jsonl": "".join(lists[:LISTED]),
            "test.jsonl": "".join(lists[LISTED:]),
        }
        for name, text in texts.items():
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8", newline="")
        write_meta(draft, KIND, VERSION, files=FILES)


def holmes() -> Iterator[tuple[str, str]]:
    """Yield the title and text of each Sherlock Holmes story in the included book."""
    book = lzma.decompress((FOLDER / "holmes.txt.xz").read_bytes()).decode()
    for story in book.removeprefix("# ").split("\n# "):
        title, _, text = story.partition("\n\n")
        yield title, text


def _carried(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _paragraphs(stories: dict[str, str]) -> Iterator[tuple[str, str]]:
    for title, story in stories.items():
        for paragraph in story.split("\n\n"):
            if len(paragraph.split()) >= PARAGRAPH:
                yield title, " ".join(paragraph.split())


def _marks(stories: dict[str, str], among: Callable[[int], bool]) -> str:
    """Return a table of paragraphs with a column for each mark: whether the paragraph has it."""
    texts = [text for at, (_, text) in enumerate(_paragraphs(stories)) if among(at)]
    rows = ((re.sub("[^a-z]+", " ", text.lower()).strip(), *(int(mark in text) for mark in '?!"')) for text in texts)
    return _table("text", "question", "exclamation", "quotation", rows=rows)


def _some(words: Sequence[str], number: int, rng: np.random.Generator, *, min_length: int = 1) -> list[str]:
    """Sample distinct words with at least ``min_length`` letters."""
    return rng.choice(sorted({word for word in words if len(word) >= min_length}), number, replace=False).tolist()


def _spellings(word: str, rng: np.random.Generator) -> str:
    """Return a JSON line with the correct spelling and misspellings of a word, with letter bigrams as features."""
    others = {word}
    for at in rng.permutation(len(word) - 1).tolist():
        others.add(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    candidates = [
        {"text": each, "cost": float(each != word), "features": [a + b for a, b in pairwise(f"^{each}$")]}
        for each in rng.permutation(sorted(others)).tolist()
    ]
    return json.dumps({"id": word, "candidates": candidates}) + "\n"


def _novels() -> tuple[tuple[str, ...], ...]:
    """Return the titles, authors and kinds of the novels."""
    return tuple(zip(*(line.split(",") for line in _carried("novels.csv").splitlines()[1:]), strict=True))


def _ratings(rng: np.random.Generator) -> Iterator[tuple[str, str, int]]:
    """Generate ratings of novels by readers who differ in preferred genres and in mean rating."""
    titles, _, kinds = _novels()
    names = sorted(set(kinds))
    better = rng.normal(0, 0.5, len(titles))
    for reader in range(1, READERS + 1):
        likes, generous = rng.normal(0, 1.2, len(names)), rng.normal(0, 0.5)
        for novel in sorted(rng.choice(len(titles), READ, replace=False).tolist()):
            stars = 3.2 + generous + better[novel] + likes[names.index(kinds[novel])] + rng.normal(0, 0.5)
            yield f"reader {reader}", titles[novel], int(np.clip(round(stars), 1, 5))


def _features(ratings: Iterable[tuple[str, str, int]]) -> str:
    """Return ratings in libFM format, with the reader and the novel as features."""
    titles = _novels()[0]
    return "".join(
        f"{stars} {int(reader.split()[1]) - 1}:1 {READERS + titles.index(novel)}:1\n"
        for reader, novel, stars in ratings
    )


def _facts(rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Return facts about European countries as (subject, relation, object) triples in random order."""
    facts = []
    for line in _carried("europe.tsv").splitlines():
        if line.startswith("#"):
            continue
        country, capital, languages, neighbours, member = line.split("\t")
        facts += [(country, "capital", capital), (capital, "lies_in", country)]
        facts += [(country, "language", language) for language in languages.split(", ")]
        facts += [(country, "borders", other) for other in neighbours.split(", ") if other]
        facts += [(country, "member_of", "European Union")] if member == "yes" else []
    return [facts[k] for k in rng.permutation(len(facts))]


def _held_out(facts: list[tuple[str, str, str]]) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Hold out a fifth of the facts, choosing facts whose entities also occur in the training set."""
    known = Counter(end for subject, _, object_ in facts for end in (subject, object_))
    learned: list[tuple[str, str, str]] = []
    held: list[tuple[str, str, str]] = []
    for fact in facts:
        if len(held) < len(facts) // 5 and min(known[fact[0]], known[fact[2]]) > 1:
            held.append(fact)
            known.subtract((fact[0], fact[2]))
        else:
            learned.append(fact)
    return learned, held


def _trees(sentences: Iterable[Sequence[Word]], *, roles: bool) -> str:
    return "".join(conllu(words, roles=roles) for words in sentences)


def _lines(facts: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(fact) + "\n" for fact in facts)


def _table(*headings: str, rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()

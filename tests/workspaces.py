"""Small workspaces with planted structure: two kinds of documents, and one word with a sense in each."""

import csv
import random

from polyadic.explore.workspace import Workspace

KINDS = {
    "river": (["water boat fish reed", "mud sand stone wave", "deep wide cold green"], "shore"),
    "money": (["loan cash coin debt", "tax rent wage fee", "rich poor high low"], "purse"),
}
HOSTILE = [
    ("=cmd()", "=1+1 bank @x -y +z"),
    (
        "<script>document.body.id='hacked'</script>",
        "<b>bold</b> & <img src=x onerror=\"document.body.id='hacked'\"> bank",
    ),
    (
        "'\"><svg onload=document.body.id='hacked'>",
        "bank 'quoted' \"doubly\" </script><script>document.body.id='hacked'</script>",
    ),
    ("שלום עולם", "שלום bank עולם וגם مرحبا بالعالم"),
    ("Z̸̡̛̲a̴l̵g̶o̷", "e\u0301a\u0308o\u0302 bank 👩‍👩‍👧‍👦 🏳️‍🌈 𝒳𝒴"),
    ("long", f"bank {'w' * 3_000} {'v' * 10_000}"),
]


def words_of(kind):
    """Give all the words of a kind, its substitute for ``bank`` among them."""
    groups, other = KINDS[kind]
    return {*" ".join(groups).split(), other}


def documents(number=40, seed=0):
    """Give rows (text, kind) of documents, each of eight sentences of four words of its kind."""
    rng = random.Random(seed)
    rows = []
    for kind, (groups, other) in KINDS.items():
        for _ in range(number):
            sentences = []
            for _ in range(8):
                some = [rng.choice(group.split()) for group in groups]
                some.insert(rng.randrange(4), rng.choice(["bank", "bank", other]))
                sentences.append(f"{' '.join(some).capitalize()}.")
            rows.append((" ".join(sentences), kind))
    return rows


def write(file, rows, names=("text", "kind")):
    """Write a table of documents."""
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([names, *rows])
    return file


SETTINGS = {"field": "text", "language": "en", "stop_words": "none", "threads": 1, "rank": 8}


def planted(folder):
    """Make a workspace of planted documents."""
    return Workspace.build(write(folder / "texts.csv", documents()), folder / "workspace", **SETTINGS)


def hostile(folder):
    """Make a workspace whose text and titles are markup, and other things that break pages."""
    rows = [(text, title, kind) for title, text in HOSTILE for kind in ("a", "</script>") for _ in range(8)]
    file = write(folder / "hostile.csv", rows, ("text", "title", "kind"))
    return Workspace.build(file, folder / "hostile", field="text", language="en", stop_words="none", threads=1)

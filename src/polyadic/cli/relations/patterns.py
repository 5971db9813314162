"""``polyadic relations patterns``: what parsed text says of pairs of entities."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.errors import InputError

Parsed = Annotated[
    list[str], typer.Argument(metavar="SOURCE...", help="CoNLL-U files; with --parse files, folders or globs of text.")
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FACTS", help="The file of facts to write.")]
Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The key in MISC that marks mentions; runs of proper nouns by default."),
]
Pipeline = Annotated[
    str | None,
    typer.Option("--parse", metavar="NAME", help="Parse text by this pipeline of spaCy, such as en_core_web_sm."),
]
Least = Annotated[int, typer.Option("--min-count", min=1, help="Leave out patterns of fewer pairs.")]


def patterns(
    sources: Parsed,
    *,
    out: Out,
    parse: Pipeline = None,
    key: Key = None,
    min_count: Least = 1,
    as_json: o.AsJson = False,
) -> None:
    """Write the paths between two names in a sentence, and the words between them, as facts about the two."""
    from collections import Counter

    from polyadic.files import whole_file
    from polyadic.text.readers import read
    from polyadic.text.relations.patterns import pattern_triples
    from polyadic.text.syntax import parsing
    from polyadic.text.syntax.trees import read_trees

    if parse is None:
        trees: Any = (tree for source in sources for tree in read_trees(source))
    else:
        texts = (str(document) for source in sources for document in read(source))
        trees = parsing.parse(texts, pipeline=parse)
        key = key or "Entity"
    facts = dict.fromkeys(pattern_triples(trees, key=key))
    pairs = Counter(pattern for *_, pattern in facts)
    kept = [fact for fact in facts if pairs[fact[2]] >= min_count]
    if not kept:
        found = "no two names in a sentence" if not facts else f"no pattern of {min_count} pairs; lower --min-count"
        raise InputError(f"{', '.join(sources)}: {found}")
    with whole_file(out) as draft:
        draft.write_text("".join("\t".join(fact) + "\n" for fact in kept), encoding="utf-8")
    told = {"pairs": len({fact[:2] for fact in kept}), "patterns": len({fact[2] for fact in kept}), "facts": len(kept)}
    if not as_json:
        show.table([*told], [tuple(told.values())])
    hint = f"polyadic relations train {out} --out model --method universal"
    show.wrote(out, told, as_json=as_json, hint=hint)

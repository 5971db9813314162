"""``lowrank relations patterns``: what parsed text says of pairs of entities."""

from pathlib import Path
from typing import Annotated

import typer

from lowrank.cli import options as o
from lowrank.cli import show

Parsed = Annotated[list[Path], typer.Argument(metavar="CONLLU...", help="Files of parsed sentences.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FACTS", help="The file of facts to write.")]
Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The key in MISC that marks mentions; runs of proper nouns by default."),
]
Least = Annotated[int, typer.Option("--min-count", min=1, help="Leave out patterns of fewer pairs.")]


def patterns(parsed: Parsed, *, out: Out, key: Key = None, min_count: Least = 1, as_json: o.AsJson = False) -> None:
    """Write the paths between two names in a sentence, and the words between them, as facts about the two."""
    from collections import Counter

    from lowrank.files import whole_file
    from lowrank.text.patterns import pattern_triples
    from lowrank.text.trees import read_trees

    facts = dict.fromkeys(fact for path in parsed for fact in pattern_triples(read_trees(path), key=key))
    pairs = Counter(pattern for *_, pattern in facts)
    kept = [fact for fact in facts if pairs[fact[2]] >= min_count]
    with whole_file(out) as draft:
        draft.write_text("".join("\t".join(fact) + "\n" for fact in kept), encoding="utf-8")
    told = {"pairs": len({fact[:2] for fact in kept}), "patterns": len({fact[2] for fact in kept}), "facts": len(kept)}
    if not as_json:
        show.table([*told], [tuple(told.values())])
    hint = f"lowrank relations train {out} --out model --method universal"
    show.wrote(out, told, as_json=as_json, hint=hint)

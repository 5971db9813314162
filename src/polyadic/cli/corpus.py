"""``polyadic corpus``: text to an encoded corpus."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show

Texts = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Files, folders or globs of text (also .gz .bz2 .xz .zst), or - for standard input.",
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes to use.", show_default="all cores")]
Digits = Annotated[
    Literal["keep", "drop", "zero"],
    typer.Option(help="Keep numbers, drop them, or write each digit as 0.", rich_help_panel=o.CORPUS),
]
Punctuation = Annotated[
    Literal["keep", "drop"], typer.Option(help="Whether punctuation marks are words.", rich_help_panel=o.CORPUS)
]


def corpus(
    sources: Texts,
    *,
    out: o.Out,
    min_count: o.MinCount = 10,
    max_size: o.MaxSize = None,
    stop_words: o.StopWords = "english",
    format_: o.Format = "auto",
    field: o.Field = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "strict",
    digits: Digits = "keep",
    punctuation: Punctuation = "drop",
    tokenised: o.Tokenised = False,
    jobs: Jobs = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Read text once and write it as numbers, with its vocabulary: the folder that the other verbs read fast."""
    from polyadic.text.corpus import Corpus
    from polyadic.text.tokens import Tokenizer, whitespace

    steps = show.Steps(silent=as_json)
    with steps("corpus") as facts:
        built = Corpus.build(
            sources[0] if len(sources) == 1 else [Path(source) for source in sources],
            out,
            min_count=min_count,
            max_size=max_size,
            stop_words=None if stop_words == "none" else stop_words,
            tokenizer=whitespace if tokenised else Tokenizer(digits=digits, punctuation=punctuation),
            format=format_,
            field=field,
            encoding=encoding,
            errors=errors,
            jobs=jobs,
            overwrite=force,
        )
        facts.update(built.sizes)
    show.wrote(out, {"steps": steps.done}, as_json=as_json, hint=f"polyadic count {out} --out counts")

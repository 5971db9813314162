"""``polyadic corpus``: text to an encoded corpus."""

from typing import Annotated, Literal

import typer

from polyadic.cli import options as o
from polyadic.interface import output

Jobs = Annotated[int | None, typer.Option(min=1, max=o.MAX_THREADS, help="Processes to use.", show_default="all cores")]
Digits = Annotated[
    Literal["keep", "drop", "zero"],
    typer.Option(help="Keep numbers, drop them, or write each digit as 0.", rich_help_panel=o.CORPUS),
]
Punctuation = Annotated[
    Literal["keep", "drop"], typer.Option(help="Whether punctuation marks are words.", rich_help_panel=o.CORPUS)
]


def corpus(
    ctx: typer.Context,
    sources: o.Texts,
    *,
    out: o.Out,
    min_count: o.MinCount = 10,
    max_size: o.MaxSize = None,
    language: o.Language = "auto",
    stop_words: o.StopWords = "language",
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    digits: Digits = "keep",
    punctuation: Punctuation = "drop",
    tokenised: o.Tokenised = False,
    lemmas: o.Lemmas = False,
    multiwords: o.Multiwords = False,
    keep_text: o.KeepText = False,
    jobs: Jobs = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Read text once and write it as numbers, with its vocabulary: the folder that the other verbs read fast."""
    from polyadic.core.files import check_replaceable
    from polyadic.text.corpus import KIND, Corpus
    from polyadic.text.pieces import Reading
    from polyadic.text.readers import survey
    from polyadic.text.tokens import tokenizer_of

    source = o.source(sources)
    reading = o.reading(ctx)
    check_replaceable(out, KIND, overwrite=force)
    tokenizer = tokenizer_of(tokenised=tokenised, lemmas=lemmas, digits=digits, punctuation=punctuation)
    steps = output.Steps(silent=as_json)
    if tokenised:
        reading["wrapped"] = False
    with steps("text") as facts:
        facts.update(survey(source, Reading(**reading)))
    with steps("corpus") as facts:
        built = Corpus.build(
            source,
            out,
            min_count=min_count,
            max_size=max_size,
            language=language,
            stop_words=stop_words,
            tokenizer=tokenizer,
            multiwords=multiwords,
            keep_text=keep_text,
            jobs=jobs,
            overwrite=force,
            **reading,
        )
        facts.update(built.sizes)
    output.wrote(out, {"steps": steps.done}, as_json=as_json, hint=("count", out, "--out", "counts"))

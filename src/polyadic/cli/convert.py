"""``polyadic convert``: word vectors from one format to another."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output

Target = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write, or the folder if native, static or projector.")
]
To = Annotated[
    Literal["native", "word2vec", "word2vec-binary", "glove", "fasttext", "static", "projector"],
    typer.Option(help="native is ours; static is for sentence-transformers, projector for TensorBoard."),
]
Licence = Annotated[str | None, typer.Option(metavar="NAME", help="For the model card of static.", show_default="none")]
From = Annotated[str, typer.Option("--from", metavar="FORMAT", help="Format of VECTORS; auto looks.")]
Limit = Annotated[int | None, typer.Option(help="Read only the first words.")]


def convert(
    vectors: o.Vectors,
    out: Target,
    *,
    to: To,
    from_: From = "auto",
    limit: Limit = None,
    licence: Licence = None,
    encoding: o.Encoding = "utf-8",
    errors: o.BadBytes = "strict",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Write word vectors in the format of another tool, or theirs in ours."""
    from polyadic.embedding import read_vectors, write_projector, write_vectors

    if to not in ("native", "static", "projector") and out.exists() and not force:
        raise InputError(f"{out} exists already; choose another name or --force")
    o.belonging(to, {"--licence": (licence, ("static",))}, flag="--to")
    embedding = read_vectors(vectors, format=from_, limit=limit, encoding=encoding, errors=errors)
    if to == "native":
        embedding.save(out, overwrite=force)
    elif to == "static":
        embedding.save_pretrained(out, licence=licence, overwrite=force)
    elif to == "projector":
        write_projector(embedding, out, overwrite=force)
    else:
        write_vectors(embedding, out, format=to)
    output.wrote(out, {"words": len(embedding), "rank": embedding.rank, "format": to}, as_json=as_json)

"""Arguments of commands that read documents."""

from typing import Annotated

from polyadic.core.settings import Help, Metavar

READING = "polyadic.text.pieces:Reading"
"""Settings for reading files."""
Docs = Annotated[
    str,
    Help("Folder or glob pattern with a document in each file, a file with a document on each line, or a table."),
    Metavar("DOCS"),
]

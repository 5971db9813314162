r"""Word vectors as a static encoder of sentences: the folder that sentence-transformers loads, written without it.

A sentence is the mean of the vectors of its words. The folder holds ``model.safetensors`` (the vectors, after a row of
zeros for unknown words), ``tokenizer.json`` (words as :class:`~polyadic.text.tokens.Tokenizer` cuts them) and
``modules.json``. Unknown words count in the mean there, so a vector with some is shorter than ours, in the same
direction.

Loaded by ``sentence_transformers.SentenceTransformer(folder)``, version 5 and later; tried with 6.2.0.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import whole_folder, write_meta
from polyadic.text.tokens import INNER, POINTS

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from polyadic.embedding import Embedding

KIND, VERSION, UNKNOWN = "static-encoder", 1, "[UNK]"
WORD = (
    r"(?!(?<=[\p{L}\p{N}\p{M}]')s\b)[\p{L}\p{N}][\p{L}\p{N}\p{M}\x{200C}\x{200D}]*"
    rf"(?:['_](?!s\b)[\p{{L}}\p{{N}}\p{{M}}]+|[{INNER}](?=\p{{L}})[\p{{L}}\p{{N}}\p{{M}}]+"
    r"|(?<=[\x{5d0}-\x{5ea}])\"(?=[\x{5d0}-\x{5ea}])[\p{L}\p{N}\p{M}]+"
    rf"|(?<=\p{{N}})[{POINTS}]\p{{N}}[\p{{L}}\p{{N}}\p{{M}}]*|(?<=\b\p{{L}})\.\p{{L}}\b)*"
)
"""A word, as in :mod:`polyadic.text.tokens`, but for rarities such as a letter number behind a full stop."""


def write_static(embedding: Embedding, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the folder of a static encoder.

    Parameters
    ----------
    embedding : Embedding
        Vectors of words, such as ``MeanSentences.static()`` gives.
    path : path
        The folder; whole or absent.
    overwrite : bool
        Whether a folder of that kind is replaced.

    Raises
    ------
    InputError
        If a word is the one that stands for unknown words, or something else is at that path.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from polyadic import Embedding
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "encoder"
    >>> write_static(Embedding(["film"], [[1.0, 2.0]]), folder)
    >>> sorted(file.name for file in folder.iterdir())
    ['meta.json', 'model.safetensors', 'modules.json', 'tokenizer.json']
    """
    from safetensors.numpy import save

    if UNKNOWN in embedding.index:
        raise InputError(f"the word {UNKNOWN!r} stands for all unknown words there; take it out")
    zeros = np.zeros((1, embedding.rank), np.float32)
    weights = np.concatenate([zeros, np.asarray(embedding.vectors, np.float32)])
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "model.safetensors").write_bytes(save({"embedding.weight": weights}))
        _write(draft / "tokenizer.json", _tokenizer(embedding))
        _write(draft / "modules.json", [module])
        write_meta(draft, KIND, VERSION, words=len(embedding), rank=embedding.rank)


def _tokenizer(embedding: Embedding) -> dict[str, Any]:
    normal: list[dict[str, Any]] = [{"type": "NFC"}]
    if embedding.lowercase:
        normal.insert(0, {"type": "Lowercase"})
    for old, new in (("\u2019", "'"), ("\u00ad", "")):
        normal.append({"type": "Replace", "pattern": {"String": old}, "content": new})
    cut = {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True}
    vocabulary = {UNKNOWN: 0, **{word: row for row, word in enumerate(embedding.words, 1)}}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    parts = ("truncation", "padding", "post_processor", "decoder")
    rest = {"added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": normal}, "pre_tokenizer": cut}
    return {"version": "1.0", **dict.fromkeys(parts), **rest, "model": model}


def _write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

"""Export word vectors as a static sentence encoder for sentence-transformers, without depending on it.

A sentence is the mean of the vectors of its words. The folder holds ``model.safetensors`` (the vectors, after a row of
zeros for unknown words), ``tokenizer.json`` (words as split by :class:`~polyadic.text.tokens.Tokenizer`) and
``modules.json``. sentence-transformers includes unknown words in the mean, so its vectors are shorter than ours but
have the same direction.

Load with ``sentence_transformers.SentenceTransformer(folder)``, version 5 or later; tested with 6.2.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.files import read_meta, whole_folder, write_meta
from polyadic.text.tokens import INNER, POINTS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from polyadic.embedding import Embedding

CARD_FIELDS = ("source", "corpus", "language", "method", "min_count", "stop_words", "rank", "window", "width", "seed")
"""Training settings shown on the model card."""
KIND, VERSION, UNKNOWN = "static-encoder", 1, "[UNK]"
WORD = (
    r"(?!(?<=[\p{L}\p{N}\p{M}]')s\b)[\p{L}\p{N}][\p{L}\p{N}\p{M}\x{200C}\x{200D}]*"
    rf"(?:['_](?!s\b)[\p{{L}}\p{{N}}\p{{M}}]+|[{INNER}](?=\p{{L}})[\p{{L}}\p{{N}}\p{{M}}]+"
    r"|(?<=[\x{5d0}-\x{5ea}])\"(?=[\x{5d0}-\x{5ea}])[\p{L}\p{N}\p{M}]+"
    rf"|(?<=\p{{N}})[{POINTS}]\p{{N}}[\p{{L}}\p{{N}}\p{{M}}]*|(?<=\b\p{{L}})\.\p{{L}}\b)*"
)
"""Word pattern of :mod:`polyadic.text.tokens`, except for rare cases such as a letter number after a full stop."""


CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
{licence_key}tags:
- static-embedding
- polyadic
---

# {title}

A static encoder of sentences: the mean of the vectors of their words, {words:,} words of {rank} numbers.
Made with polyadic{version}.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{title}")
model.encode(["a sentence", "another one"])
```

## Text that it was learned from

{text}

## Figures

{figures}

## Licence

{licence}

## What it is not for

Words that are not in it count as nothing, word order is not seen, and what the text takes for granted of people, the
vectors do, too.
"""
"""Model card, with the headings that model hubs display."""


def write_static(
    embedding: Embedding,
    path: str | os.PathLike[str],
    *,
    licence: str | None = None,
    figures: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a static encoder folder; see :meth:`~polyadic.Embedding.save_pretrained`."""
    from safetensors.numpy import save

    if UNKNOWN in embedding.index:
        raise InputError(f"the word {UNKNOWN!r} is reserved for unknown words in the encoder; remove it")
    weights = np.zeros((len(embedding) + 1, embedding.rank), np.float32)  # in rows, as they are written
    weights[1:] = embedding.vectors
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        (draft / "model.safetensors").write_bytes(save({"embedding.weight": weights}))
        _write(draft / "tokenizer.json", _tokenizer(embedding))
        _write(draft / "modules.json", [module])
        (draft / "README.md").write_text(_card(embedding, Path(path).name, licence, figures or {}), encoding="utf-8")
        write_meta(draft, KIND, VERSION, words=len(embedding), rank=embedding.rank)


def read_static(path: str | os.PathLike[str]) -> Embedding:
    """Read the vectors of a static encoder folder; see :meth:`~polyadic.Embedding.from_pretrained`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from polyadic.embedding import Embedding

    folder = Path(path)
    read_meta(folder, KIND, VERSION)
    try:
        weights = load_file(folder / "model.safetensors")["embedding.weight"]
        vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        return Embedding(words[1:], weights[1:])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(f"{folder} is damaged: {error}") from None


def _card(embedding: Embedding, title: str, licence: str | None, figures: Mapping[str, object]) -> str:
    trained = embedding.meta.get("trained", {})
    said = [f"* {name.replace('_', ' ')}: {value}" for name, value in trained.items() if name in CARD_FIELDS]
    rows = [f"| {name} | {value} |" for name, value in figures.items()]
    return CARD.format(
        title=title,
        words=len(embedding),
        rank=embedding.rank,
        version=f" {trained['polyadic']}" if "polyadic" in trained else "",
        text="\n".join(said) or "Not known: say here what it is.",
        figures="\n".join(["| test | value |", "|---|---|", *rows])
        if rows
        else "None: `polyadic evaluate` measures some.",
        licence=licence or "Not said: vectors of a text may be bound to its licence.",
        licence_key=f"license: {json.dumps(licence)}\n" if licence else "",
    )


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

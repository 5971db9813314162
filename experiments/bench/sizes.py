"""How much text wants which rank, how many themes, which spans and thresholds: `polyadic train` on slices of a text.

POLYADIC_DATA=... python -m experiments.bench.sizes TEXT --megabytes 1 5 --ranks 50 100 --change min_count=5

Settings are chosen on the similarity of MTurk-771, MTurk-287, WS353 and RG-65, put together by the number of pairs that
are known; MEN, SimLex-999 and SimVerb-3500 are for reports. With several --forms of words all are judged on the words
that all know; ``tagged`` are lemmas by the model --tagger of `polyadic tag train`. Themes are judged by the NPMI of
their ten words in 20 MB of the same text from which no slice is taken. Prints a JSON line for each slice and setting,
with seconds of processor time.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import Corpus, Embedding, train
from polyadic.core.errors import InputError
from polyadic.datasets import similarity_sets
from polyadic.embedding.components import components
from polyadic.metrics.similarity import similarity
from polyadic.metrics.topics import in_windows, npmi_coherence
from polyadic.text.tokens import Tokenizer
from polyadic.words.methods import Training

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = 1_000_000
REFERENCE = 20 * MEGABYTE
FORMS = {"words": {}, "lemmas": {"tokenizer": Tokenizer(lemmas=True)}, "multiwords": {"multiwords": True}}
CHOOSING, REPORTED = ("mturk-771", "mturk-287", "ws353", "rg-65"), ("men", "simlex-999", "simverb-3500")


def slices(text: str, size: int, most: int) -> Iterator[str]:
    """Give slices of a text that lie evenly, each from the beginning of a document to the end of a line."""
    number = max(min(most, len(text) // size), 1)
    for k in range(number):
        start = max(text.find("<doc ", k * len(text) // number), 0)
        yield text[start : text.rfind("\n", start, start + size) + 1]


def documents(text: str) -> list[str]:
    """Give the articles of WikiExtractor's text."""
    return [article.partition(">\n")[2] for article in text.split("</doc>")]


def tagged(text: str, tagger: Path, **settings: Any) -> Corpus:
    """Give the corpus of the lemmas that a tagger tells."""
    with tempfile.TemporaryDirectory() as name:
        plain, treebank = Path(name) / "text", Path(name) / "text.conllu"
        plain.write_text("\n".join(documents(text)), encoding="utf-8")
        call = [Path(sys.executable).with_name("polyadic"), "tag", "apply", tagger, "--text", "--by-line", plain]
        subprocess.run([*call, "--out", treebank], check=True)
        return Corpus.build([treebank], field="lemma", **settings)


def agreement(vectors: Embedding, names: tuple[str, ...]) -> tuple[float, int]:
    """Give the mean correlation with people's judgements, weighted by known pairs, and how many these are."""
    total, known, sets = 0.0, 0, similarity_sets()
    for name in names:
        try:
            found = similarity(vectors, sets[name])
        except InputError:  # hardly a pair is known
            continue
        if np.isfinite(found.spearman):
            total += found.spearman * found.covered
            known += found.covered
    return total / max(known, 1), known


def coherence(vectors: Embedding, reference: list[list[str]]) -> float:
    if not vectors.has_nonnegative_components:
        return float("nan")
    tops = [[word for word, _ in theme.words] for theme in components(vectors.components)]
    tops = [top for top in tops if len(top) > 1]
    counted = in_windows(reference, {word for top in tops for word in top}, window=10)
    return float(np.mean(npmi_coherence(tops, counted)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 5])
    parser.add_argument("--ranks", type=int, nargs="+", default=[25, 50, 100, 200, 300])
    parser.add_argument("--slices", type=int, default=4)
    parser.add_argument("--change", nargs="*", default=[], help="settings of train besides, NAME=VALUE")
    parser.add_argument("--forms", choices=[*FORMS, "tagged"], nargs="+", default=["words"])
    parser.add_argument("--tagger", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    change: dict[str, Any] = {}
    for setting in options.change:
        name, value = setting.split("=")
        change[name] = ast.literal_eval(value) if value[0] in "(0123456789.TFN" else value
    of_text = {name: change.pop(name, getattr(Training, name)) for name in ("min_count", "max_size", "stop_words")}
    text = options.text.read_text(encoding="utf-8")
    kept, text = text[-REFERENCE:], text[:-REFERENCE]
    whole = Corpus.build(documents(kept), min_count=1, max_size=None)
    reference = [
        [word for sentence in whole.document(number) for word in sentence] for number in range(len(whole.documents) - 1)
    ]
    for megabytes in options.megabytes:
        for number, part in enumerate(slices(text, int(megabytes * MEGABYTE), options.slices)):
            corpora = {
                form: Corpus.build(documents(part), **FORMS[form], **of_text)
                if form in FORMS
                else tagged(part, options.tagger, **of_text)
                for form in options.forms
            }
            common = sorted(set.intersection(*(set(corpus.vocabulary.words) for corpus in corpora.values())))
            for rank, (form, corpus) in product(options.ranks, corpora.items()):
                start = time.process_time()
                vectors = train(corpus, rank=rank, threads=options.threads, **change)
                seconds = time.process_time() - start
                shared = Embedding(common, vectors.vectors[[vectors.index[word] for word in common]])
                choose, report = (agreement(shared, names) for names in (CHOOSING, REPORTED))
                row = {
                    "megabytes": megabytes,
                    "slice": number,
                    "rank": rank,
                    "form": form,
                    **of_text,
                    **change,
                    "tokens": len(corpus.ids),
                    "words": len(vectors),
                    "choose": round(choose[0], 4),
                    "pairs": choose[1],
                    "report": round(report[0], 4),
                    "coherence": round(coherence(vectors, reference), 4),
                    "seconds": round(seconds, 1),
                }
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

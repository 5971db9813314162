"""Tokens per second of n-way counting, beside GloVe's pair counter on the same text.

CORPUS is a folder made by `polyadic corpus`; --glove is the folder of the programs compiled from
github.com/stanfordnlp/GloVe. Contenders run alone, in turn; medians are reported. GloVe's figure is its whole process,
ours is `count` with its temporary files.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.bench.common import alternate, peak
from polyadic import Corpus, count

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3


def write_text(corpus: Corpus, path: Path) -> None:
    words = corpus.vocabulary.words
    with path.open("w") as file:
        for start, end in zip(corpus.sentences, corpus.sentences[1:], strict=False):
            file.write(" ".join([words[i] for i in corpus.ids[start:end].tolist()]) + "\n")


def main(corpus: Path, *, glove: Path | None = None) -> None:
    read = Corpus.open(corpus)
    count(Corpus.build(["a b c d"], min_count=1), order=3, width=2, threads=1)  # compile, or load what is compiled

    def ours(order: int, width: int, threads: int, least: int) -> str:
        counts = count(read, order=order, width=width, threads=threads, min_count=least)
        return f"{len(counts.entries):,} entries of {counts.events:,} events"

    contenders: dict[str, Callable[[], str]] = {
        f"polyadic, order {how[0]}, span {how[1]}, min_count {how[3]}, {how[2]} core(s)": partial(ours, *how)
        for how in ((2, 5, 1, 1), (3, 5, 1, 1), (3, 5, 2, 1), (3, 10, 1, 2), (3, 10, 2, 2))
    }
    with tempfile.TemporaryDirectory() as folder:
        text, vocabulary = Path(folder) / "text.txt", Path(folder) / "vocabulary.txt"

        def theirs(*words: object, to: Path = Path(folder) / "cooccur.bin") -> str:
            with text.open() as source, to.open("wb") as target:
                command = [str(word) for word in (*words, "-verbose", 0)]
                subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=True)
            return ""

        if glove:
            write_text(read, text)
            theirs(glove / "vocab_count", "-min-count", 1, to=vocabulary)
            how = ("-window-size", 5, "-symmetric", 1, "-memory", 4, "-vocab-file", vocabulary)
            call = partial(theirs, glove / "cooccur", *how, "-overflow-file", text.parent / "overflow")
            contenders = {"GloVe cooccur, pairs, window 5, 1 core": call, **contenders}
        timings = alternate(contenders, ROUNDS)
    print(f"{len(read):,} tokens, {len(read.vocabulary):,} words")
    for name, (seconds, _, note) in timings.items():
        print(f"{seconds:8.2f} s  {len(read) / seconds / 1e6:6.2f} M tokens/s  {name}  {note}")
    print(f"peak memory of this process: {peak():.0f} MB")

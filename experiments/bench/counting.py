"""Tokens per second of n-way counting, beside GloVe's pair counter on the same text.

python -m experiments.bench.counting CORPUS --glove GLOVE/build

CORPUS is a folder made by `polyadic corpus`; GLOVE/build holds the programs compiled from github.com/stanfordnlp/GloVe.
Contenders run alone, in turns; medians are reported. GloVe's figure is its whole process, ours is `count` with its
temporary files.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from polyadic import Corpus, count

ROUNDS = 3


def write_text(corpus: Corpus, path: Path) -> None:
    words = corpus.vocabulary.words
    with path.open("w") as file:
        for start, end in zip(corpus.sentences, corpus.sentences[1:], strict=False):
            file.write(" ".join([words[i] for i in corpus.ids[start:end].tolist()]) + "\n")


def glove(build: Path, text: Path, vocabulary: Path, window: int) -> float:
    started = time.perf_counter()
    with text.open() as source, (text.parent / "cooccur.bin").open("wb") as target:
        command = [build / "cooccur", "-window-size", str(window), "-symmetric", "1", "-memory", "4", "-verbose", "0"]
        command += ["-vocab-file", vocabulary, "-overflow-file", text.parent / "overflow"]
        subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def ours(corpus: Corpus, order: int, width: int, threads: int, min_count: int) -> tuple[float, str]:
    started = time.perf_counter()
    counts = count(corpus, order=order, width=width, threads=threads, min_count=min_count)
    return time.perf_counter() - started, f"{len(counts.entries):,} entries of {counts.events:,} events"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--glove", type=Path)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    ours(Corpus.build(["a b c d"], min_count=1), 3, 2, 1, 1)  # compile, or load what is compiled
    seconds: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        text, vocabulary = Path(folder) / "text.txt", Path(folder) / "vocabulary.txt"
        if options.glove:
            write_text(corpus, text)
            with text.open() as source, vocabulary.open("w") as target:
                command = [options.glove / "vocab_count", "-min-count", "1", "-verbose", "0"]
                subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=True)
        for _ in range(ROUNDS):
            if options.glove:
                seconds.setdefault("GloVe cooccur, pairs, window 5, 1 core", []).append(
                    glove(options.glove, text, vocabulary, 5)
                )
            for order, width, threads, least in (
                (2, 5, 1, 1),
                (3, 5, 1, 1),
                (3, 5, 2, 1),
                (3, 10, 1, 2),
                (3, 10, 2, 2),
            ):
                name = f"polyadic, order {order}, span {width}, min_count {least}, {threads} core(s)"
                took, notes[name] = ours(corpus, order, width, threads, least)
                seconds.setdefault(name, []).append(took)
    print(f"{len(corpus):,} tokens, {len(corpus.vocabulary):,} words")
    for name, took in seconds.items():
        median = statistics.median(took)
        print(f"{median:8.2f} s  {len(corpus) / median / 1e6:6.2f} M tokens/s  {name}  {notes.get(name, '')}")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

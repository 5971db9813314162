"""Sentence vectors: seconds to fit and to encode, and memory as sentences grow.

    python -m experiments.bench.sentences SENTENCES [--number 10000] [--rank 100] [--repeats 3] [--times 1 4 16]

SENTENCES has one a line. First, each in a process of its own, a model is fitted to a stream of the first --number,
--times over, and the peak of memory is printed; then they are fitted and encoded by each model in turn.
"""

import argparse
import itertools
import multiprocessing
import resource
import statistics
import time
from pathlib import Path

from polyadic import ConvolutionalSentences, MeanSentences


def read(path: Path, number: int) -> list[str]:
    """Give the first sentences."""
    with path.open(encoding="utf-8") as file:
        return [line.strip() for line in itertools.islice(file, number)]


def models(rank: int) -> dict:
    """Give what is timed."""
    return {
        "convolutional": ConvolutionalSentences(rank=rank, seed=0),
        "convolutional, sparse codes": ConvolutionalSentences(rank=rank, decoding="sparse", pooling="extremes", seed=0),
        "SIF": MeanSentences(rank=rank, a=0.001, removed=1, seed=0),
    }


def peak(path: Path, number: int, rank: int, times: int, queue) -> None:
    """Fit to a stream and tell the peak of memory in MiB, before and after."""
    sentences = read(path, number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = itertools.chain.from_iterable(itertools.repeat(sentences, times))
    start = time.perf_counter()
    ConvolutionalSentences(rank=rank, starts=1, seed=0).fit(stream)
    seconds = time.perf_counter() - start
    queue.put((before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, seconds))


def main() -> None:
    """Measure memory, while this process is small; then time each model in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--times", type=int, nargs="*", default=[1, 4, 16])
    options = parser.parse_args()
    sentences = read(options.sentences, options.number)
    spawn = multiprocessing.get_context("spawn")
    for times in options.times:
        queue = spawn.Queue()
        process = spawn.Process(target=peak, args=(options.sentences, options.number, options.rank, times, queue))
        process.start()
        before, after, seconds = queue.get()
        process.join()
        print(
            f"{times * len(sentences):9,} sentences: peak {after:6.0f} MiB ({before:.0f} before), fit {seconds:.1f} s"
        )
    fits, encodes = {}, {}
    for _ in range(options.repeats):
        for name, model in models(options.rank).items():
            start = time.perf_counter()
            model.fit(sentences)
            middle = time.perf_counter()
            model.transform(sentences)
            fits.setdefault(name, []).append(middle - start)
            encodes.setdefault(name, []).append(time.perf_counter() - middle)
    for name, seconds in fits.items():
        rate = len(sentences) / statistics.median(encodes[name])
        print(f"{name:30} fit {statistics.median(seconds):6.1f} s, encode {rate:8,.0f} sentences/s")


if __name__ == "__main__":
    main()

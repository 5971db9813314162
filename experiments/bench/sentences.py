"""Sentence vectors: seconds to fit and to encode, and memory by the number of sentences.

SENTENCES has one a line. First a model is fitted to a stream of the first --number, --times over, each in a process of
its own, and its peak memory is printed; then each model is fitted and encodes in turn.
"""

import itertools
from functools import partial
from pathlib import Path

from experiments.bench.common import alternate, own_process, peak, timed
from polyadic import ConvolutionalSentences, MeanSentences


def read(path: Path, number: int) -> list[str]:
    """Return the first sentences."""
    with path.open(encoding="utf-8") as file:
        return [line.strip() for line in itertools.islice(file, number)]


def models(rank: int) -> dict:
    """Return the models to time."""
    return {
        "convolutional": ConvolutionalSentences(rank=rank, seed=0),
        "convolutional, sparse codes": ConvolutionalSentences(rank=rank, decoding="sparse", pooling="extremes", seed=0),
        "SIF": MeanSentences(rank=rank, a=0.001, removed=1, seed=0),
    }


def memory(path: str, number: int, rank: int, times: int) -> tuple[float, float, float]:
    """Fit to a stream; return the peak of memory in MiB before and after, and seconds."""
    sentences, before = read(Path(path), number), peak()
    stream = itertools.chain.from_iterable(itertools.repeat(sentences, times))
    model = ConvolutionalSentences(rank=rank, starts=1, seed=0)
    seconds = timed(lambda: model.fit(stream)).seconds
    return before, peak(), seconds


def main(
    sentences: Path, *, number: int = 10_000, rank: int = 100, repeats: int = 3, times: tuple[int, ...] = (1, 4, 16)
) -> None:
    texts = read(sentences, number)
    for many in times:
        before, after, seconds = own_process(memory, sentences, number, rank, many)
        print(f"{many * len(texts):9,} sentences: peak {after:6.0f} MiB ({before:.0f} before), fit {seconds:.1f} s")
    fits = alternate({name: partial(model.fit, texts) for name, model in models(rank).items()}, repeats)
    encodes = alternate({name: partial(fit.result.transform, texts) for name, fit in fits.items()}, repeats)
    for name, fit in fits.items():
        rate = len(texts) / encodes[name].seconds
        print(f"{name:30} fit {fit.seconds:6.1f} s, encode {rate:8,.0f} sentences/s")

"""Response times of the page: word pages and concordances of random words of a workspace, as the server computes them.

Medians, 90th percentiles and maxima of milliseconds by the clock over random words of the vocabulary, each asked once,
after the first question; and the same for the most frequent words.
"""

import itertools

import numpy as np

from experiments.bench.common import heading, row, timed
from polyadic.explore.answers import ANSWERS
from polyadic.explore.answers.words import senses_of
from polyadic.explore.workspace import Workspace


def milliseconds(name, workspace, **asked):
    return 1000 * timed(lambda: ANSWERS[name](workspace, **asked)).seconds


def main(workspace: str, *, words: int = 200, seed: int = 0) -> None:
    def load():
        opened = Workspace.open(workspace)
        opened.warm()
        return opened

    seconds, _, place = timed(load)
    print(f"opened in {seconds:.1f} s")
    vocabulary = place.corpus.vocabulary
    rng = np.random.default_rng(seed)
    sets = {"random": [vocabulary.words[at] for at in rng.choice(len(vocabulary), words, replace=False)]}
    sets["frequent"] = list(vocabulary.words[: words // 4])
    for name in ("word", "senses"):
        ANSWERS[name](place, word=vocabulary.words[0])
    heading("question", "words", "median, ms", "90 %", "largest")
    for which, some in sets.items():
        enough = [word for word in some if vocabulary.counts[vocabulary[word]] >= 50]
        asked = {
            "word": [milliseconds("word", place, word=word) for word in some],
            "100 lines": [milliseconds("lines", place, words=[word]) for word in some],
            "100 lines by what follows": [milliseconds("lines", place, words=[word], sort="right") for word in some],
            "senses, the first time": [milliseconds("senses", place, word=word) for word in enough],
            "senses again": [milliseconds("senses", place, word=word) for word in enough],
            "phrase": [milliseconds("phrase", place, words=[a, b]) for a, b in itertools.pairwise(some)],
        }
        for question, times in asked.items():
            figures = np.median(times), np.quantile(times, 0.9), np.max(times)
            row(question, which, *(f"{each:,.0f}" for each in figures))
        senses_of.cache_clear()

"""Response times of queries on a large corpus: concordance pages, regular expressions and collocations.

Each kind of query is asked with words, word pairs and word parts drawn from the running text (so frequent words are
drawn often), after one query of each kind. Medians, 95 % quantiles and maxima in milliseconds, by the clock and of
processor time of all threads.
"""

import time
from itertools import pairwise

import numpy as np

from experiments.bench.common import heading, row
from polyadic.text.store import TextStore

PAGE = 50  # lines of a page


def main(corpus: str, *, queries: int = 200, seed: int = 0) -> None:
    store = TextStore.open(corpus)
    text, lines = store.text, store.lines
    rng = np.random.default_rng(seed)
    at = rng.integers(1, len(text) - 1, 20 * queries)
    words = [text.form_names[form].lower() for form in text.forms[at].tolist()]
    words = [word for word in words if word.isalpha() and len(word) > 2][:queries]
    pairs = [" ".join(text.form_names[form] for form in text.forms[k : k + 2]) for k in at[:queries].tolist()]
    frequent = [text.words[k] for k in rng.choice(200, queries // 4)]

    def page(query: str, **how: object) -> None:
        list(lines.find(query, top=PAGE, **how))

    kinds = {
        "word": [lambda q=word: page(q) for word in words],
        "word, sorted by what follows": [lambda q=word: page(q, sort="right") for word in words],
        "phrase of two words": [lambda q=pair: page(q) for pair in pairs],
        "beginning: abc*": [lambda q=word: page(f"{q[:3]}*") for word in words],
        "ending: *bcd": [lambda q=word: page(f"*{q[-3:]}") for word in words],
        "regular expression over the vocabulary": [
            lambda q=word: page(f'[lc=".*{q[:2]}.+{q[-2:]}"]') for word in words
        ],
        'gap: "a" []{0,3} "b"': [lambda a=a, b=b: page(f'[lc="{a}"] []{{0,3}} [lc="{b}"]') for a, b in pairwise(words)],
        "collocations": [lambda q=word: store.collocates(q, top=PAGE) for word in words],
        "collocations of a frequent word": [lambda q=word: store.collocates(q, top=PAGE) for word in frequent],
    }
    heading("query", "number", "median, ms", "95 %", "largest", "processor: median", "95 %")
    for name, asked in kinds.items():
        asked[0]()
        times = []
        for ask in asked:
            clock, processor = time.perf_counter(), time.process_time()
            ask()
            times.append((time.perf_counter() - clock, time.process_time() - processor))
        wall, cpu = 1000 * np.array(times).T
        figures = np.median(wall), np.quantile(wall, 0.95), wall.max(), np.median(cpu), np.quantile(cpu, 0.95)
        row(name, f"{len(times)}", *(f"{each:,.0f}" for each in figures))

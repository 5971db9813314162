"""Offline demonstration on a Wikipedia text of 450,000 words, from markup to word senses.

The text is 106 articles of Wikipedia that gensim's package carries for its tests. It is read, counted three words at a
time, and factorized; what comes out is shown beside the singular value decomposition of the pairs of the same windows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from polyadic import plots
from polyadic.core.files import whole_file, whole_folder, write_meta
from polyadic.core.penalties import NonNegative
from polyadic.core.progress import sweeps
from polyadic.datasets import gensim_file, read_pairs
from polyadic.embedding import Embedding, write_vectors
from polyadic.metrics.similarity import similarity
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.weighting import ppmi
from polyadic.words.pairwise import PPMISVD
from polyadic.words.phrases import phrase_vectors
from polyadic.words.symmetric import SymmetricCP

TEXT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
PAIRS = ("wordsim353.tsv", "simlex999.txt")
WORDS = ("aristotle", "autism", "alabama", "lunar")
SENSES = (("apollo", "god"), ("apollo", "moon"), ("academy", "film"), ("academy", "science"))
PICTURE = ("apollo", ("god", "moon"))
MIN_COUNT, WIDTH = 10, 10


def text() -> Path:
    """Return the path of the demonstration text, which requires the extra ``gensim``."""
    return gensim_file(TEXT)


def run(out: Path, *, rank: int = 100, seed: int = 1, report: Callable[..., None]) -> dict[str, Any]:
    """Write vectors and a plot to the folder ``out``, report the steps, and return what the demonstration shows."""
    source = text()
    axes = plots.new_axes()  # a missing extra is told before anything is computed
    times, seconds = [time.perf_counter()], []

    def clock(what: str) -> None:
        times.append(time.perf_counter())
        seconds.append(round(times[-1] - times[-2], 2))
        report(f"{seconds[-1]:6.1f} s  {what}")

    with whole_folder(out, kind="demo", overwrite=True) as draft:
        report("450,000 words of Wikipedia, from markup to the senses of words\n")
        corpus = Corpus.build(source, draft / "corpus", format="mediawiki", min_count=MIN_COUNT, stop_words="english")
        clock(f"read {len(corpus):,} words in use, {len(corpus.vocabulary):,} different ones")
        triples = count(corpus, draft / "counts", order=3, width=WIDTH)
        clock(f"counted {triples.events:,} triples, {len(triples.entries):,} different ones")
        model = SymmetricCP(rank, penalty=NonNegative(), seed=seed)
        with sweeps(model, "factorizing"):
            model.fit(x := ppmi(triples))
        vectors = model.embedding(corpus.vocabulary.words, counts=corpus.vocabulary.counts)
        zeros = float((vectors.vectors == 0).mean())
        clock(f"factorized the PPMI tensor: {rank} columns, {model.n_iter_} sweeps, {zeros:.0%} exact zeros")
        pairs = count(corpus, order=2, width=WIDTH)
        baseline = PPMISVD(rank, seed=seed).fit(ppmi(pairs)).embedding(corpus.vocabulary.words)
        clock("decomposed the PPMI matrix of the pairs of the same windows, for comparison")
        from_triples = zip(SENSES, phrase_vectors(vectors, x, SENSES), strict=True)
        sums = {pair: sum(baseline.unit[baseline.index[word]] for word in pair) for pair in SENSES}
        sets = {name.split(".")[0]: read_pairs(gensim_file(name)) for name in PAIRS}
        result = {
            "tokens": len(corpus),
            "words": len(corpus.vocabulary),
            "entries": len(triples.entries),
            "sweeps": model.n_iter_,
            "zeros": zeros,
            "seconds": seconds,
            "neighbours": {word: _nearest(vectors, word) for word in WORDS},
            "senses": {" * ".join(pair): _nearest(vectors, *pair) for pair in SENSES},
            "from triples": {" and ".join(pair): _nearest(vectors, at, exclude=pair) for pair, at in from_triples},
            "sums of the baseline": {
                " + ".join(pair): _nearest(baseline, total, exclude=pair) for pair, total in sums.items()
            },
            "scores": {
                name: {each: similarity(of, pairs).as_dict() for each, pairs in sets.items()}
                for name, of in (("third order", vectors), ("PPMI-SVD", baseline))
            },
        }
        vectors.save(draft / "vectors")
        write_vectors(vectors, draft / "vectors.txt", format="word2vec")
        plots.senses(vectors, *PICTURE, ax=axes)
        with whole_file(draft / "senses.png") as picture:
            axes.figure.savefig(picture, dpi=150)
        write_meta(draft, "demo", 1, **result)
    _tell(result, report)
    report(f"\nwrote {out}/vectors (also vectors.txt for other tools) and the picture {out}/senses.png")
    report(f"next: polyadic phrase {out}/vectors apollo god, or your own text: polyadic train TEXT --out vectors")
    return result


def _nearest(vectors: Embedding, *query: Any, exclude: Sequence[str] = ()) -> list[str]:
    return [word for word, _ in vectors.neighbours(*query, exclude=exclude, top=8)]


def _tell(result: dict[str, Any], report: Callable[..., None]) -> None:
    report("\nnearest words, third order")
    for word, nearest in result["neighbours"].items():
        report(f"  {word:<20}{', '.join(nearest)}")
    for title, key in (
        ("third order: what two words share selects a sense", "senses"),
        ("the same from the triples that both words occur in (polyadic phrase --counts)", "from triples"),
        ("PPMI-SVD, for comparison: sums of pairwise vectors (their products say nothing)", "sums of the baseline"),
    ):
        report(f"\n{title}")
        for phrase, nearest in result[key].items():
            report(f"  {phrase:<20}{', '.join(nearest)}")
    report(
        "\nagreement with people on the similarity of single words (Spearman), where pairs do better on so little text"
    )
    for model, scores in result["scores"].items():
        for name, score in scores.items():
            report(f"  {model:<20}{name:<14}{score['spearman']:6.3f}  on {score['covered']} of {score['total']} pairs")

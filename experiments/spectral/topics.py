"""Topics by moments beside topics by anchors: recovery, and quality on BBC news."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from experiments.bouchard2015.topics import bbc
from polyadic.metrics.topics import diversity, in_windows, npmi_coherence
from polyadic.topics.anchors import AnchorTopics
from polyadic.topics.spectral import SpectralLDA
from polyadic.topics.text_topics import TextTopics, held_out_perplexity

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Root = str | os.PathLike[str] | None

TOP, HELD = 10, 0.2
"""Words of a topic that are judged; share of documents that are held out."""


def planted_documents(
    documents: int, *, topics: NDArray[np.float64], alpha: NDArray[np.float64], length: int, seed: int
) -> csr_array:
    """Draw documents of latent Dirichlet allocation, as counts."""
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(alpha, size=documents)
    return csr_array(np.array([rng.multinomial(length, row) for row in mixtures @ topics], np.float32))


def topic_error(estimate: NDArray[Any], true: NDArray[Any]) -> float:
    """Return the total variation between the mean topic and the true one, with topics matched one to one."""
    apart = np.abs(estimate[:, None] - true[None]).sum(axis=2) / 2
    return float(apart[linear_sum_assignment(apart)].mean())


def recovery(
    sizes: Sequence[int], *, rank: int = 5, words: int = 200, length: int = 60, alpha0: float = 1.0, seed: int = 0
) -> Facts:
    """Find planted topics in more and more documents.

    ``sizes``: Documents, at least two sizes. ``rank``, ``words``: Planted topics, and words; topics are Dirichlet
    distributions of parameter 0.1, so that few have anchors. ``length``: Words of a document. ``alpha0``: Sum of the
    parameters of the Dirichlet distribution of mixtures, known to the spectral method.
    """
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(words, 0.1), size=rank)
    alpha = alpha0 * rng.dirichlet(np.full(rank, 10.0))
    errors = []
    for n in sizes:
        counts = planted_documents(n, topics=true, alpha=alpha, length=length, seed=seed)
        models = SpectralLDA(rank, alpha0=alpha0, max_iter=1, threads=1), AnchorTopics(rank, max_iter=1, threads=1)
        errors.append([topic_error(model.fit(counts).components_, true) for model in models])
    slopes = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    names = "spectral", "anchors"
    rows = [{"documents": int(n), **dict(zip(names, row, strict=True))} for n, row in zip(sizes, errors, strict=True)]
    return {"errors": rows, "slopes": dict(zip(names, slopes.tolist(), strict=True))}


def news(ranks: Sequence[int] = (10, 20, 40), *, seed: int = 0, root: Root = None) -> Facts:
    """Fit topics of BBC news with both methods; perplexity is of held-out documents.

    ``ranks``: Numbers of topics. ``seed``: Of the documents held out.
    """
    collection = bbc(root)  # type: ignore[arg-type]
    order = np.random.default_rng(seed).permutation(collection.table.shape[0])
    held, rest = np.split(order, [round(HELD * len(order))])
    rows: list[Facts] = []
    for rank in ranks:
        for method in ("spectral", "anchors"):
            start = time.process_time()
            model = TextTopics(method, n_components=rank, seed=seed, threads=1).fit_table(
                collection.table[rest], collection.words
            )
            seconds = time.process_time() - start
            tops = model.top_words(TOP)
            windows = in_windows(collection.texts or [], {word for topic in tops for word in topic}, window=10)
            row: Facts = {"method": method, "rank": rank, "npmi": float(npmi_coherence(tops, windows).mean())}
            row |= {
                "diversity": diversity(tops),
                "perplexity": held_out_perplexity(model, collection.table[held], seed=seed),
            }
            rows.append(row | {"seconds": seconds, "topics": [" ".join(topic) for topic in tops]})
    return {"documents": len(rest), "held_out": len(held), "rows": rows}

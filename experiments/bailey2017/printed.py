"""The models as Bailey and Aeron print them, beside those of the library, and the choices between the two.

As printed: disjoint chunks of eleven words count as contexts, PMI is normalised by the number of tokens, triples are
not weighted, CP-S has a shift of log 15; Adam with its usual learning rate fits random samples of the non-zero entries
and a tenth as many zero cells; non-negative models pass the factor through a ReLU and have an L1 penalty. The paper
does not give the batch, the number of steps, the L1 strength or the start; strength and start here are those of the
authors' program, which also has PMI in bits, and the mean of the losses of a batch.

The chain of each model changes one choice after another from the printed model to that of the library.

References
----------
Bailey, Aeron (2017), Word embeddings via tensor factorization, sections 4.2 to 5.2 and 6.1. arXiv:1704.02686
Kingma, Ba (2015), Adam: a method for stochastic optimization, algorithm 1. arXiv:1412.6980
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numba import njit

from experiments.bailey2017.models import MODELS, Model, Variant
from experiments.bailey2017.scoring import HALF, kept_figure, write_rows
from experiments.bailey2017.stages import corpus_stage, counts_stage
from experiments.bailey2017.training import model_stage
from experiments.experiment import Stage
from polyadic import datasets
from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Count, Positive, Seed
from polyadic.core.penalties import NonNegative
from polyadic.embedding import Embedding
from polyadic.metrics.figures import Figure, difference, ratio
from polyadic.metrics.similarity import similarity
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi
from polyadic.words import evaluation as words
from polyadic.words.base import WordModel
from polyadic.words.symmetric import SymmetricCP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from experiments.bailey2017.models import Settings
    from experiments.experiment import Run, Stages
    from polyadic.core.stage_cache import Facts
    from polyadic.text.corpus import Corpus

SETS = {"ws353": "WordSim-353", "men": "MEN", "mturk-287": "MTurk"}
NEARBY = "neighbours nearby"
COMMON, TOP = 2000, 10
"""Most frequent words whose nearest neighbours are looked up, and the number of neighbours of each."""


class PrintedCP(WordModel):
    r"""Symmetric CP of PPMI tensors of one or several orders, as printed: Adam on samples of entries and zeros.

    .. math:: \min_U \sum_n \operatorname{mean}_{e \in B_n} \Big(x_e - \sum_r \prod_d v_{e_d r}\Big)^2
              + \lambda \|U\|_1, \qquad V = U \text{ or } \max(U, 0)

    Each batch :math:`B_n` consists of ``batch`` entries of order n, drawn in proportion to their weights, and ``zeros``
    times as many cells without an entry, of different words. The vectors are :math:`V`. Values are converted to bits.
    """

    rank: Count = 300
    _: KW_ONLY
    nonnegative: bool = False
    l1: Amount = 0.0
    zeros: Amount = 0.1
    batch: Count = 16_384
    steps: Count = 600
    learning_rate: Positive = 1e-3
    seed: Seed = None

    def fit(self, entries: Entries | Sequence[Entries]) -> Self:
        """Fit vectors to associations of one or several orders, up to 3."""
        self.check()
        lists = [entries] if isinstance(entries, Entries) else list(entries)
        size, rng = lists[0].shape[0], np.random.default_rng(self.seed)
        first = lists[0].values.mean() / math.log(2) if len(lists) == 1 else 15.0
        mean = (first / self.rank) ** (1 / lists[0].order)
        U = (mean * (1 + rng.standard_normal((size, self.rank)) / 5)).astype(np.float32)
        T = kernels.table(U, np.zeros_like(U))  # V, and the gradient of the loss
        V, G = T[:, 0, : self.rank], T[:, 1, : self.rank]
        M, S = np.zeros_like(U), np.zeros_like(U)
        samples = [_samples(x, self.batch, self.zeros, rng) for x in lists]
        self.history_ = []
        for step in range(1, self.steps + 1):
            self.history_.append(sum(_add_gradient(T, *next(sample)) for sample in samples))
            adam_step((U, V, G, M, S), step, self.learning_rate, self.l1 if self.nonnegative else -1.0)
        self.vectors_ = V.copy()
        return self


def _samples(
    x: Entries, batch: int, zeros: float, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield random entries and zero cells: the words of each, three numbers, and the values in bits."""
    size, uniform = x.shape[0], x.weights is None or np.ptp(x.weights) == 0
    bounds = None if uniform else np.cumsum(np.asarray(x.weights), dtype=np.float64)
    while True:
        rows = (
            rng.integers(len(x), size=batch)
            if bounds is None
            else np.searchsorted(bounds, rng.random(batch) * bounds[-1])
        )
        cells = rng.integers(size, size=(round(zeros * batch), x.order))
        ranked = np.sort(cells, axis=1)
        cells = cells[(ranked[:, 1:] != ranked[:, :-1]).all(axis=1) & (x.find(cells) < 0)]
        tuples = np.concatenate([x.indices[rows], cells.astype(x.indices.dtype)])
        yield tuples, np.concatenate([x.values[rows] / math.log(2), np.zeros(len(cells))]).astype(np.float32)


def _add_gradient(T: NDArray[Any], tuples: NDArray[Any], values: NDArray[Any]) -> float:
    """Add the gradient of the mean squared error to the table; return the error."""
    how = {"offsets": [0] * tuples.shape[1], "zero_weight": 0.0, "scale": 2 / len(values)}
    return kernels.add_cp_squared(tuples, values, np.ones_like(values), T, **how)


@njit(cache=True)  # type: ignore[untyped-decorator]
def adam_step(arrays: Any, step: int, rate: float, l1: float) -> None:
    """Take an Adam step for U, store max(U, 0) in V, and set G to zero; with a negative L1, V is U, without penalty."""
    U, V, G, M, S = arrays
    low, high = 1 - 0.9**step, 1 - 0.999**step
    for i in range(U.shape[0]):
        for r in range(U.shape[1]):
            u, g = U[i, r], G[i, r]
            if l1 >= 0:
                g = (g if u > 0 else 0.0) + l1 * np.sign(u)
            M[i, r] = 0.9 * M[i, r] + 0.1 * g
            S[i, r] = 0.999 * S[i, r] + 0.001 * g * g
            u -= rate * (M[i, r] / low) / (np.sqrt(S[i, r] / high) + 1e-8)
            U[i, r] = u
            V[i, r] = max(u, 0) if l1 >= 0 else u
            G[i, r] = 0


class TenthZeros(SymmetricCP):
    """Symmetric CP of the library with the printed zeros: all cells alike, together a tenth of the entries."""

    def fit(self, entries: Any) -> Self:
        """Fit vectors to the associations of one order."""
        listed = float(entries.weights.sum(dtype=float))
        self.zero_weight = 0.1 * listed / (entries.shape[0] ** entries.order / math.factorial(entries.order))
        self.zero_power = 0.0
        return super().fit(entries)


TOKENS: dict[str, Any] = {"normaliser": "tokens", "weights": "uniform"}
CHUNKS: dict[str, Any] = {**TOKENS, "normaliser": "chunks"}
SHIFT = {"shift": 15.0}
SPARSE: dict[str, Any] = {"nonnegative": True, "l1": 1e-6}


def _of(make: Any, settings: dict[str, Any], **weights: dict[str, Any]) -> Model:
    """Return a model of counts, which keyword arguments name with underscores, and their weights."""
    counts = {name.replace("_", " "): how for name, how in weights.items()}
    return Model(make, "ppmi", tuple(counts), settings, counts)


printed = partial(_of, PrintedCP)
ARMS = {
    "cp-s, printed": printed({}, chunk_triples={**TOKENS, **SHIFT}),
    "cp-s, improved": MODELS["cp-s"],
    "cp-sn, printed": printed(SPARSE, chunk_triples=TOKENS),
    "cp-sn, improved": MODELS["cp-sn"],
    "jcp-s, printed": printed({}, chunk_pairs=TOKENS, chunk_triples=TOKENS),
    "jcp-s, improved": MODELS["jcp-s"],
    "jcp-sn, printed": printed(SPARSE, chunk_pairs=TOKENS, chunk_triples=TOKENS),
    "jcp-sn, improved": MODELS["jcp-sn"],
    "cp-sn, improved, L1": replace(MODELS["cp-sn"], settings={"penalty": NonNegative(10.0)}),
    "jcp-sn, improved, L1": replace(MODELS["jcp-sn"], settings={"penalty": NonNegative(10.0)}),
    **{name: MODELS[name] for name in ("sgns", "ppmi-svd", "nnse")},
}
"""The printed models beside those of the library, and pairwise models for the neighbours; rank of the run."""
CHAINS = {
    "cp-s": {
        "printed": printed({}, chunk_triples={**TOKENS, **SHIFT}),
        "PMI normalised by chunks": printed({}, chunk_triples={**CHUNKS, **SHIFT}),
        "no shift": printed({}, chunk_triples=CHUNKS),
        "spans, twice at least, log weights": printed({}, triples={}),
        "to convergence, zeros exact": _of(TenthZeros, {}, triples={}),
        "improved: zeros by degree, 50-fold": MODELS["cp-s"],
    },
    "cp-sn": {
        "printed": printed(SPARSE, chunk_triples=TOKENS),
        "spans, twice at least, log weights": printed(SPARSE, triples={}),
        "to convergence, zeros exact, bound, no L1": _of(TenthZeros, {"penalty": NonNegative()}, triples={}),
        "improved: zeros by degree, 50-fold": MODELS["cp-sn"],
    },
}
"""Choices from printed to improved, one after another; rank of the studies."""
ALONE = {
    "cp-s": {
        "no shift": printed({}, chunk_triples=TOKENS),
        "no zeros": printed({"zeros": 0.0}, chunk_triples={**TOKENS, **SHIFT}),
        "5,000 steps of 2,048": printed({"steps": 5000, "batch": 2048}, chunk_triples={**TOKENS, **SHIFT}),
    },
    "cp-sn": {"no L1": printed({**SPARSE, "l1": 0.0}, chunk_triples=TOKENS)},
}
"""Single changes of the printed model; rank of the studies."""
LOOKED_AT = (
    *((f"{name}, improved", f"{name}, printed") for name in ("cp-s", "cp-sn", "jcp-s", "jcp-sn")),
    *((f"{name}, improved, L1", f"{name}, improved") for name in ("cp-sn", "jcp-sn")),
    *((arm, other) for arm in list(ARMS)[:6] for other in ("sgns", "nnse")),
)
"""Differences between arms that are reported."""


def printed_stages(run: Run[Settings]) -> Stages:
    """Train and test the printed models and those of the library, of the rank of the run."""
    asked = {name: row for name, row in ARMS.items() if name.partition(",")[0] in run.settings.models}
    variants = [Variant(name, row, run.settings.rank) for name, row in asked.items()]
    return (yield from _tested(run, "printed", variants, LOOKED_AT))


def ablation_stages(run: Run[Settings]) -> Stages:
    """Train and test the models between printed and improved, of the rank of the studies."""
    variants, steps, rank = [], [], run.settings.shift_rank
    for model, chain in CHAINS.items():
        if model not in run.settings.models:
            continue
        names = [f"{model}, {step}" for step in chain]
        variants += [Variant(name, row, rank) for name, row in zip(names, chain.values(), strict=True)]
        steps += [*zip(names[1:], names[:-1], strict=True), (names[-1], names[0])]
        others = {f"{model}, only {step}": row for step, row in ALONE[model].items()}
        variants += [Variant(name, row, rank) for name, row in others.items()]
        steps += [(name, names[0]) for name in others]
    return (yield from _tested(run, "ablation", variants, steps))


def _tested(run: Run[Settings], part: str, variants: Sequence[Variant], compared: Iterable[tuple[str, str]]) -> Stages:
    if not variants:
        raise InputError(f"the part {part} has none of the models {', '.join(run.settings.models)}", "models")
    run = replace(run, settings=replace(run.settings, alone=False), folder=run.folder / part)
    corpus = yield from corpus_stage(run)
    counts = {}
    for name in ["near pairs", *dict.fromkeys(name for variant in variants for name in variant.row.counts)]:
        if name not in counts:
            counts[name] = yield counts_stage(run, name, corpus)
    scores, rows = {}, []
    for variant in variants:
        trained = yield model_stage(run, variant, corpus)
        scores[variant.name] = found = yield _scored(run, variant, trained, corpus)
        rows.append({"name": variant.name, "seconds": trained["seconds"], "zeros": trained["zeros"], **found})
    differences = [_compared(run, pair, scores) for pair in compared if {*pair} <= {*scores}]
    about = {"tokens": len(corpus), "words": len(corpus.vocabulary), "digest": corpus.digest, "counts": counts}
    return {"rank": variants[0].rank, "corpus": about, "rows": rows, "differences": differences}


def _scored(run: Run[Settings], variant: Variant, trained: Facts, corpus: Corpus) -> Stage:
    """Test a model on the test half of the outlier groups, on pairs, and for neighbours that occur together."""

    def make() -> Facts:
        vectors = Embedding.load(run.folder / "models" / variant.name)
        groups, sets = datasets.outlier_groups("wikisem500", root=run.root)[1::2], datasets.similarity_sets(run.root)
        figures = [figure for order in words.ORDERS[:2] for figure in words.ordered(vectors, groups, order, HALF)]
        figures += [similarity(vectors, sets[name]).figure(name) for name in SETS]
        near = ppmi(Counts.open(run.folder / "counts" / "near pairs"))
        figures.append(neighbours_nearby(vectors, near, common=COMMON))
        write_rows(run.folder / "scores" / f"{variant.name}.npz", figures)
        return {"figures": {f.name: f.as_dict() | {"statistic": f.statistic.__name__} for f in figures}}

    made_of = {"vectors": trained["vectors"], "corpus": corpus.digest, "common": [COMMON, TOP]}
    return Stage(f"scores/{variant.name}", made_of, make)


def neighbours_nearby(vectors: Embedding, near: Entries, *, common: int) -> Figure:
    """Return the share of nearest neighbours with a positive PMI with their word, for the most frequent words."""
    unit = vectors.unit
    asked = min(common, len(unit))
    cosines = unit[:asked] @ unit.T
    cosines[np.arange(asked), np.arange(asked)] = -np.inf
    top = np.argsort(-cosines, axis=1, kind="stable")[:, : min(TOP, len(unit) - 1)]
    pairs = np.stack([np.repeat(np.arange(asked), top.shape[1]), top.ravel()], axis=1)
    found = (near.find(pairs) >= 0).reshape(asked, -1).sum(axis=1)
    return Figure(NEARBY, np.stack([found, np.full(asked, top.shape[1])], axis=1).astype(float), asked, asked, ratio)


def _compared(run: Run[Settings], pair: tuple[str, str], scores: dict[str, Facts]) -> Facts:
    """Return the differences between two models for each figure, with paired intervals."""
    row: Facts = {"name": " - ".join(pair)}
    for name in scores[pair[0]]["figures"]:
        a, b = (kept_figure(run.folder, model, scores[model]["figures"][name]) for model in pair)
        row[name] = difference(a, b)._asdict()
    return row

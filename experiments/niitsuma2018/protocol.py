"""Niitsuma and Lee (2018): train correspondence analyses and their baselines, and test them on word pairs.

This is Table 3 of the paper, on any text. A small text is cut into words, words are counted with those to their left,
and vectors of 100 numbers are compared with people's scores of similarity. Three things are not as printed. Unknown
words: the published figures keep pairs with an unknown word at similarity 0, and some of them rank human scores as
strings; both policies are shown, and numbers are ranked. The weights of the kernels were not published; they are chosen
on pairs of another set (MTurk-771). The similarity kernel learns from SimLex-999, not from MEN, which is a test set;
pairs in both are left out of it. (The printed formula of that kernel, eq. 49, holds for differences only, so there is
no G-test with it.) The rows with published figures are the methods as printed; the rows after them change one choice
after another.

The G-test has identity kernels in Table 2 and no kernel of its own in eq. 45, so "G-test with SW" is run in both
readings: the kernels of eq. 45, weighted inverse margins, and weighted identities.

The part ``cases`` compares the special cases SGNS and GloVe of Table 2, as printed, with SGNS and GloVe themselves on
the same text, vocabulary and window.

References
----------
Niitsuma, Lee (2018), Word2Vec is a special case of kernel correspondence analysis and kernels for natural language
processing, section 6. arXiv:1605.05087
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from experiments.experiment import (
    Experiment,
    ExperimentSettings,
    Option,
    Parts,
    Run,
    Seed,
    Source,
    Stage,
    Stages,
    Threads,
    table_stage,
)
from experiments.niitsuma2018.report import TESTS, report
from polyadic import datasets
from polyadic.core.errors import InputError
from polyadic.core.files import whole_folder
from polyadic.core.settings import Count, Within
from polyadic.core.stage_cache import digest
from polyadic.embedding import Embedding
from polyadic.metrics.figures import difference
from polyadic.metrics.similarity import similarity
from polyadic.tables.residuals import stop_word_kernel
from polyadic.tables.vectors import CorrespondenceVectors
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.readers import stamp
from polyadic.text.stopwords import stop_words
from polyadic.text.weighting import ppmi
from polyadic.words.glove import GloVe
from polyadic.words.neural import Word2Vec
from polyadic.words.pairwise import PPMISVD

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts
    from polyadic.datasets import Pair

CHOOSING, LEARNING = "mturk-771", "simlex-999"
"""The set that weights of stop words are chosen on, and that whose scores the similarity kernel learns."""
WEIGHTS = {"stop_weight": (-0.9, -0.5, 0.5, 1.0, 3.0), "score_weight": (1.0, 10.0, 100.0, 1000.0)}
"""Weights of stop words, and of scores, to choose from."""


class PrintedKernels(CorrespondenceVectors):
    """Vectors with the kernels of eq. 45, weighted inverse margins, for any residual."""

    def _kernels(self, shape: tuple[int, ...]) -> dict[str, Any]:
        del shape
        kernel = stop_word_kernel(tuple(self.words or ()), self.stop_weight, stop_words=self.stop_words)
        return {"row_kernel": kernel, "column_kernel": kernel}


@dataclass(frozen=True)
class Row:
    """A row of the table.

    ``name``: As printed, or of one added. ``settings``: Of :class:`~polyadic.tables.vectors.CorrespondenceVectors`;
    ``side`` is both unless named. ``kernel``: The weight of the kernel that is chosen: ``"stop_weight"``,
    ``"score_weight"`` or nothing. ``published``: WordSim-353, MEN and MTurk as printed, by side. ``make``: The class.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    kernel: str = ""
    published: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    make: type[CorrespondenceVectors] = CorrespondenceVectors


ROWS = (
    Row("Linear CA", {"power": 1.0}, published={"rows": (0.189, 0.081, 0.201), "columns": (0.213, 0.072, 0.407)}),
    Row(
        "Linear CA with SW",
        {"power": 1.0},
        "stop_weight",
        {"rows": (0.198, 0.088, 0.212), "columns": (0.222, 0.087, 0.421)},
    ),
    Row(
        "Linear CA with WS",
        {"power": 1.0},
        "score_weight",
        {"rows": (0.190, 0.084, 0.201), "columns": (0.213, 0.074, 0.407)},
    ),
    Row(
        "G-test",
        {"residual": "g-test", "power": 1.0},
        published={"rows": (0.139, 0.074, 0.156), "columns": (0.169, 0.051, 0.365)},
    ),
    Row(
        "G-test with SW",
        {"residual": "g-test", "power": 1.0},
        "stop_weight",
        {"rows": (0.178, 0.078, 0.179), "columns": (0.186, 0.065, 0.369)},
        PrintedKernels,
    ),
    Row("G-test with SW, weighted identities", {"residual": "g-test", "power": 1.0}, "stop_weight"),
    Row("G-test, kernels of CA", {"residual": "g-test", "power": 1.0}, make=PrintedKernels),
    Row("Linear CA, power .5", {"power": 0.5}),
    Row("CA of roots of counts, power 1", {"count_exponent": 0.5, "power": 1.0}),
    Row("CA of roots of counts", {"count_exponent": 0.5, "power": 0.5}),
    Row("KCA, positive PMI", {"residual": "sgns", "power": 0.5}),
)
SGNS = (0.192, 0.061, 0.314)
"""As printed."""
COMPARED = (
    *(
        (f"{name} {side}", other if other == "SGNS" else f"{other} {side}")
        for name, other in (
            ("Linear CA", "SGNS"),
            ("G-test", "SGNS"),
            ("Linear CA with SW", "Linear CA"),
            ("Linear CA with WS", "Linear CA"),
            ("G-test with SW", "G-test"),
            ("G-test with SW", "G-test, kernels of CA"),
            ("G-test with SW, weighted identities", "G-test"),
            ("Linear CA, power .5", "Linear CA"),
            ("CA of roots of counts, power 1", "Linear CA"),
            ("CA of roots of counts", "CA of roots of counts, power 1"),
            ("CA of roots of counts", "SGNS"),
        )
        for side in "FG"
    ),
    ("Linear CA G", "Linear CA F"),
)
"""Rows of Table 3 whose differences are reported."""
CASES: dict[str, dict[str, Any]] = {
    "SGNS case, k = 1, as printed": {"residual": "sgns", "positive": False},
    "SGNS case, k = 1, positive": {"residual": "sgns"},
    "SGNS case, k = 5, as printed": {"residual": "sgns", "positive": False, "shift": 5.0},
    "SGNS case, k = 5, positive": {"residual": "sgns", "shift": 5.0},
    "GloVe case, as printed": {"residual": "glove"},
}
"""Special cases of Table 2 of the paper; SGNS itself has five negative samples."""


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    source: Source = ""
    rank: Annotated[Count, Option("Length of a vector.", panel="Model")] = 100
    width: Annotated[int, Within(1, 1000), Option("Words to the left that are contexts.")] = 2
    min_count: Annotated[Count, Option("Drop words that are rarer.", panel="Corpus")] = 20
    share: Annotated[float, Within(0.001, 1), Option("Share of the text to take, from its beginning.")] = 0.2
    seed: Seed = 0
    threads: Threads = None
    """Threads for reading and counting; word2vec has one, so that it is reproducible."""


def _table3(run: Run[Settings]) -> Stages:
    settings, sets = run.settings, datasets.similarity_sets(run.root)
    tested = {frozenset(pair[:2]) for name in TESTS for pair in sets[name]}
    learnt = [pair for pair in sets[LEARNING] if frozenset(pair[:2]) not in tested]
    yield _corpus(run)
    corpus = Corpus.open(run.folder / "corpus")
    table = contexts(corpus, side="left", width=settings.width).astype(np.float32)
    words = corpus.vocabulary.words
    given = {"corpus": corpus.digest, "width": settings.width}
    baselines: dict[str, tuple[Any, Any, Any]] = {
        "SGNS": (Word2Vec(settings.rank, method="sgns", window=settings.width, seed=settings.seed), corpus, SGNS),
        "PPMI-SVD": (PPMISVD(settings.rank, seed=settings.seed), _ppmi(corpus, settings), None),
    }
    rows = []
    for name, (baseline, data, published) in baselines.items():
        stage = _training(run, given, name, baseline, data, corpus)
        row = _tested(name, "rows", (yield stage), stage.target, sets, published)
        rows.append({**row, "weight": None})
    for line in ROWS:
        for side in ("rows", "columns"):
            model = _model(line, side, settings, learnt, words)
            if line.kernel:
                choice = yield _choosing(
                    f"weights of {line.name} {side}", model, line.kernel, table, sets[CHOOSING], given
                )
                setattr(model, line.kernel, float(choice["weight"]))
            name = f"{line.name} {'F' if side == 'rows' else 'G'}"
            stage = _training(run, given, name, model, table, corpus)
            row = _tested(name, side, (yield stage), stage.target, sets, line.published.get(side))
            rows.append({**row, "weight": getattr(model, line.kernel) if line.kernel else None})
    differences = yield _differences(run, COMPARED, sets, {**given, "models": digest(repr(rows))})
    about = {"tokens": len(corpus), "words": len(words), "digest": corpus.digest}
    return {"corpus": about, "rows": rows, "differences": differences["rows"]}


def _cases(run: Run[Settings]) -> Stages:
    """Train SGNS, GloVe and their special cases with contexts on both sides."""
    run = replace(run, folder=run.folder / "cases")
    settings, sets = run.settings, datasets.similarity_sets(run.root)
    yield _corpus(run)
    corpus = Corpus.open(run.folder / "corpus")
    pairs = count(corpus, order=2, width=settings.width, threads=settings.threads).entries
    given = {"corpus": corpus.digest, "width": settings.width}
    how: dict[str, Any] = {"seed": settings.seed}
    models: dict[str, tuple[Any, Any]] = {
        "SGNS": (Word2Vec(settings.rank, window=settings.width, **how), corpus),
        "GloVe": (GloVe(settings.rank, x_max=10.0, threads=settings.threads, **how), pairs),
        **{name: (CorrespondenceVectors(settings.rank, **case, **how), pairs) for name, case in CASES.items()},
    }
    rows = []
    for name, (model, data) in models.items():
        stage = _training(run, given, name, model, data, corpus)
        rows.append({**_tested(name, "rows", (yield stage), stage.target, sets, None), "weight": None})
    compared = [(name, name.partition(" case")[0]) for name in CASES]
    differences = yield _differences(run, compared, sets, {**given, "models": digest(repr(rows))})
    about = {"tokens": len(corpus), "words": len(corpus.vocabulary), "digest": corpus.digest}
    return {"corpus": about, "rows": rows, "differences": differences["rows"]}


def _differences(run: Run[Settings], compared: Any, sets: dict[str, list[Pair]], given: Facts) -> Stage:
    """Compare vectors on the known pairs of each set, with paired intervals."""

    def make() -> list[Facts]:
        figures = {
            (name, test): similarity(Embedding.load(run.folder / "models" / name), sets[test]).figure()
            for name in {name for pair in compared for name in pair}
            for test in TESTS
        }
        return [
            {"name": f"{a} - {b}"} | {test: difference(figures[a, test], figures[b, test])._asdict() for test in TESTS}
            for a, b in compared
        ]

    return table_stage("differences", {**given, "compared": repr(compared)}, make)


def _corpus(run: Run[Settings]) -> Stage:
    """Take the first documents of a text, of about the share of its words."""
    source, settings, target = run.settings.source, run.settings, run.folder / "corpus"
    if source == "-":
        raise InputError("standard input cannot be read again when a run goes on; name a file, a folder or a corpus")
    given = Corpus.open(source) if (Path(source) / "meta.json").is_file() else None

    def make() -> Facts:
        every = given or Corpus.build(source, min_count=1, jobs=settings.threads)
        ends = every.sentences[every.documents[1:]]
        first = max(1, int(np.searchsorted(ends, settings.share * len(every), side="right")))
        with whole_folder(target, kind="corpus", overwrite=True) as draft:
            draft.rmdir()  # select makes it, and this puts it in the place of what was there
            part = every.select(np.arange(first), draft, min_count=settings.min_count)
        return {"tokens": len(part), "words": len(part.vocabulary), "documents": first}

    text = stamp(source) if given is None else given.digest
    return Stage("corpus", {"text": text, "share": settings.share, "min_count": settings.min_count}, make, target)


def _ppmi(corpus: Corpus, settings: Settings) -> Any:
    return ppmi(count(corpus, order=2, width=settings.width, threads=settings.threads), smoothing=0.75)


def _model(
    row: Row, side: Any, settings: Settings, learnt: list[Pair], words: tuple[str, ...]
) -> CorrespondenceVectors:
    model = row.make(settings.rank, side=side, words=words, seed=settings.seed, **row.settings)
    if row.kernel == "stop_weight":
        model.stop_words = stop_words("english")
    if row.kernel == "score_weight":
        model.scores = learnt
    return model


def _choosing(
    name: str, model: CorrespondenceVectors, kernel: str, table: Any, pairs: list[Pair], given: Facts
) -> Stage:
    """Choose the weight of a kernel on pairs that are not tested."""

    def make() -> Facts:
        scores = {}
        for weight in WEIGHTS[kernel]:
            setattr(model, kernel, weight)
            vectors = model.fit(table).embedding(model.words or ())
            scores[weight] = similarity(vectors, pairs).spearman
        return {"weight": max(scores, key=lambda weight: scores[weight]), "spearman": scores}

    made_of = {**given, **_settings(model), "from": WEIGHTS[kernel], "pairs": digest(repr(pairs))}
    return Stage(name, made_of, make)


def _settings(model: Any) -> Facts:
    """Return the settings of a model; long ones by their digest."""
    settings = {key: value for key, value in vars(model).items() if not key.endswith("_") and key != "callback"}
    long = ("words", "scores", "stop_words")
    return {key: digest(repr(sorted(value or ()))) if key in long else value for key, value in settings.items()}


def _training(run: Run[Settings], given: Facts, name: str, model: Any, data: Any, corpus: Corpus) -> Stage:
    """Fit a model."""
    target, known = run.folder / "models" / name, corpus.vocabulary

    def make() -> Facts:
        model.fit(data).embedding(known.words, counts=known.counts).save(target, overwrite=True)
        return {}

    return Stage(f"models/{name}", {**given, **_settings(model)}, make, target)


def _tested(
    name: str, side: str, trained: Facts, folder: Any, sets: dict[str, list[Pair]], published: Any
) -> dict[str, Any]:
    """Test vectors by both policies."""
    vectors = Embedding.load(folder)
    line: dict[str, Any] = {"name": name, "side": side, "seconds": trained["stage_seconds"], "published": published}
    for test in TESTS:
        known = similarity(vectors, sets[test])
        low, high = known.figure().interval()
        zero = similarity(vectors, sets[test], unknown="zero").spearman
        line[test] = {"zero": zero, "known": known.spearman, "low": low, "high": high, "covered": known.covered}
        line[test]["total"] = known.total
    return line


STAGES: Parts[Settings] = {"": _table3, "cases": _cases}
EXPERIMENT = Experiment(Settings, STAGES, report)

r"""Table 3 of Niitsuma and Lee (2018) on any text: word vectors by correspondence analysis and its kernels.

A small text is cut into words, words are counted with those to their left, and vectors of 100 numbers are compared with
people's scores of similarity. Three things are not as printed. Unknown words: the published figures keep pairs with an
unknown word at similarity 0, and some of them rank human scores as strings; both policies are shown, and numbers are
ranked. The weights of the kernels were not published; they are chosen on pairs of another set (MTurk-771). The
similarity kernel learns from SimLex-999, not from MEN, which is a test set; pairs in both are left out of it. (The
printed formula of that kernel, eq. 49, holds for differences only, so there is no G-test with it.)

References
----------
Niitsuma, Lee (2018), Word2Vec is a special case of kernel correspondence analysis and kernels for natural language
processing, section 6. arXiv:1605.05087
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import datasets
from polyadic.embedding import Embedding
from polyadic.errors import InputError, check_int
from polyadic.files import whole_folder
from polyadic.metrics.similarity import similarity
from polyadic.models.tables.vectors import CorrespondenceVectors
from polyadic.models.words.neural import Word2Vec
from polyadic.models.words.pairwise import PPMISVD
from polyadic.suites.numbers import share
from polyadic.suites.store import Store, digest, stamp, write_report
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.stopwords import stop_words
from polyadic.text.weighting import ppmi

if TYPE_CHECKING:
    from polyadic.datasets import Pair
    from polyadic.suites.store import Facts, Steps

TESTS = {"ws353": "WordSim-353", "men": "MEN", "mturk-287": "MTurk"}
CHOOSING, LEARNING = "mturk-771", "simlex-999"
"""The set that weights of stop words are chosen on, and that whose scores the similarity kernel learns."""
WEIGHTS = {"stop_weight": (-0.9, -0.5, 0.5, 1.0, 3.0), "score_weight": (1.0, 10.0, 100.0, 1000.0)}
"""Weights of stop words, and of scores, to choose from."""


@dataclass(frozen=True)
class Row:
    """A model of the table.

    Attributes
    ----------
    name : str
        As printed, or of one added.
    settings : dict
        Of :class:`~polyadic.models.tables.vectors.CorrespondenceVectors`; ``side`` is both unless named.
    kernel : str
        The weight of the kernel that is chosen: ``"stop_weight"``, ``"score_weight"`` or nothing.
    published : dict of str to tuple
        WordSim-353, MEN and MTurk as printed, by side.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    kernel: str = ""
    published: dict[str, tuple[float, float, float]] = field(default_factory=dict)


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
        {"case": "g-test", "power": 1.0},
        published={"rows": (0.139, 0.074, 0.156), "columns": (0.169, 0.051, 0.365)},
    ),
    Row("Linear CA, power .5", {"power": 0.5}),
    Row("CA of roots of counts", {"temper": 0.5, "power": 0.5}),
    Row("KCA, positive PMI", {"case": "sgns", "power": 0.5}),
)
POLICIES = (
    "For each set: pairs with an unknown word at similarity 0, as printed; known pairs alone, with a 95 % interval;"
    " what was published (of another text)."
)
SGNS = (0.192, 0.061, 0.314)
"""As printed."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    rank, width : int
        Length of the vectors; words to the left that are contexts.
    min_count : int
        Words that are rarer are left out.
    share : float
        How much of the text is taken, from its beginning: a fifth, as published.
    seed : int
    threads : int, optional
        Of reading and of counting; word2vec has one, so that it repeats itself.

    Raises
    ------
    InputError
        If one is out of range.
    """

    rank: int = 100
    width: int = 2
    min_count: int = 20
    share: float = 0.2
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("rank", "width", "min_count"):
            check_int(name, getattr(self, name), low=1)
        if not 0 < self.share <= 1:
            raise InputError(f"share must be above 0 and at most 1; got {self.share!r}")


def run(
    source: str, out: Path, *, settings: Settings, steps: Steps, root: Path | None = None, force: bool = False
) -> Facts:
    """Train and test all models of the table on a text, and report.

    Parameters
    ----------
    source : str
        Text (a file, folder or glob) or a corpus folder.
    out : Path
        The folder of the run. Finished stages in it are used again.
    settings : Settings
        What is trained, and how.
    steps : callable
        Told of each stage.
    root : Path, optional
        Of the test sets: see :func:`polyadic.datasets.folder`.
    force : bool
        Whether stages made with other settings are replaced instead of refused.

    Returns
    -------
    dict
        The content of ``report.json``.

    Raises
    ------
    InputError
        If the source or the test sets cannot be used, or stages in the folder were made with others.
    """
    sets = datasets.similarity_sets(root)
    tested = {frozenset(pair[:2]) for name in TESTS for pair in sets[name]}
    learnt = [pair for pair in sets[LEARNING] if frozenset(pair[:2]) not in tested]
    store = Store(out, steps=steps, force=force)
    corpus = _corpus(source, store, settings)
    table = contexts(corpus, side="left", width=settings.width).astype(np.float32)
    words = corpus.vocabulary.words
    given = {"corpus": corpus.digest, "width": settings.width}
    baselines: dict[str, tuple[Any, Any, Any]] = {
        "SGNS": (Word2Vec(settings.rank, method="sgns", window=settings.width, seed=settings.seed), corpus, SGNS),
        "PPMI-SVD": (PPMISVD(settings.rank, seed=settings.seed), _ppmi(corpus, settings), None),
    }
    lines = []
    for name, (baseline, data, published) in baselines.items():
        facts = _trained(store, given, name, baseline, data, corpus)
        lines.append({**_line(name, "rows", facts, sets, published), "weight": None})
    for row in ROWS:
        for side in ("rows", "columns"):
            model = _model(row, side, settings, learnt, words)
            if row.kernel:
                name = f"weights of {row.name} {side}"
                setattr(model, row.kernel, _weight(model, row.kernel, table, sets[CHOOSING], store, given, name))
            name = f"{row.name} {'F' if side == 'rows' else 'G'}"
            facts = _trained(store, given, name, model, table, corpus)
            weight = getattr(model, row.kernel) if row.kernel else None
            lines.append({**_line(name, side, facts, sets, row.published.get(side)), "weight": weight})
    sizes = {"tokens": len(corpus), "words": len(words), "digest": corpus.digest}
    return write_report(out, {"corpus": sizes, "settings": vars(settings), "rows": lines}, _report)


def _corpus(source: str, store: Store, settings: Settings) -> Corpus:
    """Take the first documents of a text, of about the share of its words."""
    if source == "-":
        raise InputError("standard input cannot be read again when a run goes on; name a file, a folder or a corpus")
    given = Corpus.open(source) if (Path(source) / "meta.json").is_file() else None

    def make(target: Path | None) -> Facts:
        assert target is not None
        every = given or Corpus.build(source, min_count=1, jobs=settings.threads)
        ends = every.sentences[every.documents[1:]]
        first = max(1, int(np.searchsorted(ends, settings.share * len(every), side="right")))
        with whole_folder(target, kind="corpus", overwrite=True) as draft:
            draft.rmdir()  # select makes it, and this puts it in the place of what was there
            part = every.select(np.arange(first), draft, min_count=settings.min_count)
        return {"tokens": len(part), "words": len(part.vocabulary), "documents": first}

    target = store.folder / "corpus"
    text = stamp(source) if given is None else given.digest
    made_of = {"text": text, "share": settings.share, "min_count": settings.min_count}
    store.keep("corpus", made_of, make, target=target)
    return Corpus.open(target)


def _ppmi(corpus: Corpus, settings: Settings) -> Any:
    return ppmi(count(corpus, order=2, width=settings.width, threads=settings.threads), smoothing=0.75)


def _model(
    row: Row, side: Any, settings: Settings, learnt: list[Pair], words: tuple[str, ...]
) -> CorrespondenceVectors:
    model = CorrespondenceVectors(settings.rank, side=side, words=words, seed=settings.seed, **row.settings)
    if row.kernel == "stop_weight":
        model.stop_words = stop_words("english")
    if row.kernel == "score_weight":
        model.scores = learnt
    return model


def _weight(
    model: CorrespondenceVectors, kernel: str, table: Any, pairs: list[Pair], store: Store, given: Facts, name: str
) -> float:
    """Choose the weight of a kernel on pairs that are not tested."""

    def make(_: Path | None) -> Facts:
        found = {}
        for weight in WEIGHTS[kernel]:
            setattr(model, kernel, weight)
            vectors = model.fit(table).embedding(model.words or ())
            found[weight] = similarity(vectors, pairs).spearman
        return {"weight": max(found, key=lambda weight: found[weight]), "spearman": found}

    made_of = {**given, **_settings(model), "from": WEIGHTS[kernel], "pairs": digest(repr(pairs))}
    return float(store.keep(name, made_of, make)["weight"])


def _settings(model: Any) -> Facts:
    """Give the settings of a model; long ones by their digest."""
    found = {key: value for key, value in vars(model).items() if not key.endswith("_") and key != "watch"}
    long = ("words", "scores", "stop_words")
    return {key: digest(repr(sorted(value or ()))) if key in long else value for key, value in found.items()}


def _trained(store: Store, given: Facts, name: str, model: Any, data: Any, corpus: Corpus) -> Facts:
    """Fit a model, unless its vectors are there."""

    def make(target: Path | None) -> Facts:
        assert target is not None
        known = corpus.vocabulary
        model.fit(data).embedding(known.words, counts=known.counts).save(target, overwrite=True)
        return {}

    (store.folder / "models").mkdir(exist_ok=True)
    target = store.folder / "models" / name
    facts = store.keep(f"models/{name}", {**given, **_settings(model)}, make, target=target)
    return {**facts, "target": target}


def _line(name: str, side: str, facts: Facts, sets: dict[str, list[Pair]], published: Any) -> dict[str, Any]:
    """Test vectors by both policies."""
    vectors = Embedding.load(facts["target"])
    line: dict[str, Any] = {"name": name, "side": side, "seconds": facts["stage_seconds"], "published": published}
    for test in TESTS:
        known = similarity(vectors, sets[test])
        low, high = known.figure().interval()
        zero = similarity(vectors, sets[test], unknown="zero").spearman
        line[test] = {"zero": zero, "known": known.spearman, "low": low, "high": high, "covered": known.covered}
        line[test]["total"] = known.total
    return line


def _report(facts: Facts) -> str:
    corpus, settings = facts["corpus"], facts["settings"]
    about = (
        f"{corpus['tokens']:,} tokens, {corpus['words']:,} words seen {settings['min_count']} times or more, rank"
        f" {settings['rank']}, {settings['width']} words to the left as contexts, seed {settings['seed']}. Corpus"
        f" {corpus['digest'][:16]}."
    )
    headings = ["", *(f"{test} | known | published" for test in TESTS.values()), "weight", "seconds"]
    lines = ["# Niitsuma and Lee (2018), on this text", "", about, "", POLICIES, "", f"| {' | '.join(headings)} |"]
    lines.append("|---|" + "---|" * (3 * len(TESTS) + 2))
    for row in facts["rows"]:
        cells = []
        for k, test in enumerate(TESTS):
            f = row[test]
            cells.append(share(f["zero"]))
            cells.append(f"{share(f['known'])} ({share(f['low'])} to {share(f['high'])})")
            cells.append(share(row["published"][k]) if row["published"] else "")
        weight = "" if row["weight"] is None else f"{row['weight']:g}"
        lines.append(f"| {row['name']} | {' | '.join(cells)} | {weight} | {row['seconds']:.1f} |")
    first = facts["rows"][0]
    covered = ", ".join(f"{first[t]['covered']:,} of {first[t]['total']:,} of {name}" for t, name in TESTS.items())
    lines += ["", f"Known pairs: {covered}."]
    return "\n".join(lines) + "\n"

"""Word vectors under changed settings: the studies behind the defaults of `polyadic train`.

CORPUS is made by `polyadic corpus`. Unless a study says otherwise, scores are of development data: outlier detection on
every second group of WikiSem500 (the other half is for reports) and on 8-8-8, and the mean Spearman correlation over
the similarity sets. Needs POLYADIC_DATA. Each row of the Markdown tables is one model.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from experiments.bench.common import alternate, heading, row, timed
from experiments.experiment import Option
from polyadic import L2, PPMISVD, Corpus, Embedding, JointCP, NonNegative, SymmetricCP, count, ppmi, train
from polyadic.core.errors import InputError
from polyadic.datasets import outlier_groups, read_gaps, read_phrases, similarity_sets, write_gaps, write_phrases
from polyadic.embedding.components import components
from polyadic.metrics.completion import completion
from polyadic.metrics.figures import difference, rank_correlation
from polyadic.metrics.outliers import outliers
from polyadic.metrics.phrases import phrases
from polyadic.metrics.similarity import similarity
from polyadic.metrics.topics import in_windows, npmi_coherence
from polyadic.tables.vectors import CorrespondenceVectors
from polyadic.text.tokens import Tokenizer
from polyadic.words import held_out
from polyadic.words.methods import Training
from polyadic.words.phrases import phrase_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCORES = "OD2 OPP", "OD2 acc", "OD3 OPP", "OD3 acc", "8-8-8", "similarity"
JOINT = (2, 2), (3, 5)
"""Orders of joint models, and how often their tuples must be seen."""


def scores(vectors: Embedding) -> list[str]:
    """Return the cells of ``SCORES``."""
    development = outlier_groups("wikisem500")[::2]
    found = [outliers(vectors, development, order=order, resamples=1) for order in (2, 3)]
    small = outliers(vectors, outlier_groups("8-8-8"), resamples=1).accuracy
    numbers = [number for one in found for number in (one.opp, one.accuracy)]
    return [f"{number:.3f}".removeprefix("0") for number in (*numbers, small, mean_similarity(vectors))]


def mean_similarity(vectors: Embedding) -> float:
    return float(np.nanmean([similarity(vectors, pairs).spearman for pairs in similarity_sets().values()]))


def joint_lists(corpus: Corpus) -> dict[int, Any]:
    return {order: ppmi(count(corpus, order=order, width=10, min_count=n)) for order, n in JOINT}


def after_training(vectors: Path) -> None:
    """Post-processing of trained vectors: means removed, columns and singular values rescaled."""
    embedding = Embedding.load(vectors)
    V = embedding.vectors.astype(float)
    norms = np.linalg.norm(V, axis=0)
    norms[norms == 0] = 1
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    changed = {
        "as trained": V,
        "mean removed": V - V.mean(axis=0),
        **{f"columns times their norm to the power {p:g}": V * norms**p for p in (-0.5, 0.5)},
        **{f"singular values to the power {q:g}": U * s**q for q in (0.5, 0.75, 1.5)},
        "first two singular vectors removed": (U * s)[:, 2:],
    }
    heading("", *SCORES)
    for name, made in changed.items():
        row(name, *scores(Embedding(embedding.words, made)))


def cbow(corpus: Path, *, rank: int = 300, rounds: int = 3) -> None:
    """Wall time from an encoded corpus to vectors: joint CP of pairs and triples, gensim's CBOW, in turn."""
    from gensim.models import Word2Vec

    text = Corpus.open(corpus)
    words = text.vocabulary.words
    sentences = [sentence for number in range(len(text.documents) - 1) for sentence in text.document(number)]

    def joint(sweeps: int, *, eigenvectors: bool, penalty: Any = None) -> Embedding:
        lists = list(joint_lists(text).values())
        start = PPMISVD(rank, seed=0).fit(lists[0]).vectors_ if eigenvectors else None
        how = {"max_iter": sweeps, "tol": 1e-3 if sweeps > 100 else 0, "zero_weight": 0.1, "zero_power": 0.0, "seed": 0}
        return SymmetricCP(rank, penalty=penalty or L2(), start=start, **how).fit(lists).embedding(words)

    def word2vec(**of: Any) -> Embedding:
        model = Word2Vec(vector_size=rank, min_count=1, workers=2, epochs=5, seed=0, sg=0, **of)
        return Embedding(words, model.wv[words])

    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as lines:
        lines.writelines(" ".join(sentence) + "\n" for sentence in sentences)
        lines.flush()
        contenders = {
            "JCP-S, eigenvectors, 10 sweeps": partial(joint, 10, eigenvectors=True),
            "JCP-S, eigenvectors, 20 sweeps": partial(joint, 20, eigenvectors=True),
            "JCP-S, random, to convergence": partial(joint, 300, eigenvectors=False),
            "JCP-SN, random, to convergence": partial(joint, 300, eigenvectors=False, penalty=NonNegative()),
            "CBOW, sentences": partial(word2vec, sentences=sentences),
            "CBOW, corpus_file": partial(word2vec, corpus_file=lines.name),
        }
        timings = alternate(contenders, rounds)
    heading("", "seconds", *SCORES)
    for name, timing in timings.items():
        row(name, f"{timing.seconds:.1f}", *scores(timing.result))


CHANGES: tuple[dict[str, Any], ...] = (
    *({}, {"penalty": L2()}, {"penalty": NonNegative(1.0)}, {"zero_weight": 0.01}, {"zero_weight": 1.0}),
    *({"weights": "uniform"}, {"weights": "count"}, {"weights": (50.0, 0.75)}, {"smoothing": 0.75}, {"shift": 15.0}),
    *({"width": 5}, {"width": 5, "min_count": 1}, {"min_count": 3}),
)


def defaults(corpus: Path, *, rank: int = 100) -> None:
    """The defaults of `polyadic train`, one setting changed at a time."""
    text = Corpus.open(corpus)
    words = text.vocabulary.words
    heading("setting", "entries", "seconds", "sweeps", "zeros", *SCORES)
    pairs = ppmi(count(text, order=2, width=5), smoothing=0.75)
    row("PPMI-SVD, span 5", f"{len(pairs):,}", "", "", "", *scores(PPMISVD(rank).fit(pairs).embedding(words)))
    for change in CHANGES:
        setting = {"width": 10, "min_count": 2, "weights": "log", "zero_weight": 0.1, "zero_power": 0.0}
        setting |= {"penalty": NonNegative(), **change}
        tuples = count(text, order=3, width=setting.pop("width"), min_count=setting.pop("min_count"))
        entries = ppmi(tuples, **{k: setting.pop(k) for k in ("weights", "smoothing", "shift") if k in setting})
        timing = timed(lambda: SymmetricCP(rank, seed=0, **setting).fit(entries))  # noqa: B023 # called at once
        model, name = timing.result, ", ".join(f"{key} {value}" for key, value in change.items()) or "standard"
        facts = f"{len(entries):,}", f"{timing.seconds:.0f}", model.n_iter_, f"{np.mean(model.factors_[0] == 0):.2f}"
        row(name, *facts, *scores(model.embedding(words)))


MARKS = (5, 10, 20, 40, 80)
FREE = {"penalty": L2(), "start": np.asarray, "sweeps": 20}
SETTINGS: dict[str, dict[str, Any]] = {
    "JCP-S, eigenvectors": FREE,
    "JCP-S, eigenvectors, zero weight 1": {**FREE, "zero_weight": 1.0},
    "JCP-S, eigenvectors, ridge 100": {**FREE, "penalty": L2(100.0)},
    "JCP-S, eigenvectors, order weights .1, 1": {**FREE, "order_weights": (0.1, 1.0)},
    "JCP-SN": {},
    "JCP-SN, zero weight 1": {"zero_weight": 1.0},
    "JCP-SN, start |eigenvectors|": {"start": np.abs},
    "JCP-SN, start eigenvectors, negative ones zero": {"start": lambda V: np.maximum(V, 0)},
    "JCP-SN, order weights .1, 1": {"order_weights": (0.1, 1.0)},
    "JCP-SN, order weights 10, 1": {"order_weights": (10.0, 1.0)},
    "JCP-SN, l1 10": {"penalty": NonNegative(10.0)},
    "JCP-SN, l1 100": {"penalty": NonNegative(100.0)},
    "CP-SN of pairs": {"orders": (2,)},
    "CP-SN of triples": {"orders": (3,)},
    "CP-S of triples, eigenvectors": {**FREE, "orders": (3,)},
    "CP-S of pairs, eigenvectors": {**FREE, "orders": (2,)},
}


def joint(corpus: Path, *, rank: int = 300, threads: int | None = None) -> None:
    """Joint models of pairs and triples by start, order weights, zero weight and penalty, after some sweeps each."""
    text = Corpus.open(corpus)
    words, tensors = text.vocabulary.words, joint_lists(text)
    eigenvectors = PPMISVD(rank, seed=0).fit(tensors[2]).vectors_
    heading("setting", "sweeps", "seconds", "objective", "zeros", *SCORES)
    row("the eigenvectors (PPMI-SVD)", "", "", "", "0.00", *scores(Embedding(words, eigenvectors)))
    for name, changes in SETTINGS.items():
        setting = {"zero_weight": 0.1, "zero_power": 0.0, "penalty": NonNegative(), "orders": (2, 3), "sweeps": 80}
        setting |= changes
        lists = [tensors[order] for order in setting.pop("orders")]
        if "start" in setting:
            setting["start"] = setting["start"](eigenvectors)
        how = {"max_iter": setting.pop("sweeps"), "tol": 0, "seed": 0, "threads": threads}
        looking, began = [0.0], time.perf_counter()

        def look(result: Any, name: str = name, looking: list[float] = looking, began: float = began) -> None:
            if result.n_iter in MARKS:
                at, (U,) = time.perf_counter(), result.factors
                facts = f"{at - began - sum(looking):.0f}", f"{result.history[-1] / result.history[0]:.3f}"
                row(name, result.n_iter, *facts, f"{np.mean(U == 0):.2f}", *scores(Embedding(words, U)))
                looking.append(time.perf_counter() - at)

        SymmetricCP(rank, callback=look, **how, **setting).fit(lists)


PAIRS = ("--set", "smoothing=0.75", "--width", "5")
ALIKE = ("--set", "zero_weight=0.1", "--set", "zero_power=0")  # the default when the table was made
METHODS: dict[str, tuple[str, ...]] = {
    "random": (),
    "ppmi-svd": PAIRS,
    "nnse": PAIRS,
    "glove": (),
    "cbow": ("--set", "threads=2"),
    "sgns": ("--set", "threads=2"),
    "jcp": (),
    "cp-sn": ALIKE,
    "cp-s": ALIKE,
    **dict.fromkeys(("jcp-sn", "jcp-s"), ("--set", "tuple_min_count=2/5", *ALIKE)),
    "cp": ("--rank", "100"),
    "tucker": (),
    "cp-apr": (),
}


def methods(corpus: Path, *, out: Path, only: tuple[str, ...] = tuple(METHODS)) -> None:
    """Every method of `polyadic train`, each in a process of its own, scored on the half of WikiSem500 for reports.

    Vectors in ``out`` are not trained again; seconds are those of the factors alone.
    """
    out.mkdir(exist_ok=True)
    heading("method", "rank", "seconds", "sweeps", "zeros", "OD2 OPP", "OD2 accuracy", "OD3 OPP", "OD3 accuracy",
            "similarity")  # fmt: skip
    for method in only:
        saved = out / f"{method}.json"
        if not saved.exists():
            command = [sys.executable, "-m", "polyadic", "train", corpus, "--out", out / method, "--method", method]
            done = subprocess.run([*command, *METHODS[method], "--json"], check=True, stdout=subprocess.PIPE, text=True)
            saved.write_text(done.stdout, encoding="utf-8")
        factors = json.loads(saved.read_text())["steps"]["factors"]
        vectors, cells = Embedding.load(out / method), []
        for order in (2, 3):
            found = outliers(vectors, outlier_groups("wikisem500")[1::2], order=order)
            low, high = found.accuracy_interval
            cells += [f"{found.opp:.3f}", f"{found.accuracy:.3f} ({low:.3f} to {high:.3f})"]
        facts = vectors.rank, f"{factors['seconds']:.0f}", factors.get("sweeps", "")
        zeros = f"{np.mean(vectors.vectors == 0):.2f}"
        row(f"{method} {' '.join(METHODS[method])}", *facts, zeros, *cells, f"{mean_similarity(vectors):.3f}")


MEGABYTE = 1_000_000
REFERENCE = 20 * MEGABYTE
Form = Literal["words", "lemmas", "multiwords", "tagged"]
FORMS = {"words": {}, "lemmas": {"tokenizer": Tokenizer(lemmas=True)}, "multiwords": {"multiwords": True}}
SELECTION, REPORTED = ("mturk-771", "mturk-287", "ws353", "rg-65"), ("men", "simlex-999", "simverb-3500")


def cut(text: str, size: int, most: int) -> Iterator[str]:
    """Yield slices at equal distances, each from the beginning of a document to the end of a line."""
    number = max(min(most, len(text) // size), 1)
    for k in range(number):
        start = max(text.find("<doc ", k * len(text) // number), 0)
        yield text[start : text.rfind("\n", start, start + size) + 1]


def documents(text: str) -> list[str]:
    return [article.partition(">\n")[2] for article in text.split("</doc>")]


def encoded(text: str, form: Form, tagger: Path | None, **settings: Any) -> Corpus:
    """Return a corpus of words, or of the lemmas that a tagger finds."""
    if form in FORMS:
        return Corpus.build(documents(text), **FORMS[form], **settings)
    with tempfile.TemporaryDirectory() as name:
        plain, treebank = Path(name) / "text", Path(name) / "text.conllu"
        plain.write_text("\n".join(documents(text)), encoding="utf-8")
        call = [sys.executable, "-m", "polyadic", "tag", "apply", tagger, "--text", "--by-line", plain]
        subprocess.run([*call, "--out", treebank], check=True)
        return Corpus.build([treebank], field="lemma", **settings)


def agreement(vectors: Embedding, names: tuple[str, ...]) -> tuple[float, int]:
    """Return the mean correlation weighted by the number of known pairs, and that number."""
    total, known, sets = 0.0, 0, similarity_sets()
    for name in names:
        try:
            found = similarity(vectors, sets[name])
        except InputError:  # hardly a pair is known
            continue
        if np.isfinite(found.spearman):
            total, known = total + found.spearman * found.covered, known + found.covered
    return total / max(known, 1), known


def coherence(vectors: Embedding, reference: list[list[str]]) -> float:
    if not vectors.has_themes:
        return float("nan")
    tops = [[word for word, _ in each.words] for each in components(vectors.components)]
    tops = [top for top in tops if len(top) > 1]
    counted = in_windows(reference, {word for top in tops for word in top}, window=10)
    return float(np.mean(npmi_coherence(tops, counted)))


def sizes(
    text: Path,
    *,
    megabytes: tuple[float, ...] = (1.0, 5.0),
    ranks: tuple[int, ...] = (25, 50, 100, 200, 300),
    slices: Annotated[int, Option("Slices of each size.")] = 4,
    change: Annotated[str, Option("Settings of train, NAME=VALUE, between semicolons.")] = "",
    forms: tuple[Form, ...] = ("words",),
    tagger: Annotated[Path | None, Option("Of `polyadic tag train`; for the form tagged.")] = None,
    threads: int = 1,
) -> None:
    """Rank, non-negative components, spans and thresholds of `polyadic train` by text size; prints JSON lines.

    Settings are selected on MTurk-771, MTurk-287, WS353 and RG-65; MEN, SimLex-999 and SimVerb-3500 are for reports.
    All forms are scored on the words that all know, components by the NPMI of their ten words in 20 MB of other text.
    """
    changes: dict[str, Any] = {}
    for setting in filter(None, change.split(";")):
        name, value = setting.strip().split("=")
        changes[name] = ast.literal_eval(value) if value[0] in "(0123456789.TFN" else value
    of_text = {name: changes.pop(name, getattr(Training, name)) for name in ("min_count", "max_size", "stop_words")}
    whole = text.read_text(encoding="utf-8")
    kept, whole = whole[-REFERENCE:], whole[:-REFERENCE]
    other = Corpus.build(documents(kept), min_count=1, max_size=None)
    reference = [[w for sentence in other.document(k) for w in sentence] for k in range(len(other.documents) - 1)]
    for size in megabytes:
        for number, part in enumerate(cut(whole, int(size * MEGABYTE), slices)):
            corpora = {form: encoded(part, form, tagger, **of_text) for form in forms}
            common = sorted(set.intersection(*(set(corpus.vocabulary.words) for corpus in corpora.values())))
            for rank, (form, corpus) in product(ranks, corpora.items()):
                timing = timed(lambda: train(corpus, rank=rank, threads=threads, **changes))  # noqa: B023
                vectors = timing.result
                shared = Embedding(common, vectors.vectors[[vectors.index[word] for word in common]])
                (selected, pairs), (reported, _) = (agreement(shared, names) for names in (SELECTION, REPORTED))
                facts = {"megabytes": size, "slice": number, "rank": rank, "form": form, **of_text, **changes}
                facts |= {"tokens": len(corpus.ids), "words": len(vectors), "choose": round(selected, 4)}
                facts |= {"pairs": pairs, "report": round(reported, 4)}
                facts |= {"coherence": round(coherence(vectors, reference), 4), "seconds": round(timing.processor, 1)}
                print(json.dumps(facts), flush=True)


WIDTHS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "ppmi-svd": ((5, 3, 8), (5, 8, 10, 15)),
    "ca": ((5, 3, 8), (5, 8, 10, 15)),
    "root-ca": ((2, 3), (2, 3, 4, 6)),
    "glove": ((10,), (10, 20)),
    "cp-sn": ((10,), (15, 20)),
    "cp-s": ((10,), (15, 20)),
    "jcp": (((5, 10),), ((8, 15), (10, 20))),
}
"""Window widths in kept words, beginning with the default, and in running words."""


def windows(
    corpus: Path, *, only: tuple[str, ...] = tuple(WIDTHS), rank: int = 100, resamples: int = 1000, threads: int = 1
) -> None:
    """Window widths in kept words and in running words: similarity, and its difference from that of the default.

    Settings are selected on MTurk-771, MTurk-287, WS353 and RG-65, weighted as in ``sizes``, and on outlier groups.
    Intervals are those of a paired bootstrap over the word pairs of these sets.
    """
    text, sets = Corpus.open(corpus), similarity_sets()
    heading("method", "words", "width", "similarity", "difference (95 %)", "held-out sets", "OD2 OPP", "seconds")
    for method in only:
        base = None
        for distance, width in ((d, w) for d, of in zip(("kept", "running"), WIDTHS[method], strict=True) for w in of):
            how = {"method": method, "distance": distance, "width": width, "rank": rank, "threads": threads}
            timing = timed(lambda: train(text, **how))  # noqa: B023 # called at once
            vectors, rng = timing.result, np.random.default_rng(0)
            cases = [similarity(vectors, sets[name]).rows for name in SELECTION]
            draws = [rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), resamples) for rows in cases]
            found = [len(rows) * rank_correlation(rows, drawn) for rows, drawn in zip(cases, draws, strict=True)]
            value, samples = agreement(vectors, SELECTION)[0], np.sum(found, axis=0) / sum(map(len, cases))
            base = base or (value, samples)
            low, high = np.quantile(samples - base[1], (0.025, 0.975))
            outlying = outliers(vectors, outlier_groups("wikisem500")[::2], resamples=1).opp
            cells = f"{value:.3f}", f"{value - base[0]:+.3f} ({low:+.3f} to {high:+.3f})"
            held = f"{agreement(vectors, REPORTED)[0]:.3f}"
            row(method, distance, width, *cells, held, f"{outlying:.3f}", f"{timing.processor:.0f}")


def correspondence(corpus: Path, *, rank: int = 300) -> None:
    """Correspondence analysis by exponent of the counts, power and residual, beside PPMI-SVD."""
    text = Corpus.open(corpus)
    heading("", "seconds", *SCORES)
    for width in (2, 5, 10):
        counts = count(text, order=2, width=width)
        models: dict[str, Any] = {"PPMI-SVD": PPMISVD(rank, seed=0)}
        for temper, power in product((1.0, 0.5, 0.25), (1.0, 0.5, 0.0)):
            how = {"temper": temper, "power": power}
            models[f"CA, temper {temper:g}, power {power:g}"] = CorrespondenceVectors(rank, seed=0, **how)
        for case in ("gini", "g-test", "sgns", "glove"):
            models[f"{case}, power .5"] = CorrespondenceVectors(rank, case=case, seed=0)
        for name, model in models.items():
            table = ppmi(counts, smoothing=0.75) if name == "PPMI-SVD" else counts.entries
            seconds = timed(lambda: model.fit(table)).seconds  # noqa: B023 # called at once
            row(f"width {width}, {name}", f"{seconds:.0f}", *scores(model.embedding(text.vocabulary.words)))


COUNTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "span 5": ({"width": 5, "min_count": 2}, {}),
    "span 15": ({"width": 15, "min_count": 2}, {}),
    "chunks of 11": ({"width": 5, "min_count": 2, "window": "chunk"}, {}),
    "triples seen 5 times": ({"width": 10, "min_count": 5}, {}),
    "shift 4": ({"width": 10, "min_count": 2}, {"shift": 4.0}),
    "smoothing .75": ({"width": 10, "min_count": 2}, {"smoothing": 0.75}),
    "uniform weights": ({"width": 10, "min_count": 2}, {"weights": "uniform"}),
    "weights min(n / 50, 1)^.75": ({"width": 10, "min_count": 2}, {"weights": (50.0, 0.75)}),
}
"""How triples are counted and weighted: arguments of count, and of ppmi."""
Study = Literal["pairs", "zeros", "joint", "interaction", "counts", "blends"]


def studied(study: Study, rank: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Return the models of a study with their names and the tuples they are fitted to."""
    triples, both = ("triples",), ("pairs", "triples")

    def cp(**how: Any) -> SymmetricCP:
        return SymmetricCP(rank, penalty=NonNegative(), max_iter=60, tol=0.0, seed=0, **how)

    def joint(**how: Any) -> JointCP:
        return JointCP(**{"rank": rank, "max_iter": 60, "tol": 0.0, "seed": 0} | how)

    studies: dict[str, list[tuple[str, Any, tuple[str, ...]]]] = {
        "blends": [("JCP, coupling .5", joint(), both), ("CP-SN, power .75", cp(), triples)],
        "counts": [(f"CP-SN, {name}", cp(), (name,)) for name in COUNTED],
        "interaction": [
            ("CP-SN, specific interaction", cp(), ("specific",)),
            ("JCP, specific interaction", joint(), ("pairs", "specific")),
        ],
        "pairs": [("PPMI-SVD", PPMISVD(rank, seed=0), ("pairs",))],
        "zeros": [
            ("CP-SN, uniform zeros, .1", cp(zero_weight=0.1, zero_power=0.0), triples),
            ("CP-SN, uniform zeros, .01", cp(zero_weight=0.01, zero_power=0.0), triples),
            ("CP-SN, power .5", cp(zero_power=0.5), triples),
            ("CP-SN, power .75", cp(), triples),
            ("CP-SN, power 1", cp(zero_power=1.0), triples),
        ],
        "joint": [
            ("JCP-SN, one factor", cp(), both),
            ("JCP, coupling 1", joint(coupling=1.0), both),
            ("JCP, coupling .5", joint(), both),
            ("JCP, coupling .25", joint(coupling=0.25), both),
            ("JCP, equal order weights", joint(order_weights=[1.0, 1.0]), both),
            ("JCP, a third non-negative", joint(n_nonnegative=rank // 3), both),
            ("JCP, two thirds non-negative", joint(n_nonnegative=2 * rank // 3), both),
        ],
    }
    return studies[study]


def third_order(
    train: Path, held: Path, *, rank: int = 100, only: tuple[Study, ...] = ("pairs", "zeros", "joint")
) -> None:
    """Zeros, their power, orders, columns and phrases of third-order models, one setting changed at a time.

    Models are trained on the corpus TRAIN; tuples and phrases are of HELD, and are kept beside it as HELD-tests.
    """
    warnings.simplefilter("ignore")  # every model has the same number of sweeps
    text, place = Corpus.open(train), held.with_name(f"{held.name}-tests")
    if not place.exists():
        place.mkdir()
        write_gaps(place / "gaps.tsv", held_out.gaps(text, Corpus.open(held)))
        write_phrases(place / "phrases.tsv", held_out.phrases(text, Corpus.open(held)))
    gaps, cases = read_gaps(place / "gaps.tsv"), read_phrases(place / "phrases.tsv")
    triples = count(text, order=3, width=10, min_count=2)
    tuples = {"pairs": ppmi(count(text, order=2, width=5), smoothing=0.75), "triples": ppmi(triples)}
    if "interaction" in only:  # the residual of triples beyond their pairs
        tuples["specific"] = ppmi(triples, form="specific", lower=[count(text, order=2, width=10)])
    tests = "sum", "product", "matched sum", "matched product", "select", "by sums", "retrieve"
    heading(f"rank {rank}", "seconds", "zeros", *SCORES, *tests)
    for study in only:
        for name, model, kinds in studied(study, rank):
            how, weighting = COUNTED.get(kinds[0], ({}, {}))
            lists = [
                tuples[kind] if kind in tuples else ppmi(count(text, order=3, **how), **weighting) for kind in kinds
            ]
            seconds = timed(lambda: model.fit(lists if len(lists) > 1 else lists[0])).seconds  # noqa: B023
            vectors = model.embedding(text.vocabulary.words)
            filled, made = completion(vectors, gaps), phrases(vectors, cases)
            numbers = [filled.auc["sum"], filled.auc["product"], filled.matched["sum"], filled.matched["product"]]
            numbers += [made.selection["product"], max(v for rule, v in made.selection.items() if rule != "product")]
            cells = [f"{number:.3f}".removeprefix("0") for number in (*numbers, made.retrieval["product"])]
            zeros = f"{vectors.components.sparsity:.3f}".removeprefix("0")
            row(name, f"{seconds:.0f}", zeros, *scores(vectors), *cells)
            if study == "blends":
                blends(vectors, cases)
            if study == "pairs":
                for blend in (0.0, 0.25, 0.5, 1.0):
                    make = partial(phrase_vectors, vectors, tuples["triples"], blend=blend)
                    found = phrases(vectors, cases, make=make)
                    print(f"\nphrases from triples, blend {blend}: select {found.selection['made']:.3f},"
                          f" retrieve {found.retrieval['made']:.3f}", flush=True)  # fmt: skip


def blends(vectors: Embedding, cases: list[Any]) -> None:
    """Print vectors of phrases by geometric mean and sum, less products, over the cases of odd number."""

    def figures(make: Callable[..., np.ndarray]) -> list[Any]:
        return phrases(vectors.components, cases, make=lambda titles: np.stack([make(*t) for t in titles])).figures()

    products = figures(vectors.product)
    print()
    heading("blend", "select", "less product", "retrieve", "less product")
    row("product", *(cell for figure in products for cell in (f"{figure.value:.4f}", "")))
    for blend in (0.0, 0.1, 0.25, 0.5, 1.0):
        cells = []
        for one, other in zip(figures(partial(vectors.phrase, blend=blend)), products, strict=True):
            gap = difference(one, other)
            cells += [f"{one.value:.4f}", f"{gap.value:.4f} ({gap.low:.4f} to {gap.high:.4f})"]
        row(blend, *cells)


COMMANDS = after_training, cbow, defaults, joint, methods, sizes, windows, correspondence, third_order

"""The low-rank parser beside spaCy's, both trained from scratch on the English Web Treebank on one core.

spaCy's has its own convolutional embedding without pretrained vectors. Both print seconds of processor time, and
attachment scores by the same metric. Needs POLYADIC_DATA; spaCy 3.8.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import statistics
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from experiments.data.annotated import web_treebank
from polyadic import load
from polyadic.metrics.dependencies import dependency_score, match_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.trees import Tree

WORDS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
TAGS = ["TAG", "POS", "LEMMA", "MORPH"]
BATCH = 1000
"""Words of a batch, at most."""
PATIENCE = 5


def score(gold: Sequence[Tree], found: Iterable[Any]) -> dict[str, float]:
    """Return attachment scores, punctuation counted."""
    scored = dependency_score([match_trees(one, other) for one, other in zip(gold, found, strict=True)])
    return {"uas": round(scored.uas, 4), "las": round(scored.las, 4)}


def spacy_parser(*, tags: bool, seed: int) -> Any:
    """Return an untrained pipeline with a parser alone."""
    import spacy

    attributes = WORDS + (TAGS if tags else [])
    spacy.util.fix_random_seed(seed)
    nlp = spacy.blank("en")
    embed = {
        "@architectures": "spacy.MultiHashEmbed.v2",
        "width": 96,
        "attrs": attributes,
        "rows": [5000, 1000, 2500, 2500, 100, 50, 5000, 500][: len(attributes)],
        "include_static_vectors": False,
    }
    encode = {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": 96,
        "depth": 4,
        "window_size": 1,
        "maxout_pieces": 3,
    }
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "nO": None,
        "tok2vec": {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode},
    }
    nlp.add_pipe("parser", config={"model": model, "learn_tokens": False, "min_action_freq": 1})
    return nlp


def document(nlp: Any, tree: Tree, *, tags: bool, heads: bool) -> Any:
    """Return a sentence as spaCy's document."""
    from spacy.tokens import Doc

    columns: dict[str, Any] = {"words": list(tree.forms)}
    if tags:
        morphs = ["" if x == "_" else x for x in tree.features]
        columns |= {"tags": list(tree.xpos), "pos": list(tree.upos), "lemmas": list(tree.lemmas), "morphs": morphs}
    if heads:
        columns["heads"] = [word if head == 0 else head - 1 for word, head in enumerate(tree.heads.tolist())]
        columns |= {"deps": ["ROOT" if x == "root" else x for x in tree.relations]}
        columns |= {"sent_starts": [True, *[False] * (len(tree) - 1)]}
    return Doc(nlp.vocab, **columns)


def found_trees(docs: Iterable[Any]) -> list[Any]:
    """Return heads and relations of documents."""
    return [
        SimpleNamespace(
            heads=np.array([0 if t.head.i == t.i else t.head.i + 1 for t in doc], np.int32),
            relations=["root" if t.dep_ == "ROOT" else t.dep_ for t in doc],
        )
        for doc in docs
    ]


def batches(examples: Sequence[Any]) -> Iterator[list[Any]]:
    """Cut examples into batches of up to :data:`BATCH` words."""
    held: list[Any] = []
    words = 0
    for example in examples:
        if held and words + len(example.reference) > BATCH:
            yield held
            held, words = [], 0
        held.append(example)
        words += len(example.reference)
    yield held


def spacys(train: list[Tree], dev: list[Tree], test: list[Tree], *, tags: bool, minutes: float, seed: int) -> None:
    """Train spaCy's parser; print the figures of each pass, and those of the best one on the test part."""
    from spacy.training import Example

    nlp = spacy_parser(tags=tags, seed=seed)
    plain, right = ({"tags": tags, "heads": heads} for heads in (False, True))
    examples = [Example(document(nlp, tree, **plain), document(nlp, tree, **right)) for tree in train]
    learned, best, since, kept = 0.0, -1.0, 0, b""
    optimizer = nlp.initialize(lambda: examples)
    rng = np.random.default_rng(seed)

    def parsed(trees: Sequence[Tree]) -> list[Any]:
        return found_trees(nlp.pipe(document(nlp, tree, **plain) for tree in trees))

    for epoch in itertools.count(1):
        start = time.process_time()
        for batch in batches([examples[at] for at in rng.permutation(len(examples))]):
            nlp.update(batch, sgd=optimizer, drop=0.1)
        learned += time.process_time() - start
        with nlp.use_params(optimizer.averages):
            found = score(dev, parsed(dev))
            print(json.dumps({"pass": epoch, "seconds": round(learned, 1), **found}), flush=True)
            since += 1
            if found["las"] > best:
                best, since, kept = found["las"], 0, nlp.to_bytes()
        if since >= PATIENCE or learned > 60 * minutes:
            break
    nlp.from_bytes(kept)
    told(f"spaCy{' with tags' if tags else ''}", train, learned, dev=dev, test=test, parsed=parsed)


def ours(train: list[Tree], dev: list[Tree], test: list[Tree], *, order: int, seed: int) -> None:
    """Train ours; print the same."""
    our_parser(2, order, max_iter=1, seed=seed).fit(train[:20])  # kernels are compiled
    start = time.process_time()
    parser = our_parser(50, order, seed=seed).fit(train)
    seconds = time.process_time() - start
    told("polyadic", train, seconds, dev=dev, test=test, parsed=lambda trees: list(parser.annotate(trees)))


def our_parser(rank: int, order: int, **options: Any) -> LowRankParser:
    """Return an untrained parser of an order."""
    from polyadic.syntax.higher_order import HigherOrderParser
    from polyadic.syntax.low_rank_parser import LowRankParser

    return LowRankParser(rank, **options) if order == 1 else HigherOrderParser(rank, order=order, **options)


def parses(folder: Path, train: list[Tree], test: list[Tree], *, order: int, seed: int, rounds: int) -> None:
    """Parse the test part several times; print sentences in a second of processor time, and a digest of the trees."""
    if not folder.exists():
        our_parser(50, order, seed=seed).fit(train).save(folder)
    parser = load(folder)
    rates: list[int] = []
    for _ in range(rounds + 1):  # in the first kernels are compiled
        start = time.process_time()
        trees = list(parser.annotate(test))
        rates.append(round(len(test) / (time.process_time() - start)))
    digest = hashlib.sha256("".join(tree.conllu() for tree in trees).encode()).hexdigest()[:12]
    figures = {**score(test, trees), "trees": digest, "sentences_a_second": statistics.median(rates[1:])}
    print(json.dumps({"order": getattr(parser, "order", 1), **figures, "rounds": sorted(rates[1:])}))


def told(
    name: str,
    train: list[Tree],
    seconds: float,
    *,
    dev: list[Tree],
    test: list[Tree],
    parsed: Callable[[Sequence[Tree]], list[Any]],
) -> None:
    """Print what a parser reaches, and how fast it parses."""
    found = {"dev": score(dev, parsed(dev))}
    start = time.process_time()
    trees = parsed(test)
    rate = len(test) / (time.process_time() - start)
    figures = {"sentences": len(train), "seconds": round(seconds, 1), **found, "test": score(test, trees)}
    print(json.dumps({"name": name, **figures, "sentences_a_second": round(rate)}))


def treebank(sentences: int, seed: int) -> tuple[list[Tree], list[Tree], list[Tree]]:
    """Return a random part of the training trees, the development trees and the test trees."""
    train, dev, test = (web_treebank(part) for part in ("train", "dev", "test"))
    few = np.sort(np.random.default_rng(seed).permutation(len(train))[:sentences])
    return [train[at] for at in few], dev, test


def spacy(*, sentences: int = 12_544, tags: bool = False, minutes: float = 20, seed: int = 0) -> None:
    """Train spaCy's transition parser; print the scores of each pass, and those of the best one on the test part.

    Training stops after five passes without a gain on the development part, or after --minutes. With --tags the
    treebank's tags, lemmas and morphology are embedded too; ours gets them always.
    """
    spacys(*treebank(sentences, seed), tags=tags, minutes=minutes, seed=seed)


def polyadic(
    *, sentences: int = 12_544, order: Literal[1, 2, 3] = 1, parser: Path | None = None, rounds: int = 5, seed: int = 0
) -> None:
    """Train our parser and print the same; with --parser FOLDER, load or train it, and time parsing --rounds times.

    The digest of the trees lets two versions of the code be compared.
    """
    train, dev, test = treebank(sentences, seed)
    if parser:
        parses(parser, train, test, order=order, seed=seed, rounds=rounds)
    else:
        ours(train, dev, test, order=order, seed=seed)


COMMANDS = spacy, polyadic

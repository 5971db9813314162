"""Accuracy of word sense induction: pseudowords, titles of Wikipedia, SemEval-2013 task 13 and Senseval."""

import re
import time
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.bench.common import timed
from polyadic import Corpus, Embedding, WordSenses, datasets, train
from polyadic.core.errors import InputError
from polyadic.metrics.senses import senses as compared

SIZES, RATIOS = (200, 1_000, 5_000), (1, 4)
LEAST = 20
"""Occurrences of a word in an article that it titles."""


def f1(truth: np.ndarray, labels: np.ndarray) -> float:
    both = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(both, (truth, labels), 1)
    sizes = both.sum(axis=1)
    scores = 2 * both / (both.sum(axis=0) + sizes[:, None])
    at = linear_sum_assignment(-scores * sizes[:, None])
    return float((scores[at] * sizes[at[0]]).sum() / sizes.sum())


def learned(corpus: Path, vectors: Path) -> WordSenses:
    _, seconds, space = timed(lambda: WordSenses.learn(Embedding.load(vectors), Corpus.open(corpus), keep=True))
    print(f"learned in {seconds:.1f} s of processor time", flush=True)
    return space


def words(corpus: Path, vectors: Path, words: Path, *, pairs: int = 40, singles: int = 60, seed: int = 11) -> None:
    """Pseudowords: two words with a cosine of at most .1 are joined, and their occurrences clustered.

    WORDS has a word of one sense on each line. F1 is that of the best one-to-one match of senses and words, weighted by
    their sizes (one sense has .33 at 1:1). A single word that gets two senses is a false alarm.
    """
    space, listed = learned(corpus, vectors), words.read_text(encoding="utf-8").split()
    divide, embedding, started = space.divide, space.embedding, time.process_time()
    vocabulary, ids, rng = space.corpus.vocabulary, np.asarray(space.corpus.ids), np.random.default_rng(seed)
    known = [word for word in listed if word in embedding and word in vocabulary]
    count = {word: int(vocabulary.counts[vocabulary[word]]) for word in known}
    places: dict[str, np.ndarray] = {}

    def drawn(word: str, n: int) -> np.ndarray:
        if word not in places:
            places[word] = np.flatnonzero(ids == vocabulary[word])
        return rng.permutation(places[word])[:n]

    print("occurrences  ratio  items  two senses  more  F1")
    for n in SIZES:
        for ratio in RATIOS:
            sizes = (n * ratio // (ratio + 1), n // (ratio + 1))
            pools = [[w for w in known if size <= count[w] <= 20 * size] for size in sizes]
            joined: set[tuple[str, str]] = set()
            for _ in range(5_000):
                if len(joined) == pairs or not all(pools):
                    break
                a, b = (str(rng.choice(pool)) for pool in pools)
                if a != b and embedding.similarity(a, b) <= 0.1:
                    joined.add((a, b))
            rows = []
            for a, b in sorted(joined):
                one, other = drawn(a, sizes[0]), drawn(b, sizes[1])
                labels = divide(np.concatenate([one, other]), [a, b])
                rows.append((labels.max() + 1, f1(np.repeat([0, 1], [len(one), len(other)]), labels)))
            k, scores = np.array(rows or [(np.nan, np.nan)]).T
            shares = f"{np.mean(k == 2):10.2f}  {np.mean(k > 2):.2f}"
            print(f"{n:11,}  {ratio}:1  {len(rows):5}  {shares}  {scores.mean():.3f}", flush=True)
        least = n if n < max(SIZES) else n // 2
        alone = [str(w) for w in rng.permutation([w for w in known if least <= count[w] <= 20 * n])[:singles]]
        split = [w for w in alone if divide(drawn(w, n), [w]).max()]
        share = f"{len(split) / max(len(alone), 1):.3f}"
        print(f"{n:11,}  alone  {len(alone):4}  false alarms {share}  {' '.join(split)}", flush=True)
    print(f"{time.process_time() - started:.0f} s of processor time")


def titles(corpus: Path, vectors: Path) -> None:
    """Senses of words in Wikipedia titles, compared with the articles they occur in.

    The words title two articles or more, with brackets ("Mercury (planet)"), each with the word at least twenty times.
    The same number of occurrences of each article is taken.
    """
    space = learned(corpus, vectors)
    corpus, rng = space.corpus, np.random.default_rng(0)
    ids, ends = np.asarray(corpus.ids), np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
    titled = defaultdict(list)
    for document, title in enumerate(corpus.titles or ()):
        match = re.fullmatch(r"(\w+)(?: \((.*)\))?", title)
        if match:
            titled[match[1].lower()].append((document, title))
    scores = []
    for word, articles in sorted(titled.items()):
        if len(articles) < 2 or word not in corpus.vocabulary or word not in space.embedding:
            continue
        inside = [
            (np.flatnonzero(ids[a:b] == corpus.vocabulary[word]) + a, title)
            for document, title in articles
            for a, b in [ends[document : document + 2]]
        ]
        inside = [(at, title) for at, title in inside if len(at) >= LEAST]
        if len(inside) < 2:
            continue
        least = min(len(at) for at, _ in inside)
        at = np.concatenate([rng.permutation(at)[:least] for at, _ in inside])
        truth = np.repeat(np.arange(len(inside)), least)
        found = space.senses(word)
        contexts = []
        for position in at.tolist():
            document = int(np.searchsorted(ends, position, side="right"))
            sides = ids[ends[document - 1] : position], ids[position + 1 : ends[document]]
            contexts.append(tuple([corpus.vocabulary.words[k] for k in side.tolist()] for side in sides))
        labels = np.maximum(space.assign(found, contexts), 0)
        table = np.zeros((len(inside), len(found.senses)), int)
        np.add.at(table, (truth, labels), 1)
        best = table.argmax(axis=1)
        apart = len(set(best)) == len(inside)
        scores.append((len(inside), len(found.senses), apart, f1(truth, labels), f1(truth, np.zeros_like(truth))))
        named = "; ".join(f"{title} {' '.join(map(str, row))}" for (_, title), row in zip(inside, table, strict=True))
        senses = "; ".join(f"{s.share:.2f} {' '.join(s.substitutes[:3])}" for s in found.senses)
        print(word, len(found.senses), "apart" * apart, f"{scores[-1][3]:.2f}", named, senses, sep="\t", flush=True)
    n, k, apart, score, one = np.array(scores).T
    print(
        f"{len(n)} words: one sense {np.mean(k == 1):.2f}, articles apart {apart.mean():.2f}, F1 {score.mean():.3f}"
        f" (one sense for all {one.mean():.3f}), where there are several {score[k > 1].mean():.3f}"
        f" ({one[k > 1].mean():.3f})"
    )


def semeval(corpus: Path, vectors: Path) -> None:
    """Contexts of SemEval-2013 task 13, assigned to the senses that the corpus has for the lemma."""
    space = learned(corpus, vectors)
    test, tokenize = datasets.semeval2013(), space.corpus.tokenize
    contexts = defaultdict(list)
    for instance in test.instances:
        contexts[instance.lemma].append(instance)
    for name in ("senses of the corpus", "one sense", "a sense each"):
        labels, numbers = {}, []
        for lemma, mine in sorted(contexts.items()):
            given = list(range(len(mine))) if name == "a sense each" else [0] * len(mine)
            if name == "senses of the corpus":
                try:
                    found = space.senses(lemma.split(".")[0])
                except InputError as error:
                    print(error)
                    continue
                numbers.append(len(found.senses))
                sides = [tuple([*chain.from_iterable(tokenize(side))] for side in (i.left, i.right)) for i in mine]
                given = space.assign(found, sides).tolist()
            labels |= {i.id: {str(sense): 1.0} for i, sense in zip(mine, given, strict=True) if sense >= 0}
        scores = compared(test.gold, labels, {i.id: i.lemma for i in test.instances}, seed=0)
        print(name, numbers and np.bincount(numbers).tolist(), shown(scores), flush=True)


def senseval() -> None:
    """Vectors and senses of line, hard, serve and interest, learned from their 15,225 contexts alone."""
    sets = datasets.senseval()
    documents = [(name, i) for name, test in sets.items() for i in test.instances]
    texts = [f"{i.left} {name} {i.right}".replace("\n", " ") for name, i in documents]
    corpus = Corpus.build(texts, min_count=5, stop_words="language", language="en")
    space = WordSenses.learn(train(corpus), corpus)
    ends = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
    for name, test in sets.items():
        found, labels = space.senses(name), {}
        for number, sense in enumerate(found.senses):
            for document in (np.searchsorted(ends, sense.positions, side="right") - 1).tolist():
                lemma, instance = documents[document]
                if lemma == name:
                    labels.setdefault(instance.id, {str(number): 1.0})
        scores = compared(test.gold, labels, {i.id: i.lemma for i in test.instances}, seed=0)
        senses = "; ".join(f"{s.share:.2f} {' '.join(s.substitutes[:4])}" for s in found.senses)
        print(name, shown(scores), senses, flush=True)


def shown(scores: Any) -> str:
    return ", ".join(f"{f.name} {f.value:.3f}" for f in scores.figures())


COMMANDS = words, titles, semeval, senseval

"""Seconds of constituent parsing by the length of the sentence.

A grammar of the Penn Treebank sample without its last 20 sections parses the words of these in one sequence (no
sentence, but as hard as one can be): processor time of the best tree and its log probability, by length; then the 50
best trees of the first 150 sentences, with a digest of them. Needs POLYADIC_DATA.
"""

import hashlib
import itertools

from experiments.bench.common import timed
from experiments.data.annotated import penn_sample
from polyadic.syntax.pcfg import PCFG

HELD = 20
SENTENCES = 150


def main(*, lengths: tuple[int, ...] = (20, 40, 80, 160, 300)) -> None:
    sections = penn_sample()
    parser = PCFG().fit(itertools.chain.from_iterable(sections[:-HELD]))
    held = [[tag.word or "" for tag in tree.tags()] for section in sections[-HELD:] for tree in section]
    words = [word for sentence in held for word in sentence]
    parser.k_best(words[:10])  # compile, or load what is compiled
    for length in lengths:
        _, seconds, (best,) = timed(lambda: parser.k_best(words[:length], k=1))  # noqa: B023 # called at once
        print(f"{length:4} words {seconds:6.2f} s  {best.log_probability:.6f}")
    _, seconds, found = timed(lambda: [parser.k_best(sentence) for sentence in held[:SENTENCES]])
    digest = hashlib.sha256()
    for parses in found:
        digest.update(repr([(str(p.tree), round(p.log_probability, 9)) for p in parses]).encode())
    print(f"{SENTENCES} sentences, 50 best: {SENTENCES / seconds:.1f} sentences a second; {digest.hexdigest()[:8]}")

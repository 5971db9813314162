"""Seconds of constituent parsing by the length of the sentence.

``python -m experiments.bench.constituents --lengths 20 40 80 160 300`` learns a grammar of the Penn Treebank sample
but its last 20
sections, takes the words of these one after another, which is no sentence but as hard as one can be, and gives seconds
of the processor for the best tree, and how likely that is; and for the 50 best trees of the first 150 sentences as they
are, with a digest of them. Needs POLYADIC_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import time

from experiments.data.annotated import penn_sample
from polyadic.syntax.pcfg import PCFG

HELD = 20
SENTENCES = 150


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lengths", type=int, nargs="+", default=[20, 40, 80, 160, 300])
    options = arguments.parse_args()
    sections = penn_sample()
    parser = PCFG().fit(itertools.chain.from_iterable(sections[:-HELD]))
    held = [[tag.word or "" for tag in tree.tags()] for section in sections[-HELD:] for tree in section]
    words = [word for sentence in held for word in sentence]
    parser.k_best(words[:10])  # compile, or load what is compiled
    for length in options.lengths:
        start = time.process_time()
        best = parser.k_best(words[:length], k=1)[0]
        print(f"{length:4} words {time.process_time() - start:6.2f} s  {best.log_probability:.6f}")
    start, digest = time.process_time(), hashlib.sha256()
    for sentence in held[:SENTENCES]:
        parses = parser.k_best(sentence)
        digest.update(repr([(str(p.tree), round(p.log_probability, 9)) for p in parses]).encode())
    took = time.process_time() - start
    print(f"{SENTENCES} sentences, 50 best: {SENTENCES / took:.1f} sentences a second; {digest.hexdigest()[:8]}")


if __name__ == "__main__":
    main()

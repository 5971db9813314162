"""
Parsing Latin, whose words come in any order
============================================

In Latin endings say what belongs together, not places. A parser learns from 400 sentences, made up,
with case, gender and number of each word, or without. Of how many words in 80 others is the head
right? An owner (nmod) stands on either side of its noun; where its genitive is not known, it is
taken for one more dependent of the verb.
"""

from dataclasses import replace

import pandas as pd

from polyadic import LowRankParser, plots, read_trees

known = list(read_trees("example/latin.conllu"))
test = list(read_trees("example/latin-test.conllu"))
bare = [[replace(tree, features=("_",) * len(tree)) for tree in part] for part in (known, test)]
words = []
for name, (part, asked) in {"with": (known, test), "without": bare}.items():
    parsed = LowRankParser(seed=0).fit(part).annotate(asked)
    for tree, parse in zip(test, parsed, strict=True):
        right = tree.heads == parse.heads
        words += zip([name] * len(tree), tree.relations, right, strict=True)
table = pd.DataFrame(words, columns=["morphology", "relation", "right"])
table = table.pivot_table(index="relation", columns="morphology", values="right")
table = table.sort_values("without", ascending=False)
ax = plots.new_axes(width=6, height=4)
ax.plot(table["without"], table.index, "o", fillstyle="none", markersize=9, label="without")
ax.plot(table["with"], table.index, ".", label="with morphology")
ax.set_xlabel("share of words with the right head")
ax.legend()

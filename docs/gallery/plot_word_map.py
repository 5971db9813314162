"""
Map of words
============

Vectors of the words of *The Adventures of Sherlock Holmes*, from a singular value decomposition of
their pairwise associations. Parts of the body and of the house form separate groups; a chair and a
lamp are near the people who sit there. Family and time overlap, since two dimensions show less than
a third of the variance.
"""

from pathlib import Path

from polyadic import plots, train
from polyadic.metrics.outliers import OutlierGroup, outliers

vectors = train("example/holmes", method="ppmi-svd", min_count=6, seed=0)
groups = []
for file in sorted(Path("example/groups").glob("*.txt")):
    together, others = file.read_text(encoding="utf-8").split("\n\n")
    groups.append(OutlierGroup(together.split(), others.split(), file.stem))
plots.word_map(vectors, {group.name: group.cluster for group in groups})

# %%
# All dimensions together separate the groups: for each group with one unrelated word, that word is
# always the least similar to the others.

found = outliers(vectors, groups)
print(f"{found.accuracy:.2f} of {found.cases} cases, by chance {found.chance_accuracy:.2f}")

"""
Map of words
============

The map shows word vectors of *The Adventures of Sherlock Holmes*, computed by a singular value
decomposition of pairwise associations. Parts of the body and of the house form separate groups.
Family and time overlap, since the two dimensions of the map explain less than a third of the
variance.
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
# The full vectors separate the groups: if an unrelated word is added to a group, it is always the
# least similar to the other words.

found = outliers(vectors, groups)
print(f"accuracy {found.accuracy:.2f} on {found.cases} cases, by chance {found.chance_accuracy:.2f}")

"""
A map of words
==============

Vectors of the words of *The Adventures of Sherlock Holmes*, by singular values of their
associations in pairs. Parts of the body and of the house have places of their own; a chair and a
lamp are near who sits there. Family and time lie together, since a plane shows less than a third of
the differences.
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
# All directions together part them: of each group and a word that does not belong there, put
# together by hand, it is always that word which is least like the others.

found = outliers(vectors, groups)
print(f"{found.accuracy:.2f} of {found.cases} cases, by chance {found.chance_accuracy:.2f}")

"""
Correspondence analysis of eye and hair colours
===============================================

Correspondence analysis is applied to a table of the eye and hair colours of 5,387 children in
Caithness (Fisher 1940). Rows and columns that occur together more often than expected point in the
same direction. The first axis orders colours from light to dark. The second axis separates medium
colours from light and dark ones.
"""

from polyadic import cross_table, frame, plots

children = cross_table("example/eyes.csv").analyse()
plots.biplot(children)

# %%
# Coordinates, contributions, and the quality of the representation of each colour:

frame(children)

"""
Correspondence analysis of eye and hair colours
===============================================

Correspondence analysis of the eye and hair colours of 5,387 children in Caithness (Fisher 1940). Rows and columns that
occur together more often than expected lie in the same direction. The first axis goes from light to dark; the second
separates medium colours from both extremes.
"""

from polyadic import cross_table, frame, plots

children = cross_table("example/eyes.csv").analyse()
plots.biplot(children)

# %%
# Coordinates, contributions, and the quality of the representation of each colour:

frame(children)

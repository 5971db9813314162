"""
Eyes and hair: the axes of a table
==================================

Correspondence analysis of the eye and hair colours of 5,387 children of Caithness (Fisher 1940). Rows and columns that
go together more often than chance would have it lie in one direction: the first axis goes from light to dark, the
second parts the middle from both ends.
"""

from polyadic import cross_table, frame, plots

children = cross_table("example/eyes.csv").analyse()
plots.biplot(children)

# %%
# How much of the deviation from chance each axis explains, and how well each colour is shown by two of them:

frame(children)

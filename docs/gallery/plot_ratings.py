"""
Ratings that are missing
========================

Stars that 200 readers, made up, gave to nine of 21 novels each. Bayesian matrix factorization tells
those that are missing; here are all of one reader, with intervals in which nine of ten stars should
lie: how far off stars were that were held out first tells how wide they are. The stars that the
reader gave were learned from.
"""

import pandas as pd

from polyadic import TableCompletion, plots

ratings = pd.read_csv("example/ratings.csv")
model = TableCompletion("bayesian", hold_out=0.1, seed=0).fit(ratings)

novels = pd.read_csv("example/new.csv")  # reader 1, and all novels
novels["stars"] = model.predict(novels)
novels["low"], novels["high"] = model.predict_interval(novels, level=0.9)
novels = novels.sort_values("stars")
given = ratings[ratings["reader"] == "reader 1"]
ax = plots.new_axes()
ax.hlines(novels["novel"], novels["low"], novels["high"], color="0.7")
ax.plot(novels["stars"], novels["novel"], "o", label="told")
ax.plot(given["stars"], given["novel"], "k*", label="given")
ax.set_xlabel("stars")
ax.legend(loc="lower right")

# %%
# Errors of the stars held out (root mean square), and what they are by the means of readers and
# of novels alone:

print(model.held_out_)

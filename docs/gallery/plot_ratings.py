"""
Predict missing ratings with intervals
======================================

200 synthetic readers gave stars to nine of 21 novels each. Bayesian matrix factorization predicts
the other ratings. The figure shows the predictions for one reader with 90 % prediction intervals,
whose width is calibrated on ratings that were held out. The model was trained on the stars that the
reader gave.
"""

import pandas as pd

from polyadic import TableCompletion, plots

ratings = pd.read_csv("example/ratings.csv")
model = TableCompletion("bayesian", hold_out=0.1, seed=0).fit(ratings)

novels = pd.read_csv("example/new.csv")  # reader 1 and all novels
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
# RMSE on the ratings that were held out, and RMSE of a model of reader and novel effects alone:

print(model.held_out_)

"""
Predict missing ratings with intervals
======================================

Each of 200 synthetic readers rated nine of 21 novels. Bayesian matrix factorization predicts the
missing ratings. The figure shows the predictions for one reader with 90 % prediction intervals,
which are calibrated on held-out ratings. The reader's own ratings are part of the training data.
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
ax.plot(novels["stars"], novels["novel"], "o", label="predicted")
ax.plot(given["stars"], given["novel"], "k*", label="rated by the reader")
ax.set_xlabel("stars")
ax.legend(loc="lower right")

# %%
# RMSE on held-out ratings, and RMSE of a model that has only reader and novel effects:

print(model.held_out_)

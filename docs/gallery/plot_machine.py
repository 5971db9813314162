"""
A factorization machine beside a linear model
=============================================

Each row has two features, a reader and a novel, and the stars that one gave to the other; all made
up. A linear model, of rank 0, adds up what readers give and what novels get. A machine also has a
weight for each pair, of low rank, so that it has one for pairs that were never seen. Three factors
suffice, since there are four kinds of novels. Means of draws (MCMC) are better than one point
(exact steps).
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

from polyadic import BayesianFactorizationMachine, FactorizationMachine, frame, plots

X, y = load_svmlight_file("example/ratings.libfm", n_features=221, zero_based=True)
X_valid, y_valid = load_svmlight_file("example/valid.libfm", n_features=221, zero_based=True)
ranks = (0, 1, 2, 3, 4, 6, 8)
ax = plots.new_axes(width=6, height=4)
machines = {"exact steps": FactorizationMachine, "draws": BayesianFactorizationMachine}
for name, machine in machines.items():
    models = [machine(rank, seed=0).fit(X, y) for rank in ranks]
    errors = [np.sqrt(((model.predict(X_valid) - y_valid) ** 2).mean()) for model in models]
    ax.plot(ranks, errors, "o-", label=name)
ax.set_xlabel("rank")
ax.set_ylabel("error of other ratings, in stars")
ax.legend()

# %%
# What makes the first of the other ratings: a base, the reader, the novel, and both together.

names = [f"reader {k + 1}" for k in range(200)] + list(pd.read_csv("example/novels.csv")["novel"])
frame(models[3].explain(X_valid[0], names))

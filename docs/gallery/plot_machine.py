"""
Compare a factorization machine with a linear model
===================================================

Each row has two features, a reader and a novel, and a synthetic rating in stars. A linear model
(rank 0) adds an effect of the reader and an effect of the novel. A factorization machine also has a
low-rank weight for each pair of features, including pairs that do not occur in the training data. A
rank of three is sufficient, since there are four kinds of novels. Posterior means (MCMC) have a
lower error than point estimates (coordinate descent).
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

from polyadic import BayesianFactorizationMachine, FactorizationMachine, frame, plots

X, y = load_svmlight_file("example/ratings.libfm", n_features=221, zero_based=True)
X_valid, y_valid = load_svmlight_file("example/valid.libfm", n_features=221, zero_based=True)
ranks = (0, 1, 2, 3, 4, 6, 8)
ax = plots.new_axes(width=6, height=4)
machines = {"coordinate descent": FactorizationMachine, "MCMC": BayesianFactorizationMachine}
for name, machine in machines.items():
    models = [machine(rank, seed=0).fit(X, y) for rank in ranks]
    errors = [np.sqrt(((model.predict(X_valid) - y_valid) ** 2).mean()) for model in models]
    ax.plot(ranks, errors, "o-", label=name)
ax.set_xlabel("rank")
ax.set_ylabel("RMSE on validation ratings, in stars")
ax.legend()

# %%
# Contributions of the base, the reader, the novel and their interaction to the first prediction:

names = [f"reader {k + 1}" for k in range(200)] + list(pd.read_csv("example/novels.csv")["novel"])
frame(models[3].explain(X_valid[0], names))

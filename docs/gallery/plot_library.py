"""
Predict ratings of new novels from other tables
===============================================

A table contains ratings of novels by 200 synthetic readers, with few or no ratings for eight new
novels. A second table contains the genre of each novel. Each novel has one factor vector for both
tables, so a new crime novel is recommended to readers of crime novels. The second table reduces the
error most for novels without ratings, and hardly at all for novels with four or more ratings.
"""

import numpy as np
import pandas as pd

from polyadic import BayesianFactorization, Database, Relation, plots

ratings = pd.read_csv("example/ratings.csv").sample(frac=1, random_state=0)
novels = pd.read_csv("example/novels.csv")
new = ratings["novel"].isin(novels.groupby("kind").head(2)["novel"])
place = ratings.groupby("novel").cumcount()  # position among the ratings of its novel
test = ratings[new & (place >= 16)]
kinds = Relation(novels, ("novel", "kind"), loss="logistic", unobserved="zero")

known, errors = (0, 1, 2, 4, 8, 16), {"ratings alone": [], "ratings and kinds": []}
for number in known:
    stars = Relation(ratings[~new | (place < number)], ("reader", "novel"), value="stars")
    for name, more in zip(errors, ({}, {"kinds": kinds}), strict=True):
        database = Database({"stars": stars, **more}, entities={"novel": novels["novel"]})
        model = BayesianFactorization(4, seed=0).fit(database)
        wrong = model.predict("stars", test) - test["stars"]
        errors[name].append(np.sqrt((wrong**2).mean()))
ax = plots.new_axes(width=6, height=4)
for name, error in errors.items():
    ax.plot(range(len(known)), error, "o-", label=name)
ax.set_xticks(range(len(known)), known)
ax.set_xlabel("number of known ratings per new novel")
ax.set_ylabel("RMSE of other ratings, in stars")
ax.legend()

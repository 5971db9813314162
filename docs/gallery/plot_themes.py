"""
Tastes, found in ratings
========================

Stars that 200 readers, made up, gave to 21 novels. What some like more than others has themes: how
many more stars a novel gets from who has more of one. The three of them are kinds of novels, of
which the model was not told: love, horror and crime. Who has little of all three likes adventure;
there is no fourth theme, since what a reader gives to all is left out.
"""

import pandas as pd

from polyadic import TableCompletion, frame, plots

ratings = pd.read_csv("example/ratings.csv")
novels = pd.read_csv("example/novels.csv")
model = TableCompletion("bayesian", seed=0).fit(ratings)
themes = frame(model.themes(3, top=len(novels)))
loadings = themes.pivot_table("loading", "column", "theme").loc[novels["novel"]]

ax = plots.new_axes(width=6.5, height=6)
image = ax.imshow(loadings, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
ax.set_yticks(range(len(novels)), novels["novel"] + ", " + novels["kind"])
ax.set_xticks(range(3), loadings.columns, rotation=30, ha="right")
ax.figure.colorbar(image, label="stars for a standard deviation of the theme")

# %%
# How much of what parts readers is in each theme, called by the novel that has most of it:

themes.groupby("theme")["share"].first().to_frame()

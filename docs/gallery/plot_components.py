"""
Components of taste in ratings
==============================

200 synthetic readers gave stars to 21 novels. Each component shows how many more stars a novel gets
from readers with a larger score on it. The three components match the kinds love, horror and crime,
although the model does not know the kinds. Readers with low scores on all three prefer adventure;
there is no fourth component because the average rating of each reader is removed.
"""

import pandas as pd

from polyadic import TableCompletion, frame, plots

ratings = pd.read_csv("example/ratings.csv")
novels = pd.read_csv("example/novels.csv")
model = TableCompletion("bayesian", seed=0).fit(ratings)
components = frame(model.components(3, top=len(novels)))
loadings = components.pivot_table("loading", "column", "component").loc[novels["novel"]]

ax = plots.new_axes(width=6.5, height=6)
image = ax.imshow(loadings, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
ax.set_yticks(range(len(novels)), novels["novel"] + ", " + novels["kind"])
ax.set_xticks(range(3), loadings.columns, rotation=30, ha="right")
ax.figure.colorbar(image, label="stars for a standard deviation of the component")

# %%
# Share of the variance of the predictions (without reader and novel effects) for each component,
# named after the novel with the largest loading:

components.groupby("component")["share"].first().to_frame()

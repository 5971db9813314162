"""
Which story a paragraph is from
===============================

Three of four longer paragraphs of Sherlock Holmes are learned from, the fourth is to be told. Three
fifths of these are given to the right one of twelve stories; by the most frequent one it would be a
tenth. The errors have no favourites: much of what is said in one story could be said in another.
"""

import pandas as pd

from polyadic import TextClassifier, plots

stories = pd.read_csv("example/stories.csv")
held = stories.index % 4 == 3
model = TextClassifier().fit(stories["text"][~held], stories["story"][~held])
story, told = stories["story"][held], model.predict(stories["text"][held])
most = story.value_counts(normalize=True).max()
print(f"{(told == story).mean():.2f} right, {most:.2f} by the most frequent story")

table = pd.crosstab(story, told)
ax = plots.new_axes(width=7.5, height=6)
image = ax.imshow(table, cmap="Blues")
ax.set_xticks(range(12), table.columns, rotation=45, ha="right")
ax.set_yticks(range(12), table.index)
ax.set_xlabel("told")
ax.set_ylabel("story")
ax.figure.colorbar(image, label="paragraphs")

# %%
# Names of people tell most, then what they speak of: majesty, a goose, hydraulics.

for name in model.classes_:
    words = [word for word, _ in model.top_features(name, 40) if word.isalpha()]
    print(f"{name:28}", *words[:5])

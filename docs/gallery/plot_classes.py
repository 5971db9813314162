"""
Classify paragraphs by story
============================

A classifier learns from three of four longer paragraphs of Sherlock Holmes, and assigns the fourth
to one of twelve stories. It is right for three fifths of them; always choosing the most frequent
story would be right for a tenth. No pair of stories is confused especially often.
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
# Names of people have the largest weights, followed by topics: majesty, a goose, hydraulics.

for name in model.classes_:
    words = [word for word, _ in model.top_features(name, 40) if word.isalpha()]
    print(f"{name:28}", *words[:5])

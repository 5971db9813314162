"""
Marks put back into a text
==========================

A tagger sees the words of Sherlock Holmes without marks, and tells for each which one stands behind
it. It has learned from the longer paragraphs of eleven stories, and is tried on the twelfth, *The
Copper Beeches*. Full stops are told best, commas nearly half the time. No question is told: what
makes it one stands too far from its end, and it gets a full stop.
"""

import re
import textwrap

import pandas as pd

from polyadic import SequenceTagger, plots, tag_features

stories = pd.read_csv("example/stories.csv")
pairs = [re.findall(r"([\w'-]+)([,.?!]?)", text.lower()) for text in stories["text"]]
X = [tag_features([word for word, _ in paragraph]) for paragraph in pairs]
y = [[mark or "none" for _, mark in paragraph] for paragraph in pairs]
last = list(stories["story"]).index("The Copper Beeches")
tagger = SequenceTagger(10, max_iter=5, min_count=2, seed=0).fit(X[:last], y[:last])
told = tagger.predict(X[last:])
marks, found = (pd.Series([mark for some in part for mark in some]) for part in (y[last:], told))
table = pd.crosstab(marks, found, normalize="index")
ax = plots.new_axes(width=6, height=4.5)
image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
ax.set(xlabel="told", ylabel="mark in the text")
ax.set_xticks(range(len(table.columns)), table.columns)
ax.set_yticks(range(len(table)), table.index)
ax.tick_params(labelsize=13)
ax.figure.colorbar(image, label="share")

# %%
# So the story begins, with its marks as they were told:

words = zip(pairs[last], told[0], strict=True)
text = " ".join(word + mark.removeprefix("none") for (word, _), mark in words)
print(textwrap.fill(text, 66))

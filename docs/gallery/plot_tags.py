"""
Restore punctuation
===================

A tagger predicts the punctuation mark after each word of the Sherlock Holmes stories. It is trained
on the longer paragraphs of eleven stories and tested on the twelfth, *The Copper Beeches*. Full
stops are predicted best, and nearly half of the commas are found. Question marks are never
predicted, because the words that mark a question are too far from its end.
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
predicted = tagger.predict(X[last:])
marks, found = (pd.Series([mark for some in part for mark in some]) for part in (y[last:], predicted))
table = pd.crosstab(marks, found, normalize="index")
ax = plots.new_axes(width=6, height=4.5)
image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
ax.set(xlabel="predicted mark", ylabel="true mark")
ax.set_xticks(range(len(table.columns)), table.columns)
ax.set_yticks(range(len(table)), table.index)
ax.tick_params(labelsize=13)
ax.figure.colorbar(image, label="share")

# %%
# The beginning of the story with predicted punctuation:

words = zip(pairs[last], predicted[0], strict=True)
text = " ".join(word + mark.removeprefix("none") for (word, _), mark in words)
print(textwrap.fill(text, 66))

"""
Topics of a book, by story
==========================

Twenty topics of the 1,158 longer paragraphs of Sherlock Holmes, found by PLSA, and their shares in
the stories. Most topics are about conversations and rooms and occur in all stories. Dark cells are
topics of a single story.
"""

import pandas as pd

from polyadic import TextTopics, plots

stories = pd.read_csv("example/stories.csv")
model = TextTopics("plsa", n_components=20, seed=0).fit(stories["text"])
weights = model.transform(stories["text"])
plots.topic_groups(weights, stories["story"])

# %%
# Words of the six topics with the largest share in one story. Young McCarthy's father is found at
# Boscombe Pool, Lord St. Simon is the noble bachelor, the goose has swallowed the carbuncle, and
# St. Clair is the man with the twisted lip.

shares = pd.DataFrame(weights).groupby(stories["story"]).mean()
plots.topic_words(model, shares.max().nlargest(6).index)

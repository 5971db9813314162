"""
Topics of a book, by story
==========================

Twenty topics of the 1,158 longer paragraphs of Sherlock Holmes, by PLSA, and how much of each is in
the stories. Most are of talk and of rooms, and all stories have some of them. The dark cells are
topics of one story.
"""

import pandas as pd

from polyadic import TextTopics, plots

stories = pd.read_csv("example/stories.csv")
model = TextTopics("plsa", n_components=20, seed=0).fit(stories["text"])
weights = model.transform(stories["text"])
plots.topic_groups(weights, stories["story"])

# %%
# The words of those six topics of which one story has most. Young McCarthy's father is found at
# Boscombe Pool, Lord St. Simon is the noble bachelor, the goose has swallowed the carbuncle, and
# St. Clair is the man with the twisted lip.

shares = pd.DataFrame(weights).groupby(stories["story"]).mean()
plots.topic_words(model, shares.max().nlargest(6).index)

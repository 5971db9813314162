"""
Topics of a book, by story
==========================

The figure shows the shares of twenty topics in twelve Sherlock Holmes stories. The topics were
found by PLSA in the 1,158 longer paragraphs of the stories. Most topics are about conversations and
rooms and occur in all stories. Dark cells are topics that are specific to one story.
"""

import pandas as pd

from polyadic import TextTopics, plots

stories = pd.read_csv("example/stories.csv")
model = TextTopics("plsa", n_components=20, seed=0).fit(stories["text"])
weights = model.transform(stories["text"])
plots.topic_groups(weights, stories["story"])

# %%
# Top words of the six topics with the largest share in one story. They are names and objects of the
# story, such as the goose of *The Blue Carbuncle* and St. Clair of *The Man with the Twisted Lip*.

shares = pd.DataFrame(weights).groupby(stories["story"]).mean()
plots.topic_words(model, shares.max().nlargest(6).index)

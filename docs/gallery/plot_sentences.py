"""
Find the paragraph that answers a question
==========================================

The 1,158 longer paragraphs of the Sherlock Holmes stories are represented by means of word vectors
in which rare words have higher weights and the common direction is removed (SIF). The model was
trained on these paragraphs only. Nearly all paragraphs with the highest similarity to the question
belong to the story that contains the answer.
"""

import textwrap

import pandas as pd

from polyadic import MeanSentences, plots

stories = pd.read_csv("example/stories.csv")
model = MeanSentences(a=0.001, removed=1, seed=0).fit(stories["text"])
question = "a precious stone in the crop of a goose"
vectors = model.encode([question, *stories["text"]], normalize_embeddings=True)
stories["cosine"] = vectors[1:] @ vectors[0]
ax = plots.new_axes(width=7, height=4)
ax.plot(stories["cosine"], stories["story"], "|", markersize=12, alpha=0.6)
ax.set_xlabel("cosine similarity to the question")

# %%
# The most similar paragraph:

print(textwrap.fill(stories.nlargest(1, "cosine")["text"].item(), 66))

"""
Label texts with the help of labelled words
===========================================

Three tables are factorized together: the words of paragraphs of four Sherlock Holmes stories, the
stories of the first paragraphs of each story, and the stories of sixteen labelled words. The figure
shows the accuracy of the predicted stories of the other paragraphs, with and without the labelled
words.
"""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from polyadic import CollectiveFactorization, plots
from polyadic.completion.coupled.database import Relation

NAMES = ["The Red-headed League", "The Blue Carbuncle", "The Speckled Band", "The Beryl Coronet"]
KEYWORDS = ["wilson league headed jabez", "goose geese horner ryder"]
KEYWORDS += ["stoner roylott ventilator band", "coronet arthur gems holder"]
stories, numbers = pd.read_csv("example/stories.csv").query("story in @NAMES"), [1, 3, 10, 30]
truth, vectorizer = stories["story"].map(NAMES.index).to_numpy(), TfidfVectorizer(min_df=2, stop_words="english")
words = Relation(vectorizer.fit_transform(stories["text"]), ("text", "word"), unobserved="zero")
keywords = np.full((words.data.shape[1], 4), np.nan)  # NaN means unknown
for story, some in enumerate(KEYWORDS):
    keywords[[vectorizer.vocabulary_[word] for word in some.split()]] = np.eye(4)[story]
of_words = {"keywords": Relation(keywords, ("word", "story"), weight=0.03)}
ax = plots.new_axes()
for name, more in {"with labelled words": of_words, "without": {}}.items():
    accuracy = []
    for number in numbers:
        known = stories.groupby("story").cumcount().to_numpy() < number
        labels = np.where(known[:, None], np.eye(4)[truth], np.nan)
        tables = {"words": words, "labels": Relation(labels, ("text", "story"), weight=0.03), **more}
        model = CollectiveFactorization(10, ridge=0.1, seed=0).fit(tables)
        predicted = model.predict_numbered("labels", np.argwhere(np.ones_like(labels))).reshape(-1, 4)
        accuracy.append((predicted.argmax(axis=1) == truth)[~known].mean())
    ax.semilogx(numbers, accuracy, "o-", label=f"{name}: {np.round(accuracy, 2)}")
ax.legend(loc="lower right")
ax.set(xlabel="labelled paragraphs per story", ylabel="accuracy")

"""
Classify paragraphs by story
============================

A classifier is trained on three quarters of the longer paragraphs of twelve Sherlock Holmes
stories, and predicts the story of the other paragraphs. Its accuracy is 60 %, compared with 10 %
for always predicting the most frequent story. No pair of stories is confused especially often.
"""

import pandas as pd

from polyadic import TextClassifier, plots

stories = pd.read_csv("example/stories.csv")
held = stories.index % 4 == 3
model = TextClassifier().fit(stories["text"][~held], stories["story"][~held])
story, predicted = stories["story"][held], model.predict(stories["text"][held])
most = story.value_counts(normalize=True).max()
print(f"accuracy {(predicted == story).mean():.2f}, most frequent story {most:.2f}")

table = pd.crosstab(story, predicted)
ax = plots.new_axes(width=7.5, height=6)
image = ax.imshow(table, cmap="Blues")
ax.set_xticks(range(12), table.columns, rotation=45, ha="right")
ax.set_yticks(range(12), table.index)
ax.set_xlabel("predicted story")
ax.set_ylabel("true story")
ax.figure.colorbar(image, label="paragraphs")

# %%
# Names of people have the largest weights, followed by words of the topic of each story.

for name in model.classes_:
    words = [word for word, _ in model.top_features(name, 40) if word.isalpha()]
    print(f"{name:28}", *words[:5])

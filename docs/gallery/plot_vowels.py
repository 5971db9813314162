"""
Discover vowels with a hidden Markov model
==========================================

A hidden Markov model with two states is trained on the letters of 3,000 words of the Sherlock
Holmes stories. The model has no information about vowels, but vowels and consonants alternate in
words. One state emits *a, e, i, o, u* and most occurrences of *y*. This state also emits a few *g,
h* and *t* after another consonant, as in *-ing*, *th* and *st*.
"""

from pathlib import Path

from polyadic import HiddenMarkov, plots

words = Path("example/letters.txt").read_text(encoding="utf-8").replace(" ", "").split()
model = HiddenMarkov(2, seed=0).fit(words)
ax = plots.new_axes(width=8, height=4)
ax.bar(model.symbols_, model.emissions_[0], label="first state")
ax.bar(model.symbols_, -model.emissions_[1], label="second state")
ax.axhline(0, color="black", linewidth=0.8)
ax.yaxis.set_major_formatter(lambda share, _: f"{abs(share):.1f}")
ax.set_ylabel("emission probability")
ax.legend(loc="lower right")

# %%
# Transition probabilities from each state (row) to each state (column):

print(model.moves_.round(2))

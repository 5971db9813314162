"""
New words from an automaton
===========================

Weighted automata learn from 2,700 words of Sherlock Holmes which letters follow which. The more
states one has, the fewer letters it wavers between in 300 other words (perplexity), since states
are all that it remembers. Mixed with trigrams, which know the two letters before, it gains little
from them.
"""

from pathlib import Path

from polyadic import SpectralAutomaton, plots

words = Path("example/letters.txt").read_text(encoding="utf-8").replace(" ", "").split()
states = (2, 5, 10, 20, 40)
ax = plots.new_axes(width=6, height=4)
for name, order in (("mixed with trigrams", 3), ("states alone", 0)):
    learners = [SpectralAutomaton(rank, order=order, basis=150, seed=0) for rank in states]
    models = [learner.fit(words[:2700]) for learner in learners]
    ax.semilogx(states, [model.perplexity(words[2700:]) for model in models], "o-", label=name)
ax.set_xticks(states, states)
ax.minorticks_off()
ax.set(xlabel="states", ylabel="perplexity of a letter")
ax.legend()

# %%
# Words drawn from two states and from forty:

for model in (models[0], models[-1]):
    print(*("".join(letters) for letters in model.sample(9, seed=0)))

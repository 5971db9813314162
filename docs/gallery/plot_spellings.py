"""
Find the correct spelling from letter bigrams
=============================================

Each list contains a word of the Sherlock Holmes stories and misspellings of the word with two
adjacent letters swapped. A reranker is trained on the letter bigrams of 500 lists and evaluated on
500 other lists. Its accuracy is about 50 %; by chance it would be 13 %. TensorMIRA, whose weights
form a low-rank tensor, needs one pass over the training lists. Models with unconstrained weights
need three to five passes and are slightly more accurate.
"""

from polyadic import MIRA, NBestLists, RankingPerceptron, TensorMIRA, plots
from polyadic.metrics.reranking import reranking

lists = NBestLists("example/spellings.jsonl")
others = NBestLists("example/test.jsonl", names=lists.names)
passes = (1, 2, 3, 5, 10, 20)
ax = plots.new_axes(width=6, height=4)
for kind in (RankingPerceptron, MIRA, TensorMIRA):
    right = []
    for number in passes:
        model = kind(max_iter=number, seed=0).fit(lists)
        found = reranking((some, model.decision_function(some)) for some in others)
        right.append(1 - found.reranked)
    ax.semilogx(passes, right, "o-", label=kind.__name__)
ax.axhline(1 - found.random, color="black", linestyle=":", label="chance")
ax.set_xticks(passes, passes)
ax.minorticks_off()
ax.set(xlabel="passes over the training lists", ylabel="accuracy", ylim=(0, None))
ax.legend()

# %%
# Bigrams with the largest positive and negative weights; $ marks the end of a word. Double letters
# have positive weights, since they are separated by swaps.

mira = MIRA(seed=0).fit(lists)
rising = [mira.names_[k] for k in mira.weights_.argsort()]
print("for:    ", *rising[:-13:-1])
print("against:", *rising[:12])

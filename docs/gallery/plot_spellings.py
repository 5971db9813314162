"""
Right spellings, told by pairs of letters
=========================================

Each list has a word of Sherlock Holmes, and what becomes of it if two neighbours among its letters
are swapped. A reranker learns from 500 lists which pairs of letters speak for the right spelling,
and chooses from 500 others; by chance one in seven or eight choices would be right, here it is
half. TensorMIRA, whose weights are a tensor of low rank, needs one pass for that; free weights need
three to five, and end a little higher.
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
ax.set(xlabel="passes over the lists", ylabel="share of right choices", ylim=(0, None))
ax.legend()

# %%
# The pairs that speak most for a spelling and most against it; $ is its end. Double letters speak
# for it, since swaps part them.

mira = MIRA(seed=0).fit(lists)
rising = [mira.names_[k] for k in mira.weights_.argsort()]
print("for:    ", *rising[:-13:-1])
print("against:", *rising[:12])

"""
Complete a knowledge graph
==========================

Capitals, borders, languages and memberships of European countries form a tensor of subjects,
relations and objects. For each fact in a held-out tenth, the model ranks all 133 entities as
objects and as subjects. Capitals and most borders are known in the opposite direction and have rank
1. Languages, memberships and the other borders are harder to predict.
"""

import pandas as pd

from polyadic import KnowledgeTensor, frame, plots, read_facts

facts = read_facts("example/facts.tsv")
names = {"entities": facts.entities, "relations": facts.relations}
valid, test = (read_facts(f"example/{part}.tsv", **names) for part in ("valid", "test"))
model = KnowledgeTensor(50, seed=0).fit(facts, validation=valid)
ranks = model.evaluate(test, known=valid)

told = [" ".join(fact) for fact in test.named()]
table = pd.DataFrame({"object": ranks.objects, "subject": ranks.subjects}, told)
table = table.sort_values(["object", "subject"], ascending=False)
ax = plots.new_axes(width=7, height=7.5)
ax.semilogx(table["subject"], table.index, "o", fillstyle="none", markersize=9, label="subject")
ax.semilogx(table["object"], table.index, ".", label="object")
ax.set_xticks([1, 2, 5, 10, 20, 50], [1, 2, 5, 10, 20, 50])
ax.minorticks_off()
ax.set_xlabel("rank")
ax.margins(y=0.02)
ax.legend()

# %%
# The known facts with the largest influence on the score of French in Belgium:

frame(model.explain("Belgium", "language", "French", k=5))[["name", "part"]]

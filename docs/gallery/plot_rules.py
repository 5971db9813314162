"""
Mine rules and derive facts
===========================

Rules are mined from four fifths of the facts about European countries. Borders are always
symmetric, but the mined rule is right in four of five cases only, because facts that are not listed
count as false. Most of the borders and capitals that were held out follow from the rules. There are
no rules between two relations for languages and for memberships.
"""

import pandas as pd

from polyadic import InjectedLogic, mine_rules, plots, read_facts, schema_of

known = read_facts("example/facts.tsv").named()
schema = schema_of((subject, object_, relation) for subject, relation, object_ in known)
mined = mine_rules(schema, confidence=0.5)
for rule, confidence, support in mined:
    print(f"{confidence:.2f}  {support:3} times  {rule}")

# %%
# The facts that were held out, and those that follow from the rules:

model = InjectedLogic([rule for rule, _, _ in mined], regime="inference").fit(schema)
pairs = set(model.schema_.pairs)
held = [fact for name in ("valid", "test") for fact in read_facts(f"example/{name}.tsv").named()]
follow = [
    (subject, object_) in pairs and model.predict([(subject, object_)], [relation])[0] > 0.5
    for subject, relation, object_ in held
]
table = pd.DataFrame({"relation": [relation for _, relation, _ in held], "follow": follow})
table = table.groupby("relation")["follow"].agg(["size", "sum"])
ax = plots.new_axes(width=6, height=3)
ax.barh(table.index, table["size"], color="0.85", label="held out")
ax.barh(table.index, table["sum"], label="follow")
ax.set_xlabel("facts")
ax.legend()

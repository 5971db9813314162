"""
Mine rules and derive facts
===========================

Rules are mined from four fifths of the facts about European countries. Borders are always
symmetric, but the confidence of the mined rule is only 79 %, because unobserved facts count as false.
Most of the held-out borders and capitals can be derived from the rules. For languages and
memberships, no rules with a single premise were found.
"""

import pandas as pd

from polyadic import InjectedLogic, mine_rules, plots, read_facts, schema_of

known = read_facts("example/facts.tsv").named()
schema = schema_of((subject, object_, relation) for subject, relation, object_ in known)
mined = mine_rules(schema, confidence=0.5)
for rule, confidence, support in mined:
    print(f"{confidence:.2f}  {support:3} times  {rule}")

# %%
# Held-out facts, and held-out facts that can be derived from the rules:

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
ax.barh(table.index, table["size"], color="0.85", label="held-out facts")
ax.barh(table.index, table["sum"], label="derived from rules")
ax.set_xlabel("number of facts")
ax.legend()

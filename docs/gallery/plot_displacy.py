"""
Draw a Latin sentence with spaCy
================================

A tagger and a parser are trained on 400 synthetic Latin sentences and used as components of a spaCy
pipeline, which draws the dependency tree. The object comes first in the sentence; it is marked by
its ending, not by its position.
"""

import spacy

from polyadic import LowRankParser, TextTagger, read_trees

known = list(read_trees("example/latin.conllu"))
nlp = spacy.blank("la")
nlp.add_pipe("polyadic_tagger").model = TextTagger(seed=0).fit(known)
nlp.add_pipe("polyadic_parser").model = LowRankParser(seed=0).fit(known)
doc = nlp("Epistulam novam magistra discipulo in horto saepe ostendit.")
picture = spacy.displacy.render(doc, jupyter=False, options={"distance": 120})

# %%
# The pipeline also predicts lemmas and morphology:

for word in doc:
    print(f"{word.text:10} {word.pos_:6} {word.lemma_:10} {word.morph}")

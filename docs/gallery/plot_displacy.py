"""
A Latin sentence, told by spaCy's pipeline
==========================================

A tagger and a parser learn from 400 sentences, made up, and become parts of a pipeline of spaCy,
which draws what they find. The object stands first: its ending says what it is, not its place.
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
# Lemmas and morphology are told, too:

for word in doc:
    print(f"{word.text:10} {word.pos_:6} {word.lemma_:10} {word.morph}")

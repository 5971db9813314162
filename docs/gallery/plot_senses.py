"""
Select word senses by a second word
===================================

In the 106 articles of Wikipedia that are part of the gensim package, Apollo is a Greek god and a
spacecraft. Vectors from triples of words are non-negative, so that two words select the components
that both have. With *god*, Apollo is near Delphi and Zeus; with *moon*, near the Eagle, its crew
and its module.
"""

from gensim.test.utils import datapath

from polyadic import Corpus, plots, train

articles = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
corpus = Corpus.build(articles, min_count=20, stop_words="english", jobs=1)
vectors = train(corpus, method="cp-sn", rank=60, width=8, seed=0)
plots.senses(vectors, "apollo", ["god", "moon"])

# %%
# Apollo alone has the components of both senses, and so have its nearest words:

for words in (["apollo"], ["apollo", "god"], ["apollo", "moon"]):
    print(" * ".join(words), "|", *(word for word, _ in vectors.neighbours(*words, top=8)))

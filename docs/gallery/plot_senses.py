"""
Senses: two words together
==========================

In the 106 articles of Wikipedia that gensim's package carries, Apollo is a god of the Greeks and a
spacecraft. Vectors of third order know which words stand together in threes, and none of their
elements is negative: what two words share are the themes that both have. With *god*, Apollo
is near Delphi and Zeus; with *moon*, near the Eagle, its crew and its module.
"""

from gensim.test.utils import datapath

from polyadic import Corpus, plots, train

articles = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
corpus = Corpus.build(articles, min_count=20, stop_words="english", jobs=1)
vectors = train(corpus, method="cp-sn", rank=60, width=8, seed=0)
plots.senses(vectors, "apollo", ["god", "moon"])

# %%
# By itself Apollo has the themes of both, and so have its nearest words:

for words in (["apollo"], ["apollo", "god"], ["apollo", "moon"]):
    print(" * ".join(words), "|", *(word for word, _ in vectors.neighbours(*words, top=8)))

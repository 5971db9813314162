"""
Select word senses by a second word
===================================

In 106 articles of Wikipedia, which are part of the gensim package, *Apollo* is a Greek god or a
spacecraft. The word vectors, trained on triples of words, are non-negative, so that the product of
two word vectors selects the components that both words share. The nearest words of *Apollo* and
*god* are Delphi and Zeus; those of *Apollo* and *moon* are related to the spacecraft.
"""

from gensim.test.utils import datapath

from polyadic import Corpus, plots, train

articles = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
corpus = Corpus.build(articles, min_count=20, stop_words="english", jobs=1)
vectors = train(corpus, method="cp-sn", rank=60, width=8, seed=0)
plots.senses(vectors, "apollo", ["god", "moon"])

# %%
# The vector of *Apollo* alone has components of both senses, so its nearest words belong to both:

for words in (["apollo"], ["apollo", "god"], ["apollo", "moon"]):
    print(" * ".join(words), "|", *(word for word, _ in vectors.neighbours(*words, top=8)))

"""
Collocates and their concordance lines
======================================

The figure shows words that occur within five words of *case* in the Sherlock Holmes stories more
often than expected by chance. Some collocates belong to *case* in the sense of an affair, such as
*serious* or *singular*, others to *case* in the sense of a box. By chance, one word in a thousand
would be to the right of the dotted line.
"""

from polyadic import Corpus, count, frame, plots
from polyadic.metrics.association import log_likelihood

corpus = Corpus.build("example/holmes", stop_words="language")
pairs = count(corpus, order=2, width=5, min_count=3)
often = dict(zip(pairs.vocabulary.words, pairs.marginals, strict=True))
near = frame(pairs)
near = near[(near["word_1"] == "case") | (near["word_2"] == "case")]
near["word"] = near["word_1"].where(near["word_1"] != "case", near["word_2"])
total = pairs.marginals.sum()
near["G²"] = log_likelihood(near["count"], often["case"], near["word"].map(often), total)
near = near.nlargest(15, "G²")[::-1]
ax = plots.new_axes()
ax.barh(near["word"], near["G²"])
ax.axvline(10.83, color="black", linestyle=":")
ax.set_xlabel("log-likelihood ratio G²")

# %%
# Concordance lines of each collocate:

for word in ("jewel", "singular"):
    for line in corpus.lines.find("case", word, width=5, sort="left"):
        print(f"{line.left[-32:]:>32}{line.word.upper()}{line.right[:28]}")

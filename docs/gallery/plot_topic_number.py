"""
Select the number of topics
===========================

Topic models of 300 articles of Australian news, which are part of the gensim package. Above: the
perplexity of half of the words of held-out articles, given the other half. It falls up to 80
topics. Below: the stability of topics, the mean cosine of matched topics of two models that were
trained on different halves of the articles. It falls from the start. Use many topics to predict
words, and few topics to read.
"""

from pathlib import Path

from gensim.test.utils import datapath
from matplotlib.figure import Figure

from polyadic import TextTopics, select
from polyadic.metrics.topics import stability

texts = Path(datapath("lee_background.cor")).read_text(encoding="utf-8").splitlines()
model = select(TextTopics("plsa", n_components=5, seed=0), texts)

ranks = [trial.settings["n_components"] for trial in model.selection_.trials]
counts, alike = model.table(texts), []
for rank in ranks:
    half = TextTopics("plsa", n_components=rank, seed=0)
    first, other = (half.fit_table(counts[k::2], model.words_).model_.components_ for k in (0, 1))
    alike.append(stability(first, other))

figure = Figure(figsize=(6, 5), layout="constrained")
above, below = figure.subplots(2, sharex=True)
above.semilogx(ranks, [trial.figure for trial in model.selection_.trials], "o-")
above.set_ylabel("perplexity of words held out")
below.semilogx(ranks, alike, "o-")
below.set(xlabel="topics", ylabel="stability")
below.set_xticks(ranks, ranks, minor=False)
below.minorticks_off()

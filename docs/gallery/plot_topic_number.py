"""
Select the number of topics
===========================

Topic models are trained on 300 Australian news articles, which are part of the gensim package. The
upper figure shows the perplexity of half of the words of held-out articles, given the other half.
Perplexity falls up to 80 topics. The lower figure shows the stability of topics, the mean cosine
similarity of matched topics of two models trained on different halves of the articles. Stability
decreases with the number of topics. Use many topics to predict words, and few topics for
interpretation.
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
above.set_ylabel("held-out perplexity")
below.semilogx(ranks, alike, "o-")
below.set(xlabel="number of topics", ylabel="stability")
below.set_xticks(ranks, ranks, minor=False)
below.minorticks_off()

"""
How many topics
===============

Topics of 300 articles of Australian news, which gensim's package carries. Above: how uncertain half
of the words of articles held out are, given the other half. With up to 80 topics they are foretold
better and better. Below: how alike topics of every second article are to topics of the others, the
mean cosine of those that match. That falls from the start. So take many topics to foretell words,
and few to read.
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

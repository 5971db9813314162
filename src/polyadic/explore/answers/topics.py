r"""Topics: the most relevant words, distances between topics, and the documents of each topic.

.. math:: r(w, k) = \lambda \log \phi_{kw} + (1 - \lambda) \log \frac{\phi_{kw}}{p_w}

with the probabilities :math:`\phi_{kw}` of words in a topic and :math:`p_w` in the text. Topics are placed in the plane
by principal coordinates of their Jensen-Shannon divergences.

References
----------
Sievert, Shirley (2014), LDAvis: a method for visualizing and interpreting topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import rel_entr

from polyadic.core.errors import InputError
from polyadic.core.settings import Natural, Share  # noqa: TC001 # the server reads annotations
from polyadic.explore.answers.common import Answer, Top, short

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.explore.workspace import Workspace
    from polyadic.topics.text_topics import TextTopics

RELEVANCE = 0.6  # weight at which people interpreted topics best, in the paper


def topics(workspace: Workspace, relevance: Share = RELEVANCE, top: Top = 20) -> Answer:
    """Return the share of the text, the position on the map, and the most relevant words of each topic."""
    model, mixtures = _known(workspace)
    weights = np.maximum(model.word_weights_, 0)
    phi = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)  # probabilities of the words in a topic
    p = np.maximum(model.background_ / model.background_.sum(), 1e-300)
    with np.errstate(divide="ignore"):
        scores = np.log(phi) - (1 - relevance) * np.log(p)
    lengths = workspace.occurrences.lengths()
    share = lengths @ mixtures / max(lengths.sum(), 1)
    answer = []
    for k, (row, (x, y)) in enumerate(zip(scores, _placed(phi), strict=True)):
        best = [at for at in np.argsort(-row, kind="stable")[:top] if phi[k, at] > 0]
        words = [[model.words_[at], int(model.background_[at]), short(phi[k, at])] for at in best]
        answer.append({"topic": k, "share": short(share[k]), "x": short(x), "y": short(y), "words": words})
    return {"relevance": relevance, "topics": answer}


def topic(workspace: Workspace, topic: Natural, top: Top = 20) -> Answer:
    """Return the documents with the highest share of a topic, weighted by document length."""
    model, mixtures = _known(workspace)
    if topic >= model.n_components:
        raise InputError(f"topic must be below {model.n_components}, the number of topics; got {topic}", "topic")
    column = np.asarray(mixtures[:, topic])
    names = workspace.corpus.names
    lengths = workspace.occurrences.lengths()
    best = np.argsort(-column * np.sqrt(lengths), kind="stable")[:top]
    rows = [[int(at), names[at], short(column[at]), int(lengths[at])] for at in best if column[at] > 0]
    return {"topic": topic, "documents": rows, "count": int((column > 0.5).sum())}


def _known(workspace: Workspace) -> tuple[TextTopics, Any]:
    if workspace.topics is None:
        raise InputError("the text has too few documents for topics; use a folder of files or a table of documents")
    return workspace.topics, workspace.mixtures


def _placed(phi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute two-dimensional positions that place similar topics close to each other."""
    n = len(phi)
    D = np.zeros((n, n))
    for i in range(n):
        middle = (phi + phi[i]) / 2
        D[i] = (rel_entr(phi, middle).sum(axis=1) + rel_entr(phi[i], middle).sum(axis=1)) / 2
    centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    return np.asarray(np.pad(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)), ((0, 0), (0, 2)))[:, :2])

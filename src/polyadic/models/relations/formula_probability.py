r"""How likely a formula is, given how likely its atoms are.

Atoms are held to be independent, each with a marginal :math:`p_i = \sigma(m_i)`. A formula is true in some worlds
:math:`w \in \{0, 1\}^n`, and its probability is the sum of theirs:

.. math:: [F] = \sum_{w \models F} \prod_i p_i^{w_i} (1 - p_i)^{1 - w_i}, \qquad
          \frac{\partial \log [F]}{\partial m_i} = \Pr(w_i = 1 \mid F) - p_i .

Where no atom occurs twice these are the products of marginals of the paper, :math:`[\lnot A] = 1 - [A]`,
:math:`[A \land B] = [A][B]`, :math:`[A \Rightarrow B] = [A]([B] - 1) + 1`. Where one does, those hold its occurrences
to be independent, :math:`[A \land A] = p^2`; here it is :math:`p`, so that formulas which mean the same are equally
likely. Every term is positive, so nothing cancels where marginals are all but 0 or 1.

References
----------
Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction,
section 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Truth(NamedTuple):
    """Logarithms of the probability of a formula, shape (n,), and their derivatives, shape (n, atoms)."""

    logarithms: NDArray[Any]
    derivatives: NDArray[Any]


def truth(worlds: NDArray[np.bool_], log_odds: NDArray[Any]) -> Truth:
    r"""Give the logarithm of the probability of a formula for each grounding, and its derivatives.

    Parameters
    ----------
    worlds : ndarray of bool of shape (worlds, atoms)
        In which it holds.
    log_odds : ndarray of shape (n, atoms)
        Of its atoms, in each grounding.

    Examples
    --------
    That B follows from A fails in one world of four.

    >>> a_implies_b = np.array([[0, 0], [0, 1], [1, 1]], bool)
    >>> found = truth(a_implies_b, np.zeros((1, 2)))
    >>> float(np.exp(found.logarithms[0]).round(3)), found.derivatives.round(3).tolist()
    (0.75, [[-0.167, 0.167]])
    """
    from scipy.special import expit, logsumexp, softmax

    m = np.asarray(log_odds, float)
    scores = -np.logaddexp(0, -m) @ worlds.T - np.logaddexp(0, m) @ ~worlds.T
    return Truth(np.minimum(logsumexp(scores, axis=1), 0), softmax(scores, axis=1) @ worlds - expit(m))


def probability(worlds: NDArray[np.bool_], marginals: NDArray[Any]) -> NDArray[Any]:
    """Give the probability of a formula for each grounding, from the marginals of its atoms, shape (n, atoms).

    Examples
    --------
    >>> float(probability(np.array([[1, 1]], bool), np.array([[0.5, 0.8]]))[0])
    0.4
    """
    total = np.zeros(len(marginals))
    for world in worlds:
        total += np.where(world, marginals, 1 - marginals).prod(axis=1)
    return total

r"""Sequence tagging by a linear-chain model with a low-rank weight matrix.

Without a rank, the weight matrix :math:`W = U V^\top` is unconstrained: depending on the loss, the model is a
conditional random field, a structured support vector machine or a structured perceptron. Weights are trained by AdaGrad
with one update per sentence:

.. math:: \min_{U, V, T} \; \frac{1}{n} \sum_i \text{loss}_i
          + \frac{\lambda}{2} \left( \|U\|^2 + \|V\|^2 + \|T\|^2 \right)

with the score :math:`S(t)` of :class:`SequenceTagger` and one of

====================  =================================================================
``"perceptron"``      :math:`\max_t S(t) - S(y)`
``"hinge"``           :math:`\max_t \{S(t) + \#(t_i \ne y_i)\} - S(y)`
``"likelihood"``      :math:`\log \sum_t e^{S(t)} - S(y)`
====================  =================================================================

U is updated for each occurrence of a feature, V and T once for each sentence. The penalty is applied only to the
features of a sentence, scaled by n over their occurrences, so that the expected update is correct.

References
----------
Collins (2002), Discriminative training methods for hidden Markov models. Tsochantaridis et al. (2005), Large margin
methods for structured and interdependent output variables. Lafferty, McCallum, Pereira (2001), Conditional random
fields. Duchi, Hazan, Singer (2011), Adaptive subgradient methods
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from itertools import chain, pairwise, repeat
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from polyadic.core.annotations import Array, Floats, Ints32
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Model, Positive, Seed
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.sequences.kernels.tagging import CodedSentences, TagParts, TagTables, tag_epoch, tag_marginals, tag_paths

Features = Iterable[Sequence[Iterable[str] | Mapping[str, str | float]]]


class SequenceTagger(Model):
    r"""Linear-chain sequence tagger with low-rank feature weights.

    .. math:: S(t) = \sum_i (V U^\top \phi_i)_{t_i} + T_{t_{i-1} t_i}

    :math:`\phi_i` are the features of token i, and T has a row for the start and a column for the end. The best tags
    are found by the Viterbi algorithm, probabilities by sums over all paths. See
    :mod:`polyadic.sequences.sequence_tagger` for training.

    Parameters
    ----------
    rank : int, optional
        Rank of the matrix of feature weights, at most the number of tags (default: unconstrained weights).
    loss : {"likelihood", "hinge", "perceptron"}
        Training loss: likelihood of the tags, structured hinge loss, or structured perceptron.
    learning_rate : float
        Initial learning rate of AdaGrad. A perceptron with a rank needs about 0.03; without a rank it hardly matters.
    l2 : float
        Strength :math:`\lambda` of the L2 penalty, relative to the mean loss per sentence.
    init : {"svd", "random"}
        Start of the factors: the best approximation of weights after one unconstrained pass, or small random numbers.
    averaged : bool
        Whether to average the parameters over all updates.
    bio : bool
        Whether tags are spans in BIO encoding, so that ``I-X`` may only follow ``B-X`` or ``I-X``. The constraint is
        used in prediction, not in training.
    min_count : int
        Minimum number of occurrences of a feature; rarer features are ignored.

    Attributes
    ----------
    history_ : list of float
        Mean loss of a sentence before its update, by pass.
    tags_, features_ : list of str, dict of str to int
        Sorted tags, and row of U of each feature.
    parts_ : TagParts
        U, V and T; V is empty without a rank.

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=barks"]], [["w=the"], ["w=barks"]]]
    >>> tagger = SequenceTagger(1, max_iter=20).fit(X, [["D", "N", "V"], ["D", "N"]])
    >>> tagger.predict([[["w=the"], ["w=barks"], ["w=barks"]]])
    [['D', 'N', 'V']]
    """

    rank: Count | None = None
    _: KW_ONLY
    loss: Literal["likelihood", "hinge", "perceptron"] = "likelihood"
    max_iter: Count = 10
    learning_rate: Positive = 0.3
    l2: Amount = 0.0
    init: Literal["svd", "random"] = "svd"
    averaged: bool = True
    bio: bool = False
    min_count: Count = 1
    seed: Seed = 0
    callback: Callback = None

    def fit(self, X: Features, y: Iterable[Sequence[str]]) -> Self:
        """Fit the tagger to features X and tags y of sentences.

        X has the features of each token of each sentence, as a list of names or a dict. In a dict, the text ``"the"``
        of ``word`` is the feature ``word=the``; numbers are values of features, True is 1, and False is left out.

        InputError is raised if tokens and tags do not align, there are no tokens or features, a tag or feature is not a
        string, no tag may come first (``bio``), or a setting is out of range.
        """
        self.check()
        sentences, known = learned_features(X, min_count=self.min_count)
        self.fit_coded(sentences, len(known), y)
        self.features_ = known
        return self

    def fit_coded(self, sentences: CodedSentences, size: int, y: Iterable[Sequence[str]]) -> Self:
        """Fit the tagger to sentences encoded as ids of features below ``size``, without setting ``features_``."""
        gold, tags = coded_tags(y, np.diff(sentences.edges).tolist(), bio=self.bio)
        sweeps = self._sweeps(sentences, gold, size, len(tags))
        self.parts_ = TagParts(*self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback)))
        self.tags_ = tags
        return self

    def _sweeps(self, sentences: CodedSentences, gold: Ints32, F: int, Y: int) -> Iterator[Sweep]:
        """Yield the weights for F features and Y tags, and the mean loss of a sentence.

        Without a rank, the weights of features are one matrix of shape (F, Y).
        """
        rng = np.random.default_rng(self.seed)
        parts = TagParts(*(np.zeros(shape, np.float32) for shape in ((F, Y), (0, Y), (Y + 1, Y + 1))))
        if self.rank is not None:
            K = min(self.rank, Y)
            if self.init == "svd":
                first = TagLearner(sentences, gold, parts, self)
                first.epoch(rng)
                parts = first.tables.means(first.seen)
                del first  # it is several times larger
                parts = of_rank(parts, K)
            else:
                U, V = (rng.normal(scale=K**-0.5, size=(rows, K)).astype(np.float32) for rows in (F, Y))
                parts = TagParts(U * np.float32(RANDOM_SCALE), V, parts.T)
        learner = TagLearner(sentences, gold, parts, self)
        tokens = len(gold) / (len(sentences.edges) - 1)
        start = {"perceptron": 0.0, "hinge": tokens, "likelihood": tokens * float(np.log(Y))}
        yield Sweep([*learner.tables.weights()], start[self.loss])
        while True:
            loss = learner.epoch(rng)
            tables = learner.tables
            yield Sweep([*(tables.means(learner.seen) if self.averaged else tables.weights())], loss)

    def predict(self, X: Features) -> list[list[str]]:
        """Return the highest-scoring tags of each sentence."""
        return self.predict_coded(coded(X, self.features_))

    def predict_coded(self, sentences: CodedSentences) -> list[list[str]]:
        """Return the highest-scoring tags of sentences encoded as feature ids."""
        paths = tag_paths(sentences, self._decoding()).tolist()
        return [[self.tags_[t] for t in paths[a:b]] for a, b in pairwise(sentences.edges.tolist())]

    def predict_proba(self, X: Features) -> list[Array]:
        """Return the marginal probabilities of the tags of each sentence, (tokens, tags), after loss ``likelihood``."""
        if self.loss != "likelihood":
            trained = f"this tagger was trained with {self.loss!r}"
            raise InputError(f"predict_proba requires the loss 'likelihood'; {trained}")
        sentences = coded(X, self.features_)
        shares = tag_marginals(sentences, self._decoding())
        return [shares[a:b] for a, b in pairwise(sentences.edges.tolist())]

    def score(self, X: Features, y: Iterable[Sequence[str]]) -> float:
        """Return the accuracy of the tags of tokens, given the correct tags ``y``; NaN if there are no tokens."""
        predicted, gold = self.predict(X), list(y)
        check_aligned(gold, list(map(len, predicted)))
        right = [a == b for a, b in zip(chain.from_iterable(predicted), chain.from_iterable(gold), strict=True)]
        return sum(right) / len(right) if right else float("nan")

    def top_features(self, n: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the ``n`` features with the largest weights for each tag, with these weights."""
        U, V, _ = self.parts_
        weights, names = (U @ V.T if len(V) else U), [*self.features_]
        best = np.argsort(-weights, axis=0, kind="stable")[:n]
        return {tag: [(names[f], float(weights[f, t])) for f in best[:, t]] for t, tag in enumerate(self.tags_)}

    def transitions(self) -> dict[tuple[str, str], float]:
        """Return the weight of each pair of tags in sequence, the largest first; ``""`` is the start or the end."""
        tags, T = [*self.tags_, ""], self.parts_.T
        order = (np.unravel_index(at, T.shape) for at in np.argsort(-T, axis=None, kind="stable"))
        return {(tags[s], tags[t]): float(T[s, t]) for s, t in order if s + t < 2 * len(self.tags_)}

    def _decoding(self) -> TagParts:
        """Return the weights for prediction, with the BIO constraint if ``bio`` is set."""
        parts = self.parts_
        return parts._replace(T=parts.T + spans_only(self.tags_)) if self.bio else parts


def learned_features(X: Features, *, min_count: int = 1) -> tuple[CodedSentences, dict[str, int]]:
    """Encode sentences by the features that occur at least ``min_count`` times, with ids in order of appearance."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    coded_all = _encoded(X, lambda names: map(number.__getitem__, names))
    columns, starts, *_ = coded_all
    often = np.bincount(columns, minlength=len(number)) >= min_count
    place = np.where(often, np.cumsum(often) - 1, -1).astype(np.int32)
    known = {feature: int(place[at]) for feature, at in number.items() if often[at]}
    if len(starts) > 1 and not known:
        raise InputError(f"no feature occurs at least {min_count} times; lower min_count", "min_count")
    return _without_unknown(coded_all._replace(columns=place[columns])), known


def coded(X: Features, known: dict[str, int]) -> CodedSentences:
    """Encode sentences as feature ids, ignoring unknown features."""
    return _without_unknown(_encoded(X, lambda names: map(known.get, names, repeat(-1))))


def _encoded(X: Features, ids: Callable[[list[str]], Iterable[int]]) -> CodedSentences:
    """Encode sentences by the ids of their features; values are left out if all are 1."""
    sizes, lengths, values = [], [], array("f")

    def every() -> Iterator[int]:
        for k, sentence in enumerate(X, 1):
            if isinstance(sentence, str | Mapping) or not hasattr(sentence, "__len__"):
                about = f"got {sentence!r:.60}: pass [X] for one sentence"
                raise InputError(f"sentence {k} must be a list of tokens; {about}")
            lengths.append(len(sentence))
            for i, token in enumerate(sentence, 1):
                where = f"sentence {k}, token {i}"
                if isinstance(token, str) or not hasattr(token, "__iter__"):
                    raise InputError(f"{where}: the features of a token must be a list or dict; got {token!r:.60}")
                pairs = _weighted(token, where) if isinstance(token, Mapping) else None
                names = list(token) if pairs is None else [name for name, _ in pairs]
                if odd := [name for name in names if not isinstance(name, str) or not name]:
                    raise InputError(f"{where}: features must be strings that are not empty; got {odd[0]!r}")
                values.extend(repeat(1.0, len(names)) if pairs is None else (value for _, value in pairs))
                sizes.append(len(names))
                yield from ids(names)

    columns = np.fromiter(every(), np.int32)
    starts, edges = (np.concatenate([[0], np.cumsum(many, dtype=np.int64)]) for many in (sizes, lengths))
    weights = np.array(values)
    return CodedSentences(columns, starts, edges, weights[: len(weights) * bool((weights != 1).any())])


def _weighted(token: Mapping[str, Any], where: str) -> list[tuple[str, float]]:
    """Return the features of a dict and their values, without values of 0 and False."""
    pairs = []
    for name, value in token.items():
        if isinstance(value, str):
            pairs.append((f"{name}={value}", 1.0))
        elif not isinstance(value, Real | np.bool_) or not math.isfinite(value):
            about = f"text, a finite number or a bool; got {value!r:.60}"
            raise InputError(f"{where}: the value of {name!r} must be {about}")
        elif value:
            pairs.append((name, float(value)))
    return pairs


def _without_unknown(sentences: CodedSentences) -> CodedSentences:
    """Leave out features with the id -1."""
    columns, starts, edges, values = sentences
    kept = columns >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return CodedSentences(columns[kept], before[starts], edges, values[kept] if len(values) else values)


def coded_tags(y: Iterable[Sequence[str]], lengths: Sequence[int], *, bio: bool = False) -> tuple[Ints32, list[str]]:
    """Return the tag id of each token and the sorted list of distinct tags."""
    gold = list(y)
    check_aligned(gold, lengths)
    different = set(chain.from_iterable(gold))
    if not all(isinstance(tag, str) and tag for tag in different):
        odd = ((k, i, tag) for k, row in enumerate(gold, 1) for i, tag in enumerate(row, 1))
        where = next(each for each in odd if not isinstance(each[2], str) or not each[2])
        raise InputError("sentence {}, token {}: tags must be strings that are not empty; got {!r}".format(*where))
    tags = sorted(different)
    if not tags:
        raise InputError("the training sentences must contain at least one token")
    if bio:
        spans_only(tags)
    number = {tag: at for at, tag in enumerate(tags)}
    return np.fromiter((number[tag] for sentence in gold for tag in sentence), np.int32), tags


def check_aligned(y: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
    """Raise InputError unless each token has exactly one tag."""
    if len(y) != len(lengths):
        got = f"{len(lengths)} sentences and {len(y)} lists of tags"
        raise InputError(f"each sentence must have a list of tags; got {got}")
    for at, (tags, length) in enumerate(zip(y, lengths, strict=True), 1):
        if isinstance(tags, str):
            raise InputError(f"sentence {at}: tags must be a list of strings; got {tags!r}")
        if len(tags) != length:
            about = f"the number of tags must be the number of tokens, {length}; got {len(tags)}"
            raise InputError(f"sentence {at}: {about}")


def spans_only(tags: Sequence[str]) -> Floats:
    """Return transition scores of BIO tags: minus infinity if ``I-X`` does not follow ``B-X`` or ``I-X``, otherwise 0.

    Raise InputError if no tag may come first.
    """
    if all(tag.startswith("I-") for tag in tags):
        about = "at least one tag must not begin with I-, because no BIO sequence can start with I-"
        raise InputError(f"{about}; got {', '.join(tags)}")
    moves = np.zeros((len(tags) + 1, len(tags) + 1), np.float32)  # the last row is the start, the last column the end
    for after, tag in enumerate(tags):
        if tag.startswith("I-"):
            before = {f"B-{tag[2:]}", tag}
            moves[[name not in before for name in [*tags, ""]], after] = -np.inf
    return moves


BLOCK = 500  # sentences between checks for Ctrl-C
RANDOM_SCALE = 0.1  # scale of U relative to V in a random start


class TagLearner:
    """Online learner of tagger weights on encoded sentences, starting from ``parts``."""

    def __init__(self, sentences: CodedSentences, gold: Ints32, parts: TagParts, how: SequenceTagger) -> None:
        self.sentences, self.gold, self.tables, self.seen = sentences, gold, TagTables.of(parts), 0
        times = np.bincount(sentences.columns, minlength=len(parts.U))
        self._importance = ((len(sentences.edges) - 1) / np.maximum(times, 1)).astype(np.float32)
        self._how: dict[str, Any] = {"soft": how.loss == "likelihood", "cost": float(how.loss == "hinge")}
        self._how |= {"learning_rate": how.learning_rate, "ridge": how.l2, "importance": self._importance}

    def epoch(self, rng: np.random.Generator) -> float:
        """Train on all sentences in random order and return the mean of the sentence losses before each update."""
        n = len(self.sentences.edges) - 1
        order, total = rng.permutation(n), 0.0
        for at in tracked(range(0, n, BLOCK), "learning tags", total=-(-n // BLOCK)):
            block = order[at : at + BLOCK]
            total += tag_epoch(self.sentences, self.gold, self.tables, order=block, seen=self.seen, **self._how)
            self.seen += len(block)
        return total / n


def of_rank(parts: TagParts, rank: int) -> TagParts:
    r"""Return the best approximation :math:`U V^\top \approx W` of the given rank, with balanced column norms."""
    W = parts.U.astype(np.float64)
    Q = np.linalg.eigh(W.T @ W)[1][:, : -rank - 1 : -1]
    U = W @ Q
    root = np.sqrt(np.linalg.norm(U, axis=0))
    U = np.divide(U, root, out=np.zeros_like(U), where=root > 0)
    return TagParts(U.astype(np.float32), (Q * root).astype(np.float32), parts.T)

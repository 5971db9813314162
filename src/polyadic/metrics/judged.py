r"""Evaluation of ranked entity pairs, relation by relation, against pooled human judgements.

A text contains more facts than can be judged. So the best pairs of every system are pooled and judged, relation by
relation, and only judgements of the pool count. With :math:`p_1, p_2, \dots` the pairs of a ranking from the top and G
the true pairs of the pool, the average precision of a relation is

.. math:: \frac{1}{|G|} \sum_{k:\ p_k \in G} \frac{|\{j \le k : p_j \in G\}|}{k}.

MAP is its mean over relations, weighted MAP the mean with weights :math:`|G|`.

References
----------
Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, section 5.
Manning, Raghavan, Schütze (2008), Introduction to information retrieval, section 8.4, for eleven points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core.annotations import AnyArray, Array, ArrayLike, Ints
from polyadic.core.errors import InputError, check_choice, check_int

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Pair = tuple[str, str]
    Rankings = Mapping[str, Sequence[Pair]]

Unjudged = Literal["wrong", "skipped"]
RECALLS = np.linspace(0, 1, 11)  # eleven points of recall
ROUNDING = 1e-9  # tolerance for products with recalls that should be integers


class Judged(NamedTuple):
    """Average precision and interpolated precision of a system for each relation."""

    relations: list[str]
    """Relations with a true pair in the pool, the most frequent first."""
    average_precision: Array
    """Average precision of each relation; shape (relations,)."""
    true: Ints
    judged: Ints
    """Number of true pairs, and of judged pairs, in the pool; shape (relations,)."""
    precision: Array
    """Interpolated precision at the recalls 0, 0.1, ..., 1: the highest precision at that recall or above; 0 if it is
    not reached; shape (relations, 11)."""

    @property
    def mean(self) -> float:
        """Mean average precision (MAP)."""
        return float(self.average_precision.mean())

    @property
    def weighted_mean(self) -> float:
        """Mean average precision weighted by the number of true pairs of each relation."""
        return float(np.average(self.average_precision, weights=self.true))

    @property
    def curve(self) -> Array:
        """Interpolated precision at eleven recall levels, averaged over relations."""
        return np.asarray(self.precision.mean(axis=0))


def judged(
    systems: Mapping[str, Rankings],
    judgements: Mapping[str, Mapping[Pair, bool]],
    *,
    pool: int | None = 100,
    depth: int = 1000,
    unjudged: Unjudged = "wrong",
) -> dict[str, Judged]:
    """Evaluate the ranked entity pairs of one or more systems against human judgements, all for the same relations.

    InputError is raised if a ranking contains a pair twice, or no pair in the pool is true.

    Parameters
    ----------
    systems : mapping of str to mapping of str to sequence of (subject, object)
        Ranked pairs of each system and relation, best first.
    judgements : mapping of str to mapping of (subject, object) to bool
        Judgements of pairs by relation. Relations without a judgement are left out.
    pool : int, optional
        Number of pairs from the top of each system that form the pool of a relation; None uses all judgements.
    depth : int
        Length at which rankings are cut off.
    unjudged : {"wrong", "skipped"}
        Treatment of pairs that are not judged, or not in the pool: counted as false, as in the released evaluation, or
        removed from the ranking.

    Examples
    --------
    >>> ranking = [("Ann", "Acme"), ("Bob", "Acme"), ("Cid", "Cog"), ("Dan", "Duo")]
    >>> truth = {("Ann", "Acme"): True, ("Bob", "Acme"): False, ("Dan", "Duo"): True}
    >>> judged({"one": {"leads": ranking}}, {"leads": truth})["one"].mean
    0.75
    >>> round(judged({"one": {"leads": ranking}}, {"leads": truth}, unjudged="skipped")["one"].mean, 3)
    0.833
    """
    check_int("depth", depth, low=1)
    check_choice("unjudged", unjudged, get_args(Unjudged))
    if pool is not None:
        check_int("pool", pool, low=1)
    for name, rankings in systems.items():
        for relation, pairs in rankings.items():
            if len(set(pairs)) < len(pairs):
                raise InputError(f"the ranking of {name} contains a pair twice for the relation {relation}")
    counted = {}
    for relation, truth in judgements.items():
        best = {pair for rankings in systems.values() for pair in rankings.get(relation, ())[:pool]}
        in_pool = {pair: is_true for pair, is_true in truth.items() if pool is None or pair in best}
        if any(in_pool.values()):
            counted[relation] = in_pool
    if not counted:
        raise InputError("the pool must contain at least one entity pair that is judged true")
    relations = sorted(counted, key=lambda relation: -sum(counted[relation].values()))
    true = np.array([sum(counted[relation].values()) for relation in relations])
    known = np.array([len(counted[relation]) for relation in relations])
    measured = {}
    for name, rankings in systems.items():
        rows = []
        for relation in relations:
            truth, pairs = counted[relation], rankings.get(relation, ())[:depth]
            right = [truth.get(pair, False) for pair in pairs if unjudged == "wrong" or pair in truth]
            rows.append(average_precision(right, sum(truth.values())))
        precisions, points = (np.array(part) for part in zip(*rows, strict=True))
        measured[name] = Judged(relations, precisions, true, known, points)
    return measured


def ranked_cells(
    scores: Callable[[int], AnyArray],
    seen: csr_array,
    cells: ArrayLike,
    *,
    names: Sequence[str],
    among: ArrayLike | None = None,
    at_least: int = 1,
) -> Judged:
    """Evaluate a model's ranking of unseen entity pairs for each predicate, given the pairs that are true.

    Unseen cells that are not among ``cells`` count as false. In the result, ``true`` counts the true cells of each
    predicate, ``judged`` the ranked pairs. InputError is raised if no predicate has ``at_least`` such cells.

    Parameters
    ----------
    scores : callable
        Function from a column to scores of shape (pairs,), higher for more probable pairs.
    seen : csr_array of shape (pairs, predicates)
        Training cells, which are excluded from the ranking.
    cells : array of int of shape (n, 2)
        Row and column of each true unseen cell.
    names : sequence of str
        Names of the predicates.
    among : array of int, optional
        Rows to rank; all by default.
    at_least : int
        Minimum number of such cells of a predicate to be evaluated.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> seen = csr_array([[1, 0], [0, 1], [0, 1], [0, 1]])
    >>> ranked_cells(lambda column: np.array([9.0, 3.0, 2.0, 1.0]), seen, [[2, 0]], names=["owns", "leads"]).mean
    0.5
    """
    at = np.asarray(cells, np.int64).reshape(-1, 2)
    columns, counts = np.unique(at[:, 1], return_counts=True)
    columns = columns[counts >= check_int("at_least", at_least, low=1)]
    rows = np.arange(seen.shape[0]) if among is None else np.unique(among)
    by_column, rankings = seen.tocsc(), []
    for column in columns.tolist():
        candidates = np.setdiff1d(rows, by_column.indices[slice(*by_column.indptr[column : column + 2])])
        order = np.argsort(-np.asarray(scores(column))[candidates], kind="stable")
        right = np.isin(candidates[order], at[at[:, 1] == column, 0])
        if number := int(right.sum()):
            rankings.append((names[column], number, len(candidates), *average_precision(right, number)))
    if not rankings:
        raise InputError(f"no predicate has at least {at_least} true entity pairs that are unseen")
    rankings.sort(key=lambda ranking: -ranking[1])
    relations, true, ranked, precisions, points = zip(*rankings, strict=True)
    return Judged([*relations], np.array(precisions), np.array(true), np.array(ranked), np.array(points))


def average_precision(right: ArrayLike, number: int) -> tuple[float, Array]:
    """Compute the average precision of a ranking, and the interpolated precision at eleven recall levels.

    ``right`` are booleans, whether each item is true, from the top; ``number`` that of true items, ranked or not.

    Examples
    --------
    >>> found, precision = average_precision([True, False, True], 4)
    >>> round(found, 4), precision.round(2).tolist()
    (0.4167, [1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    hits = np.flatnonzero(np.asarray(right, bool))
    if check_int("number", number, low=1) < len(hits):
        raise InputError(
            f"number must be at least {len(hits)}, the number of true items in the ranking; got {number}", "number"
        )
    precision = np.arange(1, len(hits) + 1) / (hits + 1)
    needed = np.maximum(np.ceil(RECALLS * number - ROUNDING), 1).astype(int) - 1  # the hit that reaches each recall
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    return float(precision.sum() / number), np.array([highest[at] if at < len(highest) else 0.0 for at in needed])

"""Doors to the loops that mine Horn rules from a graph of facts, and that answer questions by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import horn_rules
from polyadic.kernels.loops.horn_rules import PATH, TIE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["PATH", "TIE", "Answers", "Graph", "Rules", "graph_of", "joining_paths", "path_counts", "property_counts"]

KEYS, CHUNK, SHARE = 1 << 21, 1 << 22, 1 << 12
"""Paths listed, rules of properties written, and properties counted, at once."""


class Graph(NamedTuple):
    """Edges sorted by entity, relation and where they go, and lists of them."""

    groups: Any
    """Those of entity x are ``groups[x]`` to ``groups[x + 1]``, by relation."""
    entity: Any
    relation: Any
    bounds: Any
    """Members of property i are ``members[bounds[i]:bounds[i + 1]]``; of a group these are where its edges go."""
    members: Any
    property: Any
    """Of each edge, as one of the entity that it comes from."""
    listed: Any
    """Groups by relation: ``listed[of[r]:of[r + 1]]``."""
    of: Any
    place: Any
    """Of each group in ``listed``."""
    pairs: Any
    """Neighbours of x are ``neighbour[pairs[x]:pairs[x + 1]]``."""
    neighbour: Any
    joined: Any
    """Relations to neighbour p are ``between[joined[p]:joined[p + 1]]``."""
    between: Any


class Rules(NamedTuple):
    """Rules by what they conclude, each with how much it counts, minus the logarithm of how often it is wrong."""

    paths: Any
    """Those that conclude relation r are ``paths[r]`` to ``paths[r + 1]``."""
    first: Any
    second: Any
    third: Any
    """Relations of a path, sorted; -1 behind its end."""
    path_weight: Any
    rows: Any
    """Rules of property i are ``rows[i]`` to ``rows[i + 1]``."""
    head: Any
    """Place of the property that is concluded, sorted."""
    weight: Any
    columns: Any
    """Those that conclude the property at a place are ``column[columns[p]:columns[p + 1]]``."""
    column: Any
    body: Any


def graph_of(triples: NDArray[np.int64], entities: int, relations: int) -> Graph:
    """Lay facts out, each in both directions.

    Parameters
    ----------
    triples : ndarray of shape (n, 3)
        Different ones.
    entities, relations : int
    """
    n, K = entities, relations
    edges = np.concatenate([triples, triples[:, ::-1] + [0, K, 0]])
    edges = edges[np.lexsort(edges.T[[2, 1, 0]])]
    x, r, y = edges.T
    groups, starts = np.unique(x * 2 * K + r, return_index=True)
    entity, relation = groups // (2 * K), groups % (2 * K)
    listed = np.argsort(relation, kind="stable")
    of = np.searchsorted(relation[listed], np.arange(2 * K + 1))
    place = np.empty(len(groups), np.int64)
    place[listed] = np.arange(len(groups))
    order = np.lexsort([r, y, x])
    joined, firsts = np.unique(x[order] * n + y[order], return_index=True)
    arrays = Graph(
        groups=np.searchsorted(entity, np.arange(n + 1)),
        entity=entity,
        relation=relation,
        bounds=np.concatenate([starts, len(edges) + of]),
        members=np.concatenate([y, entity[listed]]),
        property=np.searchsorted(groups, y * 2 * K + (r + K) % (2 * K)),
        listed=listed,
        of=of,
        place=place,
        pairs=np.searchsorted(joined // n, np.arange(n + 1)),
        neighbour=joined % n,
        joined=np.append(firsts, len(edges)),
        between=r[order],
    )
    return Graph(*(frozen(array, np.int64) for array in arrays))


def joining_paths(
    graph: Graph, facts: NDArray[np.int64], head: int, *, longest: int, steps: int, support: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the paths of other edges between the ends of enough facts of a relation.

    Parameters
    ----------
    graph : Graph
    facts : ndarray of int of shape (n, 2)
        Subjects and objects.
    head : int
        Their relation.
    longest : int
        Edges of a path at most, 1 to 3. All facts are looked at for one and two, the first of them for three.
    steps : int
        Steps that paths of three may take.
    support : int
        Facts, at least.

    Returns
    -------
    paths : ndarray of shape (m, 3)
        Relations, -1 behind the end of a path.
    counts : ndarray of shape (m,)
        Of facts.
    """
    W, keys = len(graph.of), np.empty(KEYS, np.int64)
    mark = np.zeros(len(graph.groups) - 1, np.int64)
    subjects, objects = (frozen(column, np.int64) for column in facts.T)
    found, counts, first = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    while first < len(facts):
        first, number, steps = horn_rules.joining_paths(
            graph, subjects, objects, first, head, longest, steps, keys, mark
        )
        more, times = np.unique(keys[:number], return_counts=True)
        found, at = np.unique(np.concatenate([found, more]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([counts, times]), minlength=len(found)).astype(np.int64)
    enough = counts >= support
    if longest == 1:
        enough &= found % W**2 == 0
    found = found[enough]
    return np.stack([found // W**2, found // W % W, found % W], axis=1) - 1, counts[enough]


def path_counts(
    graph: Graph, order: NDArray[np.int64], paths: NDArray[np.int64], heads: list[NDArray[np.int64]], *, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the pairs that each path joins, and those that are facts of each of its ``heads``.

    Parameters
    ----------
    graph : Graph
    order : ndarray of int
        Groups by relation, as ``graph.listed``, those of each in the order in which paths begin there.
    paths : ndarray of int of shape (m, 3)
    heads : list of ndarray of int of length m
        Relations that each may conclude.
    most : int
        Steps after which no further entity begins the path; with fewer, counts are exact.

    Returns
    -------
    pairs : ndarray of shape (m,)
    right : ndarray of shape (sum of lengths of heads,)
    """
    starts = np.concatenate([[0], np.cumsum([len(head) for head in heads])]).astype(np.int64)
    pairs, right = np.zeros(len(paths), np.int64), np.zeros(int(starts[-1]), np.int64)
    every = frozen(np.concatenate([np.zeros(0, np.int64), *heads]), np.int64)
    seen = np.zeros(len(graph.groups) - 1, np.int64)
    horn_rules.path_counts(
        graph, frozen(order, np.int64), frozen(paths, np.int64), starts, every, most, seen, pairs, right
    )
    return pairs, right


def property_counts(
    graph: Graph, *, support: int, confidence: float, smoothing: float
) -> Iterator[tuple[float, NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]]:
    """Count, some properties at a time, how many members of each have each other one, if enough have.

    Yields
    ------
    share, bodies, places, counts
        How much is done; of each pair the property, the place of the other, and how many entities have both.
    """
    last, first = len(graph.bounds) - 1, 0
    count = np.zeros(len(graph.relation), np.int64)
    size = CHUNK
    bodies, places = np.empty(size, np.int32), np.empty(size, np.int32)
    rights = np.empty(size, np.int64)
    while first < last:
        reached, number = horn_rules.property_counts(
            graph, first, min(first + SHARE, last), support, confidence, smoothing, count, bodies, places, rights
        )
        if reached == first:
            bodies, places, rights = (np.empty(2 * len(array), array.dtype) for array in (bodies, places, rights))
        yield (reached - first) / last, bodies[:number].copy(), places[:number].copy(), rights[:number].copy()
        first = reached


class Answers:
    """Answers questions by rules, with the arrays that this takes."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph, self.rules = graph, rules
        self._found = np.zeros(len(graph.groups), np.int64)
        self._room = np.zeros((0, 4, 0), np.float32), np.zeros((0, 4, 0), np.int64)

    def scores(self, known: NDArray[Any], relations: NDArray[Any], *, k: int, summed: bool) -> NDArray[np.float64]:
        """Give the scores of all entities, a row for each question, by the k best rules of each kind."""
        best, by = self._place(k)
        scores = np.zeros((len(known), len(best)))
        questions = frozen(known, np.int64), frozen(relations, np.int64)
        horn_rules.score_candidates(self.graph, self.rules, *questions, summed, best, by, self._found, scores)
        return scores

    def rules_for(
        self, known: int, relation: int, answer: int, *, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Give how much the best rules of each kind count for one answer, shape (4, k), and their numbers."""
        best, by = self._place(k)
        horn_rules.conclusions(self.graph, self.rules, known, relation, best, by, self._found)
        counts = best[answer].copy()
        best[self._found[1 : self._found[0] + 1]] = 0
        return counts, by[answer].copy()

    def _place(self, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        if self._room[0].shape[2] != k:
            shape = len(self._found) - 1, 4, k
            self._room = np.zeros(shape, np.float32), np.zeros(shape, np.int64)
        return self._room

r"""Semantic roles of higher order: what neighbouring arguments of a predicate say of one another.

    POLYADIC_DATA=... python -m experiments.bench.role_pairs              # five folds of the development part, all ways
    POLYADIC_DATA=... python -m experiments.bench.role_pairs --test any-1-rank5 --seeds 5 --share 1

Beside the score of each argument, each two neighbours a, b (and the ends of the row) have one:

.. math:: \gamma c \sum_{f \in p} W_f[y_a, y_b] + (1 - \gamma) \sum_k (P_2^\top \phi_p)_k A_{y_a k} B_{y_b k}

where y also says on which side of the predicate a word stands, f are features of the predicate (none, so that W is one
table; or some of its columns), and c is a scale. The best roles are found exactly, word by word from the left, over the
last argument's role and the set of core roles that were played. All parts are learned together, by the steps of
:mod:`polyadic.syntax.role_tensor`. Differences are of F1, with intervals of 95 % over sentences.
"""

import argparse
from functools import partial

import numpy as np
from numba import njit

from experiments.data.annotated import split_documents, web_propositions
from experiments.syntax.roles import parts
from polyadic.core.kernels.averaging import mean_weights
from polyadic.metrics.figures import difference
from polyadic.metrics.roles import match_roles, role_figures
from polyadic.syntax import role_features as f
from polyadic.syntax import token_features as t
from polyadic.syntax.propositions import Argument
from polyadic.syntax.role_frames import frames_of, known_features, role_names, roles_of
from polyadic.syntax.role_labels import best_roles, played_once
from polyadic.syntax.role_tensor import Costs, RoleLearner, role_gradient, score_roles, total_score
from polyadic.syntax.semantic_roles import SemanticRoles, power_parts, random_parts

COLUMNS = {
    "any": (),
    "voice": (f.VOICE, t.TAG),
    "lemma": (t.LEMMA,),
    "frame": (f.LEMMA_VOICE, f.FRAME),
    "all": (t.LEMMA, f.VOICE, f.LEMMA_VOICE, f.FRAME, t.POS, t.TAG),
}
SCALES = 1.0, 0.3
WAYS = {f"{name}-{c:g}": (columns, 0, c) for name, columns in COLUMNS.items() for c in SCALES}
WAYS |= {f"{name}-{c:g}-rank{K}": (COLUMNS[name], K, c) for name in ("any", "frame") for c in SCALES for K in (5, 20)}
"""Features of the predicate, rank of the tensor of pairs, and c."""


@njit(cache=True)
def best_row(scores, none, side, pairs, bit):
    """Give the best role of each word, -1 for none; ``pairs`` has the states before and after, its last column the end.

    State 0 is the start, 1 + 2 r + side a word with role r; ``bit`` is -1 for a role that may be played again.
    """
    n, roles = scores.shape
    states, sets = 2 * roles + 1, 1 << (bit.max() + 1)
    best = np.full((sets, states), -np.inf)
    best[0, 0] = 0.0
    before = np.full((n, sets, states), -1, np.int32)
    for w in range(n):
        after = best + none[w]
        for r in range(roles):
            state = 1 + 2 * r + side[w]
            for played in range(sets):
                if bit[r] >= 0 and (played >> bit[r]) & 1:
                    continue
                to = played | (1 << bit[r]) if bit[r] >= 0 else played
                for s in range(states):
                    score = best[played, s] + pairs[s, state] + scores[w, r]
                    if score > after[to, state]:
                        after[to, state] = score
                        before[w, to, state] = s
        best = after
    last = (best + pairs[:, states]).argmax()
    played, s = last // states, last % states
    row = np.full(n, -1, np.int64)
    for w in range(n - 1, -1, -1):
        came = before[w, played, s]
        if came >= 0:
            row[w] = (s - 1) // 2
            if bit[row[w]] >= 0:
                played ^= 1 << bit[row[w]]
            s = came
    return row


class Pairs:
    """W, P2, A and B on their way, and the sums that make their means."""

    def __init__(self, columns, K, c, *, gamma, features, roles, rng):
        self.columns, self.K, self.scale, self.gamma = columns, K, c * gamma, gamma
        self.states, self.row, self.clock = 2 * roles + 1, {}, 0
        sizes = (features, self.states, self.states + 1) if K else ()
        shapes = [(0, self.states, self.states + 1), *((size, K) for size in sizes)]
        self.parts = [rng.normal(scale=0.1, size=shape).astype(np.float32) for shape in shapes]
        self.sums = [np.zeros(shape) for shape in shapes]

    def rows(self, frame, *, new=False):
        """Give the tables of W that a predicate has a part in."""
        keys = [(-1, 0), *((column, int(frame.predicate[0, column])) for column in self.columns)]
        keys = [key for key in keys if key[1] >= 0]
        if new:
            for key in keys:
                self.row.setdefault(key, len(self.row))
            if len(self.row) > len(self.parts[0]):
                more = ((0, max(64, len(self.row))), (0, 0), (0, 0))
                self.parts[0], self.sums[0] = np.pad(self.parts[0], more), np.pad(self.sums[0], more)
        return [self.row[key] for key in keys if key in self.row]

    def table(self, frame, parts, rows):
        """Score every two neighbours."""
        scores = self.scale * parts[0][rows].sum(axis=0).astype(float)
        if self.K:
            P, A, B = parts[1:]
            scores = scores + (1 - self.gamma) * (P[present(frame)].sum(axis=0) * A) @ B.T
        return scores

    def moves(self, frame, gold, predicted, rows):
        """Give the gradient of the right pairs less those predicted: for each part, places and their gradients."""
        D = np.zeros((self.states, self.states + 1), np.float32)
        np.add.at(D, gold, 1)
        np.add.at(D, predicted, -1)
        moves = [(rows, self.scale * np.repeat(D[None], len(rows), axis=0))]
        if self.K:
            P, A, B = self.parts[1:]
            at, share = present(frame), 1 - self.gamma
            p, by_a, by_b = P[at].sum(axis=0), D @ B, D.T @ A
            moves.append((at, np.repeat(share * (by_a * A).sum(axis=0)[None], len(at), axis=0)))
            moves += [(slice(None), share * by_a * p), (slice(None), share * by_b * p)]
        return moves

    def means(self):
        """Give the mean of each part."""
        return [
            mean_weights(np.ascontiguousarray(w), s, self.clock) for w, s in zip(self.parts, self.sums, strict=True)
        ]


def present(frame):
    """Give the features of the predicate."""
    return frame.predicate[0][frame.predicate[0] >= 0]


def neighbours(roles, side, states):
    """Give the states of neighbouring arguments, from the start to the end."""
    at = np.flatnonzero(roles >= 0)
    row = np.concatenate([[0], 1 + 2 * roles[at] + side[at], [states]])
    return row[:-1], row[1:]


def sides(words, place):
    """Say of words whether they stand after the predicate."""
    return (np.array(words) > place).astype(np.int64)


class JointRoles(SemanticRoles):
    """Roles whose neighbours are scored too."""

    def of_pairs(self, columns, K, c):
        """Set the way in which pairs are scored."""
        self.way = columns, K, c
        return self

    def fit(self, sentences):
        """Learn all parts together."""
        known, names = known_features(sentences, min_count=self.min_count), role_names(sentences)
        self.known_, self.roles_, rng = known, names, np.random.default_rng(self.seed)
        once, costs = played_once(names, self.once), Costs(*self.costs)
        self.bit = np.where(once, np.cumsum(once) - 1, -1).astype(np.int64)
        number = {name: at for at, name in enumerate(names)}
        frames = [
            (frame, roles_of(proposition, words, number), sides(words, proposition.place))
            for sentence in sentences
            for proposition, (words, frame) in zip(
                sentence.propositions,
                frames_of(
                    sentence.tree, [p.place for p in sentence.propositions], known, near=self.near, bits=self.bits
                ),
                strict=True,
            )
            if words
        ]
        decode = partial(best_roles, once=once)
        parts = random_parts(known, len(names), self.rank if self.gamma < 1 else 1, bits=self.bits, rng=rng)
        if self.gamma < 1:
            first = RoleLearner(parts, gamma=1.0, C=self.C, costs=costs, decode=decode)
            parts = power_parts([(frame, roles) for frame, roles, _ in frames], first, rng=rng)
        learner = RoleLearner(parts, gamma=self.gamma, C=self.C, costs=costs, decode=decode)
        self.pairs = Pairs(*self.way, gamma=self.gamma, features=len(known.words), roles=len(names), rng=rng)
        for _ in range(self.max_iter):
            for at in rng.permutation(len(frames)).tolist():
                self._learn(learner, *frames[at])
        self.parts_, self.means = learner.mean(), self.pairs.means()
        return self

    def _learn(self, learner, frame, roles, side):
        pairs, rows = self.pairs, self.pairs.rows(frame, new=True)
        scored, table = score_roles(frame, learner.parts, gamma=self.gamma), pairs.table(frame, pairs.parts, rows)
        cost, none = learner._costs(roles)  # noqa: SLF001
        predicted = best_row(scored.scores + cost, none, side, table, self.bit)
        gold, found = (neighbours(row, side, pairs.states) for row in (roles, predicted))
        loss = total_score(cost, predicted) + float(none[predicted < 0].sum()) + table[found].sum() - table[gold].sum()
        loss += total_score(scored.scores, predicted) - total_score(scored.scores, roles)
        learner.clock += 1
        pairs.clock += 1
        if loss <= 0 or (predicted == roles).all():
            return
        moves = role_gradient(frame, learner.parts, scored, roles=roles, predicted=predicted, gamma=self.gamma)
        more = pairs.moves(frame, gold, found, rows)
        alpha = min(self.C, loss / sum(float((change * change).sum()) for _, change in (*moves, *more)))
        sums = *learner._sums, *pairs.sums  # noqa: SLF001
        for part, total, (at, change) in zip((*learner.parts, *pairs.parts), sums, (*moves, *more), strict=True):
            part[at] += (alpha * change).astype(np.float32)
            total[at] += alpha * pairs.clock * change

    def arguments(self, tree, predicates):
        """Give the arguments of each predicate."""
        places, chosen = list(predicates), []
        for place, (words, frame) in zip(
            places, frames_of(tree, places, self.known_, near=self.near, bits=self.bits), strict=True
        ):
            scores = score_roles(frame, self.parts_, gamma=self.gamma).scores
            table = self.pairs.table(frame, self.means, self.pairs.rows(frame))
            row = best_row(scores, np.zeros(len(words)), sides(words, place), table, self.bit) if words else []
            chosen.append(tuple(Argument(word, self.roles_[r]) for word, r in zip(words, row, strict=True) if r >= 0))
        return chosen


def judged(way, train, gold, *, gamma, seed):
    """Learn and count what is right of each sentence."""
    model = SemanticRoles(gamma=gamma, seed=seed) if way is None else JointRoles(gamma=gamma, seed=seed)
    model = model.fit(train) if way is None else model.of_pairs(*WAYS[way]).fit(train)
    return [match_roles(*pair) for pair in zip(gold, model.annotate(gold), strict=True)]


def line(*cells):
    """Print a row of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    """Print a row for each way, or for each draw of the test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", choices=WAYS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    line("gamma and way" if options.test is None else "share and seed", "F1", "above arguments alone", "complete")
    print("|---|---|---|---|")
    if options.test is None:
        documents = web_propositions("dev")
        folds = [split_documents([[]] * k + documents) for k in range(5)]  # another fifth each time
        folds = [(train, [sentence for sentence in held if sentence.annotated]) for train, held in folds]
        for gamma in (0.9, 1.0):
            alone = None
            for way in (None, *(way for way, (_, K, _) in WAYS.items() if gamma < 1 or not K)):
                counts = [row for fold in folds for row in judged(way, *fold, gamma=gamma, seed=0)]
                figures = {figure.name: figure for figure in role_figures(counts)}
                alone = alone or figures["F1"]
                told(f"{gamma:g} {way or 'arguments alone'}", figures, alone)
        return
    train, _, test = parts()
    gold = [sentence for sentence in test if sentence.annotated]
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(train))
        some = [train[at] for at in np.sort(order[: round(options.share * len(train))])]
        counts = [judged(way, some, gold, gamma=0.9, seed=seed) for way in (None, options.test)]
        alone, figures = ({figure.name: figure for figure in role_figures(rows)} for rows in counts)
        told(f"{options.share:g} {seed}", figures, alone["F1"])


def told(name, figures, alone):
    """Print a row: F1, how far it is above that of arguments alone, and predicates all of whose arguments are right."""
    gap = difference(figures["F1"], alone)
    complete = figures["complete predicates"].value
    line(name, f"{figures['F1'].value:.4f}", f"{gap.value:.4f} ({gap.low:.4f} to {gap.high:.4f})", f"{complete:.4f}")


if __name__ == "__main__":
    main()

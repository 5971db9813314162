"""Weighted transducers: sums over alignments, search, expected counts, and learning with and without alignments."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from polyadic import SpectralTransducer, WeightedTransducer
from polyadic.core.errors import InputError
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.hankel import least_trace_norm
from polyadic.sequences.kernels.automata import pair_counts, pair_values
from polyadic.sequences.spectral_transducer import _edits, completed_pairs
from polyadic.sequences.symbols import coded

IDS = np.array([[0, 1, 2], [3, 4, 5], [6, 7, -1]])
"""Pairs of two input and two output symbols; the last row and column are gaps."""
NUMBERS = {0: 0, 1: 1}


def planted(states, seed, ids=IDS, stop=0.4):
    rng = np.random.default_rng(seed)
    k = ids.max() + 1
    A = (1 - stop) * rng.dirichlet(np.full(states * k, 0.2), size=states).reshape(states, k, states)
    start = rng.dirichlet(np.ones(states))
    return WeightedTransducer(WeightedAutomaton(start, A.transpose(1, 0, 2).copy(), np.full(states, stop)), ids)


def alignments(s, t, ids=IDS):
    """List the strings over pairs that read s and write t."""
    if not s and not t:
        return [()]
    found = []
    for (a, b), z in np.ndenumerate(ids):
        reads, writes = a < len(ids) - 1, b < ids.shape[1] - 1
        if z >= 0 and (not reads or s[:1] == (a,)) and (not writes or t[:1] == (b,)):
            found += [(int(z), *rest) for rest in alignments(s[reads:], t[writes:], ids)]
    return found


def strings_up_to(length):
    return [x for n in range(length + 1) for x in product(range(2), repeat=n)]


def of(strings):
    return coded(strings, NUMBERS)


def drawn(transducer, many, seed):
    """Draw pairs of strings, with gaps."""
    rng, m = np.random.default_rng(seed), transducer.automaton
    places = {int(z): place for place, z in np.ndenumerate(transducer.ids)}
    pairs = []
    for _ in range(many):
        state, pair = rng.choice(m.rank, p=m.alpha0), []
        while True:
            moves = np.append(m.A[:, state].ravel(), m.alpha_inf[state])
            if (move := rng.choice(len(moves), p=moves / moves.sum())) == len(moves) - 1:
                break
            z, state = divmod(move, m.rank)
            pair.append(tuple(None if a == 2 else a for a in places[z]))
        pairs.append(([a for a, _ in pair], [b for _, b in pair]))
    return pairs


def without_gaps(pairs):
    return [[[a for a in pair[side] if a is not None] for pair in pairs] for side in (0, 1)]


def test_weights_are_sums_over_alignments():
    """Each alignment is a string of the automaton of pairs; weights may be negative, and pairs impossible."""
    rng = np.random.default_rng(0)
    m = WeightedAutomaton(rng.normal(size=3), rng.normal(size=(7, 3, 3)), rng.normal(size=3))
    ids = np.array([[0, 1, -1], [3, 4, 5], [6, 2, -1]])  # symbol 0 of the input is never deleted
    pairs = [(s, t) for s in strings_up_to(3) for t in strings_up_to(2)]
    values, logs = pair_values(
        of([s for s, _ in pairs]), of([t for _, t in pairs]), ids, start=m.alpha0, A=m.A, stop=m.alpha_inf
    )
    slow = [sum(m(z) for z in alignments(s, t, ids)) for s, t in pairs]
    np.testing.assert_allclose(values * np.exp(logs), slow, rtol=1e-9, atol=1e-12)
    long = planted(2, 0).logs(of([[0, 1] * 400]), of([[1] * 500]))
    assert -5000 < long[0] < -500  # below the smallest number


def test_inputs_sum_over_all_outputs():
    """The automaton of the inputs has the weight of all outputs, however long."""
    transducer = planted(3, 1, stop=0.7)
    x = (0, 1)
    total = sum(np.exp(transducer.logs(of([x] * 2**n), of(list(product(range(2), repeat=n))))).sum() for n in range(14))
    assert transducer.inputs(x) == pytest.approx(total, rel=1e-6)
    assert transducer.inputs.mass == pytest.approx(1)


def test_search_finds_the_best_outputs():
    """With a wide beam it orders outputs as a list of all of them does, and a narrow one finds no better."""
    for seed in range(5):
        transducer = planted(3, seed, stop=0.5)
        x = np.array([0, 1, 1])
        outputs = strings_up_to(7)
        logs = transducer.logs(of([x] * len(outputs)), of(outputs))
        best = sorted(zip(-logs, outputs, strict=True))[:4]
        found = transducer.k_best(x, k=4, beam=2000)
        assert [each.symbols for each in found] == [t for _, t in best]
        np.testing.assert_allclose([-each.log for each in found], [log for log, _ in best], atol=1e-3)
        assert transducer.k_best(x, k=1, beam=2)[0].log <= found[0].log + 1e-9


def test_expected_counts_are_slopes_of_the_likelihood():
    """The count of a transition is its weight times the derivative of the log-likelihood by it."""
    transducer = planted(2, 3)
    m, x, y = transducer.automaton, of([[0, 1, 1], [], [1]]), of([[1, 0], [0], [1, 1]])

    def likelihood(start, A, stop):
        return transducer.__class__(WeightedAutomaton(start, A, stop), IDS).logs(x, y).sum()

    parts = [m.alpha0, m.A, m.alpha_inf]
    fit, taken, stopped, began = pair_counts(x, y, IDS, start=m.alpha0, A=m.A, stop=m.alpha_inf)
    assert fit == pytest.approx(likelihood(*parts))
    assert stopped.sum() == pytest.approx(3)
    for at, counts in enumerate((began, taken, stopped)):
        direction = np.random.default_rng(at).random(counts.shape) - 0.5
        ends = []
        for sign in (1, -1):
            moved = list(parts)
            moved[at] = parts[at] * (1 + sign * 1e-5 * direction)
            ends.append(likelihood(*moved))
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((counts * direction).sum(), rel=1e-5)


def test_edits_cost_least():
    """The alignment of a pair is the cheapest of all."""
    rng = np.random.default_rng(0)
    for s, t in [((0, 1, 1), (1, 0)), ((), (0, 1)), ((1,), ()), ((), ())]:
        costs = rng.random((3, 3))
        priced = {int(z): costs[place] for place, z in np.ndenumerate(IDS)}
        totals = {z: sum(priced[a] for a in z) for z in alignments(s, t)}
        assert tuple(_edits(np.array(s, int), np.array(t, int), costs, IDS)) == min(totals, key=totals.get)


def test_aligned_pairs_recover_a_transducer():
    """Singular vectors of many aligned pairs give the probabilities of pairs, better with more pairs."""
    true = planted(2, 5)
    pairs = [(s, t) for s in strings_up_to(2) for t in strings_up_to(2)]
    x, y = [s for s, _ in pairs], [t for _, t in pairs]
    truth = np.exp(true.logs(of(x), of(y)))
    errors = []
    for many in (200, 4000):
        data = drawn(true, many, seed=0)
        model = SpectralTransducer(2, method="svd", aligned=True, max_length=2)
        model.fit([s for s, _ in data], [t for _, t in data])
        errors.append(np.abs(np.exp(model.log_likelihoods(x, y)) - truth).sum())
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.08


def test_unaligned_pairs_are_learned_as_well_as_their_source():
    """EM over alignments comes near the likelihood of the planted transducer; one state does not."""
    true = planted(2, 5)
    train, test = without_gaps(drawn(true, 1200, seed=0)), without_gaps(drawn(true, 600, seed=1))
    best = true.logs(*map(of, test)).mean()
    two, one = (SpectralTransducer(rank, max_length=2, smoothing=0.001).fit(*train) for rank in (2, 1))
    assert (np.diff(two.history_) < 1e-9).all()
    assert two.log_likelihoods(*test).mean() > best - 0.04
    assert one.log_likelihoods(*test).mean() < best - 0.1


def test_completion_has_the_observed_sums_and_a_small_trace_norm():
    """It is no worse than the planted transducer in the objective that it minimises, and strings agree."""
    one = np.array([[0, 1], [2, -1]])  # one symbol on each side
    true = planted(2, 0, ids=one)
    data = without_gaps([([a for a, _ in pair], [b for _, b in pair]) for pair in _short(true)])
    x, y = (coded(side, {0: 0}) for side in data)
    table, result = completed_pairs(x, y, one, 1, 1e-4)
    m = true.automaton
    basis = table.prefixes
    exact = np.array([[m((*u, *v)) for v in basis] for u in [*basis, *((*u, a) for a in range(3) for u in basis)]])
    counts = [np.mean([list(map(len, pair)) == [i, j] for pair in zip(*data, strict=True)]) for i, j in _sizes()]
    sums = [sum(m(z) for z in alignments((0,) * i, (0,) * j, one)) for i, j in _sizes()]
    objective = 0.5 * np.square(np.subtract(counts, sums)).sum() + 1e-4 * np.linalg.norm(exact, "nuc")
    assert result.history[-1] <= objective
    dense = np.vstack([table.H.toarray(), table.shifted.toarray()])
    named = {z: dense[i, j] for i, u in enumerate(_rows(basis)) for j, v in enumerate(basis) for z in [(*u, *v)]}
    found = [sum(named[z] for z in alignments((0,) * i, (0,) * j, one)) for i, j in _sizes()]
    np.testing.assert_allclose(found, counts, atol=2e-3)


def _sizes():
    return [(i, j) for i in range(4) for j in range(4 - i)]


def _rows(basis):
    return [*basis, *((*u, a) for a in range(3) for u in basis)]


def _short(transducer):
    """Strings over pairs of the transducer, with gaps, as often as is probable."""
    places = {int(z): place for place, z in np.ndenumerate(transducer.ids)}
    pairs = []
    for n in range(4):
        for z in product(range(3), repeat=n):
            pair = [tuple(None if a == 1 else a for a in places[c]) for c in z]
            pairs += [pair] * round(300 * transducer.automaton(z))
    return pairs


def test_values_of_least_trace_norm_are_optimal():
    """No other values have a smaller objective where several of them are observed as one sum."""
    rng = np.random.default_rng(0)
    cells, sums = np.eye(12), np.kron(np.eye(4), np.ones((1, 3)))
    observed, penalty = rng.random(4), 0.05
    steps = least_trace_norm(csr_array(cells), csr_array(sums), observed, (4, 3), penalty)
    for _ in range(500):
        f = next(steps).factors[0]

    def objective(f):
        return 0.5 * np.square(observed - sums @ f).sum() + penalty * np.linalg.norm(f.reshape(4, 3), "nuc")

    for scale in (0.1, 0.01, 0.001):
        assert all(objective(f + scale * rng.standard_normal(12)) >= objective(f) - 1e-10 for _ in range(30))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: SpectralTransducer(2).fit(["a"], []), "each input must have an output; got 1 inputs and 0 outputs"),
        (lambda: SpectralTransducer(2, aligned=True).fit([["a"]], [["b", None]]), "pair 1 must have equal lengths"),
        (
            lambda: SpectralTransducer(2, aligned=True, method="completion").fit(["a"], ["b"]),
            "set aligned=False",
        ),
        (lambda: SpectralTransducer(2).predict(["a"]), "not fitted yet; call fit first"),
        (lambda: SpectralTransducer(1, method="completion").fit([range(99)], [range(99)]), "lower max_length"),
        (lambda: SpectralTransducer(1).fit(["ab"], ["b"]).predict(["c"]), "symbol 'c', which does not occur"),
    ],
)
def test_bad_pairs_are_named(ask, message):
    """Errors are one sentence."""
    with pytest.raises(InputError, match=message):
        ask()

"""Hidden Markov models: sums over paths as by listing them, Baum-Welch that never falls, moments that recover."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.spectral.hidden import chain_errors, drawn, planted_chain, recovery, starts, true_log_probability
from polyadic import InputError
from polyadic.sequences.hidden_markov import ESTIMATED, HiddenMarkov, draw_symbols
from polyadic.sequences.hidden_spectral import FewMomentsWarning, anchor_chain, cluster_chain, spectral_chain, triples
from polyadic.sequences.kernels.hidden import HiddenChain, expected_counts, hidden_states
from polyadic.sequences.observable_operators import ObservableOperators
from polyadic.sequences.symbols import Coded, coded, known_symbols
from strategies import tries

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter")
SEEDS = st.integers(0, 999)
WORDS = ["abab", "ba", "", "aabbc", "c", "cab"]


def chain_of(states, symbols, seed, zeros=0.0):
    """A random chain; some of its cells are 0."""
    rng = np.random.default_rng(seed)

    def rows(*shape):
        table = rng.random(shape) * (rng.random(shape) >= zeros) + 1e-6
        return table / table.sum(axis=-1, keepdims=True)

    return HiddenChain(rows(states), rows(states, states), np.ascontiguousarray(rows(states, symbols).T))


def paths(x, chain):
    """The probability of a sequence together with each path, by listing them."""
    start, move, emit = chain
    for path in product(range(len(start)), repeat=len(x)):
        p = start[path[0]] * emit[x[0], path[0]]
        for i in range(1, len(x)):
            p *= move[path[i - 1], path[i]] * emit[x[i], path[i]]
        yield path, p


def fitted(sequences=WORDS, states=2, **how):
    return HiddenMarkov(states, init="random", max_iter=how.pop("max_iter", 5), **how).fit(sequences)


def model_of(chain):
    """A model with given probabilities, whose symbols are numbers."""
    model = HiddenMarkov(len(chain.start))
    model.start_, model.moves_, model.emissions_ = chain.start, chain.move, np.ascontiguousarray(chain.emit.T)
    model.symbols_ = list(range(len(chain.emit)))
    return model


@tries(30)
@given(SEEDS, st.integers(1, 3), st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=4))
def test_sums_over_paths(seed, states, sequences):
    """What ``hidden_counts`` and ``hidden_states`` add up is what all paths, listed one by one, add up to."""
    chain = chain_of(states, 3, seed, zeros=0.2)
    data = coded(sequences, {0: 0, 1: 1, 2: 2})
    found = expected_counts(*data, chain)
    smoothed, logs = hidden_states(*data, chain, smoothed=True)
    filtered, _ = hidden_states(*data, chain, smoothed=False)
    sums = HiddenChain(np.zeros(states), np.zeros((states, states)), np.zeros((3, states)))
    total = 0.0
    for x, low in zip(sequences, data.edges, strict=False):
        if not x:
            continue
        listed = list(paths(x, chain))
        whole = sum(p for _, p in listed)
        total += np.log(whole)
        assert logs[low : low + len(x)].sum() == pytest.approx(np.log(whole), rel=1e-9)
        posterior = np.zeros((len(x), states))
        for path, p in listed:
            sums.start[path[0]] += p / whole
            for i, state in enumerate(path):
                posterior[i, state] += p / whole
                sums.emit[x[i], state] += p / whole
                if i:
                    sums.move[path[i - 1], state] += p / whole
        np.testing.assert_allclose(smoothed[low : low + len(x)], posterior, atol=1e-9)
        for i in range(len(x)):
            before = np.zeros(states)
            for path, p in paths(x[: i + 1], chain):
                before[path[-1]] += p
            np.testing.assert_allclose(filtered[low + i], before / before.sum(), atol=1e-9)
    assert found.log_probability == pytest.approx(total, rel=1e-9)
    for one, other in zip(found[:3], sums, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_parts_in_threads_add_up():
    """Threads change rounding at most, and the same number of them gives the same bits."""
    data, chain = drawn(chain_of(3, 4, 0), 40, 7, seed=1), chain_of(3, 4, 2)
    one, two, again = (expected_counts(*data, chain, threads=n) for n in (1, 3, 3))
    for a, b, c in zip(one, two, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.all(b == c)


def test_long_sequences_do_not_underflow():
    """Ten thousand improbable symbols have the sum of their logarithms."""
    chain = HiddenChain(np.array([1.0]), np.array([[1.0]]), np.array([[1e-200], [1 - 1e-200]]))
    x = np.zeros(10_000, np.int64)
    assert expected_counts(x, [0, len(x)], chain).log_probability == pytest.approx(1e4 * np.log(1e-200))


def test_a_sequence_that_cannot_be():
    """Its probability is 0, its states are NaN, and others do not mind; what stands before it is foretold as ever."""
    chain = HiddenChain(np.array([1.0, 0.0]), np.eye(2), np.eye(2))
    x, edges = np.array([0, 1, 0, 0, 0]), np.array([0, 3, 5])
    states, logs = hidden_states(x, edges, chain, smoothed=True)
    assert logs.tolist() == [0, -np.inf, -np.inf, 0, 0]
    assert np.isnan(states[:3]).all()
    assert (states[3:] == [1, 0]).all()
    assert expected_counts(x, edges, chain).log_probability == -np.inf
    model = model_of(chain)
    assert model.score_sequences([[0, 1, 0], [0, 0], []]).tolist() == [-np.inf, 0, 0]
    rows = model.next_symbols([0, 1, 0])
    assert rows[:2].tolist() == [[1, 0], [1, 0]]
    assert np.isnan(rows[2:]).all()


@pytest.mark.parametrize("n", [310, 324, 1000])
def test_what_no_number_holds_is_left_out(n):
    """A state that is lost for good is not made up for by what comes later, even by a factor beyond all numbers."""
    chain = HiddenChain(np.array([0.5, 0.5]), np.eye(2), np.array([[0.9, 0.1], [0.1, 0.9]]))
    x = np.repeat([0, 1], [n, 500])
    found = expected_counts(x, [0, len(x)], chain)
    assert found.log_probability == pytest.approx(np.log(0.5) + n * np.log(0.9) + 500 * np.log(0.1))
    np.testing.assert_allclose(found.starts, [1, 0])
    np.testing.assert_allclose(found.moves, [[n + 499, 0], [0, 0]])
    np.testing.assert_allclose(found.emits, [[n, 0], [500, 0]])
    np.testing.assert_allclose(hidden_states(x, [0, len(x)], chain, smoothed=True)[0], [[1, 0]] * len(x))


@pytest.mark.parametrize(
    ("x", "edges", "message"),
    [
        ([0, 2], [0, 2], "symbols must be ids below 2"),
        ([0], [0, 2], "edges must increase from 0 to 1"),
    ],
)
def test_loops_refuse_what_does_not_fit(x, edges, message):
    """No loop reads beyond its tables."""
    with pytest.raises(ValueError, match=message):
        expected_counts(np.array(x), np.array(edges), chain_of(2, 2, 0))
    with pytest.raises(ValueError, match="move and emit must have 2 columns"):
        expected_counts(np.array([0]), np.array([0, 1]), chain_of(2, 2, 0)._replace(move=np.eye(3)))


@given(SEEDS, st.integers(1, 3), st.integers(1, 3))
def test_probabilities_of_all_sequences_of_a_length_add_to_one(seed, states, length):
    """Next symbols are the ratios of the probabilities of sequences."""
    model = model_of(chain_of(states, 2, seed))
    every = list(product(range(2), repeat=length))
    assert np.exp(model.score_sequences(every)).sum() == pytest.approx(1)
    rows = model.next_symbols(every[-1])
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    whole = np.log(rows[np.arange(length), every[-1]]).sum()
    assert model.score([every[-1]]) == pytest.approx(whole)


@given(SEEDS, st.lists(st.integers(0, 2), min_size=1, max_size=5), st.sampled_from([0.0, 0.4]))
def test_the_likeliest_path(seed, x, zeros):
    """Viterbi's path (``viterbi_states``) is the best of all, to single precision; zeros are zeros."""
    chain = HiddenChain(*(np.where(part < 1e-5, 0, part) for part in chain_of(3, 3, seed, zeros)))
    (found,) = model_of(chain).predict([x])
    listed = dict(paths(x, chain))
    assert listed[tuple(found.tolist())] >= max(listed.values()) * (1 - 1e-5)


def test_a_path_that_cannot_be_is_never_the_likeliest():
    """However improbable the others are."""
    chain = HiddenChain(np.array([1.0, 0.0]), np.eye(2), np.array([[0.999, 1e-6], [0.001, 1 - 1e-6]]))
    assert model_of(chain).predict([[0] + [1] * 50])[0].tolist() == [0] * 51


def test_the_likeliest_path_of_a_long_sequence():
    """Its end is as that of the end alone: sums do not lose their digits."""
    chain = HiddenChain(
        np.full(2, 0.5), np.array([[0.95, 0.05], [0.05, 0.95]]), np.array([[5, 3], [3, 3], [2, 4]]) / 10
    )
    x = draw_symbols(chain, 2000, 1000, rng=np.random.default_rng(0)).ravel()
    model = model_of(chain)
    (whole,), (end,) = model.predict([x.tolist()]), model.predict([x[-2000:].tolist()])
    assert whole[-1800:].tolist() == end[-1800:].tolist()


@tries(20)
@given(SEEDS, st.integers(1, 3), st.sampled_from([0.0, 0.1]))
def test_baum_welch_never_falls(seed, states, smoothing):
    """What is reported is minus the log-probability of the mean symbol, with that of the parameters, and falls."""
    words = [*WORDS, "cabbage", "babacc"]
    model = fitted(words, states, seed=seed, smoothing=smoothing, max_iter=30, tol=0)
    assert np.diff(model.history_).max() <= 1e-10
    with np.errstate(divide="ignore"):
        tables = (model.start_, model.moves_, model.emissions_)
        prior = smoothing * sum(np.log(table).sum() for table in tables) if smoothing else 0
    assert -model.history_[-1] * sum(map(len, words)) == pytest.approx(model.score(words) + prior)


def test_smoothing_is_a_prior():
    """With one state symbols have the shares of their counts, each with so much added."""
    model = fitted(["aab", "a"], 1, smoothing=0.5)
    np.testing.assert_allclose(model.emissions_, [[3.5 / 5, 1.5 / 5]])
    assert model.moves_.tolist() == [[1]]
    assert model.predict(["ab"])[0].tolist() == [0, 0]
    assert fitted(["aab", "a"], 1).score(["ab"]) == pytest.approx(np.log(3 / 4 / 4))


def test_empty_sequences():
    """They have probability 1, no states, and change nothing."""
    model = fitted()
    assert model.score_sequences(["", "ab"])[0] == 0
    assert [len(part) for part in model.predict(["", "ab", ""])] == [0, 2, 0]
    assert [part.shape for part in model.predict_proba(["", "ab"])] == [(0, 2), (2, 2)]
    assert model.predict([]) == []
    assert model.score([]) == 0
    np.testing.assert_allclose(model.next_symbols("")[0], model.start_ @ model.emissions_)
    assert (fitted([w for w in WORDS if w]).emissions_ == model.emissions_).all()


def test_symbols_that_were_not_seen():
    """They are refused by name, or say nothing: what is known of the others is summed over them."""
    model = fitted()
    with pytest.raises(
        InputError, match="sequence 2 has the symbol 'x', which does not occur in the training sequences"
    ):
        model.score(["ab", "axb"])
    model.unknown = "missing"
    every = np.logaddexp.reduce([model.score([f"a{symbol}b"]) for symbol in "abc"])
    assert model.score(["axb"]) == pytest.approx(every)
    assert len(model.predict(["axb"])[0]) == 3


def test_drawn_sequences_are_those_of_the_chain():
    """Pairs of symbols occur as often as they should; sequences end behind the end; a seed gives the same."""
    chain = chain_of(3, 3, 0)
    x = draw_symbols(chain, 20_000, 2, rng=np.random.default_rng(0))
    joint = chain.emit * chain.start @ chain.move @ chain.emit.T
    counts = np.bincount(x[:, 0] * 3 + x[:, 1], minlength=9).reshape(3, 3) / len(x)
    np.testing.assert_allclose(counts, joint, atol=4 * 0.5 / len(x) ** 0.5)
    model = fitted(["abe", "bae", "be"] * 3)
    sequences = model.sample(50, length=9, stop="e", seed=1)
    assert all("e" not in s[:-1] and (s[-1] == "e" or len(s) == 9) for s in sequences)
    assert sequences == model.sample(50, length=9, stop="e", seed=1)
    assert sequences != model.sample(50, length=9, stop="e", seed=2)
    assert [len(s) for s in model.sample(2, length=3)] == [3, 3]


EXACT = HiddenChain(
    np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[3, 1], [1, 1], [0, 2]]) / 4
)


def exact():
    """Sequences of three symbols, each as often as the chain says: their moments have no error."""
    every = list(product(range(3), repeat=3))
    shares = np.exp(model_of(EXACT).score_sequences(every)) * 4**6
    assert np.abs(shares - shares.round()).max() < 1e-9
    return [x for x, n in zip(every, shares.round().astype(int), strict=True) for _ in range(n)]


def test_exact_moments_give_the_chain():
    """Moments without error give all probabilities, up to the order of states."""
    data = coded(exact(), {0: 0, 1: 1, 2: 2})
    found = spectral_chain(data, 2, symbols=3)
    order = np.argsort(-found.emit[0])
    np.testing.assert_allclose(found.start[order], EXACT.start, atol=1e-8)
    np.testing.assert_allclose(found.move[np.ix_(order, order)], EXACT.move, atol=1e-8)
    np.testing.assert_allclose(found.emit[:, order], EXACT.emit, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_emissions_do_not_depend_on_the_direction_of_time(seed):
    """The first and the last of three symbols are treated alike, though estimates of both are noisy."""
    data = drawn(planted_chain(4, 8, seed=seed), 400, 8, seed=seed)
    turned = Coded(np.concatenate([x[::-1] for x in data.split(data.symbols)]), data.edges)
    one, other = (spectral_chain(x, 4, symbols=8).emit.T for x in (data, turned))
    apart = np.abs(one[:, None] - other[None]).max(axis=2)
    assert apart.min(axis=1).max() < 1e-7


@pytest.mark.parametrize("length", [1, 2, 5])
def test_operators_of_exact_moments_give_probabilities(length):
    """Of sequences longer than those that were counted too, and of the next symbol."""
    operators = ObservableOperators(2, background=0.0, fresh=0.0).fit(exact())
    model = model_of(EXACT)
    for x in product(range(3), repeat=length):
        assert operators.raw_probability(x) == pytest.approx(np.exp(model.score([x])), abs=1e-10)
        np.testing.assert_allclose(operators.next_symbols(x), model.next_symbols(x), atol=1e-8)
    assert operators.score([x, ()]) == pytest.approx(model.score([x]))


def test_operators_are_repaired():
    """What is said of the next symbol is a distribution even where the estimates are bad, and none is 0."""
    data = drawn(chain_of(3, 4, 0), 12, 5, seed=0)
    sequences = ["".join("abcd"[x] for x in row) for row in data.split(data.symbols)]
    operators = ObservableOperators(4, background=0.05, fresh=0.0).fit(sequences)
    rows = operators.next_symbols("abcdabcdddd")
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert rows.min() > 0
    assert np.isfinite(operators.score(sequences))
    forgetful, other = (ObservableOperators(3, fresh=fresh).fit(sequences) for fresh in (1.0, 0.5))
    np.testing.assert_allclose(forgetful.next_symbols("ab")[-1], forgetful.next_symbols("ccab")[-1])
    assert np.abs(other.next_symbols("ab")[-1] - other.next_symbols("ccab")[-1]).max() > 0.01
    shares = np.bincount(data.symbols) / len(data.symbols)
    rows = ObservableOperators(3, background=1.0).fit(sequences).next_symbols("abc")
    np.testing.assert_allclose(rows, [shares] * 4, atol=1e-12)
    with pytest.raises(InputError, match="rank must be a whole number from 1 to 4; got 5"):
        ObservableOperators(5).fit(sequences)


def test_errors_fall_with_the_root_of_the_sequences():
    """Emissions and moves of planted chains are recovered as fast as sampling allows."""
    found = recovery((1000, 4000, 16_000), seeds=(2, 5, 6))
    assert found["errors"][-1]["emissions"] < 0.03
    assert found["errors"][-1]["moves"] < 0.05
    assert -0.7 < found["slopes"]["emissions"] < -0.3
    assert -0.7 < found["slopes"]["moves"] < -0.3


def test_errors_do_not_depend_on_the_order_of_states():
    """A chain with its states in another order is the same chain."""
    chain = planted_chain(4, 6, seed=0)
    order = np.array([2, 0, 3, 1])
    other = HiddenChain(chain.start[order], chain.move[np.ix_(order, order)], chain.emit[:, order])
    assert chain_errors(other, chain) == pytest.approx((0, 0), abs=1e-12)


def test_one_spectral_start_is_as_good_as_the_best_random_one():
    """On a planted chain; and better than the chain itself, as a maximum must be."""
    chain = planted_chain(5, 15, seed=0)
    data = drawn(chain, 1000, 10, seed=1)
    found = starts(data.split(data.symbols), 5, seeds=4)
    assert found["random_better"] == 0
    assert found["spectral"]["log_probability"] > true_log_probability(chain, data)
    assert found["best"]["log_probability"] >= found["spectral"]["log_probability"] - 1e-3
    assert found["spectral"]["steps"] < np.mean([row["steps"] for row in found["random"]])


def test_an_end_is_followed_by_a_new_start():
    """Where all sequences end alike the state of the end is found too; elsewhere none is joined to the next."""
    move = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.9, 0.1, 0]])  # what is behind the end is never drawn
    model = model_of(HiddenChain(np.array([0.7, 0.3, 0]), move, np.array([[0, 0, 1], [0.9, 0.1, 0], [0.1, 0.9, 0]])))
    model.symbols_ = [".", "a", "b"]
    words = model.sample(3000, length=99, stop=".", seed=0)
    number = {symbol: at for at, symbol in enumerate(".ab")}
    chain = spectral_chain(coded(words, number), 3, symbols=3)
    order = np.lexsort((-chain.emit[1], chain.emit[0]))
    np.testing.assert_allclose(chain.emit[:, order], model.emissions_.T, atol=0.06)
    np.testing.assert_allclose(chain.start[order], model.start_, atol=0.06)
    np.testing.assert_allclose(chain.move[order][2, order], model.start_, atol=0.06)
    assert len(triples(coded(["ab.", "b."], number), 3)[0]) == 3
    assert triples(coded(["aba", "bb"], number), 3)[0].tolist() == [[1, 2, 1]]
    assert triples(coded(["aba", ""], number), 3)[0].tolist() == [[1, 2, 1]]


@pytest.mark.parametrize("seed", range(3))
def test_anchors_and_clusters_recover_what_they_assume(seed):
    """Where each state has a symbol of its own, anchors tell all; where each symbol has one state, so do clusters."""
    rng = np.random.default_rng(seed)
    move = 0.7 * np.roll(np.eye(4), 1, axis=1) + 0.3 * rng.dirichlet(np.ones(4), size=4)
    emit = np.hstack([0.4 * np.eye(4), 0.6 * rng.dirichlet(np.ones(6), size=4)])
    chain = HiddenChain(np.full(4, 0.25), move, np.ascontiguousarray(emit.T))
    found = anchor_chain(drawn(chain, 20_000, 10, seed=seed), 4, symbols=10)
    assert max(chain_errors(found, chain)) < 0.12
    apart = np.kron(np.eye(4), [[0.5, 0.3, 0.2]])
    chain = HiddenChain(np.full(4, 0.25), move, np.ascontiguousarray(apart.T))
    found = cluster_chain(drawn(chain, 2000, 10, seed=seed), 4, symbols=12, seed=seed)
    groups = found.emit.argmax(axis=1).reshape(4, 3)
    assert (groups == groups[:, :1]).all()
    assert len({*groups[:, 0].tolist()}) == 4


def test_the_likeliest_start_goes_on():
    """It is that of which ten steps come farthest; a start that cannot be had is left out."""
    chain = planted_chain(5, 15, seed=3)
    data = drawn(chain, 400, 10, seed=3)
    sequences = [part.tolist() for part in data.split(data.symbols)]

    def after(steps, init):
        return HiddenMarkov(5, init=init, max_iter=steps, tol=0).fit(sequences).history_[-1]

    assert after(1, "best") == pytest.approx(min(after(11, init) for init in ESTIMATED), rel=1e-9)
    paired = HiddenMarkov(2, max_iter=1, tol=0).fit(["ab", "ba", "cb", "bc"])  # no triples, no moments
    assert paired.emissions_.shape == (2, 3)


def test_noise_that_is_taken_for_a_state_is_told():
    """Of more states than the moments of few sequences show."""
    data = drawn(chain_of(6, 6, 0), 30, 5, seed=0)
    with pytest.warns(FewMomentsWarning, match="of 6 states are estimated from noise"):
        HiddenMarkov(6, init="spectral", max_iter=2).fit(data.split(data.symbols))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HiddenMarkov(4).fit(WORDS), "as many states as symbols; got 4 states and 3 symbols"),
        (
            lambda: HiddenMarkov(1, init="spectral").fit(["ab", "ba"]),
            "at least one sequence must have three or more symbols",
        ),
        (lambda: HiddenMarkov(1).fit(["a", ""]), "at least one sequence must have two or more symbols"),
        (lambda: HiddenMarkov(2, init="spectral").fit(["aaaa", "aab"]), "rank 1, too low for 2 states"),
        (lambda: HiddenMarkov(3, init="anchors").fit(["ab" * 2000 + "ccc"]), "only 2 symbols have distinct contexts"),
        (lambda: HiddenMarkov(2).score(["a"]), "not fitted yet; call fit first"),
        (lambda: HiddenMarkov(2).sample(1), "not fitted yet; call fit first"),
        (lambda: ObservableOperators(2).next_symbols("a"), "not fitted yet; call fit first"),
        (lambda: ObservableOperators(2).raw_probability("a"), "not fitted yet; call fit first"),
        (lambda: ObservableOperators(2).score(["a"]), "not fitted yet; call fit first"),
    ],
)
def test_refusals(call, message):
    """More states than data can give, and questions before a fit."""
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ({"x": "abc"}, "sequences must be a list or array"),
        ([], "at least one symbol"),
        (["", ""], "at least one symbol"),
    ],
)
def test_bad_sequences_are_named(sequences, message):
    """Nothing is learned from nothing."""
    for model in (HiddenMarkov(2), ObservableOperators(2)):
        with pytest.raises(InputError, match=message):
            model.fit(sequences)


def test_symbols_of_numpy_are_plain():
    """A model of rows of an array is one of lists of numbers."""
    model = fitted([np.array([1, 2, 3, 1]), np.array([2, 2, 1])])
    assert [type(symbol) for symbol in model.symbols_] == [int] * 3
    assert model.score([[1, 2]]) == model.score([np.array([1, 2])])


def test_symbols_have_their_order():
    """Sorted where they can be, else as they come."""
    assert known_symbols([[3, 1], [2]]) == [1, 2, 3]
    assert known_symbols([["b", 1]]) == ["b", 1]
    assert Coded(np.array([1, 2]), np.array([0, 2])).runs(3).shape == (0, 3)


@pytest.mark.realdata
def test_tags_are_foretold():
    """On real tags a hidden Markov model from a spectral start beats the share of tags by far."""
    from experiments.data.annotated import web_treebank

    tags = [(*tree.upos, "</s>") for tree in web_treebank("dev")]
    model = HiddenMarkov(6, max_iter=30).fit(tags[:1500])
    held = tags[1500:]
    n = sum(map(len, held))
    shares = HiddenMarkov(1, max_iter=1).fit(tags[:1500])
    assert model.score(held) / n > shares.score(held) / n + 0.25

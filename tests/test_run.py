"""Stopping by a measure, divergence, checkpoints, starts: what every iterative model shares."""

import json
import os
import signal
import weakref

import numpy as np
import pytest

import reference
from helpers import edit_meta, some_entries
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.losses import Poisson, Squared
from polyadic.core.objective import Objective
from polyadic.core.penalties import L2, NonNegative, PositiveL1
from polyadic.core.solvers.run import DivergedWarning, NotConvergedWarning, Sweep, run
from polyadic.topics import NMF
from polyadic.words.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from polyadic.words.orders import best_scale, given_start, positive_start, symmetric_terms, zero_unobserved
from polyadic.words.symmetric import SymmetricCP


def sweeps(values):
    return (Sweep([np.array([float(value)])], float(value)) for value in values)


def test_the_lowest_measure_is_kept():
    """The sweep with the lowest measure gives the factors; so many worse ones in a row end the run."""
    result = run(sweeps(range(20, 0, -1)), max_iter=50, measure=lambda f: abs(f[0].item() - 15), patience=3)
    assert (result.factors[0].item(), result.best, result.n_iter) == (15, 5, 8)
    assert result.measured == [5, 4, 3, 2, 1, 0, 1, 2, 3]
    assert result.converged
    exhausted = run(sweeps(range(20, 0, -1)), max_iter=7, measure=lambda f: abs(f[0].item() - 15))
    assert (exhausted.factors[0].item(), exhausted.n_iter, exhausted.converged) == (15, 7, False)


@pytest.mark.parametrize("measure", [None, lambda factors: abs(float(factors[0][0]) - 2)])
def test_only_the_factors_that_are_kept_take_room(measure):
    """While a sweep is made, those of earlier sweeps are gone, but for the best or the last."""
    made, alive = [], []

    def solver():
        for k in range(6):
            alive.append(sum(ref() is not None for ref in made))
            factors = [np.full(3, float(k))]
            made.append(weakref.ref(factors[0]))
            yield Sweep(factors, 2.0**-k)
            del factors

    run(solver(), max_iter=5, measure=measure)
    assert alive == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_divergence_keeps_the_last_good_factors(value):
    """An objective that is not finite ends the run with a warning that names the sweep."""
    with pytest.warns(DivergedWarning, match="in iteration 3, so the factors of iteration 2 were kept; use"):
        result = run(sweeps([3, 2, 1, value, 0]), max_iter=9, tol=1e-3)
    assert (result.factors[0].item(), result.history) == (1, [3, 2, 1])
    assert (result.diverged, result.converged, result.interrupted) == (True, False, False)


def test_warnings_point_to_the_caller_of_fit():
    """A convergence warning points to the line of the user, not to a line of the library."""
    with pytest.warns(NotConvergedWarning) as seen:
        NMF(2, max_iter=1, tol=1e-9).fit(np.random.default_rng(0).random((9, 5)))
    assert [warning.filename for warning in seen] == [__file__]


def test_checkpoint_is_what_was_reached(tmp_path):
    """A run goes on from a checkpoint; one that is not due writes nothing; another folder is not replaced."""
    path = tmp_path / "reached"
    result = run(sweeps([3, 2, 1]), max_iter=2, callback=Checkpoint(path, every=0))
    again = load_checkpoint(path)
    assert np.array_equal(again.factors[0], result.factors[0])
    assert (again.history, again.best, again.n_iter) == (result.history, 2, 2)
    run(sweeps([9, 8]), max_iter=1, callback=Checkpoint(path, every=1000))
    assert load_checkpoint(path).history == result.history
    other = tmp_path / "other"
    other.mkdir()
    (other / "meta.json").write_text(json.dumps({"kind": "corpus", "version": 1}))
    with pytest.raises(InputError, match="is not a folder of kind 'checkpoint'"):
        Checkpoint(other)


@pytest.mark.parametrize("damage", ["cut", "absent", "key"])
def test_damaged_checkpoints_are_refused(damage, tmp_path):
    """A checkpoint that is cut short or lacks a part is refused by name."""
    path = tmp_path / "reached"
    save_checkpoint(run(sweeps([3, 2]), max_iter=1), path, made_of={"rank": 3})
    file = path / "factors.safetensors"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-4])
    elif damage == "absent":
        file.unlink()
    else:
        meta = json.loads((path / "meta.json").read_text())
        edit_meta(path, **dict.fromkeys(meta.keys() - {"kind", "version"}))
    with pytest.raises(InputError, match="reached"):
        load_checkpoint(path)
    told = "rank none instead of 3" if damage == "key" else "delete .*reached to start the fit again"
    with pytest.raises(InputError, match=told):
        Checkpoint(path, made_of={"rank": 3})


def test_going_on_from_a_checkpoint(tmp_path):
    """Factors of a checkpoint start where they were: the objective goes on falling from there."""
    x = some_entries()
    first = SymmetricCP(3, seed=0, max_iter=5, tol=0.0, callback=Checkpoint(tmp_path / "c", every=0)).fit(x)
    reached = load_checkpoint(tmp_path / "c")
    assert np.array_equal(reached.factors[0], first.factors_[0])
    second = SymmetricCP(3, start=reached.factors[0], max_iter=5, tol=0.0).fit(x)
    assert second.history_[0] <= first.history_[-1] * (1 + 1e-6)
    assert second.history_[-1] < first.history_[-1]


def test_a_run_that_was_stopped_is_gone_on_with(tmp_path, monkeypatch):
    """Its sweeps, history and time count; after a measure, from the best sweep; another run is refused by name."""
    how = {"every": 0, "made_of": {"rank": 3, "seed": (0, 1)}}
    run(sweeps([9, 5, 4]), max_iter=2, callback=Checkpoint(tmp_path / "c", **how))
    callback = Checkpoint(tmp_path / "c", **how)
    assert callback.reached.n_iter == 2
    result = run(sweeps([4, 3, 2, 1]), max_iter=4, callback=callback)
    assert (result.history, result.n_iter, result.converged) == ([9, 5, 4, 3, 2], 4, False)
    assert result.seconds == sorted(result.seconds)
    assert len(result.seconds) == 5
    with pytest.raises(
        InputError,
        match=r"of a fit with other settings \(rank 3 instead of 4\); use the settings of the checkpoint to resume",
    ):
        Checkpoint(tmp_path / "c", made_of={**how["made_of"], "rank": 4})
    assert Checkpoint(tmp_path / "c", made_of={"rank": 4}, overwrite=True).reached is None
    assert Checkpoint(tmp_path / "c").reached is None  # it was not asked whether to go on
    losses = iter([5.0, 2.0, 3.0])
    measured = {"max_iter": 2, "measure": lambda _: next(losses)}
    run(sweeps([9, 5, 4]), callback=Checkpoint(tmp_path / "m", **how), **measured)
    again = Checkpoint(tmp_path / "m", **how)
    assert (again.reached.history, again.reached.measured, again.reached.factors[0].item()) == ([9, 5], [5.0, 2.0], 5)
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            again.done()
    assert not (tmp_path / "m").exists()  # not half of it, which nobody could go on from
    again.done()


def test_held_out_entries_are_neither_known_nor_zero():
    """The loss does not see held-out entries: neither their values nor their place among the zeros count."""
    x = some_entries(n=100)
    known, held = x.hold_out(0.3, np.random.default_rng(0))
    out = known.weights == 0
    assert out.sum() == round(0.3 * len(x)) == len(held)
    assert np.array_equal(held.indices, x.indices[out])
    assert np.array_equal(held.values, x.values[out])
    u = positive_start(12, 2, np.random.default_rng(1)).astype(float)
    dense, _ = reference.dense(x)
    cells = reference.cp([u] * 3)
    is_held, is_known = reference.cells(held), reference.cells(x) & ~reference.cells(held)
    truth = 0.5 * np.sum((dense - cells)[is_known] ** 2) + 0.05 * np.sum(cells[~is_known & ~is_held] ** 2)
    (term,) = symmetric_terms([known], Squared(), zero_weight=0.1, zero_power=0.0)
    assert Objective([term], [L2()]).value([u]) == pytest.approx(truth / 6)  # each tuple once, not each permutation
    with pytest.raises(InputError, match="the held-out fraction must be less than 1"):
        x.hold_out(1.0, np.random.default_rng(0))


def test_validation_stops_before_overfitting():
    """With noise and many columns the held-out loss rises after a while; the vectors before that are kept."""
    rng = np.random.default_rng(0)
    planted = rng.random((15, 2))
    rows = np.array([row for row in np.ndindex(15, 15, 15) if row[0] > row[1] > row[2]])
    values = reference.cp([planted] * 3)[tuple(rows.T)] + 0.3 * rng.standard_normal(len(rows))
    x = Entries.collect(rows, values, 15)
    model = SymmetricCP(12, zero_weight=0.0, validation=0.2, seed=0, max_iter=200, tol=0.0).fit(x)
    result = model.result_
    assert result.converged
    assert result.best < result.n_iter
    assert result.measured[result.best] == min(result.measured)
    full = SymmetricCP(12, zero_weight=0.0, seed=0, max_iter=200, tol=0.0).fit(x)

    def error(fitted):
        return np.linalg.norm(fitted.predict(rows) - reference.cp([planted] * 3)[tuple(rows.T)])

    assert error(model) < error(full)


def test_starts():
    """Given columns stay, missing ones are random and short; what no entry names is zero."""
    rng = np.random.default_rng(0)
    given = rng.standard_normal((6, 2))
    u = given_start(given, 6, rank=5, rng=rng)
    assert np.array_equal(u[:, :2], given.astype(np.float32))
    assert 0 < np.abs(u[:, 2:]).max() < np.abs(given).max()
    x = Entries.collect([[0, 1, 2], [2, 3, 1]], [1.0, 2.0], 6)
    assert np.flatnonzero(zero_unobserved(u, [x]).any(axis=1)).tolist() == [0, 1, 2, 3]
    for wrong, message in (
        (given[:5], "6 rows, one per word"),
        (given * np.nan, "start must be finite"),
    ):
        with pytest.raises(InputError, match=message):
            given_start(wrong, 6, rank=5, rng=rng)
    with pytest.raises(InputError, match="1 to 1 columns"):
        given_start(given, 6, rank=1, rng=rng)


@pytest.mark.parametrize("loss", [Squared(), Poisson()], ids=repr)
def test_best_scale_of_several_orders(loss):
    """The scale that is best for pairs and triples together: no other multiple has a lower objective."""
    lists = [some_entries(order=2), some_entries(order=3)]
    terms = symmetric_terms(lists, loss, zero_weight=0.1)
    f = Objective(terms, [L2()])
    start = best_scale(terms, np.abs(np.random.default_rng(0).standard_normal((12, 3))) * 7)
    best = f.value([start])
    near = 1e-3 * best
    assert all(f.value([t * start]) > best - near for t in (0.5, 0.9, 0.97, 1.03, 1.1, 2.0))


@pytest.mark.parametrize("penalty", [L2(1e-4), NonNegative(1e-4)], ids=repr)
def test_joint_recovery(penalty):
    """Vectors that made pairs, triples and quadruples at once are found again from all of them."""
    rng = np.random.default_rng(3)
    planted = rng.random((10, 3)) * (rng.random((10, 3)) < 0.7) + 0.05
    lists = []
    for order in (2, 3, 4):
        rows = np.array([row for row in np.ndindex(*(10,) * order) if list(row) == sorted(row, reverse=True)])
        lists.append(Entries.collect(rows, reference.cp([planted] * order)[tuple(rows.T)], 10))
    models = [
        SymmetricCP(3, zero_weight=1.0, penalty=penalty, tol=1e-9, max_iter=2000, seed=seed).fit(lists)
        for seed in range(3)
    ]
    (found,) = min(models, key=lambda model: model.history_[-1]).factors_
    cosines = np.abs((found / np.linalg.norm(found, axis=0)).T @ (planted / np.linalg.norm(planted, axis=0)))
    assert (cosines.max(axis=0) > 0.99).all()
    assert set(cosines.argmax(axis=0)) == {0, 1, 2}


def test_order_weights_trade_fits():
    """The more an order counts, the better it is fitted and the worse the other."""
    lists = [some_entries(1, order=2), some_entries(2, order=3)]

    def errors(weights):
        model = SymmetricCP(
            2, zero_weight=0.1, zero_power=0.0, order_weights=weights, seed=0, tol=1e-6, max_iter=500
        ).fit(lists)
        return [float(np.sum((model.predict(x.indices) - x.values) ** 2)) for x in lists]

    pairs_first, triples_first = errors([10.0, 1.0]), errors([0.1, 1.0])
    assert pairs_first[0] < triples_first[0]
    assert pairs_first[1] > triples_first[1]


def test_weight_of_an_order_is_relative():
    """Values of another unit, and twice the entries, leave the balance of orders as it is."""
    triples = Entries.collect([[0, 1, 2], [2, 3, 4], [0, 3, 5]], [1.0, 2.0, 3.0], 6)
    for pairs in ([[0, 1], [2, 3]], [4.0, 1.0]), ([[0, 1], [2, 3], [4, 5]], [40.0, 10.0, 5.0]):
        terms = symmetric_terms([Entries.collect(*pairs, 6), triples], Squared(), zero_weight=0.0)
        at_zero = [Objective([term], [L2()]).value([np.zeros((6, 1))]) for term in terms]
        assert at_zero == pytest.approx([7.0, 7.0])  # half of 1 + 4 + 9


def test_words_of_no_tuple_have_no_vector():
    """A word that occurs in no tuple gets zeros, whatever zeros weigh, and the others are not disturbed."""
    x = Entries.collect([[0, 1, 2], [3, 4, 5]], [1.0, 1.0], 8)
    for zero_weight in (0.0, 0.1):
        (u,) = SymmetricCP(3, zero_weight=zero_weight, seed=0, max_iter=50, tol=0.0).fit(x).factors_
        assert not u[6:].any()
        assert u[:6].any(axis=1).all()


def test_partial_fit_goes_on():
    """One sweep over other entries starts from the present vectors; the first call is a fit."""
    x, y = some_entries(0), some_entries(1)
    model = SymmetricCP(3, seed=0, max_iter=20, tol=0.0).partial_fit(x)
    assert np.array_equal(model.factors_[0], SymmetricCP(3, seed=0, max_iter=20, tol=0.0).fit(x).factors_[0])
    before = model.factors_[0]
    model.partial_fit(y)
    assert model.n_iter_ == 1
    assert model.history_[1] < model.history_[0]
    assert not np.array_equal(before, model.factors_[0])
    with pytest.raises(InputError, match="the factor matrices must have"):
        model.partial_fit(some_entries(size=20))


def test_positive_part_is_what_positive_l1_means():
    """With Bailey and Aeron's variant of the lasso negative elements are taken for zeros."""
    model = SymmetricCP(6, penalty=PositiveL1(0.01), zero_weight=1.0, seed=0, max_iter=30, tol=0.0).fit(some_entries())
    assert (model.factors_[0] < 0).any()
    vectors = model.embedding([f"w{k}" for k in range(12)]).vectors
    assert np.array_equal(vectors, np.maximum(model.factors_[0], 0))


@pytest.mark.parametrize(
    ("parameters", "lists", "message"),
    [
        (
            {"order_weights": [1.0]},
            [2, 3],
            "order_weights must contain one weight per tensor; got 1 weights for 2",
        ),
        ({"order_weights": [1.0, -1.0]}, [2, 3], "order_weights must be a sequence, each a finite number"),
        ({}, [], "one weight per tensor; got 0 weights for 0 tensors"),
        ({"validation": -0.1}, [3], "validation must be a finite number from 0 to 1; got -0.1"),
    ],
)
def test_joint_refusals(parameters, lists, message):
    """What cannot be decomposed together is refused in a sentence."""
    with pytest.raises(InputError, match=message):
        SymmetricCP(2, **parameters).fit([some_entries(order=order) for order in lists])


def test_useless_entries_are_refused():
    """All zeros, and vocabularies of different sizes, are refused in a sentence."""
    zeros = Entries.collect([[0, 1, 2]], [0.0], 3)
    with pytest.raises(InputError, match="all entries are zero"):
        SymmetricCP(2).fit(zeros)
    with pytest.raises(InputError, match="entries must have the same vocabulary; got 12 and 20 words"):
        SymmetricCP(2).fit([some_entries(order=2), some_entries(size=20)])

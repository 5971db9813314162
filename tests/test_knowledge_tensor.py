"""Tensor models of knowledge: their loops, forms, descent and what they can be asked."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import refuses
from polyadic.core import kernels
from polyadic.core.errors import SeenFactsWarning
from polyadic.core.kernels.triples import _exponential as exponential
from polyadic.core.kernels.triples import _largest as largest
from polyadic.core.kernels.triples import _logarithm_1p as logarithm_1p
from polyadic.relations.bilinear import Complex, Diagonal, Slices
from polyadic.relations.facts import Facts, facts_of, read_facts, shared
from polyadic.relations.knowledge import (
    FORMS,
    DescentSettings,
    KnowledgeTensor,
    descend_triples,
    questions,
    questions_of,
    start_of,
)
from polyadic.relations.link_prediction import EmptyRelationWarning, complete, learned_facts
from strategies import tries


def asked(seed, rows=6, columns=9):
    """Scores, answers of each row, and how many each column stands for, one if it answers."""
    rng = np.random.default_rng(seed)
    S = rng.normal(0, 4, (rows, columns)).astype(np.float32)
    parts = [rng.choice(columns, rng.integers(1, 4), replace=False) for _ in range(rows)]
    weights = rng.uniform(0.5, 4, columns)
    weights[np.concatenate(parts)] = 1
    return S, parts, weights


def starts_of(parts):
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])])


@given(st.integers(0, 999), st.booleans(), st.integers(1, 3))
def test_softmax_rows(seed, weighted, threads):
    S, parts, weights = asked(seed)
    weights = weights if weighted else np.ones_like(weights)
    e = np.exp(S.astype(float)) * weights
    value = sum(len(part) * np.log(row.sum()) - s[part].sum() for row, s, part in zip(e, S.astype(float), parts))  # noqa: B905
    derivatives = e / e.sum(axis=1, keepdims=True)
    derivatives *= np.array([len(part) for part in parts])[:, None]
    for row, part in zip(derivatives, parts, strict=True):
        row[part] -= 1
    found = kernels.softmax_rows(
        S,
        starts=starts_of(parts),
        answers=np.concatenate(parts),
        weights=weights if weighted else None,
        threads=threads,
    )
    assert found == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(S, derivatives, atol=1e-5)


@given(st.integers(0, 999), st.integers(1, 3))
def test_logistic_rows(seed, threads):
    S, parts, weights = asked(seed)
    s = S.astype(float)
    value = (np.logaddexp(0, s) * weights).sum() - sum(row[part].sum() for row, part in zip(s, parts, strict=True))
    derivatives = weights / (1 + np.exp(-s))
    for row, part in zip(derivatives, parts, strict=True):
        row[part] -= 1
    found = kernels.logistic_rows(
        S, starts=starts_of(parts), answers=np.concatenate(parts), weights=weights, threads=threads
    )
    assert found == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(S, derivatives, atol=1e-5)


def test_functions_in_single_precision():
    """As those of numpy in double precision, within what they promise; rounding of the result comes on top."""
    x = np.linspace(-87, 87.9, 5001).astype(np.float32)
    exact = np.exp(x.astype(float))
    found = np.array([exponential(one) for one in x])
    assert (np.abs(found - exact) <= 2e-7 * (1 + np.abs(x)) * exact).all()
    assert 0 < exponential(np.float32(-1e30)) < 1.2e-38
    x = np.linspace(0, 1, 5001).astype(np.float32)
    found = np.array([logarithm_1p(one) for one in x])
    np.testing.assert_allclose(found, np.log1p(x.astype(float)), rtol=1e-7, atol=1.5e-7)
    rows = np.random.default_rng(0).normal(-5, 3, (9, 17)).astype(np.float32)
    assert [largest(row) for row in rows] == rows.max(axis=1).tolist()
    assert largest(rows[0, :1]) == rows[0, 0]


def test_far_scores_stay_finite():
    """Neither loss overflows, and what is as likely as can be costs nothing."""
    S = np.array([[1e4, -1e4, 0.0]], np.float32)
    assert kernels.softmax_rows(S.copy(), starts=np.array([0, 1]), answers=np.array([0])) == 0
    assert kernels.logistic_rows(S, starts=np.array([0, 1]), answers=np.array([0])) == pytest.approx(
        np.log(2), rel=1e-3
    )
    np.testing.assert_allclose(S, [[0, 0, 0.5]], atol=1e-6)


def test_adagrad_step_and_add_rows():
    rng = np.random.default_rng(0)
    X, H, G = (rng.standard_normal((5, 3)).astype(np.float32) for _ in range(3))
    H, rows = H**2, np.array([4, 1])
    squares = H[rows] + G[:2] ** 2
    moved = X.copy()
    moved[rows] -= 0.1 * G[:2] / (np.sqrt(squares) + 1e-3)
    kernels.adagrad_step(X, H, G[:2], rows=rows, step=0.1, eps=1e-3, threads=2)
    np.testing.assert_allclose(X, moved, rtol=1e-6)
    np.testing.assert_allclose(H[rows], squares, rtol=1e-6)
    out, index = np.zeros((4, 3)), np.array([2, 0, 2, 3, 2])
    kernels.add_rows(index, G.astype(float), out)
    twin = np.zeros((4, 3))
    np.add.at(twin, index, G.astype(float))
    np.testing.assert_allclose(out, twin)
    np.testing.assert_array_equal(kernels.summed_rows(index, G.astype(float), 4), out)
    with pytest.raises(ValueError, match="indices"):
        kernels.add_rows(np.array([4]), np.zeros((1, 3)), out)
    with pytest.raises(ValueError, match="G must have shape"):
        kernels.adagrad_step(X, H, G, rows=rows, step=0.1, eps=1e-3)
    with pytest.raises(ValueError, match="starts"):
        kernels.softmax_rows(X, starts=np.array([0, 1]), answers=np.array([0]))


def matrices(form, R):
    """M_r of each relation, by definition."""
    if isinstance(form, Diagonal):
        return np.stack([np.diag(w) for w in R[0]])
    if isinstance(form, Complex):
        d = R[0].shape[1] // 2
        real, imaginary = (np.stack([np.diag(w) for w in half]) for half in (R[0][:, :d], R[0][:, d:]))
        return np.block([[real, imaginary], [-imaginary, real]])
    return R[0] if isinstance(form, Slices) else np.einsum("rk,kij->rij", *R)


def start_like(name, n, K, *, rank, relation_rank, rng):
    """A start of which the elements are about one."""
    return [x / x.std() for x in start_of(name, n, K, rank=rank, relation_rank=relation_rank, rng=rng)]


def random_form(name, seed, n=5, K=3, rank=4):
    form, ends = FORMS[name]
    factors = start_like(name, n, K, rank=rank, relation_rank=2, rng=np.random.default_rng(seed))
    factors = [x.astype(float) for x in factors]
    return form, factors[ends[0]], factors[ends[1]], factors[max(ends) + 1 :]


@pytest.mark.parametrize("name", ["RESCAL", "Tucker2", "TuckER", "Tucker3"])
def test_matrices_start_symmetric_and_grow_no_vector(name):
    """A random query has the length of what it is asked of, and the same backwards."""
    n, rank = 50, 40
    start = start_of(name, n, 6, rank=rank, relation_rank=30, rng=np.random.default_rng(0))
    form, ends = FORMS[name]
    M = matrices(form, start[max(ends) + 1 :])
    np.testing.assert_array_equal(M, M.transpose(0, 2, 1))
    lengths = np.linalg.norm(start[0] @ M[0], axis=1) / np.linalg.norm(start[0], axis=1)
    assert 0.5 < np.median(lengths) < 2


@pytest.mark.parametrize("name", FORMS)
@given(st.integers(0, 999))
@tries(10)
def test_forms_are_bilinear(name, seed):
    """Queries are a product with M_r, either way, and gradients those of finite differences."""
    form, A, B, R = random_form(name, seed)
    M = matrices(form, R)
    rng = np.random.default_rng(seed)
    s, r, o = rng.integers(5, size=7), rng.integers(3, size=7), rng.integers(5, size=7)
    scores = np.einsum("ni,nij,nj->n", A[s], M[r], B[o])
    q, pullback = form.query(A[s], r, R)
    p, pullback_backwards = form.query(B[o], r, R, backwards=True)
    np.testing.assert_allclose((q * B[o]).sum(axis=1), scores, atol=1e-10)
    np.testing.assert_allclose((p * A[s]).sum(axis=1), scores, atol=1e-10)
    for given_, other, pull in ((A[s], B[o], pullback), (B[o], A[s], pullback_backwards)):
        backwards = pull is pullback_backwards
        da, dR = pull(other)
        step = 1e-5 * rng.standard_normal(given_.shape)
        up, down = (form.query(given_ + sign * step, r, R, backwards=backwards)[0] for sign in (1, -1))
        assert ((up - down) * other).sum() == pytest.approx(2 * (da * step).sum(), rel=1e-6, abs=1e-12)
        for k, gradient in enumerate(dR):
            move = [1e-5 * rng.standard_normal(x.shape) * (j == k) for j, x in enumerate(R)]
            up, down = (
                form.query(given_, r, [x + sign * m for x, m in zip(R, move, strict=True)], backwards=backwards)[0]
                for sign in (1, -1)
            )
            assert ((up - down) * other).sum() == pytest.approx(2 * (gradient * move[k]).sum(), rel=1e-6, abs=1e-12)


def test_complex_form_is_that_of_complex_numbers():
    rng = np.random.default_rng(0)
    a, w, b = (rng.standard_normal((1, 6)) for _ in range(3))
    z = [x[0, :3] + 1j * x[0, 3:] for x in (a, w, b)]
    q, _ = Complex().query(a, np.array([0]), [w])
    assert (q @ b.T).item() == pytest.approx((z[0] * z[1] * z[2].conj()).sum().real)


FACTS = np.array([[0, 0, 1], [0, 0, 2], [1, 0, 2], [3, 1, 0], [2, 1, 0], [4, 2, 4], [1, 2, 3]])


def slow_objective(name, factors, facts, K, plan, *, reciprocal):
    """The mean over facts and directions, one by one."""
    form, ends = FORMS[name]
    A, B, R = factors[ends[0]], factors[ends[1]], factors[max(ends) + 1 :]
    M = matrices(form, R)
    asked_ = [(s, r, o, False) for s, r, o in facts]
    asked_ += [(o, r + K, s, False) if reciprocal else (o, r, s, True) for s, r, o in facts]
    told = {}
    for known, r, answer, backwards in asked_:
        told.setdefault((known, r, backwards), []).append(answer)
    size = (lambda x: (x**2).reshape(form.blocks, -1).sum(axis=0) ** 1.5) if plan.penalty == "N3" else np.square
    total = 0.0
    for (known, r, backwards), answers in told.items():
        a, others = (B[known], A) if backwards else (A[known], B)
        q = a @ (M[r].T if backwards else M[r])
        m = others @ q
        if plan.loss == "softmax":
            total += len(answers) * np.log(np.exp(m).sum()) - m[answers].sum()
        else:
            total += np.logaddexp(0, m).sum() - m[answers].sum()
        vectors = [q] if plan.penalty == "DURA" else [a, R[0][r].ravel(), *[c.ravel() for c in R[1:] for c in c]]
        total += plan.strength * len(answers) * sum(size(v).sum() for v in vectors)
        total += plan.strength * sum(size(others[answer]).sum() for answer in answers)
    return total / len(asked_)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("loss", "penalty"), list(itertools.product(("softmax", "logistic"), ("N3", "L2", "DURA"))))
@pytest.mark.parametrize("reciprocal", [True, False])
def test_objective_and_its_gradient(name, loss, penalty, reciprocal):
    """The first objective is that of the definition; the first step of Adagrad goes against its gradient."""
    rng, K = np.random.default_rng(3), 3
    start = start_like(name, 5, 6 if reciprocal else 3, rank=3, relation_rank=2, rng=rng)
    plan = DescentSettings(loss, penalty, strength=0.1, learning_rate=1e-3, batch=99)
    ends = FORMS[name][1]
    total, moved = [], []
    for part in questions(FACTS, K, reciprocal=reciprocal):
        solver = descend_triples(FORMS[name][0], start, [part], plan, ends=ends, rng=rng, threads=1)
        total.append(next(solver).objective * len(part.answers))
        moved.append(next(solver).factors)
    exact = [x.astype(float) for x in start]

    def value(factors):
        return slow_objective(name, factors, FACTS, K, plan, reciprocal=reciprocal)

    assert sum(total) / (2 * len(FACTS)) == pytest.approx(value(exact), rel=1e-4)
    if reciprocal:  # one batch holds all questions
        for k, x in enumerate(exact):
            for at in [tuple(i) for i in rng.integers(x.shape, size=(6, x.ndim))]:
                x[at] += 1e-5
                up = value(exact)
                x[at] -= 2e-5
                slope = (up - value(exact)) / 2e-5
                x[at] += 1e-5
                step = 1e-3 / np.sqrt(x.shape[-1] if x.ndim > 2 else 1)
                if abs(slope) > 1e-3:
                    assert moved[0][k][at] - start[k][at] == pytest.approx(-step * np.sign(slope), rel=0.02)


def test_questions_share_a_row_of_scores():
    """As many facts in any order, some twice, ask the same questions."""
    doubled = np.random.default_rng(0).permutation(np.concatenate([FACTS, FACTS[:3]]))
    for backwards in (False, True):
        found, other = (questions_of(facts, backwards=backwards) for facts in (FACTS, doubled))
        for one, two in zip(found, other, strict=True):
            np.testing.assert_array_equal(one, two)
        assert len(found.answers) == len(FACTS)
        some = found.take(np.array([2, 0]))
        assert some.known.tolist() == found.known[[2, 0]].tolist()
        assert len(some.answers) == some.starts[-1]


@pytest.mark.parametrize(("form", "others"), [("ComplEx", 36), ("RESCAL", 36), ("CP", 38), ("Tucker3", 38)])
@pytest.mark.parametrize("backwards", [False, True])
def test_sampled_candidates_are_right_in_expectation(form, others, backwards):
    """The mean of objectives over samples is that of all candidates for the logistic loss, which is a plain sum.

    Known ends are named, too, where both ends share a factor; as many as all ``others`` are no sample.
    """
    rng = np.random.default_rng(0)
    kind, ends = FORMS[form]
    start = [0.3 * x for x in start_like(form, 40, 2, rank=3, relation_rank=None, rng=rng)]
    part = [questions_of(np.array([[0, 0, 1], [2, 1, 3]]), backwards=backwards)]

    def objective(candidates, seed):
        plan = DescentSettings("logistic", "N3", 0.1, 0.1, 9, candidates)
        draws = np.random.default_rng(seed)
        return next(descend_triples(kind, start, part, plan, ends=ends, rng=draws, threads=1)).objective

    whole = objective(None, 0)
    drawn = np.array([objective(5, seed) for seed in range(300)])
    assert abs(drawn.mean() - whole) < 4 * drawn.std() / np.sqrt(300)
    assert drawn.std() > 0
    assert objective(others - 1, 0) != whole
    assert objective(others, 0) == objective(others + 9, 0) == whole


def test_a_step_holds_no_more_relations_than_it_asks_for():
    """Of many matrices only those of the batch are worked on; what is left is the copy that is given."""
    rng = np.random.default_rng(0)
    start = start_of("RESCAL", 9, 2000, rank=16, relation_rank=None, rng=rng)
    part = [questions_of(np.array([[0, 7, 1], [2, 7, 3], [4, 1999, 5]]))]
    solver = descend_triples(Slices(), start, part, DescentSettings(batch=2), ends=(0, 0), rng=rng, threads=1)
    next(solver)
    next(solver)
    tracemalloc.start()
    found = next(solver).factors
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * sum(x.nbytes for x in found)
    moved = (found[1] != start[1]).any(axis=(1, 2))
    assert np.flatnonzero(moved).tolist() == [7, 1999]


def planted(n=40, K=4, rank=3, seed=0):
    """The strongest triples of a random ComplEx, one in six held out."""
    rng = np.random.default_rng(seed)
    A, W = rng.standard_normal((n, 2 * rank)), rng.standard_normal((K, 2 * rank))
    M = matrices(Complex(), [W])
    scores = np.einsum("si,rij,oj->sro", A, M, A)
    facts = rng.permutation(np.argwhere(scores > np.quantile(scores, 0.93)))
    return facts[60:], facts[:60]


@pytest.mark.parametrize("form", FORMS)
def test_planted_facts_are_found(form):
    """Held-out facts of a low-rank tensor rank far above chance, by every form that can hold them."""
    train, test = planted()
    penalty = "N3" if form in {"CP", "ComplEx", "DistMult"} else "DURA"
    model = KnowledgeTensor(
        10, form=form, strength=0.01, penalty=penalty, learning_rate=0.2, batch=24, max_iter=40, seed=0
    ).fit(train)
    found = model.evaluate(test, relations=True)
    chance = np.mean(1 / np.arange(1, 38))
    assert found.mean_reciprocal_rank > (2 if form == "DistMult" else 4) * chance
    assert (1 / found.relations).mean() > 0.45
    assert model.history_[-1] < model.history_[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_triple_has_one_score(form):
    """Whichever side is asked for, the score is the same; with reciprocals, two scores and their mean."""
    train, _ = planted()
    one = KnowledgeTensor(4, form=form, reciprocal=False, max_iter=2, seed=0).fit(train)
    s, r, o = train[:9].T
    places = np.arange(9)
    by_object, by_subject = one.objects(s, r)[places, o], one.subjects(o, r)[places, s]
    np.testing.assert_allclose(by_object, one.predict(s, r, o), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_subject, by_object, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.relations(s, o)[places, r], by_object, rtol=1e-4, atol=1e-5)
    two = KnowledgeTensor(4, form=form, max_iter=2, seed=0).fit(train)
    mean = (two.objects(s, r)[places, o] + two.subjects(o, r)[places, s]) / 2
    np.testing.assert_allclose(two.predict(s, r, o), mean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint64, list])
def test_facts_are_whole_numbers_of_any_kind(kind):
    first, second = (
        KnowledgeTensor(2, form="CP", max_iter=2, seed=0).fit(facts)
        for facts in (FACTS, FACTS.tolist() if kind is list else np.asfortranarray(FACTS.astype(kind)))
    )
    np.testing.assert_array_equal(first.object_factors_, second.object_factors_)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("facts", [[[0, 0, 1]], [[0, 0, 0], [1, 0, 1]]])
def test_the_fewest_facts(form, facts):
    """One fact, or two loops, of one relation and two entities; every batch names all candidates."""
    model = KnowledgeTensor(5, form=form, strength=0.0, n_negatives=1, max_iter=9, seed=0).fit(facts)
    assert np.isfinite(model.objects([0, 1], [0, 0])).all()
    told = facts[0][2]
    assert complete(model, subject=0, relation=0, known=True)[0].name == told
    assert complete(model, subject=0, relation=0) == [
        one for one in complete(model, subject=0, relation=0, known=True) if one.name != told
    ]


def test_the_best_epoch_is_kept():
    """With a validation part, the factors are those of the epoch that ranked it best."""
    train, test = planted()
    model = KnowledgeTensor(8, form="ComplEx", strength=0.0, learning_rate=0.5, max_iter=60, seed=0).fit(
        train, validation=test
    )
    found = model.evaluate(test).mean_reciprocal_rank
    assert found == pytest.approx(-min(model.result_.measured))
    assert model.n_iter_ < 60


def test_other_truths_are_no_errors_of_an_epoch():
    """Ranks of the validation part leave out what else is known to be true, and are never worse for it."""
    train, test = planted()
    how = {"seed": 0, "max_iter": 5}
    plain = KnowledgeTensor(8, **how).fit(train, validation=test[:30])
    filtered = KnowledgeTensor(8, **how).fit(train, validation=test[:30], known=test)
    without, within = np.array(plain.result_.measured), np.array(filtered.result_.measured)
    n = min(len(without), len(within))
    assert (within[:n] <= without[:n]).all()
    assert (within[:n] < without[:n]).any()
    whole = filtered.evaluate(test[:30], known=test).mean_reciprocal_rank
    assert whole == pytest.approx(-min(filtered.result_.measured))


def named():
    towns = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
    told = [(town, "in", land) for town, land in towns.items()]
    return facts_of([*told, ("Oslo", "near", "Bergen"), ("Turin", "near", "Rome")])


@pytest.mark.parametrize("kind", [list, np.array, lambda names: np.array(names, object)])
def test_names_may_stand_in_any_array(kind):
    model = KnowledgeTensor(2, form="CP", seed=0, max_iter=1).fit(named())
    at = model.number_of("entity", "Rome")
    np.testing.assert_array_equal(model.objects(kind(["Rome"]), kind(["in"])), model.objects([at], [0]))
    assert model.predict([], [], []).shape == (0,)
    refuses("no relation 'on'", model.objects, kind(["Rome"]), kind(["on"]))


def test_facts_are_named_by_text():
    """Numbers as names would be taken for numbers of entities."""
    facts = Facts(np.array([[0, 0, 1]]), np.array(["1", "0"]), ("7",))
    assert (facts.entities, facts.relations) == (["1", "0"], ["7"])
    model = KnowledgeTensor(2, form="CP", seed=0, max_iter=1).fit(facts)
    np.testing.assert_array_equal(model.objects(["1"], ["7"]), model.objects([0], [0]))
    refuses("names of entities must be strings; got 10", Facts, np.array([[0, 0, 1]]), [10, 20], ["r"])
    for wrong in ((10, "r", "x"), ("x", "r")):
        refuses("fact 1: expected the names", facts_of, [wrong])


def test_other_facts_share_the_numbers_of_the_model():
    """Whether to choose an epoch by, or known to be true; none to choose by are refused."""
    facts, other = named(), facts_of([("Oslo", "in", "Italy")])
    alike = facts_of([("Rome", "near", "Turin")], entities=facts.entities, relations=facts.relations)
    model = KnowledgeTensor(2, form="CP", seed=0, max_iter=2)
    first = model.fit(facts, validation=alike).result_.measured
    assert first == model.fit(facts, validation=alike.triples).result_.measured
    ranks = model.evaluate(alike, known=facts).ranks
    np.testing.assert_array_equal(ranks, model.evaluate(alike.triples, known=facts.triples).ranks)
    refuses("validation must use the same entity and relation ids", model.fit, facts, validation=other)
    refuses("known must use the same entity and relation ids", model.evaluate, alike, known=other)
    refuses("validation must contain at least one fact", model.fit, facts, validation=facts.triples[:0])


def test_completion_by_names():
    model = KnowledgeTensor(4, form="ComplEx", seed=0).fit(named())
    every = complete(model, subject="Oslo", relation="in", k=99, known=True)
    assert (every[0].name, len(every)) == ("Norway", 6)
    assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)
    assert "Norway" not in [one.name for one in complete(model, subject="Oslo", relation="in", k=99)]
    assert complete(model, subject="Oslo", object="Norway", known=True, k=1)[0].name == "in"
    assert {one.name for one in complete(model, relation="in", object="Italy", known=True, k=2)} == {"Turin", "Rome"}
    for wrong in ({"subject": "Oslo"}, {"subject": "Oslo", "relation": "in", "object": "Rome"}):
        refuses("two of subject", complete, model, **wrong)
    refuses("no subject 'Paris'", complete, model, subject="Paris", relation="in")


def test_learned_facts_among_those_to_predict():
    facts = named()
    model = KnowledgeTensor(2, form="ComplEx", seed=0, max_iter=2).fit(facts)
    with pytest.warns(SeenFactsWarning, match="2 of 2"):
        model.evaluate(facts.triples[:2])
    with pytest.warns(SeenFactsWarning):
        assert len(model.evaluate(facts, relations=True).relations) == len(facts)
    assert shared(facts.triples, facts.triples[1:]) == len(facts) - 1
    other = facts_of([("Oslo", "in", "Norway")])
    refuses("must use the same entity and relation ids", model.evaluate, other)


def test_read_facts(tmp_path):
    path = tmp_path / "facts.tsv"
    path.write_text("a\tr\tb\n\nb\ts\tc\n")
    facts = read_facts(path)
    assert (facts.entities, facts.relations, facts.triples.tolist()) == (
        ["a", "b", "c"],
        ["r", "s"],
        [[0, 0, 1], [1, 1, 2]],
    )
    refuses(r"line 3: there is no relation 's'", read_facts, path, entities=facts.entities, relations=["r"])
    skipped = read_facts(path, entities=["a", "b"], relations=facts.relations, unknown="skip")
    assert (len(skipped), skipped.skipped) == (1, 1)
    path.write_text("a\tr\tb\nb\ts\nb\tr\n")
    refuses(r"2 of 3 rows of .*facts.tsv cannot be read; line 2: expected subject", read_facts, path)
    path.write_text("a\tr\tb\nb\t\tc\n")
    refuses(r"line 2: the relation is missing", read_facts, path)
    path.write_bytes('\ufeff1\t2\t"3\r\n\r\n"3\t2\t1"\r\n'.encode())
    assert read_facts(path).entities == ['"3', "1", '1"']
    refuses("must be unique", Facts, np.zeros((0, 3), int), ["a", "a"], [])


@pytest.mark.filterwarnings("ignore::polyadic.relations.link_prediction.EmptyRelationWarning")
@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (np.zeros((0, 3), int), "at least one fact"),
        (FACTS[:, :2], "shape"),
        (FACTS.astype(float), "integer array"),
        (-FACTS, "must be from 0"),
        ([[0, 0, 0]], "one entity"),
    ],
)
def test_bad_input(facts, message):
    refuses(message, KnowledgeTensor().fit, facts)


def test_an_empty_relation_is_told():
    facts = facts_of([("a", "r", "b")], relations=["r", "s"])
    with pytest.warns(EmptyRelationWarning, match="relations without training facts: 1 of 2, for example 's'"):
        learned_facts(facts)

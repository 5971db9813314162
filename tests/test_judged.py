"""Rankings against pooled judgements: worked examples, laws, and the published table of three systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score

from experiments.data.universal_schema import SYSTEMS, TARGETS, freebase_pairs, judgements, nyt_pairs, rankings
from polyadic.core.errors import InputError
from polyadic.metrics.judged import average_precision, judged, ranked_cells

PAIRS = [(f"s{i}", f"o{i}") for i in range(12)]
ORDERS = st.permutations(PAIRS)
TRUTHS = st.dictionaries(st.sampled_from(PAIRS), st.booleans(), min_size=1).map(
    lambda truth: truth if any(truth.values()) else dict.fromkeys(truth, True)
)

PUBLISHED = {
    "/book/author/works_written": (29, 0.50, 0.51, 0.52),
    "/organization/parent/child": (19, 0.14, 0.25, 0.62),
    "/people/person/place_of_birth": (18, 0.78, 0.75, 0.82),
    "/location/neighborhood/neighborhood_of": (12, 0.00, 0.00, 0.08),
    "/people/person/parents": (7, 0.24, 0.27, 0.58),
    "/business/company/founders": (4, 0.25, 0.25, 0.53),
    "/film/film/directed_by": (4, 0.06, 0.15, 0.25),
    "/sports/sports_team/league": (4, 0.00, 0.43, 0.18),
    "/sports/sports_team/arena_stadium": (3, 0.00, 0.06, 0.06),
    "/sports/sports_team_owner/teams_owned": (2, 0.00, 0.50, 0.70),
    "/broadcast/broadcast/area_served": (2, 1.00, 0.50, 1.00),
    "/architecture/structure/architect": (2, 0.00, 0.00, 1.00),
    "/music/composer/compositions": (2, 0.00, 0.00, 0.00),
    "/people/person/religion": (1, 0.00, 1.00, 1.00),
    "/film/film/produced_by": (1, 1.00, 1.00, 1.00),
}
"""True pairs and average precision of Mintz09, Yao11 and Surdeanu12: eval-naacl13-structured.out.txt."""
POOLED_WITH_OTHERS = {
    "/business/person/company": (103, 0.67, 0.64, 0.70),
    "/location/location/containedby": (74, 0.48, 0.51, 0.54),
    "/people/person/nationality": (29, 0.13, 0.39, 0.12),
    "/people/deceased_person/place_of_death": (19, 0.79, 0.79, 0.86),
}
"""Later judgements of pairs of the test part added true ones here, and the pool of four more systems is not public."""


def test_a_worked_example():
    """Ranks 1 and 4 are true of three true ones: precision 1 and 2 in 4, over 3."""
    ranking = [PAIRS[0], PAIRS[1], PAIRS[2], PAIRS[3]]
    truth = {PAIRS[0]: True, PAIRS[1]: False, PAIRS[3]: True, PAIRS[9]: True}
    other = {"r": [PAIRS[9]]}
    found = judged({"one": {"r": ranking}, "other": other}, {"r": truth, "none": {}})
    assert found["one"].average_precision == pytest.approx((1 + 2 / 4) / 3)
    assert found["other"].average_precision == pytest.approx(1 / 3)
    assert (found["one"].relations, found["one"].true.tolist(), found["one"].judged.tolist()) == (["r"], [3], [4])
    skipped = judged({"one": {"r": ranking}, "other": other}, {"r": truth}, unjudged="skipped")["one"]
    assert skipped.average_precision == pytest.approx((1 + 2 / 3) / 3)
    alone = judged({"one": {"r": ranking}}, {"r": truth})["one"]  # the third true pair is not in the pool
    assert alone.average_precision == pytest.approx((1 + 2 / 4) / 2)
    assert judged({"one": {"r": ranking}}, {"r": truth}, depth=3)["one"].average_precision == pytest.approx(1 / 2)
    np.testing.assert_allclose(alone.curve, [1] * 6 + [0.5] * 5)


def test_means_are_weighted_by_true_pairs():
    """MAP counts relations alike, weighted MAP by their true pairs."""
    truth = {"a": dict.fromkeys(PAIRS[:3], True), "b": {PAIRS[0]: True, PAIRS[1]: False}}
    found = judged({"one": {"a": PAIRS[:3], "b": [PAIRS[1], PAIRS[0]]}}, truth)["one"]
    assert found.relations == ["a", "b"]
    assert found.mean == pytest.approx((1 + 0.5) / 2)
    assert found.weighted_mean == pytest.approx((3 * 1 + 0.5) / 4)


@given(ORDERS, TRUTHS)
def test_judged_pairs_alone_are_ranked_as_elsewhere(order, truth):
    """Without unjudged pairs average precision is that of scikit-learn, and skipping them is taking them out."""
    kept = [pair for pair in order if pair in truth]
    expected = average_precision_score([truth[pair] for pair in kept], -np.arange(len(kept)))
    for ranking in (kept, order):
        found = judged({"one": {"r": ranking}}, {"r": truth}, unjudged="skipped")["one"]
        assert found.mean == pytest.approx(expected)
    assert judged({"one": {"r": order}}, {"r": truth})["one"].mean <= expected + 1e-12


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30), st.integers(0, 5))
def test_precision_at_recall_is_the_best_from_there_on(others, place, missing):
    """Eleven points are what a search over all cut-offs finds; they never rise."""
    right = [*others[:place], True, *others[place:]]
    number = sum(right) + missing
    points = average_precision(right, number)[1]
    cuts = [(sum(right[:k]), k) for k in range(1, len(right) + 1)]
    for tenths, point in enumerate(points):
        reached = [hits / k for hits, k in cuts if 10 * hits >= tenths * number]
        assert point == pytest.approx(max(reached, default=0.0))
    assert (np.diff(points) <= 0).all()


def test_bad_rankings_are_refused():
    """A pair named twice, and a pool without truth, are refused."""
    with pytest.raises(InputError, match="the ranking of one contains a pair twice for the relation r"):
        judged({"one": {"r": [PAIRS[0], PAIRS[0]]}}, {"r": {PAIRS[0]: True}})
    with pytest.raises(InputError, match="at least one entity pair that is judged true"):
        judged({"one": {"r": [PAIRS[0]]}}, {"r": {PAIRS[1]: True}})
    with pytest.raises(InputError, match="number must be at least 2, the number of true items in the ranking; got 1"):
        average_precision([True, True], 1)


@pytest.mark.realdata
def test_the_published_table():
    """Average precision of three systems is the published one wherever the public judgements are those of the table."""
    pairs, told = set(nyt_pairs(kinds=["path"]).pairs), judgements()
    truth = {name: {p: t for p, t in told[f"REL${name}"].items() if p in pairs} for name in TARGETS}
    systems = {
        one: {name.removeprefix("REL$"): ranked for name, ranked in rankings(one).items()}
        for one in ("mintz09", "yao11", "surdeanu12")
    }
    assert set(PUBLISHED) | set(POOLED_WITH_OTHERS) == set(TARGETS)
    found = judged(systems, truth, pool=None)
    for at, one in enumerate(systems, 1):
        table = dict(zip(found[one].relations, found[one].average_precision, strict=True))
        true = dict(zip(found[one].relations, found[one].true, strict=True))
        for name, row in PUBLISHED.items():
            assert true[name] == row[0]
            assert table[name] == pytest.approx(row[at], abs=0.00501)
        for name, row in POOLED_WITH_OTHERS.items():
            assert true[name] >= row[0]
            assert table[name] == pytest.approx(row[at], abs=0.055)
    pooled = judged(systems, truth, pool=100)["mintz09"]
    sizes = {**PUBLISHED, **POOLED_WITH_OTHERS}
    assert (pooled.true <= [sizes[name][0] for name in pooled.relations]).all()


@pytest.mark.realdata
def test_the_published_sets():
    """The sets have their published sizes, and Freebase relates 84 of the labelled pairs."""
    labelled = nyt_pairs(kinds=["freebase"], labelled=True)
    assert len(labelled.pairs) == 2048
    assert (np.diff(labelled.cells.indptr) > 0).sum() == 84
    paths = nyt_pairs(kinds=["path", "words"])
    assert len(paths.pairs) == 10_000
    assert {name.split("#")[0] for name in paths.predicates} == {"path", "lex"}
    assert {one: sum(map(len, rankings(one).values())) for one in SYSTEMS} == SYSTEMS
    with pytest.raises(InputError, match="kind must be one of"):
        nyt_pairs(kinds=["paths"])


@pytest.mark.realdata
@pytest.mark.slow
def test_chains_hold_of_pairs_with_an_entity_between():
    """A chain says that a third entity is related to both ends; relations are all facts of the set."""
    plain, chained = freebase_pairs(paths=None), freebase_pairs(paths=100)
    assert plain.cells.nnz == 310_116
    assert chained.pairs == plain.pairs
    assert chained.predicates[: len(plain.predicates)] == plain.predicates
    facts = set(plain.triples())
    rng = np.random.default_rng(0)
    chains = [triple for triple in chained.triples() if " . " in triple[2]]
    about = {}
    for s, o, r in facts:
        about.setdefault(s, set()).add((r, o))
        about.setdefault(o, set()).add((f"{r}^-1", s))
    for at in rng.choice(len(chains), 300):
        s, o, chain = chains[at]
        first, second = chain.split(" . ")
        between = {m for r, m in about[s] if r == first and m not in {s, o}}
        assert any((second, o) in about[m] for m in between)


def test_ranked_cells_agree_with_a_library():
    """Each predicate is measured on the pairs that were not seen with it, as scikit-learn does; rows may be chosen."""
    rng = np.random.default_rng(0)
    true, seen = rng.random((40, 3)) < 0.4, rng.random((40, 3)) < 0.5
    hidden, scores = true & ~seen, rng.normal(size=(40, 3))
    for among in (None, np.arange(10, 30)):
        chosen = np.arange(40) if among is None else among
        found = ranked_cells(
            lambda j: scores[:, j], csr_array(true & seen), np.argwhere(hidden), names=["0", "1", "2"], among=among
        )
        assert found.true.tolist() == sorted(found.true, reverse=True)
        for name, precision, number, ranked in zip(*found[:4], strict=True):
            rows = [i for i in chosen if not (true & seen)[i, int(name)]]
            right = hidden[rows, int(name)]
            assert (number, ranked) == (right.sum(), len(rows))
            assert precision == pytest.approx(average_precision_score(right, scores[rows, int(name)]))
    with pytest.raises(InputError, match="no predicate has at least 99 true entity pairs"):
        ranked_cells(lambda j: scores[:, j], csr_array(true), [[0, 0]], names=["0", "1", "2"], at_least=99)

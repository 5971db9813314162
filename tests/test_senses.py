"""The measures of word sense induction keep their laws, and published sets are read in full."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score, v_measure_score

from polyadic import InputError, datasets
from polyadic.metrics import senses as measures
from polyadic.metrics.figures import difference
from polyadic.metrics.senses import fuzzy_bcubed, fuzzy_nmi, jaccard, paired_f, remap, senses, tau, wndcg
from strategies import tries

BY_INSTANCE = ("jaccard", "tau", "wndcg", "wndcg_published")
CLUSTERING = ("fuzzy_nmi", "fuzzy_bcubed", "v_measure", "paired_f")

seeds = st.integers(0, 2**32 - 1)


def hard(rng, *, instances=30, senses=3):
    """Labels of one sense each, for instances of two lemmas."""
    return {f"{x}.{i}": {f"s{rng.integers(senses)}": 1.0} for x, i in _names(instances)}


def graded(rng, *, instances=30, senses=4):
    """Labels of one to ``senses`` weighted senses, each of which several instances have."""
    labels = {}
    for x, i in _names(instances):
        more = {f"s{k}": rng.uniform(0.05, 3) for k in np.flatnonzero(rng.random(senses) < 0.4)}
        labels[f"{x}.{i}"] = more | {f"s{i % senses}": rng.uniform(0.05, 3)}
    return labels


def _names(instances):
    return [(x, i) for x in ("run.v", "line.n") for i in range(instances)]


def planted(instances=30, senses=3):
    return {f"{x}.{i}": {f"s{i % senses}": 2.0} for x, i in _names(instances)}


def lemmas(labels):
    return {name: name.rpartition(".")[0] for name in labels}


def renamed(labels, names):
    return {instance: {names[sense]: w for sense, w in label.items()} for instance, label in labels.items()}


def one_hot(values):
    return np.eye(max(values) + 1)[values]


# ---- measures by hand

TWO, THREE_ONE = one_hot([0, 0, 1, 1]), one_hot([0, 0, 0, 1])


def test_jaccard_by_hand():
    """{a, b} and {b, c} share one of three senses, {a} and {a} all, {a} and nothing none; weights play no part."""
    gold = np.array([[1, 0.5, 0], [1, 0, 0], [1, 0, 0]])
    answer = np.array([[0, 0.1, 0.9], [0.2, 0, 0], [0, 0, 0]])
    assert jaccard(gold, answer) == pytest.approx([1 / 3, 1, 0])


def test_tau_by_hand():
    """Of three senses p = 1, 2, 8/3, so a reversal costs 5/6 + 25/36 + 5/6, a swap at the top 1, at the foot 4/9."""
    gold = np.tile([1.0, 0.5, 0.2], (4, 1))
    answer = np.array([[1, 0.5, 0.2], [0.5, 1, 0.2], [1, 0.2, 0.5], [0.2, 0.5, 1]])
    reversal = Fraction(5, 6) + Fraction(25, 36) + Fraction(5, 6)
    expected = [1, 1 - 1 / reversal, 1 - Fraction(4, 9) / reversal, 0]
    assert tau(gold, answer) == pytest.approx([float(value) for value in expected])


def test_tau_knows_of_other_senses():
    """With a fourth sense of the lemma, p = 1, 2, 11/4: a reversal costs 7/8 + 49/64 + 7/8, a swap at the foot 9/16."""
    found = tau(np.array([[1.0, 0.5, 0.2, 0]]), np.array([[1, 0.2, 0.5, 0]]))
    assert found == pytest.approx([1 - (9 / 16) / (7 / 8 + 49 / 64 + 7 / 8)])


def test_tau_of_ties():
    """Equal weights are ranked alike on both sides, later columns first; one sense, or no other answer, gives 1."""
    assert tau(np.array([[1.0, 1, 0]]), np.array([[0.3, 0.3, 0]])) == pytest.approx([1])
    assert tau(np.array([[1.0, 0.5, 0], [0.5, 1, 0]]), np.zeros((2, 3))) == pytest.approx([0, 1])
    assert tau(np.array([[0, 1.0]]), np.array([[0, 0.1]])) == pytest.approx([1])
    assert tau(np.array([[0, 1.0]]), np.array([[0, 0.0]])) == pytest.approx([1])


def test_wndcg_by_hand():
    """Gains 3 and 1.828 are halved and in the wrong order: (0.914 + 1.5 / 1.585) / (3 + 1.828 / 1.585)."""
    gold, answer = np.array([[1, 0.5]]), np.array([[0.5, 1]])
    assert wndcg(gold, answer) == pytest.approx([0.4480], abs=1e-4)
    assert wndcg(gold, answer, published=True) == pytest.approx([1.8606 / (4 + 2.8284 / 1.58496)], abs=1e-4)
    assert wndcg(gold, gold) == pytest.approx([1])
    assert wndcg(gold[:, :1], gold[:, :1], published=True) == pytest.approx([0.75])


def test_remap_by_hand():
    """The last instance is mapped by the others: t goes to a and b as 1 to 1, u to b, v to nothing."""
    gold = np.array([[1, 0], [0, 1], [0, 1], [1, 0.0]])
    induced = np.array([[1, 0, 0], [1, 0, 0], [0, 0.5, 0], [1, 0.5, 1.0]])
    assert remap(gold, induced, np.array([0, 0, 0, 1]))[3] == pytest.approx([0.5, 1])


def test_rounding_breaks_no_ties():
    """Induced senses in another order give the same mapped weights to the bit, not sums that differ in the last one."""
    rng = np.random.default_rng(0)
    gold, induced, fold = rng.random((20, 3)), rng.random((20, 9)), np.arange(20) % 5
    assert np.array_equal(remap(gold, induced, fold), remap(gold, induced[:, ::-1], fold))


def test_fuzzy_nmi_by_hand():
    """Gold halves have 1 bit each, of which .6887 remain given the nearer of the induced 3/4 and 1/4 (.8113 bits)."""
    entropy = -0.75 * math.log2(0.75) - 0.25 * math.log2(0.25)
    assert fuzzy_nmi(TWO, THREE_ONE) == pytest.approx((2 - 2 * (1.5 - entropy) + 2 * entropy - 2 * 0.5) / 4)
    assert fuzzy_nmi(TWO, TWO[:, ::-1]) == pytest.approx(1)
    assert fuzzy_nmi(TWO, np.ones((4, 1))) == pytest.approx(0)
    assert fuzzy_nmi(np.ones((4, 1)), np.ones((4, 1))) == 1


def test_weights_in_one_bin_are_equal_to_nmi():
    """Entropies are of ten bins of weights: up to 0.1 a member counts as none, and 0.41 as 0.5."""
    weights = np.array([[1, 0.41, 0, 0.05], [0, 0, 1, 1.0]]).T
    other = np.array([[1, 0.5, 0, 0], [0, 0.1, 1, 0.95]]).T
    assert fuzzy_nmi(weights, other) == pytest.approx(1)
    assert fuzzy_nmi(weights, np.where(other == 0.5, 0.51, other)) == pytest.approx(1)  # renames a bin
    assert fuzzy_nmi(weights, np.where(other == 0.5, 0, other)) < 1


def test_bcubed_by_hand():
    """Of gold mates 1 of 1, 1 of 1, 0 of 1, 0 of 1 are induced ones; of induced ones 1 of 2, 1 of 2, 0 of 2, none."""
    assert fuzzy_bcubed(TWO, THREE_ONE) == pytest.approx((0.25, 0.5))
    gold = np.array([[1, 0.5], [0.5, 1]])  # agree by 0.5 + 0.5
    assert fuzzy_bcubed(gold, np.array([[1.0], [0.6]])) == pytest.approx((1, 0.6))


def test_paired_f_by_hand():
    """One common pair of two gold and three induced ones: 2 / 5."""
    assert paired_f(TWO, THREE_ONE) == pytest.approx(0.4)
    assert paired_f(TWO, np.array([[1, 0], [1, 0], [0.4, 1], [0, 0.0]])) == pytest.approx(2 / 3)
    assert paired_f(TWO, np.array([[1, 0], [0, 0], [0, 1], [0, 1]])) == pytest.approx(2 / 3)
    assert paired_f(TWO, np.eye(4)) == 0
    assert paired_f(np.eye(4), np.eye(4)[::-1]) == 1


# ---- laws


def test_perfect_labels():
    """Equal labels of other names have the best value of every measure, .75 in the scorer's version of one."""
    gold = planted()
    found = senses(gold, renamed(gold, {"s0": "z", "s1": "y", "s2": "x"}), lemmas(gold))
    best = dict.fromkeys((*BY_INSTANCE, *CLUSTERING), 1.0) | {"wndcg_published": 0.75}
    assert {name: getattr(found, name) for name in best} == pytest.approx(best)
    assert (found.coverage, found.answered, found.total, len(found.lemmas)) == (1, 60, 60, 2)


@given(seeds)
@tries(30)
def test_labels_agree_best_with_themselves(seed):
    """Graded labels have a fuzzy NMI and B-cubed of 1 with themselves, and no more with others."""
    rng = np.random.default_rng(seed)
    gold, other = graded(rng), graded(rng)
    found = senses(gold, gold, lemmas(gold))
    assert (found.fuzzy_nmi, found.fuzzy_bcubed) == pytest.approx((1, 1))
    worse = senses(gold, other, lemmas(gold))
    assert 0 <= worse.fuzzy_nmi < 1
    assert 0 <= worse.fuzzy_bcubed < 1
    for name in BY_INSTANCE:
        assert 0 <= getattr(worse, name) <= 1 + 1e-12


@given(seeds, st.sampled_from([hard, graded]), st.sampled_from([hard, graded]))
@tries(30)
def test_names_mean_nothing(seed, gold_kind, induced_kind):
    """Other names of induced senses change nothing; other names of gold ones nothing of the clustering."""
    rng = np.random.default_rng(seed)
    gold, induced = gold_kind(rng), induced_kind(rng)
    names = {f"s{k}": f"{new}" for k, new in enumerate(rng.permutation(4))}
    found = senses(gold, induced, lemmas(gold))
    values = {name: getattr(found, name) for name in (*BY_INSTANCE, *CLUSTERING)}
    other = senses(gold, renamed(induced, names), lemmas(gold))
    assert {name: getattr(other, name) for name in values} == pytest.approx(values, nan_ok=True)
    other = senses(renamed(gold, names), induced, lemmas(gold))
    for name in CLUSTERING:
        assert getattr(other, name) == pytest.approx(values[name], nan_ok=True)


@given(seeds, st.sampled_from([hard, graded]))
@tries(20)
def test_order_and_scale_mean_nothing(seed, kind):
    """Instances and senses in another order, and weights of another scale, give the same numbers."""
    rng = np.random.default_rng(seed)
    gold, induced = kind(rng), graded(rng)
    found = senses(gold, induced, lemmas(gold)).as_dict()
    turned = [dict(reversed([(i, dict(reversed(label.items()))) for i, label in x.items()])) for x in (gold, induced)]
    assert senses(*turned, lemmas(gold)).as_dict() == found
    doubled = {i: {sense: 4 * w for sense, w in label.items()} for i, label in induced.items()}
    assert senses(gold, doubled, lemmas(gold)).as_dict() == found


@given(seeds)
@tries(30)
def test_hard_labels_agree_with_ordinary_measures(seed):
    """Of two senses on either side, fuzzy NMI is NMI; B-cubed counts the other members of clusters."""
    rng = np.random.default_rng(seed)
    gold, induced = rng.integers(2, size=(2, 25))
    gold[:2], induced[:2] = (0, 1), (1, 0)
    expected = normalized_mutual_info_score(gold, induced, average_method="max")
    assert fuzzy_nmi(one_hot(gold), one_hot(induced)) == pytest.approx(expected, abs=1e-9)
    same_gold, same_induced = (np.equal.outer(x, x) & ~np.eye(25, dtype=bool) for x in (gold, induced))
    both = (same_gold & same_induced).sum(axis=1)
    precision, recall = (np.mean(both / np.maximum(same.sum(axis=1), 1)) for same in (same_induced, same_gold))
    assert fuzzy_bcubed(one_hot(gold), one_hot(induced)) == pytest.approx((precision, recall))
    f = 2 * both.sum() / (same_gold.sum() + same_induced.sum())
    assert paired_f(one_hot(gold), one_hot(induced)) == pytest.approx(f)


@given(seeds)
@tries(10)
def test_blocks_mean_nothing(seed):
    """Whole arrays and the smallest pieces give the same."""
    rng = np.random.default_rng(seed)
    gold, induced = (np.where(rng.random((20, k)) < 0.5, rng.random((20, k)), 0) for k in (3, 7))
    gold[:, 0] = induced[:, 0] = 1
    whole = fuzzy_nmi(gold, induced), *fuzzy_bcubed(gold, induced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "BLOCK", 1)
        assert (fuzzy_nmi(gold, induced), *fuzzy_bcubed(gold, induced)) == pytest.approx(whole)


def test_v_measure_is_that_of_scikit_learn():
    """Of one lemma, with unanswered instances in a cluster of their own."""
    rng = np.random.default_rng(0)
    gold, induced = rng.integers(3, size=40), rng.integers(4, size=40)
    labels = [{f"a.{i}": {str(x): 1.0} for i, x in enumerate(side)} for side in (gold, induced)]
    for i in range(5):
        del labels[1][f"a.{i}"]
    found = senses(*labels, dict.fromkeys(labels[0], "a"))
    assert found.v_measure == pytest.approx(v_measure_score(gold, np.where(np.arange(40) < 5, 9, induced)))


# ---- what is reported


def test_unanswered_instances_count_nothing():
    """Half of perfect answers are half of the value after mapping; a lemma without answers has 0 everywhere."""
    gold = planted()
    half = {name: label for name, label in gold.items() if int(name.rpartition(".")[2]) < 15}
    found = senses(gold, half, lemmas(gold))
    assert (found.coverage, found.answered) == (0.5, 30)
    assert (found.jaccard, found.tau, found.wndcg, found.wndcg_published) == pytest.approx((0.5, 0.5, 0.5, 0.375))
    assert found.lemmas["run.v"].bcubed_precision == pytest.approx(0.5)
    one = senses(gold, {name: label for name, label in gold.items() if name.startswith("run")}, lemmas(gold))
    assert set(one.lemmas["line.n"][1:]) == {0}
    assert one.fuzzy_nmi == one.paired_f == pytest.approx(0.5)
    assert senses(gold, half | {"other": {"s0": 1.0}}, lemmas(gold)) == found  # no gold instance


def test_lemmas_are_the_units():
    """Figures have the values of the fields and a row for each lemma; equal ones differ by nothing."""
    rng = np.random.default_rng(0)
    gold, induced = hard(rng), hard(rng)
    found = senses(gold, induced, lemmas(gold))
    figures = found.figures()
    assert [figure.name for figure in figures] == [*BY_INSTANCE, *CLUSTERING]
    for figure in figures:
        assert figure.rows.shape == (2, 2)
        assert (figure.used, figure.total) == (60, 60)
        assert figure.value == getattr(found, figure.name)
        low, high = figure.interval(resamples=50)
        assert low <= figure.value <= high
        assert difference(figure, figure, resamples=50) == (0, 0, 0)
    alone = senses({k: v for k, v in gold.items() if k.startswith("run")}, induced, lemmas(gold))
    assert alone.lemmas["run.v"] == found.lemmas["run.v"]  # whatever other lemmas there are


def test_measures_of_hard_labels_need_them():
    """V-measure and paired F are undefined for graded gold labels; of graded induced ones they use the heaviest."""
    gold = planted()
    soft = {name: label | {"s9": 0.5} for name, label in gold.items()}
    found = senses(soft, gold, lemmas(gold))
    assert math.isnan(found.v_measure)
    assert math.isnan(found.paired_f)
    assert [figure.name for figure in found.figures()] == [*BY_INSTANCE, "fuzzy_nmi", "fuzzy_bcubed"]
    written = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert written["paired_f"] is written["lemmas"]["run.v"]["v_measure"] is None
    assert str(found).endswith("(60 of 60 instances of 2 lemmas answered)")
    assert "paired f 1.000" in str(senses(gold, soft, lemmas(gold)))


def test_seed_chooses_folds():
    """One seed gives one result; another may map otherwise but clusters alike."""
    rng = np.random.default_rng(1)
    gold, induced = graded(rng), graded(rng)
    one, again, other = (senses(gold, induced, lemmas(gold), seed=seed).as_dict() for seed in (1, 1, 2))
    assert one == again
    assert one["wndcg"] != other["wndcg"]
    assert one["fuzzy_bcubed"] == other["fuzzy_bcubed"]


@pytest.mark.parametrize(
    ("gold", "induced", "fault"),
    [
        ({"a.1": {"s": 1.0}}, {"a.2": {"s": 1.0}}, "none of the 1 instances with gold senses has an induced sense"),
        ({}, {}, "none of the 0 instances"),
        (
            {"a.1": {"s": 0.0}},
            {"a.1": {"s": 1.0}},
            r"gold senses of the instance 'a\.1' must have positive, finite weights",
        ),
        ({"a.1": {"s": 1.0}}, {"a.1": {"s": -1.0}}, r"induced senses of .* got \{'s': -1.0\}"),
        ({"a.1": {"s": 1.0}}, {"a.1": {"s": math.inf}}, "induced senses of .* finite"),
        ({"a.1": {"s": 1.0}}, {"a.1": {"s": math.nan}}, "induced senses of .* finite"),
        ({"a.1": {"s": 1.0}}, {"a.1": {"s": "4"}}, "induced senses of .* got {'s': '4'}"),
        ({"a.1": {"s": 1.0}}, {"a.1": {}}, "induced senses of .* got {}"),
        (
            {"b.1": {"s": 1.0}},
            {"b.1": {"s": 1.0}},
            r"lemmas must contain the lemma of every instance; 'b\.1' is missing",
        ),
    ],
)
def test_bad_labels_are_refused(gold, induced, fault):
    """One sentence names the instance and the fault."""
    with pytest.raises(InputError, match=fault):
        senses(gold, induced, {"a.1": "a", "a.2": "a"})


# ---- real data


@pytest.fixture(scope="module")
def semeval(realdata):
    return datasets.semeval2013(realdata)


@pytest.mark.realdata
def test_published_sets(semeval, realdata):
    """Every instance is there with its senses; 4,122 have one sense, 517 two, 25 three, of which some are repeated."""
    assert (len(semeval.instances), len(semeval.gold)) == (4664, 4664)
    assert semeval.instances[0].word == "adding"
    assert semeval.instances[0].left.endswith("on the envelope,")
    assert np.bincount([len(label) for label in semeval.gold.values()]).tolist() == [0, 4122 + 17, 517 - 17, 25]
    assert {weight for label in semeval.gold.values() for weight in label.values()} == {1, 2, 3, 4}
    found = datasets.senseval(realdata)
    assert {name: len(one.gold) for name, one in found.items()} == datasets.SENSEVAL
    for one in found.values():
        assert [instance.id for instance in one.instances] == list(one.gold)
        assert {len(label) for label in one.gold.values()} == {1}
    assert {instance.word for instance in found["line"].instances} == {"line", "lines", "lined"}
    assert len({sense for label in found["serve"].gold.values() for sense in label}) == 4


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("one sense", (0.192, 0.609, 0.288, 0, 0.623)),
        ("one per instance", (0, 0.945, 0, 0.071, 0)),
        ("2", (0.220, 0.628, 0.287, 0.027, 0.474)),
        ("3", (0.241, 0.642, 0.288, 0.017, 0.381)),
    ],
)
def test_baselines_of_semeval(semeval, baseline, expected):
    """The task's baselines have the values that a slow program, written from the definitions, found.

    It took the folds of the task's scorer, and means of four draws of the random ones. Draws have a standard deviation
    of .005 in tau, and less in the others.
    """
    rng = np.random.default_rng(0)
    sense = {"one sense": lambda _: "all", "one per instance": lambda name: name}
    choose = sense.get(baseline, lambda _: str(rng.integers(int(baseline))))
    induced = {name: {choose(name): 1.0} for name in semeval.gold}
    found = senses(semeval.gold, induced, {instance.id: instance.lemma for instance in semeval.instances})
    assert len(found.lemmas) == 50
    spread = 0.001 if baseline.startswith("one") else 0.015
    values = (found.jaccard, found.tau, found.wndcg_published, found.fuzzy_nmi, found.fuzzy_bcubed)
    assert values == pytest.approx(expected, abs=spread)

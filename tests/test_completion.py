"""Laws of the measures of what vectors say about words together: completion, phrases, names."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.embedding import Embedding
from polyadic.metrics import completion as completion_module
from polyadic.metrics import multiwords as multiwords_module
from polyadic.metrics import phrases as phrases_module
from polyadic.metrics.completion import RULES, Gap, completion
from polyadic.metrics.multiwords import Candidate, multiwords
from polyadic.metrics.phrases import RULES as PHRASE_RULES
from polyadic.metrics.phrases import PhraseCase, phrases

LETTERS = list("abcdefgh")
words = st.sampled_from([*LETTERS, "z"])  # the last is unknown


def same_for_all(value):
    return dict.fromkeys(RULES, value)


def for_all_four(value):
    return dict.fromkeys(PHRASE_RULES, value)


@st.composite
def small_vectors(draw):
    """Draw vectors of small whole numbers: products and sums of them are exact, and often equal."""
    rank = draw(st.integers(1, 3))
    row = st.lists(st.integers(-2, 2), min_size=rank, max_size=rank)
    return Embedding(LETTERS, draw(st.lists(row, min_size=len(LETTERS), max_size=len(LETTERS))))


def unit(vector):
    return vector / (np.linalg.norm(vector) or 1)


def predicted(vectors, given, word, rule):
    """Twin of the rules of completion, one term at a time."""
    if rule == "product":
        return sum(vectors[word][r] * math.prod(vectors[w][r] for w in given) for r in range(len(vectors[word])))
    if rule == "sum":
        return sum(float(vectors[w] @ vectors[word]) for w in given)
    return sum(float(unit(vectors[w]) @ unit(vectors[word])) for w in given)


def won(first, second):
    """1 for a larger score, 1/2 for an equal one, up to rounding."""
    return 0.5 if math.isclose(first, second, rel_tol=1e-5, abs_tol=1e-5) else float(first > second)


def floats(embedding):
    return {word: embedding[word].astype(float) for word in embedding.words}


def random_embedding(size=200, rank=20, *, seed=0, scale=1.0):
    vectors = scale * np.random.default_rng(seed).normal(size=(size, rank))
    return Embedding([f"w{k}" for k in range(size)], vectors.astype(np.float32))


def random_words(n, length, *, seed=0, size=200):
    """Draw tuples of different words."""
    rng = np.random.default_rng(seed)
    return [tuple(f"w{k}" for k in rng.choice(size, length, replace=False)) for _ in range(n)]


def random_gaps(n, **options):
    rng = np.random.default_rng(1)
    return [Gap((a, b), c, d, e, float(rng.random())) for a, b, c, d, e in random_words(n, 5, **options)]


def random_runs(n, length=3, **options):
    return [Candidate(run, k % 3 == 0) for k, run in enumerate(random_words(n, length, **options))]


def random_phrases(n, **options):
    return [PhraseCase(drawn[:2], drawn[2:8], drawn[8:]) for drawn in random_words(n, 15, **options)]


SETS = [(completion, random_gaps), (phrases, random_phrases), (multiwords, random_runs)]


def areas(found):
    """All areas of a result, by rule."""
    names = ("auc", "matched", "selection", "retrieval")
    return [getattr(found, name) for name in names if hasattr(found, name)]


# ---- what all three have in common


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_random_vectors_guess(measure, made):
    """Vectors that know nothing reach one half, by any rule."""
    for found in areas(measure(random_embedding(), made(3000))):
        assert found == {rule: pytest.approx(0.5, abs=0.04) for rule in found}


@pytest.mark.parametrize(("measure", "made"), SETS)
@pytest.mark.parametrize("rank", [1, 4])
def test_equal_vectors_guess(measure, made, rank):
    """Where all words are alike, all is tied, and ties count half."""
    alike = Embedding([f"w{k}" for k in range(200)], np.full((200, rank), 0.5))
    for vectors in (alike, Embedding(alike.words, 0 * alike.vectors)):
        found = measure(vectors, made(20))
        assert all(set(found.values()) == {0.5} for found in areas(found))
        assert found.best == RULES[0]


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_scale_does_not_matter(measure, made):
    """Vectors all larger or smaller by one factor order everything as before, even far below 1."""
    cases, truth = made(300), measure(random_embedding(), made(300))
    for scale in (2.0**-60, 2.0**20):
        found = measure(random_embedding(scale=scale), cases)
        assert found.as_dict() == truth.as_dict()


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_lengths_do_not_matter_to_cosines(measure, made):
    """The rule of cosines looks at directions only, the others do not."""
    embedding, cases = random_embedding(), made(300)
    lengths = 2.0 ** np.random.default_rng(0).integers(-3, 4, (len(embedding), 1))
    stretched = Embedding(embedding.words, (embedding.vectors * lengths).astype(np.float32))
    for a, b in zip(areas(measure(embedding, cases)), areas(measure(stretched, cases)), strict=True):
        assert a["cosines"] == b["cosines"]
    if measure is not phrases:  # there the product, too, has a direction alone
        assert a["product"] != b["product"]


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_order_of_cases_and_words_does_not_matter(measure, made):
    """Areas are means over cases in any order, with a vocabulary in any order and words given in any order.

    The choice of the best rule, and so the figures, depend on which cases are of even number, and on no more: cases
    may change places with others of their parity.
    """
    embedding, cases = random_embedding(), made(300)
    rng = np.random.default_rng(0)
    truth = measure(embedding, cases)

    def about(found):
        return [{rule: pytest.approx(x, abs=1e-12) for rule, x in area.items()} for area in areas(found)]

    assert areas(measure(embedding, [cases[k] for k in rng.permutation(len(cases))])) == about(truth)
    turned = Embedding(embedding.words[::-1], embedding.vectors[::-1])
    reversed_words = [case._replace(**{case._fields[0]: case[0][::-1]}) for case in cases]
    assert areas(measure(turned, reversed_words)) == about(truth)
    # of the candidates only the names are numbered
    numbered = [k for k, case in enumerate(cases) if not isinstance(case, Candidate) or case.name]
    exchanged = list(cases)
    for places in (numbered[::2], numbered[1::2]):
        for a, b in zip(places, rng.permutation(places), strict=True):
            exchanged[a] = cases[b]
    found = measure(embedding, exchanged)
    assert found.best == truth.best
    for a, b in zip(found.figures(), truth.figures(), strict=True):
        assert (a.name, a.used, a.total) == (b.name, b.used, b.total)
        assert a.value == pytest.approx(b.value)


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_cases_with_unknown_words_are_left_out(measure, made):
    """They count as cases and change nothing else."""
    embedding, cases = random_embedding(), made(30)
    unknown = [case._replace(**{case._fields[0]: ("unknown", *case[0][1:])}) for case in cases]
    mixed = list(itertools.chain.from_iterable(zip(unknown, cases, strict=True)))
    found, truth = measure(embedding, mixed), measure(embedding, cases)
    assert (found.used, found.total) == (30, 60)
    assert areas(found) == areas(truth)
    assert found.best == truth.best
    assert [f.value for f in found.figures()] == [f.value for f in truth.figures()]
    with pytest.raises(InputError, match="vocabulary of 200 words; got 0"):
        measure(embedding, unknown)
    with pytest.raises(InputError, match="got 0"):
        measure(embedding, [])
    with pytest.raises(InputError, match="got 1"):
        measure(embedding, [*unknown, cases[0]])


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_policy_for_unknown_words_plays_no_part(measure, made):
    """Vectors that take unknown words for zeros leave them out, too."""
    raising, cases = random_embedding(), made(30)
    lenient = Embedding(raising.words, raising.vectors, unknown="zero")
    unknown = [case._replace(**{case._fields[0]: ("unknown", *case[0][1:])}) for case in cases[:9]]
    assert measure(raising, cases + unknown).as_dict() == measure(lenient, cases + unknown).as_dict()


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_figures_are_over_cases_of_odd_number(measure, made):
    """They have the best rule's values, as means over units none of which the rule was chosen on."""
    found = measure(random_embedding(), made(301))
    units = {"completion": 150, "phrases": 150, "multiwords": 50}[measure.__name__]
    told = found.figures("x")
    assert [len(f.rows) for f in told] == [units] * len(told)
    assert all(f.name.startswith("x ") and 0 <= f.used <= f.total for f in told)
    for f, area in zip(told, areas(found), strict=False):
        assert f.chance == 0.5
        assert f.value == pytest.approx(area[found.best], abs=0.1)
        assert f.interval(resamples=50)[0] < f.value < f.interval(resamples=50)[1]
    json.dumps([f.as_dict() for f in told], allow_nan=False)


def test_the_best_rule_is_chosen_on_even_cases():
    """Where cases of even number favour one rule and those of odd number another, the figures are the poor ones."""
    even = Embedding(LETTERS[:5], [[1, 2], [3, 1], [2, 0], [0, 4], [1, 1]])  # the words of the examples by hand, below
    forth, back = Gap(("a", "b"), "c", "d", "d", 1.0), Gap(("a", "b"), "d", "c", "c", 1.0)
    for cases, best in (([forth, back] * 3, "cosines"), ([back, forth] * 3, "product")):
        found = completion(even, cases)
        assert (found.auc, found.best) == (same_for_all(0.5), best)
        assert [f.value for f in found.figures()[:2]] == [0, 0]
    vectors = [[1, 0], [1, 0], [1, 0], [2, 2], [2, 2], [1, 1]]
    names, other = (("a", "b"), ("d", "e")), ("c", "f")  # cosines 1 and 1 over 0.7, products 1 and 8 over 1
    embedding = Embedding(LETTERS[:6], vectors)
    for turn, best, value in ((1, "cosines", 1), (-1, "product", 0.5)):
        found = multiwords(embedding, [*(Candidate(n, name=True) for n in names[::turn]), Candidate(other, name=False)])
        assert found.auc == {"product": 0.75, "sum": 0.75, "cosines": 1}
        assert found.best == best
        assert found.figures()[0].value == value
    senses = Embedding(LETTERS[:4], [[4, 1], [1, 2], [4, 2], [5, 4]])  # product (4, 2), unit sum near the second
    cases = [PhraseCase(("a", "b"), *lists) for lists in ((("c",), ("d",)), (("d",), ("c",)))]
    for turn, best in ((1, "product"), (-1, "cosines")):
        found = phrases(senses, cases[::turn])
        assert found.best == best
        assert found.figures()[0].value == 0


@pytest.mark.parametrize(("measure", "made"), SETS)
def test_results_can_be_written_and_read(measure, made):
    """As JSON, without the scores of each case, and as a line."""
    found = measure(random_embedding(), made(30))
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (told["used"], told["total"], told["best"]) == (30, 30, found.best)
    assert not {"scores", "areas", "shares", "associations"} & set(told)
    assert f"{areas(found)[0]['product']:.3f}" in str(found)
    assert "30" in str(found)


@pytest.mark.parametrize(
    ("measure", "made", "module"),
    [(*s, m) for s, m in zip(SETS, (completion_module, phrases_module, multiwords_module), strict=True)],
)
def test_blocks_change_nothing(measure, made, module, monkeypatch):
    """However many cases are scored at a time, the figures are the same."""
    embedding, cases = random_embedding(), made(50)
    whole = measure(embedding, cases)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert measure(embedding, cases).as_dict() == whole.as_dict()


# ---- completion


def test_completion_rules_by_hand():
    """The words (1, 2) and (3, 1) are given, so their product is (3, 2) and their sum (4, 3).

    With these the answer (2, 0) has 6 and 8, the wrong word (0, 4) has 8 and 12, the matched one (1, 1) has 5 and 7.
    The cosines add up to 1/sqrt 5 + 3/sqrt 10 = 1.396 for the answer, 2/sqrt 5 + 1/sqrt 10 = 1.211 for the wrong word
    and (3/sqrt 5 + 4/sqrt 10) / sqrt 2 = 1.843 for the matched one.
    """
    embedding = Embedding(LETTERS[:5], [[1, 2], [3, 1], [2, 0], [0, 4], [1, 1]])
    found = completion(embedding, [Gap(("a", "b"), "c", "d", "e", 1.0)] * 2)
    assert found.auc == {"product": 0, "sum": 0, "cosines": 1}
    assert found.matched == {"product": 1, "sum": 1, "cosines": 0}
    assert found.scores["product"].tolist() == [[6, 8, 5]] * 2
    assert found.scores["sum"].tolist() == [[8, 12, 7]] * 2
    truth = [5**-0.5 + 3 * 10**-0.5, 2 * 5**-0.5 + 10**-0.5, (3 * 5**-0.5 + 4 * 10**-0.5) / 2**0.5]
    assert found.scores["cosines"][0] == pytest.approx(truth)
    assert found.best == "cosines"
    assert np.isnan(list(found.correlation.values())).all()
    assert found.as_dict()["correlation"] == same_for_all(None)


def clusters(size=6, topics=4):
    """Words of topics, with a direction each."""
    names = [[f"{t}x{i}" for i in range(size)] for t in range(topics)]
    return names, Embedding(itertools.chain.from_iterable(names), np.repeat(np.eye(topics), size, axis=0))


def test_perfect_vectors_complete_everything():
    """Words of one topic complete each other; with the answer and the wrong words exchanged nothing does."""
    names, embedding = clusters()
    gaps = [
        Gap((a, b), c, names[t - 1][0], names[t - 2][1], 1.0)
        for t in range(4)
        for a, b, c in itertools.combinations(names[t], 3)
    ]
    found = completion(embedding, gaps)
    assert (found.auc, found.matched) == (same_for_all(1), same_for_all(1))
    turned = completion(embedding, [g._replace(answer=g.wrong, wrong=g.answer, matched=g.answer) for g in gaps])
    assert (turned.auc, turned.matched) == (same_for_all(0), same_for_all(0))


def test_correlation_follows_the_association():
    """Associations that rise with the score of the answer correlate perfectly; those that fall, the other way."""
    embedding, gaps = random_embedding(), random_gaps(100)
    scores = completion(embedding, gaps).scores["product"][:, 0]
    for sign in (1, -1):
        asked = [g._replace(association=sign * float(x**3)) for g, x in zip(gaps, scores, strict=True)]
        found = completion(embedding, asked)
        assert found.correlation["product"] == pytest.approx(sign)
        assert abs(found.correlation["sum"]) < 0.5
    assert completion(embedding, gaps).figures()[2].chance == 0


@given(small_vectors(), st.integers(1, 3), st.data())
def test_completion_agrees_with_its_definition(embedding, order, data):
    """One case, one rule and one term at a time gives the same, with ties and unknown words."""
    case = st.tuples(st.tuples(*[words] * order), words, words, words, st.floats(-3, 3))
    gaps = [Gap(*c) for c in data.draw(st.lists(case, min_size=2, max_size=12))]
    known = [g for g in gaps if not {*g.given, *g[1:4]} & {"z"}]
    if len(known) < 2:
        with pytest.raises(InputError, match=f"got {len(known)} of {len(gaps)}"):
            completion(embedding, gaps)
        return
    found, vectors = completion(embedding, gaps), floats(embedding)
    assert (found.used, found.total) == (len(known), len(gaps))
    for rule in RULES:
        scores = [[predicted(vectors, g.given, w, rule) for w in g[1:4]] for g in known]
        np.testing.assert_allclose(found.scores[rule], scores, atol=1e-5)
        if rule != "cosines":  # whose ties are not exact
            assert found.auc[rule] == pytest.approx(np.mean([won(a, b) for a, b, _ in scores]))
            assert found.matched[rule] == pytest.approx(np.mean([won(a, c) for a, _, c in scores]))


def test_only_products_tell_what_pairs_cannot():
    """Of (a, b, x), (a, c, y), (d, b, y), (d, c, x) every pair across two places occurs once: pairs cannot tell.

    A form of three words can: its sign is that of the product of three signs. By the sum of pairs the answer wins as
    often as it loses, whatever the vectors.
    """
    cases = [("a", "b", "x"), ("a", "c", "y"), ("d", "b", "y"), ("d", "c", "x")]
    gaps = [Gap((u, v), w, *["y" if w == "x" else "x"] * 2, 1.0) for u, v, w in cases]
    signs = Embedding(["a", "b", "c", "d", "x", "y"], [[1], [1], [-1], [-1], [1], [-1]])
    found = completion(signs, gaps)
    assert (found.auc["product"], found.best) == (1, "product")
    assert (found.auc["sum"], found.auc["cosines"]) == (0.5, 0.5)
    assert [f.value for f in found.figures()[:2]] == [1, 1]
    # Any vectors: the differences of the sums of the four cases add up to zero, so they cannot all be positive.
    for seed in range(50):
        vectors = np.random.default_rng(seed).normal(size=(6, 5))
        tried = completion(Embedding(signs.words, vectors), gaps)
        for rule in ("sum", "cosines"):
            assert tried.auc[rule] < 1
            assert (tried.scores[rule][:, 0] - tried.scores[rule][:, 1]).sum() == pytest.approx(0, abs=1e-6)


# ---- phrases


def test_phrases_by_hand():
    """The product of (2, 1) and (1, 2) is (2, 2), so words are ranked by their angle from the diagonal.

    From the diagonal are own (1, 1) and (3, 1), other (1, 0) and (1, 1): of four pairs the first wins one and ties one,
    the second wins one; 2.5 of 4. All other words are these two and (0, 1), which both win: 4.5 of 6.
    """
    embedding = Embedding(LETTERS[:7], [[2, 1], [1, 2], [1, 1], [3, 1], [1, 0], [1, 1], [0, 1]])
    found = phrases(embedding, [PhraseCase(("a", "b"), ("c", "d"), ("e", "f"))] * 2)
    assert found.selection == for_all_four(2.5 / 4)  # the sum (3, 3) has the same direction
    assert found.retrieval == for_all_four(pytest.approx(4.5 / 6))
    skewed = Embedding(LETTERS[:4], [[4, 1], [1, 2], [4, 1], [5, 3]])
    found = phrases(skewed, [PhraseCase(("a", "b"), ("c",), ("d",))] * 2)
    # the product (4, 2) and the sum (5, 3); of unit vectors the sum is (1.417, 1.137): slopes 0.5, 0.6, 0.802
    # of the intersection, the cosines with both: .800 of (4, 1), .972 * .844 = .821 of (5, 3)
    assert found.selection == {"product": 0, "sum": 0, "cosines": 0, "intersection": 0}
    found = phrases(skewed, [PhraseCase(("a", "b"), ("d",), ("c",))] * 2)
    assert found.selection == for_all_four(1)


def test_perfect_vectors_select_every_sense():
    """A word of two senses and a partner that has one: the product selects it; with the lists exchanged it fails."""
    embedding = Embedding(
        ["pearl", "jam", "harbor", "band", "song", "ship", "navy", "tea"],
        [[1, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]],
    )
    music, war = ("band", "song"), ("ship", "navy")
    cases = [PhraseCase(("pearl", "jam"), music, war), PhraseCase(("pearl", "harbor"), war, music)]
    found = phrases(embedding, cases)
    assert (found.selection, found.retrieval) == (for_all_four(1), for_all_four(1))
    turned = phrases(embedding, [c._replace(own=c.others, others=c.own) for c in cases])
    assert turned.selection == for_all_four(0)
    assert turned.retrieval["product"] < 0.5
    # A partner without meaning does not select: product and sum tie, or follow the usual sense.
    vague = Embedding([*embedding.words, "the"], np.vstack([embedding.vectors, [1, 1, 1]]))
    both = [PhraseCase(("pearl", "the"), music, war), PhraseCase(("pearl", "the"), war, music)]
    assert phrases(vague, both).selection == for_all_four(0.5)


def test_phrases_may_have_vectors_of_their_own():
    """Vectors that are given take the place of the rules; of the sum of both words they give what the sum does."""
    embedding = random_embedding()
    cases = random_phrases(300)
    usual = phrases(embedding, cases)
    made = phrases(embedding, cases, make=lambda titles: np.array([embedding.lookup(t).sum(axis=0) for t in titles]))
    assert made.best == "made"
    assert made.selection == {"made": pytest.approx(usual.selection["sum"], abs=1e-3)}
    assert made.retrieval == {"made": pytest.approx(usual.retrieval["sum"], abs=1e-3)}
    assert "made" in str(made)


@given(small_vectors(), st.data())
def test_phrases_agree_with_their_definition(embedding, data):
    """Comparing pair by pair gives the same, where no two cosines are so close that rounding decides."""
    lists = st.lists(words, min_size=1, max_size=4, unique=True).map(tuple)
    case = st.builds(PhraseCase, st.tuples(words, words), lists, lists)
    cases = data.draw(st.lists(case, min_size=2, max_size=6))
    known = [tuple([w for w in part if w != "z"] for part in c) for c in cases]
    usable = [c for c in known if len(c[0]) == 2 and c[1] and c[2]]
    if len(usable) < 2:
        with pytest.raises(InputError, match=f"got {len(usable)} of {len(cases)}"):
            phrases(embedding, cases)
        return
    found, vectors = phrases(embedding, cases), floats(embedding)
    assert (found.used, found.total) == (len(usable), len(cases))
    for rule in PHRASE_RULES:
        for k, (title, own, others) in enumerate(usable):
            u, v = (unit(vectors[w]) if rule in ("cosines", "intersection") else vectors[w] for w in title)
            phrase = unit(u * v if rule == "product" else u + v)
            cosine = {w: float(phrase @ unit(vectors[w])) for w in embedding.words}
            if rule == "intersection":
                cosine = {w: max(u @ unit(vectors[w]), 0) * max(v @ unit(vectors[w]), 0) for w in embedding.words}
            rest = [w for w in embedding.words if w not in {*title, *own}]
            for column, those in enumerate((others, rest)):
                wins = [won(cosine[a], cosine[b]) for a in own for b in those]
                unsure = sum(win == 0.5 for win in wins) / 2  # ties that rounding may have broken
                assert abs(found.areas[rule][k, column] - np.mean(wins or 0.5)) <= unsure / max(len(wins), 1) + 1e-12
        assert found.selection[rule] == pytest.approx(found.areas[rule][:, 0].mean())
        assert found.retrieval[rule] == pytest.approx(found.areas[rule][:, 1].mean())


def test_unknown_words_of_a_list_are_left_out():
    """A case is used while a word of each list is known, without those that are not."""
    embedding, cases = random_embedding(), random_phrases(20)
    more = [c._replace(own=("unknown", *c.own), others=(*c.others, "unknown")) for c in cases]
    assert phrases(embedding, more).as_dict() == phrases(embedding, cases).as_dict()
    for part in ("own", "others", "words"):
        empty = cases[0]._replace(**{part: ()})
        assert phrases(embedding, [*cases, empty]).as_dict() == phrases(embedding, cases).as_dict() | {"total": 21}


# ---- names


def test_multiwords_by_hand():
    """The name (1, 2), (3, 1), (2, 2) has the products 6 and 4, in all 10, and the pairs 5, 6 and 8, in all 19.

    The other run (1, 2), (3, 1), (5, 0) has the products 15 and 0, in all 15, and the pairs 5, 5 and 15, in all 25.
    The cosines add up to 5/sqrt 50 + 6/sqrt 40 + 8/sqrt 80 = 2.550 and 5/sqrt 50 + 1/sqrt 5 + 3/sqrt 10 = 2.103.
    """
    embedding = Embedding(LETTERS[:4], [[1, 2], [3, 1], [2, 2], [5, 0]])
    name, other = ("a", "b", "c"), ("a", "b", "d")
    runs = [Candidate(name, True), Candidate(name[::-1], True), Candidate(other, False)]
    found = multiwords(embedding, runs)
    assert found.auc == {"product": 0, "sum": 0, "cosines": 1}
    assert (found.best, found.names, found.used, found.total) == ("cosines", 2, 3, 3)
    tied = multiwords(embedding, [*runs, Candidate(("c", "a", "b"), False)])
    assert tied.auc == {"product": 0.25, "sum": 0.25, "cosines": pytest.approx(0.75)}


def test_perfect_vectors_know_every_name():
    """Words of one topic against words of several; with names and others exchanged all is wrong."""
    names, embedding = clusters()
    runs = [Candidate(run, True) for topic in names for run in itertools.pairwise(topic)]
    runs += [Candidate((a, b), False) for a, b in itertools.product(names[0], names[1])]
    assert multiwords(embedding, runs).auc == same_for_all(1)
    assert multiwords(embedding, [c._replace(name=not c.name) for c in runs]).auc == same_for_all(0)


@given(small_vectors(), st.sampled_from([2, 3, 4]), st.data())
def test_multiwords_agree_with_their_definition(embedding, order, data):
    """Comparing pair by pair, with the association of one pair or tuple at a time, gives the same."""
    case = st.builds(Candidate, st.tuples(*[words] * order), st.booleans())
    runs = data.draw(st.lists(case, min_size=1, max_size=15))
    known = [c for c in runs if "z" not in c.words]
    names, others = ([c.words for c in known if c.name == kind] for kind in (True, False))
    if len(names) < 2 or not others:
        with pytest.raises(InputError, match=f"got {len(names)} names and {len(others)} other candidates"):
            multiwords(embedding, runs)
        return
    found, vectors = multiwords(embedding, runs), floats(embedding)
    assert (found.names, found.used, found.total) == (len(names), len(known), len(runs))
    for rule in RULES:

        def score(run, rule=rule):
            if rule == "product":
                return predicted(vectors, run[:-1], run[-1], rule)
            return sum(predicted(vectors, [u], v, rule) for u, v in itertools.combinations(run, 2))

        wins = [won(score(a), score(b)) for a in names for b in others]
        unsure = sum(win == 0.5 for win in wins) / 2 if rule == "cosines" else 0
        assert abs(found.auc[rule] - np.mean(wins)) <= unsure / len(wins) + 1e-12


def test_names_that_pairs_cannot_tell():
    """Names are the triples of an even number of odd words: every pair is as frequent in names as in others."""
    embedding = Embedding([f"{place}{k}" for place in "abc" for k in range(2)], [[1], [-1]] * 3)
    triples = itertools.product(range(2), repeat=3)
    runs = [Candidate(tuple(f"{p}{k}" for p, k in zip("abc", t, strict=True)), sum(t) % 2 == 0) for t in triples]
    found = multiwords(embedding, runs)
    assert found.auc["product"] == 1
    assert found.best == "product"
    rng = np.random.default_rng(0)
    for _ in range(50):  # the sums over names and over others are equal, whatever the vectors
        assert multiwords(Embedding(embedding.words, rng.normal(size=(6, 4))), runs).auc["sum"] < 1


@pytest.mark.parametrize(
    ("measure", "cases", "message"),
    [
        (
            completion,
            [Gap(("a", "b"), "c", "d", "e", 1.0), Gap(("a",), "c", "d", "e", 1.0)],
            "the same number of given words",
        ),
        (completion, [Gap((), "c", "d", "e", 1.0)] * 2, "at least 1"),
        (completion, [Gap(("a", "b"), "c", "d", "e", math.nan)] * 2, "of every case must be a finite number"),
        (completion, [Gap(("a", "b"), "c", "d", "e", math.inf)] * 2, "of every case must be a finite number"),
        (multiwords, [Candidate(("a", "b"), True), Candidate(("a",), False)], "the same number of words"),
        (multiwords, [Candidate(("a",), True), Candidate(("b",), False)], "at least 2"),
        (multiwords, [Candidate((), True), Candidate((), False)], "at least 2"),
        (multiwords, [Candidate(("a", "b"), True), Candidate(("a", "c"), True)], "got 2 names and 0 other candidates"),
        (multiwords, [Candidate(("a", "b"), True), Candidate(("a", "c"), False)], "got 1 names and 1 other candidates"),
    ],
)
def test_cases_of_different_kinds_are_refused(measure, cases, message):
    """Cases without given words, without an association, or without alternatives are refused."""
    with pytest.raises(InputError, match=message):
        measure(Embedding(LETTERS, np.eye(8)), cases)

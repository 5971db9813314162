"""Clauses of text, what they mean composed, and the tests of that."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.clauses import Elliptical, ellipses, plausible_events
from experiments.data.tnt_tagger import Tagger
from experiments.data.verb_clauses import Clause, clauses_of_tags, clauses_of_tree, sentences_as_tagged
from experiments.relations.composition import (
    Meanings,
    Scores,
    alike,
    by_participant,
    lemmatized,
    plausibility,
    treebank_tagger,
)
from helpers import refuses
from polyadic import Corpus, Entries
from polyadic.relations.composition import TransitiveVerbs, associations
from polyadic.sequences.kernels.hidden import HiddenChain, viterbi_states
from polyadic.syntax.trees import Tree, read_trees


def tree(*rows):
    """A tree of rows of lemma, part of speech, head, relation and features."""
    lemmas, upos, heads, relations, features = zip(*((*row, "_")[:5] for row in rows), strict=True)
    none = ("_",) * len(rows)
    return Tree(lemmas, lemmas, upos, none, features, np.array(heads), relations, none, none)


def told(*rows):
    return [" ".join(clause) for clause in clauses_of_tree(tree(*rows))]


def test_plain_and_passive_clauses_say_the_same():
    """The agent of a passive is the subject of the active clause; without an agent there is none."""
    active = told(("dog", "NOUN", 2, "nsubj"), ("chase", "VERB", 0, "root"), ("cat", "NOUN", 2, "obj"))
    agent = [("by", "ADP", 5, "case"), ("dog", "NOUN", 3, "obl:agent")]
    passive = [("cat", "NOUN", 3, "nsubj:pass"), ("be", "AUX", 3, "aux:pass"), ("chase", "VERB", 0, "root")]
    assert told(*passive, *agent) == active == ["dog chase cat"]
    assert told(*passive) == []


def test_subjects_are_lent():
    """A joined verb and an infinitive have the subject of the verb above; a controlled object lends nothing."""
    dog, want = ("dog", "NOUN", 2, "nsubj"), ("want", "VERB", 0, "root")
    rest = [("to", "PART", 4, "mark"), ("chase", "VERB", 2, "xcomp"), ("cat", "NOUN", 4, "obj")]
    assert told(dog, want, *rest) == ["dog chase cat"]
    joined = [("and", "CCONJ", 4, "cc"), ("chase", "VERB", 2, "conj"), ("cat", "NOUN", 4, "obj")]
    assert told(dog, want, *joined) == ["dog chase cat"]
    asked = [dog, ("ask", "VERB", 0, "root"), ("man", "NOUN", 2, "obj"), ("chase", "VERB", 2, "xcomp")]
    assert told(*asked, ("cat", "NOUN", 4, "obj")) == ["dog ask man"]


def test_relative_pronouns_stand_for_their_noun():
    """ "The dog that chased the cat" is about a dog, and names and pronouns are no nouns."""
    that = ("that", "PRON", 3, "nsubj", "PronType=Rel")
    relative = [("dog", "NOUN", 0, "root"), that, ("chase", "VERB", 1, "acl:relcl"), ("cat", "NOUN", 3, "obj")]
    assert told(*relative) == ["dog chase cat"]
    relative[3] = ("Rex", "PROPN", 3, "obj")
    assert told(*relative) == []


@pytest.mark.parametrize(
    ("text", "tags", "clauses"),
    [
        ("dogs chase cats", "NNS VBP NNS", ["dogs chase cats"]),
        ("the man 's dogs have not often chased many young cats", "DT NN POS NNS VBP RB RB VBN JJ JJ NNS", None),
        ("In 1990 , dogs were chasing cats", "IN CD , NNS VBD VBG NNS", ["dogs chasing cats"]),
        ("dogs of the man chase cats", "NNS IN DT NN VBP NNS", ["dogs chase cats"]),
        ("cats were chased by dogs", "NNS VBD VBN IN NNS", ["dogs chased cats"]),
        ("cats which are chased by dogs", "NNS WDT VBP VBN IN NNS", ["dogs chased cats"]),
        ("men say that dogs want to chase cats", "NNS VBP IN NNS VBP TO VB NNS", ["dogs chase cats"]),
        ("men say dogs chase cats", "NNS VBP NNS VBP NNS", []),  # could be the object of what comes before
        ("time to chase cats", "NN TO VB NNS", []),
        ("with dogs chase cats", "IN NNS VBP NNS", []),
        ("Rex chased cats", "NNP VBD NNS", []),
        ("dogs chased Rex", "NNS VBD NNP", []),
        ("cats chased in parks", "NNS VBN IN NNS", []),
    ],
)
def test_patterns(text, tags, clauses):
    """Noun phrases with a verb group between them make a clause; a phrase of a preposition is no subject."""

    class Forms(Tagger):
        def lemma(self, form, _tag):
            return {"were": "be", "are": "be", "have": "have"}.get(form, form)

    found = [" ".join(clause) for clause in clauses_of_tags(text.split(), tags.split(), Forms())]
    assert found == (["dogs chased cats"] if clauses is None else clauses)


def test_contractions():
    """Contractions are two words, as in treebanks; nothing else is cut."""
    assert sentences_as_tagged("They'll say he can't.") == [["They", "'ll", "say", "he", "ca", "n't", "."]]


@given(st.integers(0, 2**32 - 1))
def test_viterbi_finds_the_best_path(seed):
    """Of all sequences of states none scores higher, and forbidden states are not taken."""
    rng = np.random.default_rng(seed)
    size, lengths = 3, rng.integers(0, 5, 4)
    edges = np.cumsum([0, *lengths])
    words = rng.integers(0, 4, edges[-1])
    scores = rng.normal(size=(4, size)).astype(np.float32)
    scores[rng.random((4, size)) < 0.3] = -np.inf
    scores[:, 1] = np.where(np.isfinite(scores).any(axis=1), scores[:, 1], 0.5)
    start, move = rng.normal(size=size), rng.normal(size=(size, size))

    def score(path, sentence):
        steps = sum(move[a, b] for a, b in itertools.pairwise(path))
        return start[path[0]] + steps + sum(scores[w, s] for w, s in zip(sentence, path, strict=True))

    states = viterbi_states(words, edges, HiddenChain(start, move, scores))
    for low, high in itertools.pairwise(edges):
        if high > low:
            best = max(score(path, words[low:high]) for path in itertools.product(range(size), repeat=high - low))
            np.testing.assert_allclose(score(states[low:high], words[low:high]), best, rtol=1e-5)


def test_viterbi_refuses_what_does_not_fit():
    """The door checks what the loop would read."""
    scores = HiddenChain(np.zeros(3), np.zeros((3, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="below 2, the number of rows of emit; got 0 to 2"):
        viterbi_states(np.array([0, 2]), np.array([0, 2]), scores)
    with pytest.raises(ValueError, match="edges must increase"):
        viterbi_states(np.array([0, 1]), np.array([0, 1]), scores)


def clauses(rng, nouns=6, verbs=4, m=30):
    cells = np.unique(np.stack([rng.integers(0, n, m) for n in (nouns, verbs, nouns)], axis=1), axis=0)
    return Entries(cells, rng.integers(1, 9, len(cells)).astype(float), (nouns, verbs, nouns))


@pytest.mark.parametrize("weight", ["total", "specific", "log", "count"])
def test_verbs_are_sums_of_products(weight):
    """A verb is the projection of its table on the nouns; a score is the sum of what the sentence means."""
    rng = np.random.default_rng(0)
    X, N = clauses(rng), rng.random((6, 3))
    model = TransitiveVerbs(weight=weight).fit(X, nouns=N)
    dense = np.zeros(X.shape)
    dense[tuple(X.indices.T)] = associations(X, weight=weight)
    U = N / np.linalg.norm(N, axis=1, keepdims=True)
    np.testing.assert_allclose(model.verb_factors_, np.einsum("svo,sa,ob->vab", dense, U, U), rtol=1e-5, atol=1e-5)
    s, v, o = X.indices.T
    composed = model.compose(s, v, o)
    np.testing.assert_allclose(model.predict(s, v, o), composed.sum(axis=(1, 2)), rtol=1e-5)
    np.testing.assert_allclose(composed[3], model.verb_factors_[v[3]] * np.outer(U[s[3]], U[o[3]]), rtol=1e-5)


def test_orthonormal_nouns_make_a_tucker2_core():
    """With orthonormal columns no other core of these nouns explains the table better."""
    rng = np.random.default_rng(1)
    X = clauses(rng)
    model = TransitiveVerbs(weight="count").fit(X, nouns=np.eye(6)[:, [0, 2, 5]] + 0.0)
    x = np.zeros(X.shape)
    x[tuple(X.indices.T)] = X.values
    N = model.noun_factors_
    for v in range(4):
        best = np.linalg.lstsq(np.kron(N, N), x[:, v].ravel(), rcond=None)[0].reshape(3, 3)
        np.testing.assert_allclose(model.verb_factors_[v], best, atol=1e-5)


def test_independent_places_have_no_association():
    """Where all places are independent, every association is zero; pairs have their PMI in both forms."""
    p = [np.array([1.0, 3.0]), np.array([2.0, 1.0]), np.array([1.0, 1.0])]
    cells = np.array(list(itertools.product(range(2), repeat=3)))
    product = np.prod([p[k][cells[:, k]] for k in range(3)], axis=0)
    for weight in ("total", "specific"):
        np.testing.assert_allclose(associations(Entries(cells, product, (2, 2, 2)), weight=weight), 0, atol=1e-12)
    pairs = Entries(np.array([[0, 0], [1, 1], [0, 1]]), np.array([3.0, 4.0, 1.0]), (2, 2))
    by_hand = np.maximum(np.log([3 * 8 / (4 * 3), 4 * 8 / (4 * 5), 1 * 8 / (4 * 5)]), 0)
    for weight in ("total", "specific"):
        np.testing.assert_allclose(associations(pairs, weight=weight), by_hand)


def test_verbs_refuse_what_does_not_fit():
    """What cannot be learned from, or asked, is refused in a sentence."""
    X = clauses(np.random.default_rng(2))
    refuses("must have one row for each noun", TransitiveVerbs().fit, X, nouns=np.ones((5, 2)))
    refuses("of nouns is missing", TransitiveVerbs().fit, X, nouns=np.full((6, 2), np.nan))
    refuses("must be positive", associations, Entries(np.zeros((1, 2), int), np.array([-1.0]), (1, 1)))
    model = TransitiveVerbs().fit(X, nouns=np.ones((6, 2)))
    refuses("verbs must be whole numbers from 0 to 3", model.predict, [0], [4], [0])
    refuses("of equal length", model.predict, [0], [1, 2], [0])


def test_areas_and_correlations_are_those_of_other_libraries():
    """Figures agree with scikit-learn and scipy, ties included."""
    from scipy.stats import spearmanr
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(3)
    truth, scores = rng.integers(0, 2, 60).astype(float), rng.integers(0, 9, 60).astype(float)
    [figure] = Scores(truth, {"m": scores}, np.ones(60, bool)).figures("x")
    np.testing.assert_allclose(figure.value, roc_auc_score(truth, scores))
    ratings = rng.normal(size=60)
    [figure] = Scores(ratings, {"m": scores}, np.ones(60, bool)).figures("x")
    np.testing.assert_allclose(figure.value, spearmanr(ratings, scores)[0])


@pytest.mark.realdata
def test_published_sets():
    """Sets have their published sizes; both parts of PEP-3K are as large, ratings lie from 1 to 7."""
    events, plausible = plausible_events()
    assert (len(events), plausible.sum(), events[0]) == (3080, 1540, ("cloth", "absorb", "oil"))
    pairs = ellipses("ELLDIS")
    assert (pairs[0].first, pairs[0].others) == (("user", "write", "software"), ("team", "team"))
    assert all(pair.first[::2] == pair.second[::2] for pair in pairs)
    assert len(ellipses("ELLSIM")) == 432
    refuses("name must be one of", ellipses, "GS2011")


@pytest.fixture(scope="module")
def tagger(realdata):
    return treebank_tagger()


@pytest.mark.realdata
def test_tags_clauses_and_lemmas_of_held_out_text(realdata, tagger):
    """Of a held-out part, tags are right nine times in ten; what patterns find is most often what the trees say."""
    held = list(read_trees(realdata / "syntax" / "ud-english-ewt" / "en_ewt-ud-dev.conllu"))
    tags = tagger.tag([t.forms for t in held])
    right = [a == b for t, given in zip(held, tags, strict=True) for a, b in zip(t.xpos, given, strict=True)]
    assert np.mean(right) > 0.9
    found = [clauses_of_tags(t.forms, given, tagger) for t, given in zip(held, tags, strict=True)]
    true = [clauses_of_tree(t) for t in held]
    hits = sum(len(set(a) & set(b)) for a, b in zip(found, true, strict=True))
    assert hits > 0.6 * sum(map(len, found)) > 0
    assert hits > 0.15 * sum(map(len, true))


@pytest.mark.realdata
def test_lemmatized_text_and_what_is_made_of_it(realdata, tagger):
    """Nouns and verbs are lemmas with their mark, clauses are counted on the way, and all can be compared."""
    clauses = Counter()
    [document] = lemmatized(["The dogs chased a cat. Cats are chased by dogs!"], tagger, clauses)
    assert document[0] == ["the", "dog/n", "chase/v", "a", "cat/n"]
    assert clauses == {("dog", "chase", "cat"): 2}
    texts = [path.read_text(encoding="latin-1") for path in sorted((realdata / "topics" / "bbc").rglob("*.txt"))[:300]]
    corpus = Corpus.build(lemmatized(texts, tagger, clauses), min_count=2)
    meanings = Meanings(corpus, clauses, {clause.verb for clause in clauses}, rank=20, latent=5, max_iter=1000)
    numbers, known = meanings.numbers([*clauses, Clause("xyzzy", "chase", "cat")], tagger)
    assert len(numbers) == known.sum() > 100
    assert not known[-1]
    given = [
        Elliptical(a, b, (b.subject, a.subject), {"p": 1.0 + k % 7, "q": 2.0})
        for k, (a, b) in enumerate(itertools.pairwise(sorted(clauses)[:200]))
    ]
    for whole in (False, True):
        scores = alike(meanings, given, tagger, whole=whole)
        assert all(np.isfinite(x).all() and np.abs(x).max() < 1 + 1e-6 for x in scores.by_model.values())
        assert set(by_participant(given, scores)) == set(scores.by_model)
    same = [Elliptical(a, a, (a.object, a.object), {"p": 7.0}) for a in sorted(clauses)[:50]]
    addition = alike(meanings, same, tagger).by_model["addition"]
    np.testing.assert_allclose(addition[addition != 0], 1)
    told = plausibility(meanings, (list(clauses), np.arange(len(clauses)) % 2 == 0), tagger)
    assert {len(x) for x in told.by_model.values()} == {len(told.truth)}


def test_verbs_joined_in_a_long_row_have_one_subject():
    """The subject of the first verb is that of 5,000 that are joined to it, one to another."""
    n = 5000
    tags, above = ("NOUN", *["VERB"] * n, "NOUN"), np.array([2, 0, *range(2, n + 1), n + 1])
    relations, none = ("nsubj", "root", *["conj"] * (n - 1), "obj"), ("_",) * (n + 2)
    words = ("dog", *[f"v{k}" for k in range(n)], "cat")
    sentence = Tree(words, words, tags, none, none, above, relations, none, none)
    assert clauses_of_tree(sentence) == [Clause("dog", f"v{n - 1}", "cat")]


@pytest.mark.parametrize("unit", ["NN DT", "NN DT NN IN", "NN", "MD"])
def test_sentences_without_end_hold_the_clause_at_theirs(unit):
    """Of thousands of words without a verb only those at the end are a clause."""
    tags = [*unit.split() * (20_000 // len(unit.split())), ".", "NNS", "VBP", "NNS", "."]
    forms = [f"w{n}" for n in range(len(tags))]
    tagger = Tagger()
    tagger.lemma = lambda form, _: form
    [clause] = clauses_of_tags(forms, tags, tagger)
    assert [*clause] == [forms[-4], forms[-3], forms[-2]]

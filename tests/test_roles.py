"""Semantic roles: reading propositions, features of paths, choosing roles together, and what is measured."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.annotated import split_documents, web_propositions
from polyadic import InputError
from polyadic.metrics.figures import difference
from polyadic.metrics.roles import by_role, match_roles, role_figures, role_score
from polyadic.syntax import role_features as f
from polyadic.syntax.propositions import Argument, Proposition, Sentence, read_propositions
from polyadic.syntax.role_labels import best_roles, played_once
from polyadic.syntax.trees import Tree
from small_language import random_heads

SEEDS = st.integers(0, 2**32 - 1)

FILE = """\
# sent_id = 1
1\tPolice\tpolice\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\t_\tARG0\tARG0
2\ttried\ttry\tVERB\tVBD\t_\t0\troot\t_\t_\ttry.01\tV\t_
3-4\tto-stop\t_\t_\t_\t_\t_\t_\t_\t_\t_\t_\t_
3\tto\tto\tPART\tTO\t_\t4\tmark\t_\t_\t_\t_\t_
4\tstop\tstop\tVERB\tVB\t_\t2\txcomp\t_\t_\tstop.01\tARG1\tV
4.1\tthem\tthey\tPRON\t_\t_\t_\t_\t4:obj\t_\t\t
5\tthen\tthen\tADV\tRB\t_\t2\tadvmod\t_\t_\t_\tARGM-TMP\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\t_\t

1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_\t\t

"""


@pytest.fixture
def file(tmp_path):
    """Write a text and give its path."""

    def write(text):
        path = tmp_path / "some.conllu"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_propositions_are_read(file):
    """Predicates, senses, arguments; a sentence with none; one that does not say; and all is written as it stood."""
    path = file(FILE)
    first, second, third = read_propositions(path)
    trying, stopping = first.propositions
    assert trying == (2, "try.01", ((1, "ARG0"), (4, "ARG1"), (5, "ARGM-TMP")), (2,))
    assert stopping == (4, "stop.01", ((1, "ARG0"),), (4,))
    assert first.tree.heads.tolist() == [2, 0, 4, 2, 2]
    assert [sentence.annotated for sentence in (first, second, third)] == [True, True, False]
    assert second.propositions == third.propositions == ()
    assert "".join(sentence.conllu() for sentence in (first, second, third)) == FILE


def test_ten_columns_say_nothing_of_predicates(file):
    """A plain file is read too, and comes back unchanged."""
    plain = "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"
    [sentence] = read_propositions(file(plain))
    assert not sentence.annotated
    assert sentence.conllu() == plain


def test_other_propositions_can_be_written(file):
    """What is put in the place of propositions is what is read again; words that are none have their columns."""
    first, _, third = read_propositions(file(FILE))
    new = (Proposition(4, "stop.02", (Argument(5, "ARG1"),), (3, 4)), Proposition(1, "police.01", (), (1,)))
    for sentence, wanted in ((first, new), (first, ()), (third, ()), (third, (Proposition(1, "no.01", (), (1,)),))):
        written = sentence.with_propositions(wanted)
        [again] = read_propositions(file(written.conllu()))
        assert again.propositions == tuple(sorted(wanted))
        assert again.annotated
        assert again.conllu() == written.conllu()


def line(number, sense, *roles, head=0):
    return "\t".join([str(number), "x", "_", "_", "_", "_", str(head), "_", "_", "_", sense, *roles])


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (
            [line(1, "x.01", "V"), line(2, "x.01", "_", head=1)],
            "line 1: the number of role columns must be at least 2, the number of predicates; got 1",
        ),
        (
            [line(1, "x.01", "V", "ARG0"), line(2, "_", "_", "_", head=1)],
            "line 1: at most 1 of the role columns may be filled",
        ),
        (
            [line(1, "x.01", "V"), line(2, "_", head=1)],
            "line 2: all words of a sentence must have the same number of columns; got 11 instead of 12",
        ),
        ([line(1, "x.01", "V"), line(2, "_", "", head=1)], "line 2: column 12 must not be empty"),
        ([line(1, "", "V"), line(2, "_", "_", head=1)], "line 1: column 11 must not be empty"),
        ([line(1, "x.01", "V", head=7)], "a head must be a number from 0 to 1"),
        (["1\tx\t_"], "line 1 must have 10 columns"),
        ([line(1, "x.01", "V"), line(3, "_", "_", head=1)], "line 2 must begin with word number 2"),
    ],
)
def test_faults_of_files_are_named(file, lines, fault):
    """Each with its line and what is wrong."""
    with pytest.raises(InputError, match=fault):
        list(read_propositions(file("\n".join([*lines, "", ""]))))


def random_tree(n, rng):
    heads = random_heads(n, rng)
    relations = tuple(rng.choice(["nsubj", "obj", "obl:of", "case"], n).tolist())
    none = ("_",) * n
    return Tree(tuple(f"w{k}" for k in range(n)), none, none, none, none, heads, relations, none, none)


@given(st.integers(2, 12), SEEDS)
def test_paths_lead_from_predicate_to_word(n, seed):
    """A path walked from the predicate ends at the word, and turns down once."""
    rng = np.random.default_rng(seed)
    tree = random_tree(n, rng)
    p = int(rng.integers(1, n + 1))
    words = [word for word in range(1, n + 1) if word != p]
    for word, row in zip(words, f.path_features(tree, p, words), strict=True):
        steps = row[f.PATH].removeprefix("h=").split()
        place, ups = p, [step for step in steps if step.startswith("^")]
        for step in ups:
            assert step == f"^{tree.relations[place - 1]}"
            place = int(tree.heads[place - 1])
        way, at = [], word
        while at != place:
            way.append(f"!{tree.relations[at - 1]}")
            at = int(tree.heads[at - 1])
        assert steps == [*ups, *reversed(way)]
        assert row[f.LENGTH] == f"n={len(ups)} {len(way)} {'before' if word < p else 'after'}"
        assert (word in f.near_words(tree, p)) == (len(way) <= 1)


def test_words_of_case_and_voice():
    """A passive clause is told, and the preposition of a phrase is a feature of its head."""
    none = ("_",) * 5
    heads, relations = np.array([3, 3, 0, 5, 3], np.int32), ("nsubj:pass", "aux:pass", "root", "case", "obl:agent")
    words = ("Rome", "was", "built", "by", "Romans")
    tree = Tree(words, none, ("NOUN", "AUX", "VERB", "ADP", "NOUN"), none, none, heads, relations, none, none)
    rows = f.word_features(tree)
    assert rows[2][f.VOICE] == "v=passive"
    assert rows[4][f.CASE] == "c=by"
    assert rows[4][f.RELATION_CASE] == "dc=obl:agent by"
    assert rows[2][f.FRAME] == "fr=nsubj aux V obl"
    assert all(len(row) >= f.FIXED for row in rows)
    [up, _, _] = f.path_features(tree, 5, [1, 3, 4])
    assert up[f.TAG_PATH] == "hu=1 NOUN VERB NOUN"
    assert [row[f.SIDE] for row in f.path_features(tree, 5, [4, 1])] == ["s=before 1", "s=before 4"]
    assert f.path_features(Tree(*[("x",) * 9] * 5, np.arange(9), *[("x",) * 9] * 3), 9, [1])[0][f.SIDE] == "s=before 4"


@pytest.mark.parametrize(("relation", "voice"), [("acl", "passive"), ("amod", "passive"), ("conj", "active")])
def test_a_participle_by_itself_below_a_noun_is_passive(relation, voice):
    """As in "the dog seen there"."""
    none, heads = ("_",) * 2, np.array([0, 1], np.int32)
    tree = Tree(("dog", "seen"), none, ("NOUN", "VERB"), ("NN", "VBN"), none, heads, ("root", relation), none, none)
    assert f.word_features(tree)[1][f.VOICE] == f"v={voice}"


@given(st.integers(0, 5), st.integers(1, 4), SEEDS, st.sampled_from(["core", "all", "none"]))
def test_the_best_choice_is_the_best(n, roles, seed, once):
    """No choice in which roles are played as often as they may scores more, among all there are."""
    rng = np.random.default_rng(seed)
    names = ["ARG0", "ARG1", "ARGM-TMP", "ARG2"][:roles]
    limit = played_once(names, once)
    scores, none = rng.normal(size=(n, roles)).round(1), rng.normal(size=n).round(1)
    found = best_roles(scores, none, once=limit)

    def value(choice):
        return sum(none[a] if r < 0 else scores[a, r] for a, r in enumerate(choice))

    def allowed(choice):
        return all(choice.count(r) <= 1 for r in np.flatnonzero(limit))

    assert allowed(found.tolist())
    every = (choice for choice in itertools.product(range(-1, roles), repeat=n) if allowed(choice))
    assert value(found) == pytest.approx(max(map(value, every)))


def test_which_roles_are_played_once():
    """Core roles of either tradition; not those of their continuations, references and modifiers."""
    names = ["ARG0", "A1", "ARGA", "ARG1-DSP", "C-ARG1", "R-ARG0", "ARGM-TMP", "AM-TMP"]
    assert played_once(names, "core").tolist() == [True] * 4 + [False] * 4
    assert played_once(names, "all").all()
    assert not played_once(names, "none").any()


def labelled(*propositions, n=4):
    none = ("_",) * n
    tree = Tree(none, none, none, none, none, np.arange(n, dtype=np.int32), none, none, none)
    return Sentence(
        tree, tuple(Proposition(p, "x.01", tuple(Argument(*a) for a in args), (p,)) for p, args in propositions)
    )


def test_roles_are_counted_by_hand():
    """Two predicates, three arguments: one right, one with the wrong role, one missed, and one too many."""
    gold = labelled((1, [(2, "ARG0"), (3, "ARG1")]), (4, [(3, "ARG1")]))
    found = labelled((1, [(2, "ARG0"), (3, "ARG2")]), (2, [(1, "ARG0")]))
    counts = match_roles(gold, found)
    assert counts == (3, 3, 1, 2, 2, 2, 1, 0)
    score = role_score([counts])
    assert score[:3] == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert score.plain_f1 == pytest.approx(2 / 3)
    assert score.predicate_f1 == 0.5
    table = {row.name: tuple(row[1:]) for row in by_role([gold], [found])}
    assert table == {"ARG1": (2, 0, 0), "ARG0": (1, 2, 1), "ARG2": (0, 1, 0)}
    assert match_roles(gold, gold) == (3, 3, 3, 3, 2, 2, 2, 2)
    assert {figure.name: figure.value for figure in role_figures([counts])}["F1"] == pytest.approx(1 / 3)


def test_predicates_without_arguments_are_counted_by_hand():
    """Of three, two are found; both are complete, and the third is not, though it has no arguments to miss."""
    gold = labelled((1, [(2, "ARG0")]), (3, []), (4, []))
    counts = match_roles(gold, labelled((1, [(2, "ARG0")]), (4, [])))
    assert counts == (1, 1, 1, 1, 3, 2, 2, 2)
    figures = {figure.name: figure.value for figure in role_figures([counts])}
    assert figures["F1 of predicates"] == pytest.approx(4 / 5)
    assert figures["complete predicates"] == role_score([counts]).complete == pytest.approx(2 / 3)
    score = role_score([counts])
    assert (score.predicate_precision, score.predicate_recall) == (1, pytest.approx(2 / 3))


def test_other_roles_of_the_same_word_do_not_match():
    """A continuation or a reference is a role of its own; the word is found all the same."""
    gold, found = labelled((1, [(2, "ARG1"), (3, "R-ARG1")])), labelled((1, [(2, "C-ARG1"), (3, "ARG1")]))
    assert match_roles(gold, found) == (2, 2, 0, 2, 1, 1, 1, 0)


def test_figures_are_those_of_the_score():
    """Both are the same sums; a model compared with itself is no better; a better one is."""
    rng = np.random.default_rng(0)
    gold = [labelled((1, [(a, "ARG0") for a in (2, 3, 4)])) for _ in range(40)]
    some = [labelled((1, [(a, "ARG0") for a in (2, 3, 4) if rng.random() < 0.6])) for _ in range(40)]
    worse, best = ([match_roles(*pair) for pair in zip(gold, other, strict=True)] for other in (some, gold))
    score, figures = role_score(worse), {figure.name: figure for figure in role_figures(worse)}
    for name, value in (("precision", score.precision), ("recall", score.recall), ("F1", score.f1)):
        assert figures[name].value == pytest.approx(value)
    assert figures["F1 without roles"].value == pytest.approx(score.plain_f1)
    assert difference(figures["F1"], figures["F1"]).value == 0
    assert difference(role_figures(best)[2], figures["F1"]).certain


def test_what_cannot_be_scored():
    """Sentences of other lengths or numbers, and no arguments at all."""
    with pytest.raises(InputError, match="got 4 and 5"):
        match_roles(labelled(), labelled(n=5))
    with pytest.raises(InputError, match="no arguments"):
        role_score([match_roles(labelled(), labelled())])
    with pytest.raises(InputError, match="got 1 and 0"):
        by_role([labelled()], [])


def test_documents_are_split():
    """Each fifth is held out; nothing is lost."""
    documents = [[(at, k) for k in range(at % 3 + 1)] for at in range(12)]
    train, held = split_documents(documents)
    assert {at for at, _ in held} == {4, 9}
    assert sorted(train + held) == sorted(one for document in documents for one in document)


@pytest.mark.realdata
def test_the_web_propositions_come_back(realdata):
    """Both parts have their published sizes, and are written as they were read."""
    for part in ("dev", "test"):
        text = (realdata / "syntax" / "up-english-ewt" / f"en_ewt-up-{part}.conllu").read_text(encoding="utf-8")
        documents = web_propositions(part, root=realdata)
        assert "".join(sentence.conllu() for document in documents for sentence in document) == text.replace("\r", "")
    assert len(documents) == 316

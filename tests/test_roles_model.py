"""Semantic roles by a tensor of low rank: scores, steps, where it starts, and what it learns."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from experiments.data.annotated import split_documents, web_propositions
from experiments.syntax.roles import compared
from helpers import in_json, output, succeed
from polyadic import InputError, LowRankParser, load
from polyadic.cli import app
from polyadic.datasets.grammars import conllu, latin_sentence
from polyadic.metrics.roles import match_roles, role_score
from polyadic.syntax.kernels.arcs import score_cells
from polyadic.syntax.predicates import PredicateFinder
from polyadic.syntax.propositions import Argument, Proposition, Sentence, read_propositions
from polyadic.syntax.role_features import (
    TRIPLES,
    Frame,
    framed,
    frames_of,
    hashed_cells,
    known_features,
    near_words,
    role_names,
)
from polyadic.syntax.role_labels import best_roles, played_once
from polyadic.syntax.role_regression import RoleRegression
from polyadic.syntax.semantic_roles import (
    RoleLearner,
    RoleParts,
    SemanticRoles,
    power_parts,
    random_parts,
    role_gradient,
    score_roles,
    tensor_cells,
    total_score,
)
from polyadic.syntax.trees import Tree

SEEDS = st.integers(0, 2**32 - 1)


def case(n, seed, *, roles=3, rank=2, features=9, ways=5, bits=8):
    """A frame of n words and parts in which nothing is zero."""
    rng = np.random.default_rng(seed)
    predicate, words = (rng.integers(-1, features, (size, 4)).astype(np.int32) for size in (1, n))
    paths = rng.integers(-1, ways, (n, 3)).astype(np.int32)
    cells = rng.integers(-1, 1 << bits, (n, 6)).astype(np.int32)
    shapes = (((1 << bits) + roles + 1,), (features, rank), (features, rank), (ways, rank), (roles + 1, rank))
    parts = RoleParts(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    return Frame(predicate, words, paths, cells), parts, rng


@given(st.integers(1, 6), SEEDS, st.floats(0, 1))
def test_scores_are_those_of_the_formula(n, seed, gamma):
    """The tensor written out and summed over all combinations of features, and the weights of cells one by one."""
    frame, parts, _ = case(n, seed)
    T = np.einsum("ir,jr,kr,lr->ijkl", *(part.astype(float) for part in parts[1:]))
    found = score_roles(frame, parts, gamma=gamma)[0]
    for a, r in itertools.product(range(n), range(3)):
        here = [table[table >= 0] for table in (frame.predicate[0], frame.words[a], frame.paths[a])]
        tensor = T[np.ix_(*here, [0, r + 1])].sum()
        cells = frame.cells[a][frame.cells[a] >= 0]
        sparse = sum(float(parts.theta[c]) + float(parts.theta[c + 1 + r]) for c in cells)
        assert found[a, r] == pytest.approx(gamma * sparse + (1 - gamma) * tensor, rel=1e-3, abs=1e-3)


def test_cells_outside_are_refused():
    """A loop would read beyond the weights."""
    theta = np.zeros(8, np.float32)
    for cells, fault in ((np.full((1, 1), 6, np.int32), "must be from"), (np.zeros((1, 1), np.int64), "int32")):
        with pytest.raises(ValueError, match=fault):
            score_cells(cells, theta, roles=2)


@given(SEEDS)
def test_cells_are_spread(seed):
    """The place of a feature in a triple counts, one that is missing makes no cell, and cells lie below the limit."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 1000, (3, 500))
    cells = hashed_cells((a, b, c), bits=20)
    assert ((cells >= 0) & (cells < 1 << 20)).all()
    assert len(np.unique(cells)) > 0.98 * len(np.unique(np.stack([a, b, c]), axis=1).T)
    assert (hashed_cells((b, a, c), bits=20)[a != b] != cells[a != b]).mean() > 0.99
    assert (hashed_cells((np.full_like(a, -1), b, c), bits=20) == -1).all()


def gradient_and_loss(frame, parts, roles, found, gamma):
    _, sums = score_roles(frame, parts, gamma=gamma)
    return role_gradient(frame, parts, sums, roles=roles, predicted=found, gamma=gamma)


@given(st.integers(1, 5), SEEDS, st.sampled_from([0.0, 0.4, 1.0]))
def test_the_gradient_is_that_of_the_difference(n, seed, gamma):
    """Central differences of the score of some roles minus that of others, in all parts; each row is there once."""
    frame, parts, rng = case(n, seed)
    roles, found = rng.integers(-1, 3, (2, n))
    moves = gradient_and_loss(frame, parts, roles, found, gamma)

    def gain(which, at, by):
        shifted = RoleParts(*(part.copy() for part in parts))
        shifted[which][at] += by
        S = score_roles(frame, shifted, gamma=gamma)[0]
        return total_score(S, roles) - total_score(S, found)

    for which, (part, (at, change)) in enumerate(zip(parts, moves, strict=True)):
        assert len(np.unique(at)) == len(at)
        dense = np.zeros(part.shape)
        dense[at] = change
        places = [tuple(int(rng.integers(size)) for size in part.shape) for _ in range(4)]
        places.append(tuple(np.unravel_index(np.abs(dense).argmax(), part.shape)))
        for place in places:
            slope = (gain(which, place, 0.25) - gain(which, place, -0.25)) / 0.5  # the score is linear in each part
            assert dense[place] == pytest.approx(slope, rel=2e-2, abs=0.05)


def learner_of(parts, *, gamma, C, costs=(1.0, 1.0, 1.0)):
    once = np.array([True, True, False])
    copied = RoleParts(*(part.copy() for part in parts))
    return RoleLearner(copied, gamma=gamma, C=C, costs=costs, decode=lambda S, none: best_roles(S, none, once=once))


@given(st.integers(1, 5), SEEDS)
def test_a_step_takes_the_loss_away(n, seed):
    """Without a tensor the difference of scores grows by the loss exactly; a small C moves less; no loss, no step."""
    frame, parts, rng = case(n, seed)
    roles = best_roles(rng.normal(size=(n, 3)), once=np.array([True, True, False]))
    learner = learner_of(parts, gamma=1.0, C=1e9)
    found, loss = learner.learn(frame, roles)
    before, after = (score_roles(frame, each, gamma=1.0)[0] for each in (parts, learner.parts))
    gains = [total_score(S, roles) - total_score(S, found) for S in (before, after)]
    moved = any((a != b).any() for a, b in zip(parts, learner.parts, strict=True))
    if moved:
        assert gains[1] - gains[0] == pytest.approx(loss, rel=1e-3, abs=1e-3)
        gentle = learner_of(parts, gamma=1.0, C=1e-6)
        gentle.learn(frame, roles)
        assert np.abs(gentle.parts.theta - parts.theta).max() < np.abs(learner.parts.theta - parts.theta).max()
    else:
        assert loss == 0 or (frame.cells < 0).all(axis=1).any() or gains[0] == pytest.approx(gains[1])


@given(st.integers(1, 5), SEEDS, st.sampled_from([0.0, 0.3, 0.7]))
def test_a_step_of_all_parts_takes_the_loss_away_to_first_order(n, seed, gamma):
    """All parts move along their gradients by one factor, and gradients times moves sum to the loss."""
    frame, parts, rng = case(n, seed)
    roles = best_roles(rng.normal(size=(n, 3)), once=np.array([True, True, False]))
    learner = learner_of(parts, gamma=gamma, C=1e9)
    found, loss = learner.learn(frame, roles)
    moves = gradient_and_loss(frame, parts, roles, found, gamma)
    dense = [np.zeros(part.shape) for part in parts]
    for whole, (at, change) in zip(dense, moves, strict=True):
        whole[at] = change
    steps = [after.astype(float) - before for before, after in zip(parts, learner.parts, strict=True)]
    size = sum(float((g * g).sum()) for g in dense)
    if not loss or not size:
        assert not any(step.any() for step in steps)
        return
    gained = sum(float((g * step).sum()) for g, step in zip(dense, steps, strict=True))
    rounded = 1e-6 * sum(float(np.abs(g).sum()) for g in dense)  # parts are of single precision
    assert gained == pytest.approx(loss, rel=1e-3, abs=rounded)
    for g, step in zip(dense, steps, strict=True):
        np.testing.assert_allclose(step, g * loss / size, rtol=1e-3, atol=1e-5)


@given(st.integers(1, 4), SEEDS, st.tuples(*[st.floats(0.1, 3)] * 3))
def test_the_loss_is_the_worst_margin(n, seed, costs):
    """The loss is the largest, over all choices, of what a choice costs plus how much better it scores."""
    frame, parts, rng = case(n, seed)
    roles = best_roles(rng.normal(size=(n, 3)), once=np.array([True, True, False]))
    S = score_roles(frame, parts, gamma=0.5)[0]
    _, loss = learner_of(parts, gamma=0.5, C=1e-9, costs=costs).learn(frame, roles)
    extra, wrong, missed = costs

    def cost(right, other):
        if right == other:
            return 0.0
        return extra if right < 0 else missed if other < 0 else wrong

    margins = [
        sum(cost(a, b) for a, b in zip(roles.tolist(), choice, strict=True))
        + total_score(S, np.array(choice))
        - total_score(S, roles)
        for choice in itertools.product(range(-1, 3), repeat=n)
        if all(choice.count(r) <= 1 for r in (0, 1))
    ]
    assert loss == pytest.approx(max(0.0, *margins), rel=1e-4, abs=1e-4)


def test_means_are_those_of_all_moments():
    """The mean kept lazily is that of the parts at the start and after each predicate."""
    _, parts, rng = case(4, 0)
    learner = learner_of(parts, gamma=0.5, C=0.1)
    total = [part.astype(float) for part in parts]
    for seed in range(8):
        frame, _, _ = case(4, seed)
        learner.learn(frame, best_roles(rng.normal(size=(4, 3)), once=np.array([True, True, False])))
        total = [one + part for one, part in zip(total, learner.parts, strict=True)]
    assert (learner.parts.theta != parts.theta).any()
    for mean, one in zip(learner.mean(), total, strict=True):
        np.testing.assert_allclose(mean, one / 9, atol=1e-5)


def made(count, seed):
    """Sentences of a small language: subject, verb, often an object and an adverb; passive now and then."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        passive = rng.random() < 0.3
        subject, verb, thing = (f"{kind}{rng.integers(6)}" for kind in ("n", "v", "n"))
        rows = [(subject, "NOUN", 2, "nsubj:pass" if passive else "nsubj"), (verb, "VERB", 0, "root")]
        roles = [(1, "ARG1" if passive else "ARG0")]
        if passive:
            rows += [("by", "ADP", 4, "case"), (thing, "NOUN", 2, "obl")]
            roles.append((4, "ARG0"))
        elif rng.random() < 0.7:
            rows.append((thing, "NOUN", 2, "obj"))
            roles.append((3, "ARG1"))
        if rng.random() < 0.5:
            rows.append(("soon", "ADV", 2, "advmod"))
            roles.append((len(rows), "ARGM-TMP"))
        forms, tags, heads, relations = map(tuple, zip(*rows, strict=True))
        none = ("_",) * len(rows)
        tree = Tree(forms, forms, tags, tags, none, np.array(heads, np.int32), relations, none, none)
        arguments = tuple(Argument(*one) for one in roles)
        sentences.append(Sentence(tree, (Proposition(2, f"{verb}.01", arguments, (2,)),)))
    return sentences


def fitted(count=30, **options):
    return SemanticRoles(4, **{"max_iter": 2, "bits": 12, "seed": 3, **options}).fit(made(count, 0))


def f1(model, sentences, *, find=False):
    return role_score([match_roles(*two) for two in zip(sentences, model.annotate(sentences, find=find), strict=True)])


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("init", ["power", "random"])
@pytest.mark.parametrize("near", [True, False])
def test_a_small_language_is_learned(gamma, init, near):
    """Planted rules are found with and without the tensor; predicates too; the loss falls."""
    model = SemanticRoles(5, gamma=gamma, init=init, near=near, max_iter=6, bits=14, seed=0).fit(made(60, 0))
    score = f1(model, made(30, 1), find=True)
    assert score.f1 == 1
    assert score.predicate_f1 == 1
    assert model.history_[-1] < model.history_[0] / 5
    assert model.n_iter_ == 6


def test_the_regression_learns_it_too():
    """What the model is compared with has the same interface; a role that was never near is not chosen."""
    train = made(60, 0)
    far = made(1, 2)[0]
    hidden = Proposition(2, "v.01", (*far.propositions[0].arguments, Argument(2, "C-V")), (2,))
    model = RoleRegression(bits=14).fit([*train, far.with_propositions([hidden])])
    assert f1(model, made(30, 1)).f1 == 1
    assert "C-V" in model.roles_
    words, scores = model.scores(far.tree, 2)
    assert scores.shape == (len(words), len(model.roles_))
    assert (scores[:, model.roles_.index("C-V")] < np.delete(scores, model.roles_.index("C-V"), axis=1).min()).all()
    # Words that were never seen have cells that do not count; those that do are looked up one by one.
    other = replace(far.tree, forms=("new", *far.tree.forms[1:]), lemmas=("new", *far.tree.lemmas[1:]))
    [(_, frame)] = frames_of(other, [2], model.known_, near=True, bits=14)
    rows = dict(zip(model.columns_.tolist(), model.weights_[:-1], strict=True))
    logits = [
        sum((rows.get(cell, 0 * model.weights_[-1]) for cell in line), model.weights_[-1])
        for line in frame.cells.tolist()
    ]
    np.testing.assert_allclose(model.scores(other, 2)[1], [line[1:] - line[0] for line in logits], atol=1e-9)


def only(role, sentences):
    """The same sentences, with the arguments of one role."""
    for one in sentences:
        kept = [p._replace(arguments=tuple(a for a in p.arguments if a.role == role)) for p in one.propositions]
        yield one.with_propositions(kept)


def test_one_role_alone_is_learned():
    """With two classes a regression has one row of weights; that of none is 0."""
    train, new = ([*only("ARG0", made(60, seed))] for seed in (0, 1))
    for model in (RoleRegression(bits=14), SemanticRoles(4, bits=14, max_iter=3)):
        assert f1(model.fit(train), new).f1 == 1


def test_the_first_objective_is_the_loss_without_weights():
    """Each word costs as much as it can: one where a role that all may play is wrong, or the right one is missed."""
    [plain] = only("ARGM-TMP", made(1, 7))
    train = [*only("ARGM-TMP", made(30, 0)), plain]
    model = SemanticRoles(2, max_iter=1, bits=10, init="random", costs=(0.5, 1.0, 2.0)).fit(train)
    costs = [
        2.0 if word in {place for place, _ in one.propositions[0].arguments} else 0.5
        for one in train
        for word in near_words(one.tree, 2)
    ]
    assert model.history_[0] == pytest.approx(sum(costs) / len(train))


def test_where_the_tensor_starts():
    """Cells are those of the sparse part with their weights, and at a high rank the tensor holds them all."""
    train = made(12, 0)
    known, names = known_features(train, min_count=1), role_names(train)
    frames = framed(train, known, names, near=True, bits=16)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(1 << 16) + len(names) + 1).astype(np.float32)
    frame, roles = frames[0]
    cells, values = tensor_cells(frame, theta, roles)
    S = score_roles(frame, random_parts(known, len(names), 1, bits=16, rng=rng)._replace(theta=theta), gamma=1.0)[0]
    assert values.sum() == pytest.approx(total_score(S, roles), rel=1e-4)
    assert len(cells) <= 2 * len(TRIPLES) * (roles >= 0).sum()
    once = played_once(names, "core")
    parts = random_parts(known, len(names), 300, bits=16, rng=rng)
    how = {"C": 1.0, "costs": (1.0, 1.0, 1.0), "decode": lambda scores, none: best_roles(scores, none, once=once)}
    learner = RoleLearner(parts, gamma=1.0, **how)
    start = power_parts(frames, learner, rng=rng)
    assert not start.theta.any()
    theta, errors, sizes = learner.mean().theta, 0.0, 0.0
    for frame, roles in frames:
        cells, values = tensor_cells(frame, theta, roles)
        found = np.prod([factor[at] for factor, at in zip(start[1:], cells.T, strict=True)], axis=0).sum(axis=1)
        errors += float(((found - values) ** 2).sum())
        sizes += float((values**2).sum())
    assert errors < 1e-3 * sizes


def test_averages_are_not_the_last_parts():
    """The setting makes a difference."""
    assert (fitted(averaged=False).parts_.P != fitted().parts_.P).any()


def test_given_predicates_are_kept():
    """Senses and places stay; roles that were there are not looked at; what does not say stays as it is."""
    model, [sentence] = fitted(), made(1, 7)
    bare = sentence.with_propositions([sentence.propositions[0]._replace(arguments=(), sense="go.07")])
    silent = Sentence(sentence.tree, (), annotated=False)
    found, same = model.annotate([bare, silent])
    assert found.propositions[0].sense == "go.07"
    assert found.propositions[0].arguments == next(model.annotate([sentence])).propositions[0].arguments
    assert same is silent
    assert next(model.annotate([silent], find=True)).propositions


def test_an_argument_is_no_part_of_its_predicate(tmp_path):
    """A word that was marked as part of the predicate, and is found to play a role, is written as an argument."""
    model, [sentence] = fitted(max_iter=6), made(1, 7)
    marked = sentence.with_propositions([sentence.propositions[0]._replace(marks=(1, 2))])
    [found] = model.annotate([marked])
    assert found.propositions[0].marks == (2,)
    (tmp_path / "one.conllu").write_text(found.conllu())
    assert next(read_propositions(tmp_path / "one.conllu")).propositions == found.propositions


def test_where_words_say_nothing_the_more_frequent_is_guessed():
    """Weights held near zero leave the share of predicates: where most words are some, all are; else none is."""
    few = made(20, 0)
    whole = [Proposition(k, "x.01", (), (k,)) for k in (1, 2)]
    many = [one.with_propositions(whole) for one in few if len(one) == 2] + few[:1]
    for sentences, found in ((few, set()), (many, {1, 2})):
        finder = PredicateFinder(C=1e-3).fit(sentences)
        assert {at for one in sentences if len(one) == 2 for at, _ in finder.find(one.tree)} == found


def test_senses_are_the_most_frequent():
    """Of a lemma that was seen the sense seen most often; of others the first."""
    train = made(20, 0)
    often = [one.with_propositions([one.propositions[0]._replace(sense="x.03")]) for one in train]
    finder = PredicateFinder().fit([*often, *train[:1]])
    assert {sense for one in train for _, sense in finder.find(one.tree)} == {"x.03"}
    other = made(1, 0)[0].tree
    renamed = Tree(*((*map(str.upper, column),) for column in (other.forms, other.lemmas)), *_rest(other))
    assert [sense for _, sense in finder.find(renamed)] == [f"{renamed.lemmas[1]}.01"]
    with pytest.raises(InputError, match="must contain both predicates and words that are not predicates"):
        finder.fit([one.with_propositions([]) for one in train])
    assert {sense for one in train for _, sense in finder.find(one.tree)} == {"x.03"}
    bare = [replace(one, tree=replace(one.tree, lemmas=("_",) * len(one))) for one in often]
    assert {sense for one in bare for _, sense in PredicateFinder().fit(bare).find(one.tree)} == {"x.03"}


def _rest(tree):
    return (tree.upos, tree.xpos, tree.features, tree.heads, tree.relations, tree.enhanced, tree.misc)


def test_faults_are_named():
    """No arguments to learn from, parameters, and predicates that are no words."""
    itself = made(1, 0)[0].propositions[0]._replace(arguments=(Argument(2, "ARG0"),), marks=())
    alone = [made(1, 0)[0].with_propositions([itself])]
    for sentences, options, fault in (
        ([], {}, "must contain a predicate with at least one argument"),
        ([made(1, 0)[0].with_propositions([])], {}, "must contain a predicate with at least one argument"),
        (made(3, 0), {"min_count": 1000}, "no word feature or no path feature occurs at least 1000 times"),
        (alone, {}, "must contain an argument that is near its predicate in the tree; set near=False"),
        (alone, {"near": False}, "must contain an argument that is a word other than its predicate"),
        (made(3, 0), {"costs": (1.0, 1.0)}, "costs must be a tuple of"),
    ):
        with pytest.raises(InputError, match=fault):
            SemanticRoles(2, bits=10, **options).fit(sentences)
    model = fitted()
    for place in (0, 99):
        with pytest.raises(InputError, match="predicates must be word positions"):
            model.arguments(made(1, 0)[0].tree, [place])


def test_a_refused_regression_leaves_the_old_one():
    """Whatever is wrong, it is told in a sentence, and what was learned stays."""
    new = made(5, 1)
    model = RoleRegression(bits=12).fit(made(30, 0))
    before = [one.propositions for one in model.annotate(new, find=True)]
    every = [
        one.with_propositions([Proposition(k, "x.01", (Argument(3 - k, "A9"),), (k,)) for k in (1, 2)])
        for one in made(9, 0)
        if len(one) == 2
    ]
    for sentences, options, fault in (
        (every, {}, "must contain both predicates and words that are not predicates"),
        (made(3, 0), {"min_count": 1000}, "no joint feature occurs at least 1000 times; lower min_count"),
        (made(3, 0), {"bits": 40}, "bits must be a whole number from 4 to 30; got 40"),
    ):
        for name, value in {"min_count": 2, "bits": 12, **options}.items():
            setattr(model, name, value)
        with pytest.raises(InputError, match=fault):
            model.fit(sentences)
    model.bits = 12
    assert [one.propositions for one in model.annotate(new, find=True)] == before


def test_what_fails_leaves_the_model_as_it_was():
    """A refit that is refused or breaks changes nothing; sentences may come from a generator."""
    new = made(5, 1)
    model = SemanticRoles(3, max_iter=2, bits=10).fit(iter(made(30, 0)))
    before = [one.propositions for one in model.annotate(new, find=True)]

    def interrupt(_):
        raise RuntimeError("no further")

    model.callback = interrupt
    with pytest.raises(RuntimeError, match="no further"):
        model.fit(made(10, 5))
    with pytest.raises(InputError, match="must contain a predicate with at least one argument"):
        model.fit([])
    assert [one.propositions for one in model.annotate(new, find=True)] == before


def test_one_word_has_no_arguments():
    """A predicate by itself is no fault, in learning or after."""
    none = ("_",)
    alone = Tree(("Go",), ("go",), ("VERB",), none, none, np.zeros(1, np.int32), ("root",), none, none)
    model = SemanticRoles(2, max_iter=1, bits=10).fit(
        [*made(5, 0), Sentence(alone, (Proposition(1, "go.01", (), (1,)),))]
    )
    assert model.arguments(alone, [1]) == [()]


def test_the_command_line(tmp_path):
    """Train, label what has no predicates, and evaluate; the roles are those of the library."""
    call, refused = partial(succeed, "roles"), partial(output, "roles", code=1)
    train, gold, bare = (tmp_path / f"{name}.conllu" for name in ("train", "gold", "bare"))
    new = made(10, 1)
    train.write_text("".join(one.conllu() for one in made(40, 0)))
    gold.write_text("".join(one.conllu() for one in new))
    bare.write_text("".join(one.tree.conllu() for one in new))
    odd = tmp_path / "odd.conllu"
    odd.write_text(new[0].tree.conllu().replace(f"\t{new[0].tree.forms[0]}\t", "\tnø\t"), encoding="utf-8")
    told = in_json("roles", "train", train, "--out", tmp_path / "model", "--rank", 4)
    assert (told["sentences"], told["predicates"], told["roles"]) == (40, 40, 3)
    out = tmp_path / "out.conllu"
    call("apply", tmp_path / "model", bare, "--find", "--out", out)
    model = load(tmp_path / "model")
    expected = model.annotate(read_propositions(bare), find=True)
    assert [one.propositions for one in read_propositions(out)] == [one.propositions for one in expected]
    assert call("apply", tmp_path / "model", bare, "--find") == out.read_text()
    narrow = CliRunner(charset="ascii").invoke(app, ["roles", "apply", str(tmp_path / "model"), str(odd), "--find"])
    assert "\tnø\t".encode() in narrow.stdout_bytes
    assert "set --find to predict the predicates" in refused("apply", tmp_path / "model", bare)
    found = in_json("roles", "evaluate", tmp_path / "model", gold, "--tables")
    assert found["f1"] == found["complete"] == 1
    assert {row["name"] for row in found["role"]} == {"ARG0", "ARG1", "ARGM-TMP"}
    assert "F1 without roles" in call("evaluate", tmp_path / "model", gold, "--find")
    assert "nothing to compare with" in refused("evaluate", tmp_path / "model", bare)
    gold.write_text("")
    assert "has no sentences" in refused("train", gold, "--out", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_comparison_can_be_repeated():
    """The same sentences and seed give the same figures; what the tensor is worth is the difference of two of them."""
    one, other = (compared(made(20, 0), made(10, 1), seed=1) for _ in range(2))
    for row in (one, other):
        for name in ("tensor", "sparse", "regression"):
            assert row[name].pop("seconds") >= 0
    assert one == other
    assert one["predicates"] == 20
    gap = one["tensor"]["score"]["f1"] - one["sparse"]["score"]["f1"]
    assert one["worth"]["sparse"]["F1"]["value"] == pytest.approx(gap)


@pytest.mark.realdata
def test_roles_of_the_web_are_learned(realdata):
    """From 300 sentences most arguments are found, and two thirds of them with their roles."""
    train, held = split_documents(web_propositions("dev", root=realdata))
    model = SemanticRoles(5, max_iter=2, bits=18, seed=0).fit(train[:300])
    score = f1(model, [one for one in held[:100] if one.annotated])
    assert 0.55 < score.f1 < score.plain_f1 < 0.97
    assert score.plain_f1 > 0.85


def test_trees_of_a_parser_are_learned_from_and_met(tmp_path):
    """``--parser`` adds its trees to those learned from; what is judged and written has them in place of its own."""
    rng = np.random.default_rng(0)
    lines = "".join(conllu(latin_sentence(rng), roles=True) for _ in range(60))
    (tmp_path / "roles.conllu").write_text(lines, encoding="utf-8")
    sentences = list(read_propositions(tmp_path / "roles.conllu"))
    parser = LowRankParser(5, max_iter=2, bits=12).fit([sentence.tree for sentence in sentences[:30]])
    parser.save(tmp_path / "parser")
    data, how = tmp_path / "roles.conllu", ["--parser", tmp_path / "parser"]
    facts = in_json("roles", "train", data, "--out", tmp_path / "roles", "--max-iter", 2, *how)
    assert facts["sentences"] == 2 * len(sentences)
    assert in_json("roles", "evaluate", tmp_path / "roles", data, *how)["figures"][2]["value"] > 0.5
    succeed("roles", "apply", tmp_path / "roles", data, *how, "--out", tmp_path / "told.conllu")
    heads = [sentence.tree.heads.tolist() for sentence in read_propositions(tmp_path / "told.conllu")]
    assert heads == [tree.heads.tolist() for tree in parser.annotate([sentence.tree for sentence in sentences])]
    assert heads != [sentence.tree.heads.tolist() for sentence in sentences]

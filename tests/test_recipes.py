"""Recipes: what a verb does is what its function does, and nothing misspelt is ignored."""

import numpy as np
import pytest

import helpers
import polyadic
from polyadic import Corpus, Embedding, InputError
from polyadic.relations.training import FORMS, train_facts
from polyadic.words import training as words
from polyadic.words.methods import METHODS
from polyadic.words.training import counted, train

TEXTS = ["the red rose is in the garden", "a red tulip grows in the garden", "fast cars take the road", "fast road"] * 5
SETTINGS = {"min_count": 1, "rank": 2, "max_iter": 3, "tol": 0.0, "threads": 1, "stop_words": "none"}


@pytest.mark.parametrize("method", ["jcp", "cp-sn", "ppmi-svd", "root-ca"])
def test_verb_and_function_agree(method, tmp_path):
    """``polyadic.train`` gives what ``polyadic train`` writes: vectors, counts of words, n_nonnegative and settings."""
    settings = {name: value for name, value in SETTINGS.items() if name not in {"max_iter", "tol"}}
    settings |= {"max_iter": 3, "tol": 0.0} if method in {"jcp", "cp-sn"} else {}
    text = tmp_path / "text.txt"
    text.write_text("\n".join(TEXTS), encoding="utf-8")
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = helpers.invoke("train", text, "--out", tmp_path / "out", "--method", method, *options)
    assert done.exit_code == 0, done.output
    written = Embedding.load(tmp_path / "out")
    made = polyadic.train(text, method=method, **settings)
    np.testing.assert_array_equal(written.vectors, made.vectors)
    np.testing.assert_array_equal(written.counts, made.counts)
    assert (written.words, written.components.rank, written.meta) == (made.words, made.components.rank, made.meta)


@pytest.mark.parametrize(
    ("options", "rank", "n_nonnegative"),
    [({}, 8, 2), ({"n_nonnegative": 3}, 8, 3), ({"n_nonnegative": 5}, 10, 5), ({"rank": 6}, 6, 3)],
)
def test_text_says_how_many_columns_are_nonnegative(options, rank, n_nonnegative, monkeypatch):
    """Unless somebody else does."""
    monkeypatch.setattr(words, "supported_rank", lambda *_, **__: (8, 2))
    how = {name: value for name, value in SETTINGS.items() if name != "rank"}
    made = polyadic.train(TEXTS, **how, **options)
    assert (made.rank, made.components.rank) == (rank, n_nonnegative)


def test_text_corpus_and_counts_agree():
    """Text, its corpus, and counts of it give the same vectors."""
    corpus = Corpus.build(TEXTS, min_count=1)
    counts = counted(corpus, order=3, width=10, min_count=2)
    model = {"method": "cp-sn", "rank": 2, "max_iter": 3, "tol": 0.0, "threads": 1}
    of_text = train(TEXTS, **model, min_count=1, stop_words="none")
    for source in (corpus, counts):
        np.testing.assert_array_equal(train(source, **model).vectors, of_text.vectors)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rnak": 3}, "rnak is not an option of any method; the options of jcp are .*rank"),
        ({"method": "jpc"}, "method must be one of 'jcp'"),
        (
            {"method": "ppmi-svd", "n_nonnegative": 3},
            "n_nonnegative is not an option of ppmi-svd, but of jcp; the options of ppmi-svd are",
        ),
        ({"min_count": 0}, "min_count must be a whole number of at least 1; got 0"),
        ({"window": "wide"}, "window must be one of 'span', 'centred', 'chunk'; got 'wide'"),
        ({"width": [5, 10, 15]}, r"width must be a single value or one value for each of the orders \(2, 3\); got 3"),
        ({"weights": ()}, r"weights must be a single value or one value for each of the orders \(2, 3\); got 0"),
        ({"start": 3}, "start must be an Embedding or the path of word vectors; got 3"),
        ({"rank": 0, "method": "cp"}, "rank must be a whole number of at least 1; got 0"),
    ],
)
def test_settings_are_refused_before_work(wrong, message):
    """What is misspelt, of another method or out of range is refused before the text is read."""

    def unread():
        raise AssertionError("the text was read")
        yield

    with pytest.raises(InputError, match=message):
        train(unread(), **wrong)


def test_counted_refuses_what_it_does_not_know():
    """A misspelt setting of counts is a fault of the call."""
    with pytest.raises(TypeError, match="widht"):
        counted(Corpus.build(TEXTS, min_count=1), widht=3)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_of_public_models(name):
    """Each method names a public model, whose settings are its options, and makes it."""
    method = METHODS[name]
    assert isinstance(method.make({"seed": 0} if "seed" in method.options else {}), getattr(polyadic, method.model))
    assert method.order in method.orders


FACTS = [(f"town{k}", "lies_in", f"land{k % 3}") for k in range(9)] + [("land0", "borders", "land1")]


@pytest.mark.parametrize("case", ["complex", "universal", "universal by rules"])
def test_facts_are_learned_by_the_verb_as_by_the_function(case, tmp_path):
    """``polyadic.train_facts`` gives the model that ``polyadic relations train`` writes."""
    path = tmp_path / "facts.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in FACTS), encoding="utf-8")
    method, _, ruled = case.partition(" by ")
    options = ["--method", method, "--rank", "2", "--max-iter", "3", "--set", "seed=1"]
    rules = {}
    if ruled:
        rules = {"rules": tmp_path / "rules.txt", "add": ["near"]}
        rules["rules"].write_text("land1(x, y) => near(y, x)\n", encoding="utf-8")
        options += ["--rules", str(rules["rules"]), "--add", "near"]
    done = helpers.invoke("relations", "train", path, "--out", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    written = polyadic.load(tmp_path / "out")
    made = polyadic.train_facts(path, method=method, rank=2, max_iter=3, seed=1, **rules)
    assert repr(made) == repr(written)
    assert made.history_ == written.history_


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "transe"}, "method must be one of 'complex'"),
        ({"rnak": 3}, "unknown setting rnak of method complex; choose from"),
        ({"rules": "rules.txt"}, "rules is used only by universal, not by method complex"),
        ({"method": "universal", "known": "facts.tsv"}, "known is used only by .*, not by method universal"),
        ({"method": "universal", "add": ["employs"]}, "add requires rules"),
        ({"method": "universal", "regime": "joint"}, "regime requires rules"),
        ({"known": "facts.tsv"}, "known requires validation"),
    ],
)
def test_settings_of_facts_are_refused_before_work(wrong, message):
    """What is misspelt or of another method is refused before the facts are read."""
    with pytest.raises(InputError, match=message):
        train_facts("nowhere.tsv", **wrong)


def test_every_form_has_a_method():
    """What the verb offers is what the function knows."""
    from typing import get_args

    from polyadic.relations.task import Methods
    from polyadic.relations.training import METHODS

    assert tuple(METHODS) == get_args(Methods)
    assert set(FORMS) < set(METHODS)

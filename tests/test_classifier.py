"""Classes of documents: the features, what is between ratios and weights, and the words that say so."""

import csv
import json
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from helpers import invoke
from polyadic import InputError, TextClassifier, load, select
from polyadic.sentences import classifier
from polyadic.sentences.classifier import TOKENIZER, folds, held_out
from strategies import tries

KINDS = {"+": ["good", "fine", "a joy"], "-": ["bad", "poor", "a bore"], "?": ["late", "lost", "on hold"]}
FRAME = ["the", "film", "is", "so", "very", "here", "!", "don't"]


def made(classes="+-", number=60, seed=0):
    """Documents of a frame of words and one that says the class, and classes in turn."""
    rng = np.random.default_rng(seed)
    labels = [classes[k % len(classes)] for k in range(number)]
    return [
        " ".join([*rng.choice(FRAME, 6), rng.choice(KINDS[label]), *rng.choice(FRAME, 2)]) for label in labels
    ], labels


def tokens(text):
    return [word for sentence in TOKENIZER(text) for word in sentence]


def runs(text):
    words = tokens(text)
    return [*words, *map(" ".join, pairwise(words))]


def tables(texts, asked):
    """The features of scikit-learn."""
    words = TfidfVectorizer(analyzer=runs, sublinear_tf=True)
    pieces = TfidfVectorizer(
        analyzer="char_wb",
        preprocessor=lambda text: " ".join(tokens(text)),
        ngram_range=(2, 5),
        min_df=2,
        sublinear_tf=True,
    )
    both = [(part.fit_transform(texts), part.transform(asked)) for part in (words, pieces)]
    return (hstack(parts, format="csr") for parts in zip(*both, strict=True))


@pytest.fixture
def exact(monkeypatch):
    """Regressions to the last digit."""
    monkeypatch.setattr(classifier, "TOLERANCE", 1e-8)


@pytest.mark.parametrize("classes", ["+-", "+-?"])
def test_features_are_those_of_scikit_learn(classes, exact):
    """Without ratios the decision is that of logistic regression of its vectors; also for words that are new."""
    texts, labels = made(classes)
    asked = [*made(classes, seed=1)[0], "an unseen gooder thing, unfine", "", "bad"]
    X, Z = tables(texts, asked)
    model = TextClassifier(share=0, C=3, language="en").fit(texts, labels)
    for at, label in enumerate(sorted(KINDS)[: len(classes)]):
        slow = LogisticRegression(C=3, solver="liblinear", tol=1e-8).fit(X, np.array(labels) == label)
        values = model.decision_function(asked)
        if len(classes) == 2:
            values = np.stack([-values, values], axis=1)
        np.testing.assert_allclose(values[:, at], slow.decision_function(Z), atol=1e-5)
    assert (np.array(model.predict(asked[:60])) == made(classes, seed=1)[1]).mean() > 0.9


def test_ratios_are_log_count_ratios(exact):
    """With nothing but ratios, what decides is a sum of them, by hand, on the scale of the weights."""
    texts, y = ["good fun", "good", "bad fun", "bad", "bad bad"], [1, 1, 0, 0, 0]
    model = TextClassifier(share=1, characters=0, language="en", alpha=1).fit(texts, y)
    p = {"good": 3, "fun": 2, "bad": 1, "good fun": 2, "bad fun": 1, "bad bad": 1}
    q = {"good": 1, "fun": 2, "bad": 4, "good fun": 1, "bad fun": 2, "bad bad": 2}
    r = {f: np.log(p[f] / 10) - np.log(q[f] / 12) for f in p}
    weights = LogisticRegression(C=30, solver="liblinear", tol=1e-8).fit(
        TextClassifier(share=0, characters=0, language="en").fit(texts, y)._features(model._numbered(texts)), y
    )
    k = np.abs(weights.coef_).mean() / np.mean([abs(value) for value in r.values()])
    assert model.decision_function(["good"])[0] == pytest.approx(k * (r["good"] + np.log(2 / 3)), rel=1e-6)
    assert model.decision_function(["bad", "nothing"]) == pytest.approx(
        [k * (r["bad"] + np.log(2 / 3)), k * np.log(2 / 3)]
    )


@given(
    st.lists(st.sampled_from([*FRAME, "good", "poor", "unseen", "goodness", "bore"]), max_size=12), st.integers(0, 2)
)
@tries(30)
@pytest.mark.filterwarnings("ignore:documents without a known word")
def test_words_make_the_decision(words, at):
    """What the words of a document add, and the intercept, are what decides, known or not, for each class."""
    for classes in ("+-", "+-?"):
        model = fitted(classes)
        label = sorted(classes)[min(at, len(classes) - 1)]
        place = [*model.classes_].index(label)
        value = model.decision_function([words])[0]
        value = value * (1 if place else -1) if len(classes) == 2 else value[place]
        start = model.intercept_[0] * (1 if place else -1) if len(classes) == 2 else model.intercept_[place]
        why = model.explain(words, label)
        assert sorted(word for word, _ in why.parts) == sorted({*words})
        assert sorted(why.parts, key=lambda part: -abs(part[1])) == why.parts
        assert why.value == value
        assert why.base == pytest.approx(start, abs=1e-10)


MODELS = {}


def fitted(classes):
    if classes not in MODELS:
        MODELS[classes] = TextClassifier(language="en").fit(*made(classes))
    return MODELS[classes]


def test_the_word_that_says_the_class_is_told():
    model = fitted("+-?")
    why = model.explain("the film is late here")
    assert why.parts[0][0] == "late"
    assert why == model.explain("the film is late here", "?")
    assert "late" in [name for name, _ in model.top_features("?", 5)]
    chances = model.predict_proba(["late", "good"])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert model.classes_[chances.argmax(axis=1)].tolist() == ["?", "+"]


def test_settings_are_chosen_by_documents_held_out():
    """The model is that of a fit with them, and words of what is held out are judged unseen in their class."""
    texts, labels = made("+-?", number=200)
    model = select(TextClassifier(C=1, language="en"), texts, y=labels, keep=["share"])
    assert model.share == 0.5
    assert model.selection_.number == 200
    again = TextClassifier(**model.get_params()).fit(texts, labels)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(2, 6))
def test_folds_have_as_many_of_each_class(labels, number):
    """And each class has others where one is held out; who is alone never is."""
    labels = np.array(labels)
    if len({*labels.tolist()}) == len(labels):
        with pytest.raises(InputError, match="cross-validation requires a class with at least two documents"):
            folds(labels, number, 0)
        return
    fold = folds(labels, number, 0)
    for label in {*labels.tolist()}:
        counts = [((fold == k) & (labels == label)).sum() for k in range(number)]
        size = (labels == label).sum()
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == (size if size > 1 else 0)
        assert max(counts) < size or size == 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.floats(0.05, 0.9))
def test_a_share_of_each_class_is_held_out(labels, share):
    labels = np.array(labels)
    numbers = {label: int(share * (labels == label).sum()) for label in {*labels.tolist()}}
    if not any(numbers.values()):
        with pytest.raises(InputError, match="too few"):
            held_out(labels, share, 0)
        return
    out = held_out(labels, share, 0)
    assert {label: int((out & (labels == label)).sum()) for label in numbers} == numbers


@pytest.mark.parametrize(
    ("documents", "y", "message"),
    [
        (["a", "b"], [1], "one class label for each of the 2 documents"),
        (["a", "b"], ["x", "x"], "at least two classes; all documents have the class 'x'"),
        ([b"a", "b"], [1, 2], "must be a string"),
    ],
)
def test_bad_input_is_refused(documents, y, message):
    with pytest.raises(InputError, match=message):
        TextClassifier(language="en").fit(documents, y)


def test_unknown_classes_and_single_texts_are_refused():
    with pytest.raises(InputError, match="unknown class 'x'; the classes are"):
        fitted("+-").explain("good", "x")
    with pytest.raises(InputError, match=r"pass \[document\]"):
        fitted("+-").predict("good")


# ---- the command line


run = partial(invoke, "classify")


@pytest.fixture
def table(tmp_path):
    """A table with a document that has no class."""
    file = tmp_path / "reviews.csv"
    texts, labels = made(number=80)
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("text", "class"), *zip([*texts, "so so"], [*labels, " "], strict=True)])
    return file


def test_a_table_is_learned_and_evaluated(table, tmp_path):
    out = tmp_path / "model"
    how = ["--field", "text", "--label", "class"]
    done = run("train", table, "--out", out, *how, "--hold-out", "0.2", "--language", "en", "--json")
    facts = json.loads(done.stdout)
    assert (facts["documents"], facts["without_class"], facts["held_out"]) == (80, 1, 16)
    assert facts["accuracy"] > 0.8 > facts["accuracy_of_most_frequent"] == 0.5
    assert {*facts["choice"]["settings"]} == {"share", "C"}
    assert len(load(out).classes_) == 2
    judged = json.loads(run("evaluate", out, table, *how, "--json").stdout)
    assert judged["accuracy"] == 1
    assert [row["documents"] for row in judged["classes"]] == [40, 40]
    rows = json.loads(run("apply", out, table, "--field", "text", "--why", "2", "--json").stdout)["documents"]
    assert len(rows) == 81
    assert rows[0]["class"] == "+"
    assert any(part["word"] in ("good", "fine", "joy") for part in rows[0]["why"])
    texts = made(number=80)[0]
    for text, row in zip(texts, rows, strict=False):
        why = load(out).explain(text)
        assert (row["value"], row["base"]) == (round(why.value, 6), round(why.base, 6))
        assert row["why"] == [{"word": word, "part": round(part, 6)} for word, part in why.parts[:2]]
    heading, first = run("apply", out, table, "--field", "text", "--why", "2").stdout.splitlines()[:2]
    assert heading.split("\t") == ["document", "class", "probability", "log-odds", "base", "why"]
    assert first.endswith(", ".join(f"{word} {part:+.3g}" for word, part in load(out).explain(texts[0]).parts[:2]))
    words = json.loads(run("top", out, "-", "--json").stdout)["words_of_classes"]
    assert list(words) == ["-"]
    assert {"bad", "poor"} <= {*words["-"]}
    assert "next: polyadic classify apply" in run("train", table, "--out", out, *how, "--C", 1, "--force").output


def test_folders_are_classes(tmp_path):
    for number, (text, label) in enumerate(zip(*made("+-?", number=30), strict=True)):
        folder = tmp_path / "docs" / {"+": "glad", "-": "sad", "?": "open"}[label]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    out = tmp_path / "model"
    done = run("train", tmp_path / "docs", "--out", out, "--no-choose", "--language", "en")
    assert done.exit_code == 0, done.output
    assert load(out).classes_.tolist() == ["glad", "open", "sad"]
    table = run("evaluate", out, tmp_path / "docs").output
    assert "mostly confused with" in table
    assert "glad\t10\t1\t1\t1\t-" in table
    wrong = run("evaluate", out, tmp_path / "docs" / "sad")
    assert "must contain a folder for each class" in wrong.output


def test_a_line_of_plain_text_is_a_document(table, tmp_path):
    """If the user says so; so it is from standard input."""
    out, lines = tmp_path / "model", tmp_path / "new.txt"
    assert run("train", table, "--out", out, "--field", "text", "--label", "class", "--no-choose").exit_code == 0
    lines.write_text("the film is good\nso bad here\n", encoding="utf-8")
    rows = json.loads(run("apply", out, lines, "--documents", "line", "--json").stdout)["documents"]
    assert [(row["document"], row["class"]) for row in rows] == [(1, "+"), (2, "-")]
    piped = invoke("classify", "apply", out, "-", "--documents", "line", "--json", stdin=lines.read_text())
    assert json.loads(piped.stdout)["documents"] == rows


def test_what_is_missing_is_told(table, tmp_path):
    how = [table, "--out", tmp_path / "model", "--field", "text"]
    assert "no column 'stars' beside their text; they have 'class'" in run("train", *how, "--label", "stars").output
    assert "set --label" in run("train", *how).output
    assert not (tmp_path / "model").exists()

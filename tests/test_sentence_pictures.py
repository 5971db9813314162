"""What filters mean: where they are strongest, and pictures of them."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from polyadic import ConvolutionalSentences, Embedding, InputError, MeanSentences, plots
from polyadic.sentences.convolutional import describe, strongest

RUN = {"one": 2.0, "two": 1.0, "three": -1.5}
LOUD = {"ONE": 4.0, "TWO": 2.0, "THREE": -3.0}
NOISE = {f"noise{k}": value for k, value in enumerate(np.random.default_rng(0).normal(0, 0.05, 20))}


def planted(number=300, seed=0):
    """Sentences with a run of words at a place of its own in each; in sentence 7 the run is twice as large."""
    rng = np.random.default_rng(seed)
    sentences, places = [], rng.integers(0, 6, number)
    for s, at in enumerate(places.tolist()):
        words = list(rng.choice(list(NOISE), 12))
        sentences.append(words[:at] + list(LOUD if s == 7 else RUN) + words[at + 3 :])
    return sentences, places.tolist()


@pytest.fixture(scope="module")
def model():
    """A model of two coordinates, the second of which is noise alone."""
    values = RUN | LOUD | NOISE
    second = np.random.default_rng(1).gamma(1.0, size=len(values))
    vectors = Embedding(list(values), np.column_stack([list(values.values()), second]))
    return ConvolutionalSentences(1, length=4, words=vectors, seed=0).fit(planted()[0])


# ---- the strongest


def test_a_planted_run_is_found_at_its_place(model):
    """The filter of a run of words is strongest where the run is, and most where it is largest."""
    sentences, places = planted()
    found = strongest(model, sentences, top=5)[0][0]
    assert found[0].sentence == 7
    assert found[0].words[:3] == tuple(LOUD)
    for one in found:
        assert one.place == places[one.sentence]
        assert one.words == tuple(sentences[one.sentence][one.place : one.place + 4])
        assert one.words[:3] in (tuple(RUN), tuple(LOUD))


@pytest.fixture(scope="module")
def sentences():
    """Sentences of one to nine words of either sign, each of them twice, and one that is unknown."""
    rng = np.random.default_rng(1)
    some = [list(rng.choice([f"w{k}" for k in range(12)], rng.integers(1, 10))) for _ in range(60)]
    return [*some, ["unheard"], *some]


@pytest.fixture(scope="module")
def any_model(sentences):
    """A model of words with random vectors."""
    vectors = Embedding([f"w{k}" for k in range(12)], np.random.default_rng(2).standard_normal((12, 3)))
    return ConvolutionalSentences(2, length=4, words=vectors, starts=1, seed=0).fit(sentences)


@pytest.mark.parametrize("top", [1, 4, 200])
def test_the_strongest_are_those_of_all_places(any_model, sentences, top):
    """They are the first of all sentences by their largest activation, one place of each, earlier ones first."""
    found = strongest(any_model, iter(sentences), top=top)
    for k, filter_ in itertools.product(range(3), range(2)):
        expected = []
        for s, words in enumerate(sentences):
            if words != ["unheard"]:
                w = any_model.activations(words)[k, filter_, : len(words)]
                at = int(np.abs(w).argmax())
                expected.append((-abs(w[at]), s, at, w[at], tuple(words[at : at + 4])))
        told = [(-abs(one.activation), one.sentence, one.place, one.activation, one.words) for one in found[k][filter_]]
        assert told == sorted(expected)[:top]


def test_unknown_words_are_stepped_over(model):
    """Places count known words, which are what is shown; text is cut into words."""
    (one,) = strongest(model, ["Unheard one unknown Two, three noise1 noise2!"], top=1)[0][0]
    assert one.place == 0
    assert one.words == ("one", "two", "three", "noise1")
    assert model.activations(["one", "two", "three", "noise1", "noise2"])[0, 0, 0] == one.activation


def test_words_under_a_filter_are_those_that_move_it(model):
    """An activation is explained by the words it is told with: others far away have hardly a part in it."""
    tail = ["noise1"] * 9
    for words in (["three", *tail, "one", "two"], ["two", "three", *tail, "one"]):
        found = strongest(model, [words], top=1)[0][0][0]
        changed = [word if word in found.words else "noise2" for word in words]
        again = model.activations(changed)[0, 0, found.place]
        assert again == pytest.approx(found.activation, rel=0.2)


def test_occurrences_are_written_as_lines(model):
    """A line each: coordinate and filter, activation, words."""
    lines = describe(strongest(model, planted()[0], top=2)).split("\n")
    assert len(lines) == 4
    assert lines[0].split()[0] == "0.0"
    assert lines[0].split()[2:5] == list(LOUD)
    assert describe(strongest(model, [], top=2)) == ""


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda model: strongest(model, [], top=0), "top must be"),
        (lambda model: strongest(model, "one two"), "got a single string"),
        (lambda model: plots.templates(model, [2]), "coordinates must be indices from 0 to 1"),
        (lambda model: plots.templates(model, [-1]), "coordinates must be indices from 0 to 1"),
        (lambda model: plots.templates(model, []), "coordinates must be indices from 0 to 1"),
        (lambda model: plots.templates(model, ends=0), "ends must be"),
        (lambda model: plots.activation_map(model, "unheard"), "no word of the sentence is in the vocabulary"),
        (lambda model: plots.activation_map(model, []), "no word of the sentence is in the vocabulary"),
        (lambda model: plots.activation_map(model, "one", n_filters=0), "n_filters must be"),
    ],
)
def test_refusals(model, call, fault):
    """What cannot be shown is said in a sentence."""
    with pytest.raises(InputError, match=fault):
        call(model)


@pytest.mark.parametrize("show", [strongest, lambda model, _: plots.templates(model), plots.activation_map])
def test_a_model_is_fitted_before_it_is_shown(show):
    """A model without filters has nothing to show, and says so."""
    with pytest.raises(NotFittedError):
        show(ConvolutionalSentences(), ["one two"])


# ---- pictures


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize("filters", [1, 2])
def test_templates_are_the_filters(filters):
    """A row for each filter of the coordinates asked for, a column for each place; words are those at the ends."""
    rng = np.random.default_rng(0)
    vectors = Embedding([f"w{k}" for k in range(9)], rng.gamma(1.0, size=(9, 12)))
    sentences = [list(rng.choice(vectors.words, 9)) for _ in range(40)]
    model = ConvolutionalSentences(filters, length=4, words=vectors, starts=1, seed=0).fit(sentences)
    ax = plots.templates(model, [5, 3], ends=2)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.filters_[[5, 3], :, :4].reshape(2 * filters, 4))
    rows = labels(ax.yaxis)
    assert len(rows) == 2 * filters
    assert [row for row in rows if row] == [rows[0], rows[filters]]
    order = [vectors.words[row] for row in np.argsort(vectors.vectors[:, 5])]
    assert rows[0] == f"5: {order[-1]}, {order[-2]} | {order[1]}, {order[0]}"
    assert labels(ax.xaxis) == ["1", "2", "3", "4"]
    assert len(plots.templates(model).images[0].get_array()) == 10 * filters
    own = plots.new_axes()
    assert plots.templates(model, ax=own) is own


def test_activation_maps_show_what_is_decoded(any_model):
    """Columns are the known words, rows the filters with the largest activations, the largest first."""
    ax = plots.activation_map(any_model, "w1 w2 unheard w5")
    w = any_model.activations(["w1", "w2", "w5"])[:, :, :3]
    names = labels(ax.yaxis)
    assert sorted(names) == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1"]
    np.testing.assert_array_equal(ax.images[0].get_array(), [w[int(name[0]), int(name[2])] for name in names])
    heights = np.abs(ax.images[0].get_array()).max(axis=1)
    assert all(high >= low for high, low in itertools.pairwise(heights))
    assert labels(ax.xaxis) == ["w1", "w2", "w5"]
    assert labels(plots.activation_map(any_model, "w1 w2 w5", n_filters=2).yaxis) == names[:2]
    own = plots.new_axes()
    assert plots.activation_map(any_model, ["w1", "w2"], ax=own) is own
    own.figure.draw_without_rendering()


def test_any_model_of_sentences_has_a_map(model):
    """The map of a mean of words is the words' vectors."""
    plain = MeanSentences(words=model.embedding_).fit(planted()[0])
    ax = plots.activation_map(plain, ["one", "noise3"])
    rows = [int(name.split(".")[0]) for name in labels(ax.yaxis)]
    np.testing.assert_allclose(ax.images[0].get_array(), model.embedding_.lookup(["one", "noise3"]).T[rows])

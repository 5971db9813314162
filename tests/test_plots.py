"""Pictures show what was computed, on the axes they are given."""

import warnings

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.text import Text

from polyadic import CorrespondenceAnalysis, Embedding, InputError, MultipleCorrespondenceAnalysis, plots
from polyadic.plots.axes import new_axes, place

VECTORS = Embedding(
    ["apollo", "god", "moon", "zeus", "lunar", "orbit"],
    np.array([[1, 1, 0.1], [1, 0, 0], [0, 1, 0], [1, 0.1, 0], [0, 1, 0], [0.1, 1, 0]]),
)


def test_senses_shows_the_neighbours_of_each_product():
    """The rows are the neighbours, context by context, and the points their cosines with every product."""
    ax = plots.senses(VECTORS, "apollo", ["god", "moon"], top=2)
    nearest = [w for c in ("god", "moon") for w, _ in VECTORS.neighbours("apollo", c, top=2)]
    assert [label.get_text() for label in ax.get_yticklabels()] == nearest
    for context, points in zip(("god", "moon"), ax.collections[1:], strict=True):
        shown = dict(zip(nearest, points.get_offsets()[:, 0], strict=True))
        for word, cosine in VECTORS.neighbours("apollo", context, top=2):
            assert shown[word] == pytest.approx(cosine, abs=1e-6)


def test_a_notebook_shows_axes_as_a_picture():
    """What a notebook asks its last value for is a picture with all that was drawn."""
    ax = plots.senses(VECTORS, "apollo", ["god", "moon"], top=2)
    picture = ax._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > len(new_axes()._repr_png_())


def test_pictures_go_where_they_are_told():
    """Axes that are given are drawn on and returned; no window is needed."""
    ax = plots.new_axes(width=3, height=2)
    assert plots.objective([3.0, 2.0, 1.5], ax=ax) is ax
    assert ax.lines[0].get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert plots.senses(VECTORS, "apollo", ["moon"], ax=ax) is ax


def test_senses_of_components():
    """With non-negative components, the picture shows the components that phrases select."""
    noise = np.random.default_rng(0).normal(size=(len(VECTORS), 4))
    themed = Embedding(VECTORS.words, np.hstack([noise, VECTORS.vectors]), components=VECTORS.rank)
    both = [plots.senses(each, "apollo", ["god", "moon"], top=2) for each in (themed, VECTORS)]
    assert [label.get_text() for label in both[0].get_yticklabels()] == [
        label.get_text() for label in both[1].get_yticklabels()
    ]


def test_senses_needs_a_context_and_known_words():
    """A missing context and an unknown word are refused in one sentence."""
    with pytest.raises(InputError, match="contexts must contain at least one word"):
        plots.senses(VECTORS, "apollo", [])
    with pytest.raises(InputError, match="'artemis' is not in the vocabulary"):
        plots.senses(VECTORS, "artemis", ["god"])


def test_maps_show_what_directions_say():
    """Words of a group have its colour, and words of like vectors lie nearer one another than those of unlike."""
    ax = plots.word_map(VECTORS, {"gods": ["god", "zeus"], "space": ["moon", "lunar", "orbit", "god"]})
    gods, space = (points.get_offsets() for points in ax.collections)
    assert (len(gods), len(space)) == (2, 3)  # a word of two groups is in the first
    within = max(np.linalg.norm(a - b) for some in (gods, space) for a in some for b in some)
    assert within < min(np.linalg.norm(a - b) for a in gods for b in space)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["gods", "space"]
    assert "% of the differences" in ax.get_xlabel()
    with pytest.raises(InputError, match="three words"):
        plots.word_map(VECTORS, {"gods": ["god", "zeus"]})
    with pytest.raises(InputError, match="'artemis' is not in the vocabulary"):
        plots.word_map(VECTORS, {"gods": ["god", "zeus", "artemis"]})


def test_fonts_of_other_texts_stay():
    """Only a text that lacks letters has another font too, behind its own."""
    ax = new_axes()
    ax.set_title("T", family="serif")
    ax.set_xlabel("Ж 漢", family="monospace")
    with warnings.catch_warnings(action="ignore"):
        place(ax, np.zeros((1, 2)), ["漢"], ["C0"])
    assert ax.title.get_fontfamily() == ["serif"]
    assert ax.xaxis.label.get_fontfamily()[0] == "monospace"


def test_fonts_that_are_gone_are_passed_over(monkeypatch):
    """The list of fonts may be older than the fonts."""
    gone = font_manager.FontEntry(fname="/nonexistent/x.ttf", name="X")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [gone, *font_manager.fontManager.ttflist])
    with warnings.catch_warnings(action="ignore"):
        assert place(new_axes(), np.full((1, 2), 0.5), ["漢"], ["C0"]) == 0


def letters_of(family):
    """Give the letters of the regular face of a family; others of the family may lack some."""
    face = font_manager.findfont(font_manager.FontProperties(family=[family]))
    return set(font_manager.get_font(face).get_charmap())


def test_labels_have_a_font_with_their_letters():
    """Where the usual font lacks a letter another one has it; where none does, one warning says so, and it is drawn."""
    known = {name: letters_of(name) for name in ("DejaVu Sans", "STIXGeneral")}
    letter = chr(min(code for code in known["STIXGeneral"] - known["DejaVu Sans"] if chr(code).isalpha()))
    words = Embedding([letter, "a", "b"], np.eye(3))
    ax = plots.word_map(words, {letter: [letter, "a"], "b": ["b"]})
    (font,) = {tuple(text.get_fontfamily()) for text in ax.texts}
    assert any(ord(letter) in letters_of(name) for name in font)
    unknown = Embedding(["\U0010fffd", "a", "b"], np.eye(3))
    with pytest.warns(UserWarning, match="no installed font contains all characters") as told:
        assert len(plots.word_map(unknown, {"all": unknown.words}).texts) == 3
    assert len(told) == 1


# Tables

FISHER = [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
EYES, HAIR = ["blue", "light", "medium", "dark"], ["fair", "red", "medium ", "dark ", "black"]


def boxes(ax):
    """Corners of the labels, in pixels."""
    ax.figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in ax.texts if text.get_text()]  # without the line to the point


def test_labels_of_a_data_frame():
    """Rows and columns are called as in the DataFrame; of an array they are numbers."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[3, 1, 0], [1, 2, 2], [0, 1, 4]], index=["x", "y", "z"], columns=["a", "b", "c"])
    for data, labels in ((table, {*"xyzabc"}), (table.to_numpy(), {*"123"})):
        model = CorrespondenceAnalysis(n_components=2).fit(data)
        assert {text.get_text() for text in plots.biplot(model).texts} <= labels
        assert {label.get_text() for label in plots.contributions(model).get_yticklabels()} <= labels
        assert model.row_labels_ == (("x", "y", "z") if data is table else None)
    assert all(tick == int(tick) for tick in plots.scree(model).get_xticks())


@pytest.mark.parametrize("kind", ["symmetric", "rows", "columns"])
def test_biplot(kind):
    """Points are principal coordinates, or standard ones on the other side of an asymmetric picture; all are named."""
    model = CorrespondenceAnalysis(3).fit(FISHER)
    ax = plots.biplot(model, rows=EYES, columns=HAIR, kind=kind)
    rows, columns = (points.get_offsets() for points in ax.collections[:2])
    expected = model.row_standard_coordinates_ if kind == "columns" else model.row_coordinates_
    np.testing.assert_allclose(rows, expected[:, :2])
    expected = model.column_standard_coordinates_ if kind == "rows" else model.column_coordinates_
    np.testing.assert_allclose(columns, expected[:, :2])
    assert {text.get_text() for text in ax.texts} - {""} == {*EYES, *HAIR}
    assert "86.6 %" in ax.get_xlabel()
    with pytest.raises(InputError, match="each of the 4 rows; got 5"):
        plots.biplot(model, rows=HAIR, columns=HAIR)
    with pytest.raises(InputError, match="axes must be"):
        plots.biplot(model, rows=EYES, columns=HAIR, axes=(0, 3))


def test_biplot_of_many_variables():
    """Each variable has a color and a place in the legend; observations have labels only on request."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice(list(kinds), 40) for kinds in ("abc", "xy", "pqrs")], axis=1)
    model = MultipleCorrespondenceAnalysis(2).fit(X)
    ax = plots.biplot(model)
    observations, *variables = (points.get_offsets() for points in ax.collections)
    np.testing.assert_allclose(observations, model.row_coordinates_)
    np.testing.assert_allclose(np.concatenate(variables), model.column_coordinates_)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["observations", "0", "1", "2"]
    shown = {text.get_text(): text.get_color() for text in ax.texts if text.get_text()}
    assert {*shown} == {*model.categories_}
    assert {shown[name] for name in ("0=a", "0=b")} != {shown["1=x"], shown["1=y"]}
    assert "of the inertia" in ax.get_xlabel()
    labelled = boxes(plots.biplot(model, rows=[f"person {k}" for k in range(40)]))
    assert len(labelled) > len(shown)
    for k, box in enumerate(labelled):
        assert box.count_overlaps(labelled[:k]) == 0
    assert len(boxes(plots.biplot(model, top=3, kind="rows"))) == 3
    widths = [bar.get_width() for bar in plots.contributions(model, side="columns", top=9).patches]
    assert np.abs(widths).sum() == pytest.approx(100)


def test_labels_do_not_cover_one_another():
    """However many points there are, no two labels overlap; those without room are left out, the first ones are not."""
    rng = np.random.default_rng(0)
    model = CorrespondenceAnalysis(2).fit(rng.poisson(2, (150, 60)))
    rows, columns = [f"row {k}" for k in range(150)], [f"column {k}" for k in range(60)]
    found = boxes(plots.biplot(model, rows=rows, columns=columns))
    assert 20 < len(found) < 210
    for k, box in enumerate(found):
        assert box.count_overlaps(found[:k]) == 0
    ax = plots.biplot(model, rows=rows, columns=columns, top=5)
    assert len(boxes(ax)) == 10


def test_scree_and_contributions():
    """Bars are shares in per cent, those of contributions at the end of the axis where the point is."""
    model = CorrespondenceAnalysis(3).fit(FISHER)
    heights = [bar.get_height() for bar in plots.scree(model).patches]
    assert heights == pytest.approx([86.6, 13.1, 0.4], abs=0.06)
    ax = plots.contributions(model, EYES, top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["dark", "light"]
    widths = [bar.get_width() for bar in ax.patches]
    assert np.abs(widths) == pytest.approx([60.5, 28.6], abs=0.06)
    assert widths[0] * widths[1] < 0
    for options, fault in (({"axis": 3}, "axis must be"), ({"side": "columns"}, "each of the 5 columns; got 4")):
        with pytest.raises(InputError, match=fault):
            plots.contributions(model, EYES, **options)

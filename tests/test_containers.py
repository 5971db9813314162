"""Containers of matrices and tensors: every model honours them, or refuses them in a sentence."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import polyadic
from containers import CONTAINERS, COUNTS, MODELS, OTHERS, TENSOR, Y, frame, outcome
from helpers import refuses
from polyadic import NMF, AsymmetricCP, CorrespondenceAnalysis, Entries, FactorizationMachine, MatrixFactorization
from polyadic.core.containers import dense_of, entries_of, numbers_of
from polyadic.core.errors import InputWarning
from polyadic.core.model import Model

PAGE = Path(__file__).resolve().parent.parent / "docs" / "containers.md"
QUICK = ["MatrixFactorization", "RobustPCA", "NMF", "CorrespondenceAnalysis", "ReducedRankRegression", "AsymmetricCP"]


def tables():
    """Return the tables of the page: the outcome of each model and container, with numbers for the refusals."""
    numbers: dict[str, int] = {}
    rows = {name: [outcome(name, container) for container in CONTAINERS] for name in MODELS}
    lines = []
    for name, cells in rows.items():
        shown = [
            f"refused: {numbers.setdefault(cell, len(numbers) + 1)}" if cell.startswith("refused") else cell
            for cell in cells
        ]
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    head = [f"| model | {' | '.join(CONTAINERS)} |", "|---" * (len(CONTAINERS) + 1) + "|"]
    refused = [f"{number}. {cell.removeprefix('refused: ')}" for cell, number in numbers.items()]
    return "\n".join([*head, *lines]), "\n".join(refused)


@pytest.mark.slow
def test_the_page_says_what_happens():
    """The table of the documentation is what every model makes of every container; ``__main__`` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    for part in tables():
        assert part in page


@pytest.mark.parametrize("name", QUICK)
def test_containers_are_honoured_or_refused(name):
    """The same numbers give the same result; all else is an InputError, for one model of each kind."""
    page = PAGE.read_text(encoding="utf-8")
    shown = re.search(rf"^\| `{name}` \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
    assert [re.sub(": .*", "", cell) for cell in shown] == [
        re.sub(": .*", "", outcome(name, container)) for container in CONTAINERS
    ]


def test_every_model_is_in_the_table():
    """A new model takes numeric containers and is in the table, or is listed with what it takes."""
    models = {name for name, cls in inspect.getmembers(polyadic, inspect.isclass) if issubclass(cls, Model)}
    listed = {name.split("(")[0] for name in MODELS} | {name for names in OTHERS.values() for name in names}
    assert models == listed


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3]], "rows of the same length; row 1"),
        (np.array(["2026-01-01"], "M8[D]")[None], "row 0, column 0 contains '2026-01-01'"),
        ({"a": [1]}, "got a dict"),
        ("1 2", "got a str"),
        ([1.0, 2.0], r"got shape \(2,\)"),
        (sparse.csr_array([[0, np.inf]]), "row 0, column 1 contains inf"),
    ],
)
def test_what_is_no_matrix_is_refused(X, message):
    """By position, in one sentence."""
    refuses(message, numbers_of, X)


def test_names_of_columns_are_in_messages():
    """A frame is refused by the name of the column."""
    refuses("row 1, column 'age' contains 'x'", numbers_of, frame({"age": [1, "x"], "size": [1.0, 2.0]}))
    refuses("row 1, column 'age' of X is missing", FactorizationMachine().fit, frame({"age": [1, np.nan]}), [0, 1])


def test_missing_values_name_the_choice_of_the_model():
    """No advice of another library, and none on settings that a model does not have."""
    holed = np.where(np.arange(5) == 2, np.nan, COUNTS)
    refuses('if unobserved="missing"', NMF(2).fit, holed)
    refuses("elements must be known", polyadic.Tucker(2).fit, np.where(TENSOR == 2, np.nan, TENSOR))
    for model in (NMF(2), CorrespondenceAnalysis(1), FactorizationMachine(1)):
        with pytest.raises(polyadic.InputError) as error:
            model.fit(holed, Y[:, 0])
        assert "HistGradient" not in str(error.value)


def test_targets_have_no_mask_and_no_nan():
    """Masked targets are refused, or unknown where targets may be unknown."""
    masked = np.ma.masked_greater(Y[:, 0], np.median(Y[:, 0]))
    refuses("of y is missing", FactorizationMachine(1).fit, COUNTS, masked)
    assert np.isnan(dense_of(np.ma.masked_greater(Y, 0))).sum() == (Y > 0).sum()


def test_columns_are_matched_by_name():
    """Columns in another order are put in order or refused, and others are refused, whatever their names are."""
    for names in (list("abcde"), [3, 1, 4, 0, 2], [("x", j) for j in range(5)]):
        table = frame(COUNTS)
        table.columns = polyadic.core.frames.names_of(frame(COUNTS, columns=names)) if names[0] == "a" else names
        for model in (NMF(1, seed=0, max_iter=5, tol=0), CorrespondenceAnalysis(1), MatrixFactorization(1, seed=0)):
            fitted = model.fit(table)
            right = fitted.transform(table)
            if isinstance(model, CorrespondenceAnalysis):  # puts columns in order
                np.testing.assert_allclose(fitted.transform(table[table.columns[::-1]]), right)
                refuses("does not have: 'new'", fitted.transform, table.rename(columns={names[0]: "new"}))
                continue
            refuses("must be in the same order", fitted.transform, table[table.columns[::-1]])
            refuses("unseen at fit time", fitted.transform, table.rename(columns={names[0]: "new"}))
            with pytest.warns(InputWarning, match="order of fit"):
                np.testing.assert_array_equal(fitted.transform(COUNTS), right)
    fitted = MatrixFactorization(1, seed=0).fit(frame(COUNTS))
    refuses("must be in the same order", fitted.transform, frame(COUNTS)[[4, 3, 2, 1, 0]])


def test_rows_of_supplementary_columns_are_matched_by_name():
    """The rows of a frame are put into the order of the table; a row that is missing is named."""
    table = frame(COUNTS, index=list("abcdefghijkl"))
    model = CorrespondenceAnalysis(1).fit(table)
    expected = model.transform_columns(COUNTS)
    np.testing.assert_allclose(model.transform_columns(table[::-1]), expected)
    refuses("does not have: 'new'", model.transform_columns, table.rename(index={"b": "new"}))


def test_asymmetric_cp_of_missing_elements():
    """A planted tensor is recovered where it is missing, as an array, a masked array and entries; pyttb agrees."""
    rng = np.random.default_rng(1)
    A, B, C = (rng.standard_normal((n, 2)) for n in (8, 7, 6))
    T = np.einsum("ir,jr,kr->ijk", A, B, C)
    missing = rng.random(T.shape) < 0.3
    results = []
    for X in (
        np.where(missing, np.nan, T),
        np.ma.masked_array(np.where(missing, 99.0, T), missing),
        Entries(np.argwhere(~missing), T[~missing], T.shape, unobserved="missing"),
    ):
        model = AsymmetricCP(2, seed=0, max_iter=1000, tol=1e-9).fit(X)
        results.append(model.predict(np.argwhere(missing)))
    np.testing.assert_allclose(results[0], T[missing], atol=1e-3)
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_dense_and_sparse_tensors_agree_with_pyttb():
    """Least squares of an array have the optimum of pyttb, from every container."""
    ttb = pytest.importorskip("pyttb")
    import contextlib
    import io

    tensor = ttb.tensor(TENSOR)
    with contextlib.redirect_stdout(io.StringIO()):
        best = ttb.cp_als(tensor, 1, init="random", stoptol=1e-9, maxiters=500, printitn=0)[2]["fit"]
    for X in (TENSOR, sparse.coo_array(TENSOR), TENSOR.tolist()):
        model = AsymmetricCP(1, seed=0, max_iter=500, tol=1e-6).fit(X)
        error = TENSOR.ravel() - model.predict(np.argwhere(np.ones(TENSOR.shape)))
        assert 1 - np.linalg.norm(error) / np.linalg.norm(TENSOR) == pytest.approx(best, abs=1e-5)


def test_entries_of_repeated_elements():
    """Sums of elements that are listed twice: as scipy does, and as :meth:`Entries.collect` does."""
    at, values = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 0]]), np.array([1.0, 2.0, 4.0])
    summed = entries_of(sparse.coo_array((values, tuple(at.T)), shape=(2, 2, 2)))
    collected = Entries.collect(at, values, (2, 2, 2))
    assert summed.values.tolist() == collected.values.tolist() == [3.0, 4.0]
    assert summed.indices.tolist() == collected.indices.tolist() == [[0, 1, 1], [1, 0, 0]]
    refuses("sum duplicates with Entries.collect", AsymmetricCP(1).fit, Entries(at, values, (2, 2, 2)))
    refuses("differs from a permutation", entries_of, TENSOR[:3, :, :3], symmetric=True)


def test_keys_and_masked_values_are_no_data():
    """A dict or a frame is no list of texts, and masks are nowhere dropped."""
    texts = {"a": "the sun and the sky", "b": "tax and law"}
    for fit in (polyadic.TextTopics().fit, polyadic.MeanSentences().fit):
        refuses("got a dict", fit, texts)
        refuses("got a DataFrame", fit, frame({"text": ["the sun"]}))
    refuses("got a dict", polyadic.TextClassifier().fit, texts, [0, 1])
    masked = np.ma.masked_equal([1.0, 2.0, 3.0], 2)
    refuses("values must not be masked", Entries, np.array([[0, 0], [0, 1], [1, 1]]), masked, (2, 2))
    refuses("row 1 .* is not", polyadic.Embedding, list("abc"), np.ma.stack([masked, masked + 1]).T)
    assert np.isnan(numbers_of([masked, masked]).values).sum() == 2


if __name__ == "__main__":  # writes the tables of the page
    table, refused = tables()
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(r"^\| model .*?\n\n", lambda _: f"{table}\n\n", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^1\. .*\Z", lambda _: f"{refused}\n", page, flags=re.MULTILINE | re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")

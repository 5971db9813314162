"""``polyadic machine``: factorization machines for feature vectors in libFM and libsvm format."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.core.errors import InputError, counted
from polyadic.core.files import read_names
from polyadic.core.settings import BUDGET, Amount, File, Help, Metavar, Natural, Out
from polyadic.interface import output
from polyadic.interface.errors import say
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scipy.sparse import csr_array

    from polyadic.core.annotations import Array, Ints
    from polyadic.core.methods import Method
    from polyadic.supervised.base import FactorizationMachineBase
    from polyadic.supervised.table_labels import TableLabels
    from polyadic.text.tables import TableReading

TASK = Task(
    "machine",
    "Factorization machines: predict numbers, classes or rankings from sparse feature vectors.",
    model="polyadic.supervised.base:FactorizationMachineBase",
)
POINT, SAMPLED = "factorization_machines:FactorizationMachine", "fm_gibbs:BayesianFactorizationMachine"
CLASSES = "fm_ranking:FactorizationMachineRanker", f"{SAMPLED}Classifier", SAMPLED, f"{POINT}Classifier", POINT
SETTINGS = tuple(f"polyadic.supervised.{name}" for name in CLASSES)
"""Classes whose settings training takes; of a setting that several have, the last describes it."""
LABELS = Task(
    "labels",
    "Predict several labels of each row of a table from its other columns: numbers, categories and texts.",
    model="polyadic.supervised.table_labels:TableLabels",
)
READING = "polyadic.text.tables:TableReading"
Rows = Annotated[str, Help("Table, whose first line names the columns."), Metavar("TABLE")]
Lines = Annotated[
    File,
    Help(
        "File of feature vectors in LIBSVM format: a label, then an index:value pair for each feature, such as 4 1:1"
        " 7:0.5."
    ),
]
Unknown = Annotated[
    Literal["skip", "error"],
    Help("Treatment of features that were not in the training data: skip and count them, or raise an error."),
]


def _methods(task: str) -> dict[str, Method]:
    """Return the estimator class for each solver of a task."""
    from polyadic.core.methods import Method
    from polyadic.supervised.factorization_machines import FactorizationMachine, FactorizationMachineClassifier
    from polyadic.supervised.fm_gibbs import BayesianFactorizationMachine, BayesianFactorizationMachineClassifier
    from polyadic.supervised.fm_ranking import FactorizationMachineRanker

    if task == "ranking":
        return {"adagrad": Method(FactorizationMachineRanker)}
    classes = task == "classification"
    point = FactorizationMachineClassifier if classes else FactorizationMachine
    unused = dict.fromkeys(("learning_rate", "batch")) | {"decay": 0.0}
    return {
        "mcmc": Method(BayesianFactorizationMachineClassifier if classes else BayesianFactorizationMachine),
        "als": Method(point, {"solver": "als", **unused}),
        "adagrad": Method(point, {"solver": "adagrad"}),
        "sgd": Method(point, {"solver": "sgd"}),
        **{solver: Method(point, {"solver": solver, **unused}) for solver in ("sag", "saga")},
    }


@TASK.verb(
    example="polyadic machine train ratings.libfm --out machine --validation valid.libfm",
    settings={"given": SETTINGS},
    options=("task", "solver", "rank", "ridge", "max_iter", "draws", "validation"),
)
def train(
    file: Lines,
    given: dict[str, Any],
    *,
    out: Out,
    task: Literal["regression", "classification", "ranking"] = "regression",
    solver: Literal["mcmc", "als", "adagrad", "sgd", "sag", "saga"] | None = None,
    groups: File | None = None,
    validation: File | None = None,
    unknown: Unknown = "skip",
    force: bool = False,
) -> Saved:
    """Fit a factorization machine to a file of feature vectors.

    With --solver mcmc only the rank needs tuning, and predictions are means over posterior samples.

    Parameters
    ----------
    task
        Prediction task: numbers (regression), two classes (classification), or the order of the lines of each query
        (ranking).
    solver
        Solver: Gibbs sampling that also estimates the penalties (mcmc), coordinate descent (als), Adagrad (adagrad),
        stochastic gradient descent (sgd), or stochastic average gradients for order 1 (sag, saga) (default: mcmc;
        ranking: adagrad).
    groups
        File with the group of each feature, a number from 0 on each line; features of a group share penalties (mcmc).
    validation
        File of validation data to report the error on; solvers other than mcmc keep the epoch with the smallest error.
    ridge
        Ridge penalty on the factors; not used by the solver mcmc (default: 1.2; ranking: 0.1).
    max_iter
        Maximum number of training epochs (default: 100; ranking: 50); not used by the solver mcmc.
    draws
        Number of posterior samples drawn after burn-in (solver mcmc).
    """
    from polyadic.core.progress import sweeps
    from polyadic.text.feature_lines import read_feature_lines

    solver = solver or ("adagrad" if task == "ranking" else "mcmc")
    model = _made(task, solver, given, groups, validation)
    held_out: list[Any] = []
    facts: dict[str, Any] = {"task": task, "solver": solver}

    def read() -> tuple[Any, Any, dict[str, Any]]:
        X, y, qid = read_feature_lines(file)
        if task == "classification" and len(set(y.tolist())) != 2:
            raise InputError(f"{file} must have labels of two classes; it has {counted(len(set(y.tolist())), 'label')}")
        if task == "ranking" and qid.min() < 0:
            raise InputError(f"{file} must have a query id (qid:) on each line for task ranking", "task")
        facts.update(rows=len(y), features=X.shape[1])
        if validation is not None:
            held_out[:] = _read(validation, X.shape[1], unknown)
        if task == "ranking":
            return X, y, {"groups": qid}
        if solver == "mcmc":
            return X, y, {"groups": _groups(groups, X.shape[1])}
        return X, y, {"validation": held_out[:2]} if held_out else {}

    def fit(data: tuple[Any, Any, dict[str, Any]]) -> FactorizationMachineBase:
        import time

        X, y, more = data
        began = time.perf_counter()
        with sweeps(model, "fitting"):
            model.fit(X, y, **more)
        facts.update({"draws": model.n_draws_} if solver == "mcmc" else {"epochs": model.n_iter_})
        facts["seconds"] = round(time.perf_counter() - began, 2)
        return model

    def summary(fitted: Any) -> Mapping[str, Any]:
        if not held_out:
            return facts
        X, y, _, skipped = held_out
        measures = {f"validation_{name}": value for name, value in _measured(fitted, X, y, None).items()}
        best = {} if solver == "mcmc" else {"best_epoch": fitted.result_.best}
        return facts | measures | {"validation_skipped": skipped} | best

    return run(model, read, out, force=force, summary=summary, fit=fit).then("machine", "predict", out, "FILE")


def _made(task: str, solver: str, given: dict[str, Any], groups: Path | None, validation: Path | None) -> Any:
    """Create the estimator for a task and a solver; raise InputError for settings that do not apply."""
    from polyadic.core.methods import refuse_unused

    methods = _methods(task)
    if solver not in methods:
        raise InputError(f"task {task} requires solver {' or '.join(methods)}; got {solver}", "task", "solver")
    if task == "ranking" and validation is not None:
        about = "validation is not supported for task ranking"
        raise InputError(f"{about}; leave it out, and evaluate the model after training", "validation", "task")
    for name in given:
        if not any(name in each.settings for each in methods.values()):
            raise InputError(f"{name} is not used for task {task}; leave it out", name, "task")
    refuse_unused(methods, solver, given, by="solver")
    if groups is not None and solver != "mcmc":
        about = "groups can be used only with solver mcmc"
        raise InputError(f"{about}; leave out groups for solver {solver}", "groups", "solver")
    return methods[solver].make(given)


def _read(file: Path, features: int, unknown: str) -> tuple[csr_array, Array, Ints, int]:
    """Read feature vectors, labels and query groups, and count the values of unknown features."""
    from polyadic.text.feature_lines import read_feature_lines

    X, y, groups = read_feature_lines(file, features=features)
    beyond = int((X.indices >= features).sum())
    if beyond and unknown == "error":
        first = (X.indices >= features).argmax()
        row = int(X.indptr.searchsorted(first, side="right"))
        about = f"{file}, row {row}: feature {X.indices[first]} was not in the training data, which had features"
        raise InputError(f"{about} 0 to {features - 1}; set unknown='skip' to skip unknown features", "unknown")
    return X[:, :features], y, groups, beyond


def _groups(file: Path | None, features: int) -> Ints | None:
    """Read the group of each feature from a file."""
    import numpy as np

    if file is None:
        return None
    try:
        groups = [int(line) for line in read_names(file)]
    except ValueError as error:
        raise InputError(f"{file} must contain a whole number on each line: {error}") from None
    if len(groups) != features or min(groups, default=0) < 0:
        about = f"{file} must contain a group number (0 or higher) for each of the {features:,} features"
        raise InputError(f"{about}; it contains {len(groups):,} numbers")
    return np.array(groups, np.int64)


def _without_repeated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove the sums of the contributions from the rows if all sums equal the predictions."""
    same = all(row.get("value") == round(row.get("prediction", math.nan), 6) for row in rows)
    return [{name: cell for name, cell in row.items() if name != "value"} for row in rows] if same else rows


def _print_predictions(result: dict[str, Any]) -> None:
    """Print a table of predictions, or the name of the file with the predictions."""
    if "out" in result:
        typer.echo(f"wrote {result['out']}")
    else:
        rows = _without_repeated(result["predictions"])
        value = "log-odds" if "class" in rows[0] else "value"
        output.table([value if name == "value" else name for name in rows[0]], [_cells(row) for row in rows])
    if result["skipped"]:
        say(f"skipped {counted(result['skipped'], 'value')} of features that were not in the training data", "note")


@TASK.verb(example="polyadic machine predict machine valid.libfm --out predictions.txt", show=_print_predictions)
def predict(
    model: FactorizationMachineBase,
    file: Lines,
    *,
    out: File | None = None,
    why: Natural = 0,
    names: File | None = None,
    unknown: Unknown = "skip",
) -> dict[str, Any]:
    """Predict the label of each feature vector; in classification, also the probability of the second class.

    With --why, each value is split into a base value and the contributions of features and products of features. The
    value is the prediction, the log-odds of the second class, or the logarithm of a count (--set loss=poisson).

    Parameters
    ----------
    out
        File to write the predictions to, one per line, without headings.
    why
        Number of contributions to show for each prediction, the largest first.
    names
        File with the feature names to show with --why, one per line, starting with feature 0.
    """
    if names is not None and not why:
        raise InputError("names can be used only together with why; set both, or leave out names", "names", "why")
    machine: Any = model
    X, _, _, skipped = _read(file, machine.n_features_in_, unknown)
    predicted = machine.predict(X).tolist()
    rows: list[dict[str, Any]] = [{"prediction": value} for value in predicted]
    if hasattr(machine, "classes_"):
        heading = f"P({_cell(machine.classes_[1])})"
        probabilities = machine.predict_proba(X)[:, 1].tolist()
        rows = [{"class": value, heading: p} for value, p in zip(predicted, probabilities, strict=True)]
    if why:
        called = None if names is None else read_names(names)
        for i, row in enumerate(rows):
            row.update(output.reasons(machine.explain(X[[i]], called), why, "features"))
    if out is None:
        return {"predictions": rows, "rows": len(rows), "skipped": skipped}
    output.write_lines(("\t".join(_cells(row)) + "\n" for row in _without_repeated(rows)), out)
    return {"out": str(out), "rows": len(rows), "skipped": skipped}


@TASK.verb(example="polyadic machine evaluate machine valid.libfm")
def evaluate(model: FactorizationMachineBase, file: Lines, *, unknown: Unknown = "skip") -> dict[str, Any]:
    """Evaluate a factorization machine on a file of labelled feature vectors."""
    X, y, groups, skipped = _read(file, model.n_features_in_, unknown)
    return {"rows": len(y), **_measured(model, X, y, groups), "skipped": skipped}


def _measured(model: Any, X: Any, y: Any, groups: Any) -> dict[str, float]:
    """Return accuracy and log loss for classification, pairwise accuracy for ranking, or RMSE for regression."""
    import numpy as np

    from polyadic.supervised.fm_ranking import FactorizationMachineRanker

    if hasattr(model, "classes_"):
        if strange := sorted(set(y.tolist()) - set(model.classes_.tolist())):
            raise InputError(f"label {strange[0]:g} is not one of the classes on which the model was trained")
        p = model.predict_proba(X)[:, 1].clip(1e-12, 1 - 1e-12)
        true = y == model.classes_[1]
        loss = float(-np.log(np.where(true, p, 1 - p)).mean())
        return {"accuracy": round(float(((p > 0.5) == true).mean()), 6), "log_loss": round(loss, 6)}
    if isinstance(model, FactorizationMachineRanker):
        if groups.min() < 0:
            raise InputError("the file must have query ids (qid:) to evaluate a ranking model; it has none")
        return {"pairs_in_order": round(_in_order(model.predict(X), y, groups), 6)}
    return {"rmse": round(float(np.sqrt(np.mean((model.predict(X) - y) ** 2))), 6)}


def _in_order(scores: Any, grades: Any, groups: Any) -> float:
    """Return the share of correctly ordered pairs among rows with different grades in a group; ties count half."""
    import numpy as np

    right = total = 0.0
    order = np.argsort(groups, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        s, g = scores[part], grades[part]
        for grade in np.unique(g)[1:]:
            better, worse = s[g == grade], np.sort(s[g < grade])
            right += float((worse.searchsorted(better) + worse.searchsorted(better, "right")).sum()) / 2
            total += len(better) * len(worse)
    if not total:
        raise InputError("at least one query must have lines with different grades")
    return right / total


def _cells(row: Mapping[str, Any]) -> list[str]:
    """Format the values of a row as strings."""
    return [output.in_words(value) if isinstance(value, list) else _cell(value) for value in row.values()]


def _cell(value: Any) -> str:
    """Format a number with eight significant digits; strings are unchanged."""
    return value if isinstance(value, str) else f"{value:.8g}"


# ---- labels of the rows of a table


@LABELS.verb(
    word="train",
    example="polyadic labels train marks.csv --labels question,exclamation,quotation --text text --out labels",
    settings={"given": ("polyadic.supervised.table_labels:TableLabels",), "reading": READING},
    fixed=("texts", "categories", "budget"),
    options=("text", "categories", "loss", "rank", "ridge"),
)
def train_labels(
    table: Rows,
    given: dict[str, Any],
    reading: TableReading,
    *,
    out: Out,
    labels: list[str],
    text: list[str] | None = None,
    categories: list[str] | None = None,
    budget: Amount = BUDGET,
    force: bool = False,
) -> Saved:
    """Fit a model that predicts the label columns of a table from all its other columns.

    Columns of numbers are standardized; every value of the other columns is a feature. The settings rank and ridge are
    selected on held-out rows if they are not given.

    Parameters
    ----------
    labels
        Names of the columns to predict, separated by commas: numbers, or 0 and 1, yes and no, or true and false.
    text
        Names of columns of text, separated by commas; their words are features.
    categories
        Names of columns of numbers of which each value is a feature, such as codes, separated by commas.
    budget
        Time limit in seconds for the selection of settings.
    """
    from polyadic.supervised.table_labels import TableLabels

    model = TableLabels(**given, texts=text or (), categories=categories or (), budget=budget)

    def summary(model: Any) -> dict[str, Any]:
        kinds: dict[str, Any] = {"numbers": [*model.scales_], "texts": [*model.texts]}
        kinds["categories"] = [name for name in model.encoder_.values_ if name not in {*model.scales_, *model.texts}]
        sizes = {"labels": len(model.labels_), "features": len(model.encoder_.names_), "loss": model.model_.loss}
        sizes["rank"] = model.model_.U_.shape[1]
        return sizes | {what: ", ".join(names) for what, names in kinds.items() if names}

    def fit(X: dict[str, list[Any]]) -> TableLabels:
        return model.fit(X, labels)

    saved = run(model, lambda: _columns(table, reading), out, force=force, fit=fit, summary=summary)
    return saved.then("labels", "predict", out, table)


@LABELS.verb(word="predict", example="polyadic labels predict labels marks-test.csv", settings={"reading": READING})
def predict_labels(model: TableLabels, table: Rows, reading: TableReading) -> dict[str, Any]:
    """Predict the labels of each row of a table: the probability of each label, or its value.

    The table has the columns of the training table; labels and other columns are ignored.
    """
    X = _columns(table, reading)
    predicted = model.predict_proba(X) if model.model_.loss == "logistic" else model.predict(X)
    rows = [dict(zip(model.labels_, row, strict=True)) for row in predicted.round(4).tolist()]
    return {"predictions": [{"row": at, **row} for at, row in enumerate(rows, 1)]}


@LABELS.verb(word="evaluate", example="polyadic labels evaluate labels marks-test.csv", settings={"reading": READING})
def evaluate_labels(model: TableLabels, table: Rows, reading: TableReading) -> dict[str, Any]:
    """Compute average precision, precision of the most probable labels and F1; or the error of numeric labels.

    Average precision (micro) has a 95 % bootstrap interval over rows. Rows with an unknown label are left out and
    counted. F1 is that of labels with a probability above 0.5.
    """
    import numpy as np

    from polyadic.metrics.labels import label_measures, micro_figure

    X = _columns(table, reading)
    Y, predicted = model.targets(X), model.decision_function(X)
    if model.model_.loss != "logistic":
        columns = zip(model.labels_, Y.T, predicted.T, strict=True)
        parts = [(name, y[~np.isnan(y)], m[~np.isnan(y)]) for name, y, m in columns]
        rows = [(name, len(y), float(np.sqrt(np.mean((y - m) ** 2))), float(y.std())) for name, y, m in parts if len(y)]
        names = "label", "known_rows", "rmse", "standard_deviation"
        return {"labels": [dict(zip(names, row, strict=True)) for row in rows]}
    known = ~np.isnan(Y).any(axis=1)
    sizes = {"rows": int(known.sum()), "left_out": int((~known).sum())}
    if not np.isin(Y[known], (0, 1)).all() or not Y[known].any():
        raise InputError(f"{table} must have rows whose labels are all 0 or 1 (or yes and no), with at least one 1")
    measures = label_measures(Y[known], predicted[known], 0.0)
    fewer = {f"precision_at_{k}" for k in (3, 5) if k > len(model.labels_)}
    low, high = micro_figure(Y[known], predicted[known]).interval()
    measures = {name: value for name, value in measures.items() if name not in fewer}
    return sizes | measures | {"micro_ap_low": low, "micro_ap_high": high, "share_of_ones": float(Y[known].mean())}


def _columns(path: str, reading: TableReading) -> dict[str, list[Any]]:
    """Read the columns of a table whose first line names them."""
    from dataclasses import replace

    from polyadic.text.tables import open_table

    table = open_table(path, replace(reading, header=True))
    names = [str(name) for name in table.names]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"{path}: the first line must give each column a different name; got {', '.join(names):.200}")
    rows = []
    for number, cells in table:
        if len(cells) == len(names):
            rows.append(cells)
        else:
            table.skip(number, f"expected {counted(len(names), 'cell')}; got {len(cells)}")
    if not rows:
        raise InputError(f"{path} has no rows below its first line, which names the columns")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

"""``polyadic machine``: factorization machines of lines of features, as libFM and libsvm have them."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs
from polyadic.interface.errors import interrupted, say

app = typer.Typer(no_args_is_help=True, help="Predict from features and their products, by factorization machines.")

DESCENDING, STOCHASTIC, DRAWN = ("als", "adagrad", "sgd"), ("adagrad", "sgd"), ("mcmc",)

Lines = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Lines such as `4 1:1 7:0.5`: a label, and numbers and values of features."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic machine train`.")]
Task = Annotated[
    Literal["regression", "classification", "ranking"],
    typer.Option(help="Numbers; two classes; or grades of lines with the same qid:."),
]
Solver = Annotated[
    Literal["mcmc", "als", "adagrad", "sgd"] | None,
    typer.Option(
        help="Draws that learn their penalties; exact steps; stochastic ones.", show_default="mcmc; ranking adagrad"
    ),
]
Rank = Annotated[int | None, typer.Option(min=0, help="Length of a factor.", show_default="8")]
Order = Annotated[int | None, typer.Option(min=1, max=9, help="Features in a product at most.", show_default="2")]
Loss = Annotated[
    Literal["squared", "huber", "poisson"] | None,
    typer.Option(help="Of numbers (als, adagrad, sgd; poisson not als).", show_default="squared"),
]
Ridge = Annotated[float | None, typer.Option(min=0, help="Penalty of factors.", show_default="1.2; ranking 0.1")]
LinearRidge = Annotated[
    float | None, typer.Option(min=0, help="Penalty of linear weights.", show_default="1; ranking 0.1")
]
LearningRate = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Initial learning rate of the stochastic solvers.",
        show_default="adagrad 0.3, ranking 0.1; sgd 0.02",
    ),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Sweeps at most.", show_default="100; ranking 50")]
Draws = Annotated[
    int | None, typer.Option(min=1, help="Number of posterior samples drawn after burn-in (mcmc).", show_default="200")
]
BurnIn = Annotated[int | None, typer.Option(min=0, help="Number of burn-in sweeps (mcmc).", show_default="20")]
Samples = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of posterior samples to keep (mcmc).", show_default="100")
]
Groups = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A number a line, from 0: the group of each feature, with penalties of its own (mcmc)."
    ),
]
Clip = Annotated[bool, typer.Option("--clip", help="Predict nothing beyond the labels seen (mcmc, regression).")]
Validation = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Lines to predict; all but mcmc keep the sweep that does it best.")
]
Unknown = Annotated[
    Literal["skip", "error"],
    typer.Option(help="Features beyond those trained: leave them out and say how many, or stop."),
]
File = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write predictions there, a line each, no headings.")
]
Why = Annotated[
    int, typer.Option(min=0, help="How many features and products of them to show for each line, by what they add.")
]
Names = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A name a line, from feature 0 on, for what --why shows.")
]


def train(
    file: Lines,
    *,
    out: o.Out,
    task: Task = "regression",
    solver: Solver = None,
    rank: Rank = None,
    order: Order = None,
    loss: Loss = None,
    ridge: Ridge = None,
    linear_ridge: LinearRidge = None,
    learning_rate: LearningRate = None,
    epochs: Epochs = None,
    draws: Draws = None,
    burn_in: BurnIn = None,
    n_samples: Samples = None,
    groups: Groups = None,
    clip: Clip = False,
    validation: Validation = None,
    unknown: Unknown = "skip",
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from lines of features.

    With --solver mcmc there is nothing to tune but the rank; predictions are means over draws.
    """
    method = solver or ("adagrad" if task == "ranking" else "mcmc")
    _check_task(task, method, loss=loss, clip=clip, validation=validation)
    o.belonging(
        method,
        {
            "--ridge": (ridge, DESCENDING),
            "--linear-ridge": (linear_ridge, DESCENDING),
            "--learning-rate": (learning_rate, STOCHASTIC),
            "--epochs": (epochs, DESCENDING),
            "--draws": (draws, DRAWN),
            "--burn-in": (burn_in, DRAWN),
            "--n-samples": (n_samples, DRAWN),
            "--groups": (groups, DRAWN),
        },
        flag="--solver",
    )
    chosen: dict[str, Any] = {
        "rank": rank,
        "order": order,
        "ridge": ridge,
        "linear_ridge": linear_ridge,
        "learning_rate": learning_rate,
    }
    chosen |= {
        "loss": loss,
        "max_iter": epochs,
        "draws": draws,
        "burn_in": burn_in,
        "n_samples": n_samples,
        "threads": threads,
    }
    chosen |= {"clip": clip or None, "solver": method if task != "ranking" and method != "mcmc" else None}
    given = {name: value for name, value in chosen.items() if value is not None}
    model, facts = _fitted(file, out, task, method, given, (groups, validation, unknown), seed=seed, force=force)
    facts = {"task": task, "solver": method, **facts}
    output.saved(model, out, facts, force=force, as_json=as_json, hint=("machine", "predict", out, "FILE"))


def predict(
    model: Model,
    file: Lines,
    *,
    out: File = None,
    why: Why = 0,
    names: Names = None,
    unknown: Unknown = "skip",
    as_json: o.AsJson = False,
) -> None:
    """Predict the lines of a file, whatever their labels; of classes also how likely they are.

    With --why values are sums of what every feature and every product of features adds, and of a base that none does:
    the prediction, of two classes the log-odds of the second, of counts (--loss poisson) the logarithm.
    """
    if names is not None and not why:
        raise InputError("--names is for --why; give both, or neither")
    machine = _opened(model)
    X, _, _, skipped = _read(file, machine.n_features_in_, unknown)
    rows: list[tuple[Any, ...]] = [(value,) for value in machine.predict(X).tolist()]
    headings = ["prediction"]
    if hasattr(machine, "classes_"):
        headings = ["class", f"P({_cell(machine.classes_[1])})"]
        rows = [(*row, p) for row, p in zip(rows, machine.predict_proba(X)[:, 1].tolist(), strict=True)]
    if why:
        called = None if names is None else o.listed(names)
        told = [output.reasons(machine.explain(X[[i]], called), why, "features") for i in range(len(rows))]
        if out is not None or not as_json:
            told = [{**reasons, "why": output.in_words(reasons["why"])} for reasons in told]
        headings += ["value", "base", "why"]
        rows = [(*row, *reasons.values()) for row, reasons in zip(rows, told, strict=True)]
    if out is not None:
        _write(out, rows)
    if as_json:
        where = {"out": str(out)} if out is not None else {}
        if out is None:
            where = {"predictions": [dict(zip(headings, row, strict=True)) for row in rows]}  # type: ignore[dict-item]
        output.in_json({**where, "rows": len(rows), "skipped": skipped})
        return
    if out is None:
        output.table(headings, [[*map(_cell, row)] for row in rows])
    else:
        typer.echo(f"wrote {out}")
    _tell_skipped(skipped)


def evaluate(model: Model, file: Lines, *, unknown: Unknown = "skip", as_json: o.AsJson = False) -> None:
    """Compare predictions with the labels of a file."""
    machine = _opened(model)
    X, y, groups, skipped = _read(file, machine.n_features_in_, unknown)
    facts = {"rows": len(y), **_measured(machine, X, y, groups), "skipped": skipped}
    output.facts(facts, as_json=as_json)


def _check_task(task: str, method: str, *, loss: str | None, clip: bool, validation: Path | None) -> None:
    if task == "ranking" and method != "adagrad":
        raise InputError(f"--task ranking is learned by --solver adagrad; got {method}")
    if task == "ranking" and validation is not None:
        raise InputError("--validation is for --task regression and classification; leave it out, and evaluate later")
    if loss is not None and (task != "regression" or method == "mcmc"):
        raise InputError("--loss is for --task regression with --solver als, adagrad or sgd; leave it out")
    if clip and (task != "regression" or method != "mcmc"):
        raise InputError("--clip is for --task regression with --solver mcmc; leave it out")


def _fitted(
    file: Path,
    out: Path,
    task: str,
    method: str,
    options: dict[str, Any],
    parts: tuple[Path | None, Path | None, str],
    *,
    seed: int,
    force: bool,
) -> tuple[Any, dict[str, Any]]:
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.text.feature_lines import read_feature_lines

    check_replaceable(out, KIND, overwrite=force)
    X, y, qid = read_feature_lines(file)
    if task == "classification" and len(set(y.tolist())) != 2:
        raise InputError(f"{file} must have labels of two classes; it has {len(set(y.tolist())):,} different ones")
    if task == "ranking" and qid.min() < 0:
        raise InputError(f"{file} has no qid:; --task ranking needs the group of each line")
    held_out = None if parts[1] is None else _read(parts[1], X.shape[1], parts[2])
    more: dict[str, Any] = {}
    if task == "ranking":
        more["groups"] = qid
    elif method == "mcmc":
        more["groups"] = _groups(parts[0], X.shape[1])
    elif held_out is not None:
        more["validation"] = held_out[:2]
    facts: dict[str, Any] = {"rows": len(y), "features": X.shape[1]}
    model, reached = _run(_model(task, method)(seed=seed, **options), X, y, more)
    facts |= reached
    if held_out is not None:
        facts |= {f"validation_{name}": value for name, value in _measured(model, *held_out[:2], None).items()}
        facts |= {"validation_skipped": held_out[3]} | ({"best_epoch": model.result_.best} if method != "mcmc" else {})
    return model, facts


def _run(model: Any, X: Any, y: Any, more: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Fit, under a bar; tell how far it came."""
    import time

    from polyadic.core.progress import sweeps

    began = time.perf_counter()
    if hasattr(model, "draws"):  # it has a bar of its own
        model.fit(X, y, **more)
        facts = {"draws": model.n_draws_}
    else:
        with sweeps(model, "fitting"):
            model.fit(X, y, **more)
        if model.interrupted_ and not model.n_iter_:
            raise interrupted()  # where it starts is no model; what --force would replace stays
        facts = {"epochs": model.n_iter_}
    return model, facts | {"seconds": round(time.perf_counter() - began, 2)}


def _model(task: str, method: str) -> Callable[..., Any]:
    import polyadic

    if task == "ranking":
        return polyadic.FactorizationMachineRanker
    name = ("Bayesian" if method == "mcmc" else "") + "FactorizationMachine"
    make: Callable[..., Any] = getattr(polyadic, name + ("Classifier" if task == "classification" else ""))
    return make


def _opened(model: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.supervised.base import FactorizationMachineBase

    return load(model, FactorizationMachineBase)


def _read(file: Path, features: int, unknown: str) -> tuple[Any, Any, Any, int]:
    """Read lines of at most so many features; give also how many values stood beyond."""
    from polyadic.text.feature_lines import read_feature_lines

    X, y, groups = read_feature_lines(file, features=features)
    beyond = int((X.indices >= features).sum())
    if beyond and unknown == "error":
        first = (X.indices >= features).argmax()
        row = int(X.indptr.searchsorted(first, side="right"))
        raise InputError(
            f"{file}, row {row}: a feature is {X.indices[first]}, and those trained are 0 to {features - 1};"
            " --unknown skip leaves such out"
        )
    return X[:, :features], y, groups, beyond


def _groups(file: Path | None, features: int) -> Any:
    import numpy as np

    if file is None:
        return None
    try:
        groups = [int(line) for line in file.read_text(encoding="utf-8").split()]
    except ValueError as error:
        raise InputError(f"{file} must hold a whole number on each line: {error}") from None
    if len(groups) != features or min(groups, default=0) < 0:
        raise InputError(
            f"{file} must hold a number from 0 for each of {features:,} features, from feature 0 on;"
            f" it has {len(groups):,}"
        )
    return np.array(groups, np.int64)


def _measured(model: Any, X: Any, y: Any, groups: Any) -> dict[str, float]:
    import numpy as np

    if hasattr(model, "classes_"):
        if strange := sorted(set(y.tolist()) - set(model.classes_.tolist())):
            raise InputError(f"label {strange[0]:g} is none of the classes that were learned")
        p = model.predict_proba(X)[:, 1].clip(1e-12, 1 - 1e-12)
        true = y == model.classes_[1]
        loss = float(-np.log(np.where(true, p, 1 - p)).mean())
        return {"accuracy": round(float(((p > 0.5) == true).mean()), 6), "log_loss": round(loss, 6)}
    if hasattr(model, "n_negatives"):  # it ranks
        if groups.min() < 0:
            raise InputError("a model that ranks is compared with lines that have qid:; these have none")
        return {"pairs_in_order": round(_in_order(model.predict(X), y, groups), 6)}
    return {"rmse": round(float(np.sqrt(np.mean((model.predict(X) - y) ** 2))), 6)}


def _in_order(scores: Any, grades: Any, groups: Any) -> float:
    """Give the share of pairs of different grades in a group that are in order; of equal scores half."""
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
        raise InputError("no group has lines of two grades; there is nothing to compare")
    return right / total


def _write(out: Path, rows: list[tuple[Any, ...]]) -> None:
    from polyadic.core.files import whole_file

    with whole_file(out) as draft:
        draft.write_text("".join("\t".join(map(_cell, row)) + "\n" for row in rows), encoding="utf-8")


def _cell(value: Any) -> str:
    """Write a number as precisely in a pipe as in a file; classes of other programs may be words."""
    return value if isinstance(value, str) else f"{value:.8g}"


def _tell_skipped(skipped: int) -> None:
    if skipped:
        say(f"left out {skipped:,} values of features that were not trained", "note")


add_verbs(
    app,
    {
        train: "polyadic machine train ratings.libfm --out machine --validation valid.libfm",
        predict: "polyadic machine predict machine valid.libfm --out predictions.txt",
        evaluate: "polyadic machine evaluate machine valid.libfm",
    },
)

r"""Model selection: coordinate search over a few settings, scored on held-out data.

A model defines its search by a method ``search``, which takes the data and a seed and returns a :class:`SearchSpace`:
the settings to select, their values from simple to rich, how to fit, and the loss of each held-out unit (a rating,
user, fact, string or document). The search starts at the settings of the model and moves along one setting after
another while the mean loss falls (by at least a thousandth where the model grows), until no step lowers it. Of all
trials it then selects the smallest model whose loss :math:`l` is within one standard error of the least, :math:`l^*`,
over the n paired units:

.. math:: \overline{l - l^*} \le \sqrt{\operatorname{var}(l - l^*) / n}

References
----------
Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, section 3.4.3, for the rule of one
standard error; here it is that of the paired difference, which is much smaller than that of the loss.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_number
from polyadic.core.progress import bar

if TYPE_CHECKING:
    from polyadic.core.model import Model

    M = TypeVar("M", bound=Model)

MIN_GAIN = 1e-3  # relative reduction of the loss required of a larger model: without it, noise led ratings to rank 160
HELD_OUT, MAX_HELD_OUT = 0.1, 100_000
"""Share of the units that is held out, and their maximum number: more would not improve the selection, and use memory.
"""


@dataclass(frozen=True)
class SearchSpace:
    """Search space for model selection, with functions that fit and score each trial.

    Parameters
    ----------
    values : dict of str to sequence
        Candidate values of each setting, from simple to rich, in the order of the search. The model's own value is
        added.
    fit : callable
        Fits a model to the training part and returns it.
    last : callable
        Fits a model to all data and returns it.
    losses : callable
        Returns the loss of a fitted model on each held-out unit, an array of shape (units,).
    units : str
        Name of the held-out units in the plural, such as ``"cells"``.
    measure : str
        Name of the reported metric, such as ``"RMSE"``.
    figure : callable
        Converts a mean loss to the reported metric.
    size : str
        Name of the setting that determines the size of the model.
    whole : bool
        Whether ``fit`` already uses all data because a separate validation set was given; the model is then not
        refitted.
    """

    values: Mapping[str, Sequence[Any]]
    fit: Callable[[Any], Any]
    last: Callable[[Any], Any]
    losses: Callable[[Any], Array]
    units: str
    measure: str
    figure: Callable[[float], float] = float
    size: str = "rank"
    whole: bool = False


@dataclass
class Trial:
    """Settings evaluated in one trial, with the mean held-out loss and the reported metric."""

    settings: dict[str, Any]
    loss: float
    figure: float


@dataclass
class Selection:
    """Result of a model selection: the selected settings, and all trials in the order of evaluation."""

    settings: dict[str, Any]
    trials: list[Trial]  # the first has the settings that the model had
    best: int  # index of the selected trial
    measure: str  # name of the metric in ``Trial.figure``
    units: str  # name of the held-out units
    number: int  # of held-out units
    complete: bool  # whether the search finished, rather than being stopped by the time limit or Ctrl-C
    seconds: list[float] = field(default_factory=list, metadata={"kept": False})  # so that equal fits make equal files

    def summary(self) -> dict[str, Any]:
        """Return a summary of the selection as a JSON-serializable dict."""
        facts = {"settings": self.settings, "measure": self.measure, "figure": self.trials[self.best].figure}
        facts |= {"default": self.trials[0].figure, "held_out": self.number, "units": self.units}
        return facts | {"fits": len(self.trials), "seconds": round(sum(self.seconds), 2), "complete": self.complete}

    def __str__(self) -> str:
        """Return a one-line summary of the selected settings, their score and the cost of the search."""
        settings = ", ".join(f"{name} {_short(value)}" for name, value in self.settings.items())
        first, best = self.trials[0].figure, self.trials[self.best].figure
        gain = f"; {_short(first)} with the defaults" if self.best else ", as by default"
        end = "" if self.complete else ", stopped early"
        number = len(self.trials)
        cost = f"{number} fit{'s' * (number > 1)}" + (f" in {sum(self.seconds):,.1f} s" if self.seconds else "") + end
        score = f"{self.measure} {_short(best)} on {self.number:,} held-out {self.units}"
        return f"selected {settings}: {score}{gain} ({cost})"


def select(
    model: M, X: Any, *, keep: Collection[str] = (), budget: float | None = None, seed: int | None = 0, **parts: Any
) -> M:
    """Select settings of a model on held-out data, and fit a copy of the model with the selected settings.

    The copy has a :class:`Selection` in ``selection_``. Ctrl-C keeps the best model so far, fitted to the training part
    only, and sets ``interrupted_``. InputError is raised if the data are too few to hold any out.

    Parameters
    ----------
    model : Model
        Model to tune; it must have a method ``search``. A copy is fitted.
    X : object
        Training data, as ``fit`` of the model takes it.
    keep : collection of str
        Names of settings that are not changed. If none remains to select, the model is fitted as it is.
    budget : float, optional
        Time limit in seconds after which no new trial starts. The first trial and the final fit are always made.
    seed : int, optional
        Seed of the held-out split.
    **parts
        Further arguments of the model's ``search``, such as a validation set.

    Examples
    --------
    >>> from polyadic import MatrixFactorization
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20)) + 0.1 * rng.standard_normal((30, 20))
    >>> model = select(MatrixFactorization(seed=0), x)
    >>> model.rank < 10, len(model.selection_.trials) > 1
    (True, True)
    """
    model.check()
    if budget is not None:
        check_number("budget", budget)
    if not hasattr(model, "search"):
        raise InputError(f"{type(model).__name__} has no settings to select on held-out data")
    if unknown := sorted({*keep} - {*model.get_params(deep=False)}):
        raise InputError(f"{unknown[0]} is not a setting of {type(model).__name__}", unknown[0])
    task = model.search(X, seed=seed, **parts)
    values = {name: _joined(row, getattr(model, name)) for name, row in task.values.items() if name not in keep}
    if not values:
        return task.last(clone(model))
    trials = _Trials(model, task, values, math.inf if budget is None else time.perf_counter() + budget)
    complete, interrupted = trials.walk()
    return trials.last(complete=complete, interrupted=interrupted)


class _TimeUp(Exception):  # noqa: N818 # not an error
    """Exception raised when the time limit of the search is reached."""


class _Trials:
    """Evaluated grid points, tuples of indices into the values of each setting, and models close to the best."""

    def __init__(self, model: Any, task: SearchSpace, values: Mapping[str, Sequence[Any]], ends: float) -> None:
        self.model, self.task, self.values, self.ends = model, task, values, ends
        self.made: list[Trial] = []
        self.seconds: list[float] = []
        self.losses: dict[tuple[int, ...], Array] = {}
        self.fitted: dict[tuple[int, ...], Any] = {}
        self.refused: dict[tuple[int, ...], InputError] = {}

    def walk(self) -> tuple[bool, bool]:
        """Run the coordinate search; return whether it finished, and whether Ctrl-C stopped it."""
        complete = interrupted = False
        with bar("selecting settings", unit="fits") as self.advance:
            try:
                at, before = tuple(row.index(getattr(self.model, name)) for name, row in self.values.items()), None
                self.loss(at)
                while at != before:
                    before = at
                    for axis in range(len(at)):
                        at = self.along(at, axis)
                complete = True
            except _TimeUp:
                pass
            except KeyboardInterrupt:
                if not self.fitted:
                    raise
                interrupted = True
        self.check()
        return complete, interrupted

    def along(self, at: tuple[int, ...], axis: int) -> tuple[int, ...]:
        """Search along one setting, upwards and downwards, while the loss decreases; return the best grid point.

        A larger model must lower the loss by ``MIN_GAIN``. An infinite loss does not end the search in its direction.
        """
        length, size = len([*self.values.values()][axis]), [*self.values][axis] == self.task.size
        ends = []
        for places in (range(at[axis] + 1, length), range(at[axis] - 1, -1, -1)):
            best = at
            for place in places:
                reached = (*at[:axis], place, *at[axis + 1 :])
                least = self.loss(best) * (1 - MIN_GAIN if size and place > at[axis] else 1)
                if self.loss(reached) < least:
                    best = reached
                elif math.isfinite(least):
                    break
            ends.append(best)
        return min(ends, key=self.loss)

    def loss(self, at: tuple[int, ...]) -> float:
        """Return the mean held-out loss at a grid point, fitting the model at the point on first use."""
        if at not in self.losses:
            if self.made and time.perf_counter() >= self.ends:
                raise _TimeUp
            self.try_(at)
        return float(self.losses[at].mean())

    def try_(self, at: tuple[int, ...]) -> None:
        """Fit and score the model at a grid point; the loss is infinite if the model rejects the settings."""
        began = time.perf_counter()
        settings = {name: row[place] for (name, row), place in zip(self.values.items(), at, strict=True)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit warns
            try:
                fitted = self.task.fit(clone(self.model).set_params(**settings))
                losses = np.nan_to_num(self.task.losses(fitted), nan=np.inf, posinf=np.inf)
            except InputError as error:
                self.refused[at], fitted, losses = error, None, np.array([np.inf])
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt  # an interrupted fit cannot be compared
        mean = float(losses.mean())
        self.made.append(Trial(settings, mean, self.task.figure(mean)))
        self.seconds.append(time.perf_counter() - began)
        self.losses[at] = losses
        if fitted is not None:
            self.fitted[at] = fitted
        alike = self.alike()
        self.fitted = {place: model for place, model in self.fitted.items() if place in alike}
        self.advance(1, note=f"{self.task.measure} {_short(min(self.made, key=lambda trial: trial.loss).figure)}")

    def last(self, *, complete: bool, interrupted: bool) -> Any:
        """Refit the model on all data, unless interrupted; if it rejects the selected settings, select again."""
        choice, fitted = self.choice(complete=complete)
        while not (interrupted or self.task.whole):
            try:
                fitted = self.task.last(clone(self.model).set_params(**choice.settings))
            except InputError as error:
                self.refuse(choice.best, error)
                choice, fitted = self.choice(complete=complete)
            except KeyboardInterrupt:
                interrupted = True
            else:
                break
        if fitted is None:
            raise KeyboardInterrupt
        if interrupted:
            fitted.interrupted_ = True
        fitted.selection_ = choice
        return fitted

    def refuse(self, number: int, error: InputError) -> None:
        """Record that the model rejected the settings of a trial when fitted to all data."""
        at = [*self.losses][number]
        self.refused[at], self.losses[at] = error, np.array([np.inf])
        self.made[number].loss, self.made[number].figure = math.inf, self.task.figure(math.inf)
        self.fitted.pop(at, None)
        self.check()

    def check(self) -> None:
        """Raise the first error if every trial was rejected."""
        if len(self.refused) == len(self.losses):
            raise next(iter(self.refused.values()))

    def alike(self) -> list[tuple[int, ...]]:
        """Return the grid points whose loss is within one standard error of the lowest loss, in ascending order."""
        best, *others = sorted(self.losses, key=lambda at: (float(self.losses[at].mean()), at in self.refused))
        return [best, *(at for at in others if at in self.fitted and self.close(at, best))]

    def close(self, at: tuple[int, ...], best: tuple[int, ...]) -> bool:
        """Return whether the loss at a grid point is within one standard error of the loss at the best point."""
        if not np.isfinite(self.losses[at].mean()):
            return False
        excess = self.losses[at] - self.losses[best]
        return bool(excess.mean() <= excess.std() / math.sqrt(len(excess)))

    def choice(self, *, complete: bool) -> tuple[Selection, Any]:
        """Return the smallest model within one standard error of the lowest loss (of equal sizes, the best)."""
        names = [*self.values]
        alike = self.alike()
        if self.task.size in names:
            axis = names.index(self.task.size)
            alike.sort(key=lambda at: at[axis])  # stable
        best = [*self.losses].index(alike[0])
        settings, task = self.made[best].settings, self.task
        facts = task.measure, task.units, len(self.losses[alike[0]])
        return Selection(settings, self.made, best, *facts, complete, self.seconds), self.fitted.get(alike[0])


def held_out_share(number: int) -> float:
    """Return the fraction of the data to hold out, given the number of units that can be held out."""
    return min(HELD_OUT, MAX_HELD_OUT / number)


def _joined(row: Sequence[Any], value: Any) -> list[Any]:
    """Return the candidate values of a setting in order, including the current value of the model."""
    if value in row:
        return [*row]
    falling = len(row) > 1 and row[0] > row[-1]
    return sorted([*row, value], reverse=falling)


def _short(value: Any) -> str:
    if value == math.inf:
        return "infinite"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

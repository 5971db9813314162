r"""Settings that the data choose: a walk over a few values, judged by what is held out.

A model says how by its method ``search``, which takes the data and a seed and gives a :class:`SearchSpace`: which
settings matter, their values from the simple to the rich, what it learns from, and what it loses on each unit that is held out,
be it a rating, a user, a fact, a string or a document. The walk begins at the settings of the model and goes along one
setting after another for as long as the mean loss falls, to larger models for as long as it falls by a thousandth; when
no step from where it stands lowers it, it ends. Then, of all that was tried, the smallest model is taken whose
loss :math:`l` cannot be told from the least, :math:`l^*`: over the n units, each compared with itself,

.. math:: \overline{l - l^*} \le \sqrt{\operatorname{var}(l - l^*) / n}

References
----------
Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, section 3.4.3, for the rule of one
standard error; here it is that of the difference, which is much smaller than that of the loss.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from polyadic.core.errors import InputError, check_number
from polyadic.core.progress import bar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from polyadic.core.model import Model

    M = TypeVar("M", bound=Model)

GAIN = 1e-3
"""Share of the loss that a larger model has to gain: without, noise led ratings to rank 160."""
HELD_OUT, ENOUGH = 0.1, 100_000
"""Share of the units that is held out, and their number at most: more would tell no better, and fill memory."""
BUDGET = 600.0
"""Seconds that verbs, and what does the same from Python, look for settings."""


@dataclass(frozen=True)
class SearchSpace:
    """Which settings of a model are to be chosen by some data, and how they are judged.

    Attributes
    ----------
    values : dict of str to sequence
        Settings to choose, in the order in which the walk goes along them, and values of each, from the simple to the
        rich. That which the model has joins them.
    fit, last : callable
        Fit a model, and give it: to what is not held out, and to everything.
    losses : callable
        Gives what a fitted model loses on each unit held out, an array of shape (units,).
    units : str
        What they are, such as ``"cells"``.
    measure, figure : str and callable
        Name of what people read, such as ``"RMSE"``, and what makes it of a mean loss.
    size : str
        The setting of which less makes a smaller model.
    whole : bool
        Whether ``fit`` learns from everything, since what it is judged by was given beside it; then nothing is fitted
        anew.
    """

    values: Mapping[str, Sequence[Any]]
    fit: Callable[[Any], Any]
    last: Callable[[Any], Any]
    losses: Callable[[Any], NDArray[np.float64]]
    units: str
    measure: str
    figure: Callable[[float], float] = float
    size: str = "rank"
    whole: bool = False


@dataclass
class Trial:
    """Settings that were tried.

    Attributes
    ----------
    settings : dict of str to value
    loss : float
        Mean over the units held out.
    figure : float
        What people read of it.
    """

    settings: dict[str, Any]
    loss: float
    figure: float


@dataclass
class Selection:
    """What was chosen, and all that was tried.

    Attributes
    ----------
    settings : dict of str to value
    trials : list of Trial
        In the order in which they were made; the first has the settings that the model had.
    best : int
        The place among them of what was chosen.
    measure, units, number : str, str, int
        What ``figure`` is, and of how many of which units.
    complete : bool
        Whether the walk came to its end, and not the time, or Ctrl-C.
    seconds : list of float
        That each trial took; empty in what was saved, so that equal fits make equal files.
    """

    settings: dict[str, Any]
    trials: list[Trial]
    best: int
    measure: str
    units: str
    number: int
    complete: bool
    seconds: list[float] = field(default_factory=list, metadata={"kept": False})

    def summary(self) -> dict[str, Any]:
        """Tell the same to programs."""
        facts = {"settings": self.settings, "measure": self.measure, "figure": self.trials[self.best].figure}
        facts |= {"default": self.trials[0].figure, "held_out": self.number, "units": self.units}
        return facts | {"fits": len(self.trials), "seconds": round(sum(self.seconds), 2), "complete": self.complete}

    def __str__(self) -> str:
        """Tell in one line what was chosen, how good it is, and what it cost."""
        settings = ", ".join(f"{name} {_short(value)}" for name, value in self.settings.items())
        first, best = self.trials[0].figure, self.trials[self.best].figure
        gain = f"; {_short(first)} with the defaults" if self.best else ", as by default"
        end = "" if self.complete else ", stopped early"
        number = len(self.trials)
        cost = f"{number} fit{'s' * (number > 1)}" + (f" in {sum(self.seconds):,.1f} s" if self.seconds else "") + end
        return (
            f"chose {settings}: {self.measure} {_short(best)} of {self.number:,} {self.units} held out{gain} ({cost})"
        )


def select(
    model: M, X: Any, *, keep: Collection[str] = (), budget: float | None = None, seed: int | None = 0, **parts: Any
) -> M:
    """Fit a model with the settings that its data choose; ``selection_`` of what is given back tells of them.

    Ctrl-C keeps the best so far, which knows nothing of what was held out: ``interrupted_`` tells of it.

    Parameters
    ----------
    model : Model
        One that has ``search``; a copy is fitted.
    X
        What its ``fit`` takes.
    keep : collection of str
        Settings that stay as they are; if that leaves none to choose, the model is fitted as it is.
    budget : float, optional
        Seconds after which nothing more is tried; the first fit is always made, and the last comes on top.
    seed : int, optional
        Of what is held out.
    **parts
        What else ``search`` of the model takes, such as facts to judge by.

    Raises
    ------
    InputError
        If the model has nothing to choose, there is no such setting, or the data are too few to hold any out.

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
        raise InputError(f"{type(model).__name__} has no settings that are chosen by what is held out")
    if unknown := sorted({*keep} - {*model.get_params(deep=False)}):
        raise InputError(f"{unknown[0]} is no setting of {type(model).__name__}")
    task = model.search(X, seed=seed, **parts)
    values = {name: _joined(row, getattr(model, name)) for name, row in task.values.items() if name not in keep}
    if not values:
        return task.last(clone(model))
    trials = _Trials(model, task, values, math.inf if budget is None else time.perf_counter() + budget)
    complete, interrupted = trials.walk()
    return trials.last(complete=complete, interrupted=interrupted)


class _TimeUp(Exception):  # noqa: N818 # no error: the walk ends
    """Nothing more is to be tried."""


class _Trials:
    """What was tried, each place once, and the models that cannot be told from the best.

    A place is that of each setting among its values.
    """

    def __init__(self, model: Any, task: SearchSpace, values: Mapping[str, Sequence[Any]], ends: float) -> None:
        self.model, self.task, self.values, self.ends = model, task, values, ends
        self.made: list[Trial] = []
        self.seconds: list[float] = []
        self.losses: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.fitted: dict[tuple[int, ...], Any] = {}
        self.refused: dict[tuple[int, ...], InputError] = {}

    def walk(self) -> tuple[bool, bool]:
        """Go along one setting after another until no step helps; say if that was done, and if Ctrl-C came."""
        with bar("choosing settings", unit="fits") as self.advance:
            try:
                at, before = tuple(row.index(getattr(self.model, name)) for name, row in self.values.items()), None
                self.loss(at)
                while at != before:
                    before = at
                    for axis in range(len(at)):
                        at = self.along(at, axis)
            except _TimeUp:
                complete, interrupted = False, False
            except KeyboardInterrupt:
                if not self.fitted:
                    raise
                complete, interrupted = False, True
            else:
                complete, interrupted = True, False
        self.check()
        return complete, interrupted

    def along(self, at: tuple[int, ...], axis: int) -> tuple[int, ...]:
        """Give the best place along a setting: up while the loss falls, and down while it does.

        A larger model has to lower it by a thousandth. From what is infinite it goes on to what is not.
        """
        length, size = len([*self.values.values()][axis]), [*self.values][axis] == self.task.size
        ends = []
        for places in (range(at[axis] + 1, length), range(at[axis] - 1, -1, -1)):
            best = at
            for place in places:
                reached = (*at[:axis], place, *at[axis + 1 :])
                least = self.loss(best) * (1 - GAIN if size and place > at[axis] else 1)
                if self.loss(reached) < least:
                    best = reached
                elif math.isfinite(least):
                    break
            ends.append(best)
        return min(ends, key=self.loss)

    def loss(self, at: tuple[int, ...]) -> float:
        """Give the mean loss of the settings at a place."""
        if at not in self.losses:
            if self.made and time.perf_counter() >= self.ends:
                raise _TimeUp
            self.try_(at)
        return float(self.losses[at].mean())

    def try_(self, at: tuple[int, ...]) -> None:
        """Fit with the settings at a place, and measure; what the model refuses loses all."""
        began = time.perf_counter()
        settings = {name: row[place] for (name, row), place in zip(self.values.items(), at, strict=True)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last fit warns
            try:
                fitted = self.task.fit(clone(self.model).set_params(**settings))
                losses = np.nan_to_num(self.task.losses(fitted), nan=np.inf, posinf=np.inf)
            except InputError as error:
                self.refused[at], fitted, losses = error, None, np.array([np.inf])
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
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
        """Fit what is chosen to everything, unless Ctrl-C came or it was; what that refuses is not chosen either."""
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
        """Note that a trial which went well for a part is refused for everything."""
        at = [*self.losses][number]
        self.refused[at], self.losses[at] = error, np.array([np.inf])
        self.made[number].loss, self.made[number].figure = math.inf, self.task.figure(math.inf)
        self.fitted.pop(at, None)
        self.check()

    def check(self) -> None:
        """Refuse what was refused wherever it was tried."""
        if len(self.refused) == len(self.losses):
            raise next(iter(self.refused.values()))

    def alike(self) -> list[tuple[int, ...]]:
        """Give the best place, and those within one standard error of it, and of those before; the best first."""
        best, *others = sorted(self.losses, key=lambda at: (float(self.losses[at].mean()), at in self.refused))
        return [best, *(at for at in others if at in self.fitted and self.close(at, best))]

    def close(self, at: tuple[int, ...], best: tuple[int, ...]) -> bool:
        """Say whether the loss of a place is within one standard error of that of a better one."""
        if not np.isfinite(self.losses[at].mean()):
            return False
        excess = self.losses[at] - self.losses[best]
        return bool(excess.mean() <= excess.std() / math.sqrt(len(excess)))

    def choice(self, *, complete: bool) -> tuple[Selection, Any]:
        """Take the smallest model that cannot be told from the best, and of those the one of least loss."""
        names = [*self.values]
        alike = self.alike()
        if self.task.size in names:
            axis = names.index(self.task.size)
            alike.sort(key=lambda at: at[axis])  # which leaves equals as they are
        best = [*self.losses].index(alike[0])
        settings, task = self.made[best].settings, self.task
        facts = task.measure, task.units, len(self.losses[alike[0]])
        return Selection(settings, self.made, best, *facts, complete, self.seconds), self.fitted.get(alike[0])


def held_out_share(number: int) -> float:
    """Give the share of so many units that is held out.

    Examples
    --------
    >>> held_out_share(5000), held_out_share(2_000_000)
    (0.1, 0.05)
    """
    return min(HELD_OUT, ENOUGH / number)


def _joined(row: Sequence[Any], value: Any) -> list[Any]:
    """Put the value that a model has among those of a setting, where it belongs."""
    if value in row:
        return [*row]
    falling = len(row) > 1 and row[0] > row[-1]
    return sorted([*row, value], reverse=falling)


def _short(value: Any) -> str:
    if value == math.inf:
        return "infinite"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

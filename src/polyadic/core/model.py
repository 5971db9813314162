"""Base class for all models: declaration and validation of settings, records of iterative fits, and saving.

A model declares its settings as annotated fields, with types, bounds and defaults:

>>> import numpy as np
>>> class Spectrum(Model):
...     rank: Count = 2
...     power: Share = 0.5
...
...     def fit(self, X):
...         self.check()
...         U, s, _ = np.linalg.svd(X)
...         self.vectors_ = U[:, : self.rank] * s[: self.rank] ** self.power
...         return self
>>> Spectrum(3).fit(np.eye(4))
Spectrum(rank=3)
>>> Spectrum(power=2).fit(np.eye(4))
Traceback (most recent call last):
polyadic.core.errors.InputError: power must be a finite number from 0 to 1; got 2

``fit`` begins with :meth:`Model.check` and stores what it learns in attributes that end in ``_``. :meth:`Model.save`
writes these and the settings; :func:`~polyadic.core.serialization.load` restores the model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, dataclass_transform

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from polyadic.core import resources
from polyadic.core.annotations import Factors
from polyadic.core.docstrings import inherited
from polyadic.core.errors import InputError
from polyadic.core.settings import Amount, Count, Natural, Positive, Seed, Share, Threads, Within, check_settings
from polyadic.core.solvers.run import Callback, Result, Sweep, run

__all__ = [
    "Amount",
    "Callback",
    "Count",
    "Model",
    "Natural",
    "Positive",
    "Seed",
    "Share",
    "Threads",
    "Transformer",
    "Within",
    "learned",
]


def learned(*, init: Literal[False] = False) -> Any:
    """Declare a fitted attribute that no method of the class assigns, as opposed to a setting, in a class body."""
    return field(init=init)


@dataclass_transform(eq_default=False, field_specifiers=(field, learned))
class Model(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Base class for all models. A subclass becomes a dataclass whose fields are its settings.

    A subclass describes a setting only where it says more than its base classes do; ``help`` shows all of them.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative change of the objective at which the fit stops. See :func:`~polyadic.core.solvers.run.run`.
    seed : int, optional
        Seed of the random generator. None uses a different seed each time.
    burn_in : int
        Number of initial sweeps that are discarded.
    draws : int
        Number of posterior samples drawn after burn-in.
    n_samples : int
        Maximum number of posterior samples stored for predictions, evenly spaced.
    threads : int, optional
        Number of threads (default: all cores). The result does not depend on it.
    callback : callable, optional
        Function called with the :class:`~polyadic.core.solvers.run.Result` so far after each iteration.

    Attributes
    ----------
    result_ : Result
        Record of an iterative fit: objective and time of each iteration, and why it ended.
    history_ : list of float
        Objective at the start and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the objective converged.
    interrupted_ : bool
        Whether Ctrl-C stopped the fit.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Convert the subclass to a dataclass, and complete its docstring with inherited parameters."""
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)
        cls.__doc__ = inherited(cls, [each.name for each in fields(cls) if each.init])

    _tags: ClassVar[Mapping[str, Any]] = {}
    """Tags of scikit-learn by name, such as ``"input_tags.sparse"``."""

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn, updated with the tags of the class."""
        tags = super().__sklearn_tags__()
        for name, value in self._tags.items():
            part, _, tag = name.partition(".")
            setattr(getattr(tags, part), tag, value)
        return tags

    def check(self) -> None:
        """Raise InputError if a setting is out of range; it names the setting, the allowed values and the value."""
        check_settings(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the fitted model to a folder that :func:`polyadic.load` can load, completely or not at all.

        InputError is raised if the folder exists and is no model to ``overwrite``, the model is not fitted, or an
        attribute cannot be saved.
        """
        from polyadic.core.serialization import save

        if not self._state():
            raise InputError(f"this {type(self).__name__} is not fitted; call fit before save")
        self.check()  # invalid settings could not be loaded
        save(self, path, overwrite=overwrite)

    def _state(self) -> dict[str, Any]:
        """Return the fitted attributes, whose names end in ``_``."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore the fitted attributes, and what is made of them."""
        self.__dict__.update(state)
        self._make_ready()

    def _make_ready(self) -> None:
        """Prepare what is made of fitted attributes and not saved with them."""

    @property
    def _threads(self) -> int:
        """Number of threads to use."""
        threads: int | None = self.threads
        return resources.cores() if threads is None else int(threads)

    @property
    def _within(self) -> Callable[[float], None] | None:
        """Callback that reports progress within an iteration, or None."""
        return getattr(self.callback, "within", None)

    def _optimize(self, solver: Iterator[Sweep], *, measure: Callable[[Factors], float] | None = None) -> Factors:
        """Run an iterative solver with the settings of the model, store its record, and return the factors.

        Warnings point to the line that calls ``fit``, if ``fit`` calls this method.
        """
        result = run(
            solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback, measure=measure, stacklevel=4
        )
        return self._keep(result)

    def _keep(self, result: Result) -> Factors:
        """Store the record of an iterative fit in fitted attributes, and return the factors."""
        factors, result.factors = result.factors, []
        self.result_, self.history_, self.n_iter_ = result, result.history, result.n_iter
        self.converged_, self.interrupted_ = result.converged, result.interrupted
        return factors


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """Base class for models that transform rows; output columns are named after the class, as in scikit-learn.

    A subclass defines the number of columns by ``_n_features_out``.
    """

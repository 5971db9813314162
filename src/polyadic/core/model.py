r"""What every model is: settings said once, one check of them, the traces of a run, and a folder.

A model writes its settings as fields, with types and bounds, and nothing else about them:

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

``fit`` begins with :meth:`Model.check` and leaves what it has learned in attributes that end in ``_``. Those, and the
settings, are what :meth:`Model.save` writes and :func:`~polyadic.core.serialization.load` gives back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, dataclass_transform

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from polyadic.core import resources
from polyadic.core.errors import InputError
from polyadic.core.settings import Amount, Count, Natural, Positive, Seed, Share, Threads, Within, check_settings
from polyadic.core.solvers.run import Result

if TYPE_CHECKING:
    import os

    from polyadic.core.forms import Factors

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

Callback = Callable[[Result], None] | None
"""Called with the result so far after each sweep. It belongs to a run, and is not saved.

What has a method ``within`` is told there which share of a sweep is done, by models whose sweeps may take long."""


def learned(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that a fit leaves: it is no setting. Needed only where no method of the class assigns it."""
    return field(init=init)


@dataclass_transform(eq_default=False, field_specifiers=(field, learned))
class Model(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Base of all models; a subclass is made a dataclass, whose fields are its settings.

    Attributes
    ----------
    result_ : Result
        Of models that iterate: objective and seconds of each sweep, and why it ended; its factors are the model's.
    history_, n_iter_, converged_, interrupted_
        The objective at the start and after each sweep; sweeps; whether it settled; whether Ctrl-C stopped it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the subclass a dataclass that is compared and shown as scikit-learn's estimators are."""
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)

    def check(self) -> None:
        """Refuse settings out of range, each by what its annotation says; subclasses add what concerns several.

        Raises
        ------
        InputError
        """
        check_settings(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model into a folder, whole or not at all; :func:`polyadic.load` reads it.

        Parameters
        ----------
        path : path
            The folder to make.
        overwrite : bool
            Whether a model that is there is replaced.

        Raises
        ------
        InputError
            If something else is there, nothing is learned yet, or the model holds what no folder can.
        """
        from polyadic.core.serialization import save

        if not self._state():
            raise InputError(f"this {type(self).__name__} has learned nothing yet; call fit before save")
        self.check()  # what could not be loaded is not written
        save(self, path, overwrite=overwrite)

    def _state(self) -> dict[str, Any]:
        """Give what a fit has left: all attributes that end in ``_``."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _restore(self, state: dict[str, Any]) -> None:
        """Take what :meth:`_state` gave; a subclass makes here what it keeps for speed."""
        self.__dict__.update(state)

    @property
    def _threads(self) -> int:
        """The number of threads to work with."""
        threads: int | None = self.threads
        return resources.cores() if threads is None else int(threads)

    @property
    def _within(self) -> Callable[[float], None] | None:
        """Whom to tell how much of a sweep is done."""
        return getattr(self.callback, "within", None)

    def _keep(self, result: Result) -> Factors:
        """Keep what is to be known of a run, and give its factors."""
        factors, result.factors = result.factors, []
        self.result_, self.history_, self.n_iter_ = result, result.history, result.n_iter
        self.converged_, self.interrupted_ = result.converged, result.interrupted
        return factors


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """A model that gives rows other columns, named by its class; ``set_output`` makes data frames of them.

    A subclass says how many columns there are, by ``_n_features_out``.
    """

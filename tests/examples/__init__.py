"""A small problem for each model of the library, on which the contract of models is tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.core.model import Model


@dataclass(frozen=True)
class Example:
    """A model, how it is fitted in a fraction of a second, and all that it can be asked.

    Attributes
    ----------
    make : callable
        Makes the unfitted model; takes no arguments.
    fit : callable
        Fits a model to the same small problem each time; gives nothing.
    ask : callable
        Gives all that a user can ask of the fitted model, in arrays, lists, texts and numbers.
    rows : bool
        Whether rows of a matrix go in, so that scikit-learn's own checks apply.
    exempt : dict
        Checks of scikit-learn that do not apply, with the reason.
    variant : str
        What sets it apart from another example of the same class.
    """

    make: Callable[[], Model]
    fit: Callable[[Any], Any]
    ask: Callable[[Any], Any]
    rows: bool = False
    exempt: dict[str, str] = field(default_factory=dict)
    variant: str = ""

    @property
    def name(self) -> str:
        """The class, and the variant."""
        return " ".join([type(self.make()).__name__, *self.variant.split()])

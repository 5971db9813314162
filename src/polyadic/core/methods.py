"""Registry of methods: the estimator and the settings of each named method."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polyadic.core.errors import InputError


@dataclass(frozen=True)
class Method:
    """Estimator class, with settings that make it this method, and names of settings by those shared by methods."""

    estimator: type[Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> frozenset[str]:
        """Names of the settings that the user can set for this method."""
        own = {each.name for each in dataclasses.fields(self.estimator) if each.init} - {*self.fixed, "callback"}
        return frozenset(own - {*self.renamed.values()} | {*self.renamed})

    def make(self, settings: Mapping[str, Any]) -> Any:
        """Create the estimator with the given settings."""
        return self.estimator(**self.fixed, **{self.renamed.get(name, name): value for name, value in settings.items()})


def refuse_unused(methods: Mapping[str, Method], method: str, given: Mapping[str, Any], *, by: str = "method") -> None:
    """Raise InputError if a given setting is not used by the selected method.

    ``by`` is the name of the setting that selects the method.

    >>> from polyadic import LDA, AnchorTopics
    >>> refuse_unused({"anchors": Method(AnchorTopics), "lda": Method(LDA)}, "lda", {"min_documents": 5})
    Traceback (most recent call last):
    polyadic.core.errors.InputError: min_documents is not used by method lda, only by anchors; leave it out
    """
    for name in given:
        if name not in methods[method].settings:
            users = ", ".join(other for other, each in methods.items() if name in each.settings)
            raise InputError(f"{name} is not used by {by} {method}, only by {users}; leave it out", name, by)

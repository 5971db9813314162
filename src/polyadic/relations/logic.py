"""Universal schema factorization with injected logic rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError
from polyadic.core.model import Natural
from polyadic.relations.formulas import Rule
from polyadic.relations.grounding import DerivedNegatives, Groundings, Probability, chain, check_rules
from polyadic.relations.schema import Schema
from polyadic.relations.universal import SchemaModel, UniversalSchema, columns_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.relations.questions import Source

Regime = Literal["mf", "inference", "post", "pre", "joint"]


class InjectedLogic(SchemaModel):
    r"""Universal schema trained jointly on facts and logic rules.

    .. math:: \min\ \ell(\text{observed cells and sampled negatives}) - \sum_{F} w_F \sum_{g} \log [F_g]

    where :math:`[F_g]` is the probability of the formula :math:`F` in its grounding :math:`g`, with variables bound to
    entities (:mod:`~polyadic.relations.grounding`). This is the regime ``"joint"``; the other regimes are baselines.
    Relations without any fact are learned from rules alone.

    Parameters
    ----------
    rules : sequence of Rule
        Rules to learn from; see :func:`~polyadic.relations.rules.read_rules`.
    regime : {"joint", "pre", "post", "inference", "mf"}
        Use of rules. ``"joint"``: rules and facts are learned together. ``"pre"``: derived facts are added before the
        factorization. ``"post"``: facts are derived from the predictions of a factorization. ``"inference"``: derived
        facts only. ``"mf"``: a factorization without rules. Facts are derived by
        :func:`~polyadic.relations.grounding.chain`.
    model : UniversalSchema, optional
        Form and settings of the factorization; ``UniversalSchema(features="F")`` by default. Weights of neighbours
        exist only for predicates that co-occur, so relations without facts have none.
    drawn : int
        Number of random groundings per epoch for each grounding with an observed cell.
    closed : bool
        Whether derived facts, like observed ones, have sampled negatives (``False`` as published). Without them, rules
        alone are satisfied by a relation that holds of all pairs.
    threshold : float
        Minimum probability of predictions that rules apply to; regime ``"post"``.

    Attributes
    ----------
    schema_ : Schema
        Training data, with reversed pairs if rules swap variables, and with a row for each entity if rules have
        predicates of one entity; rows keep their numbers.
    model_ : UniversalSchema
        The factorization; absent in regime ``"inference"``.
    derived_ : csr_array of shape (pairs, predicates)
        Derived facts with probabilities; regimes ``"inference"`` and ``"post"``.
    counts_ : list of int
        Number of groundings with an observed cell, for each rule; regime ``"joint"``.

    References
    ----------
    Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction,
    section 3.

    Examples
    --------
    >>> from polyadic.relations.rules import parse_rule
    >>> from polyadic.relations.schema import schema_of
    >>> facts = [(f"person {i}", f"firm {i}", ", head of") for i in range(8)]
    >>> facts += [(f"town {i}", f"land {i}", ", a town in") for i in range(8)]
    >>> schema = schema_of(facts, predicates=[", head of", ", a town in", "works for"])
    >>> model = InjectedLogic([parse_rule('", head of"(x, y) => "works for"(x, y)')], model=UniversalSchema(4, seed=0))
    >>> head, town = model.fit(schema).predict([("person 3", "firm 3"), ("town 3", "land 3")], ["works for"] * 2)
    >>> bool(head > 0.6 > town)
    True
    """

    rules: Sequence[Rule]
    _: KW_ONLY
    regime: Regime = "joint"
    model: UniversalSchema | None = None
    drawn: Natural = 1
    closed: bool = True
    threshold: Probability = 0.5

    def check(self) -> None:
        """Raise InputError if a setting is out of range, or if the regime requires rules and none are given."""
        super().check()
        if self.model is not None:
            self.model.check()
        if not len(self.rules) and self.regime != "mf":
            raise InputError(f"regime={self.regime!r} requires rules", "regime")

    def fit(self, schema: Schema, y: Any = None) -> Self:
        """Fit the model to a universal schema, as :meth:`UniversalSchema.fit`.

        InputError is raised if there are no rules, one has an unknown predicate or another number of entities than the
        facts, or its groundings exceed the memory; or as in :class:`UniversalSchema`.
        """
        self.check()
        rules = list(self.rules)
        check_rules(rules, schema)
        for name in ("model_", "derived_", "counts_"):  # left by a previous fit in another regime
            self.__dict__.pop(name, None)
        sides = ((a.arguments, b.arguments) for rule in rules for a in rule.atoms for b in rule.atoms)
        self.schema_ = schema.with_reversed() if any(a[::-1] == b != a for a, b in sides) else schema
        if any(len(atom.arguments) == 1 for rule in rules for atom in rule.atoms):
            self.schema_ = self.schema_.with_entities()
        model = clone(UniversalSchema(features="F") if self.model is None else self.model)
        if self.regime == "inference":
            self.derived_ = chain(self.schema_, rules)
        elif self.regime == "joint":
            groundings = Groundings(self.schema_, rules, drawn=self.drawn)
            self.counts_ = groundings.counts
            beside: list[Source] = [groundings]
            if self.closed:
                how: dict[str, Any] = {"n_negatives": model.n_negatives, "weight": model.negative_weight}
                derived = chain(self.schema_, rules)
                beside.append(DerivedNegatives(self.schema_.cells, derived, single=self.schema_.single, **how))
            self.model_ = model.fit(self.schema_, beside=beside)
        else:
            facts = self.schema_
            if self.regime == "pre":
                derived = chain(self.schema_, rules)
                derived.sort_indices()
                facts = Schema(facts.pairs, facts.predicates, derived)
            self.model_ = model.fit(facts)
            if self.regime == "post":
                self.derived_ = chain(self.schema_, rules, facts=self._predicted(rules), threshold=self.threshold)
        return self

    def _predict(self, cells: NDArray[np.int64]) -> NDArray[Any]:
        likely = expit(self.model_.log_odds(cells)) if hasattr(self, "model_") else np.zeros(len(cells))
        return np.maximum(likely, self.derived_[*cells.T]) if hasattr(self, "derived_") else likely

    def column_probabilities(self, columns: ArrayLike) -> NDArray[Any]:
        """Return the probabilities of the predicates with the given columns for all entity pairs, as a matrix.

        Arguments and errors are those of :meth:`UniversalSchema.column_log_odds`.
        """
        check_is_fitted(self, "schema_")
        at = columns_at(columns, self.schema_)
        likely = np.zeros((len(self.schema_.pairs), len(at)))
        if hasattr(self, "model_"):
            likely = expit(self.model_.column_log_odds(at))
        return np.maximum(likely, self.derived_[:, at].toarray()) if hasattr(self, "derived_") else likely

    def _predicted(self, rules: Sequence[Rule]) -> csr_array:
        """Return the predicted probabilities above the threshold, for all predicates that occur in rules."""
        columns = np.unique([self.schema_.column(atom.predicate) for rule in rules for atom in rule.atoms])
        likely = expit(self.model_.column_log_odds(columns))
        rows, at = np.nonzero(likely >= self.threshold)
        return csr_array((likely[rows, at], (rows, columns[at])), shape=self.schema_.cells.shape)

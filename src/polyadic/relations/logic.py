"""Logic injected into factorization: rules, and a matrix of pairs of entities x predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError
from polyadic.core.model import Model, Natural
from polyadic.relations.formulas import Rule, check_predicates
from polyadic.relations.forward_chaining import Probability, chain
from polyadic.relations.grounding import DerivedNegatives, Groundings
from polyadic.relations.schema import Schema
from polyadic.relations.universal import UniversalSchema, columns_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from polyadic.relations.questions import Source

Regime = Literal["mf", "inference", "post", "pre", "joint"]


class InjectedLogic(Model):
    r"""A universal schema that also learns from rules.

    .. math:: \min\ \ell(\text{listed cells, and others drawn}) - \sum_{F} w_F \sum_{g} \log [F_g]

    where :math:`[F_g]` is the probability of the formula :math:`F` with its variables bound to entities
    (:mod:`~polyadic.relations.grounding`), in each of its groundings :math:`g`
    (:mod:`~polyadic.relations.grounding`). That is the regime ``"joint"``; the others are what it is measured
    against. A relation of which no fact is known is learned from rules alone.

    Parameters
    ----------
    rules : sequence of Rule
        See :func:`~polyadic.relations.rules.read_rules`.
    regime : {"joint", "pre", "post", "inference", "mf"}
        ``"pre"``: what follows from the facts is added to them, then cells are factorized. ``"post"``: cells are
        factorized, then what follows from predictions is added to those. ``"inference"``: what follows from the facts,
        without a factorization. ``"mf"``: a factorization without rules. What follows is told by
        :func:`~polyadic.relations.forward_chaining.chain`.
    model : UniversalSchema, optional
        Form and settings of the factorization; by default ``UniversalSchema(features="F")``. Weights of neighbours are
        there for predicates that were seen together, so a relation without facts has none.
    drawn : int
        Pairs drawn in each epoch for each grounding that cells give.
    closed : bool
        Whether each fact that follows, like one that is listed, brings false cells of its predicate with it; ``False``
        as published. Rules alone would have a relation true of everything.
    threshold : float
        How likely a prediction must be for rules to apply to it after a factorization.

    Attributes
    ----------
    schema_ : Schema
        What it was fitted to, with the reversed pairs if rules swap variables; rows keep their numbers.
    model_ : UniversalSchema
        The factorization; absent after inference alone.
    derived_ : csr_array of shape (pairs, predicates)
        What follows, with probabilities; of ``"inference"`` and ``"post"``.
    counts_ : list of int
        Groundings of each rule that cells gave; of ``"joint"``.

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
        """Refuse settings out of range, those of the factorization too, and a regime that lacks rules."""
        super().check()
        if self.model is not None:
            self.model.check()
        if not len(self.rules) and self.regime != "mf":
            raise InputError(f"the regime {self.regime!r} needs rules")

    def fit(self, schema: Schema, y: Any = None) -> Self:
        """Fit to a schema.

        Raises
        ------
        InputError
            If there is no rule, or one names a predicate that is not there; or as :class:`UniversalSchema` does.
        """
        self.check()
        del y
        rules = list(self.rules)
        check_predicates(rules, schema.predicates)
        for name in ("model_", "derived_", "counts_"):  # of a fit before, in another regime
            self.__dict__.pop(name, None)
        self.schema_ = schema.with_reversed() if any(_swaps(rule) for rule in rules) else schema
        model = clone(UniversalSchema(features="F") if self.model is None else self.model)
        if self.regime == "inference":
            self.derived_ = chain(self.schema_, rules)
        elif self.regime == "joint":
            groundings = Groundings(self.schema_, rules, drawn=self.drawn)
            self.counts_ = groundings.counts
            beside: list[Source] = [groundings]
            if self.closed:
                derived, weight = chain(self.schema_, rules), model.negative_weight
                beside.append(
                    DerivedNegatives(self.schema_.cells, derived, n_negatives=model.n_negatives, weight=weight)
                )
            self.model_ = model.fit(self.schema_, beside=beside)
        else:
            facts = self._with_facts(chain(self.schema_, rules)) if self.regime == "pre" else self.schema_
            self.model_ = model.fit(facts)
            if self.regime == "post":
                self.derived_ = chain(self.schema_, rules, facts=self._predicted(rules), threshold=self.threshold)
        return self

    def predict(self, pairs: Sequence[tuple[str, str]], predicates: Sequence[str]) -> NDArray[Any]:
        """Give the probabilities that predicates hold of pairs, one predicate for each pair; refuse what is unknown."""
        check_is_fitted(self, "schema_")
        if len(pairs) != len(predicates):
            raise InputError(f"give one predicate for each pair; got {len(predicates)} for {len(pairs)}")
        rows = [self.schema_.row(*pair) for pair in pairs]
        columns = [self.schema_.column(name) for name in predicates]
        likely = np.zeros(len(rows))
        if hasattr(self, "model_"):
            likely = expit(self.model_.log_odds(np.array([rows, columns], np.int64).T))
        return np.maximum(likely, self.derived_[rows, columns]) if hasattr(self, "derived_") else likely

    def column_probabilities(self, columns: ArrayLike) -> NDArray[Any]:
        """Give the probabilities that some predicates, by column, hold of all pairs, shape (pairs, columns)."""
        check_is_fitted(self, "schema_")
        at = columns_at(columns, self.schema_)
        likely = np.zeros((len(self.schema_.pairs), len(at)))
        if hasattr(self, "model_"):
            likely = expit(self.model_.column_log_odds(at))
        return np.maximum(likely, self.derived_[:, at].toarray()) if hasattr(self, "derived_") else likely

    def _with_facts(self, facts: csr_array) -> Schema:
        """Give the schema with other facts."""
        facts.sort_indices()
        return Schema(self.schema_.pairs, self.schema_.predicates, facts)

    def _predicted(self, rules: Sequence[Rule]) -> csr_array:
        """Give the predictions that are likely enough, of predicates that rules name."""
        from scipy.sparse import csr_array

        columns = np.unique([self.schema_.column(atom.predicate) for rule in rules for atom in rule.atoms])
        likely = expit(self.model_.column_log_odds(columns))
        rows, at = np.nonzero(likely >= self.threshold)
        return csr_array((likely[rows, at], (rows, columns[at])), shape=self.schema_.cells.shape)


def _swaps(rule: Rule) -> bool:
    """Say whether a rule says something of a pair and of its reverse."""
    return any(a.arguments[::-1] == b.arguments != a.arguments for a in rule.atoms for b in rule.atoms)

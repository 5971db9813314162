"""Universal schemas: what texts and tables say of pairs of entities, in one matrix, completed."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.models.base import Amount, Count, Model, Seed, Watch
from polyadic.models.relations.log_odds import PairForm
from polyadic.models.relations.schema_model import SchemaModel
from polyadic.models.relations.unseen import Asked
from polyadic.solvers.adaptive import Adagrad
from polyadic.solvers.relations.questions import Listed, Ridges, descend_questions
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.solvers.relations.questions import Source
    from polyadic.text.relations.schema import Schema

Features = Literal["F", "N", "E", "NF", "NE", "FE", "NFE"]
Biases = Literal["none", "columns", "rows", "both"]
LossName = Literal["logistic", "bpr"]


SCALE = 0.1
"""Standard deviation of the elements of vectors at the start, the published one."""
STEPS, BATCHES = 128, (16, 1024)
"""Steps of an epoch by default, and listed cells of one, at least and at most."""


class UniversalSchema(SchemaModel, Model):
    r"""Log-odds that predicates hold of pairs of entities, learned from what is known to hold.

    .. math:: m_{rc} = u_r \cdot v_c + \sum_{c' \in r,\ c' \ne c} w_{cc'} + t_s \cdot d^1_c + t_o \cdot d^2_c + b_c

    Rows :math:`r = (s, o)` are ordered pairs of entities, columns :math:`c` predicates: relations of a knowledge base
    and patterns of text alike. Cells that are listed are true; others of the same column, drawn anew in each epoch, are
    held to be false or at least less likely (:class:`~polyadic.solvers.relations.questions.Listed`).

    Parameters
    ----------
    rank : int
        Length of vectors.
    features : {"F", "N", "E", "NF", "NE", "FE", "NFE"}
        Terms of the log-odds: factors, neighbours (what else is known of the pair), entities.
    loss : {"logistic", "bpr"}
    biases : {"none", "columns", "rows", "both"}
        :math:`b_c` of columns, :math:`a_r` of rows.
    negatives : int
        Cells drawn for each listed one.
    negative_weight : float
        Of each, in the logistic loss.
    ridge, weight_ridge : float
        :math:`\lambda` of the penalty :math:`\lambda \|x\|^2` of each vector, and of each weight and bias, wherever it
        takes part. The first is the published one; the second told held-out paths better than 0.01.
    step : float
        Of Adagrad: how far an element moves in its first step.
    batch : int, optional
        Listed cells of a step; by default a 128th of all, from 16 to 1,024.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`; a sweep is an epoch.
    seed : int, optional
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    schema_ : Schema
        What it was fitted to.
    terms_ : Terms
        U, V, W, T, D1, D2, a and b; T has a row of zeros for entities that were never seen.
    history_, n_iter_, converged_, interrupted_
        As those of :class:`~polyadic.models.words.symmetric.SymmetricCP`.

    References
    ----------
    Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, sections
    2 and 3. Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation
    extraction, for the settings.

    Examples
    --------
    >>> from polyadic.text.relations.schema import schema_of
    >>> staff = [(f"person {i}", f"firm {i}", what) for i in range(8) for what in ("works for", ", head of")]
    >>> towns = [(f"town {i}", f"land {i}", what) for i in range(8) for what in ("lies in", ", a town in")]
    >>> model = UniversalSchema(4, seed=0).fit(schema_of((staff + towns)[1:]))
    >>> [(told.subject, told.object) for told in model.likeliest("works for", n=1)]
    [('person 0', 'firm 0')]
    """

    rank: Count = 100
    _: KW_ONLY
    features: Features = "NF"
    loss: LossName = "logistic"
    biases: Biases = "columns"
    negatives: int = 1
    negative_weight: float = 1.0
    ridge: float = 0.01
    weight_ridge: float = 0.001
    step: float = 0.1
    batch: int | None = None
    max_iter: Count = 100
    tol: Amount = 0.0
    seed: Seed = None
    watch: Watch = None

    def fit(self, schema: Schema, y: Any = None, *, beside: Sequence[Source] = ()) -> Self:
        """Fit to a schema.

        Parameters
        ----------
        schema : Schema
        beside : sequence of Source
            What else is asked about its cells in each epoch, such as groundings of rules.

        Raises
        ------
        InputError
            If nothing is listed, no cell can be drawn beside what is, or a parameter is out of range.
        """
        del y
        ridges = self._check()
        if not (counts := np.bincount(schema.indices[:, 1])).size or counts.max() < 1:
            raise InputError("no predicate is known to hold of any pair")
        if not (counts[counts > 0] < len(schema.pairs)).any():
            raise InputError("every predicate holds of every pair; there is none to tell apart")
        rng, form = np.random.default_rng(self.seed), self._form(schema)
        start = [
            (SCALE * rng.standard_normal((form.vectors[-1], self.rank))).astype(np.float32),
            np.zeros((form.weights[-1], 1), np.float32),
        ]
        listed = Listed(
            schema.indices,
            schema.cells.shape,
            loss=self.loss,
            negatives=self.negatives,
            weight=self.negative_weight,
        )
        batch = int(np.clip(len(schema.indices) // STEPS, *BATCHES)) if self.batch is None else self.batch
        steps = max(1, round(len(schema.indices) / batch))
        solver = descend_questions(
            form, start, [listed, *beside], steps=steps, rng=rng, rule=Adagrad(self.step), ridges=ridges
        )
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        self.terms_ = form.terms(*self._keep(result))
        self.schema_ = schema
        return self

    def _form(self, schema: Schema) -> PairForm:
        rows, columns = self.biases in {"rows", "both"}, self.biases in {"columns", "both"}
        return PairForm(schema, self.features, rows=rows, columns=columns)

    def _check(self) -> Ridges:
        """Refuse parameters that are out of range."""
        for name in ("rank", "negatives", *(["batch"] if self.batch is not None else [])):
            check_int(name, getattr(self, name), low=1)
        check_choice("features", self.features, get_args(Features))
        check_choice("loss", self.loss, get_args(LossName))
        check_choice("biases", self.biases, get_args(Biases))
        check_number("negative_weight", self.negative_weight, above=True)
        return Ridges(check_number("ridge", self.ridge), check_number("weight_ridge", self.weight_ridge))

    def _asked(self) -> tuple[Asked, bool]:
        asked = Asked(self.loss, self.negatives, self.negative_weight, self.ridge, self.weight_ridge)
        return asked, self.biases in {"rows", "both"}

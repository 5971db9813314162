"""Factorization machines drawn again and again: what regression and classification share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import check_int, check_number
from polyadic.kernels.predictors.machines import anova_scores
from polyadic.models.predictors.machine_base import MachineBase, checked_groups
from polyadic.solvers.databases.draws import Average, Chain
from polyadic.solvers.predictors.machine_draws import PRIORS, draw_machines, first_draw
from polyadic.solvers.predictors.machines import started

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from polyadic.solvers.databases.gibbs import Draw
    from polyadic.solvers.predictors.machines import Observed


class DrawnMachine(MachineBase):
    """Base of machines that are drawn; results are ``draws_``, which predictions are means over."""

    burn_in: int
    draws: int
    kept: int
    scale: float
    seed: int | None

    def _draw(self, data: Observed, groups: ArrayLike | None, *, probit: bool) -> None:
        for name, low in (("burn_in", 0), ("draws", 1), ("kept", 1)):
            check_int(name, getattr(self, name), low=low)
        rng, orders, threads = np.random.default_rng(self.seed), self._orders, self._threads
        which = checked_groups(groups, data.table.shape[1])
        V = started(data.table, orders, check_number("scale", self.scale), rng)

        def begin(draw: Draw) -> Any:
            how = {"orders": orders, "groups": which, "priors": PRIORS, "rng": rng, "threads": threads}
            return draw_machines(data, draw, probit=probit, **how)  # type: ignore[arg-type]

        chain = Chain.over(begin, first_draw(V, int(which.max(initial=0)) + 1), rng, kept=self.kept)
        noise = Average()
        chain.run(self.draws, burn_in=self.burn_in, seen=lambda draw: noise.add(draw.alphas**-0.5))
        self.draws_ = [(float(draw.state[0][0]), draw.state[1]) for draw in chain.draws]
        self.interrupted_, self.n_draws_ = chain.interrupted, chain.made
        self.penalties_ = np.mean([draw.state[3] for draw in chain.draws], axis=0)
        self._noise = float(noise.mean[0])

    def _average(self, X: Any, of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Average:
        """Average a function of the scores of rows over draws."""
        check_is_fitted(self)
        table, orders, threads = self._table(X), self._orders, self._threads
        average = Average()
        for bias, V in self.draws_:
            average.add(of(bias + anova_scores(table, np.asarray(V, float), orders=orders, threads=threads)))
        return average

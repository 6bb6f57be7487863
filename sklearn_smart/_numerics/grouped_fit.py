"""Fits of parameters in groups, each with a Gaussian prior around 0.

Conventions
-----------
The objective is the sum over rows of a log loss plus ``precision / 2 ||group||^2`` for
each group of parameters. At 0 stands the simple model that the prior pulls towards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .solvers import Solution, lbfgs

# A group that the data say nothing of: its prior is a point.
_LARGEST_PRECISION = 1e8
# Rounds of fits and precisions in turn. A fixed number: no rule for stopping could then
# turn over by a rounding error. The last ones hardly change anything.
_N_ROUNDS = 12
_ROUGH = 1e-7
# Where the search for precisions begins: from the strong side the fits are short.
_FIRST_PRECISION = 1000.0


class GroupedProblem(Protocol):
    """A loss of parameters in groups of ``sizes``, over rows of weight ``total``."""

    @property
    def sizes(self) -> tuple[int, ...]: ...

    @property
    def total(self) -> float: ...

    def loss(self, parameters: NDArray) -> tuple[float, NDArray]:
        """Sum of the losses over rows, and its gradient."""

    def information(self, parameters: NDArray) -> NDArray:
        """Diagonal of the Fisher information."""


def fit_with_precision(
    problem: GroupedProblem,
    precision: NDArray,
    max_iter: int,
    tol: float,
    start: NDArray | None = None,
) -> Solution:
    """The parameters of least penalised loss, for a precision of each group."""
    if start is None:
        start = np.zeros(sum(problem.sizes))
    spread = np.repeat(np.asarray(precision, dtype=np.float64), problem.sizes)
    return _minimise(problem, spread, start, max_iter, tol)


def fit_by_evidence(
    problem: GroupedProblem,
    max_iter: int,
    tol: float,
    start: NDArray | None = None,
    free: Sequence[int] = (),
) -> tuple[Solution, NDArray]:
    """The parameters, and the precision of each group of largest evidence.

    By MacKay's updates, ``precision = gamma / ||group||^2`` with the effective number
    of parameters ``gamma = sum h / (h + precision)``, in which the Fisher information
    is taken for diagonal, h. A group that does no better than chance ends at a
    precision that leaves nothing of it. No folds, and no choice that a single sample
    could turn over. Groups in ``free`` have no prior.

    D. J. C. MacKay, Bayesian Interpolation, Neural Computation 4, 1992,
    doi:10.1162/neco.1992.4.3.415.
    """
    ends = np.cumsum(problem.sizes)[:-1]
    parameters = np.zeros(sum(problem.sizes)) if start is None else start
    precision = np.full(len(problem.sizes), _FIRST_PRECISION)
    precision[list(free)] = 0.0
    for round_ in range(_N_ROUNDS):
        spread = np.repeat(precision, problem.sizes)
        # On the way a rough fit is as good as an exact one.
        enough = tol if round_ >= _N_ROUNDS - 3 else max(tol, _ROUGH)
        parameters = _minimise(problem, spread, parameters, max_iter, enough).parameters
        h = problem.information(parameters)
        known = h / np.maximum(h + spread, np.finfo(np.float64).tiny)
        gamma = np.array([part.sum() for part in np.split(known, ends)])
        square = np.array([part @ part for part in np.split(parameters, ends)])
        precision = np.full(len(square), _LARGEST_PRECISION)
        np.divide(gamma, square, out=precision, where=square > 0)
        precision = np.clip(precision, 1 / _LARGEST_PRECISION, _LARGEST_PRECISION)
        precision[list(free)] = 0.0
    spread = np.repeat(precision, problem.sizes)
    return _minimise(problem, spread, parameters, max_iter, tol), precision


def _minimise(
    problem: GroupedProblem,
    precision: NDArray,
    start: NDArray,
    max_iter: int,
    tol: float,
) -> Solution:
    """By L-BFGS, in units in which the penalised loss is about round at the start."""
    total = problem.total
    # What neither the data nor a prior hold keeps a unit as well.
    unit = 1 / np.sqrt((problem.information(start) + precision) / total + 1e-9)

    def scaled(v: NDArray) -> tuple[float, NDArray]:
        parameters = unit * v
        value, gradient = problem.loss(parameters)
        pull = precision * parameters
        value += 0.5 * float(parameters @ pull)
        return value / total, unit * (gradient + pull) / total

    found = lbfgs(scaled, start / unit, max_iter=max_iter, tol=tol)
    return Solution(
        unit * found.parameters,
        found.value,
        found.n_iter,
        found.converged,
        found.message,
    )

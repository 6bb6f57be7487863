"""Fits of score models to a field or a loss: what classifiers ask of the floors below.

Conventions
-----------
A residual is ``max |field + penalty|`` per sample: the sum over rows divided by the sum
of the weights. It is the measure of convergence of every solver here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fields import LinkedField, WeightedField
from .score_models import FeatureUnits, LinearScores
from .score_objectives import BatchObjective, FieldObjective, LossObjective
from .solvers import AdamStep, MomentumStep, Root, descend_epoch, find_root, lbfgs
from .uncertainty_weights import CrossEntropyWeight, UncertaintyWeight

# Report = number of the iteration and its residual.
Report = Callable[[int, float], None]

# The start need be no better than this: from there a root is a few steps away.
_START_TOL = 1e-2


@dataclass
class ScoreFit:
    """Parameters, and how they were reached."""

    parameters: NDArray
    residual: float
    n_iter: int
    converged: bool
    residual_curve: list[float] = field(default_factory=list)
    loss_curve: list[float] = field(default_factory=list)


@dataclass
class LinearProblem:
    """Linear scores, labels, weights and penalty: what all its solvers share.

    With ``linked`` the scores are those of the posterior, else of the raw output.
    """

    model: LinearScores
    y: NDArray
    weight: NDArray
    penalty: float
    linked: bool = False

    def objective(self, uncertainty: UncertaintyWeight) -> FieldObjective:
        linked = self.linked and not uncertainty.constant
        term = LinkedField(uncertainty) if linked else WeightedField(uncertainty)
        return FieldObjective(self.model, term, self.y, self.weight, self.penalty)

    def root(
        self,
        uncertainty: UncertaintyWeight,
        start: NDArray,
        tol: float,
        max_iter: int,
        report: Report | None = None,
    ) -> Root:
        total = float(self.weight.sum())

        def scaled(step: int, residual: float) -> None:
            if report is not None:
                report(step, residual / total)

        return find_root(
            self.objective(uncertainty),
            start,
            tol=tol * total,
            max_iter=max_iter,
            callback=scaled,
        )

    def cross_entropy_start(self, max_iter: int) -> NDArray:
        """Where cross-entropy leads, roughly."""
        zero = np.zeros(len(self.model.penalised))
        return self.root(CrossEntropyWeight(), zero, _START_TOL, max_iter).parameters


def solve_field(
    problem: LinearProblem,
    uncertainty: UncertaintyWeight,
    easier: Callable[[float], UncertaintyWeight] | None,
    *,
    tol: float,
    max_iter: int,
    start: NDArray | None = None,
    report: Report | None = None,
) -> ScoreFit:
    """Zero of the penalised field, from the cross-entropy solution.

    Where the direct way fails, by continuation: the solution for a smaller exponent is
    the start for the next, ``easier(share)`` being the weight with that share of its
    exponent (None where there is no exponent).
    """
    curve: list[float] = []

    def run(weight: UncertaintyWeight, x: NDArray, goal: float) -> Root:
        root = problem.root(weight, x, goal, max_iter, report)
        curve.extend(root.residuals if not curve else root.residuals[1:])
        return root

    if start is not None:
        root = run(uncertainty, start, tol)
        if root.converged:
            return _solved(problem, root, curve)
    zero = np.zeros(len(problem.model.penalised))
    if uncertainty.constant:
        return _solved(problem, run(uncertainty, zero, tol), curve)
    begin = run(CrossEntropyWeight(), zero, _START_TOL)
    root = run(uncertainty, begin.parameters, tol)
    if root.converged or easier is None:
        return _solved(problem, root, curve)
    x = begin.parameters
    for share in (0.25, 0.5, 0.75, 0.875):
        x = run(easier(share), x, _START_TOL).parameters
    last = run(uncertainty, x, tol)
    better = last if last.residual <= root.residual else root
    return _solved(problem, better, curve)


def _solved(problem: LinearProblem, root: Root, curve: list[float]) -> ScoreFit:
    total = float(problem.weight.sum())
    return ScoreFit(
        root.parameters,
        root.residual / total,
        len(curve) - 1,
        root.converged,
        [residual / total for residual in curve],
    )


def minimise_loss(
    objective: LossObjective,
    start: NDArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> ScoreFit:
    """Minimum of a loss by L-BFGS, judged by the residual, the largest derivative.

    Linear scores are first measured in units in which the cross-entropy is round at
    the start.
    """
    total = float(objective.weight.sum())
    units = _units(objective, start)
    last: dict[str, Any] = {}
    fit = ScoreFit(start, np.inf, 0, False)

    def scaled(v: NDArray) -> tuple[float, NDArray]:
        x = v if units is None else units.unwhiten(v)
        value, gradient = objective(x)
        last.update(v=v.copy(), gradient=gradient, value=np.float64(value))
        direction = gradient if units is None else units.whiten(gradient)
        return value / total, direction / total

    def residual_at(v: NDArray) -> float:
        if not np.array_equal(last["v"], v):
            scaled(v)
        return float(np.abs(last["gradient"]).max()) / total

    def stop(v: NDArray) -> bool:
        fit.residual_curve.append(residual_at(v))
        fit.loss_curve.append(float(last["value"]) / total)
        if report is not None:
            report(len(fit.residual_curve), fit.residual_curve[-1])
        return fit.residual_curve[-1] <= tol

    v = start if units is None else units.rewhiten(start)
    solution = lbfgs(scaled, v, max_iter=max_iter, tol=1e-16, stop=stop)
    v = solution.parameters
    fit.parameters = v if units is None else units.unwhiten(v)
    fit.residual = residual_at(v)
    fit.n_iter = solution.n_iter
    fit.converged = fit.residual <= tol
    return fit


def _units(objective: LossObjective, start: NDArray) -> FeatureUnits | None:
    if not isinstance(objective.model, LinearScores):
        return None
    round_field = FieldObjective(
        objective.model,
        WeightedField(CrossEntropyWeight()),
        objective.y,
        objective.weight,
        objective.penalty,
    )
    return round_field(start).units


@dataclass
class StochasticDescent:
    """Mini-batch descent of a network, an epoch at a time.

    ``parameters`` are changed in place. ``milestones`` are epochs after which the
    learning rate is multiplied by ``decay``.
    """

    objective: BatchObjective
    parameters: NDArray
    step: AdamStep | MomentumStep
    batch_size: int
    max_norm: float | None = None
    milestones: tuple[int, ...] = ()
    decay: float = 0.1
    n_epochs: int = 0

    def epoch(self, order: NDArray) -> tuple[float, float]:
        """One pass over the rows in this order: mean loss, residual of the mean."""
        loss, mean = descend_epoch(
            self.objective,
            self.parameters,
            order,
            batch_size=self.batch_size,
            step=self.step,
            max_norm=self.max_norm,
        )
        self.n_epochs += 1
        if self.n_epochs in self.milestones:
            self.step.learning_rate *= self.decay
        return loss, float(np.abs(mean).max())

    def residual(self) -> float:
        """The residual at the parameters as they are, over all rows."""
        _, mean = descend_epoch(
            self.objective,
            self.parameters,
            np.arange(len(self.objective.y)),
            batch_size=max(self.batch_size, 1000),
            step=None,
        )
        return float(np.abs(mean).max())

"""A field or a loss of logits composed with a model of the scores and an L2 penalty.

Conventions
-----------
The objective is that of scikit-learn's linear models: the sum over rows plus
``penalty / 2 ||weights||^2``; biases are free. A field has no value: it is brought to
zero by ``find_root``, its value at a parameter vector being a `FieldPoint`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .fields import FieldAt, WeightedField
from .losses import Loss
from .score_models import FeatureUnits, LinearScores, NetworkScores


class FieldPoint:
    """The penalised field at a parameter vector, with what a root-finder may ask."""

    def __init__(
        self, objective: FieldObjective, parameters: NDArray, at: FieldAt
    ) -> None:
        self._objective, self._at = objective, at
        model = objective.model
        self._ridge = np.where(model.penalised, objective.penalty, 0.0)
        self.value = model.pullback(at.value) + self._ridge * parameters

    def derivative(self, direction: NDArray) -> NDArray:
        """Change of the value in a direction of the parameters, first order."""
        model = self._objective.model
        change = model.pullback(self._at.derivative(model.derivative(direction)))
        return change + self._ridge * direction

    @cached_property
    def units(self) -> FeatureUnits:
        """Units of the features in which the derivative is near the identity.

        Those of an earlier point serve while the curvature is of the same size.
        """
        objective = self._objective
        curvature = self._at.curvature()
        size = float(curvature.sum())
        known = objective._units
        if known is None or not 0.5 * known[0] < size < 2 * known[0]:
            units = objective.model.units(curvature, objective.penalty)
            objective._units = known = size, units
        return known[1]

    def whiten(self, value: NDArray) -> NDArray:
        """The value in units in which the derivative is near the identity."""
        return self.units.whiten(value)

    def unwhiten(self, direction: NDArray) -> NDArray:
        """A direction in these units as one of the parameters."""
        return self.units.unwhiten(direction)


@dataclass
class FieldObjective:
    """Linear scores: ``sum_i field_i x_i^T + penalty W``, for a root-finder."""

    model: LinearScores
    field: WeightedField
    y: NDArray
    weight: NDArray
    penalty: float
    _last: FieldAt | None = None
    _units: tuple[float, FeatureUnits] | None = None

    def __call__(self, parameters: NDArray) -> FieldPoint:
        logits = self.model.logits(parameters)
        if self._last is None:
            self._last = self.field(logits, self.y, self.weight)
        else:
            self._last = self._last.at(logits)
        return FieldPoint(self, parameters, self._last)


@dataclass
class LossObjective:
    """Any model: ``loss + penalty / 2 ||W||^2`` with its gradient, for a minimiser."""

    model: LinearScores | NetworkScores
    loss: Loss
    y: NDArray
    weight: NDArray
    penalty: float

    def __call__(self, parameters: NDArray) -> tuple[float, NDArray]:
        logits = self.model.logits(parameters)
        value, by_logits = self.loss(logits, self.y, self.weight)
        shrunk = np.where(self.model.penalised, parameters, 0.0)
        gradient = self.model.pullback(by_logits)
        gradient += self.penalty * shrunk
        return value + 0.5 * self.penalty * float(shrunk @ shrunk), gradient


@dataclass
class BatchObjective:
    """``(parameters, rows) -> mean`` over a batch, for a stochastic solver.

    Per sample, with weights of mean 1, so that a step does not depend on the size of
    the batch; ``penalty`` is the share of one sample. ``term`` is a loss, or a field
    with a number to watch.
    """

    model: NetworkScores
    term: Loss
    y: NDArray
    weight: NDArray
    penalty: float
    fit_intercept: bool = True

    def __call__(self, parameters: NDArray, rows: NDArray) -> tuple[float, NDArray]:
        logits = self.model.logits(parameters, rows)
        value, by_logits = self.term(logits, self.y[rows], self.weight[rows])
        by_logits /= len(rows)
        gradient = self.model.pullback(by_logits)
        weights = [weight for weight, _ in self.model.layers(parameters)]
        for weight, (part, _) in zip(weights, self.model.layers(gradient), strict=True):
            part += self.penalty * weight
        if not self.fit_intercept:
            for _, part in self.model.layers(gradient):
                part[:] = 0
        squares = sum(float(np.vdot(weight, weight)) for weight in weights)
        return value / len(rows) + 0.5 * self.penalty * squares, gradient

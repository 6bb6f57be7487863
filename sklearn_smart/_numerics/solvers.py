"""Minimisers of a value with a gradient, and a root-finder for fields without one.

A minimiser takes any callable ``fun(parameters) -> (value, gradient)``, the root-finder
any ``fun(parameters) -> point`` with the attributes of `Linearised`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.sparse import linalg as sparse_linalg

ValueAndGradient = Callable[[NDArray], tuple[float, NDArray]]

# Krylov directions kept in one linear solve, and the loosest and tightest of them.
_KRYLOV_SIZE, _LOOSEST, _TIGHTEST = 40, 0.5, 3e-2


@dataclass(frozen=True)
class Solution:
    """Where a solver ended, and whether it met its own criterion."""

    parameters: NDArray
    value: float
    n_iter: int
    converged: bool
    message: str


def lbfgs(
    fun: ValueAndGradient,
    start: NDArray,
    *,
    max_iter: int,
    tol: float,
    stop: Callable[[NDArray], bool] | None = None,
    curvature: NDArray | None = None,
) -> Solution:
    """Limited-memory BFGS; stops at a relative decrease below ``tol``.

    A line search that finds no decrease also ends it: at a kink of a ReLU network, or
    where rounding hides any further descent, there is nothing more to gain. That counts
    as convergence, exhausting ``max_iter`` does not. ``stop`` is asked after each step
    whether the parameters will do.

    With ``curvature``, a positive definite matrix near that of second derivatives,
    steps are taken in coordinates in which it is the identity: far fewer are needed.
    """
    if curvature is not None:
        basis = np.linalg.inv(np.linalg.cholesky(curvature)).T
        # The first step has length one: in this unit of length it is Newton's, and no
        # trial is farther away than the curvature can be trusted.
        basis *= np.linalg.norm(fun(start)[1] @ basis) or 1.0

        def scaled(u: NDArray) -> tuple[float, NDArray]:
            value, gradient = fun(start + basis @ u)
            return value, gradient @ basis

        found = lbfgs(scaled, np.zeros(len(start)), max_iter=max_iter, tol=tol)
        return replace(found, parameters=start + basis @ found.parameters)

    def callback(x: NDArray) -> None:
        if stop is not None and stop(x):
            raise StopIteration

    result = optimize.minimize(
        fun,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "ftol": tol,
            "gtol": 1e-3 * tol,
            # More pairs than there are parameters in the usual network: the curvature
            # is then learned whole, in about half the steps of the default 10.
            "maxcor": 50,
        },
    )
    return Solution(
        parameters=result.x,
        value=float(result.fun),
        n_iter=int(result.nit),
        converged=result.status != 1,
        message=str(result.message),
    )


def scoring(
    fun: ValueAndGradient,
    information: Callable[[NDArray], NDArray],
    start: NDArray,
    *,
    max_iter: int = 50,
    tol: float = 1e-7,
) -> Solution:
    """Fisher scoring inside a trust region, for few parameters.

    ``information`` stands for the matrix of second derivatives and is positive
    semi-definite. It stops where the gradient is shorter than ``tol``.
    """
    result = optimize.minimize(
        fun,
        start,
        jac=True,
        hess=information,
        method="trust-exact",
        options={"maxiter": max_iter, "gtol": tol, "initial_trust_radius": 1.0},
    )
    return Solution(
        parameters=result.x,
        value=float(result.fun),
        n_iter=int(result.nit),
        converged=bool(result.success),
        message=str(result.message),
    )


@dataclass
class AdamStep:
    """Adam (Kingma and Ba, arXiv 1412.6980): a step of the parameters in place."""

    learning_rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    n_steps: int = 0
    mean: NDArray | None = None
    square: NDArray | None = None

    def __call__(self, x: NDArray, gradient: NDArray) -> None:
        if self.mean is None or self.square is None:
            self.mean, self.square = np.zeros_like(x), np.zeros_like(x)
        self.n_steps += 1
        self.mean += (1 - self.betas[0]) * (gradient - self.mean)
        change = gradient * gradient
        change -= self.square
        change *= 1 - self.betas[1]
        self.square += change
        scale = np.sqrt(self.square, out=change)
        scale /= np.sqrt(1 - self.betas[1] ** self.n_steps)
        scale += self.epsilon
        np.divide(self.mean, scale, out=scale)
        scale *= self.learning_rate / (1 - self.betas[0] ** self.n_steps)
        x -= scale


@dataclass
class MomentumStep:
    """Gradient descent with momentum: a step of the parameters in place."""

    learning_rate: float
    momentum: float = 0.9
    velocity: NDArray | None = None

    def __call__(self, x: NDArray, gradient: NDArray) -> None:
        if self.velocity is None:
            self.velocity = np.zeros_like(x)
        self.velocity *= self.momentum
        self.velocity += gradient
        x -= self.learning_rate * self.velocity


def adam(
    fun: ValueAndGradient,
    start: NDArray,
    *,
    learning_rate: float,
    max_iter: int,
    tol: float = 0.0,
    n_iter_no_change: int | None = None,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
) -> Solution:
    """Full-batch Adam with the best value kept.

    With ``n_iter_no_change`` it stops once the best value has not improved by more
    than ``tol`` for so many steps; without, it takes ``max_iter`` steps and that is its
    criterion.
    """
    x = np.array(start, dtype=np.float64)
    take = AdamStep(learning_rate, betas, epsilon)
    best_value, best = np.inf, x.copy()
    reference, since = np.inf, 0
    step = 0
    for step in range(1, max_iter + 1):
        value, gradient = fun(x)
        if value < best_value:
            best_value, best = value, x.copy()
        if value < reference - tol:
            reference, since = value, 0
        else:
            since += 1
        if n_iter_no_change is not None and since >= n_iter_no_change:
            return Solution(best, best_value, step, True, "loss stopped improving")
        take(x, gradient)
    return Solution(
        best, best_value, step, n_iter_no_change is None, "max_iter steps taken"
    )


def descend_epoch(
    fun: Callable[[NDArray, NDArray], tuple[float, NDArray]],
    x: NDArray,
    order: NDArray,
    *,
    batch_size: int,
    step: AdamStep | MomentumStep | None,
    max_norm: float | None = None,
) -> tuple[float, NDArray]:
    """One pass over the rows in the given order, stepping ``x`` after each batch.

    ``fun(x, rows)`` gives the mean over a batch of the value and of the gradient, whose
    norm is clipped at ``max_norm`` for the step. Returns the means over the pass; with
    ``step=None`` ``x`` stays, and they are those of all rows.
    """
    total, mean = 0.0, np.zeros(len(x))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        value, gradient = fun(x, rows)
        share = len(rows) / len(order)
        total += share * value
        mean += share * gradient
        if step is None:
            continue
        if max_norm is not None:
            norm = float(np.linalg.norm(gradient))
            if norm > max_norm:
                gradient *= max_norm / norm
        step(x, gradient)
    return total, mean


class Linearised(Protocol):
    """A field at a point: its value, its derivative, and the units to measure it in.

    ``whiten`` is linear, near to a root of the inverse of the derivative, and
    ``unwhiten`` its transpose.
    """

    value: NDArray

    def derivative(self, direction: NDArray) -> NDArray: ...

    def whiten(self, value: NDArray) -> NDArray: ...

    def unwhiten(self, direction: NDArray) -> NDArray: ...


@dataclass(frozen=True)
class Root:
    """Where a root-finder ended; ``residuals`` are ``max |value|`` step by step."""

    parameters: NDArray
    residuals: list[float]
    converged: bool
    message: str

    @property
    def residual(self) -> float:
        return self.residuals[-1]

    @property
    def n_iter(self) -> int:
        return len(self.residuals) - 1


def find_root(
    fun: Callable[[NDArray], Linearised],
    start: NDArray,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], None] | None = None,
) -> Root:
    """Zero of a field by Newton-Krylov with a line search on ``||whiten(value)||``.

    The derivative need not be symmetric: each step solves it by GMRES in the whitened
    units, as exactly as the residual deserves (Eisenstat and Walker, choice 2), so that
    the norm falls along the step whatever the field is. Converged where
    ``max |value| <= tol``. Deterministic. ``callback`` gets the number of the step and
    the residual.
    """
    x = np.array(start, dtype=np.float64)
    point, exactness = fun(x), _LOOSEST
    residuals = [_largest(point.value)]
    for step in range(1, max_iter + 1):
        if residuals[-1] <= tol:
            return Root(x, residuals, True, "residual below tol")
        whitened = point.whiten(point.value)
        norm = float(np.linalg.norm(whitened))
        direction = _gmres(point, whitened, norm, exactness)
        length, accepted = 1.0, False
        while length > 1e-6 and not accepted:
            trial_x = x + length * direction
            trial = fun(trial_x)
            trial_norm = float(np.linalg.norm(point.whiten(trial.value)))
            accepted = trial_norm <= (1 - 1e-4 * length) * norm
            length *= 0.5
        if not accepted:
            return Root(x, residuals, False, "no step lowers the residual")
        x, point = trial_x, trial
        residuals.append(_largest(point.value))
        # Quadratic convergence needs no more digits than end below tol.
        exactness = max(0.9 * (trial_norm / norm) ** 2, _TIGHTEST)
        if residuals[-1] > 0:
            exactness = max(exactness, 0.3 * tol / residuals[-1])
        exactness = min(exactness, _LOOSEST)
        if callback is not None:
            callback(step, residuals[-1])
    converged = residuals[-1] <= tol
    return Root(x, residuals, converged, f"{max_iter} steps taken")


def _largest(values: NDArray) -> float:
    return float(np.abs(values).max())


def _gmres(
    point: Linearised, whitened: NDArray, norm: float, exactness: float
) -> NDArray:
    """A direction that leaves ``exactness`` of the norm of the field, to first order.

    By GMRES: or the best one in a Krylov space of the largest size.
    """
    size = whitened.size
    image = sparse_linalg.LinearOperator(
        (size, size),
        matvec=lambda v: point.whiten(point.derivative(point.unwhiten(v))),
        dtype=np.float64,
    )
    # GCROT that keeps nothing is GMRES without the product that scipy's `gmres` spends
    # on its final residual; the absolute tolerance has one name in all its versions.
    direction, _ = sparse_linalg.gcrotmk(
        image,
        -whitened,
        atol=exactness * norm,
        m=min(_KRYLOV_SIZE, size),
        k=0,
        maxiter=1,
    )
    return point.unwhiten(direction)


def convex_root(
    slope: Callable[[float], float], low: float, high: float, xtol: float = 1e-13
) -> tuple[float, int, bool]:
    """Minimiser of a convex function of ``exp(t)`` on [low, high], from its slope in t.

    Returns ``t``, to ``xtol``, the number of evaluations, and whether the minimum is
    inside; it is not where the slope has one sign throughout, and ``t`` is that end.
    """
    if slope(low) >= 0:
        return low, 1, False
    if slope(high) <= 0:
        return high, 2, False
    root, report = optimize.brentq(slope, low, high, xtol=xtol, full_output=True)
    return float(root), report.function_calls + 2, True

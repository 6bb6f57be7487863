"""Minimisers of any callable ``fun(parameters) -> (value, gradient)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

ValueAndGradient = Callable[[NDArray], tuple[float, NDArray]]


@dataclass(frozen=True)
class Solution:
    """Where a solver ended, and whether it met its own criterion."""

    parameters: NDArray
    value: float
    n_iter: int
    converged: bool
    message: str


def lbfgs(
    fun: ValueAndGradient, start: NDArray, *, max_iter: int, tol: float
) -> Solution:
    """Limited-memory BFGS; stops at a relative decrease below ``tol``.

    A line search that finds no decrease also ends it: at a kink of a ReLU network, or
    where rounding hides any further descent, there is nothing more to gain. That counts
    as convergence, exhausting ``max_iter`` does not.
    """
    result = optimize.minimize(
        fun,
        start,
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "ftol": tol,
            "gtol": 1e-3 * tol,
        },
    )
    return Solution(
        parameters=result.x,
        value=float(result.fun),
        n_iter=int(result.nit),
        converged=result.status != 1,
        message=str(result.message),
    )


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
    """Full-batch Adam (Kingma and Ba, arXiv 1412.6980) with the best value kept.

    With ``n_iter_no_change`` it stops once the best value has not improved by more
    than ``tol`` for so many steps; without, it takes ``max_iter`` steps and that is its
    criterion.
    """
    x = np.array(start, dtype=np.float64)
    mean, square = np.zeros_like(x), np.zeros_like(x)
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
        mean += (1 - betas[0]) * (gradient - mean)
        square += (1 - betas[1]) * (gradient**2 - square)
        scale = np.sqrt(square / (1 - betas[1] ** step)) + epsilon
        x = x - learning_rate / (1 - betas[0] ** step) * mean / scale
    return Solution(
        best, best_value, step, n_iter_no_change is None, "max_iter steps taken"
    )


def convex_root(
    slope: Callable[[float], float], low: float, high: float
) -> tuple[float, int, bool]:
    """Minimiser of a convex function of ``exp(t)`` on [low, high], from its slope in t.

    Returns ``t``, the number of evaluations, and whether the minimum is inside; it is
    not where the slope has one sign throughout, and ``t`` is then that end.
    """
    if slope(low) >= 0:
        return low, 1, False
    if slope(high) <= 0:
        return high, 2, False
    root, report = optimize.brentq(slope, low, high, xtol=1e-13, full_output=True)
    return float(root), report.function_calls + 2, True

"""Fits of temperature maps: what calibrators ask of the floors below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.special import softmax

from .bins import quantile_centres
from .calibration_losses import CalibrationLoss, top_label_log_loss
from .objectives import TemperatureObjective
from .signals import weighted_moments
from .solvers import convex_root, scoring
from .temperature_maps import MarginNetwork, QuantileRamps, margin_network
from .tempered import CurveTable, TemperedLogits

# The inverse temperature is sought between these multiples of one over the typical gap
# of the logits below the top one: the mean for the lower end, where all classes are
# equally likely to four digits; the median for the upper end, where most probabilities
# are 0 or 1, as a single row of huge gaps says nothing of the others.
_LOWEST, _HIGHEST = 1e-4, 1e4

# The search is begun on about so many logits, where there are many more.
_FIRST_LOGITS = 100_000


@dataclass(frozen=True)
class SingleTemperature:
    """A temperature, its log loss, and whether it is a minimum and no bound."""

    temperature: float
    loss: float
    n_iter: int
    converged: bool


class _LogLoss:
    """Log loss as a function of ``t = log(beta scale)`` that counts its passes."""

    def __init__(self, rows: TemperedLogits, weight: NDArray, scale: float) -> None:
        self.rows, self.scale = rows, scale
        self.share = weight / weight.sum()
        self.passes = 0
        self.value = np.inf

    def slopes(self, t: float) -> tuple[float, float]:
        """First and second derivative in ``t``."""
        self.passes += 1
        beta = float(np.exp(t)) / self.scale
        value, slope, bend = self.rows.curve(np.full(len(self.rows), beta))
        self.value = float(self.share @ (value + beta * self.rows.gap))
        first = beta * float(self.share @ (slope + self.rows.gap))
        return first, first + beta**2 * float(self.share @ bend)

    def minimise(self, low: float, high: float, xtol: float) -> tuple[float, bool]:
        """``t`` of least loss on [low, high] to xtol, and whether it is inside."""
        t, _, inside = convex_root(lambda t: self.slopes(t)[0], low, high, xtol)
        return t, inside

    def polish(self, start: float, low: float, high: float) -> tuple[float, bool]:
        """The minimum near ``start`` by Newton's steps."""
        found = root_scalar(
            self.slopes, x0=start, fprime=True, method="newton", xtol=1e-6, maxiter=20
        )
        return float(found.root), bool(found.converged and low < found.root < high)


def _search_range(rows: TemperedLogits, weight: NDArray) -> tuple[float, float, float]:
    """Scale of ``1 / beta``, 0 for ties, and the range of ``log(beta scale)``."""
    n_classes = rows.logits.shape[1]
    gap = rows.mean_gap() * (n_classes / (n_classes - 1))
    scale = float(weight @ gap / weight.sum())
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    some = gap > 0
    median = float(quantile_centres(gap[some], 1, weight[some])[0])
    high = float(np.log(_HIGHEST) + np.log(scale / median))
    return scale, float(np.log(_LOWEST)), high


def _rate_without_error(total: float) -> float:
    """How many of the rows to come are correct, where all of ``total`` were."""
    return (total + 0.5) / (total + 1)


def fit_without_error(rows: TemperedLogits, weight: NDArray) -> SingleTemperature:
    """The temperature at which the mean confidence is ``(n + 1/2) / (n + 1)``.

    For rows that are all predicted correctly, where the log loss would have all
    probabilities 0 or 1: by the rule of Krichevsky and Trofimov, whose log loss is near
    the best possible whatever the true rate, so many of the rows to come are predicted
    correctly. ``n`` is the sum of weights.
    """
    scale, low, high = _search_range(rows, weight)
    total = float(weight.sum())
    if scale == 0.0:
        return SingleTemperature(1.0, float(np.log(rows.logits.shape[1])), 0, True)

    def lack(t: float) -> float:
        confidence = rows.at(np.exp(t) / scale).confidence
        return float(weight @ confidence) / total - _rate_without_error(total)

    t, n_iter, _ = convex_root(lack, low, high)
    tempered = rows.at(np.exp(t) / scale)
    loss = float(weight @ (tempered.log_partition + tempered.beta * rows.gap)) / total
    return SingleTemperature(float(scale / np.exp(t)), loss, n_iter, True)


def fit_single_temperature(rows: TemperedLogits, weight: NDArray) -> SingleTemperature:
    """The temperature of least log loss, to the precision of the arithmetic.

    The log loss is convex in ``1 / T``, so its slope has one root. Where it has none
    (worse than chance, or no error at all) the temperature is a bound of the search
    and ``converged`` is False. Rows whose logits are all equal say nothing; where all
    do so, the temperature is 1.
    """
    scale, low, high = _search_range(rows, weight)
    if scale == 0.0:
        return SingleTemperature(1.0, float(np.log(rows.logits.shape[1])), 0, True)
    step = rows.logits.size // _FIRST_LOGITS or 1
    few = _LogLoss(rows.every(step), weight[::step], scale)
    loss = _LogLoss(rows, weight, scale)
    t, converged = few.minimise(low, high, xtol=1e-2)
    if converged:
        # The error of a Newton step is the square of its length, about: the last one,
        # shorter than xtol, leaves nothing that double precision would show.
        t, converged = loss.polish(t, low, high)
    if not converged:
        t, converged = loss.minimise(low, high, xtol=1e-13)
    loss.slopes(t)
    beta = float(np.exp(t)) / scale
    return SingleTemperature(1 / beta, loss.value, loss.passes, converged)


def fit_single_temperature_on_curves(
    curves: CurveTable, weight: NDArray
) -> SingleTemperature:
    """As `fit_single_temperature`, by interpolation: no pass over the logits.

    Where all rows are predicted correctly it is as in `fit_without_error`.
    """
    total = float(weight.sum())
    expected = _rate_without_error(total) if curves.correct.all() else None

    def slope(t: float) -> float:
        tempered = curves.at(curves.centre * np.exp(t))
        if expected is not None:
            return float(weight @ tempered.confidence) / total - expected
        return float(weight @ (tempered.slope + tempered.gap))

    for octaves in (2, 4, 8, 13):
        reach = octaves * np.log(2)
        t, n_iter, inside = convex_root(slope, -reach, reach, 1e-10)
        if inside:
            break
    tempered = curves.at(curves.centre * np.exp(t))
    loss = float(weight @ (tempered.log_partition + tempered.beta * tempered.gap))
    beta = curves.centre * float(np.exp(t))
    return SingleTemperature(1 / beta, loss / total, n_iter, inside)


# Strengths of the penalty among which one is chosen, and the scale of the prior on the
# standard deviation ``(2 alpha)^(-1/2)`` of the map's output that each stands for.
# `docs/design_of_the_default.md` has the figures of these and of others.
_STRENGTHS = (100.0, 25.0, 6.0, 1.5, 0.4, 0.1)
_PRIOR_SCALE = 1.0

# Strength of the pull of the map's level towards the single temperature.
_LEVEL_STRENGTH = 30.0


@dataclass(frozen=True)
class LikeliestRamps:
    """Parameters of most penalised likelihood, and the loss around them.

    ``curvature`` stands for the second derivatives of the loss, and ``log_evidence`` is
    the logarithm of the evidence of the penalty, up to a constant.
    """

    parameters: NDArray
    curvature: NDArray
    log_evidence: float


@dataclass
class MarginProblem:
    """A calibration set prepared for fits of a `MarginNetwork`.

    Rows are in increasing order of their signal; what depends on the scores alone is
    here, to be shared by fits of all settings.

    Parameters
    ----------
    curves : CurveTable
    x : ndarray of shape (n,)
        The standardised signal, increasing.
    weight : ndarray of shape (n,)
    mean, scale : float
        By which the signal was standardised.
    temperature : float
        The single temperature, towards which the penalty pulls the level of the map.
    unit : float
        The temperature that is one unit of the map's output.
    floor : float
        Smallest temperature, in units.
    """

    curves: CurveTable
    x: NDArray
    weight: NDArray
    mean: float
    scale: float
    temperature: float
    unit: float
    floor: float
    _likeliest: dict[int, dict[float, LikeliestRamps]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of_signal(
        cls,
        values: NDArray,
        weight: NDArray,
        tabulate: Callable[[NDArray], CurveTable],
        *,
        temperature: float,
        unit: float,
        floor: float,
    ) -> MarginProblem:
        """The problem of rows with a signal ``values``, (n,).

        ``tabulate`` gives the curves of the rows in a given order.
        """
        mean, scale = weighted_moments(values, weight)
        order = np.argsort(values, kind="stable")
        x = (values[order] - mean) / scale
        return cls(
            tabulate(order), x, weight[order], mean, scale, temperature, unit, floor
        )

    @property
    def level(self) -> float:
        """The single temperature, in units."""
        return self.temperature / self.unit

    def network(self, hidden_layer_sizes: Sequence[int]) -> MarginNetwork:
        """A network all of whose weights are to be fitted."""
        return margin_network(self.x, hidden_layer_sizes, self.unit, self.floor)

    def ramps(self, n_hinges: int) -> QuantileRamps:
        """A network whose hidden units stay at quantiles of the signal."""
        return QuantileRamps(self.x, n_hinges, self.weight, self.unit, self.floor)

    def objective(
        self,
        network: MarginNetwork,
        losses: Sequence[tuple[float, CalibrationLoss]],
        alpha: float,
    ) -> TemperatureObjective:
        """The losses with a penalty of strength ``alpha`` on the network's weights."""
        start = network.start(self.weight, self.level)
        centre = np.where(network.penalised, 0.0, start)
        strength = alpha * network.penalised
        if alpha > 0 and isinstance(network, QuantileRamps):
            strength = strength + _LEVEL_STRENGTH * ~network.penalised
        return TemperatureObjective(
            self.curves, network, losses, self.weight, strength, centre
        )

    def choose_alpha(self, n_hinges: int) -> float:
        """Strength of the penalty by the evidence of each, averaged over them.

        The penalty is a Gaussian prior on the network's weights. The evidence is the
        probability of which predictions were correct, with the weights integrated out
        by Laplace's method; a prior exponential in the standard deviation favours one
        temperature where the evidence says little. The strength is the average of its
        logarithm under the posterior: no folds, and no choice that a single sample
        could turn over.
        """
        log_posterior = np.array(
            [
                self.likeliest(n_hinges, alpha).log_evidence
                - (2 * alpha) ** -0.5 / _PRIOR_SCALE
                for alpha in _STRENGTHS
            ]
        )
        return float(np.exp(softmax(log_posterior) @ np.log(_STRENGTHS)))

    def likeliest(self, n_hinges: int, alpha: float) -> LikeliestRamps:
        """The parameters of `ramps` of least top-label log loss with a penalty."""
        known = self._likeliest.setdefault(n_hinges, {})
        if alpha not in known:
            # From the strong penalty to the weak, each from the one before.
            stronger = min((other for other in known if other > alpha), default=None)
            start = None if stronger is None else known[stronger].parameters
            known[alpha] = self._seek_likeliest(self.ramps(n_hinges), alpha, start)
        return known[alpha]

    def _seek_likeliest(
        self, network: QuantileRamps, alpha: float, start: NDArray | None
    ) -> LikeliestRamps:
        objective = self.objective(network, [(1.0, top_label_log_loss)], alpha)
        prior = 2 * np.diag(np.asarray(objective.strength))
        total = float(self.weight.sum())

        def information(at: NDArray) -> NDArray:
            return (self._information(network, at) + prior) / total

        if start is None:
            start = network.start(self.weight, self.level)
        solution = scoring(objective, information, start)
        curvature = information(solution.parameters)
        _, log_det = np.linalg.slogdet(total * curvature)
        log_evidence = -total * solution.value - 0.5 * log_det
        log_evidence += 0.5 * (len(start) - 1) * np.log(2 * alpha)
        return LikeliestRamps(solution.parameters, curvature, float(log_evidence))

    def _information(self, network: QuantileRamps, parameters: NDArray) -> NDArray:
        """Fisher information of the correctness of the predictions."""
        temperature = network.value(parameters)
        tempered = self.curves.at(1 / temperature)
        # (dc/dT)^2 / (c (1 - c)) with c = exp(-L): no cancellation as c goes to 1.
        odds = np.expm1(tempered.log_partition)
        sure = odds <= 0
        by_temperature = np.where(sure, 0.0, tempered.slope / temperature**2)
        rate = self.weight * by_temperature**2 / np.where(sure, 1.0, odds)
        return network.gram(rate)

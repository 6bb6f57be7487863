"""SMART: a temperature for each sample, from the margin of its logits."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._numerics.bins import SoftBinTable, quantile_centres, uniform_centres
from .._numerics.calibration_losses import (
    CharbonnierSoftECE,
    brier_score,
    log_loss,
    top_label_log_loss,
)
from .._numerics.logits import (
    margin_softmax,
    tempered_log_softmax,
    tempered_softmax,
)
from .._numerics.signals import SIGNALS, signal
from .._numerics.solvers import adam, lbfgs
from .._numerics.temperature_fit import MarginProblem
from .._numerics.temperature_maps import temperature_function
from .._numerics.tempered import TemperedLogits
from .._validation import check_number, check_option
from .base import BaseCalibrator
from .temperature import finite_temperature, warn_of_bound

_OBJECTIVES = {
    "charbonnier_soft_ece": None,
    "soft_ece": None,
    "log_loss": log_loss,
    "brier_score": brier_score,
    "top_label_log_loss": top_label_log_loss,
}

# With less of a penalty the start, of least top-label log loss, might be infinite.
_LEAST_ALPHA = 0.1


class SMARTCalibrator(BaseCalibrator):
    r"""Calibrate by a temperature of each sample's own, learned from its margin.

    SMART [1]_ divides the logits of a sample by ``T = h(g)``, where the margin ``g``
    is the gap between its two largest logits and ``h`` a small network of one input.
    As ``T > 0``, the predicted class never changes. The network minimises

    .. math::

        \frac{1}{n} \sum_b \sqrt{s_b^2 + (\epsilon M_b)^2}
        - \frac{\lambda}{n} \sum_i \left[ a_i \log c_i
        + (1 - a_i) \log(1 - c_i) \right]
        + \frac{\alpha}{n} \lVert e \rVert^2

    where :math:`s_b = \sum_i w_{ib} (c_i - a_i)` is the gap between confidence
    :math:`c_i` and correctness :math:`a_i` in a soft bin, :math:`M_b` the bin's mass
    and :math:`w_{ib} \propto \exp(-((c_i - m_b) / \mathrm{bandwidth})^2 / 2)` the
    membership around the bin's centre :math:`m_b`.

    The first term, Charbonnier-SoftECE, is the paper's. The second, the log loss of
    the confidence against the correctness [2]_, and the penalty, which pulls the map
    towards one temperature for all, keep small calibration sets from being overfitted;
    by default the strength :math:`\alpha` is chosen from the data. Temperatures are
    measured in units of the fitted single temperature: multiplying all logits by a
    constant, in `fit` and after, changes no probability. No random number is drawn.
    `published` gives the recipe of the paper.

    Parameters
    ----------
    objective : str, default="charbonnier_soft_ece"
        The calibration loss: "charbonnier_soft_ece", "soft_ece", "log_loss",
        "brier_score" or "top_label_log_loss", the binary log loss of the confidence
        against the correctness of the prediction.
    n_bins : int, default=15
        Number of soft bins.
    bandwidth : float, default=0.05
        Width of the soft bins' Gaussian memberships, in units of confidence.
    smoothing : float, default=1e-3
        Charbonnier smoothing of the absolute value, >= 0.
    binning : {"uniform", "quantile"}, default="uniform"
        Centres at ``(b + 1/2) / n_bins``, or at the quantiles of the confidences at
        the single temperature.
    alpha : "auto" or float, default="auto"
        Strength of the penalty, >= 0; it is divided by the number of samples (the sum
        of weights). It is on the steps of the map between neighbouring quantiles of
        the signal where ``hinges="fixed"``, and on the network's weights where they
        are "trained". "auto" weighs strengths by the evidence that the calibration set
        gives for each, the probability of its correct and wrong predictions with the
        network's weights integrated out by Laplace's method.
    top_label_weight : "auto" or float, default="auto"
        Weight of the top-label log loss beside the objective, >= 0. "auto" is 1 for
        the binned objectives and 0 for the others, which are proper losses themselves.
    hidden_layer_sizes : tuple of int, default=(16,)
        Widths of the network's hidden layers of rectified linear units. An empty tuple
        makes ``h`` the softplus of a linear function.
    signal : str, default="margin"
        The number of each sample that its temperature depends on: "margin",
        "soft_tail_gap", "participation_ratio", "top_logit", "confidence" or "entropy".
    hinges : {"fixed", "trained"}, default="fixed"
        "fixed" keeps the kinks of the hidden units at quantiles of the signal, with
        the map constant beyond the outermost: the objective is then smooth in few
        parameters. It needs one hidden layer; where quantiles coincide it has fewer
        units. "trained" fits all weights, as the paper does; the objective then has
        kinks and many minima, and "lbfgs" may end at another one when the last digit
        of a score changes.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        Minimiser. "adam" takes full-batch steps and keeps the best parameters.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-9
        "lbfgs" stops where a step lowers the objective by a smaller part of it; "adam",
        with ``n_iter_no_change``, where the objective itself improves by less.
    learning_rate : float, default=5e-3
        Step size of "adam".
    n_iter_no_change : int, default=None
        Steps without improvement after which "adam" stops; None takes all
        ``max_iter`` steps.
    min_temperature : float, default=0.0
        Smallest temperature, in units of the single temperature, or of the logits
        with ``temperature_unit="logits"``.
    temperature_unit : {"fitted", "logits"}, default="fitted"
        What the network's output of 1 stands for: the fitted single temperature, so
        that the scale of the logits does not matter, or a temperature of 1.
    init : {"quantiles", "random"}, default="quantiles"
        Start of the network. "quantiles" has hinges at quantiles of the signal; where
        they are fixed the fit starts at the map of least top-label log loss, where they
        are trained at a constant output, the single temperature. "random", for trained
        hinges, takes uniform random numbers within one over the square root of a
        layer's inputs.
    random_state : int, RandomState instance or None, default=None
        Used by ``init="random"`` alone.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are. It is never guessed from their values. Probabilities are
        turned into logits by the logarithm, clipped at the machine epsilon of their
        dtype.
    classes : int or array-like, default=None
        Labels of the columns in their order, in any order and possibly absent from
        ``y``; an integer K stands for 0..K-1. Without it the columns are the sorted
        distinct labels of ``y``.

    Attributes
    ----------
    temperature_ : float
        The single temperature, that of least log loss, in units of the logits. Where no
        sample is misclassified there is none; it is then the one at which the mean
        confidence is ``(n + 1/2) / (n + 1)``, what the rule of Krichevsky and Trofimov
        expects of samples to come.
    margin_mean_, margin_scale_ : float
        Mean and standard deviation (ddof 0) of the signal of the calibration set, by
        which it is standardised.
    alpha_ : float
        The penalty used.
    top_label_weight_ : float
        The weight of the log loss used.
    coefs_ : list of ndarray of shape (n_inputs, n_outputs)
        Weights of the network's layers.
    intercepts_ : list of ndarray of shape (n_outputs,)
        Biases of the network's layers.
    loss_ : float
        Value of the minimised objective.
    n_iter_ : int
        Steps taken.
    converged_ : bool
        Whether the solver met its criterion, and the single temperature is not at a
        bound of its search.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` steps did not suffice, or the single temperature is at a bound.

    See Also
    --------
    TemperatureScaling : One temperature for all samples.

    References
    ----------
    .. [1] SMART: Sample Margin-Aware Recalibration of Temperature. ICML 2026.
       arXiv:2506.23492
    .. [2] arXiv:2609.38936, on objectives for temperatures routed by the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import SMARTCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=500)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(500, 3)))
    >>> smart = SMARTCalibrator().fit(scores, y)
    >>> smart.predict_proba([[9.0, 0.0, 0.0], [1.0, 0.0, 0.0]]).round(2)
    array([[0.87, 0.06, 0.06],
           [0.4 , 0.3 , 0.3 ]])
    """

    preserves_prediction = True

    def __init__(
        self,
        *,
        objective="charbonnier_soft_ece",
        n_bins=15,
        bandwidth=0.05,
        smoothing=1e-3,
        binning="uniform",
        alpha="auto",
        top_label_weight="auto",
        hidden_layer_sizes=(16,),
        signal="margin",
        hinges="fixed",
        solver="lbfgs",
        max_iter=500,
        tol=1e-9,
        learning_rate=5e-3,
        n_iter_no_change=None,
        min_temperature=0.0,
        temperature_unit="fitted",
        init="quantiles",
        random_state=None,
        input="logits",
        classes=None,
    ):
        self.objective = objective
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.smoothing = smoothing
        self.binning = binning
        self.alpha = alpha
        self.top_label_weight = top_label_weight
        self.hidden_layer_sizes = hidden_layer_sizes
        self.signal = signal
        self.hinges = hinges
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.n_iter_no_change = n_iter_no_change
        self.min_temperature = min_temperature
        self.temperature_unit = temperature_unit
        self.init = init
        self.random_state = random_state
        self.input = input
        self.classes = classes

    @classmethod
    def published(cls, **parameters):
        """The recipe of the paper's public code, with its exact parameters.

        Charbonnier-SoftECE with 15 bins, bandwidth 0.05 and smoothing 1e-3, no penalty;
        one hidden layer of 16 units; temperatures of at least 0.1 in units of the
        logits; a random start; 2000 full-batch steps of Adam at learning rate 5e-3.

        Parameters
        ----------
        **parameters
            Further parameters, such as ``random_state`` or ``classes``, or others in
            place of the recipe's. The later release of the code is
            ``published(hidden_layer_sizes=(16, 16), n_iter_no_change=200, tol=1e-4)``.

        Returns
        -------
        calibrator : SMARTCalibrator
            Not yet fitted.

        Examples
        --------
        >>> from sklearn_smart import SMARTCalibrator
        >>> SMARTCalibrator.published(random_state=0).solver
        'adam'
        """
        recipe = {
            "alpha": 0.0,
            "top_label_weight": 0.0,
            "solver": "adam",
            "max_iter": 2000,
            "learning_rate": 5e-3,
            "min_temperature": 0.1,
            "temperature_unit": "logits",
            "hinges": "trained",
            "init": "random",
        }
        return cls(**{**recipe, **parameters})

    def temperatures(self, scores):
        """The temperature of each sample.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            In units of the logits, > 0; by them the logits are divided.
        """
        return self._temperatures(self._as_wanted(self._checked(scores)))

    def _fit(self, logits, y, sample_weight):
        rows = TemperedLogits(logits, y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        single = finite_temperature(rows, weight)
        warn_of_bound(single, rows)
        # On several threads small products wait more than they work, and are rounded
        # otherwise.
        with threadpool_limits(limits=1, user_api="blas"):
            solution = self._fit_rows(rows, weight, single)
        if not solution.converged:
            warnings.warn(
                f"SMARTCalibrator: solver {self.solver!r} did not converge in "
                f"{self.max_iter} steps ({solution.message}). Increase max_iter or "
                "tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _n_hinges(self):
        return self.hidden_layer_sizes[0] if self.hidden_layer_sizes else 1

    def _unit(self, temperature):
        """The temperature that is one unit of the map's output."""
        return temperature if self.temperature_unit == "fitted" else 1.0

    def _fit_rows(self, rows, weight, single, tabulate=None):
        """Fit the network to rows whose single temperature is known.

        ``tabulate`` gives their curves in an order, where they are tabulated already.
        """
        if tabulate is None:

            def tabulate(order):
                return rows.tabulate(1 / single.temperature, order=order)

        values = self._signal_of(rows, single.temperature)
        problem = self._problem(values, weight, single.temperature, tabulate)
        solution = self._fit_map(problem)
        self.converged_ = solution.converged and single.converged
        return solution

    def _signal_of(self, rows, temperature):
        if self.signal == "margin":
            return rows.margin
        return signal(self.signal, rows.logits, self._unit(temperature))

    def _problem(self, values, weight, temperature, tabulate):
        """The problem of rows with a signal; ``tabulate`` gives curves in an order."""
        unit, floor = self._unit(temperature), self.min_temperature
        return MarginProblem.of_signal(
            values, weight, tabulate, temperature=temperature, unit=unit, floor=floor
        )

    def _fit_map(self, problem, polish=True):
        """Fit the network and return the solution.

        Without ``polish`` it is left at the minimum on the interpolated curves.
        """
        self.temperature_ = problem.temperature
        self.margin_mean_, self.margin_scale_ = problem.mean, problem.scale
        losses = self._losses(problem)
        # The penalty goes with the likelihood, so it is scaled as that is.
        scale = self.top_label_weight_ if self.top_label_weight_ > 0 else 1.0
        self.alpha_ = (
            scale * problem.choose_alpha(self._n_hinges())
            if self.alpha == "auto"
            else float(self.alpha)
        )
        curvature = None
        if self.hinges == "fixed":
            network = problem.ramps(self._n_hinges())
            strength = max(self.alpha_ / scale, _LEAST_ALPHA)
            likeliest = problem.likeliest(self._n_hinges(), strength)
            start, curvature = likeliest.parameters, likeliest.curvature
        else:
            network = problem.network(self.hidden_layer_sizes)
            start = (
                network.random_start(check_random_state(self.random_state))
                if self.init == "random"
                else network.start(problem.weight, problem.level)
            )
        objective = problem.objective(network, losses, self.alpha_)
        solution = self._solve(objective, start, curvature, self.max_iter)
        self.n_iter_ = solution.n_iter
        if self.solver == "lbfgs" and polish and solution.n_iter < self.max_iter:
            # From here on the exact curves: the interpolation leaves no trace.
            problem.curves.anchor(1 / network.value(solution.parameters))
            steps_left = self.max_iter - solution.n_iter
            solution = self._solve(
                objective, solution.parameters, curvature, steps_left
            )
            self.n_iter_ += solution.n_iter
        layers = network.layers(solution.parameters)
        self.coefs_ = [coef.copy() for coef, _ in layers]
        self.intercepts_ = [intercept.copy() for _, intercept in layers]
        self.loss_ = solution.value
        return solution

    def _losses(self, problem):
        """Pairs of coefficient and loss that make up the objective."""
        loss = _OBJECTIVES[self.objective]
        proper = loss is not None
        if not proper:
            loss = self._binned_loss(problem)
        self.top_label_weight_ = (
            (0.0 if proper else 1.0)
            if self.top_label_weight == "auto"
            else float(self.top_label_weight)
        )
        losses = [(1.0, loss)]
        if self.top_label_weight_ > 0:
            losses.append((self.top_label_weight_, top_label_log_loss))
        return losses

    def _binned_loss(self, problem):
        centres = uniform_centres(self.n_bins)
        if self.binning == "quantile":
            start = problem.curves.at(1 / self.temperature_)
            centres = quantile_centres(start.confidence, self.n_bins, problem.weight)
        smoothing = 0.0 if self.objective == "soft_ece" else self.smoothing
        table = None
        if SoftBinTable.cells(self.bandwidth) < 20 * len(problem.x):
            table = SoftBinTable(centres, self.bandwidth)
        return CharbonnierSoftECE(centres, self.bandwidth, smoothing, table)

    def _solve(self, objective, start, curvature, max_iter):
        if self.solver == "lbfgs":
            return lbfgs(
                objective, start, max_iter=max_iter, tol=self.tol, curvature=curvature
            )
        return adam(
            objective,
            start,
            learning_rate=self.learning_rate,
            max_iter=max_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def _temperatures(self, logits):
        unit = self._unit(self.temperature_)
        return self._temperature_function()(signal(self.signal, logits, unit))

    def _temperature_function(self):
        """The temperatures as a function of the signal, (n,)."""
        layers = list(zip(self.coefs_, self.intercepts_, strict=True))
        of_standardised = temperature_function(
            layers, self._unit(self.temperature_), self.min_temperature
        )

        def temperatures(values):
            x = np.asarray(values, dtype=np.float64) - self.margin_mean_
            x /= self.margin_scale_
            return of_standardised(x)

        return temperatures

    @property
    def _proba_keeps_prediction(self):
        return self.signal == "margin"

    def _write_proba(self, logits, out):
        if self.signal == "margin":
            margin_softmax(logits, self._temperature_function(), out)
        else:
            tempered_softmax(logits, self._temperatures, out)

    def _log_proba(self, logits):
        return tempered_log_softmax(logits, self._temperatures)

    def _check_loaded(self):
        super()._check_loaded()
        if not self.margin_scale_ > 0:
            raise ValueError("the saved calibrator is damaged: margin_scale_ <= 0.")

    def _check_parameters(self):
        super()._check_parameters()
        check_random_state(self.random_state)
        check_option(self, "objective", _OBJECTIVES)
        check_option(self, "binning", ("uniform", "quantile"))
        check_option(self, "signal", SIGNALS)
        check_option(self, "solver", ("lbfgs", "adam"))
        check_option(self, "init", ("quantiles", "random"))
        check_option(self, "hinges", ("fixed", "trained"))
        check_number(self, "n_bins", int, 1)
        check_number(self, "max_iter", int, 1)
        check_number(self, "bandwidth", float, 1e-6)
        for name in ("tol", "learning_rate"):
            check_number(self, name, float, 0, closed="neither")
        check_number(self, "smoothing", float, 0)
        for name in ("alpha", "top_label_weight"):
            if getattr(self, name) != "auto":
                check_number(self, name, float, 0)
        check_option(self, "temperature_unit", ("fitted", "logits"))
        below = 1.0 if self.temperature_unit == "fitted" else np.inf
        check_number(self, "min_temperature", float, 0, below)
        if self.n_iter_no_change is not None:
            check_number(self, "n_iter_no_change", int, 1)
        sizes = self.hidden_layer_sizes
        if not isinstance(sizes, (tuple, list)) or not all(
            isinstance(size, numbers.Integral) and size >= 1 for size in sizes
        ):
            raise ValueError(
                "The 'hidden_layer_sizes' parameter of SMARTCalibrator must be a tuple "
                f"of positive ints. Got {sizes!r} instead."
            )
        if self.hinges == "fixed" and len(sizes) != 1:
            raise ValueError(
                "hinges='fixed' needs one hidden layer, but hidden_layer_sizes="
                f"{sizes!r}. Pass hinges='trained' for another number of layers."
            )
        if self.hinges == "fixed" and self.init == "random":
            raise ValueError(
                "init='random' needs hinges='trained': fixed hinges have one start."
            )

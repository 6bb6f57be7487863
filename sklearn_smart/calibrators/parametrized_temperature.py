"""Parametrised temperature scaling: a network from the largest logits to T."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._numerics.calibration_losses import brier_score, log_loss
from .._numerics.logits import tempered_log_softmax, tempered_softmax
from .._numerics.objectives import TemperatureObjective
from .._numerics.signals import sorted_gaps
from .._numerics.solvers import lbfgs
from .._numerics.temperature_maps import FeatureNetwork
from .._numerics.tempered import TemperedLogits
from .._validation import check_number, check_option
from .base import BaseCalibrator
from .temperature import finite_temperature

_OBJECTIVES = {"brier_score": brier_score, "log_loss": log_loss}


class ParametrizedTemperatureScaling(BaseCalibrator):
    """Calibrate by a temperature that a network finds from the largest logits.

    ``p = softmax(z / T(z))`` with ``T > 0`` the output of a small network of rectified
    units on the sorted largest logits [1]_. Here its inputs are the distances of the
    next logits from the largest, in units of the single temperature and standardised,
    so that neither scale nor shift of the scores matters. The predicted class never
    changes. The network starts as the single temperature, with random hidden layers,
    and is trained by L-BFGS; the authors train theirs on the squared error by
    stochastic steps.

    Parameters
    ----------
    objective : {"brier_score", "log_loss"}, default="brier_score"
        What is minimised.
    n_logits : int, default=10
        Number of sorted logits seen, at least 2; all where there are fewer classes.
    hidden_layer_sizes : array-like of int, default=(5, 5)
        Widths of the hidden layers.
    alpha : float, default=1.0
        Strength of the penalty ``alpha ||weights||^2 / n``, at least 0.
    max_iter : int, default=2000
        Most steps.
    tol : float, default=1e-9
        The fit ends where the objective falls by less than this, relatively.
    random_state : int, RandomState instance or None, default=0
        Seed of the hidden layers' start.
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    coefs_ : list of ndarray of shape (n_inputs, n_outputs)
        Weights of the network, layer by layer.
    intercepts_ : list of ndarray of shape (n_outputs,)
        Biases, layer by layer.
    temperature_ : float
        The single temperature, the unit of the output.
    input_mean_, input_scale_ : ndarray of shape (n_inputs,)
        Mean and standard deviation of the inputs.
    loss_ : float
        The objective at the end, with the penalty.
    n_iter_ : int
        Steps taken.
    converged_ : bool
        Whether it ended before ``max_iter``.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Warns
    -----
    ConvergenceWarning
        If the fit ends at ``max_iter``.

    See Also
    --------
    SMARTCalibrator : From the margin alone, smooth and without random numbers.

    References
    ----------
    .. [1] C. Tomani, D. Cremers, F. Buettner. Parameterized Temperature Scaling for
       Boosting the Expressive Power in Post-Hoc Uncertainty Calibration. ECCV 2022.
       arXiv:2102.12182

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import ParametrizedTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(1000, 3)))
    >>> calibrator = ParametrizedTemperatureScaling().fit(scores, y)
    >>> [coef.shape for coef in calibrator.coefs_]
    [(2, 5), (5, 5), (5, 1)]
    """

    preserves_prediction = True

    def __init__(
        self,
        *,
        objective="brier_score",
        n_logits=10,
        hidden_layer_sizes=(5, 5),
        alpha=1.0,
        max_iter=2000,
        tol=1e-9,
        random_state=0,
        input="logits",
        classes=None,
    ):
        self.objective = objective
        self.n_logits = n_logits
        self.hidden_layer_sizes = hidden_layer_sizes
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        rows = TemperedLogits(logits, y)
        self.temperature_ = finite_temperature(rows, weight).temperature
        gaps = self._gaps(logits)
        share = weight / weight.sum()
        self.input_mean_ = share @ gaps
        spread = np.sqrt(share @ (gaps - self.input_mean_) ** 2)
        self.input_scale_ = np.where(spread > 0, spread, 1.0)
        network = FeatureNetwork(
            (gaps - self.input_mean_) / self.input_scale_,
            self.hidden_layer_sizes,
            self.temperature_,
        )
        curves = rows.tabulate(1 / self.temperature_)
        objective = TemperatureObjective(
            curves,
            network,
            [(1.0, _OBJECTIVES[self.objective])],
            weight,
            self.alpha * network.penalised,
        )
        start = network.single_start(check_random_state(self.random_state))
        solution = lbfgs(objective, start, max_iter=self.max_iter, tol=self.tol)
        if not solution.converged:
            warnings.warn(
                f"ParametrizedTemperatureScaling did not converge in {self.max_iter} "
                f"steps ({solution.message}). Increase max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )
        layers = network.layers(solution.parameters)
        self.coefs_ = [coef.copy() for coef, _ in layers]
        self.intercepts_ = [intercept.copy() for _, intercept in layers]
        self.loss_ = solution.value
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged

    def _gaps(self, logits):
        return sorted_gaps(logits, self.n_logits, self.temperature_)

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
            In units of the logits, > 0.
        """
        return self._of_rows(self._as_wanted(self._checked(scores)))

    def _of_rows(self, logits):
        network = FeatureNetwork(
            (self._gaps(logits) - self.input_mean_) / self.input_scale_,
            [coef.shape[1] for coef in self.coefs_[:-1]],
            self.temperature_,
        )
        layers = zip(self.coefs_, self.intercepts_, strict=True)
        return network.value(
            np.concatenate([p.ravel() for pair in layers for p in pair])
        )

    def _write_proba(self, logits, out):
        tempered_softmax(logits, self._of_rows, out)

    def _log_proba(self, logits):
        return tempered_log_softmax(logits, self._of_rows)

    def _check_parameters(self):
        super()._check_parameters()
        check_option(self, "objective", tuple(_OBJECTIVES))
        check_number(self, "n_logits", int, 2)
        check_number(self, "alpha", float, 0)
        check_number(self, "max_iter", int, 1)
        check_number(self, "tol", float, 0, closed="neither")
        check_random_state(self.random_state)
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object))
        for size in sizes.tolist():
            whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
            if not whole or size < 1:
                raise ValueError(
                    "The 'hidden_layer_sizes' parameter of "
                    "ParametrizedTemperatureScaling must be ints >= 1. Got "
                    f"{self.hidden_layer_sizes!r} instead."
                )

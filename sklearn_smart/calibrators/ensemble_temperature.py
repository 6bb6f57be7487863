"""Ensemble temperature scaling: tempered, raw and uniform probabilities mixed."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .._numerics.logits import softmax, tempered_softmax
from .._numerics.tempered import TemperedLogits
from .base import BaseCalibrator
from .temperature import finite_temperature


class EnsembleTemperatureScaling(BaseCalibrator):
    r"""Calibrate by a mixture of tempered, raw and uniform probabilities.

    .. math:: p = w_1 \, \mathrm{softmax}(z / T) + w_2 \, \mathrm{softmax}(z)
              + w_3 / K

    with weights >= 0 that sum to 1 [1]_. As its authors do, T is fitted first, as in
    temperature scaling, and the weights, for which the log loss is convex, after it.
    The order of the classes never changes. Where no calibration sample is
    misclassified, T is as in `SMARTCalibrator`.

    Parameters
    ----------
    input : {"logits", "probabilities"}, default="logits"
        What the scores are; see `TemperatureScaling`.
    classes : int or array-like, default=None
        Labels of the columns in their order; see `TemperatureScaling`.

    Attributes
    ----------
    temperature_ : float
        T.
    weights_ : ndarray of shape (3,)
        Weights of the tempered, the raw and the uniform probabilities.
    loss_ : float
        Mean log loss of the calibration set.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    See Also
    --------
    TemperatureScaling : The first part alone.

    References
    ----------
    .. [1] J. Zhang, B. Kailkhura, T. Y.-J. Han. Mix-n-Match: Ensemble and Compositional
       Methods for Uncertainty Calibration in Deep Learning. ICML 2020. arXiv:2003.07820

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart import EnsembleTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=1000)
    >>> scores = 4 * (np.eye(3)[y] + rng.normal(size=(1000, 3)))
    >>> bool(EnsembleTemperatureScaling().fit(scores, y).weights_[0] > 0.8)
    True
    """

    preserves_prediction = True

    def __init__(self, *, input="logits", classes=None):
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        rows = TemperedLogits(logits, y)
        self.temperature_ = finite_temperature(rows, weight).temperature
        of_label = np.empty((len(y), 3))
        for column, beta in enumerate((1 / self.temperature_, 1.0)):
            log_partition, _ = rows.log_partition(np.full(len(y), beta))
            of_label[:, column] = np.exp(-log_partition - beta * rows.gap)
        of_label[:, 2] = 1 / logits.shape[1]
        self.weights_, self.loss_ = _mixture_weights(of_label, weight / weight.sum())

    def _proba(self, logits):
        tempered, raw, uniform = self.weights_.astype(logits.dtype)
        out = tempered_softmax(logits, self.temperature_)
        out *= tempered
        if raw > 0:
            out += raw * softmax(logits)
        out += uniform / logits.shape[1]
        return out

    def _log_proba(self, logits):
        with np.errstate(divide="ignore"):
            return np.log(self._proba(logits))


def _mixture_weights(of_label, share):
    """Weights of least log loss, for the probability (n, 3) of each row's label."""

    def loss(weights):
        mixed = np.maximum(of_label @ weights, np.finfo(np.float64).tiny)
        return -float(share @ np.log(mixed)), -((share / mixed) @ of_label)

    # From temperature scaling, a little inside, where no label has probability 0.
    start = np.array([0.98, 0.01, 0.01])
    found = minimize(
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * 3,
        constraints={
            "type": "eq",
            "fun": lambda weights: weights.sum() - 1,
            "jac": lambda weights: np.ones(3),
        },
        options={"ftol": 1e-15, "maxiter": 500},
    )
    weights = np.clip(found.x, 0, None)
    weights[weights < 1e-10] = 0.0
    weights /= weights.sum()
    return weights, loss(weights)[0]

"""Temperature scaling: one temperature for all samples."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._numerics.logits import tempered_log_softmax, tempered_softmax
from .._numerics.temperature_fit import fit_single_temperature, fit_without_error
from .._numerics.tempered import TemperedLogits
from .base import BaseCalibrator


def warn_of_bound(single, rows):
    """Warn where the temperature of least log loss is a bound of its search."""
    if not single.converged:
        reason = (
            "no sample is misclassified by its scores, so the smaller the better"
            if rows.correct.all()
            else "the scores are no better than chance, so the larger the better"
            if np.exp(-single.loss) <= 1.001 / rows.logits.shape[1]
            else "the log loss has no minimum inside"
        )
        warnings.warn(
            f"The temperature {single.temperature:.3g} is at a bound of its search: "
            f"{reason}. More calibration samples may help.",
            ConvergenceWarning,
            stacklevel=4,
        )


def finite_temperature(rows, weight):
    """The temperature to start from, also where no sample is misclassified."""
    if rows.correct.all():
        return fit_without_error(rows, weight)
    return fit_single_temperature(rows, weight)


class TemperatureScaling(BaseCalibrator):
    """Calibrate by one temperature for all samples.

    ``p = softmax(z / T)`` with the ``T > 0`` of least log loss [1]_. The predicted
    class never changes.

    Parameters
    ----------
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
        The fitted temperature, in units of the logits.
    beta_ : float
        Its inverse, ``1 / temperature_``.
    loss_ : float
        Mean log loss of the calibration set at ``temperature_``, in nats.
    n_iter_ : int
        Number of evaluations of the loss.
    converged_ : bool
        False where the loss has no minimum inside the bounds of the search.
    classes_ : ndarray of shape (n_classes,)
        Labels in the order of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where the scores had any.

    Warns
    -----
    ConvergenceWarning
        If the temperature is at a bound of the search: scores no better than chance,
        or without any error.

    See Also
    --------
    SMARTCalibrator : A temperature for each sample.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural
       Networks. ICML 2017. arXiv:1706.04599

    Examples
    --------
    >>> from sklearn_smart import TemperatureScaling
    >>> scores, y = [[6.0, 0.0]] * 4, [0, 0, 0, 1]
    >>> calibrator = TemperatureScaling().fit(scores, y)
    >>> round(calibrator.temperature_, 4)
    5.4614
    >>> calibrator.predict_proba([[6.0, 0.0]]).round(4)
    array([[0.75, 0.25]])
    """

    preserves_prediction = True

    def __init__(self, *, input="logits", classes=None):
        self.input = input
        self.classes = classes

    def _fit(self, logits, y, sample_weight):
        rows = TemperedLogits(logits, y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        single = fit_single_temperature(rows, weight)
        warn_of_bound(single, rows)
        self.temperature_ = single.temperature
        self.loss_ = single.loss
        self.n_iter_ = single.n_iter
        self.converged_ = single.converged

    @property
    def beta_(self):
        """The inverse temperature ``1 / temperature_``, by scikit-learn's name."""
        return 1 / self.temperature_

    def temperatures(self, scores):
        """The temperature of each sample: here the same for all.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes), (n_samples,) or \
(n_samples, 1)
            Scores of the kind that the calibrator was fitted on.

        Returns
        -------
        temperatures : ndarray of shape (n_samples,)
            In units of the logits.
        """
        return np.full(len(self._checked(scores)), self.temperature_)

    def _write_proba(self, logits, out):
        tempered_softmax(logits, self.temperature_, out)

    def _log_proba(self, logits):
        return tempered_log_softmax(logits, self.temperature_)

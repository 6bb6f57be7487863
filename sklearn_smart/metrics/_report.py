"""All metrics of a prediction at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._binned import check_binning, edges_for, sum_classes, sum_events, top_label_events
from ._brier_decomposition import decompose
from ._expected_calibration_error import debiased_error, error_norm
from ._inputs import check_prediction
from ._kde_calibration_error import kde_error
from ._proper_scores import log_loss_terms
from ._smooth_calibration_error import smooth_error
from ._soft_calibration_error import soft_error
from ._spiegelhalter import spiegelhalter_of
from ._sweep_calibration_error import sweep_error


@dataclass(frozen=True)
class CalibrationReport:
    """What :func:`calibration_report` found.

    Attributes
    ----------
    values : dict of str to float
        Each number by name.

    n_samples : float
        Sum of the weights.

    n_classes : int
        Number of classes.

    n_bins : int
        Number of bins of the binned errors.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> report = metrics.calibration_report([0, 1, 1, 0], [0.2, 0.9, 0.6, 0.4])
    >>> report.n_classes, round(report["brier_score"], 3)
    (2, 0.093)
    """

    values: dict
    n_samples: float
    n_classes: int
    n_bins: int

    def __getitem__(self, name):
        return self.values[name]

    def __str__(self):
        width = max(map(len, self.values))
        head = f"{self.n_samples:g} samples, {self.n_classes} classes"
        lines = [f"{name:<{width}}  {value:.6g}" for name, value in self.values.items()]
        return "\n".join([f"{head}, {self.n_bins} bins", *lines])

    def to_frame(self):
        """Return the numbers as a pandas DataFrame with one row for each.

        Returns
        -------
        pandas.DataFrame
            Column ``value``, indexed by name.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "CalibrationReport.to_frame needs pandas. Install it with the extra "
                "'pandas': pip install 'sklearn-smart[pandas]'."
            ) from error
        return pd.DataFrame({"value": pd.Series(self.values)})


def calibration_report(y_true, y_prob, *, n_bins=15, labels=None, sample_weight=None):
    """Every metric of this module for one prediction.

    Input is checked once, the top-label events are sorted once and the binned errors
    share their sums per bin; the numbers are those of the single functions with their
    default options.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    n_bins : int, default=15
        Number of bins.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    CalibrationReport
        Its ``values`` hold

        - ``accuracy``, ``confidence`` (mean) and ``confidence_accuracy_gap``;
        - ``log_loss`` and ``brier_score`` with ``brier_reliability``,
          ``brier_resolution``, ``brier_uncertainty`` and ``brier_within_bins``;
        - ``ece``, ``ece_l2``, ``ece_l2_debiased``, ``ece_max`` (equal width),
          ``ece_equal_mass`` and ``ece_class_wise``;
        - ``ece_sweep``, ``kde_ece``, ``smooth_ece``, ``soft_ece`` and
          ``charbonnier_soft_ece`` (smoothing 0.001);
        - ``spiegelhalter_z`` and ``spiegelhalter_p_value``.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    The references of the single functions.

    Examples
    --------
    >>> from sklearn_smart.metrics import calibration_report
    >>> report = calibration_report([0, 1, 1, 0], [0.2, 0.9, 0.6, 0.4], n_bins=5)
    >>> round(report["ece"], 3), round(report["accuracy"], 3)
    (0.275, 1.0)
    """
    check_binning(n_bins, "uniform")
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    weight = prediction.sample_weight
    total = prediction.n_samples if weight is None else float(weight.sum())
    values = {}
    top = _sorted(top_label_events(prediction))
    uniform = sum_events(top, edges_for(top, n_bins, "uniform"))
    values["accuracy"] = float(uniform.outcome.sum() / total)
    values["confidence"] = float(uniform.prob.sum() / total)
    values["confidence_accuracy_gap"] = values["confidence"] - values["accuracy"]
    values["log_loss"] = float(np.average(log_loss_terms(prediction), weights=weight))
    values |= _brier_values(prediction, n_bins)
    values["ece"] = error_norm(uniform, "l1")
    values["ece_l2"] = error_norm(uniform, "l2")
    values["ece_l2_debiased"] = debiased_error(uniform)
    values["ece_max"] = error_norm(uniform, "max")
    quantile = sum_events(top, edges_for(top, n_bins, "quantile"))
    values["ece_equal_mass"] = error_norm(quantile, "l1")
    values["ece_class_wise"] = error_norm(
        sum_classes(prediction, n_bins, "uniform"), "l1"
    )
    values["ece_sweep"] = sweep_error(top)
    values["kde_ece"] = kde_error(top)
    values["smooth_ece"] = smooth_error(top)
    values["soft_ece"] = soft_error(top, n_bins)
    values["charbonnier_soft_ece"] = soft_error(top, n_bins, smoothing=1e-3)
    result = spiegelhalter_of(prediction)
    values["spiegelhalter_z"] = result.statistic
    values["spiegelhalter_p_value"] = result.p_value
    return CalibrationReport(values, total, prediction.n_classes, n_bins)


def _sorted(events):
    order = np.argsort(events.prob, kind="stable")
    weight = events.sample_weight
    return type(events)(
        events.prob[order],
        events.outcome[order],
        None if weight is None else weight[order],
    )


def _brier_values(prediction, n_bins):
    scale = 0.5 if prediction.n_classes == 2 else 1.0
    parts = decompose(prediction, n_bins, "uniform", scale)
    names = ("score", "reliability", "resolution", "uncertainty", "within_bins")
    return {f"brier_{name}": part for name, part in zip(names, parts, strict=True)}

"""Spiegelhalter's test: the Brier score against its value under calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from ._inputs import check_prediction
from ._proper_scores import brier_terms


class SpiegelhalterResult(NamedTuple):
    """Result of :func:`spiegelhalter_test`.

    Attributes
    ----------
    statistic : float
        Spiegelhalter's z; positive where the Brier score is larger than probabilities
        that are true would give (over-confidence).

    p_value : float
        Two-sided, from the standard normal distribution.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> result = metrics.spiegelhalter_test([0, 1, 1, 0], [0.5] * 4)
    >>> type(result).__name__
    'SpiegelhalterResult'
    """

    statistic: float
    p_value: float


def spiegelhalter_test(y_true, y_prob, *, labels=None, sample_weight=None):
    """Test that probabilities are calibrated, by the Brier score.

    If labels are drawn from the predicted probabilities, the squared distance
    ``S_i = sum_k (p_ik - 1[y_i = k]) ** 2`` of a sample has mean ``1 - sum_k p_ik^2``
    and variance ``4 (sum_k p_ik^3 - (sum_k p_ik^2)^2)``. The statistic

    ``z = sum_i (S_i - mean_i) / sqrt(sum_i variance_i)``

    is then about standard normal. For two classes it is Spiegelhalter's
    ``sum (y - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p))``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    SpiegelhalterResult
        ``statistic`` and ``p_value``; where every probability is 0, 1 or equal for
        all classes the score has no variance, and they are NaN.

    Raises
    ------
    ValueError
        If an array is not as said above.

    References
    ----------
    D. J. Spiegelhalter, "Probabilistic Prediction in Patient Management and Clinical
    Trials", Statistics in Medicine 5, 1986, doi:10.1002/sim.4780050506.

    Examples
    --------
    >>> from sklearn_smart.metrics import spiegelhalter_test
    >>> result = spiegelhalter_test([0, 1] * 50, [0.1, 0.9] * 50)
    >>> round(result.statistic, 2), result.p_value < 0.01
    (-3.33, True)
    """
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return spiegelhalter_of(prediction)


def spiegelhalter_of(prediction):
    """:class:`SpiegelhalterResult` of a checked prediction."""
    square, cube = _power_sums(prediction)
    weight = prediction.sample_weight
    weight = np.ones(prediction.n_samples) if weight is None else weight
    excess = weight @ (brier_terms(prediction) - (1 - square))
    variance = 4 * (weight @ np.maximum(cube - square**2, 0))
    if variance < 1e-20 * weight.sum():
        return SpiegelhalterResult(float("nan"), float("nan"))
    statistic = float(excess / np.sqrt(variance))
    return SpiegelhalterResult(statistic, float(2 * stats.norm.sf(abs(statistic))))


def _power_sums(prediction):
    """Sums over classes of the squares and the cubes of probabilities, (n,) each."""
    p = prediction.prob
    if p.ndim == 1:
        p = p.astype(np.float64)
        return p**2 + (1 - p) ** 2, p**3 + (1 - p) ** 3
    square = np.einsum("ij,ij->i", p, p, dtype=np.float64)
    return square, np.einsum("ij,ij,ij->i", p, p, p, dtype=np.float64)

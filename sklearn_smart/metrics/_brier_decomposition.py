"""Brier score as reliability, resolution and uncertainty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._binned import check_binning, sum_classes
from ._inputs import check_option, check_prediction
from ._proper_scores import brier_terms


class BrierDecomposition(NamedTuple):
    """Parts of a Brier score.

    Attributes
    ----------
    score : float
        The Brier score, ``reliability - resolution + uncertainty + within_bins``.

    reliability : float
        Squared distance of probability and frequency, >= 0; lower is better.

    resolution : float
        Squared distance of the frequencies of the bins from the overall frequency,
        >= 0; greater is better.

    uncertainty : float
        Score of the overall frequencies; a property of the labels alone.

    within_bins : float
        What probabilities that differ inside a bin add: their variance there minus
        twice their covariance with the outcome; 0 where each bin has one probability.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> parts = metrics.brier_decomposition([0, 1, 1, 1], [0.5, 0.5, 0.9, 0.9])
    >>> type(parts).__name__, round(parts.uncertainty, 4)
    ('BrierDecomposition', 0.1875)
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def brier_decomposition(
    y_true,
    y_prob,
    *,
    n_bins=15,
    strategy="uniform",
    scale_by_half="auto",
    labels=None,
    sample_weight=None,
):
    """Murphy's parts of the Brier score, summed over classes.

    Each class k has bins of its own probability. With W_kb the share of weight in a
    bin, f_kb the frequency of the class there, v_kb its mean probability and f_k its
    overall frequency,

    - reliability: ``sum_kb W_kb (v_kb - f_kb) ** 2``,
    - resolution: ``sum_kb W_kb (f_kb - f_k) ** 2``,
    - uncertainty: ``sum_k f_k (1 - f_k)``,
    - within_bins: what remains of the score.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    n_bins : int, default=15
        Number of bins.

    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight.

    scale_by_half : bool or "auto", default="auto"
        Whether the sums over classes are halved, as in :func:`brier_score`; "auto" for
        two classes only.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    BrierDecomposition
        Score, reliability, resolution, uncertainty and within_bins.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    A. H. Murphy, "A New Vector Partition of the Probability Score", Journal of Applied
    Meteorology 12, 1973, doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2.
    D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe, "Two Extra Components in the
    Brier Score Decomposition", Weather and Forecasting 23, 2008,
    doi:10.1175/2007WAF2006116.1.

    Examples
    --------
    >>> from sklearn_smart.metrics import brier_decomposition
    >>> parts = brier_decomposition([0, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8])
    >>> round(parts.reliability, 4), round(parts.resolution, 4), parts.uncertainty
    (0.0178, 0.0278, 0.25)
    """
    check_binning(n_bins, strategy)
    if not isinstance(scale_by_half, bool | np.bool_):
        check_option(scale_by_half, "scale_by_half", ("auto",))
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    half = prediction.n_classes == 2 if scale_by_half == "auto" else scale_by_half
    return decompose(prediction, n_bins, strategy, 0.5 if half else 1.0)


def decompose(prediction, n_bins, strategy, scale):
    """:class:`BrierDecomposition` of a checked prediction, times ``scale``."""
    sums = sum_classes(prediction, n_bins, strategy)
    score = float(np.average(brier_terms(prediction), weights=prediction.sample_weight))
    total = sums.weight[0].sum()
    overall = sums.outcome.sum(axis=1, keepdims=True) / total
    filled = sums.weight > 0
    weight, prob, outcome = (part[filled] for part in sums)
    frequency = outcome / weight
    base = np.broadcast_to(overall, filled.shape)[filled]
    reliability = float(weight @ (prob / weight - frequency) ** 2 / total)
    resolution = float(weight @ (frequency - base) ** 2 / total)
    uncertainty = float((overall * (1 - overall)).sum())
    parts = [score, reliability, resolution, uncertainty]
    within = score - (reliability - resolution + uncertainty)
    return BrierDecomposition(*(scale * part for part in (*parts, within)))

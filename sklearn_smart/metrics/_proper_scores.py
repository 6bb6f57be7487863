"""Proper scores: log loss and the Brier score, without a one-hot matrix."""

from __future__ import annotations

import numpy as np

from ._inputs import check_option, check_prediction


def log_loss(y_true, y_prob, *, labels=None, sample_weight=None):
    """Log loss ``-log p_y``, the weighted mean over samples; in [0, inf).

    The same number as :func:`sklearn.metrics.log_loss` for labels in sorted order,
    without its (n_samples, n_classes) matrix of indicators, and with this module's
    checks: ``labels`` may name the columns in any order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label. Probabilities are
        clipped to [eps, 1 - eps] with the machine epsilon of their dtype.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    float
        Lower is better.

    Raises
    ------
    ValueError
        If the input is empty, of different lengths, NaN, outside [0, 1] or not
        summing to 1; if ``y_true`` holds a label that no column has; if a weight is
        negative or all are 0.

    References
    ----------
    I. J. Good, "Rational Decisions", Journal of the Royal Statistical Society B 14,
    1952, doi:10.1111/j.2517-6161.1952.tb00104.x.

    Examples
    --------
    >>> from sklearn_smart.metrics import log_loss
    >>> round(log_loss(["ham", "spam"], [0.2, 0.5]), 4)
    0.4581
    """
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return float(
        np.average(log_loss_terms(prediction), weights=prediction.sample_weight)
    )


def brier_score(
    y_true, y_prob, *, labels=None, sample_weight=None, scale_by_half="auto"
):
    """Brier score, the mean squared distance of probabilities and outcome.

    ``sum_k (p_k - 1[y = k]) ** 2``, averaged over samples, in [0, 2]; half of it, in
    [0, 1], where ``scale_by_half`` says so. For two classes the half is
    ``(p - 1[y = 1]) ** 2``. The same number as
    :func:`sklearn.metrics.brier_score_loss`, without its matrix of indicators.

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

    scale_by_half : bool or "auto", default="auto"
        Whether the sum over classes is halved. "auto", as in scikit-learn: for two
        classes only.

    Returns
    -------
    float
        Lower is better.

    Raises
    ------
    ValueError
        If the input is empty, of different lengths, NaN, outside [0, 1] or not
        summing to 1; if ``y_true`` holds a label that no column has; if a weight is
        negative or all are 0.

    References
    ----------
    G. W. Brier, "Verification of Forecasts Expressed in Terms of Probability",
    Monthly Weather Review 78, 1950,
    doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> from sklearn_smart.metrics import brier_score
    >>> round(brier_score([0, 1], [0.2, 0.5]), 4)
    0.145
    >>> round(brier_score([0, 1], [0.2, 0.5], scale_by_half=False), 4)
    0.29
    """
    if not isinstance(scale_by_half, bool | np.bool_):
        check_option(scale_by_half, "scale_by_half", ("auto",))
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    score = np.average(brier_terms(prediction), weights=prediction.sample_weight)
    half = prediction.n_classes == 2 if scale_by_half == "auto" else scale_by_half
    return float(score / 2 if half else score)


def true_class_prob(prediction):
    """Probability of the true class, (n,)."""
    y, prob = prediction.y, prediction.prob
    if prob.ndim == 1:
        return np.where(y == 1, prob, prob.dtype.type(1) - prob)
    return prob[np.arange(len(y)), y]


def log_loss_terms(prediction):
    """Log loss of each sample, (n,) float64."""
    prob = true_class_prob(prediction)
    eps = np.finfo(prob.dtype).eps
    return -np.log(np.clip(prob, eps, 1 - eps), dtype=np.float64)


def brier_terms(prediction):
    """Squared distance, summed over classes, of each sample, (n,) float64."""
    prob = prediction.prob
    if prob.ndim == 1:
        miss = prob - (prediction.y == 1).astype(np.float64)
        return 2 * miss**2
    hit = true_class_prob(prediction).astype(np.float64)
    square = np.einsum("ij,ij->i", prob, prob, dtype=np.float64, casting="same_kind")
    # (1 - p_y)^2 plus the squares of the others; rounding may not make it negative.
    return (1 - hit) ** 2 + np.maximum(square - hit**2, 0)

"""Mean confidence minus accuracy: over-confidence with its sign."""

from __future__ import annotations

import numpy as np

from ._binned import one_event
from ._inputs import check_option, check_prediction

_KINDS = ("top_label", "positive_class")


def confidence_accuracy_gap(
    y_true,
    y_prob,
    *,
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Mean confidence minus accuracy; in [-1, 1], 0 is best.

    Positive where probabilities are too high on average (over-confidence), negative
    where they are too low. Its absolute value is the expected calibration error with a
    single bin, and no more than that with several.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    kind : {"top_label", "positive_class"}, default="top_label"
        The event: the predicted class is the true one, or ``pos_label`` is.

    pos_label : int, float, bool or str, default=None
        The class of ``kind="positive_class"``; None is the second of two labels.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    float
        Nearer to 0 is better.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    A. H. Murphy, "A New Vector Partition of the Probability Score", Journal of Applied
    Meteorology 12, 1973 (bias in the large).

    Examples
    --------
    >>> from sklearn_smart.metrics import confidence_accuracy_gap
    >>> round(confidence_accuracy_gap([0, 1, 1], [0.3, 0.9, 0.2]), 3)
    0.133
    """
    check_option(kind, "kind", _KINDS)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    terms = gap_terms(prediction, kind, pos_label)
    return float(np.average(terms, weights=prediction.sample_weight))


def gap_terms(prediction, kind="top_label", pos_label=None):
    """Probability minus outcome of each sample, (n,) float64."""
    events = one_event(prediction, kind, pos_label)
    return events.prob - events.outcome.astype(np.float64)

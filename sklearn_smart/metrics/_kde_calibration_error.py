"""Calibration error from kernel density estimates."""

from __future__ import annotations

import numbers

import numpy as np

from ._binned import KINDS, over_events
from ._inputs import check_option, check_prediction
from ._smoothing import MirroredSum, integral, triweight

_N_CELLS = 4096


def kde_calibration_error(
    y_true,
    y_prob,
    *,
    bandwidth=None,
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Calibration error from kernel densities (KDE-ECE); 0 is best, at most 1.

    With a triweight kernel K, mirrored at 0 and 1, the density of the probabilities is
    ``d(t) = (1/n) sum_i K(t, v_i)``, that of the outcomes
    ``u(t) = (1/n) sum_i outcome_i K(t, v_i)``, and the metric

    ``integral over [0, 1] of |t d(t) - u(t)| dt``,

    the mean distance of t and the frequency ``u(t) / d(t)``. As the kernel compares an
    outcome with t and not with its own probability, a wide kernel adds to the error.
    Time and memory are linear in the samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    bandwidth : float, default=None
        Standard deviation of the kernel, > 0, in units of probability. None takes
        ``std(v) * (2 n) ** -0.2``. Values below 1 / 2048 are raised to it.

    kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
        The event: the predicted class is the true one; each class is, in turn, and
        the mean over classes is taken; or ``pos_label`` is.

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
        Lower is better.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: Ensemble and Compositional
    Methods for Uncertainty Calibration in Deep Learning", ICML 2020, arXiv:2003.07329.

    Examples
    --------
    >>> from sklearn_smart.metrics import kde_calibration_error
    >>> y_true, y_prob = [0, 0, 1, 1], [0.8, 0.7, 0.8, 0.7]
    >>> round(kde_calibration_error(y_true, y_prob), 3)
    0.25
    """
    if bandwidth is not None and not (
        isinstance(bandwidth, numbers.Real) and 0 < bandwidth < np.inf
    ):
        raise ValueError(
            "The 'bandwidth' parameter must be None or a float in the range (0, inf). "
            f"Got {bandwidth!r} instead."
        )
    check_option(kind, "kind", KINDS)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    return over_events(
        prediction, kind, pos_label, lambda events: kde_error(events, bandwidth)
    )


def kde_error(events, bandwidth=None):
    """The error of one event."""
    weight = events.sample_weight
    n = len(events.prob) if weight is None else weight.sum()
    weight = np.full(len(events.prob), 1.0) if weight is None else weight
    if bandwidth is None:
        mean = weight @ events.prob / n
        spread = np.sqrt(weight @ (events.prob - mean) ** 2 / n)
        bandwidth = spread * (2 * n) ** -0.2
    sums = MirroredSum(events.prob, [weight / n, weight * events.outcome / n], _N_CELLS)
    density, happened = sums.at_nodes(triweight(max(bandwidth, 2 / _N_CELLS)))
    place = np.arange(_N_CELLS + 1) / _N_CELLS
    return float(integral(np.abs(place * density - happened)))

"""The curve behind a reliability diagram without bins: kernel-smoothed frequency."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from ._binned import KINDS, class_events, positive_index, top_label_events
from ._inputs import check_option, check_prediction
from ._smooth_calibration_error import smooth_error
from ._smoothing import MirroredSum, gaussian

_N_CELLS = 4096
# The narrowest kernel: 4 cells of the grid.
_NARROWEST = 4 / _N_CELLS


@dataclass(frozen=True, eq=False)
class SmoothReliability:
    """Smoothed frequency of an event against its predicted probability.

    Attributes
    ----------
    prob : ndarray of shape (n_points,)
        Predicted probability, an even grid over [0, 1].

    frequency : ndarray of shape (n_points,)
        Kernel-weighted share of the samples where the event happened, in [0, 1].

    density : ndarray of shape (n_points,)
        Smoothed density of the predicted probability; its integral over [0, 1] is 1.

    standard_error : ndarray of shape (n_points,)
        Standard deviation of ``frequency`` if the predicted probabilities were true.

    bandwidth : float
        Standard deviation of the Gaussian kernel.

    event : str
        What the event is.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> curve = metrics.smooth_reliability([0, 1] * 50, [0.3, 0.7] * 50)
    >>> curve.prob.shape == curve.frequency.shape, curve.bandwidth > 0
    (True, True)
    """

    prob: np.ndarray
    frequency: np.ndarray
    density: np.ndarray
    standard_error: np.ndarray
    bandwidth: float
    event: str


def smooth_reliability(
    y_true,
    y_prob,
    *,
    bandwidth=None,
    n_points=257,
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Frequency of an event as a smooth function of its predicted probability.

    ``f(t) = sum_i K(t, v_i) outcome_i / sum_i K(t, v_i)`` with a Gaussian kernel K
    mirrored at 0 and 1: the Nadaraya-Watson estimate. By default the kernel's standard
    deviation is the smooth calibration error itself, as in the smooth reliability
    diagram of its authors. Time and memory are linear in the samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    bandwidth : float, default=None
        Standard deviation of the kernel, in (0, 1]. None is
        :func:`smooth_calibration_error` of the same event, but at least 0.01.

    n_points : int, default=257
        Points of the grid over [0, 1]: 2, 3, 5, 9, ... or 4097.

    kind : {"top_label", "class_wise", "positive_class"}, default="top_label"
        The event: the predicted class is the true one; each class is, in turn; or
        ``pos_label`` is.

    pos_label : int, float, bool or str, default=None
        The class of ``kind="positive_class"``; None is the second of two labels.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    SmoothReliability or list of SmoothReliability
        For "class_wise" one for each class, in the order of the columns.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    J. Blasiok, P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel
    Smoothing", ICLR 2024, arXiv:2309.12236.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart.metrics import smooth_reliability
    >>> y_true, y_prob = [0, 1, 1, 0], np.array([0.5, 0.5, 0.5, 0.5])
    >>> curve = smooth_reliability(
    ...     y_true, y_prob, kind="positive_class", bandwidth=0.1, n_points=3
    ... )
    >>> curve.frequency
    array([0.5, 0.5, 0.5])
    """
    check_option(kind, "kind", KINDS)
    if bandwidth is not None and not (
        isinstance(bandwidth, numbers.Real)
        and not isinstance(bandwidth, bool)
        and 0 < bandwidth <= 1
    ):
        raise ValueError(
            "The 'bandwidth' parameter must be a float in the range (0, 1] or None. "
            f"Got {bandwidth!r} instead."
        )
    steps = [1 + 2**power for power in range(13)]
    if isinstance(n_points, bool) or n_points not in steps:
        raise ValueError(
            f"The 'n_points' parameter must be one of {steps}. Got {n_points!r} "
            "instead."
        )
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    if kind == "top_label":
        return _smoothed(
            top_label_events(prediction), bandwidth, int(n_points), "top label"
        )
    if kind == "positive_class":
        classes = [positive_index(prediction, pos_label)]
    else:
        classes = range(prediction.n_classes)
    curves = [
        _smoothed(
            class_events(prediction, k),
            bandwidth,
            int(n_points),
            f"class {prediction.labels[k]}",
        )
        for k in classes
    ]
    return curves if kind == "class_wise" else curves[0]


def _smoothed(events, bandwidth, n_points, event):
    """:class:`SmoothReliability` of one event."""
    if bandwidth is None:
        bandwidth = max(0.01, smooth_error(events))
    bandwidth = max(float(bandwidth), _NARROWEST)
    prob = np.asarray(events.prob, dtype=np.float64)
    weight = (
        np.ones(len(prob)) if events.sample_weight is None else events.sample_weight
    )
    kernel = gaussian(bandwidth)
    masses = [weight, weight * events.outcome]
    mass, happened = MirroredSum(prob, masses, _N_CELLS).at_nodes(kernel)
    square = _squared_kernel_sum(prob, weight * prob * (1 - prob), bandwidth)
    every = _N_CELLS // (n_points - 1)
    mass, happened, square = mass[::every], happened[::every], square[::every]
    # Far from all samples both sums are rounding: the frequency is that of no sample.
    empty = mass <= 1e-9 * mass.max()
    total = np.where(empty, 1.0, mass)
    scale = weight.sum()
    variance = np.maximum(square, 0) / total**2
    return SmoothReliability(
        prob=np.linspace(0, 1, n_points),
        frequency=np.where(empty, np.nan, np.clip(happened / total, 0, 1)),
        density=np.maximum(mass, 0) / scale,
        standard_error=np.where(empty, np.nan, np.sqrt(variance)),
        bandwidth=bandwidth,
        event=event,
    )


def _squared_kernel_sum(values, masses, sigma):
    """``sum_i mass_i K(t, value_i)^2`` at the nodes of the grid.

    The square of a Gaussian is one of ``1 / sqrt(2)`` the width, and twice the product
    of a kernel and its mirror image falls apart into factors of t and of the value.
    """
    narrow = gaussian(sigma / np.sqrt(2))
    (out,) = MirroredSum(values, [masses], _N_CELLS).at_nodes(narrow)
    out /= 2 * np.sqrt(np.pi) * sigma
    t = np.linspace(0, 1, _N_CELLS + 1)
    for node, value in ((t, values), (1 - t, 1 - values)):
        near = float(masses @ np.exp(-((value / sigma) ** 2)))
        out += np.exp(-((node / sigma) ** 2)) * near / (np.pi * sigma**2)
    return out

"""Temperatures that can give a sample a stated confidence."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils import check_array


def feasible_temperatures(margin, confidence, n_classes):
    r"""Interval of temperatures that give a sample of some margin some confidence.

    Let a sample's largest logit exceed the runner-up by the margin g. The temperature
    T for which the largest entry of ``softmax(z / T)`` is the confidence p then lies
    in

    .. math::

        \frac{g}{\log\left((K - 1) \frac{p}{1 - p}\right)} \le T
        \le \frac{g}{\log\frac{p}{1 - p}} .

    The lower end is reached where all rivals tie with the runner-up, the upper end
    where there is one rival only; it is infinite for p <= 1/2. For two classes the
    ends meet.

    Parameters
    ----------
    margin : float or array-like
        Largest minus second largest logit, finite and >= 0, in units of the logits.

    confidence : float or array-like
        Largest probability, above ``1 / n_classes`` and below 1. Broadcast against
        ``margin``.

    n_classes : int
        Number of classes K >= 2.

    Returns
    -------
    lower, upper : ndarray
        Ends of the interval, of the common shape of ``margin`` and ``confidence``, in
        units of the logits. For margin 0 and p > 1/2 both are 0: two tied classes
        leave no temperature. For margin 0 and p <= 1/2 they are 0 and infinity.

    Raises
    ------
    ValueError
        If an argument is outside its range or the shapes do not broadcast.

    References
    ----------
    SMART: Sample Margin-Aware Recalibration of Temperature, ICML 2026,
    arXiv:2506.23492, Proposition 3.2.

    Examples
    --------
    >>> from sklearn_smart.calibrators import feasible_temperatures
    >>> lower, upper = feasible_temperatures(margin=4.0, confidence=0.8, n_classes=10)
    >>> print(f"{lower:.3f} to {upper:.3f}")
    1.116 to 2.885
    """
    if (
        not isinstance(n_classes, numbers.Integral)
        or isinstance(n_classes, bool)
        or n_classes < 2
    ):
        raise ValueError(
            "The 'n_classes' parameter must be an int in the range [2, inf). "
            f"Got {n_classes!r} instead."
        )
    margin = _numbers(margin, "margin")
    confidence = _numbers(confidence, "confidence")
    if (margin < 0).any():
        raise ValueError("margin must be >= 0: the largest logit minus the next.")
    if (confidence * n_classes <= 1).any() or (confidence >= 1).any():
        raise ValueError(
            "confidence must be in (1 / n_classes, 1): the largest of "
            f"{n_classes} probabilities at a finite temperature is."
        )
    odds = np.log(confidence) - np.log1p(-confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.where(odds > 0, margin / odds, np.inf)
    return np.asarray(margin / (odds + np.log(n_classes - 1))), np.asarray(upper)


def _numbers(values, name):
    return check_array(
        np.asarray(values),
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        input_name=name,
    )

"""What a metric would be if the probabilities were true, by simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ._catalogue import evaluate, resolve_metric
from ._inputs import check_prediction
from ._intervals import check_resampling


class CalibratedNull(NamedTuple):
    """Distribution of a metric under calibration.

    Attributes
    ----------
    mean : float
        Mean of the simulated values.

    low, high : float
        Central band that holds ``confidence_level`` of them.

    value : float
        The metric of the data.

    p_value : float
        Share of simulated values that are at least the observed one (with the usual
        correction of one): small where the data speak against calibration.

    confidence_level : float
        Nominal coverage of the band.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> null = metrics.calibrated_null([0, 1] * 50, [0.5] * 100)
    >>> null.value, null.low <= null.value <= null.high
    (0.0, True)
    """

    mean: float
    low: float
    high: float
    value: float
    p_value: float
    confidence_level: float


def calibrated_null(
    y_true,
    y_prob,
    *,
    metric="expected_calibration_error",
    confidence_level=0.95,
    n_resamples=1000,
    random_state=0,
    labels=None,
    sample_weight=None,
    **options,
):
    """Band of a metric under calibration: labels drawn from the probabilities.

    The calibration error of true probabilities is above 0 in a finite sample, by an
    amount that depends on the probabilities and their number. Labels are drawn from
    each row of ``y_prob``, independently, and the metric is computed anew. If the
    probabilities are true, the observed value is one more draw.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    metric : str or callable, default="expected_calibration_error"
        Name of a metric, the metric itself, or any function
        ``metric(y_true, y_prob, *, labels, sample_weight, **options)``.

    confidence_level : float, default=0.95
        Nominal coverage of the band, in (0, 1).

    n_resamples : int, default=1000
        Number of simulated label vectors.

    random_state : int, RandomState instance or None, default=0
        Seed of the labels.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0. Whole numbers are repetitions, each with a label of its own;
        other weights are kept, with one label for each row.

    **options : dict
        Keyword arguments of the metric, such as ``n_bins``.

    Returns
    -------
    CalibratedNull
        Mean, low, high, value, p_value and confidence_level.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    J. Vaicenavicius et al., "Evaluating Model Calibration in Classification", AISTATS
    2019, arXiv:1902.06977.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart.metrics import calibrated_null
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p
    >>> null = calibrated_null(y, p, n_resamples=200)
    >>> null.low < null.value < null.high, null.low > 0.01
    (True, True)
    """
    metric = resolve_metric(metric)
    alpha = check_resampling(confidence_level, n_resamples, False)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    value = evaluate(metric, prediction, prediction.sample_weight, **options)
    simulated = _repeated(prediction)
    rng = check_random_state(random_state)
    upto = None if simulated.prob.ndim == 1 else np.cumsum(simulated.prob, axis=1)
    values = np.empty(n_resamples)
    for i in range(n_resamples):
        drawn = replace(simulated, y=_draw(simulated, upto, rng))
        values[i] = evaluate(metric, drawn, simulated.sample_weight, **options)
    low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
    p_value = (1 + (values >= value - 1e-12).sum()) / (1 + n_resamples)
    return CalibratedNull(
        float(values.mean()), float(low), float(high), value, float(p_value), 1 - alpha
    )


def _repeated(prediction):
    """The prediction with rows repeated where weights are whole numbers."""
    weight = prediction.sample_weight
    if weight is None or (weight != np.rint(weight)).any():
        return prediction
    times = weight.astype(np.intp)
    return replace(
        prediction,
        y=prediction.y.repeat(times),
        prob=prediction.prob.repeat(times, axis=0),
        sample_weight=None,
    )


def _draw(prediction, upto, rng):
    uniform = rng.random_sample(len(prediction.y))
    if upto is None:
        return (uniform < prediction.prob).astype(np.intp)
    # Rows sum to 1 but for rounding.
    return (uniform[:, None] * upto[:, -1:] >= upto[:, :-1]).sum(axis=1)

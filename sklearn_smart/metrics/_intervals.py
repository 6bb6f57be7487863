"""Bootstrap intervals for metrics, and for the difference of two predictions."""

from __future__ import annotations

import numbers
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ._catalogue import evaluate, resolve_metric
from ._inputs import check_count, check_prediction
from ._inversion import Lengths, difference_interval, norm_interval
from ._resampling import resampled_counts

_NO_COVERAGE = (
    "No bootstrap interval of {name} reaches its nominal coverage where probabilities "
    "are nearly calibrated: read this one as a rough range. Intervals of "
    "expected_calibration_error and soft_calibration_error do, and calibrated_null "
    "says what {name} is under calibration."
)


class Interval(NamedTuple):
    """A value with a confidence interval.

    Attributes
    ----------
    value : float
        The metric of the data.

    low, high : float
        Limits of the interval.

    confidence_level : float
        Nominal coverage.

    method : {"studentized", "inversion", "basic"}
        How the limits were found.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> y, p = [0, 1, 1, 0] * 25, [0.3, 0.9, 0.6, 0.2] * 25
    >>> interval = metrics.bootstrap_interval(y, p, metric="brier_score")
    >>> round(interval.value, 3), interval.low < interval.value < interval.high
    (0.075, True)
    """

    value: float
    low: float
    high: float
    confidence_level: float
    method: str


class PairedDifference(NamedTuple):
    """Difference of a metric between two predictions of the same samples.

    Attributes
    ----------
    difference : float
        Metric of the first minus metric of the second.

    low, high : float
        Limits of the interval of the difference.

    p_value : float
        Two-sided p-value of no difference.

    confidence_level : float
        Nominal coverage.

    method : {"studentized", "inversion", "basic"}
        How they were found.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> y, first, second = [0, 1] * 50, [0.3, 0.7] * 50, [0.2, 0.8] * 50
    >>> found = metrics.paired_difference(y, first, second, metric="brier_score")
    >>> round(found.difference, 3)
    0.05
    """

    difference: float
    low: float
    high: float
    p_value: float
    confidence_level: float
    method: str


def bootstrap_interval(
    y_true,
    y_prob,
    *,
    metric="expected_calibration_error",
    confidence_level=0.95,
    n_resamples=1000,
    stratify=False,
    random_state=0,
    labels=None,
    sample_weight=None,
    **options,
):
    """Confidence interval of a metric, for its value in the population.

    Samples are drawn anew as weights; the data are not copied. The construction
    depends on the metric:

    - a mean over samples (:func:`log_loss`, :func:`brier_score`,
      :func:`confidence_accuracy_gap`): studentized bootstrap;
    - a binned error (:func:`expected_calibration_error` of any norm,
      :func:`soft_calibration_error`): the population value of the same bins, with the
      bins taken as they are. A percentile interval misses it where probabilities are
      nearly calibrated, since the errors of resampled data are too large twice. The
      limits are those lengths of the vector of true gaps for which the observed error
      is not in a tail of its bootstrap distribution; they start at 0 where the data
      agree with calibration, and need not contain the value, which is biased upwards;
    - any other metric or callable: reflected ("basic") bootstrap, with a warning, as
      no interval of those is known to cover.

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
        Nominal coverage, in (0, 1).

    n_resamples : int, default=1000
        Number of bootstrap replicates.

    stratify : bool, default=False
        Whether each replicate has the class counts of ``y_true``: for data sampled by
        class. Data sampled at random need False; their class counts vary too.

    random_state : int, RandomState instance or None, default=0
        Seed of the replicates.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    **options : dict
        Keyword arguments of the metric, such as ``n_bins``.

    Returns
    -------
    Interval
        Value, low, high, confidence_level and method.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    Warns
    -----
    UserWarning
        If the metric has no interval that is known to cover.

    References
    ----------
    P. Hall, "The Bootstrap and Edgeworth Expansion", Springer 1992 (studentized).
    T. T. Cai, M. G. Low, "Testing Composite Hypotheses, Hermite Polynomials and Optimal
    Estimation of a Nonsmooth Functional", Annals of Statistics 39, 2011,
    doi:10.1214/10-AOS849 (why a norm near 0 is hard).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart.metrics import bootstrap_interval
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p
    >>> interval = bootstrap_interval(y, p)
    >>> interval.low, interval.high < 0.1
    (0.0, True)
    """
    metric = resolve_metric(metric)
    alpha = check_resampling(confidence_level, n_resamples, stratify)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    value = evaluate(metric, prediction, prediction.sample_weight, **options)
    counts = _Counts(prediction, n_resamples, stratify, random_state)
    if metric.terms is not None:
        method = "studentized"
        mean = _Mean(metric.terms(prediction, **options), counts)
        low, high = mean.interval(alpha)
    elif metric.gaps is not None:
        method = "inversion"
        gaps = metric.gaps(prediction, **options)
        low, high = norm_interval(gaps, *counts.noise([gaps])[0], alpha)
    else:
        method = "basic"
        _warn_no_coverage(metric)
        replicates = counts.replicates(
            lambda weight: evaluate(metric, prediction, weight, **options)
        )
        low, high = _basic(value, replicates, alpha)
        low = max(low, 0.0) if metric.function.__name__.endswith("_error") else low
    return Interval(value, low, high, 1 - alpha, method)


def paired_difference(
    y_true,
    y_prob,
    y_prob_other,
    *,
    metric="expected_calibration_error",
    confidence_level=0.95,
    n_resamples=1000,
    stratify=False,
    random_state=0,
    labels=None,
    sample_weight=None,
    **options,
):
    """Difference of a metric between two predictions of the same samples.

    Both are evaluated on the same resampled weights, so what makes a sample easy or
    hard for both cancels. The constructions are those of :func:`bootstrap_interval`;
    for binned errors a pair of lengths of true gaps is in the interval where the
    observed difference is in no tail of what that pair gives.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    y_prob_other : array-like of shape (n_samples,) or (n_samples, n_classes)
        The other prediction.

    metric : str or callable, default="expected_calibration_error"
        As in :func:`bootstrap_interval`.

    confidence_level : float, default=0.95
        Nominal coverage, in (0, 1).

    n_resamples : int, default=1000
        Number of bootstrap replicates.

    stratify : bool, default=False
        Whether each replicate has the class counts of ``y_true``.

    random_state : int, RandomState instance or None, default=0
        Seed of the replicates.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    **options : dict
        Keyword arguments of the metric, such as ``n_bins``.

    Returns
    -------
    PairedDifference
        Difference (first minus other), low, high, p_value, confidence_level, method.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    Warns
    -----
    UserWarning
        If the metric has no interval that is known to cover.

    References
    ----------
    B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", Chapman and Hall
    1993, doi:10.1007/978-1-4899-4541-9.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart.metrics import paired_difference
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p
    >>> result = paired_difference(y, p**2, p, metric="brier_score")
    >>> result.low > 0, result.p_value < 0.01
    (True, True)
    """
    metric = resolve_metric(metric)
    alpha = check_resampling(confidence_level, n_resamples, stratify)
    first = check_prediction(y_true, y_prob, labels=labels, sample_weight=sample_weight)
    other = check_prediction(
        y_true, y_prob_other, labels=labels, sample_weight=sample_weight
    )
    if first.n_classes != other.n_classes:
        raise ValueError(
            "y_prob and y_prob_other must have the same classes. "
            f"Got {first.n_classes} and {other.n_classes}."
        )
    counts = _Counts(first, n_resamples, stratify, random_state)
    values = [evaluate(metric, p, p.sample_weight, **options) for p in (first, other)]
    difference = values[0] - values[1]
    if metric.terms is not None:
        terms = [metric.terms(p, **options) for p in (first, other)]
        mean = _Mean(terms[0] - terms[1], counts)
        found, method = (*mean.interval(alpha), mean.p_value()), "studentized"
    elif metric.gaps is not None:
        gaps = [metric.gaps(p, **options) for p in (first, other)]
        pair = [
            Lengths(one, *noise, alpha / 20)
            for one, noise in zip(gaps, counts.noise(gaps), strict=True)
        ]
        found, method = difference_interval(*pair, alpha), "inversion"
    else:
        _warn_no_coverage(metric)
        replicates = counts.replicates(
            lambda weight: (
                evaluate(metric, first, weight, **options)
                - evaluate(metric, other, weight, **options)
            )
        )
        tail = min((replicates <= 0).mean(), (replicates >= 0).mean())
        found = (*_basic(difference, replicates, alpha), min(1.0, 2 * float(tail)))
        method = "basic"
    return PairedDifference(difference, *found, 1 - alpha, method)


def check_resampling(confidence_level, n_resamples, stratify):
    """Check the parameters of a bootstrap and return one minus the level."""
    if (
        isinstance(confidence_level, bool)
        or not isinstance(confidence_level, numbers.Real)
        or not 0 < confidence_level < 1
    ):
        raise ValueError(
            "The 'confidence_level' parameter must be a float in the range (0, 1). "
            f"Got {confidence_level!r} instead."
        )
    check_count(n_resamples, "n_resamples")
    if not isinstance(stratify, bool | np.bool_):
        raise ValueError(
            f"The 'stratify' parameter must be a bool. Got {stratify!r} instead."
        )
    return 1 - confidence_level


def _warn_no_coverage(metric):
    name = getattr(metric.function, "__name__", repr(metric.function))
    warnings.warn(_NO_COVERAGE.format(name=name), UserWarning, stacklevel=3)


class _Counts:
    """Resampled weights of a prediction's samples, the same ones at every pass."""

    def __init__(self, prediction, n_resamples, stratify, random_state):
        weight = prediction.sample_weight
        self.weight = np.ones(prediction.n_samples) if weight is None else weight
        self.strata = prediction.y if stratify else None
        self.n_resamples = n_resamples
        self.seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)

    def __iter__(self):
        rng = np.random.RandomState(self.seed)
        return resampled_counts(self.n_resamples, self.weight, self.strata, rng)

    def noise(self, several):
        """Observed mean gaps and their noise, for several :class:`Gaps`."""
        total = self.weight.sum()
        observed = [(gaps.rows.T @ self.weight) / total for gaps in several]
        means = [[] for _ in several]
        for counts in self:
            share = counts.T / counts.sum(axis=1)
            for gaps, parts in zip(several, means, strict=True):
                parts.append((gaps.rows.T @ share).T)
        return [
            (mean, np.concatenate(parts) - mean)
            for mean, parts in zip(observed, means, strict=True)
        ]

    def replicates(self, function):
        """``function`` of each replicate's weights."""
        return np.array([function(row) for counts in self for row in counts])


class _Mean:
    """Studentized bootstrap of a weighted mean."""

    def __init__(self, terms, counts):
        weight, total = counts.weight, counts.weight.sum()
        self.mean = float(weight @ terms / total)
        centred = terms - self.mean
        self.error = float(np.sqrt(weight @ centred**2) / total)
        parts = []
        for count in counts:
            size = count.sum(axis=1)
            mean = count @ centred / size
            variance = np.maximum(count @ centred**2 / size - mean**2, 0)
            error = np.sqrt(variance / size)
            parts.append(np.divide(mean, error, where=error > 0, out=0 * mean))
        self.pivots = np.concatenate(parts)

    def interval(self, alpha):
        """Limits of the mean."""
        low, high = np.quantile(self.pivots, [alpha / 2, 1 - alpha / 2])
        return self.mean - float(high) * self.error, self.mean - float(low) * self.error

    def p_value(self):
        """Two-sided p-value of a mean of 0."""
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        pivot = self.mean / self.error
        above = (1 + (self.pivots >= pivot).sum()) / (1 + len(self.pivots))
        below = (1 + (self.pivots <= pivot).sum()) / (1 + len(self.pivots))
        return float(min(1.0, 2 * min(above, below)))


def _basic(value, replicates, alpha):
    low, high = np.quantile(replicates, [alpha / 2, 1 - alpha / 2])
    return float(2 * value - high), float(2 * value - low)

"""The table behind a reliability diagram: probability and frequency per bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ._binned import (
    KINDS,
    check_binning,
    class_events,
    edges_for,
    positive_index,
    sum_events,
    top_label_events,
)
from ._inputs import check_option, check_prediction


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """Probability and frequency of an event in each bin.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins; a bin holds its right edge, the first also its left one.

    weight : ndarray of shape (n_bins,)
        Weight of the samples in each bin; their number where weights are 1.

    mean_prob : ndarray of shape (n_bins,)
        Weighted mean of the probability; NaN in an empty bin.

    frequency : ndarray of shape (n_bins,)
        Weighted share of the samples where the event happened; NaN in an empty bin.

    event : str
        What the event is, as an axis label would say it.

    Examples
    --------
    >>> from sklearn_smart import metrics
    >>> table = metrics.reliability_table([0, 1, 1], [0.2, 0.9, 0.6], n_bins=5)
    >>> table.weight.tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """

    edges: np.ndarray
    weight: np.ndarray
    mean_prob: np.ndarray
    frequency: np.ndarray
    event: str

    @property
    def gap(self):
        """Mean probability minus frequency: positive is over-confidence."""
        return self.mean_prob - self.frequency

    def consistency_band(self, confidence_level=0.95):
        """Frequencies that each bin would show if its probabilities were true.

        The central interval of a binomial count with the bin's weight, rounded, as
        number of trials and its mean probability. Probabilities that differ within a
        bin make the true band slightly narrower.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability of each bin's interval, in (0, 1).

        Returns
        -------
        low, high : ndarray of shape (n_bins,)
            Limits of the frequency; NaN in an empty bin.
        """
        if not 0 < confidence_level < 1:
            raise ValueError(
                "The 'confidence_level' parameter must be a float in the range (0, 1). "
                f"Got {confidence_level!r} instead."
            )
        trials = np.maximum(np.rint(self.weight), 1)
        mean = np.clip(self.mean_prob, 0, 1)
        tail = (1 - confidence_level) / 2
        low = stats.binom.ppf(tail, trials, mean) / trials
        high = stats.binom.ppf(1 - tail, trials, mean) / trials
        return low, high

    @property
    def expected_calibration_error(self):
        """ECE in the L1 norm of these bins."""
        share = self.weight / self.weight.sum()
        return float(np.nansum(share * np.abs(self.gap)))


def reliability_table(
    y_true,
    y_prob,
    *,
    n_bins=15,
    strategy="uniform",
    kind="top_label",
    pos_label=None,
    labels=None,
    sample_weight=None,
):
    """Probability and frequency of an event per bin.

    The numbers of a reliability diagram, from the same bins as
    :func:`expected_calibration_error`.

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
    ReliabilityTable or list of ReliabilityTable
        Edges, weights, mean probabilities and frequencies; empty bins are kept. For
        "class_wise" a list with one table for each class, in the order of the columns.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above.

    References
    ----------
    A. H. Murphy, R. L. Winkler, "Reliability of Subjective Probability Forecasts of
    Precipitation and Temperature", Applied Statistics 26, 1977, doi:10.2307/2346866.

    Examples
    --------
    >>> from sklearn_smart.metrics import reliability_table
    >>> table = reliability_table([0, 1, 1, 1], [0.1, 0.8, 0.9, 0.6], n_bins=2)
    >>> table.weight.tolist(), table.frequency.tolist()[1]
    ([0.0, 4.0], 1.0)
    """
    check_binning(n_bins, strategy)
    check_option(kind, "kind", KINDS)
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    if kind == "top_label":
        return tabulate(top_label_events(prediction), n_bins, strategy, "top label")
    if kind == "class_wise":
        classes = range(prediction.n_classes)
        return [_class_table(prediction, k, n_bins, strategy) for k in classes]
    index = positive_index(prediction, pos_label)
    return _class_table(prediction, index, n_bins, strategy)


def _class_table(prediction, index, n_bins, strategy):
    event = f"class {prediction.labels[index]}"
    return tabulate(class_events(prediction, index), n_bins, strategy, event)


def tabulate(events, n_bins, strategy, event):
    """:class:`ReliabilityTable` of checked events."""
    edges = edges_for(events, n_bins, strategy)
    sums = sum_events(events, edges)
    with np.errstate(invalid="ignore"):
        return ReliabilityTable(
            edges=edges,
            weight=sums.weight,
            mean_prob=sums.prob / sums.weight,
            frequency=sums.outcome / sums.weight,
            event=event,
        )

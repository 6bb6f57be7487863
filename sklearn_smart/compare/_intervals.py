"""Standard errors and paired intervals from scores that share data.

Scores of overlapping training sets are not independent. With J folds, the variance
S^2 of a difference over the folds and rho the number of test rows for each row learned
from, Nadeau and Bengio's correction takes ``(1 / J + rho) S^2`` for the variance of the
mean. Where there is a single split, the variation over test rows is all there is: the
delete-a-group jackknife, with ``(G - 1) / G sum_g (d_(g) - mean d_(.))^2`` over G
groups of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats


class Interval(NamedTuple):
    """A mean with its standard error, confidence limits and two-sided p-value."""

    mean: float
    standard_error: float
    low: float
    high: float
    p_value: float


def corrected_t(values, test_ratio, confidence_level):
    """`Interval` of the mean of scores or differences over folds, (J,)."""
    n_folds = len(values)
    variance = (1 / n_folds + test_ratio) * np.var(values, ddof=1)
    return _t_interval(np.mean(values), variance, n_folds - 1, confidence_level)


def jackknife(value, leave_out, confidence_level):
    """`Interval` of ``value`` from its values without each of G groups, (G,)."""
    n_groups = len(leave_out)
    if n_groups < 2:
        return Interval(float(value), np.nan, np.nan, np.nan, np.nan)
    variance = (n_groups - 1) * np.var(leave_out)
    return _t_interval(value, variance, n_groups - 1, confidence_level)


def _t_interval(mean, variance, freedom, confidence_level):
    error = float(np.sqrt(variance))
    reach = float(stats.t.ppf((1 + confidence_level) / 2, freedom)) * error
    mean = float(mean)
    if error > 0:
        p_value = float(2 * stats.t.sf(abs(mean) / error, freedom))
    else:
        p_value = 1.0 if mean == 0 else 0.0
    return Interval(mean, error, mean - reach, mean + reach, p_value)

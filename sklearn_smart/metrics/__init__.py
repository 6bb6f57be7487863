"""Metrics of calibration, in the manner of :mod:`sklearn.metrics`.

Every metric is called as ``metric(y_true, y_prob, *, labels=None,
sample_weight=None, ...)`` and checks its input in the same way. Lower is better for
all of them; the scorers of :func:`get_scorer` are negated for ``scoring=``.
"""

from ._expected_calibration_error import expected_calibration_error
from ._proper_scores import brier_score, log_loss
from ._reliability_table import ReliabilityTable, reliability_table
from ._scorers import SCORERS, CalibrationScorer, get_scorer

__all__ = [
    "SCORERS",
    "CalibrationScorer",
    "ReliabilityTable",
    "brier_score",
    "expected_calibration_error",
    "get_scorer",
    "log_loss",
    "reliability_table",
]

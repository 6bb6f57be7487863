"""Metrics of calibration, in the manner of :mod:`sklearn.metrics`.

Every metric is called as ``metric(y_true, y_prob, *, labels=None,
sample_weight=None, ...)`` and checks its input in the same way. Lower is better for
all of them; the scorers of :func:`get_scorer` are negated for ``scoring=``.
"""

from ._brier_decomposition import BrierDecomposition, brier_decomposition
from ._calibrated_null import CalibratedNull, calibrated_null
from ._confidence_gap import confidence_accuracy_gap
from ._expected_calibration_error import expected_calibration_error
from ._intervals import (
    Interval,
    PairedDifference,
    bootstrap_interval,
    paired_difference,
)
from ._kde_calibration_error import kde_calibration_error
from ._proper_scores import brier_score, log_loss
from ._reliability_table import ReliabilityTable, reliability_table
from ._report import CalibrationReport, calibration_report
from ._score_parts import ScoreParts, score_parts
from ._scorers import SCORERS, CalibrationScorer, get_scorer
from ._smooth_calibration_error import smooth_calibration_error
from ._smooth_reliability import SmoothReliability, smooth_reliability
from ._soft_calibration_error import soft_calibration_error
from ._spiegelhalter import SpiegelhalterResult, spiegelhalter_test
from ._sweep_calibration_error import sweep_calibration_error

__all__ = [
    "SCORERS",
    "BrierDecomposition",
    "CalibratedNull",
    "CalibrationReport",
    "CalibrationScorer",
    "Interval",
    "PairedDifference",
    "ReliabilityTable",
    "ScoreParts",
    "SmoothReliability",
    "SpiegelhalterResult",
    "bootstrap_interval",
    "brier_decomposition",
    "brier_score",
    "calibrated_null",
    "calibration_report",
    "confidence_accuracy_gap",
    "expected_calibration_error",
    "get_scorer",
    "kde_calibration_error",
    "log_loss",
    "paired_difference",
    "reliability_table",
    "score_parts",
    "smooth_calibration_error",
    "smooth_reliability",
    "soft_calibration_error",
    "spiegelhalter_test",
    "sweep_calibration_error",
]

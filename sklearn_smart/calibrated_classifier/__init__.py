"""Calibration of a classifier: base estimators fitted by fold, then calibrators."""

from .base_scores import BaseScores, base_scores, cross_fit, out_of_fold_scores
from .classifier import CalibratedClassifier, CalibratedClassifierCV
from .methods import check_method, fit_method

__all__ = [
    "BaseScores",
    "CalibratedClassifier",
    "CalibratedClassifierCV",
    "base_scores",
    "check_method",
    "cross_fit",
    "fit_method",
    "out_of_fold_scores",
]

"""Calibrated probabilities for scikit-learn classifiers."""

from importlib.metadata import version as _version

from . import metrics
from .brier_weighted import BrierWeightedClassifier
from .calibrated_classifier import CalibratedClassifierCV
from .calibrators import (
    BaseCalibrator,
    IsotonicCalibrator,
    SigmoidCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
)
from .compare import (
    CalibrationComparison,
    CalibrationSizes,
    compare_calibration_sizes,
    compare_calibrators,
)
from .display import ConfidenceDisplay, ReliabilityDisplay, TemperatureDisplay

__version__ = _version("sklearn-smart")

__all__ = [
    "BaseCalibrator",
    "BrierWeightedClassifier",
    "CalibratedClassifierCV",
    "CalibrationComparison",
    "CalibrationSizes",
    "ConfidenceDisplay",
    "IsotonicCalibrator",
    "ReliabilityDisplay",
    "SMARTCalibrator",
    "SigmoidCalibrator",
    "TemperatureDisplay",
    "TemperatureScaling",
    "Uncalibrated",
    "compare_calibration_sizes",
    "compare_calibrators",
    "metrics",
]

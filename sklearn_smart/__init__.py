"""Calibrated probabilities for scikit-learn classifiers."""

from . import metrics
from .calibrators import (
    BaseCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
)
from .compare import CalibrationComparison, compare_calibrators
from .display import ReliabilityDisplay, TemperatureDisplay

__all__ = [
    "BaseCalibrator",
    "CalibrationComparison",
    "ReliabilityDisplay",
    "SMARTCalibrator",
    "TemperatureDisplay",
    "TemperatureScaling",
    "Uncalibrated",
    "compare_calibrators",
    "metrics",
]

"""Calibrated probabilities for scikit-learn classifiers."""

from . import metrics
from .calibrators import (
    BaseCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
)
from .display import ReliabilityDisplay, TemperatureDisplay

__all__ = [
    "BaseCalibrator",
    "ReliabilityDisplay",
    "SMARTCalibrator",
    "TemperatureDisplay",
    "TemperatureScaling",
    "Uncalibrated",
    "metrics",
]

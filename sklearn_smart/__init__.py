"""Calibrated probabilities for scikit-learn classifiers."""

from .calibrators import (
    BaseCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
)

__all__ = [
    "BaseCalibrator",
    "SMARTCalibrator",
    "TemperatureScaling",
    "Uncalibrated",
]

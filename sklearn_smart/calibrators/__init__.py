"""Calibrators: classifiers and transformers of scores."""

from .base import BaseCalibrator
from .identity import Uncalibrated
from .smart import SMARTCalibrator
from .temperature import TemperatureScaling

#: Names by which `CalibratedClassifierCV`, `compare_calibrators` and the command line
#: know the calibrators.
CALIBRATORS = {
    "uncalibrated": Uncalibrated,
    "temperature": TemperatureScaling,
    "smart": SMARTCalibrator,
}

__all__ = [
    "CALIBRATORS",
    "BaseCalibrator",
    "SMARTCalibrator",
    "TemperatureScaling",
    "Uncalibrated",
]

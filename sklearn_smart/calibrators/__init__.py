"""Calibrators: classifiers and transformers of scores."""

from .base import BaseCalibrator
from .feasible import feasible_temperatures
from .identity import Uncalibrated
from .one_vs_rest import IsotonicCalibrator, SigmoidCalibrator
from .smart import SMARTCalibrator
from .temperature import TemperatureScaling

#: Names by which `CalibratedClassifierCV`, `compare_calibrators` and the command line
#: know the calibrators.
CALIBRATORS = {
    "uncalibrated": Uncalibrated,
    "sigmoid": SigmoidCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureScaling,
    "smart": SMARTCalibrator,
}

__all__ = [
    "CALIBRATORS",
    "BaseCalibrator",
    "IsotonicCalibrator",
    "SMARTCalibrator",
    "SigmoidCalibrator",
    "TemperatureScaling",
    "Uncalibrated",
    "feasible_temperatures",
]

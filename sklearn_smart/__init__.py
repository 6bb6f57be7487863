"""Calibrated probabilities for scikit-learn classifiers."""

from importlib.metadata import version as _version

from . import metrics
from .brier_weighted import BrierWeightedClassifier
from .calibrated_classifier import CalibratedClassifierCV
from .calibrators import (
    BaseCalibrator,
    BayesianBinning,
    BetaCalibrator,
    ClassTemperatureScaling,
    DirichletCalibrator,
    EnsembleTemperatureScaling,
    GroupCalibration,
    HistogramBinning,
    IsotonicCalibrator,
    MatrixScaling,
    ParametrizedTemperatureScaling,
    ScalingBinning,
    SigmoidCalibrator,
    SMARTCalibrator,
    SMARTCalibratorCV,
    SplineCalibrator,
    TemperatureScaling,
    TopLabelIsotonic,
    TopLabelSigmoid,
    Uncalibrated,
    VectorScaling,
    VennAbersCalibrator,
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
    "BayesianBinning",
    "BetaCalibrator",
    "BrierWeightedClassifier",
    "CalibratedClassifierCV",
    "CalibrationComparison",
    "CalibrationSizes",
    "ClassTemperatureScaling",
    "ConfidenceDisplay",
    "DirichletCalibrator",
    "EnsembleTemperatureScaling",
    "GroupCalibration",
    "HistogramBinning",
    "IsotonicCalibrator",
    "MatrixScaling",
    "ParametrizedTemperatureScaling",
    "ReliabilityDisplay",
    "SMARTCalibrator",
    "SMARTCalibratorCV",
    "ScalingBinning",
    "SigmoidCalibrator",
    "SplineCalibrator",
    "TemperatureDisplay",
    "TemperatureScaling",
    "TopLabelIsotonic",
    "TopLabelSigmoid",
    "Uncalibrated",
    "VectorScaling",
    "VennAbersCalibrator",
    "compare_calibration_sizes",
    "compare_calibrators",
    "metrics",
]

"""Calibrators: classifiers and transformers of scores."""

from .affine import DirichletCalibrator, MatrixScaling, VectorScaling
from .base import BaseCalibrator
from .binned import BayesianBinning, HistogramBinning, ScalingBinning
from .class_temperature import ClassTemperatureScaling
from .ensemble_temperature import EnsembleTemperatureScaling
from .feasible import feasible_temperatures
from .group import GroupCalibration
from .identity import Uncalibrated
from .one_vs_rest import IsotonicCalibrator, SigmoidCalibrator
from .parametrized_temperature import ParametrizedTemperatureScaling
from .shapes import (
    BetaCalibrator,
    SplineCalibrator,
    TopLabelIsotonic,
    TopLabelSigmoid,
    VennAbersCalibrator,
)
from .smart import SMARTCalibrator
from .smart_search import SMARTCalibratorCV
from .temperature import TemperatureScaling

#: Names by which `CalibratedClassifierCV`, `compare_calibrators` and the command line
#: know the calibrators.
CALIBRATORS = {
    "uncalibrated": Uncalibrated,
    "sigmoid": SigmoidCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureScaling,
    "smart": SMARTCalibrator,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "dirichlet": DirichletCalibrator,
    "ensemble_temperature": EnsembleTemperatureScaling,
    "parametrized_temperature": ParametrizedTemperatureScaling,
    "class_temperature": ClassTemperatureScaling,
    "group": GroupCalibration,
    "top_label_sigmoid": TopLabelSigmoid,
    "top_label_isotonic": TopLabelIsotonic,
    "histogram": HistogramBinning,
    "bayesian_binning": BayesianBinning,
    "scaling_binning": ScalingBinning,
    "beta": BetaCalibrator,
    "spline": SplineCalibrator,
    "venn_abers": VennAbersCalibrator,
}

__all__ = [
    "CALIBRATORS",
    "BaseCalibrator",
    "BayesianBinning",
    "BetaCalibrator",
    "ClassTemperatureScaling",
    "DirichletCalibrator",
    "EnsembleTemperatureScaling",
    "GroupCalibration",
    "HistogramBinning",
    "IsotonicCalibrator",
    "MatrixScaling",
    "ParametrizedTemperatureScaling",
    "SMARTCalibrator",
    "SMARTCalibratorCV",
    "ScalingBinning",
    "SigmoidCalibrator",
    "SplineCalibrator",
    "TemperatureScaling",
    "TopLabelIsotonic",
    "TopLabelSigmoid",
    "Uncalibrated",
    "VectorScaling",
    "VennAbersCalibrator",
    "feasible_temperatures",
]

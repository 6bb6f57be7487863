"""What every calibrator is checked with: one list of instances, and score problems.

To check a new calibrator, add an instance to ``CALIBRATOR_INSTANCES``: every test that
asks for the fixture ``calibrator`` runs over the list. What a method does not promise
by its nature is said by the functions below the list, and nowhere else.
"""

import re

import numpy as np
from sklearn.base import clone

from sklearn_smart.calibrators import (
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
from sklearn_smart.calibrators.curves import CurveCalibrator

CALIBRATOR_INSTANCES = [
    Uncalibrated(),
    TemperatureScaling(),
    SMARTCalibrator(),
    SMARTCalibrator(alpha=0.3),
    SMARTCalibrator(alpha=0.1, objective="top_label_log_loss", binning="quantile"),
    SMARTCalibrator(
        alpha=0.3, hidden_layer_sizes=(), hinges="trained", signal="entropy"
    ),
    SMARTCalibrator(
        alpha=1.0, hidden_layer_sizes=(4, 4), hinges="trained", objective="brier_score"
    ),
    SMARTCalibrator.published(max_iter=30, random_state=0),
    SMARTCalibratorCV({"n_bins": [5, 15], "alpha": [0.3]}, cv=2),
    SigmoidCalibrator(),
    IsotonicCalibrator(),
    VectorScaling(),
    MatrixScaling(alpha=1.0),
    DirichletCalibrator(),
    EnsembleTemperatureScaling(),
    ParametrizedTemperatureScaling(),
    ClassTemperatureScaling(),
    GroupCalibration(n_partitions=2),
    TopLabelIsotonic(),
    TopLabelSigmoid(),
    HistogramBinning(),
    HistogramBinning(kind="one_vs_rest", strategy="uniform", n_bins=5),
    BayesianBinning(),
    ScalingBinning(),
    BetaCalibrator(),
    SplineCalibrator(),
    VennAbersCalibrator(),
]


def name_of(calibrator):
    """Its representation on one line, as the name of a test's parameter."""
    return re.sub(r"\s+", "", repr(calibrator))


def is_one_vs_rest(calibrator):
    """Whether columns are mapped one by one, whatever stands in the others."""
    return isinstance(calibrator, (SigmoidCalibrator, IsotonicCalibrator))


def has_curves(calibrator):
    """Whether probabilities are mapped by curves, or by more than a temperature."""
    return isinstance(
        calibrator,
        (
            CurveCalibrator,
            DirichletCalibrator,
            EnsembleTemperatureScaling,
            GroupCalibration,
            MatrixScaling,
            VectorScaling,
        ),
    )


def can_be_fitted_to_one_row(calibrator):
    """Whether one row is enough: a search has to hold out another."""
    return not isinstance(calibrator, SMARTCalibratorCV)


def has_prior_counts(calibrator):
    """Whether frequencies are pulled to one half, by as much as a sample or two."""
    return isinstance(calibrator, (BayesianBinning, ScalingBinning, TopLabelSigmoid))


def keeps_thresholds(calibrator):
    """How much larger it is than others: two curves that change at many values."""
    return 3 if isinstance(calibrator, VennAbersCalibrator) else 1


def most_classes(calibrator):
    """Up to how many classes it is asked: the square of it may be what is fitted."""
    if isinstance(calibrator, (MatrixScaling, DirichletCalibrator)):
        return 30
    # It solves for one class after another.
    return 100 if isinstance(calibrator, BetaCalibrator) else 1000


def ignores_scale(calibrator):
    """Whether multiplying all scores by a constant changes no probability."""
    measures_in_logits = isinstance(calibrator, SMARTCalibrator) and (
        calibrator.temperature_unit == "logits"
    )
    # scikit-learn's isotonic regression joins scores that differ by less than the
    # resolution of their dtype, whatever their scale.
    joins_close_scores = isinstance(calibrator, IsotonicCalibrator)
    # These see the softmax of the scores as they are, and mix or map it.
    as_they_are = isinstance(
        calibrator,
        (
            Uncalibrated,
            CurveCalibrator,
            DirichletCalibrator,
            EnsembleTemperatureScaling,
        ),
    )
    return not (measures_in_logits or joins_close_scores or as_they_are)


def tolerance(calibrator):
    """How far rounding of the scores may move a probability, in float64.

    A network whose hinges are trained has a kink wherever a hinge meets a sample, and a
    solver that ends at one ends elsewhere when the last digit changes.
    """
    has_hinges = isinstance(calibrator, SMARTCalibrator) and (
        calibrator.hinges == "trained"
        and calibrator.hidden_layer_sizes
        and calibrator.solver == "lbfgs"
    )
    return 0.1 if has_hinges else 1e-6


def make_scores(n=120, n_classes=3, seed=0, dtype=np.float64, scale=3.0):
    """Over-confident logits, and labels of which each class has some."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), y] += 1.0
    return (scale * scores).astype(dtype), y


def fitted(calibrator, scores, y, sample_weight=None, **parameters):
    """A fitted clone with some parameters changed."""
    calibrator = clone(calibrator).set_params(**parameters)
    return calibrator.fit(scores, y, sample_weight=sample_weight)


def refit_proba(calibrator, scores, y, sample_weight=None, at=None, **parameters):
    """Probabilities of a fitted clone, of the same scores or of those in ``at``."""
    calibrator = fitted(calibrator, scores, y, sample_weight, **parameters)
    return calibrator.predict_proba(scores if at is None else at)

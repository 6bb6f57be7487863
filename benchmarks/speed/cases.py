"""What is timed, by name: each case is prepared for a problem, then called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special

import sklearn_smart
from sklearn_smart import SMARTCalibrator, TemperatureScaling, metrics

from . import rivals
from .published import N_STEPS
from .rivals import Missing


@dataclass(frozen=True)
class Case:
    """One thing to time.

    ``prepare(problem)`` returns the function whose calls are timed; it raises `Missing`
    where it cannot. A call does ``1 / times`` of what the case stands for. ``on`` names
    the problems that it is run on.
    """

    title: str
    prepare: Callable
    on: tuple[str, ...] = ("tiny", "small", "large", "wide")
    times: float = 1.0
    ours: bool = True


def _fit(calibrator, **settings):
    def prepare(problem):
        model = calibrator(classes=problem.n_classes, **settings)
        return lambda: model.fit(problem.logits, problem.y)

    return prepare


def _predict(calibrator, **settings):
    def prepare(problem):
        model = calibrator(classes=problem.n_classes, **settings)
        model.fit(problem.logits, problem.y)
        return lambda: model.predict_proba(problem.logits)

    return prepare


def _softmax(problem):
    return lambda: scipy.special.softmax(problem.logits, axis=1)


def _search(problem):
    """40 settings by 5 folds: what `SMARTCalibratorCV` does with a grid."""
    search = getattr(sklearn_smart, "SMARTCalibratorCV", None)
    if search is None:
        raise Missing("this revision has no SMARTCalibratorCV")
    grid = {
        "n_bins": [5, 10, 15, 20, 30],
        "bandwidth": [0.02, 0.05, 0.1, 0.2],
        "alpha": [0.3, 3.0],
    }
    model = search(grid, cv=5, classes=problem.n_classes)
    return lambda: model.fit(problem.logits, problem.y)


def _metric(name, **options):
    def prepare(problem):
        function = getattr(metrics, name, None)
        if function is None:
            raise Missing(f"this revision has no {name}")
        y_prob = scipy.special.softmax(problem.logits, axis=1)
        labels = np.arange(problem.n_classes)
        return lambda: function(problem.y, y_prob, labels=labels, **options)

    return prepare


def _metric_cases():
    ece = "expected_calibration_error"
    calls = {
        ece: (ece, {}),
        "class-wise ECE": (ece, {"kind": "class_wise"}),
        "class-wise ECE, equal mass": (
            ece,
            {"kind": "class_wise", "strategy": "quantile"},
        ),
    }
    for name in (
        "log_loss",
        "brier_score",
        "brier_decomposition",
        "confidence_accuracy_gap",
        "smooth_calibration_error",
        "kde_calibration_error",
        "soft_calibration_error",
        "sweep_calibration_error",
        "spiegelhalter_test",
        "reliability_table",
        "smooth_reliability",
        "calibrated_null",
        "score_parts",
        "calibration_report",
    ):
        calls[name] = (name, {})
    return {
        f"metric: {title}": Case(title, _metric(name, **options), on=("tiny", "wide"))
        for title, (name, options) in calls.items()
    }


_FEW = ("tiny", "small")
_MANY = ("tiny", "small", "large")

CASES = {
    "softmax": Case("scipy.special.softmax", _softmax, ours=False),
    "predict": Case("SMART predict_proba", _predict(SMARTCalibrator, alpha=0.3)),
    "smart": Case("SMARTCalibrator(alpha=0.3)", _fit(SMARTCalibrator, alpha=0.3)),
    "smart default": Case("SMARTCalibrator()", _fit(SMARTCalibrator)),
    "temperature": Case("TemperatureScaling()", _fit(TemperatureScaling)),
    "search": Case("SMARTCalibratorCV, 40 settings x 5 folds", _search, on=_FEW),
    "sklearn temperature": Case(
        "scikit-learn temperature",
        rivals.scikit_learn("temperature"),
        on=_MANY,
        ours=False,
    ),
    "sklearn sigmoid": Case(
        "scikit-learn sigmoid", rivals.scikit_learn("sigmoid"), on=_MANY, ours=False
    ),
    "sklearn isotonic": Case(
        "scikit-learn isotonic", rivals.scikit_learn("isotonic"), on=_MANY, ours=False
    ),
    "netcal temperature": Case(
        "netcal temperature", rivals.netcal_temperature, on=_FEW, ours=False
    ),
    "probmetrics temperature": Case(
        "probmetrics temperature",
        rivals.probmetrics("TemperatureScalingCalibrator"),
        on=_MANY,
        ours=False,
    ),
    "probmetrics vector": Case(
        "probmetrics structured vector",
        rivals.probmetrics("SVSCalibrator"),
        on=_FEW,
        ours=False,
    ),
    # Many steps at a time where they are short, so that the caches are its own.
    "published": Case(
        f"published recipe, {N_STEPS:,} steps",
        rivals.published_steps(20),
        on=_FEW,
        times=N_STEPS / 20,
        ours=False,
    ),
    # Small arrays may be faster without the threads' waiting for each other.
    "published, 1 thread": Case(
        f"published recipe, {N_STEPS:,} steps, one thread",
        rivals.published_steps(20, n_threads=1),
        on=_FEW,
        times=N_STEPS / 20,
        ours=False,
    ),
    "published, large": Case(
        f"published recipe, {N_STEPS:,} steps",
        rivals.published_steps(1),
        on=("large",),
        times=N_STEPS,
        ours=False,
    ),
    **_metric_cases(),
}


def cases_on(problem_name):
    """The cases of a problem, by name."""
    return {name: case for name, case in CASES.items() if problem_name in case.on}

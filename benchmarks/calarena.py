"""Calibrators of this package for CalArena, a benchmark of calibration after training.

CalArena (arXiv:2605.30188, https://github.com/probkit/CalArena) takes any object with
``fit(probabilities, y)`` and ``predict_proba(probabilities)``; for two classes the
probabilities may be those of the second class alone, and a small calibration set may
lack a class. With its data downloaded as its README says, in a clone of it:

    cp .../benchmarks/calarena.py custom_calibrators.py
    python run_benchmark.py --benchmark tabrepo-multiclass --calibrator SMART
"""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_smart import (
    MatrixScaling,
    SMARTCalibrator,
    TemperatureScaling,
    VectorScaling,
)


class OfProbabilities:
    """A calibrator of probabilities whose classes are their columns.

    Parameters
    ----------
    first, *others : calibrators
        Applied one after another.
    """

    def __init__(self, first, *others):
        self.steps = (first.set_params(input="probabilities"), *others)

    def fit(self, probabilities, y):
        """Fit to held-out probabilities and labels 0 to K - 1."""
        probabilities = np.asarray(probabilities)
        single = probabilities.ndim == 1 or probabilities.shape[1] == 1
        for step in self.steps:
            step.set_params(classes=2 if single else probabilities.shape[1])
        self.pipeline = make_pipeline(*self.steps).fit(probabilities, y)
        return self

    def predict_proba(self, probabilities):
        """Calibrated probabilities, one column per class."""
        return self.pipeline.predict_proba(np.asarray(probabilities))


CUSTOM_CALIBRATORS = {
    "SMART": lambda: OfProbabilities(SMARTCalibrator()),
    "SMART-published": lambda: OfProbabilities(
        SMARTCalibrator.published(random_state=0)
    ),
    "VS-SMART": lambda: OfProbabilities(VectorScaling(), SMARTCalibrator()),
    "MS-SMART": lambda: OfProbabilities(MatrixScaling(), SMARTCalibrator()),
    "TS-sklearn_smart": lambda: OfProbabilities(TemperatureScaling()),
}

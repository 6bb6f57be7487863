"""Data, base estimators and calibrators that the tests of this room share."""

import numpy as np
import pytest
import sklearn.calibration
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sklearn_smart import SMARTCalibrator
from sklearn_smart.calibrators import CALIBRATORS

ENSEMBLE = pytest.mark.parametrize("ensemble", [True, False])
NAMES = pytest.mark.parametrize("method", sorted(CALIBRATORS))
SMALL_SMART = SMARTCalibrator(alpha=0.3)
SKLEARN_METHODS = ["sigmoid", "isotonic"]
if "temperature" in sklearn.calibration.CalibratedClassifierCV.__doc__:
    SKLEARN_METHODS.append("temperature")


def make_data(n=240, n_classes=3, seed=0):
    """Overlapping classes, so that every method has an optimum."""
    return make_classification(
        n,
        n_features=6,
        n_informative=4,
        n_classes=n_classes,
        flip_y=0.2,
        class_sep=0.8,
        random_state=seed,
    )


class FixedScores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is the data, times a number."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]

    def decision_function(self, X):
        return self.scale * X


class FixedProbabilities(FixedScores):
    """A classifier whose probabilities are the data."""

    decision_function = None

    def __getattribute__(self, name):
        if name == "decision_function":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict_proba(self, X):
        return X


class Recorder(BaseEstimator):
    """A calibrator without ``input`` or ``classes`` that keeps what it is given."""

    def fit(self, scores, y, sample_weight=None):
        self.scores_, self.y_, self.weight_ = scores, y, sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, scores):
        scores = np.asarray(scores)
        if scores.ndim == 1:
            scores = np.stack([0 * scores, scores], axis=1)
        return softmax(scores, axis=1)


class ProbabilityRecorder(Recorder):
    def __init__(self, input="probabilities"):
        self.input = input

    def predict_proba(self, scores):
        scores = np.asarray(scores)
        return np.stack([1 - scores, scores], 1) if scores.ndim == 1 else scores


def only_calibrator(classifier):
    (pair,) = classifier.calibrated_classifiers_
    (calibrator,) = pair.calibrators
    return calibrator


class NotesWeights(LogisticRegression):
    """Keeps the weights and parameters of its fit."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.note_ = note
        self.weight_ = sample_weight
        return super().fit(X, y, sample_weight=sample_weight)


class NeverFitted(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted")


class Bad(LogisticRegression):
    """Answers what it is told to."""

    def __init__(self, answer=None, response="predict_proba"):
        super().__init__()
        self.answer = answer
        self.response = response

    def decision_function(self, X):
        return self._changed(super().decision_function(X), "decision_function")

    def predict_proba(self, X):
        return self._changed(super().predict_proba(X), "predict_proba")

    def _changed(self, values, response):
        if response == self.response:
            if self.answer == "narrow":
                return values[:, :2]
            values[1] = self.answer
        return values

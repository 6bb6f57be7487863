"""Other packages' fits of the same arrays, one adapter each, imported on use.

An adapter takes a problem and returns the fit as a function without arguments. It
raises `Missing` where the package is not installed or is too old.
"""

from __future__ import annotations

import importlib

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.fixes import parse_version

from .published import PublishedRecipe


class Missing(Exception):
    """A case that cannot be run here, and why."""


def _imported(name, extra):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"{name.split('.')[0]} is not installed ({extra!r})") from error


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose decision function is the array that it is given."""

    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def fit(self, X, y):
        self.classes_ = np.arange(self.n_classes)
        self.n_features_in_ = self.n_classes
        return self

    def decision_function(self, X):
        return X if self.n_classes > 2 else X[:, 1] - X[:, 0]

    def predict(self, X):
        return X.argmax(axis=1)


def scikit_learn(method):
    """scikit-learn's `CalibratedClassifierCV` of fitted scores."""

    def prepare(problem):
        import sklearn
        from sklearn.frozen import FrozenEstimator

        if method == "temperature" and parse_version(
            sklearn.__version__
        ) < parse_version("1.8"):
            raise Missing("temperature needs scikit-learn >= 1.8")
        logits, y = problem.logits, problem.y
        if np.bincount(y, minlength=problem.n_classes).min() < 5:
            raise Missing("scikit-learn wants a sample of each class in each fold")
        base = _GivenScores(problem.n_classes).fit(logits[:1], y[:1])
        model = CalibratedClassifierCV(FrozenEstimator(base), method=method)
        return lambda: model.fit(logits, y)

    return prepare


def netcal_temperature(problem):
    scaling = _imported("netcal.scaling", "rivals")
    probabilities, y = softmax(problem.logits, axis=1), problem.y
    return lambda: scaling.TemperatureScaling().fit(probabilities, y)


def probmetrics(name):
    """A calibrator of probmetrics, by the name of its class."""

    def prepare(problem):
        calibrators = _imported("probmetrics.calibrators", "rivals")
        probabilities, y = softmax(problem.logits, axis=1), problem.y
        return lambda: getattr(calibrators, name)().fit(probabilities, y)

    return prepare


def published_steps(n_steps, n_threads=None):
    """Some steps of the published recipe in PyTorch, on all cores or on so many."""

    def prepare(problem):
        torch = _imported("torch", "torch")
        recipe = PublishedRecipe(problem.logits, problem.y)
        all_threads = torch.get_num_threads()

        def steps():
            torch.set_num_threads(n_threads or all_threads)
            for _ in range(n_steps):
                recipe.step()
            torch.set_num_threads(all_threads)

        return steps

    return prepare

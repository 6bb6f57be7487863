"""The measures of a comparison, by name, and what each says of one prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from .. import metrics


@dataclass(frozen=True)
class Measure:
    """A number that says how good probabilities are.

    Attributes
    ----------
    name : str
        Its key in ``scoring`` and in tables for programs.
    title : str
        Its name in tables for people.
    function : callable
        Called with the true labels, probabilities, labels of the columns and weights.
    greater_is_better : bool
        Its orientation.
    as_percent : bool
        Whether people read it in percent.
    """

    name: str
    title: str
    function: Callable
    greater_is_better: bool = False
    as_percent: bool = False

    def text(self, value, signed=False):
        """``value`` as people read it, without a unit."""
        value, digits = (100 * value, 2) if self.as_percent else (value, 4)
        value = round(value, digits) + 0.0  # no negative zero
        return f"{value:{'+' if signed else ''}.{digits}f}"


def _metric(metric, **options):
    def measure(y, prob, classes, sample_weight):
        return metric(y, prob, labels=classes, sample_weight=sample_weight, **options)

    return measure


def _accuracy(y, prob, classes, sample_weight):
    right = classes[prob.argmax(axis=1)] == y
    return float(np.average(right, weights=sample_weight))


_ECE = metrics.expected_calibration_error

MEASURES = {
    measure.name: measure
    for measure in (
        Measure("ece", "ECE %", _metric(_ECE), as_percent=True),
        Measure(
            "ece_equal_mass",
            "equal-mass ECE %",
            _metric(_ECE, strategy="quantile"),
            as_percent=True,
        ),
        Measure(
            "ece_class_wise",
            "class-wise ECE %",
            _metric(_ECE, kind="class_wise"),
            as_percent=True,
        ),
        Measure("log_loss", "log loss", _metric(metrics.log_loss)),
        Measure("brier_score", "Brier score", _metric(metrics.brier_score)),
        Measure("accuracy", "accuracy %", _accuracy, True, True),
    )
}


class _Predicted(ClassifierMixin, BaseEstimator):
    """A fitted classifier as a scorer sees it, whose prediction is already there."""

    def __init__(self, prob, classes):
        self.prob = prob
        self.classes_ = classes

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        """Nothing is left to fit."""
        return self

    def predict_proba(self, X):
        """The probabilities, whatever ``X``."""
        return self.prob

    def predict(self, X):
        """The most probable class."""
        return self.classes_[self.prob.argmax(axis=1)]


def _scorer_measure(name, scorer):
    scorer = check_scoring(_Predicted(None, None), scoring=scorer)

    def measure(y, prob, classes, sample_weight):
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(_Predicted(prob, classes), prob, y, **weight))

    return Measure(name, name, measure, greater_is_better=True)


def resolve_scoring(scoring):
    """``scoring`` as a list of `Measure`."""
    if scoring is None:
        return list(MEASURES.values())
    if isinstance(scoring, str):
        scoring = [scoring]
    if callable(scoring):
        scoring = {getattr(scoring, "__name__", "score"): scoring}
    named = (
        scoring.items()
        if isinstance(scoring, dict)
        else [(name, name) for name in scoring]
    )
    measures = [_resolve(name, scorer) for name, scorer in named]
    if not measures:
        raise ValueError("scoring is empty: at least one measure is needed.")
    if len({measure.name for measure in measures}) < len(measures):
        raise ValueError("scoring names a measure twice.")
    return measures


def _resolve(name, scorer):
    if callable(scorer):
        return _scorer_measure(name, scorer)
    if isinstance(scorer, str) and scorer in MEASURES:
        return MEASURES[scorer] if name == scorer else _renamed(name, MEASURES[scorer])
    if isinstance(scorer, str) and scorer in metrics.SCORERS:
        return _scorer_measure(name, metrics.get_scorer(scorer))
    try:
        return _scorer_measure(name, scorer)
    except ValueError as error:
        raise ValueError(
            f"{scorer!r} is not a measure. Those of compare_calibrators are "
            f"{list(MEASURES)} and {list(metrics.SCORERS)}; further ones are the names "
            "of scikit-learn's scorers, and callables (estimator, X, y)."
        ) from error


def _renamed(name, measure):
    return Measure(
        name, name, measure.function, measure.greater_is_better, measure.as_percent
    )

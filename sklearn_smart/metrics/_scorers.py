"""Scorers: metrics in the form that ``scoring=`` takes, greater is better.

A calibrator that is chosen by a binned error is best judged by another metric: choosing
the bins of a calibrator by an error with the same bins rewards errors that the bins
hide. Proper scores, and the smooth calibration error, have no bins.
"""

from __future__ import annotations

import copy
from inspect import signature

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from ._catalogue import METRICS
from ._inputs import align_labels, drop_zero_weight

# What a scorer itself hands to the metric.
_OWN = ("y_true", "y_prob", "labels", "sample_weight")


class CalibrationScorer:
    """A metric of predicted probabilities as a scorer.

    Called as ``scorer(estimator, X, y, sample_weight=None)``. The columns of
    ``predict_proba`` are named by ``estimator.classes_``, so the score is right where
    ``y`` lacks a class. A label of ``y`` that the estimator has never seen gets the
    probability 0.

    Parameters
    ----------
    metric : callable
        A function ``metric(y_true, y_prob, *, labels, sample_weight, ...)``.

    sign : {1, -1}
        1 where a greater value of ``metric`` is better, -1 where a lower one is.

    options : dict, default=None
        Keyword arguments of ``metric``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_smart import metrics
    >>> scorer = metrics.CalibrationScorer(metrics.brier_score, -1)
    >>> X, y = load_iris(return_X_y=True)
    >>> round(scorer(GaussianNB().fit(X, y), X, y), 2)
    -0.07
    """

    def __init__(self, metric, sign, options=None):
        options = dict(options or {})
        allowed = [p for p in signature(metric).parameters if p not in _OWN]
        wrong = sorted(set(options) - set(allowed))
        if wrong:
            raise ValueError(
                f"{metric.__name__} has no option {wrong} for a scorer; "
                f"the options are {allowed}."
            )
        if sign not in (1, -1):
            raise ValueError(
                f"The 'sign' parameter must be 1 or -1. Got {sign!r} instead."
            )
        self.metric = metric
        self.sign = sign
        self.options = options
        self._request = MetadataRequest(owner=type(self).__name__)
        self._request.score.add_request(param="sample_weight", alias=None)

    def __call__(self, estimator, X, y, sample_weight=None):
        """Score the probabilities that ``estimator`` predicts for ``X``.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba`` and ``classes_``.

        X : array-like of shape (n_samples, n_features)
            Data.

        y : array-like of shape (n_samples,)
            True labels.

        sample_weight : float or array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        float
            Greater is better.
        """
        y_prob, classes = _predict_proba(estimator, X)
        y, y_prob, sample_weight = _rows(y, y_prob, sample_weight)
        y, y_prob, classes = align_labels(y, y_prob, classes)
        options = self.options
        if options.get("pos_label") is not None:
            options = {**options, "pos_label": _code(options["pos_label"], classes)}
        value = self.metric(
            y,
            y_prob,
            labels=np.arange(y_prob.shape[1]),
            sample_weight=sample_weight,
            **options,
        )
        return self.sign * value

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"CalibrationScorer({self.metric.__name__}, {self.sign}{options})"

    def set_score_request(self, *, sample_weight):
        """Say whether metadata routing passes weights to this scorer.

        Parameters
        ----------
        sample_weight : str, bool or None
            As in scikit-learn: True passes it, False does not, None is an error if
            it is given, a string is the name it has.

        Returns
        -------
        CalibrationScorer
            The scorer itself.
        """
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self):
        """Return what this scorer requests, a copy.

        Returns
        -------
        MetadataRequest
            The request of the method ``score``.
        """
        return copy.deepcopy(self._request)

    def _accept_sample_weight(self):
        # GridSearchCV asks each scorer of a dict this when routing is off.
        return True


def _predict_proba(estimator, X):
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
        raise AttributeError(
            f"{type(estimator).__name__} has no predict_proba or no classes_: "
            "calibration is scored on the probabilities of a fitted classifier. "
            "CalibratedClassifierCV gives them to any classifier."
        )
    y_prob = np.asarray(estimator.predict_proba(X))
    classes = np.asarray(estimator.classes_)
    if y_prob.ndim != 2 or y_prob.shape[1] != len(classes):
        raise ValueError(
            f"predict_proba of {type(estimator).__name__} must give one column per "
            f"class of classes_. Got shape {y_prob.shape} for {len(classes)} classes."
        )
    return y_prob, classes


def _rows(y, y_prob, sample_weight):
    y = np.asarray(y)
    if len(y) != len(y_prob):
        raise ValueError(
            f"X and y must have the same number of rows. Got {len(y_prob)} and "
            f"{len(y)}."
        )
    return drop_zero_weight(y, y_prob, sample_weight=sample_weight)


def _code(pos_label, classes):
    at = [i for i, label in enumerate(classes) if label == pos_label]
    if not at:
        raise ValueError(f"pos_label={pos_label!r} is not a label: {classes}")
    return at[0]


def _absolute_gap(
    y_true, y_prob, *, kind="top_label", pos_label=None, labels=None, sample_weight=None
):
    """Distance of mean confidence and accuracy: the gap without its sign."""
    gap = METRICS["confidence_accuracy_gap"].function(
        y_true,
        y_prob,
        kind=kind,
        pos_label=pos_label,
        labels=labels,
        sample_weight=sample_weight,
    )
    return abs(gap)


#: Scorers by name. :func:`get_scorer` returns copies, with options.
SCORERS = {
    f"neg_{name}": CalibrationScorer(metric.function, -1)
    for name, metric in METRICS.items()
    if not metric.signed
}
SCORERS["neg_absolute_confidence_accuracy_gap"] = CalibrationScorer(_absolute_gap, -1)
SCORERS["neg_debiased_calibration_error"] = CalibrationScorer(
    METRICS["expected_calibration_error"].function, -1, {"norm": "l2", "debias": True}
)
SCORERS["neg_charbonnier_soft_calibration_error"] = CalibrationScorer(
    METRICS["soft_calibration_error"].function, -1, {"smoothing": 1e-3}
)


def get_scorer(name, **options):
    """Return a scorer by name, a new object at each call.

    Parameters
    ----------
    name : str
        A key of :data:`SCORERS`.

    **options : dict
        Keyword arguments of the metric, such as ``n_bins``.

    Returns
    -------
    CalibrationScorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``; greater is better.

    Raises
    ------
    ValueError
        If there is no scorer of that name, or its metric has no such option.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_smart.metrics import get_scorer
    >>> scorer = get_scorer("neg_expected_calibration_error", n_bins=10)
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(GaussianNB(), X, y, scoring=scorer).round(2).shape
    (5,)
    """
    if not isinstance(name, str) or name not in SCORERS:
        raise ValueError(f"{name!r} is not a scorer. The scorers are {list(SCORERS)}.")
    known = SCORERS[name]
    return CalibrationScorer(known.metric, known.sign, {**known.options, **options})

"""Calibration and refinement parts of a proper score: what recalibration can mend."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from sklearn_smart._numerics.logits import (
    logits_from_probabilities,
    tempered_softmax,
)
from sklearn_smart._numerics.temperature_fit import fit_single_temperature
from sklearn_smart._numerics.tempered import TemperedLogits

from ._inputs import check_option, check_prediction
from ._proper_scores import brier_terms, log_loss_terms

_TERMS = {"log_loss": log_loss_terms, "brier_score": brier_terms}


class ScoreParts(NamedTuple):
    """Parts of a proper score.

    Attributes
    ----------
    score : float
        The score as it is, ``calibration + refinement``.

    calibration : float
        What recalibration on other samples takes away; lower is better. Negative
        where there is nothing to mend and the recalibration only adds noise.

    refinement : float
        The score after recalibration; lower is better.

    Examples
    --------
    >>> from sklearn_smart.metrics import ScoreParts
    >>> ScoreParts(score=0.3, calibration=0.1, refinement=0.2).refinement
    0.2
    """

    score: float
    calibration: float
    refinement: float


def score_parts(
    y_true,
    y_prob,
    *,
    score="log_loss",
    recalibrator=None,
    cv=5,
    labels=None,
    sample_weight=None,
):
    """Calibration and refinement parts of a proper score, by recalibration.

    The samples are split into folds; the recalibrator is fitted on all but one fold
    and applied to that one. The score of its probabilities is the refinement, the
    rest of the score the calibration part.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, 1)
        True labels: numbers, strings or booleans.

    y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]; rows sum to 1 within 0.01. One dimension
        or one column is the probability of the second label.

    score : {"log_loss", "brier_score"}, default="log_loss"
        The proper score, as :func:`log_loss` and :func:`brier_score` define it (the
        Brier score halved for two classes).

    recalibrator : estimator, default=None
        With ``fit(y_prob, codes, sample_weight=...)`` and ``predict_proba`` on
        probabilities of shape (n_samples, n_classes), such as
        ``SMARTCalibrator(input="probabilities")``; where it has a parameter
        ``classes``, that is set to the number of classes. None is temperature scaling
        by log loss.

    cv : int or splitter, default=5
        Number of stratified folds (fewer where a class has fewer samples; without a
        shuffle), or a splitter such as ``StratifiedKFold(10, shuffle=True,
        random_state=0)``.

    labels : array-like of shape (n_classes,), default=None
        The label of each column of ``y_prob``, in that order. None: the sorted
        distinct labels of ``y_true``, which must then be as many as the columns.

    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights >= 0, understood as frequencies. Rows of weight 0 are dropped.

    Returns
    -------
    ScoreParts
        Score, calibration and refinement.

    Raises
    ------
    ValueError
        If a parameter or an array is not as said above, or there are fewer than two
        samples.

    References
    ----------
    J. Broecker, "Reliability, Sufficiency, and the Decomposition of Proper Scores",
    Quarterly Journal of the Royal Meteorological Society 135, 2009,
    doi:10.1002/qj.456.
    E. Berta, D. Holzmueller, M. I. Jordan, F. Bach, "Rethinking Early Stopping: Refine,
    Then Calibrate", 2025, arXiv:2501.19195 (temperature scaling as recalibrator).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_smart.metrics import score_parts
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> over = p**3 / (p**3 + (1 - p) ** 3)  # the temperature is 3
    >>> parts = score_parts(y, over)
    >>> parts.calibration > 0.1, round(parts.refinement, 1)
    (True, 0.5)
    """
    check_option(score, "score", tuple(_TERMS))
    prediction = check_prediction(
        y_true, y_prob, labels=labels, sample_weight=sample_weight
    )
    if prediction.n_samples < 2:
        raise ValueError("score_parts needs at least 2 samples to recalibrate on.")
    after = _recalibrated(prediction, recalibrator, cv)
    value, refinement = (_score(one, score) for one in (prediction, after))
    return ScoreParts(value, value - refinement, refinement)


def _score(prediction, score):
    terms = _TERMS[score](prediction)
    value = float(np.average(terms, weights=prediction.sample_weight))
    return value / 2 if score == "brier_score" and prediction.n_classes == 2 else value


def _recalibrated(prediction, recalibrator, cv):
    """The prediction with probabilities from recalibrators that did not see them."""
    y = prediction.y.astype(np.intp, copy=False)
    prob = prediction.prob
    if prob.ndim == 1:
        prob = np.stack([prob.dtype.type(1) - prob, prob], axis=1)
    out = np.empty(prob.shape, dtype=np.result_type(prob, np.float32))
    weight = prediction.sample_weight
    for train, test in _splits(y, cv):
        part = None if weight is None else weight[train]
        if recalibrator is None:
            out[test] = _tempered(prob[train], y[train], part, prob[test])
        else:
            fitted = _fit(recalibrator, prob[train], y[train], part)
            out[test] = _full_proba(fitted, prob[test])
    return replace(prediction, prob=out)


def _splits(y, cv):
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(
                f"The 'cv' parameter must be an int in the range [2, inf) or a "
                f"splitter. Got {cv!r} instead."
            )
        rarest = np.bincount(y)
        rarest = int(rarest[rarest > 0].min())
        # Stratified folds want a sample of each class in each fold.
        n_splits = min(cv, rarest)
        if n_splits < 2:
            return list(check_cv(min(cv, len(y))).split(np.zeros(len(y))))
        return list(StratifiedKFold(n_splits).split(np.zeros(len(y)), y))
    splits = list(check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y))
    tested = np.concatenate([test for _, test in splits])
    if len(tested) != len(y) or len(np.unique(tested)) != len(y):
        raise ValueError("cv must put every sample into the test part of one fold.")
    return splits


def _tempered(train_prob, y, weight, test_prob):
    rows = TemperedLogits(logits_from_probabilities(_floating(train_prob)), y)
    weight = np.ones(len(y)) if weight is None else weight
    temperature = fit_single_temperature(rows, weight).temperature
    return tempered_softmax(
        logits_from_probabilities(_floating(test_prob)), temperature
    )


def _floating(prob):
    return prob.astype(np.result_type(prob, np.float32), copy=False)


def _fit(recalibrator, prob, y, weight):
    fitted = clone(recalibrator)
    if "classes" in fitted.get_params(deep=False):
        fitted.set_params(classes=prob.shape[1])
    return fitted.fit(prob, y, **({} if weight is None else {"sample_weight": weight}))


def _full_proba(fitted, prob):
    """Probabilities in the columns of ``prob``, 0 for classes that a fold lacked."""
    out = np.zeros(prob.shape)
    out[:, np.asarray(fitted.classes_, dtype=np.intp)] = fitted.predict_proba(prob)
    return out

"""Scores of base estimators: where they come from, in which form, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from .._numerics.logits import logits_from_probabilities, softmax, two_columns
from .._validation import check_labels, encode_labels

RESPONSE_METHODS = ("auto", "decision_function", "predict_proba")

#: Rows of a base estimator's probabilities may miss a sum of 1 by this much.
_SUM_TOLERANCE = 1e-2


@dataclass(frozen=True, eq=False)
class BaseScores:
    """Scores of a fitted base estimator.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_classes) or (n_samples,)
        Floating point and finite. One number per sample is the log-odds of the second
        of two classes.
    kind : {"logits", "probabilities"}
        "logits" where they come from ``decision_function``.
    classes : ndarray of shape (n_classes,)
        Label of each column: the classes that the base estimator knows.
    """

    values: np.ndarray
    kind: str
    classes: np.ndarray

    def __getitem__(self, rows):
        """The scores of some rows."""
        return replace(self, values=self.values[rows])

    def as_input(self, kind, offset=None):
        """The scores as logits or as probabilities, whatever the base estimator gave.

        Probabilities become logits by ``log(max(p, eps))`` with the machine epsilon of
        their dtype, or by ``log(p + offset)`` where an offset is given, with ``1 - p``
        of the second of two classes for the first; logits become probabilities by the
        softmax.
        """
        if kind == self.kind:
            return self.values
        if kind == "logits" and offset is None:
            return logits_from_probabilities(self.values)
        if kind == "logits":
            values = self.values
            if values.shape[1] == 2:
                second = values[:, 1:]
                values = np.concatenate([1 - second, second], axis=1)
            return np.log(np.maximum(values, 0) + values.dtype.type(offset))
        return expit(self.values) if self.values.ndim == 1 else softmax(self.values)

    def with_columns(self, classes):
        """The scores with one column for each of ``classes``, known or not.

        A class that the base estimator does not know has probability 0, or a logit
        that gives it the machine epsilon beside the largest one of its row. The two
        logits of a log-odds ``s`` are then ``(-s, s)``, a score for each class.
        """
        if np.array_equal(self.classes, classes):
            return self
        values = self.values
        if values.ndim == 1:
            values = np.stack([-values, values], axis=1)
        full = np.zeros((len(values), len(classes)), dtype=values.dtype)
        if self.kind == "logits":
            floor = np.log(np.finfo(values.dtype).eps)
            full += values.max(axis=1, keepdims=True) + floor
        full[:, encode_labels(self.classes, classes)] = values
        return BaseScores(full, self.kind, classes)


class FittedFold(NamedTuple):
    """A base estimator fitted on ``train`` with its scores on ``test``."""

    estimator: object
    train: np.ndarray
    test: np.ndarray
    scores: BaseScores


def final_estimator(estimator):
    """The estimator that gives the scores: the last step of a Pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def is_pairwise(estimator):
    """Whether a fit takes a square matrix of pairs of samples, whose columns go too."""
    frozen = isinstance(estimator, FrozenEstimator)
    return not frozen and get_tags(estimator).input_tags.pairwise


def response_name(estimator, response_method="auto"):
    """The method of an estimator that gives its scores; decision function first."""
    options = RESPONSE_METHODS[1:] if response_method == "auto" else (response_method,)
    for name in options:
        if hasattr(estimator, name):
            return name
    raise ValueError(
        f"The base estimator {type(estimator).__name__} has no {' or '.join(options)}, "
        "which calibration needs. Pass a classifier that gives scores, or another "
        "response_method."
    )


def check_response(estimator, response_method, n_classes):
    """Refuse, before any fit, an estimator that has no score for each class."""
    name = response_name(estimator, response_method)
    last = _scoring_estimator(estimator)
    pairs = getattr(last, "decision_function_shape", None) == "ovo"
    if name == "decision_function" and pairs and n_classes > 2:
        raise ValueError(
            f"The base estimator {type(last).__name__} has "
            "decision_function_shape='ovo': a score for each pair of classes, not for "
            "each class. Pass decision_function_shape='ovr', or "
            "response_method='predict_proba' if it has probabilities."
        )
    return name


def _scoring_estimator(estimator):
    """The estimator inside of Pipelines, frozen ones and searches."""
    while True:
        inner = final_estimator(estimator)
        if isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        elif isinstance(inner, (GridSearchCV, RandomizedSearchCV)):
            inner = getattr(inner, "best_estimator_", inner.estimator)
        if inner is estimator:
            return estimator
        estimator = inner


def _name(estimator):
    return type(_scoring_estimator(estimator)).__name__


def base_scores(estimator, X, response_method="auto"):
    """Ask a fitted classifier for its scores.

    Parameters
    ----------
    estimator : classifier
        Fitted, with ``decision_function`` or ``predict_proba``.
    X : array-like of shape (n_samples, n_features)
        What the estimator accepts.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        "auto" takes the decision function where there is one.

    Returns
    -------
    scores : BaseScores
        float32 where the estimator answers in float32, float64 otherwise.

    Raises
    ------
    ValueError
        If the answer, which the message names, is not finite, has not one column for
        each class or, for ``predict_proba``, is not made of probabilities.
    """
    name = response_name(estimator, response_method)
    owner = f"{name} of the base estimator {_name(estimator)}"
    values = np.asarray(getattr(estimator, name)(X))
    if values.dtype != np.float32:
        values = values.astype(np.float64)
    classes = check_labels(estimator.classes_, name=f"classes_ behind {owner}")
    check_response(estimator, response_method, len(classes))
    if len(classes) < 2:
        raise ValueError(
            f"{owner}: it was fitted on the class {classes.tolist()} only. Calibration "
            "needs at least 2 classes in every training set; pass a cv that is "
            "stratified."
        )
    if name == "decision_function" and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    one_column = len(classes) == 2 and name == "decision_function" and values.ndim == 1
    if not one_column and (values.ndim != 2 or values.shape[1] != len(classes)):
        raise ValueError(
            f"{owner} has shape {values.shape}, but a column for each of its "
            f"{len(classes)} classes is expected."
        )
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{owner} holds NaN or infinity in {np.count_nonzero(~finite)} of "
            f"{len(values)} rows."
        )
    if name == "decision_function":
        return BaseScores(values, "logits", classes)
    _check_rows(values, owner)
    return BaseScores(values, "probabilities", classes)


def _check_rows(values, owner):
    """Raise where rows are not probabilities; nothing is scaled on the quiet."""
    if not values.size:
        return
    if values.min() < 0 or values.max() > 1 + _SUM_TOLERANCE:
        raise ValueError(
            f"{owner} ranges from {values.min()} to {values.max()}; probabilities are "
            "between 0 and 1."
        )
    worst = np.abs(values.sum(axis=1, dtype=np.float64) - 1).max()
    if worst > _SUM_TOLERANCE:
        raise ValueError(
            f"{owner} has a row that misses a sum of 1 by {worst:.3g}, more than "
            f"{_SUM_TOLERANCE}."
        )


def fit_fold(estimator, X, y, train, test, *, fit_params=None, response_method="auto"):
    """Fit an estimator, in place, on one part of the data and score the other.

    Parameters
    ----------
    estimator : classifier
        Unfitted, or a FrozenEstimator.
    X : array-like
        All samples.
    y : array-like of shape (n_samples,)
        All labels.
    train, test : ndarray of int
        Rows to fit on and rows to score.
    fit_params : dict, default=None
        Passed to ``fit``; values with one entry per sample are sliced.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        See `base_scores`.

    Returns
    -------
    fold : FittedFold
        The fitted estimator with its scores on the rows ``test``.
    """
    columns = train if is_pairwise(estimator) else None
    params = _sliced(fit_params or {}, train, len(y))
    estimator.fit(take_rows(X, train, columns), take_rows(y, train), **params)
    scores = base_scores(estimator, take_rows(X, test, columns), response_method)
    return FittedFold(estimator, train, test, scores)


def cross_fit(
    estimator, X, y, splits, *, fit_params=None, response_method="auto", n_jobs=None
):
    """Fit a clone of an estimator on each split and score the rows it has not seen.

    The folds' scores can be handed to any number of calibrators.

    Parameters
    ----------
    estimator : classifier
        The base estimator, which is cloned for each split.
    X : array-like
        All samples.
    y : array-like of shape (n_samples,)
        All labels.
    splits : iterable of (train, test)
        Rows of each fold, as from ``cv.split(X, y)``.
    fit_params : dict, default=None
        Passed to ``fit``; values with one entry per sample are sliced.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        See `base_scores`.
    n_jobs : int, default=None
        Folds fitted in parallel.

    Returns
    -------
    folds : list of FittedFold
        In the order of the splits.
    """
    n_samples = len(y)
    return Parallel(n_jobs=n_jobs)(
        delayed(fit_fold)(
            clone(estimator),
            X,
            y,
            as_rows(train, n_samples),
            as_rows(test, n_samples),
            fit_params=fit_params,
            response_method=response_method,
        )
        for train, test in splits
    )


def out_of_fold_scores(folds, classes):
    """Scores of all rows, each from the fold that has not seen it.

    Parameters
    ----------
    folds : list of FittedFold
        Their test rows together hold every row once.
    classes : ndarray of shape (n_classes,)
        Label of each column of the result.

    Returns
    -------
    scores : BaseScores
        In the order of the rows, with all ``classes``.
    unseen : ndarray of bool of shape (n_samples, n_classes)
        True where the fold of a row has not seen a class; see
        `BaseScores.with_columns` for the scores that then take its place.

    Raises
    ------
    ValueError
        If a row is in no test set or in more than one.
    """
    order = np.concatenate([fold.test for fold in folds])
    if not np.array_equal(np.sort(order), np.arange(len(order))):
        raise ValueError(
            "With ensemble=False every sample must be in the test set of one split "
            "exactly. Pass a cv that partitions the samples, or ensemble=True."
        )
    aligned = [fold.scores.with_columns(classes) for fold in folds]
    stacked = np.concatenate([scores.values for scores in _of_one_shape(aligned)])
    values = np.empty_like(stacked)
    values[order] = stacked
    unseen = np.zeros((len(order), len(classes)), dtype=bool)
    for fold in folds:
        unseen[fold.test] = ~np.isin(classes, fold.scores.classes)
    return BaseScores(values, aligned[0].kind, classes), unseen


def _of_one_shape(parts):
    """Log-odds as two columns where another fold gave two columns."""
    if len({scores.values.ndim for scores in parts}) == 1:
        return parts
    return [
        replace(scores, values=two_columns(scores.values))
        if scores.values.ndim == 1
        else scores
        for scores in parts
    ]


def as_rows(indices, n_samples):
    """Row numbers from what a splitter yields: numbers or a mask."""
    indices = np.asarray(indices)
    if indices.dtype == bool and indices.shape == (n_samples,):
        return np.flatnonzero(indices)
    return indices


def take_rows(X, rows, columns=None):
    """Rows of an array, a sparse matrix, a data frame or a list.

    ``columns`` also picks columns: those of the training samples, where X holds a
    kernel or a distance between pairs of samples.
    """
    if columns is not None:
        return take_columns(take_rows(X, rows), columns)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):  # a table of pyarrow
        return X.take(rows)
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in rows]


def take_columns(X, columns):
    """Columns of an array, a sparse matrix or a data frame of pandas."""
    return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]


def _sliced(params, rows, n_samples):
    """Fit parameters for some rows; those not aligned with the samples pass as is."""
    return {
        name: take_rows(value, rows) if _is_aligned(value, n_samples) else value
        for name, value in params.items()
    }


def _is_aligned(value, n_samples):
    if isinstance(value, (str, bytes, dict)):
        return False
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) > 0 and shape[0] == n_samples
    return hasattr(value, "__getitem__") and len(value) == n_samples

"""CalibratedClassifierCV: a classifier whose probabilities are calibrated."""

from __future__ import annotations

import copy
import numbers
import warnings

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._validation import check_labels, check_option, check_weight, encode_labels
from .base_scores import (
    RESPONSE_METHODS,
    as_rows,
    base_scores,
    check_response,
    cross_fit,
    final_estimator,
    fit_fold,
    is_pairwise,
    out_of_fold_scores,
    take_columns,
)
from .methods import check_method, fit_method


class CalibratedClassifier:
    """A fitted base estimator with the calibrator of its scores.

    An entry of ``CalibratedClassifierCV.calibrated_classifiers_``.

    Attributes
    ----------
    estimator : classifier
        The fitted base estimator.
    calibrators : list
        The fitted calibrator: one object, which knows all classes.
    classes : ndarray of shape (n_classes,)
        Columns of the probabilities.
    method : str or object
        The calibration method as it was given.
    """

    def __init__(self, estimator, fitted, *, method, response_method, columns=None):
        self.estimator = estimator
        self.method = method
        self._fitted = fitted
        self._response_method = response_method
        # Training rows of an estimator that takes a matrix of pairs of samples.
        self._columns = columns

    @property
    def calibrators(self):
        """The fitted calibrator, in a list."""
        return [self._fitted.calibrator]

    @property
    def classes(self):
        """Columns of the probabilities."""
        return self._fitted.classes

    def predict_proba(self, X):
        """Calibrated probabilities of this pair alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What the base estimator accepts.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        if self._columns is not None:
            X = take_columns(X, self._columns)
        scores = base_scores(self.estimator, X, self._response_method)
        return self._fitted.predict_proba(scores)


class CalibratedClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Calibrate the probabilities of a classifier with cross-validation.

    Signature and semantics are those of `sklearn.calibration.CalibratedClassifierCV`;
    the default method is SMART, and any calibrator object may take its place.

    With ``ensemble=True`` each split of ``cv`` gives a pair: a clone of the base
    estimator fitted on the training rows, and a calibrator fitted on its scores of the
    test rows; probabilities are averaged over the pairs. With ``ensemble=False`` one
    calibrator is fitted on the out-of-fold scores of all rows, and used with the base
    estimator fitted on all of them. A base estimator that is fitted already goes into
    a `sklearn.frozen.FrozenEstimator`: then all rows fit the calibrator.

    Parameters
    ----------
    estimator : classifier, default=None
        The base estimator, with ``decision_function`` or ``predict_proba``. None is
        `sklearn.svm.LinearSVC`.
    method : str or calibrator, default="smart"
        The calibration method:

        - "smart": a temperature for each sample, `SMARTCalibrator`;
        - "temperature": one temperature, `TemperatureScaling`;
        - "sigmoid": Platt scaling, one-vs-rest, `SigmoidCalibrator`;
        - "isotonic": non-decreasing curves, one-vs-rest, `IsotonicCalibrator`;
        - "uncalibrated": nothing fitted, `Uncalibrated`;
        - an object with ``fit(scores, y)`` and ``predict_proba(scores)``, such as a
          calibrator with parameters of your choice or a Pipeline of calibrators. It is
          cloned, and told the classes by its parameter ``classes`` if it has one. It
          gets logits, or probabilities where it has ``input="probabilities"``, however
          the base estimator answers.

        The names "sigmoid", "isotonic" and "temperature" give scikit-learn's numbers.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn: None is 5 stratified folds, an int their number.
    n_jobs : int, default=None
        Number of folds fitted in parallel. It does not change the result.
    ensemble : bool or "auto", default="auto"
        "auto" is False for a FrozenEstimator and True otherwise.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What is calibrated: "auto" takes the decision function where there is one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels: those of ``y`` or, for a FrozenEstimator, those it knows.
    calibrated_classifiers_ : list of CalibratedClassifier
        One pair for each split, or a single one with ``ensemble=False``. Each has
        ``estimator``, ``calibrators``, ``classes``, ``method`` and ``predict_proba``.
    n_features_in_ : int
        Number of features seen in `fit`, where the base estimator says so.
    feature_names_in_ : ndarray of str
        Names of the features, where the base estimator says so.

    See Also
    --------
    SMARTCalibrator : The default method.
    sklearn.frozen.FrozenEstimator : Keeps a fitted estimator as it is.

    Notes
    -----
    Probabilities are float64, as scikit-learn's are; calibrators work in the dtype of
    the scores. Sample weights go to the base estimator as in scikit-learn, and as
    frequencies to the calibrator, to every step of a Pipeline. A class that a fold's
    base estimator has not seen has probability 0 in its pair.

    Samples of weight 0 take no part in a fit, but they do in the splits of an integer
    ``cv``, as in scikit-learn: remove them beforehand where the folds should not depend
    on them.

    With ``method="temperature"`` and no sample of a fold misclassified the log loss has
    no minimum; the temperature is then a small one, with a ConvergenceWarning. The
    default method has an answer there: of the samples to come it expects half an error
    in ``n + 1``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_smart import CalibratedClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> calibrated = CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, y)
    >>> len(calibrated.calibrated_classifiers_)
    3
    >>> calibrated.predict_proba(X).shape
    (1797, 10)

    Other calibrators, with their parameters in reach of a search:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_smart import SMARTCalibrator
    >>> search = GridSearchCV(
    ...     CalibratedClassifierCV(GaussianNB(), method=SMARTCalibrator(), cv=3),
    ...     {"method__n_bins": [10, 15]},
    ...     scoring="neg_log_loss",
    ...     cv=3,
    ... ).fit(X, y)
    >>> sorted(search.best_params_)
    ['method__n_bins']
    """

    def __init__(
        self,
        estimator=None,
        *,
        method="smart",
        cv=None,
        n_jobs=None,
        ensemble="auto",
        response_method="auto",
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.ensemble = ensemble
        self.response_method = response_method

    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit base estimators and their calibrators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What the base estimator accepts.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the samples; non-negative.
        **fit_params : dict
            Passed to ``fit`` of the base estimator; values with one entry per sample
            are sliced for each fold. With metadata routing enabled they, and
            ``sample_weight`` and ``groups``, go where they are requested.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            Before any fit, if a parameter is invalid, ``y`` does not hold one class
            label per sample or holds a class that a FrozenEstimator does not know,
            weights are not valid, or a class has fewer samples than there are folds.
            Later, if the base estimator's scores are not finite or not one per class.
        NotFittedError
            If the estimator inside a FrozenEstimator is not fitted.
        """
        estimator = self._base_estimator()
        self._check_parameters(estimator, weighted=sample_weight is not None)
        labels = self._check_y(y)
        X, y = indexable(X, _labels_for_base(y, labels))
        weight = check_weight(sample_weight, len(labels))
        classes = self._check_classes(estimator, labels)
        response = self.response_method
        check_response(estimator, response, len(classes))
        estimator_params, split_params = self._route(estimator, weight, fit_params)

        ensemble = self.ensemble
        if ensemble == "auto" or self._is_prefit():
            ensemble = not isinstance(estimator, FrozenEstimator)
        if ensemble or not isinstance(estimator, FrozenEstimator):
            splits = self._splits(X, labels, split_params)
        if ensemble:
            self.calibrated_classifiers_ = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_pair)(
                    clone(estimator),
                    X,
                    y,
                    labels,
                    as_rows(train, len(labels)),
                    as_rows(test, len(labels)),
                    classes,
                    self.method,
                    weight,
                    estimator_params,
                    response,
                )
                for train, test in splits
            )
        else:
            if isinstance(estimator, FrozenEstimator):
                scores, unseen = base_scores(estimator, X, response), None
            else:
                folds = cross_fit(
                    estimator,
                    X,
                    y,
                    splits,
                    fit_params=estimator_params,
                    response_method=response,
                    n_jobs=self.n_jobs,
                )
                scores, unseen = out_of_fold_scores(folds, classes)
                estimator = clone(estimator).fit(X, y, **estimator_params)
            fitted = fit_method(self.method, scores, labels, classes, weight, unseen)
            self.calibrated_classifiers_ = [
                CalibratedClassifier(
                    estimator, fitted, method=self.method, response_method=response
                )
            ]
        self.classes_ = _as_given(classes, y)
        self._copy_features(X)
        return self

    def predict_proba(self, X):
        """Calibrated probabilities, averaged over ``calibrated_classifiers_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What the base estimator accepts.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            float64, in the order of ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        parts = (pair.predict_proba(X) for pair in self.calibrated_classifiers_)
        total = next(parts).astype(np.float64)
        for part in parts:
            total += part
        total /= len(self.calibrated_classifiers_)
        # Rounding, and float32 more so, may leave a sum a little beside 1. Dividing a
        # row by a number changes no order.
        total /= total.sum(axis=1, keepdims=True)
        return total

    def predict(self, X):
        """The class of the largest calibrated probability; ties go to the first.

        It may differ from the base estimator's prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What the base estimator accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def get_metadata_routing(self):
        """How metadata are routed to the base estimator and the splitter.

        Returns
        -------
        routing : MetadataRouter
            Requests of ``fit``. The calibrators always get ``sample_weight``.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._base_estimator(), method_mapping=to_fit)
            .add(splitter=self.cv, method_mapping=to_split)
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        base = get_tags(self._base_estimator())
        tags.input_tags = copy.deepcopy(base.input_tags)
        tags.non_deterministic = base.non_deterministic
        if base.classifier_tags is not None:
            tags.classifier_tags.multi_class = base.classifier_tags.multi_class
            tags.classifier_tags.poor_score = base.classifier_tags.poor_score
        return tags

    def _base_estimator(self):
        if self.estimator is None:
            # With a fixed seed, so that the default is deterministic.
            estimator = LinearSVC(random_state=0)
            if _routing_enabled():
                estimator.set_fit_request(sample_weight=True)
            return estimator
        if self._is_prefit():
            return FrozenEstimator(self.estimator)
        return self.estimator

    def _is_prefit(self):
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _check_parameters(self, estimator, weighted):
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise ValueError(
                "The 'estimator' parameter of CalibratedClassifierCV must be a "
                f"classifier instance or None. Got {self.estimator!r} instead."
            )
        check_method(self.method, type(self).__name__, weighted)
        check_option(self, "response_method", RESPONSE_METHODS)
        if not isinstance(self.ensemble, (bool, np.bool_)) and self.ensemble != "auto":
            raise ValueError(
                "The 'ensemble' parameter of CalibratedClassifierCV must be a bool or "
                f"'auto'. Got {self.ensemble!r} instead."
            )
        n_jobs = self.n_jobs
        if n_jobs is not None and not isinstance(n_jobs, numbers.Integral):
            raise ValueError(
                "The 'n_jobs' parameter of CalibratedClassifierCV must be an int or "
                f"None. Got {n_jobs!r} instead."
            )
        if isinstance(estimator, FrozenEstimator):
            check_is_fitted(estimator)
        if self._is_prefit():
            warnings.warn(
                "cv='prefit' is gone from scikit-learn. Pass "
                "FrozenEstimator(estimator) instead.",
                FutureWarning,
                stacklevel=3,
            )

    def _check_y(self, y):
        if y is None:
            raise ValueError(
                "CalibratedClassifierCV requires y to be passed, but the target y is "
                "None."
            )
        shape = np.asarray(y).shape
        if len(shape) == 2 and shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Pass a y "
                "of shape (n_samples,), for example with ravel().",
                DataConversionWarning,
                stacklevel=3,
            )
        return check_labels(y)

    def _check_classes(self, estimator, labels):
        """The classes: those of y, or those that a frozen estimator knows."""
        frozen = final_estimator(estimator)
        if isinstance(frozen, FrozenEstimator):
            known = check_labels(frozen.classes_, name="classes_")
            encode_labels(labels, known)
            return known
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                "Calibration needs at least 2 classes, but y holds 1 class: "
                f"{classes.tolist()}."
            )
        return classes

    def _route(self, estimator, weight, fit_params):
        """Parameters of the base estimator's fit and of the splitter's split."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=weight, **fit_params)
            return routed.estimator.fit, routed.splitter.split
        params = dict(fit_params)
        if weight is not None and has_fit_parameter(estimator, "sample_weight"):
            params["sample_weight"] = weight
        elif weight is not None and not isinstance(estimator, FrozenEstimator):
            warnings.warn(
                f"{type(estimator).__name__} does not accept sample_weight in fit: the "
                "weights are used for the calibration only. To pass weights to a step "
                "of a Pipeline, enable metadata routing and request them there.",
                UserWarning,
                stacklevel=3,
            )
        return params, {}

    def _splits(self, X, labels, split_params):
        cv = self.cv
        n_folds = cv if isinstance(cv, numbers.Integral) else None
        n_folds = getattr(cv, "n_splits", n_folds)
        if n_folds and (np.unique(labels, return_counts=True)[1] < n_folds).any():
            raise ValueError(
                f"Requesting {n_folds}-fold cross-validation but there are fewer than "
                f"{n_folds} samples of at least one class. Pass a smaller cv."
            )
        if isinstance(cv, LeaveOneOut):
            raise ValueError(
                "LeaveOneOut cross-validation does not give test sets with all "
                "classes, which calibration needs. Pass another cv."
            )
        cv = check_cv(cv, labels, classifier=True)
        splits = list(cv.split(X, labels, **split_params))
        if not splits:
            raise ValueError("cv yields no split: there is nothing to fit on.")
        return splits

    def _copy_features(self, X):
        first = self.calibrated_classifiers_[0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
            if hasattr(first.estimator, name):
                setattr(self, name, getattr(first.estimator, name))
        if first._columns is not None:
            self.n_features_in_ = X.shape[1]


def _fit_pair(
    estimator,
    X,
    y,
    labels,
    train,
    test,
    classes,
    method,
    weight,
    fit_params,
    response_method,
):
    """Fit a base estimator on ``train`` and a calibrator on its scores of ``test``."""
    fold = fit_fold(
        estimator,
        X,
        y,
        train,
        test,
        fit_params=fit_params,
        response_method=response_method,
    )
    fitted = fit_method(
        method,
        fold.scores,
        labels[test],
        classes,
        None if weight is None else weight[test],
    )
    return CalibratedClassifier(
        fold.estimator,
        fitted,
        method=method,
        response_method=response_method,
        columns=train if is_pairwise(estimator) else None,
    )


def _routing_enabled():
    return get_config().get("enable_metadata_routing", False)


def _labels_for_base(y, labels):
    """Labels as the base estimator gets them: y itself, if it is 1-D and plain.

    Columns of pandas with an own dtype, categorical and nullable ones, become arrays
    that every classifier understands.
    """
    dtype = getattr(y, "dtype", None)
    plain = isinstance(dtype, np.dtype) and np.ndim(y) == 1
    strings = plain and dtype.kind == "O" and labels.dtype.kind == "U"
    return y if plain and (dtype == labels.dtype or strings) else labels


def _as_given(classes, y):
    """Classes with the dtype of y where that is object, as of strings in pandas."""
    return classes.astype(object) if y.dtype.kind == "O" else classes

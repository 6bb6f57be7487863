"""A fitted CalibratedClassifierCV: attributes, splits, frozen base estimators."""

import pickle

import numpy as np
import pytest
import sklearn.calibration
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_smart import CalibratedClassifierCV, SigmoidCalibrator, SMARTCalibrator
from sklearn_smart.calibrators import CALIBRATORS

from .stand_ins import ENSEMBLE, NAMES, SMALL_SMART, make_data


@NAMES
@ENSEMBLE
@pytest.mark.parametrize("n_classes", [2, 4])
def test_fitted_attributes(method, ensemble, n_classes):
    X, y = make_data(n_classes=n_classes)
    calibrated = CalibratedClassifierCV(
        LogisticRegression(), method=method, cv=3, ensemble=ensemble
    ).fit(X, y)
    pairs = calibrated.calibrated_classifiers_
    assert len(pairs) == (3 if ensemble else 1)
    for pair in pairs:
        assert isinstance(pair.estimator, LogisticRegression)
        assert isinstance(pair.calibrators[0], CALIBRATORS[method])
        assert pair.method == method
        assert_array_equal(pair.classes, calibrated.classes_)
    mean = np.mean([pair.predict_proba(X) for pair in pairs], axis=0)
    probabilities = calibrated.predict_proba(X)
    assert_allclose(probabilities, mean, rtol=1e-12)
    assert probabilities.dtype == np.float64
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(
        calibrated.predict(X), calibrated.classes_[probabilities.argmax(axis=1)]
    )
    assert calibrated.n_features_in_ == 6
    assert not hasattr(calibrated, "feature_names_in_")


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    names = [f"x{k}" for k in range(6)]
    calibrated = CalibratedClassifierCV(LogisticRegression(), method="sigmoid")
    calibrated.fit(pd.DataFrame(X, columns=names), y)
    assert_array_equal(calibrated.feature_names_in_, names)
    calibrated.fit(X, y)
    assert not hasattr(calibrated, "feature_names_in_")


def test_default_estimator():
    X, y = make_data(n_classes=2)
    calibrated = CalibratedClassifierCV(method="sigmoid").fit(X, y)
    assert len(calibrated.calibrated_classifiers_) == 5
    for pair in calibrated.calibrated_classifiers_:
        assert isinstance(pair.estimator, LinearSVC)


def test_default_method_is_smart():
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, y)
    assert CalibratedClassifierCV().method == "smart"
    for pair in calibrated.calibrated_classifiers_:
        assert isinstance(pair.calibrators[0], SMARTCalibrator)


@NAMES
def test_pickle_and_clone(method):
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method=method, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(calibrated))
    assert_array_equal(again.predict_proba(X), calibrated.predict_proba(X))
    assert not hasattr(clone(calibrated), "calibrated_classifiers_")
    refit = clone(calibrated).fit(X, y)
    assert_array_equal(refit.predict_proba(X), calibrated.predict_proba(X))


def test_pickle_holds_no_training_data():
    X, y = make_data(n=2000)
    calibrated = CalibratedClassifierCV(GaussianNB(), method=SMALL_SMART, cv=2)
    assert len(pickle.dumps(calibrated.fit(X, y))) < X.nbytes / 4


def test_not_fitted():
    with pytest.raises(NotFittedError):
        CalibratedClassifierCV().predict_proba([[0.0]])


@NAMES
@ENSEMBLE
def test_ensemble_false_is_cross_val_predict(method, ensemble):
    """One calibrator on out-of-fold scores, one base estimator on all rows."""
    X, y = make_data()
    base = LogisticRegression()
    calibrated = CalibratedClassifierCV(base, method=method, cv=3, ensemble=False)
    calibrated.fit(X, y)
    scores = cross_val_predict(base, X, y, cv=3, method="decision_function")
    settings = {"zero_rows": "uniform"} if method == "isotonic" else {}
    calibrator = CALIBRATORS[method](**settings).fit(scores, y)
    at = base.fit(X, y).decision_function(X)
    assert_allclose(
        calibrated.predict_proba(X), calibrator.predict_proba(at), atol=1e-9
    )


@pytest.mark.parametrize(
    ("cv", "n_pairs"),
    [
        (None, 5),
        (2, 2),
        (np.int64(3), 3),
        (KFold(3, shuffle=True, random_state=0), 3),
        (RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0), 4),
    ],
    ids=str,
)
def test_splitters(cv, n_pairs):
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method="sigmoid", cv=cv)
    assert len(calibrated.fit(X, y).calibrated_classifiers_) == n_pairs


@ENSEMBLE
def test_iterables_of_splits_and_masks(ensemble):
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    masks = [
        (np.isin(np.arange(len(y)), train), np.isin(np.arange(len(y)), test))
        for train, test in splits
    ]
    settings = {"method": "sigmoid", "ensemble": ensemble}
    expected = CalibratedClassifierCV(GaussianNB(), cv=3, **settings).fit(X, y)
    for cv in (splits, masks):
        calibrated = CalibratedClassifierCV(GaussianNB(), cv=cv, **settings)
        assert_array_equal(
            calibrated.fit(X, y).predict_proba(X), expected.predict_proba(X)
        )


def test_ensemble_false_needs_a_partition():
    X, y = make_data()
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2)
    with pytest.raises(ValueError, match="in the test set of one split exactly"):
        CalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=False).fit(X, y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "smart", "temperature"])
@ENSEMBLE
def test_a_fold_that_has_not_seen_a_class(method, ensemble):
    X, y = make_data(n_classes=4)
    first = np.flatnonzero(y == 0)
    half = np.setdiff1d(np.arange(len(y)), first)[::2]
    test = np.concatenate([first, half])
    rest = np.setdiff1d(np.arange(len(y)), test)
    cv = [(rest, test), (test, rest)]
    calibrated = CalibratedClassifierCV(
        GaussianNB(), method=method, cv=cv, ensemble=ensemble
    ).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    assert probabilities.shape == (len(y), 4)
    assert_allclose(probabilities.sum(axis=1), 1)
    if ensemble:
        blind = calibrated.calibrated_classifiers_[0].predict_proba(X)
        assert_array_equal(blind[:, 0], 0)
        assert_allclose(blind.sum(axis=1), 1)
        if method in ("smart", "temperature"):
            # Samples of the unknown class say nothing about the others.
            assert_array_equal(
                calibrated.calibrated_classifiers_[0].calibrators[0].classes_, [1, 2, 3]
            )


def test_one_vs_rest_counts_unknown_classes_as_negatives():
    """As scikit-learn, whose numbers these are."""
    X, y = make_data(n_classes=4)
    order = np.argsort(y == 0, kind="stable")
    X, y = X[order], y[order]
    n = int((y > 0).sum())
    cv = [(np.arange(n // 2), np.arange(n // 2, len(y)))]
    settings = {"method": "isotonic", "cv": cv}
    ours = CalibratedClassifierCV(GaussianNB(), **settings).fit(X, y)
    theirs = sklearn.calibration.CalibratedClassifierCV(GaussianNB(), **settings)
    a, b = ours.predict_proba(X), theirs.fit(X, y).predict_proba(X)
    assert_allclose(a, b, atol=1e-9)


def test_a_fold_with_one_class():
    X, y = make_data(n_classes=2)
    order = np.argsort(y)
    with pytest.raises(ValueError, match="fitted on the class"):
        CalibratedClassifierCV(GaussianNB(), cv=KFold(2)).fit(X[order], y[order])


@NAMES
@pytest.mark.parametrize("weighted", [False, True])
def test_frozen_base(method, weighted):
    X, y = make_data()
    base = LogisticRegression().fit(X[::2], y[::2])
    before = base.coef_.copy()
    weight = np.arange(len(y)) % 3 if weighted else None
    calibrated = CalibratedClassifierCV(FrozenEstimator(base), method=method)
    calibrated.fit(X, y, sample_weight=weight)
    settings = {"zero_rows": "uniform"} if method == "isotonic" else {}
    scores = base.decision_function(X)
    by_hand = CALIBRATORS[method](**settings).fit(scores, y, weight)
    assert_allclose(
        calibrated.predict_proba(X), by_hand.predict_proba(scores), atol=1e-9
    )
    assert_array_equal(base.coef_, before)
    assert calibrated.calibrated_classifiers_[0].estimator.estimator is base


def test_frozen_base_with_an_ensemble():
    X, y = make_data()
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    calibrated = CalibratedClassifierCV(
        frozen, method="sigmoid", cv=3, ensemble=True
    ).fit(X, y)
    assert len(calibrated.calibrated_classifiers_) == 3
    _, test = next(StratifiedKFold(3).split(X, y))
    by_hand = SigmoidCalibrator().fit(frozen.decision_function(X[test]), y[test])
    first = calibrated.calibrated_classifiers_[0].calibrators[0]
    assert_allclose(first.slope_, by_hand.slope_)


def test_unknown_label():
    X, y = make_data()
    frozen = FrozenEstimator(LogisticRegression().fit(X[y < 2], y[y < 2]))
    with pytest.raises(ValueError, match=r"not among the classes: \[2\]"):
        CalibratedClassifierCV(frozen).fit(X, y)
    chain = make_pipeline(StandardScaler(), frozen)
    with pytest.raises(ValueError, match=r"not among the classes: \[2\]"):
        CalibratedClassifierCV(chain).fit(X, y)


def test_prefit():
    """scikit-learn's former name for a frozen estimator still works."""
    X, y = make_data()
    base = LogisticRegression().fit(X, y)
    expected = CalibratedClassifierCV(FrozenEstimator(base), method="sigmoid").fit(X, y)
    calibrated = CalibratedClassifierCV(base, method="sigmoid", cv="prefit")
    with pytest.warns(FutureWarning, match="FrozenEstimator"):
        calibrated.fit(X, y)
    assert_array_equal(calibrated.predict_proba(X), expected.predict_proba(X))
    unfitted = CalibratedClassifierCV(LogisticRegression(), cv="prefit")
    with pytest.raises(NotFittedError):
        unfitted.fit(X, y)

"""What CalibratedClassifierCV hands to a calibrator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sklearn_smart import (
    CalibratedClassifierCV,
    IsotonicCalibrator,
    TemperatureScaling,
    Uncalibrated,
    calibrated_classifier,
)

from .stand_ins import (
    SMALL_SMART,
    FixedProbabilities,
    FixedScores,
    ProbabilityRecorder,
    Recorder,
    make_data,
    only_calibrator,
)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("base", [FixedScores, FixedProbabilities])
@pytest.mark.parametrize("wanted", ["logits", "probabilities"])
def test_scores_arrive_in_the_declared_form(n_classes, base, wanted):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), 30)
    y = np.arange(30) % n_classes
    is_logits = base is FixedScores
    X = np.log(p) if is_logits else p
    if is_logits and n_classes == 2:
        X = np.diff(X, axis=1)
    calibrator = Recorder() if wanted == "logits" else ProbabilityRecorder()
    fitted = CalibratedClassifierCV(
        FrozenEstimator(base().fit(X, y)), method=calibrator
    ).fit(X, y)
    given = only_calibrator(fitted).scores_
    if n_classes == 2 and is_logits:
        expected = X[:, 0] if wanted == "logits" else expit(X[:, 0])
    else:
        expected = np.log(p) if wanted == "logits" else p
    assert_allclose(given, expected, rtol=1e-12)
    assert_allclose(fitted.predict_proba(X), p, rtol=1e-9)


def test_a_pipeline_ends_in_a_calibrator():
    X, y = make_data()
    method = make_pipeline(TemperatureScaling(), "passthrough")
    with pytest.raises(ValueError, match="ends in 'passthrough'"):
        CalibratedClassifierCV(LogisticRegression(), method=method).fit(X, y)


def test_only_the_first_step_of_a_pipeline_says_what_it_wants():
    X, y = make_data()
    method = make_pipeline(IsotonicCalibrator(input="probabilities"), SMALL_SMART)
    fitted = CalibratedClassifierCV(LogisticRegression(), method=method, cv=3).fit(X, y)
    assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    wrong = make_pipeline(
        TemperatureScaling(), IsotonicCalibrator(input="probabilities")
    )
    with pytest.raises(ValueError, match="not the first step"):
        CalibratedClassifierCV(LogisticRegression(), method=wrong).fit(X, y)
    with pytest.raises(ValueError, match="has no transform"):
        CalibratedClassifierCV(
            LogisticRegression(), method=make_pipeline(GaussianNB(), SMALL_SMART)
        ).fit(X, y)


def test_probabilities_are_clipped_by_dtype_only():
    p = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.25, 0.25]] * 3)
    y = np.array([0, 1, 2, 0, 1, 1, 2, 0, 0, 1, 2, 1])
    base = FrozenEstimator(FixedProbabilities().fit(p, y))
    fitted = CalibratedClassifierCV(base, method=Recorder()).fit(p, y)
    expected = np.log(np.maximum(p, np.finfo(float).eps))
    assert_array_equal(only_calibrator(fitted).scores_, expected)


@pytest.mark.parametrize("response_method", ["predict_proba", "decision_function"])
def test_response_method(response_method):
    X, y = make_data()
    base = LogisticRegression().fit(X, y)
    calibrated = CalibratedClassifierCV(
        FrozenEstimator(base), method="isotonic", response_method=response_method
    ).fit(X, y)
    scores = getattr(base, response_method)(X)
    kind = "probabilities" if response_method == "predict_proba" else "logits"
    by_hand = IsotonicCalibrator(input=kind, zero_rows="uniform").fit(scores, y)
    assert_allclose(calibrated.predict_proba(X), by_hand.predict_proba(scores))
    auto = CalibratedClassifierCV(FrozenEstimator(base), method="isotonic").fit(X, y)
    same = np.allclose(auto.predict_proba(X), calibrated.predict_proba(X))
    assert same == (response_method == "decision_function")


def test_a_response_that_the_base_lacks():
    X, y = make_data()
    with pytest.raises(ValueError, match="GaussianNB has no decision_function"):
        CalibratedClassifierCV(GaussianNB(), response_method="decision_function").fit(
            X, y
        )


def test_any_classifier_of_scores_is_a_method():
    X, y = make_data()
    method = LogisticRegression()
    calibrated = CalibratedClassifierCV(GaussianNB(), method=method, cv=3).fit(X, y)
    assert not hasattr(method, "coef_")
    first = calibrated.calibrated_classifiers_[0]
    assert isinstance(first.calibrators[0], LogisticRegression)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_one_fit_serves_many_methods():
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    folds = calibrated_classifier.cross_fit(GaussianNB(), X, y, splits)
    classes = np.unique(y)
    for method in ("sigmoid", "isotonic", "temperature", "smart"):
        expected = CalibratedClassifierCV(GaussianNB(), method=method, cv=splits)
        expected.fit(X, y)
        for fold, pair in zip(folds, expected.calibrated_classifiers_, strict=True):
            fitted = calibrated_classifier.fit_method(
                method, fold.scores, y[fold.test], classes
            )
            scores = calibrated_classifier.base_scores(fold.estimator, X)
            assert_array_equal(fitted.predict_proba(scores), pair.predict_proba(X))
    scores, unseen = calibrated_classifier.out_of_fold_scores(folds, classes)
    expected = cross_val_predict(GaussianNB(), X, y, cv=splits, method="predict_proba")
    assert_array_equal(scores.values, expected)
    assert not unseen.any()


def test_the_estimator_answers_once_per_prediction():
    """Uncalibrated gives back the base estimator's probabilities."""
    X, y = make_data()
    base = LogisticRegression().fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(base), method=Uncalibrated())
    assert_allclose(calibrated.fit(X, y).predict_proba(X), base.predict_proba(X))

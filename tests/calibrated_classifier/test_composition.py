"""CalibratedClassifierCV inside and around other estimators."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_smart import CalibratedClassifierCV, SMARTCalibrator, TemperatureScaling

from .stand_ins import ENSEMBLE, SMALL_SMART, make_data


def test_search_for_parameters_of_the_method():
    X, y = make_data()
    base = make_pipeline(StandardScaler(), LogisticRegression())
    calibrated = CalibratedClassifierCV(base, method=SMALL_SMART, cv=2)
    bins = [5, 10]
    search = GridSearchCV(
        calibrated,
        {"method__n_bins": bins, "estimator__logisticregression__C": [1.0]},
        scoring="neg_log_loss",
        cv=2,
    ).fit(X, y)
    assert search.best_params_["method__n_bins"] in bins
    chosen = search.best_estimator_.calibrated_classifiers_[0].calibrators[0]
    assert chosen.n_bins == search.best_params_["method__n_bins"]
    assert SMALL_SMART.n_bins == 15
    inside = Pipeline([("scale", StandardScaler()), ("model", calibrated)])
    grid = {"model__method__n_bins": bins}
    nested = GridSearchCV(inside, grid, scoring="neg_log_loss", cv=2)
    scores = cross_val_score(nested, X, y, cv=2, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    chain = make_pipeline(TemperatureScaling(), SMALL_SMART)
    search = GridSearchCV(
        CalibratedClassifierCV(base, method=chain, cv=2),
        {"method__smartcalibrator__n_bins": bins},
        scoring="neg_log_loss",
        cv=2,
    ).fit(X, y)
    assert search.best_params_["method__smartcalibrator__n_bins"] in bins
    methods = GridSearchCV(
        calibrated, {"method": ["sigmoid", TemperatureScaling()]}, cv=2
    ).fit(X, y)
    assert np.isfinite(methods.cv_results_["mean_test_score"]).all()


def test_parameters():
    calibrated = CalibratedClassifierCV(method=SMARTCalibrator())
    assert calibrated.get_params()["method__n_bins"] == 15
    calibrated.set_params(method__n_bins=7)
    assert calibrated.method.n_bins == 7
    assert clone(calibrated).method is not calibrated.method


def test_thresholds_votes_and_stacks():
    X, y = make_data(n_classes=2)
    calibrated = CalibratedClassifierCV(GaussianNB(), method=SMALL_SMART, cv=2)
    second = calibrated.fit(X, y).predict_proba(X)[:, 1]
    fixed = FixedThresholdClassifier(calibrated, threshold=0.3).fit(X, y)
    assert_array_equal(fixed.predict(X), (second >= 0.3).astype(int))
    tuned = TunedThresholdClassifierCV(calibrated, thresholds=11, cv=2).fit(X, y)
    assert_array_equal(tuned.predict(X), (second >= tuned.best_threshold_).astype(int))
    vote = VotingClassifier(
        [("a", calibrated), ("b", LogisticRegression())], voting="soft"
    )
    vote.fit(X, y)
    other = LogisticRegression().fit(X, y).predict_proba(X)
    assert_allclose(vote.predict_proba(X)[:, 1], (second + other[:, 1]) / 2)
    stack = StackingClassifier([("a", calibrated), ("b", LogisticRegression())], cv=2)
    assert stack.fit(X, y).score(X, y) > 0.6
    assert_allclose(stack.transform(X)[:, 0], second)


def test_cross_val_predict():
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method=SMALL_SMART, cv=2)
    probabilities = cross_val_predict(calibrated, X, y, cv=2, method="predict_proba")
    assert_allclose(probabilities.sum(axis=1), 1)


def test_calibrating_twice():
    X, y = make_data()
    inner = CalibratedClassifierCV(GaussianNB(), method="sigmoid", cv=2)
    outer = CalibratedClassifierCV(inner, method="temperature", cv=2).fit(X, y)
    assert_allclose(outer.predict_proba(X).sum(axis=1), 1)


@ENSEMBLE
def test_n_jobs(ensemble):
    X, y = make_data()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    results = [
        CalibratedClassifierCV(
            GaussianNB(), method=SMALL_SMART, cv=3, n_jobs=n_jobs, ensemble=ensemble
        )
        .fit(X, y)
        .predict_proba(X)
        for n_jobs in (None, 2)
    ]
    assert_array_equal(*results)
    assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002

"""What CalibratedClassifierCV refuses, and that it does so before any fit."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_smart import CalibratedClassifierCV, SMARTCalibrator

from .stand_ins import Bad, NeverFitted, make_data


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "smrt"}, "'method' parameter .* must be one of .*'smart'"),
        ({"method": SMARTCalibrator}, "must be one of .* or a calibrator: an instance"),
        ({"method": StandardScaler()}, "predict_proba"),
        ({"method": None}, "'method' parameter"),
        ({"ensemble": "yes"}, "'ensemble' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
        ({"response_method": "predict"}, "'response_method' parameter"),
        ({"cv": 300}, "Requesting 300-fold cross-validation"),
        ({"cv": LeaveOneOut()}, "LeaveOneOut cross-validation does not"),
        ({"cv": "three"}, "Expected .*cv"),
        ({"cv": []}, "cv yields no split"),
        ({"estimator": LogisticRegression}, "'estimator' parameter"),
        ({"estimator": StandardScaler()}, "StandardScaler has no decision_function or"),
        ({"estimator": IsotonicRegression()}, "has no decision_function"),
    ],
    ids=str,
)
def test_bad_parameters(settings, message):
    X, y = make_data()
    settings = {"estimator": NeverFitted(), **settings}
    with pytest.raises(ValueError, match=message):
        CalibratedClassifierCV(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        (np.eye(3)[np.arange(240) % 3], "multilabel-indicator or one-hot"),
        (np.linspace(0, 1, 240), "continuous"),
        (np.zeros(240), "at least 2 classes"),
        (np.arange(239) % 3, "inconsistent numbers of samples"),
        ([None] + [1, 0] * 119 + [1], "missing labels"),
        (np.r_[np.nan, np.arange(239) % 3], "NaN"),
    ],
)
def test_bad_labels(y, message):
    X, _ = make_data()
    with pytest.raises(ValueError, match=message):
        CalibratedClassifierCV(NeverFitted()).fit(X, y)


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda base: base,
        lambda base: make_pipeline(StandardScaler(), base),
        lambda base: GridSearchCV(base, {"C": [1.0]}, cv=2),
    ],
    ids=["alone", "pipeline", "search"],
)
def test_scores_of_pairs_of_classes(n_classes, wrap):
    """Also three classes, which have as many pairs as classes."""
    X, y = make_data(n_classes=n_classes)
    base = wrap(SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        CalibratedClassifierCV(base, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        CalibratedClassifierCV(FrozenEstimator(base.fit(X, y))).fit(X, y)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.nan, "NaN or infinity in 1 of 80 rows"),
        (np.inf, "NaN or infinity"),
        ("narrow", r"has shape \(80, 2\), but a column for each of its 3 classes"),
    ],
)
@pytest.mark.parametrize("response", ["decision_function", "predict_proba"])
def test_answers_of_a_bad_base(answer, message, response):
    X, y = make_data()
    base = Bad(answer, response)
    calibrated = CalibratedClassifierCV(base, cv=3, response_method=response)
    with pytest.raises(
        ValueError, match=f"{response} of the base estimator Bad.*{message}"
    ):
        calibrated.fit(X, y)


@pytest.mark.parametrize(
    ("row", "message"), [(-0.2, "ranges from -0.2"), (0.4, "misses a sum of 1")]
)
def test_probabilities_that_are_none(row, message):
    X, y = make_data()
    calibrated = CalibratedClassifierCV(Bad(row), response_method="predict_proba")
    with pytest.raises(ValueError, match=message):
        calibrated.fit(X, y)


def test_nan_at_prediction_names_the_base():
    X, y = make_data()
    base = Bad(0.0, "decision_function")
    calibrated = CalibratedClassifierCV(base, method="sigmoid", cv=3).fit(X, y)
    for pair in calibrated.calibrated_classifiers_:
        pair.estimator.answer = np.nan
    with pytest.raises(ValueError, match="base estimator Bad holds NaN"):
        calibrated.predict_proba(X)

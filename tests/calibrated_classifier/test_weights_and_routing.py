"""Sample weights, fit parameters and metadata routing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_smart import CalibratedClassifierCV, SigmoidCalibrator, TemperatureScaling

from .stand_ins import (
    ENSEMBLE,
    SMALL_SMART,
    FixedScores,
    NeverFitted,
    NotesWeights,
    Recorder,
    make_data,
)


@ENSEMBLE
def test_weights_reach_base_and_calibrator(ensemble):
    X, y = make_data()
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    splits = list(StratifiedKFold(3).split(X, y))
    calibrated = CalibratedClassifierCV(
        NotesWeights(), method=Recorder(), cv=splits, ensemble=ensemble
    ).fit(X, y, sample_weight=weight)
    pairs = calibrated.calibrated_classifiers_
    for pair, (train, test) in zip(pairs, splits, strict=False):
        rows = (train, test) if ensemble else (slice(None), slice(None))
        assert_array_equal(pair.estimator.weight_, weight[rows[0]])
        assert_array_equal(pair.calibrators[0].weight_, weight[rows[1]])


@pytest.mark.parametrize("method", ["isotonic", "temperature", TemperatureScaling()])
@ENSEMBLE
def test_weight_two_is_every_row_twice(method, ensemble):
    """No penalty in a tree, no prior in the calibrators: weights are frequencies."""
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    n = len(y)
    doubled = [(np.r_[a, a + n], np.r_[b, b + n]) for a, b in splits]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    settings = {"method": method, "ensemble": ensemble}
    twice = CalibratedClassifierCV(tree, cv=doubled, **settings)
    twice.fit(np.r_[X, X], np.r_[y, y])
    once = CalibratedClassifierCV(tree, cv=splits, **settings).fit(X, y)
    for weight in (np.full(n, 2), 2):
        heavy = CalibratedClassifierCV(tree, cv=splits, **settings)
        heavy.fit(X, y, sample_weight=weight)
        assert_allclose(heavy.predict_proba(X), twice.predict_proba(X), atol=1e-7)
        assert_allclose(heavy.predict_proba(X), once.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("routing", [False, True])
@ENSEMBLE
def test_weights_reach_every_step_of_a_pipeline(routing, ensemble):
    X, y = make_data()
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    method = make_pipeline(
        SigmoidCalibrator(),
        make_pipeline(TemperatureScaling(), "passthrough", SMALL_SMART),
    )
    with config_context(enable_metadata_routing=routing):
        base = LogisticRegression()
        if routing:
            base.set_fit_request(sample_weight=True)
        frozen = FrozenEstimator(base.fit(X, y))
        calibrated = CalibratedClassifierCV(frozen, method=method, ensemble=False)
        calibrated.fit(X, y, sample_weight=weight)
        scores, kept = frozen.decision_function(X), weight > 0
        one = SigmoidCalibrator().fit(scores[kept], y[kept], weight[kept])
        z = one.transform(scores)
        two = TemperatureScaling().fit(z[kept], y[kept], weight[kept])
        z = two.transform(z)
        three = clone(SMALL_SMART).fit(z[kept], y[kept], weight[kept])
        assert_allclose(calibrated.predict_proba(X), three.predict_proba(z), atol=1e-6)


def test_a_calibrator_that_would_ignore_weights():
    class NoWeights(Recorder):
        def fit(self, scores, y):
            return super().fit(scores, y)

    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method=NoWeights())
    calibrated.fit(X, y)
    with pytest.raises(ValueError, match="NoWeights does not accept it in fit"):
        calibrated.fit(X, y, sample_weight=np.ones(len(y)))


def test_a_base_without_weights_warns():
    X, y = make_data()

    class Plain(FixedScores):
        def decision_function(self, X):
            return X[:, : len(self.classes_)]

    with pytest.warns(UserWarning, match="Plain does not accept sample_weight"):
        CalibratedClassifierCV(Plain(), method="sigmoid").fit(
            X, y, sample_weight=np.ones(len(y))
        )


@ENSEMBLE
def test_fit_parameters(ensemble):
    X, y = make_data()
    calibrated = CalibratedClassifierCV(
        NotesWeights(), method="sigmoid", cv=3, ensemble=ensemble
    )
    for note in (list(range(len(y))), np.arange(len(y))):
        calibrated.fit(X, y, note=note)
        got = calibrated.calibrated_classifiers_[0].estimator.note_
        train = (
            next(StratifiedKFold(3).split(X, y))[0] if ensemble else np.arange(len(y))
        )
        assert type(got) is type(note)
        assert_array_equal(got, train)
    for note in ("text", {"a": 1}, np.ones(len(y) + 1), 3):
        calibrated.fit(X, y, note=note)
        assert calibrated.calibrated_classifiers_[0].estimator.note_ is note


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(239)], "negative"),
        (np.zeros(240), "zero for all"),
        (np.r_[np.nan, np.ones(239)], "NaN"),
        (np.ones(239), "shape"),
        (np.ones((240, 2)), "shape"),
    ],
)
def test_bad_weights(weight, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        CalibratedClassifierCV(NeverFitted()).fit(X, y, sample_weight=weight)


def test_weights_that_leave_no_calibration_sample():
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    weight = np.ones(len(y))
    weight[splits[0][1]] = 0
    with pytest.raises(ValueError, match="No sample is left"):
        CalibratedClassifierCV(GaussianNB(), cv=splits).fit(X, y, sample_weight=weight)


@ENSEMBLE
def test_groups_reach_the_splitter_by_routing(ensemble):
    X, y = make_data()
    groups = np.arange(len(y)) % 8
    with config_context(enable_metadata_routing=True):
        calibrated = CalibratedClassifierCV(
            GaussianNB(), method="sigmoid", cv=GroupKFold(4), ensemble=ensemble
        ).fit(X, y, groups=groups)
    splits = list(GroupKFold(4).split(X, y, groups))
    expected = CalibratedClassifierCV(
        GaussianNB(), method="sigmoid", cv=splits, ensemble=ensemble
    ).fit(X, y)
    assert_array_equal(calibrated.predict_proba(X), expected.predict_proba(X))


def test_weights_and_parameters_by_routing():
    X, y = make_data()
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    with config_context(enable_metadata_routing=True):
        base = NotesWeights().set_fit_request(sample_weight=True, note=True)
        inner = CalibratedClassifierCV(base, method=Recorder(), cv=3)
        inner.set_fit_request(sample_weight=True)
        inner.set_score_request(sample_weight=True)
        inner.fit(X, y, sample_weight=weight, note="a")
        train, test = next(StratifiedKFold(3).split(X, y))
        pair = inner.calibrated_classifiers_[0]
        assert_array_equal(pair.estimator.weight_, weight[train])
        assert_array_equal(pair.calibrators[0].weight_, weight[test])
        assert pair.estimator.note_ == "a"
        outer = GridSearchCV(inner, {"estimator__C": [0.1, 1.0]}, cv=2)
        outer.fit(X, y, sample_weight=weight, note="b")
        assert outer.best_estimator_.calibrated_classifiers_[0].estimator.note_ == "b"
        with pytest.raises(TypeError, match="unexpected"):
            inner.fit(X, y, other=1)
        default = CalibratedClassifierCV(method="sigmoid")
        default.fit(X, y, sample_weight=weight)


def test_base_pipeline_gets_weights_by_routing():
    X, y = make_data()
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    with config_context(enable_metadata_routing=True):
        base = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            NotesWeights().set_fit_request(sample_weight=True, note=False),
        )
        calibrated = CalibratedClassifierCV(base, method="sigmoid", cv=3)
        calibrated.fit(X, y, sample_weight=weight)
    train, _ = next(StratifiedKFold(3).split(X, y))
    first = calibrated.calibrated_classifiers_[0].estimator
    assert_array_equal(first[-1].weight_, weight[train])

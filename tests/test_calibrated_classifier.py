"""CalibratedClassifierCV: semantics, methods, weights, routing, errors."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.calibration
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sklearn_smart import (
    CalibratedClassifierCV,
    IsotonicCalibrator,
    SigmoidCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
    calibrated_classifier,
)
from sklearn_smart.calibrators import CALIBRATORS

ENSEMBLE = pytest.mark.parametrize("ensemble", [True, False])
NAMES = pytest.mark.parametrize("method", sorted(CALIBRATORS))
SMALL_SMART = SMARTCalibrator(alpha=0.3)
SKLEARN_METHODS = ["sigmoid", "isotonic"]
if "temperature" in sklearn.calibration.CalibratedClassifierCV.__doc__:
    SKLEARN_METHODS.append("temperature")


def make_data(n=240, n_classes=3, seed=0):
    """Overlapping classes, so that every method has an optimum."""
    return make_classification(
        n,
        n_features=6,
        n_informative=4,
        n_classes=n_classes,
        flip_y=0.2,
        class_sep=0.8,
        random_state=seed,
    )


class FixedScores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is the data, times a number."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]

    def decision_function(self, X):
        return self.scale * X


class FixedProbabilities(FixedScores):
    """A classifier whose probabilities are the data."""

    decision_function = None

    def __getattribute__(self, name):
        if name == "decision_function":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict_proba(self, X):
        return X


class Recorder(BaseEstimator):
    """A calibrator without ``input`` or ``classes`` that keeps what it is given."""

    def fit(self, scores, y, sample_weight=None):
        self.scores_, self.y_, self.weight_ = scores, y, sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, scores):
        scores = np.asarray(scores)
        if scores.ndim == 1:
            scores = np.stack([0 * scores, scores], axis=1)
        return softmax(scores, axis=1)


class ProbabilityRecorder(Recorder):
    def __init__(self, input="probabilities"):
        self.input = input

    def predict_proba(self, scores):
        scores = np.asarray(scores)
        return np.stack([1 - scores, scores], 1) if scores.ndim == 1 else scores


def only_calibrator(classifier):
    (pair,) = classifier.calibrated_classifiers_
    (calibrator,) = pair.calibrators
    return calibrator


# --- scikit-learn's numbers -----------------------------------------------------------


@pytest.mark.parametrize("method", SKLEARN_METHODS)
@ENSEMBLE
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(5, random_state=0),
    ],
    ids=lambda base: type(base).__name__,
)
def test_scikit_learns_numbers(method, ensemble, n_classes, weighted, base):
    X, y = make_data(n_classes=n_classes)
    weight = np.random.default_rng(0).uniform(0, 3, len(y)) if weighted else None
    settings = {"method": method, "ensemble": ensemble, "cv": 3}
    ours, theirs = (
        kind(base, **settings).fit(X, y, sample_weight=weight).predict_proba(X)
        for kind in (CalibratedClassifierCV, sklearn.calibration.CalibratedClassifierCV)
    )
    assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.skipif("temperature" not in SKLEARN_METHODS, reason="scikit-learn < 1.8")
@pytest.mark.parametrize(
    "base", [LogisticRegression(), GaussianNB()], ids=lambda base: type(base).__name__
)
@ENSEMBLE
def test_temperature_without_an_optimum_is_scikit_learns(base, ensemble):
    """Without an error among the calibration samples the smaller T the better."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    settings = {"method": "temperature", "cv": 3, "ensemble": ensemble}
    with pytest.warns(UserWarning, match="no minimum in the temperature"):
        ours = CalibratedClassifierCV(base, **settings).fit(X, y)
    theirs = sklearn.calibration.CalibratedClassifierCV(base, **settings).fit(X, y)
    at = np.random.default_rng(0).uniform(X.min(0), X.max(0), (200, 4))
    assert_allclose(ours.predict_proba(at), theirs.predict_proba(at), rtol=0, atol=1e-6)


def test_temperature_reads_probabilities_as_scikit_learn_does():
    """Under the name: log(p + 1e-12). As an object: clipped at the dtype's epsilon."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 60)
    p[:10] = np.eye(3)[np.arange(10) % 3]
    y = np.array([rng.choice(3, p=row) for row in p])
    y[0] = 1
    base = FrozenEstimator(FixedProbabilities().fit(p, y))
    named = CalibratedClassifierCV(base, method="temperature").fit(p, y)
    given = CalibratedClassifierCV(base, method=TemperatureScaling()).fit(p, y)
    by_hand = TemperatureScaling().fit(np.log(p + 1e-12), y)
    assert_allclose(only_calibrator(named).temperature_, by_hand.temperature_)
    by_hand = TemperatureScaling(input="probabilities").fit(p, y)
    assert_allclose(only_calibrator(given).temperature_, by_hand.temperature_)


# --- where scikit-learn's numbers are not right; rows of docs/migrating.md ------------


@pytest.mark.skipif("temperature" not in SKLEARN_METHODS, reason="scikit-learn < 1.8")
class TestDefectsOfTemperature:
    """Each shows theirs and ours."""

    @staticmethod
    def both(X, y, base=None):
        return [
            kind(GaussianNB() if base is None else base, method="temperature", cv=3)
            .fit(X, y)
            .predict_proba(X)
            for kind in (
                CalibratedClassifierCV,
                sklearn.calibration.CalibratedClassifierCV,
            )
        ]

    def test_labels(self):
        X, y = make_data()
        expected, _ = self.both(X, y)
        ours, theirs = self.both(X, y + 1)
        assert_array_equal(ours, expected)
        assert np.abs(theirs - expected).max() > 0.1

    def test_index_of_pandas(self):
        pd = pytest.importorskip("pandas")
        X, y = make_data()
        expected, _ = self.both(X, y)
        y = pd.Series(y, index=np.arange(1, len(y) + 1))
        ours = CalibratedClassifierCV(GaussianNB(), method="temperature", cv=3)
        assert_array_equal(ours.fit(X, y).predict_proba(X), expected)
        theirs = sklearn.calibration.CalibratedClassifierCV(
            GaussianNB(), method="temperature", cv=3
        )
        with pytest.raises(KeyError):
            theirs.fit(X, y)

    def test_guess_per_batch(self):
        """A row's result depends on the other rows, as they decide what all are."""
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), 300)
        y = np.array([rng.choice(3, p=row) for row in p])
        base = FixedProbabilities().fit(p, y)
        changed = p.copy()
        changed[0, 0] += 1e-3
        results = []
        for kind in (
            CalibratedClassifierCV,
            sklearn.calibration.CalibratedClassifierCV,
        ):
            fitted = kind(FrozenEstimator(base), method="temperature").fit(p, y)
            of_same, of_changed = map(fitted.predict_proba, (p, changed))
            results.append(np.abs(of_same - of_changed)[1:].max())
        assert results[0] == 0
        assert results[1] > 0.1

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    def test_scale(self, scale):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), 300)
        y = np.array([rng.choice(3, p=row) for row in p])
        Z = np.log(p)
        expected, _ = self.both(Z, y, FixedScores())
        ours, theirs = self.both(Z, y, FixedScores(scale))
        assert_allclose(ours, expected, atol=1e-6)
        assert np.abs(theirs - expected).max() > 0.1


def test_defect_two_of_three_classes_in_a_fold():
    """Log-odds of two classes are two columns; scikit-learn takes them for one."""
    X, y = make_data(n_classes=3)
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], y[order]
    first = np.flatnonzero(y < 2)
    cv = [(first, np.setdiff1d(np.arange(len(y)), first[:80]))]
    base = LogisticRegression()
    ours = CalibratedClassifierCV(base, method="sigmoid", cv=cv).fit(X, y)
    theirs = sklearn.calibration.CalibratedClassifierCV(base, method="sigmoid", cv=cv)
    theirs.fit(X, y)
    s = clone(base).fit(X[first], y[first]).decision_function(X)
    test = cv[0][1]
    by_hand = SigmoidCalibrator(classes=3).fit(
        np.stack([-s, s, 0 * s - 50], axis=1)[test], y[test]
    )
    expected = by_hand.predict_proba(np.stack([-s, s, 0 * s - 50], axis=1))[:, :2]
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(ours.predict_proba(X)[:, :2], expected, atol=1e-8)
    assert_array_equal(ours.predict_proba(X)[:, 2], 0)
    known = y < 2
    assert ours.score(X[known], y[known]) > theirs.score(X[known], y[known]) + 0.1


def test_defect_class_weight_by_label():
    """scikit-learn fits the folds of ensemble=False on 0..K-1 in place of labels."""
    X, y = make_data()
    y = np.array(["a", "b", "c"])[y]
    base = LogisticRegression(class_weight={"a": 1, "b": 2, "c": 3})
    settings = {"method": "sigmoid", "ensemble": False, "cv": 3}
    theirs = sklearn.calibration.CalibratedClassifierCV(base, **settings)
    with pytest.raises(ValueError, match="not in class_weight"):
        theirs.fit(X, y)
    ours = CalibratedClassifierCV(base, **settings).fit(X, y)
    scores = cross_val_predict(
        LogisticRegression(class_weight={0: 1, 1: 2, 2: 3}),
        X,
        np.searchsorted(["a", "b", "c"], y),
        cv=3,
        method="decision_function",
    )
    by_hand = SigmoidCalibrator().fit(scores, y)
    assert_allclose(only_calibrator(ours).slope_, by_hand.slope_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Number of classes:RuntimeWarning")
def test_defect_frozen_model_knows_more_classes():
    X, y = make_data(n_classes=4)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    some = y < 3
    theirs = sklearn.calibration.CalibratedClassifierCV(frozen, method="sigmoid")
    with pytest.raises(IndexError):
        theirs.fit(X[some], y[some]).predict_proba(X)
    ours = CalibratedClassifierCV(frozen, method="sigmoid").fit(X[some], y[some])
    assert_array_equal(ours.classes_, [0, 1, 2, 3])
    assert ours.predict_proba(X).shape == (len(y), 4)


def test_defect_frozen_model_needs_no_folds():
    X, y = make_data()
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    rows = np.concatenate([np.flatnonzero(y == k)[:3] for k in range(3)])
    theirs = sklearn.calibration.CalibratedClassifierCV(frozen, cv=5)
    with pytest.raises(ValueError, match="Requesting 5-fold"):
        theirs.fit(X[rows], y[rows])
    ours = CalibratedClassifierCV(frozen, cv=5, method="sigmoid")
    scores = frozen.decision_function(X)
    by_hand = SigmoidCalibrator().fit(scores[rows], y[rows])
    assert_allclose(
        ours.fit(X[rows], y[rows]).predict_proba(X),
        by_hand.predict_proba(scores),
        rtol=1e-12,
    )


def test_defect_single_precision():
    """Ours is fitted in float64; theirs in float32, to four digits or so."""
    X, y = make_data(n_classes=2)
    s = LogisticRegression().fit(X, y).decision_function(X)[:, None]

    class Single(FixedScores):
        def decision_function(self, X):
            return X[:, 0].astype(np.float32)

    base = FrozenEstimator(Single().fit(s, y))
    exact = SigmoidCalibrator().fit(s.astype(np.float32).astype(float), y)
    expected = exact.predict_proba(s.astype(np.float32).astype(float))
    ours = CalibratedClassifierCV(base, method="sigmoid").fit(s, y).predict_proba(s)
    assert_allclose(ours, expected, atol=2e-7)


def test_defect_frozen_base_and_weights():
    """Weights of a base that is not fitted again are no reason to warn."""
    X, y = make_data()
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    weight = np.arange(len(y)) % 3
    settings = {"method": "sigmoid", "cv": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CalibratedClassifierCV(frozen, **settings).fit(X, y, sample_weight=weight)
    theirs = sklearn.calibration.CalibratedClassifierCV(frozen, **settings)
    with pytest.warns(UserWarning, match="sample_weight"):
        theirs.fit(X, y, sample_weight=weight)


# --- what a calibrator is handed ------------------------------------------------------


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


# --- the parts of a fitted classifier -------------------------------------------------


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


# --- splits ---------------------------------------------------------------------------


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


# --- kinds of data --------------------------------------------------------------------


def test_sparse_data_frames_and_lists():
    X, y = make_data()
    settings = {"method": "sigmoid", "cv": 3}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    expected = expected.predict_proba(X)
    for container in (
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        np.ndarray.tolist,
    ):
        given = container(X)
        calibrated = CalibratedClassifierCV(LogisticRegression(), **settings)
        calibrated.fit(given, y.tolist())
        assert_allclose(calibrated.predict_proba(given), expected, atol=1e-5)


@ENSEMBLE
def test_matrix_of_pairs(ensemble):
    """A precomputed kernel: folds take its columns too."""
    X, y = make_data()
    X = StandardScaler().fit_transform(X)
    settings = {"method": "sigmoid", "cv": 3, "ensemble": ensemble}
    linear = CalibratedClassifierCV(SVC(kernel="linear"), **settings).fit(X, y)
    kernel = CalibratedClassifierCV(SVC(kernel="precomputed"), **settings)
    kernel.fit(X @ X.T, y)
    assert get_tags(kernel).input_tags.pairwise
    assert kernel.n_features_in_ == len(X)
    at = X[:20] + 0.1
    assert_allclose(kernel.predict_proba(at @ X.T), linear.predict_proba(at), atol=1e-6)
    assert cross_val_score(kernel, X @ X.T, y, cv=2).mean() > 0.4


@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(),
        LogisticRegression(),
        SVC(kernel="precomputed"),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_tags_mirror_the_base(base):
    ours, theirs = get_tags(CalibratedClassifierCV(base)), get_tags(base)
    assert ours.input_tags == theirs.input_tags
    assert ours.classifier_tags.multi_class == theirs.classifier_tags.multi_class
    assert not ours.classifier_tags.multi_label
    assert ours.target_tags.required


def test_missing_values_where_the_base_accepts_them():
    X, y = make_data()
    X[::7, 0] = np.nan
    base = HistGradientBoostingClassifier(max_iter=5)
    assert get_tags(CalibratedClassifierCV(base)).input_tags.allow_nan
    calibrated = CalibratedClassifierCV(base, method="sigmoid", cv=2).fit(X, y)
    assert np.isfinite(calibrated.predict_proba(X)).all()


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "labels", [[5, 7, 9], [-1, 0, 1], ["b", "c", "d"], [0.0, 1.0, 2.0]], ids=str
)
def test_labels(labels, ensemble):
    X, y = make_data()
    settings = {"method": "temperature", "cv": 3, "ensemble": ensemble}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    named = np.array(labels)[y]
    calibrated = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, named)
    assert_allclose(calibrated.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert_array_equal(calibrated.classes_, labels)
    assert_array_equal(calibrated.predict(X), np.array(labels)[expected.predict(X)])
    assert calibrated.classes_.dtype == named.dtype
    as_objects = calibrated.fit(X, named.astype(object))
    if named.dtype.kind == "U":
        assert as_objects.classes_.dtype == object


@pytest.mark.parametrize("dtype", ["category", "Int64", "string", "bool", "boolean"])
def test_labels_of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    X, y = make_data(n_classes=2)
    settings = {"method": "sigmoid", "cv": 3}
    expected = CalibratedClassifierCV(LogisticRegression(), **settings).fit(X, y)
    column = pd.Series(y.astype(str) if dtype == "string" else y).astype(dtype)
    column.index = column.index + 7
    calibrated = CalibratedClassifierCV(LogisticRegression(), **settings)
    calibrated.fit(X, column)
    assert_allclose(calibrated.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    assert calibrated.predict(X[:5]).tolist() == [
        np.unique(np.asarray(column)).tolist()[k] for k in expected.predict(X[:5])
    ]


def test_column_vector():
    X, y = make_data()
    calibrated = CalibratedClassifierCV(GaussianNB(), method="sigmoid")
    expected = clone(calibrated).fit(X, y).predict_proba(X)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        calibrated.fit(X, y[:, None])
    assert_array_equal(calibrated.predict_proba(X), expected)


# --- weights and fit parameters -------------------------------------------------------


class NotesWeights(LogisticRegression):
    """Keeps the weights and parameters of its fit."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.note_ = note
        self.weight_ = sample_weight
        return super().fit(X, y, sample_weight=sample_weight)


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


# --- metadata routing -----------------------------------------------------------------


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


# --- inside and around other estimators -----------------------------------------------


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


# --- frozen ---------------------------------------------------------------------------


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


# --- errors before any fit ------------------------------------------------------------


class NeverFitted(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted")


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


class Bad(LogisticRegression):
    """Answers what it is told to."""

    def __init__(self, answer=None, response="predict_proba"):
        super().__init__()
        self.answer = answer
        self.response = response

    def decision_function(self, X):
        return self._changed(super().decision_function(X), "decision_function")

    def predict_proba(self, X):
        return self._changed(super().predict_proba(X), "predict_proba")

    def _changed(self, values, response):
        if response == self.response:
            if self.answer == "narrow":
                return values[:, :2]
            values[1] = self.answer
        return values


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


# --- scores shared between methods, as compare_calibrators does -----------------------


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

"""CalibratedClassifierCV against scikit-learn: its numbers, and where ours differ."""

import warnings

import numpy as np
import pytest
import sklearn.calibration
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sklearn_smart import CalibratedClassifierCV, SigmoidCalibrator, TemperatureScaling

from .stand_ins import (
    ENSEMBLE,
    SKLEARN_METHODS,
    FixedProbabilities,
    FixedScores,
    make_data,
    only_calibrator,
)


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
        """Only ours: theirs takes {1, 2, 3} for positions and reads past the row.

        What stands there is chance, so its answer cannot be asserted: near uniform
        probabilities on one machine, a RuntimeError on another.
        """
        X, y = make_data()
        expected, _ = self.both(X, y)
        ours = CalibratedClassifierCV(GaussianNB(), method="temperature", cv=3)
        assert_array_equal(ours.fit(X, y + 1).predict_proba(X), expected)

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


def test_defect_scores_of_pairs():
    X, y = make_data(n_classes=3)
    base = SVC(decision_function_shape="ovo")
    theirs = sklearn.calibration.CalibratedClassifierCV(base, method="sigmoid", cv=2)
    assert theirs.fit(X, y).predict_proba(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        CalibratedClassifierCV(base, method="sigmoid", cv=2).fit(X, y)


def test_defect_matrix_of_pairs():
    X, y = make_data()
    base = SVC(kernel="precomputed")
    theirs = sklearn.calibration.CalibratedClassifierCV(base, method="sigmoid", cv=2)
    with pytest.raises(ValueError, match="square matrix"):
        theirs.fit(X @ X.T, y)
    assert not get_tags(theirs).input_tags.pairwise
    ours = CalibratedClassifierCV(base, method="sigmoid", cv=2).fit(X @ X.T, y)
    assert ours.predict_proba(X @ X.T).shape == (len(y), 3)


def test_defect_tags():
    base = HistGradientBoostingClassifier()
    theirs = sklearn.calibration.CalibratedClassifierCV(base)
    assert not get_tags(theirs).input_tags.allow_nan
    assert get_tags(CalibratedClassifierCV(base)).input_tags.allow_nan


@pytest.mark.parametrize("weights", ["negative", "zero in a fold"])
def test_defect_weights_accepted(weights):
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    weight = np.ones(len(y))
    weight[splits[0][1] if weights != "negative" else 0] = -float(weights == "negative")
    settings = {"method": "sigmoid", "cv": splits}
    theirs = sklearn.calibration.CalibratedClassifierCV(GaussianNB(), **settings)
    theirs.fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"negative|No sample is left"):
        CalibratedClassifierCV(GaussianNB(), **settings).fit(X, y, sample_weight=weight)


def test_defect_probabilities_that_are_none():
    X, y = make_data()

    class NoDecision(FixedProbabilities):
        def predict_proba(self, X):
            return np.repeat([[-0.2, 0.9, 0.9]], len(X), axis=0)

    settings = {"method": "sigmoid", "cv": 2}
    sklearn.calibration.CalibratedClassifierCV(NoDecision(), **settings).fit(X, y)
    with pytest.raises(ValueError, match="base estimator NoDecision ranges from -0.2"):
        CalibratedClassifierCV(NoDecision(), **settings).fit(X, y)


def test_defect_scores_that_are_not_finite():
    X, y = make_data()

    class Infinite(FixedScores):
        def decision_function(self, X):
            return np.where(np.arange(len(X))[:, None] == 3, np.inf, X[:, :3])

    settings = {"method": "isotonic", "cv": 2}
    theirs = sklearn.calibration.CalibratedClassifierCV(Infinite(), **settings)
    with pytest.raises(ValueError, match="Input .* contains infinity") as error:
        theirs.fit(X, y)
    assert "Infinite" not in str(error.value)
    ours = CalibratedClassifierCV(Infinite(), **settings)
    with pytest.raises(ValueError, match="decision_function of the base .* Infinite"):
        ours.fit(X, y)


def test_defect_nullable_labels():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    y = pd.Series(y, dtype="Int64")
    settings = {"method": "sigmoid", "cv": 2}
    theirs = sklearn.calibration.CalibratedClassifierCV(GaussianNB(), **settings)
    assert theirs.fit(X, y).predict(X).dtype == np.float64
    ours = CalibratedClassifierCV(GaussianNB(), **settings).fit(X, y)
    assert ours.predict(X).dtype == np.int64


@pytest.mark.skipif("temperature" not in SKLEARN_METHODS, reason="scikit-learn < 1.8")
def test_defect_temperature_and_a_fold_that_lacks_a_class():
    X, y = make_data()
    known = np.flatnonzero(y > 0)
    splits = list(StratifiedKFold(2).split(X, y))
    splits.append((known, np.arange(len(y))))
    settings = {"method": "temperature", "cv": splits}
    theirs = sklearn.calibration.CalibratedClassifierCV(GaussianNB(), **settings)
    with pytest.raises(ValueError):  # noqa: PT011 - shapes, in NumPy's words
        theirs.fit(X, y).predict_proba(X)
    ours = CalibratedClassifierCV(GaussianNB(), **settings).fit(X, y)
    blind = ours.calibrated_classifiers_[-1]
    assert_array_equal(blind.predict_proba(X)[:, 0], 0)
    base = GaussianNB().fit(X[known], y[known])
    by_hand = TemperatureScaling()
    by_hand.fit(np.log(base.predict_proba(X[known]) + 1e-12), y[known])
    assert_allclose(blind.calibrators[0].temperature_, by_hand.temperature_, rtol=1e-6)


def test_unknown_label_of_a_frozen_model():
    X, y = make_data(n_classes=3)
    frozen = FrozenEstimator(LogisticRegression().fit(X[y < 2], y[y < 2]))
    settings = {"method": "sigmoid", "ensemble": True, "cv": 2}
    theirs = sklearn.calibration.CalibratedClassifierCV(frozen, **settings).fit(X, y)
    assert_array_equal(theirs.predict_proba(X)[:, 2], 0)
    with pytest.raises(ValueError, match=r"not among the classes: \[2\]"):
        CalibratedClassifierCV(frozen, **settings).fit(X, y)

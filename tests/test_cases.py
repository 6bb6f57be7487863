"""Twenty situations that users of calibration libraries met, with the right answer.

One section each, numbered; what the tests of a room check in depth is not repeated.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sklearn_smart import (
    CalibratedClassifierCV,
    SMARTCalibrator,
    TemperatureScaling,
)
from sklearn_smart.calibrators import CALIBRATORS
from sklearn_smart.metrics import expected_calibration_error, reliability_table


def pandas():
    return pytest.importorskip("pandas", reason="needs the 'pandas' extra")


Z4, Y4 = np.array([[6.0, 0.0]] * 4), np.array([0, 0, 0, 1])
TEMPERED = [TemperatureScaling(), SMARTCalibrator(), SMARTCalibrator(alpha=0.3)]
METHODS = sorted(CALIBRATORS)

tempered = pytest.mark.parametrize("calibrator", TEMPERED, ids=repr)
every_method = pytest.mark.parametrize("method", METHODS)
every_kind = pytest.mark.parametrize(
    "calibrator", [CALIBRATORS[name]() for name in METHODS], ids=repr
)
may_not_converge = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


def classes(n=150, n_classes=3, seed=0):
    return make_classification(
        n,
        n_features=6,
        n_informative=4,
        n_classes=n_classes,
        class_sep=0.7,
        random_state=seed,
    )


def calibrated(method, base=None, cv=3, **settings):
    base = LogisticRegression() if base is None else base
    return CalibratedClassifierCV(base, method=method, cv=cv, **settings)


def assert_distribution(p, n_classes):
    assert p.shape[1] == n_classes
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


# 1. Worse than chance


@tempered
def test_1_worse_than_chance(calibrator):
    Z, y = [[2.0, 0.0]] * 10, np.array([1] * 8 + [0] * 2)
    with pytest.warns(ConvergenceWarning, match="chance"):
        fitted = clone(calibrator).fit(Z, y)
    p = fitted.predict_proba(Z)
    assert not fitted.converged_
    assert (fitted.temperatures(Z) > 0).all()
    assert np.isfinite(fitted.temperatures(Z)).all()
    assert_array_equal(fitted.predict(Z), 0)
    assert -np.log(p[np.arange(10), y]).mean() <= np.log(2) + 1e-3


@may_not_converge
@tempered
@pytest.mark.parametrize("seed", range(3))
def test_1_labels_at_random(calibrator, seed):
    rng = np.random.default_rng(seed)
    Z, y = 5 * rng.normal(size=(400, 5)), rng.integers(5, size=400)
    p = clone(calibrator).fit(Z, y).predict_proba(Z)
    assert_array_equal(p.argmax(axis=1), Z.argmax(axis=1))
    assert -np.log(p[np.arange(400), y]).mean() <= np.log(5) + 1e-3


# 2. Huge and tiny scores


@tempered
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_2_scale_and_shift(calibrator, scale, shift):
    if shift and scale < 1:
        shift = 0.0
    Z = scale * Z4 + shift
    p = clone(calibrator).fit(Z, Y4).predict_proba(Z)
    expected = clone(calibrator).fit(Z4, Y4).predict_proba(Z4)
    assert_allclose(p, expected, atol=1e-6)
    assert_allclose(p, [[0.75, 0.25]] * 4, atol=1e-3)


@tempered
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12, 1e30])
def test_2_scale_in_single_precision(calibrator, scale):
    Z = (scale * Z4).astype(np.float32)
    p = clone(calibrator).fit(Z, Y4).predict_proba(Z)
    single = clone(calibrator).fit(Z4.astype(np.float32), Y4)
    assert_allclose(p, single.predict_proba(Z4.astype(np.float32)), atol=1e-6)


def test_2_the_optimum_is_exact():
    fitted = TemperatureScaling().fit(Z4, Y4)
    assert fitted.temperature_ == pytest.approx(5.461435, abs=5e-7)
    assert_allclose(fitted.predict_proba(Z4), [[0.75, 0.25]] * 4, rtol=1e-9)


# 3. Exact 0 and 1 from the base estimator


@may_not_converge
@every_method
@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(1),
        GaussianNB(),
        RandomForestClassifier(5, random_state=0),
    ],
    ids=lambda base: type(base).__name__,
)
def test_3_exact_zero_and_one(method, base):
    X, y = classes()
    fitted = calibrated(method, base).fit(X, y)
    assert_distribution(fitted.predict_proba(X), 3)


@every_kind
def test_3_clipping_does_not_depend_on_the_batch(calibrator):
    p = np.array([[1.0, 0.0], [0.9, 0.1], [1e-12, 1.0], [0.4, 0.6], [0.7, 0.3]])
    fitted = clone(calibrator).set_params(input="probabilities").fit(p, [0, 1, 1, 1, 0])
    together = fitted.predict_proba(p)
    alone = np.concatenate([fitted.predict_proba(row[None]) for row in p])
    assert_allclose(alone, together, rtol=1e-12)


# 4. Confidence exactly 1 or 0


def test_4_confidence_one_and_zero():
    # The probability of the event, and whether it happened.
    happened, confidence = [0, 0, 1, 1, 1], [1.0, 1.0, 1.0, 1.0, 0.0]
    error = expected_calibration_error(
        happened, confidence, n_bins=2, kind="positive_class"
    )
    assert error == pytest.approx(0.6)


def test_4_certain_and_right():
    assert expected_calibration_error([0, 1, 1], np.eye(2)[[0, 1, 1]]) == 0.0


# 5. ensemble=False with weights


@pytest.mark.parametrize("method", ["isotonic", "temperature"])
def test_5_weight_two_is_every_row_twice(method):
    X, y = classes()
    twice = np.repeat(np.arange(len(y)), 2)
    # Copies of a row must share a fold, as they do where weights stand for them.
    fold = np.arange(len(y)) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    splits_of_copies = [
        (np.flatnonzero(fold[twice] != k), np.flatnonzero(fold[twice] == k))
        for k in range(3)
    ]
    base = DecisionTreeClassifier(max_depth=3, random_state=0)
    settings = {"ensemble": False}
    weighted = calibrated(method, base, splits, **settings)
    weighted.fit(X, y, sample_weight=np.full(len(y), 2.0))
    repeated = calibrated(method, base, splits_of_copies, **settings)
    repeated.fit(X[twice], y[twice])
    plain = calibrated(method, base, splits, **settings).fit(X, y)
    p = weighted.predict_proba(X)
    assert_allclose(p, repeated.predict_proba(X), atol=1e-6)
    assert_allclose(p, plain.predict_proba(X), atol=1e-6)


@every_method
@pytest.mark.parametrize("ensemble", [True, False])
def test_5_weights_change_the_fit(method, ensemble):
    X, y = classes()
    weight = np.where(y == 0, 5.0, 0.5)
    one = calibrated(method, ensemble=ensemble).fit(X, y)
    other = calibrated(method, ensemble=ensemble).fit(X, y, sample_weight=weight)
    assert np.abs(one.predict_proba(X) - other.predict_proba(X)).max() > 0.01


# 6. The calibration set lacks a class


@may_not_converge
@every_method
def test_6_a_class_that_the_model_knows_is_missing(method):
    X, y = classes(300, n_classes=4)
    base = LogisticRegression().fit(X, y)
    kept = y != 2
    fitted = calibrated(method, FrozenEstimator(base)).fit(X[kept], y[kept])
    assert_array_equal(fitted.classes_, [0, 1, 2, 3])
    assert_distribution(fitted.predict_proba(X), 4)


def test_6_unknown_labels_are_named():
    X, y = classes()
    base = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="7"):
        calibrated("smart", base).fit(X, np.where(y == 0, 7, y))


@every_kind
def test_6_more_columns_than_labels(calibrator):
    with pytest.raises(ValueError, match="classes"):
        clone(calibrator).fit(np.zeros((6, 3)), [0, 1, 0, 1, 0, 1])


# 7. Weight 0 equals removing the row (see the contract for each calibrator)


@every_method
@pytest.mark.parametrize("ensemble", ["auto", False])
def test_7_weight_zero_rows_in_a_frozen_fit(method, ensemble):
    X, y = classes()
    base = FrozenEstimator(GaussianNB().fit(X, y))
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    kept = weight > 0
    zeros = calibrated(method, base, ensemble=ensemble)
    zeros.fit(X, y, sample_weight=weight)
    removed = calibrated(method, base, ensemble=ensemble).fit(X[kept], y[kept])
    assert_allclose(zeros.predict_proba(X), removed.predict_proba(X), atol=1e-7)


# 8. Labels of all kinds


@every_method
@pytest.mark.parametrize(
    "convert",
    [
        lambda y: np.array([5, 7])[y],
        lambda y: np.array([-1, 1])[y],
        lambda y: np.array([1, 2])[y],
        lambda y: np.array(["no", "yes"])[y],
        lambda y: y.astype(bool),
        lambda y: pandas().Categorical(np.array(["no", "yes"])[y]),
        lambda y: pandas().Series(np.array([1, 2])[y], index=np.arange(len(y)) + 1),
        lambda y: pandas().Series(y, dtype="Int64"),
    ],
    ids=["5,7", "-1,1", "1,2", "words", "bools", "category", "index", "Int64"],
)
def test_8_two_labels(method, convert):
    X, y = classes(n_classes=2)
    expected = calibrated(method).fit(X, y).predict_proba(X)
    labels = convert(y)
    fitted = calibrated(method).fit(X, labels)
    assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9)
    assert set(np.asarray(fitted.predict(X)).tolist()) <= set(np.asarray(labels))


@every_method
@pytest.mark.parametrize("names", [[1, 2, 3], [10, 20, 30], ["a", "b", "c"]])
def test_8_three_labels(method, names):
    X, y = classes()
    expected = calibrated(method).fit(X, y).predict_proba(X)
    fitted = calibrated(method).fit(X, np.array(names)[y])
    assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9)
    assert_array_equal(fitted.classes_, names)
    at = fitted.predict_proba(X).argmax(axis=1)
    assert_array_equal(fitted.predict(X), np.array(names)[at])


@every_method
def test_8_continuous_labels(method):
    X, y = classes()
    with pytest.raises(ValueError, match="continuous|Unknown label"):
        calibrated(method).fit(X, y + 0.5 * X[:, 0])


# 9. Shapes of scores


@every_method
def test_9_one_vs_one_scores(method):
    X, y = classes(200, n_classes=4)
    base = SVC(decision_function_shape="ovo")
    with pytest.raises(ValueError, match="SVC"):
        calibrated(method, base, response_method="decision_function").fit(X, y)


@every_kind
def test_9_log_odds_one_column_or_two(calibrator):
    rng = np.random.default_rng(0)
    s, y = 3 * rng.normal(size=60), np.arange(60) % 2
    forms = [s, s[:, None], np.stack([0 * s, s], axis=1)]
    first, *others = (clone(calibrator).fit(f, y).predict_proba(f) for f in forms)
    for other in others:
        assert_allclose(other, first, rtol=1e-9)


# 10. float32 base output


@tempered
def test_10_single_precision_is_kept(calibrator):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(90, 3)).astype(np.float32), np.arange(90) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = clone(calibrator).fit(Z, y)
    for method in ("predict_proba", "predict_log_proba", "transform"):
        assert getattr(fitted, method)(Z).dtype == np.float32
        assert getattr(fitted, method)(Z.astype(np.float64)).dtype == np.float64


# 11. Probabilities where logits are declared, or the reverse


def problem_11():
    rng = np.random.default_rng(0)
    Z = 2 * rng.normal(size=(120, 3))
    y = np.where(rng.random(120) < 0.7, Z.argmax(axis=1), rng.integers(3, size=120))
    return Z, y


@every_kind
def test_11_probabilities_under_logits_warn(calibrator):
    Z, y = problem_11()
    with pytest.warns(UserWarning, match="input='probabilities'"):
        clone(calibrator).fit(softmax(Z, axis=1), y)


@every_kind
def test_11_logits_under_probabilities_are_refused(calibrator):
    Z, y = problem_11()
    with pytest.raises(ValueError, match="input='logits'"):
        clone(calibrator).set_params(input="probabilities").fit(Z, y)


@every_kind
def test_11_a_row_off_by_a_thousandth_changes_no_other(calibrator):
    Z, y = problem_11()
    p = softmax(Z, axis=1)
    fitted = clone(calibrator).set_params(input="probabilities").fit(p, y)
    expected = fitted.predict_proba(p)
    p[0] *= 1.001
    assert_allclose(fitted.predict_proba(p)[1:], expected[1:], rtol=1e-12)


# 12. NaN


@every_method
def test_12_nan_in_the_data(method):
    X, y = classes(300)
    X[::7, 0] = np.nan
    fitted = calibrated(method, HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    assert_distribution(fitted.predict_proba(X), 3)
    assert get_tags(fitted).input_tags.allow_nan
    assert not get_tags(calibrated(method)).input_tags.allow_nan


class BrokenClassifier(LogisticRegression):
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)

    def decision_function(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


@every_method
def test_12_nan_from_the_base(method):
    X, y = classes()
    with pytest.raises(ValueError, match="BrokenClassifier"):
        calibrated(method, BrokenClassifier()).fit(X, y)


@every_kind
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_12_nan_given_to_a_calibrator(calibrator, bad):
    Z = np.array([[bad, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="NaN|infinity"):
        clone(calibrator).fit(Z, [0, 0, 1])


# 13. Already fitted base


@every_method
def test_13_frozen_base(method):
    X, y = classes()
    base = GaussianNB().fit(X[:75], y[:75])
    before = base.theta_.copy()
    fitted = clone(calibrated(method, FrozenEstimator(base))).fit(X[75:], y[75:])
    assert len(fitted.calibrated_classifiers_) == 1
    assert_array_equal(base.theta_, before)
    assert_distribution(fitted.predict_proba(X), 3)


def test_13_frozen_base_in_a_grid_search():
    X, y = classes()
    base = FrozenEstimator(GaussianNB().fit(X[:75], y[:75]))
    search = GridSearchCV(
        calibrated(SMARTCalibrator(alpha=0.3), base),
        {"method__n_bins": [5, 10]},
        cv=2,
        scoring="neg_log_loss",
    )
    search.fit(X[75:], y[75:])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_method
def test_13_unfitted_inside_frozen(method):
    X, y = classes()
    with pytest.raises(NotFittedError):
        calibrated(method, FrozenEstimator(GaussianNB())).fit(X, y)


# 14. Binary ECE


@pytest.mark.parametrize("columns", [1, 2])
def test_14_binary_error(columns):
    p, y = np.array([0.35, 0.65]), [0, 0]
    given = p if columns == 1 else np.stack([1 - p, p], axis=1)
    settings = {"n_bins": 10, "labels": [0, 1]}
    top = expected_calibration_error(y, given, **settings)
    positive = expected_calibration_error(y, given, kind="positive_class", **settings)
    assert top == pytest.approx(0.15)
    assert positive == pytest.approx(0.5)


# 15. Bad weights


@every_method
@pytest.mark.parametrize(
    "weight",
    [np.full(150, -1.0), np.zeros(150), np.full(150, np.nan), np.ones(149)],
    ids=["negative", "zero", "nan", "short"],
)
def test_15_bad_weights(method, weight):
    X, y = classes()
    with pytest.raises(ValueError, match=r"(?i)weight|inconsistent|NaN"):
        calibrated(method).fit(X, y, sample_weight=weight)


# 16. More bins than samples, one sample, none


@may_not_converge
@every_kind
def test_16_one_sample_and_none(calibrator):
    one = clone(calibrator).set_params(classes=3)
    one.fit([[2.0, 0.0, 1.0]], [1])
    assert_distribution(one.predict_proba([[3.0, 1.0, 0.0]]), 3)
    with pytest.raises(ValueError, match="0 sample"):
        clone(calibrator).fit(np.empty((0, 3)), [])


@may_not_converge
@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_16_more_bins_than_samples(binning):
    smart = SMARTCalibrator(n_bins=100, binning=binning).fit(Z4, Y4)
    assert_distribution(smart.predict_proba(Z4), 2)


# 17. Ties


@tempered
def test_17_all_scores_zero(calibrator):
    Z, y = np.zeros((12, 4)), np.arange(12) % 4
    fitted = clone(calibrator).fit(Z, y)
    assert_array_equal(fitted.predict_proba(Z), np.full((12, 4), 0.25))
    assert np.isfinite(fitted.temperatures(Z)).all()
    assert_array_equal(fitted.predict(Z), 0)


@tempered
def test_17_rounding_does_not_change_the_class(calibrator):
    rng = np.random.default_rng(0)
    Z, y = 3000 * rng.normal(size=(200, 3)), rng.integers(3, size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = clone(calibrator).fit(Z.astype(np.float32), y)
    near = np.zeros((3, 3), dtype=np.float32)
    near[[0, 1, 2], [0, 1, 2]] = 1e-4
    p = fitted.predict_proba(near)
    assert_array_equal(p.argmax(axis=1), [0, 1, 2])
    assert_array_equal(fitted.predict(near), [0, 1, 2])
    assert p.dtype == np.float32
    # The one that rounding tied is one unit in the last place above the others.
    runner_up, top = np.sort(p[2])[1:]
    assert top - runner_up <= 2 * np.spacing(runner_up)


# 18. Randomness


def test_18_same_result_for_any_number_of_jobs():
    X, y = classes()
    method = "smart"
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one = calibrated(method, cv=StratifiedKFold(3), n_jobs=1).fit(X, y)
    two = calibrated(method, cv=StratifiedKFold(3), n_jobs=2).fit(X, y)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


# 19. Multilabel or one-hot y


class NeverFitted(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("the base was fitted before y was checked")


@every_method
def test_19_one_hot(method):
    X, y = classes()
    with pytest.raises(ValueError, match="multilabel|one-hot|1d array|bad input shape"):
        calibrated(method, NeverFitted()).fit(X, np.eye(3, dtype=int)[y])


@every_kind
def test_19_one_hot_given_to_a_calibrator(calibrator):
    Z, y = problem_11()
    with pytest.raises(ValueError, match="one-hot"):
        clone(calibrator).fit(Z, np.eye(3, dtype=int)[y])


# 20. Reliability diagram


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_20_confidences_on_edges(dtype):
    p = (np.arange(1, 11) / 10).astype(dtype)
    table = reliability_table(
        np.arange(10) % 2, p, n_bins=10, kind="positive_class", labels=[0, 1]
    )
    counts = np.asarray(table.weight if hasattr(table, "weight") else table.count)
    assert_array_equal(np.ravel(counts), np.ones(10))


def test_20_without_matplotlib_all_but_plots_works():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import sklearn_smart, numpy as np\n"
        "sklearn_smart.SMARTCalibrator(alpha=0.3).fit([[6., 0]] * 4, [0, 0, 0, 1])\n"
        "try: sklearn_smart.ReliabilityDisplay.from_predictions([0, 1], [.2, .7])\n"
        "except ImportError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "matplotlib" in result.stdout


# Degenerate files: every logit zero, every logit NaN


def degenerate(shared, number):
    with np.load(shared / f"logits/cifar10_zoo_L{number}_degenerate.npz") as arrays:
        return arrays["logits"].astype(np.float64), arrays["labels"]


@tempered
def test_scores_that_are_all_zero_are_exactly_uniform(calibrator, shared):
    Z, y = degenerate(shared, 4730)
    p = clone(calibrator).set_params(classes=10).fit(Z, y).predict_proba(Z)
    assert_array_equal(p, np.full_like(p, 0.1))


@every_kind
def test_scores_that_are_all_nan_are_refused(calibrator, shared):
    Z, y = degenerate(shared, 1486)
    with pytest.raises(ValueError, match="NaN"):
        clone(calibrator).set_params(classes=10).fit(Z, y)

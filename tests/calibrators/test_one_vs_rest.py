"""Sigmoid and isotonic calibrators: values, scikit-learn's numbers, invariances."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from sklearn_smart import IsotonicCalibrator, SigmoidCalibrator
from sklearn_smart.calibrators import BaseCalibrator, one_vs_rest

from .contract import make_scores

BOTH = pytest.mark.parametrize("kind", [SigmoidCalibrator, IsotonicCalibrator])
METHODS = {"sigmoid": SigmoidCalibrator, "isotonic": IsotonicCalibrator}


def platt_loss(parameters, score, positive, weight):
    """Platt's objective, written out."""
    n_positive = weight[positive].sum()
    n_negative = weight.sum() - n_positive
    target = np.where(
        positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
    )
    raw = parameters[0] * score + parameters[1]
    return weight @ (np.logaddexp(0, raw) - target * raw)


def test_values_of_platt_from_libsvm():
    """The parameters that LIBSVM's C++ code gives, with the opposite sign."""
    calibrator = SigmoidCalibrator().fit([5.0, -4.0, 1.0], [1, 0, 0])
    assert_allclose(calibrator.slope_, [0.20261354391187855], rtol=1e-5)
    assert_allclose(calibrator.intercept_, [-0.65236314980010512], rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoids_are_the_minimum(weighted):
    scores, y = make_scores(n_classes=4)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.2, 3, len(y)) if weighted else np.ones(len(y))
    calibrator = SigmoidCalibrator().fit(scores, y, weight if weighted else None)
    for k in range(4):
        arguments = scores[:, k], y == k, weight
        ours = [calibrator.slope_[k], calibrator.intercept_[k]]
        best = minimize(platt_loss, ours, arguments, tol=1e-10)
        assert platt_loss(ours, *arguments) <= best.fun * (1 + 1e-13)
        assert_allclose(ours, best.x, atol=1e-4)


def test_rows_are_sigmoids_over_their_sum():
    scores, y = make_scores()
    calibrator = SigmoidCalibrator().fit(scores, y)
    mapped = expit(calibrator.slope_ * scores + calibrator.intercept_)
    expected = mapped / mapped.sum(axis=1, keepdims=True)
    assert_allclose(calibrator.predict_proba(scores), expected, rtol=1e-12)


def test_isotonic_by_hand():
    """Pool adjacent violators: (1, 0) pool to 1/2; lines between thresholds."""
    calibrator = IsotonicCalibrator().fit([-2.0, -1.0, 0.0, 1.0], [0, 1, 0, 1])
    second = calibrator.predict_proba([-9.0, -1.5, -1.0, -0.3, 0.5, 9.0])[:, 1]
    assert_allclose(second, [0, 0.25, 0.5, 0.5, 0.75, 1])


def test_isotonic_curves_are_scikit_learns():
    scores, y = make_scores(n_classes=3)
    calibrator = IsotonicCalibrator().fit(scores, y)
    at = np.linspace(-20, 20, 401)
    for k in range(3):
        curve = IsotonicRegression(out_of_bounds="clip").fit(scores[:, k], y == k)
        ours = np.interp(at, calibrator.thresholds_[k], calibrator.values_[k])
        assert_allclose(ours, curve.predict(at), atol=1e-12)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("load", [load_iris, load_digits])
@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(max_iter=30),
        GaussianNB(),
        RandomForestClassifier(10, random_state=0),
    ],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_numbers(method, load, base):
    X, y = load(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    base.fit(X[train], y[train])
    theirs = CalibratedClassifierCV(FrozenEstimator(base), method=method)
    theirs.fit(X[~train], y[~train])
    name = next(m for m in ("decision_function", "predict_proba") if hasattr(base, m))
    scores = getattr(base, name)(X)
    kind = "logits" if name == "decision_function" else "probabilities"
    ours = METHODS[method](input=kind, zero_rows="uniform")
    ours.fit(scores[~train], y[~train])
    assert_allclose(
        ours.predict_proba(scores), theirs.predict_proba(X), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6, 1e12, 1e150])
def test_scale_of_the_scores_does_not_matter(scale):
    scores, y = make_scores()
    expected = SigmoidCalibrator().fit(scores, y).predict_proba(scores)
    scaled = SigmoidCalibrator().fit(scale * scores, y).predict_proba(scale * scores)
    assert_allclose(scaled, expected, atol=1e-9)


def test_scikit_learn_stops_early_on_small_scores():
    """Its optimiser sees a flat loss: the reason why ours standardises."""

    class Small(LogisticRegression):
        def decision_function(self, X):
            return 1e-10 * X[:, 0]

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = (rng.random(400) < expit(2 * X[:, 0])).astype(int)
    base = FrozenEstimator(Small().fit(X, y))
    theirs = CalibratedClassifierCV(base).fit(X, y).predict_proba(X)[:, 1]
    ours = SigmoidCalibrator().fit(1e-10 * X[:, 0], y).predict_proba(1e-10 * X[:, 0])
    assert np.ptp(theirs) < 0.01
    assert np.ptp(ours[:, 1]) > 0.9


def test_rounding_noise_is_no_score():
    """Scores that differ in their last digit only are one score."""
    column = np.where(np.arange(50) % 2, 0.3, np.nextafter(0.3, 1))
    y = np.arange(50) % 2
    probabilities = np.stack([1 - column, column], axis=1)
    calibrator = SigmoidCalibrator(input="probabilities").fit(probabilities, y)
    assert_array_equal(calibrator.slope_, 0)
    assert_allclose(calibrator.predict_proba(probabilities), 0.5, rtol=1e-12)


def test_a_constant_base_gives_the_smoothed_share():
    y = np.array([0] * 30 + [1] * 10)
    X = np.ones((40, 2))
    scores = BernoulliNB().fit(X, y).predict_proba(X)
    calibrator = SigmoidCalibrator(input="probabilities").fit(scores, y)
    share = (10 * (11 / 12) + 30 * (1 / 32)) / 40
    assert_allclose(calibrator.predict_proba(scores)[:, 1], share, rtol=1e-12)


def test_many_columns_in_blocks(monkeypatch):
    scores, y = make_scores(n=200, n_classes=7)
    expected = SigmoidCalibrator().fit(scores, y)
    monkeypatch.setattr(one_vs_rest, "_BLOCK_SIZE", 400)
    in_blocks = SigmoidCalibrator().fit(scores, y)
    assert_allclose(in_blocks.slope_, expected.slope_, rtol=1e-10)
    assert_allclose(in_blocks.intercept_, expected.intercept_, rtol=1e-10)


def test_newton_out_of_steps_warns(monkeypatch):
    monkeypatch.setattr(one_vs_rest, "_MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="Newton's method did not converge"):
        SigmoidCalibrator().fit(*make_scores())


@BOTH
def test_two_classes_have_one_curve(kind):
    scores, y = make_scores(n_classes=2)
    gap = scores[:, 1] - scores[:, 0]
    of_two, of_one = kind().fit(scores, y), kind().fit(gap, y)
    expected = of_one.predict_proba(gap)
    assert_allclose(of_two.predict_proba(scores), expected, rtol=1e-12)
    assert_allclose(expected[:, 0], 1 - expected[:, 1], rtol=1e-12)
    probabilities = softmax(scores, axis=1)
    second = kind(input="probabilities").fit(probabilities[:, 1], y)
    both = kind(input="probabilities").fit(probabilities, y)
    assert_allclose(
        second.predict_proba(probabilities[:, 1]),
        both.predict_proba(probabilities),
        rtol=1e-12,
    )


@pytest.mark.parametrize("input", ["logits", "probabilities"])
def test_rows_that_all_curves_map_to_zero(input):
    """Uncalibrated by default; uniform as in scikit-learn where asked for."""
    scores = np.array(
        [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6], [0.34, 0.33, 0.33]]
    )
    y = [0, 1, 2, 0]
    if input == "logits":
        scores = np.log(scores)
    settings = {"input": input, "classes": 4}
    wide = np.column_stack([scores, scores.min(axis=1) - 5])
    if input == "probabilities":
        wide = np.column_stack([0.9 * scores, np.full(4, 0.1)])
    low = wide[3:] - np.array([[9.0, 9.0, 9.0, 0.0]])
    if input == "probabilities":
        low = np.array([[0.05, 0.05, 0.05, 0.85]])
    ours = IsotonicCalibrator(**settings).fit(wide, y)
    uniform = IsotonicCalibrator(**settings, zero_rows="uniform").fit(wide, y)
    assert_allclose(uniform.predict_proba(low), 0.25)
    uncalibrated = low if input == "probabilities" else softmax(low, axis=1)
    assert_allclose(ours.predict_proba(low), uncalibrated, rtol=1e-12)
    assert np.isfinite(ours.transform(low)).all()


@BOTH
def test_zero_rows_is_checked(kind):
    with pytest.raises(ValueError, match="'zero_rows' parameter of .* must be one of"):
        kind(zero_rows="drop").fit(*make_scores())


@BOTH
def test_a_class_without_samples(kind):
    scores, y = make_scores(n_classes=4)
    rows = y != 2
    calibrator = kind(classes=4).fit(scores[rows], y[rows])
    probabilities = calibrator.predict_proba(scores)
    assert probabilities.shape == (len(y), 4)
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    other = kind(classes=4).fit(scores, y).predict_proba(scores)
    assert probabilities[:, 2].mean() < 0.1 * other[:, 2].mean()


@BOTH
@given(repeats=st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_weights_are_repetitions(kind, repeats):
    scores, y = make_scores(n=60)
    repeats = np.array(repeats)
    repeats[:3] = np.maximum(repeats[:3], 1)
    settings = {"classes": 3}
    weighted = kind(**settings).fit(scores, y, repeats).predict_proba(scores)
    rows = np.repeat(np.arange(60), repeats)
    repeated = kind(**settings).fit(scores[rows], y[rows]).predict_proba(scores)
    assert_allclose(weighted, repeated, atol=1e-7)


@BOTH
def test_json(kind):
    scores, y = make_scores()
    calibrator = kind(zero_rows="uniform").fit(scores, y)
    text = json.dumps(calibrator.to_dict())
    restored = BaseCalibrator.from_dict(json.loads(text))
    assert type(restored) is kind
    assert restored.zero_rows == "uniform"
    assert_array_equal(restored.predict_proba(scores), calibrator.predict_proba(scores))


@BOTH
def test_single_precision(kind):
    scores, y = make_scores(dtype=np.float32)
    calibrator = kind().fit(scores, y)
    probabilities = calibrator.predict_proba(scores)
    assert probabilities.dtype == np.float32
    assert_allclose(
        probabilities,
        kind().fit(scores.astype(float), y).predict_proba(scores.astype(float)),
        atol=1e-5,
    )

"""SMART: its values, its parameters, and what it reaches on real scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from sklearn_smart import SMARTCalibrator, TemperatureScaling
from sklearn_smart.metrics import expected_calibration_error

from .contract import make_scores

Z4, Y4 = np.array([[6.0, 0.0]] * 4), np.array([0, 0, 0, 1])
SCORES, Y = make_scores(n=200)
OBJECTIVES = [
    "charbonnier_soft_ece",
    "soft_ece",
    "log_loss",
    "brier_score",
    "top_label_log_loss",
]
SIGNALS = [
    "margin",
    "soft_tail_gap",
    "participation_ratio",
    "top_logit",
    "confidence",
    "entropy",
]


def ordered_margin(scores):
    two = np.sort(scores, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
def test_equal_margins_get_the_single_temperature(objective, scale):
    calibrator = SMARTCalibrator(objective=objective).fit(scale * Z4, Y4)
    p = calibrator.predict_proba(scale * Z4)
    assert_allclose(p, [[0.75, 0.25]] * 4, atol=2e-4)
    assert_allclose(calibrator.temperature_, scale * 6 / np.log(3), rtol=1e-6)
    assert calibrator.margin_mean_ == pytest.approx(6 * scale)
    assert calibrator.margin_scale_ == 1.0 or calibrator.margin_scale_ > 0


def test_an_overwhelming_penalty_is_temperature_scaling():
    smart = SMARTCalibrator(objective="log_loss", alpha=1e9).fit(SCORES, Y)
    single = TemperatureScaling().fit(SCORES, Y)
    assert_allclose(smart.temperature_, single.temperature_, rtol=1e-6)
    assert_allclose(smart.temperatures(SCORES), single.temperature_, rtol=1e-3)
    expected = single.predict_proba(SCORES)
    assert_allclose(smart.predict_proba(SCORES), expected, atol=1e-3)


def test_temperatures_divide_the_logits():
    smart = SMARTCalibrator(alpha=0.3).fit(SCORES, Y)
    temperature = smart.temperatures(SCORES)
    assert temperature.shape == (len(Y),)
    assert (temperature > 0).all()
    expected = softmax(SCORES / temperature[:, None], axis=1)
    assert_allclose(smart.predict_proba(SCORES), expected, rtol=1e-9, atol=1e-15)


def test_temperature_is_a_function_of_the_margin_alone():
    smart = SMARTCalibrator(alpha=0.3).fit(SCORES, Y)
    first = np.array([[3.0, 1.0, 0.5], [-5.0, 2.0, 0.0], [9.0, 7.0, 7.0]])
    assert_allclose(np.ptp(smart.temperatures(first)), 0.0, atol=1e-12)
    assert np.ptp(smart.temperatures(SCORES)) > 0.01


def test_margin_is_standardised_by_weighted_moments():
    weight = np.arange(len(Y)) % 3 + 1
    smart = SMARTCalibrator(alpha=0.3).fit(SCORES, Y, sample_weight=weight)
    repeated = np.repeat(ordered_margin(SCORES), weight)
    assert_allclose(smart.margin_mean_, repeated.mean(), rtol=1e-9)
    assert_allclose(smart.margin_scale_, repeated.std(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_fit_never_ends_above_its_start(objective, solver):
    settings = {"objective": objective, "alpha": 0.3, "solver": solver}
    one = SMARTCalibrator(max_iter=1, **settings).fit(SCORES, Y)
    many = SMARTCalibrator(max_iter=200, **settings).fit(SCORES, Y)
    # One step is not enough to leave the interpolated curves.
    assert many.loss_ <= one.loss_ + 1e-6


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(
    ("hinges", "sizes"),
    [
        ("fixed", (1,)),
        ("fixed", [6]),
        ("trained", ()),
        ("trained", (8,)),
        ("trained", (4, 4)),
    ],
)
def test_settings_fit_and_keep_the_prediction(signal, hinges, sizes):
    smart = SMARTCalibrator(
        alpha=0.3, signal=signal, hinges=hinges, hidden_layer_sizes=sizes
    )
    p = smart.fit(SCORES, Y).predict_proba(SCORES)
    assert_array_equal(p.argmax(axis=1), SCORES.argmax(axis=1))
    assert log_loss(Y, p) < log_loss(Y, softmax(SCORES, axis=1))


@pytest.mark.parametrize("n_bins", [1, 2, 7, 15, 500])
@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_any_number_of_bins(n_bins, binning):
    smart = SMARTCalibrator(alpha=0.3, n_bins=n_bins, binning=binning).fit(SCORES, Y)
    assert np.isfinite(smart.predict_proba(SCORES)).all()


def test_minimum_temperature_is_kept():
    smart = SMARTCalibrator(alpha=0.01, min_temperature=0.8).fit(SCORES, Y)
    assert (smart.temperatures(20 * SCORES) >= 0.8 * smart.temperature_ - 1e-9).all()


@pytest.mark.parametrize("floor", [0.0, 0.9, 2.0, 50.0])
@pytest.mark.parametrize("hinges", ["fixed", "trained"])
def test_minimum_temperature_in_units_of_the_logits(floor, hinges):
    smart = SMARTCalibrator(
        alpha=0.1, min_temperature=floor, temperature_unit="logits", hinges=hinges
    )
    smart.fit(SCORES, Y)
    assert (smart.temperatures(20 * SCORES) >= floor - 1e-9).all()


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e4])
def test_a_fit_in_units_of_the_logits_starts_at_the_single_temperature(scale):
    smart = SMARTCalibrator(alpha=1e9, temperature_unit="logits", objective="log_loss")
    smart.fit(scale * SCORES, Y)
    temperature = smart.temperatures(scale * SCORES)
    assert_allclose(temperature, smart.temperature_, rtol=1e-2)


def test_temperature_far_below_one_is_found():
    """AdaBoost-like scores: the right temperature is below the published floor."""
    scores, y = make_scores(n=500, n_classes=2, scale=1.0)
    expected = SMARTCalibrator(alpha=0.3).fit(scores, y).predict_proba(scores)
    tiny = 1e-2 * scores
    smart = SMARTCalibrator(alpha=0.3).fit(tiny, y)
    loss = log_loss(y, smart.predict_proba(tiny))
    assert loss == pytest.approx(log_loss(y, expected), abs=5e-3)
    assert smart.temperatures(tiny).min() < 0.1


def test_boosted_scores_are_calibrated_as_well_as_by_one_temperature():
    X, y = load_digits(return_X_y=True)
    X, held, y, truth = train_test_split(X, y, train_size=0.4, random_state=0)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=100, random_state=0).fit(X, y)
    p = model.predict_proba(held)
    scores = {}
    for kind in (SMARTCalibrator, TemperatureScaling):
        calibrator = kind(input="probabilities").fit(p[::2], truth[::2])
        answer = calibrator.predict_proba(p[1::2])
        assert calibrator.temperature_ < 0.01
        error = expected_calibration_error(truth[1::2], answer)
        scores[kind] = error, log_loss(truth[1::2], answer)
    smart, single = scores[SMARTCalibrator], scores[TemperatureScaling]
    assert smart[0] < single[0] + 0.003
    assert smart[1] < 1.005 * single[1]


def test_random_state_is_used_by_the_random_start_alone():
    first, second = (
        SMARTCalibrator(alpha=0.3, random_state=seed).fit(SCORES, Y) for seed in (0, 1)
    )
    assert_array_equal(first.predict_proba(SCORES), second.predict_proba(SCORES))
    recipe = {"max_iter": 20}
    seeds = [0, 0, 1]
    a, b, c = (
        SMARTCalibrator.published(random_state=s, **recipe)
        .fit(SCORES, Y)
        .predict_proba(SCORES)
        for s in seeds
    )
    assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_random_state_may_be_an_instance():
    state = np.random.RandomState(0)
    smart = SMARTCalibrator.published(random_state=state, max_iter=5)
    by_int = SMARTCalibrator.published(random_state=0, max_iter=5)
    assert_array_equal(
        smart.fit(SCORES, Y).predict_proba(SCORES),
        by_int.fit(SCORES, Y).predict_proba(SCORES),
    )


def test_published_recipe():
    recipe = SMARTCalibrator.published(random_state=3, classes=3)
    expected = {
        "objective": "charbonnier_soft_ece",
        "n_bins": 15,
        "bandwidth": 0.05,
        "smoothing": 1e-3,
        "binning": "uniform",
        "alpha": 0.0,
        "top_label_weight": 0.0,
        "hidden_layer_sizes": (16,),
        "signal": "margin",
        "solver": "adam",
        "max_iter": 2000,
        "learning_rate": 5e-3,
        "n_iter_no_change": None,
        "min_temperature": 0.1,
        "random_state": 3,
        "classes": 3,
    }
    parameters = recipe.get_params()
    assert {name: parameters[name] for name in expected} == expected
    assert clone(recipe).get_params() == parameters


def test_published_recipe_takes_all_its_steps():
    smart = SMARTCalibrator.published(random_state=0, max_iter=40).fit(SCORES, Y)
    assert smart.n_iter_ == 40
    assert smart.converged_
    assert sum(c.size for c in smart.coefs_ + smart.intercepts_) == 49
    later = SMARTCalibrator.published(
        random_state=0, hidden_layer_sizes=(16, 16), n_iter_no_change=200, tol=1e-4
    )
    later.fit(SCORES, Y)
    assert sum(c.size for c in later.coefs_ + later.intercepts_) == 321
    assert later.n_iter_ < 2000


def test_exhausted_steps_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        smart = SMARTCalibrator(alpha=0.01, max_iter=2, tol=1e-12).fit(SCORES, Y)
    assert not smart.converged_


BAD_PARAMETERS = {
    "objective": ["ece", None, 3, "", ["log_loss"]],
    "n_bins": [0, -1, 2.5, "15", None, True],
    "bandwidth": [0, -0.1, "a", None, np.nan],
    "smoothing": [-1e-3, "a", None, np.nan],
    "binning": ["equal", None, 0],
    "alpha": [-1, "best", None, np.nan],
    "top_label_weight": [-1, "best", None, np.nan],
    "hidden_layer_sizes": [16, (0,), (-2,), (2.5,), ("a",), None, "16"],
    "signal": ["margins", None, 0],
    "hinges": ["free", None, 0],
    "solver": ["sgd", None, 0],
    "max_iter": [0, -1, 1.5, "a", None],
    "tol": [0, -1, "a", None, np.nan],
    "learning_rate": [0, -1, "a", None, np.nan],
    "n_iter_no_change": [0, -3, 1.5, "a"],
    "min_temperature": [-0.1, "a", None, np.nan, 1.0, 2.0],
    "temperature_unit": ["yes", None, True],
    "init": ["zeros", None, 0],
    "random_state": ["a", -1, 1.5],
    "input": ["scores", None],
}


def test_every_parameter_is_listed_above():
    assert set(BAD_PARAMETERS) | {"classes"} == set(SMARTCalibrator().get_params())


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in BAD_PARAMETERS.items() for v in values]
)
def test_bad_parameters_are_named(name, value):
    smart = SMARTCalibrator(**{name: value})
    if name == "random_state":
        smart.set_params(init="random", hinges="trained")
        with pytest.raises(ValueError, match="seed|Seed"):
            smart.fit(SCORES, Y)
        return
    with pytest.raises(ValueError, match=f"The '{name}' parameter of SMARTCalibrator"):
        smart.fit(SCORES, Y)


@pytest.mark.parametrize("sizes", [(), (4, 4)])
def test_fixed_hinges_need_one_layer(sizes):
    with pytest.raises(ValueError, match="hinges='trained'"):
        SMARTCalibrator(hidden_layer_sizes=sizes).fit(SCORES, Y)


def test_fixed_hinges_have_no_random_start():
    with pytest.raises(ValueError, match="hinges='trained'"):
        SMARTCalibrator(init="random").fit(SCORES, Y)


@pytest.mark.parametrize("name", ["n_bins", "max_iter"])
def test_numpy_integers_are_integers(name):
    SMARTCalibrator(alpha=0.3, **{name: np.int64(300)}).fit(SCORES, Y)


@pytest.mark.parametrize(
    "name", ["digits_network", "digits_forest", "breast_cancer_boosting"]
)
def test_no_worse_than_one_temperature(score_set, name):
    """Half for calibration, half for test, both ways round."""
    scores, y, kind = score_set(name)
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    losses = {"smart": [], "single": []}
    errors = {"smart": [], "single": []}
    for fit, test in ((half, ~half), (~half, half)):
        for key, calibrator in (
            ("smart", SMARTCalibrator(input=kind)),
            ("single", TemperatureScaling(input=kind)),
        ):
            p = calibrator.fit(scores[fit], y[fit]).predict_proba(scores[test])
            p = p.astype(np.float64)
            p /= p.sum(axis=1, keepdims=True)
            losses[key].append(log_loss(y[test], p))
            errors[key].append(expected_calibration_error(y[test], p))
    assert np.mean(losses["smart"]) <= 1.03 * np.mean(losses["single"])
    assert np.mean(errors["smart"]) <= np.mean(errors["single"]) + 0.01


@pytest.fixture(scope="session")
def resnet50(shared):
    with np.load(shared / "logits/cifar10_resnet50_focal.npz") as arrays:
        return {name: arrays[name] for name in arrays}


def error_on_test_part(calibrator, data):
    calibrator.fit(data["val_logits"].astype(np.float64), data["val_labels"])
    p = calibrator.predict_proba(data["test_logits"].astype(np.float64))
    return 100 * expected_calibration_error(data["test_labels"], p, n_bins=15)


def test_default_on_cifar10(resnet50):
    assert error_on_test_part(SMARTCalibrator(), resnet50) <= 0.45


def test_one_fit_on_cifar10(resnet50):
    assert error_on_test_part(SMARTCalibrator(alpha=0.3), resnet50) <= 0.45


def test_published_recipe_on_cifar10(resnet50):
    errors = [
        error_on_test_part(SMARTCalibrator.published(random_state=seed), resnet50)
        for seed in (0, 1)
    ]
    assert 0.36 <= np.mean(errors) <= 0.46
    assert max(errors) <= 0.50


def test_a_sample_without_errors_is_calibrated_without_certainty():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=30)
    scores = 8 * np.eye(3)[y] + rng.normal(size=(30, 3))
    smart = SMARTCalibrator().fit(scores, y)
    assert smart.converged_
    confidence = smart.predict_proba(scores).max(axis=1)
    # 61/62 without the objective, which may sharpen it, but not to 1.
    assert 0.98 < confidence.mean() < 0.995
    assert confidence.max() < 0.9999

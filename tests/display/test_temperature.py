import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sklearn_smart import CalibratedClassifierCV, SMARTCalibrator, TemperatureScaling
from sklearn_smart.calibrators import Uncalibrated
from sklearn_smart.calibrators.feasible import feasible_temperatures
from sklearn_smart.display import TemperatureDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=400)
    return 4 * (np.eye(4)[y] + rng.normal(size=(400, 4)) / 2), y


@pytest.fixture(scope="module")
def smart(problem):
    return SMARTCalibrator().fit(*problem)


def top_gap(scores):
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def test_curve(smart, problem):
    scores, _ = problem
    display = TemperatureDisplay.from_calibrator(smart, scores)
    np.testing.assert_allclose(display.margin, top_gap(scores))
    np.testing.assert_array_equal(display.temperature, smart.temperatures(scores))
    x, y = display.line_.get_data()
    assert len(x) <= 1000
    assert (np.diff(x) >= 0).all()
    assert (x[0], x[-1]) == (display.margin.min(), display.margin.max())
    assert set(zip(x, y, strict=True)) <= set(
        zip(display.margin, display.temperature, strict=True)
    )
    labels = display.ax_.get_legend_handles_labels()[1]
    assert labels == [
        "can give confidence 0.95",
        f"single temperature {smart.temperature_:.3g}",
        "SMARTCalibrator",
    ]
    assert display.n_classes == 4


def test_bands(smart, problem):
    scores, _ = problem
    display = TemperatureDisplay.from_calibrator(
        smart, scores, confidence=(0.4, 0.9, 0.99)
    )
    assert len(display.bands_) == 3
    display.figure_.canvas.draw()
    right, top = display.ax_.get_xlim()[1], display.ax_.get_ylim()[1]
    path = display.bands_[2].get_paths()[0].vertices
    _, upper = feasible_temperatures(right, 0.99, 4)
    assert path[:, 1].max() == pytest.approx(min(float(upper), 2 * top))
    none = TemperatureDisplay.from_calibrator(smart, scores, confidence=())
    assert none.bands_ == []
    with pytest.raises(ValueError, match="confidence must be in"):
        TemperatureDisplay.from_calibrator(smart, scores, confidence=0.2)


def test_two_classes_have_lines_for_bands(problem):
    scores, y = problem[0][:, :2], problem[1] % 2
    for given in (scores[:, 1] - scores[:, 0], scores):
        calibrator = SMARTCalibrator().fit(given, y)
        display = TemperatureDisplay.from_calibrator(calibrator, given, confidence=0.9)
        np.testing.assert_allclose(display.margin, np.abs(scores[:, 1] - scores[:, 0]))
        x, band = display.bands_[0].get_data()
        np.testing.assert_allclose(band, np.minimum(x / np.log(9), band.max()))


def test_probabilities(problem):
    scores, y = problem
    prob = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    calibrator = SMARTCalibrator(input="probabilities").fit(prob, y)
    display = TemperatureDisplay.from_calibrator(calibrator, prob)
    np.testing.assert_allclose(display.margin, top_gap(scores), rtol=1e-9, atol=1e-9)
    p = prob[:, 1]
    calibrator.fit(p, y == 1)
    display = TemperatureDisplay.from_calibrator(calibrator, p)
    np.testing.assert_allclose(display.margin, np.abs(np.log(p) - np.log(1 - p)))


def test_temperature_scaling_and_other_signals(problem):
    scores, y = problem
    display = TemperatureDisplay.from_calibrator(
        TemperatureScaling().fit(scores, y), scores
    )
    assert len(set(display.line_.get_ydata())) == 1
    entropy = SMARTCalibrator(signal="entropy").fit(scores, y)
    display = TemperatureDisplay.from_calibrator(entropy, scores)
    assert not display.is_function
    assert display.line_.get_linestyle() == "None"


def test_pipeline(problem):
    scores, y = problem
    pipe = make_pipeline(TemperatureScaling(), SMARTCalibrator()).fit(scores, y)
    display = TemperatureDisplay.from_calibrator(pipe, scores)
    inner = pipe[0].transform(scores)
    np.testing.assert_allclose(display.margin, top_gap(inner), atol=1e-9)


def test_with_axes_no_figure_is_made(smart, problem):
    figure, ax = plt.subplots()
    display = TemperatureDisplay.from_calibrator(smart, problem[0], ax=ax, name="me")
    figure.canvas.draw()
    assert display.ax_ is ax
    assert plt.get_fignums() == [figure.number]
    assert display.line_.get_label() == "me"
    assert display.histogram_ax_.get_xlabel().startswith("Margin")
    plain = TemperatureDisplay.from_calibrator(smart, problem[0], histogram=False)
    assert plain.histogram_ax_ is None
    assert plain.ax_.get_xlabel().startswith("Margin")


def test_two_curves_on_one_axes(smart, problem):
    scores, y = problem
    first = TemperatureDisplay.from_calibrator(smart, scores)
    second = TemperatureDisplay.from_calibrator(
        TemperatureScaling().fit(scores, y), scores, ax=first.ax_
    )
    assert second.bands_ == []
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()


@pytest.mark.parametrize("base", [LogisticRegression(max_iter=500), GaussianNB()])
@pytest.mark.parametrize("wanted", ["logits", "probabilities"])
def test_from_estimator(base, wanted):
    X, y = load_iris(return_X_y=True)
    model = CalibratedClassifierCV(base, method=SMARTCalibrator(input=wanted), cv=3)
    with pytest.raises(NotFittedError):
        TemperatureDisplay.from_estimator(model, X)
    model.fit(X, y)
    for fold in range(3):
        display = TemperatureDisplay.from_estimator(model, X, fold=fold)
        pair = model.calibrated_classifiers_[fold]
        # The temperatures are those that give the pair's probabilities.
        prob = np.sort(pair.predict_proba(X), axis=1)
        ratio = np.log(prob[:, -1]) - np.log(prob[:, -2])
        np.testing.assert_allclose(
            ratio, display.margin / display.temperature, rtol=1e-6, atol=1e-6
        )
    with pytest.raises(ValueError, match="'fold' parameter"):
        TemperatureDisplay.from_estimator(model, X, fold=3)
    with pytest.raises(ValueError, match="no calibrated_classifiers_"):
        TemperatureDisplay.from_estimator(LogisticRegression().fit(X[:, :1], y), X)


def test_from_estimator_binary():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], y[50:]
    model = CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, y)
    display = TemperatureDisplay.from_estimator(model, X)
    score = model.calibrated_classifiers_[0].estimator.decision_function(X)
    np.testing.assert_allclose(display.margin, np.abs(score))


def test_one_sample(smart, problem):
    display = TemperatureDisplay.from_calibrator(smart, problem[0][:1])
    display.figure_.canvas.draw()
    assert len(display.line_.get_xdata()) == 1


def test_margins_of_zero(smart):
    display = TemperatureDisplay.from_calibrator(smart, np.zeros((3, 4)))
    display.figure_.canvas.draw()
    assert display.margin.tolist() == [0, 0, 0]


def test_errors(problem):
    scores, y = problem
    with pytest.raises(ValueError, match="Uncalibrated gives no temperatures"):
        TemperatureDisplay.from_calibrator(Uncalibrated().fit(scores, y), scores)
    with pytest.raises(NotFittedError):
        TemperatureDisplay.from_calibrator(SMARTCalibrator(), scores)
    assert plt.get_fignums() == []


def test_without_matplotlib(smart, problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="from_calibrator needs matplotlib"):
        TemperatureDisplay.from_calibrator(smart, problem[0])
    display = TemperatureDisplay(np.arange(3.0), np.ones(3), n_classes=3)
    with pytest.raises(ImportError, match=r"plot needs matplotlib.*extra 'plot'"):
        display.plot()

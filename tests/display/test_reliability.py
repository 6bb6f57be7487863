import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from sklearn_smart.display import ReliabilityDisplay
from sklearn_smart.metrics import (
    expected_calibration_error,
    reliability_table,
    smooth_reliability,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.full(3, 0.6), size=400)
    y = (rng.random((400, 1)) > np.cumsum(prob, axis=1)).sum(axis=1)
    return np.array(["a", "b", "c"])[np.minimum(y, 2)], prob


def heights(display):
    return [patch.get_height() for patch in display.histogram_ax_.patches]


def test_points_and_counts_are_the_tables(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(y, prob, n_bins=10, name="m")
    table = reliability_table(y, prob, n_bins=10)
    filled = table.weight > 0
    x_data, y_data = display.line_.get_data()
    np.testing.assert_array_equal(x_data, table.mean_prob[filled])
    np.testing.assert_array_equal(y_data, table.frequency[filled])
    assert heights(display) == table.weight.tolist()
    ece = expected_calibration_error(y, prob, n_bins=10)
    assert table.expected_calibration_error == pytest.approx(ece, abs=1e-15)
    assert display.line_.get_label() == f"m (ECE {ece:.3f})"
    assert display.ax_.get_ylabel() == "Accuracy"
    assert display.histogram_ax_.get_xlabel() == "Confidence"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_count_as_in_the_metric(dtype):
    conf = (np.arange(1, 11) / 10).astype(dtype)
    display = ReliabilityDisplay.from_predictions(
        np.ones(10, int), conf, n_bins=10, kind="positive_class", labels=[0, 1]
    )
    assert heights(display) == [1] * 10


def test_band(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(y, prob, n_bins=10, band=0.9)
    table = display.tables[0]
    low, high = table.consistency_band(0.9)
    b = int(table.weight.argmax())
    expected = stats.binom.ppf([0.05, 0.95], table.weight[b], table.mean_prob[b])
    assert [low[b], high[b]] == pytest.approx(expected / table.weight[b])
    labels = display.ax_.get_legend_handles_labels()[1]
    assert "90% of calibrated models" in labels
    plain = ReliabilityDisplay.from_predictions(y, prob, band=None)
    assert not any("models" in s for s in plain.ax_.get_legend_handles_labels()[1])
    before = len(plt.get_fignums())
    with pytest.raises(ValueError, match="'confidence_level' parameter"):
        ReliabilityDisplay.from_predictions(y, prob, band=95)
    assert len(plt.get_fignums()) == before


def test_band_covers_calibrated_bins():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        p = rng.random(500)
        table = reliability_table(rng.random(500) < p, p, kind="positive_class")
        low, high = table.consistency_band()
        inside.append((low <= table.frequency) & (table.frequency <= high))
    assert 0.94 < np.mean(inside) < 0.99


def test_summary():
    display = ReliabilityDisplay.from_predictions(
        [0, 0, 1, 1], [0.9] * 4, n_bins=10, name="m"
    )
    assert display.summary() == (
        "m, top label: 4 samples in 1 bins, expected calibration error 0.4000; "
        "probabilities are 0.4000 too high on average, and most of the error is at "
        "0.900, where the frequency is 0.500."
    )


def test_with_axes_no_figure_is_made(problem):
    y, prob = problem
    figure, ax = plt.subplots()
    for name in ("one", "two"):
        display = ReliabilityDisplay.from_predictions(y, prob, name=name, ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
    figure.canvas.draw()
    assert plt.get_fignums() == [figure.number]
    assert figure.axes == [ax]
    # One diagonal, and two lines that differ without colour.
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(" (")[0] for label in labels] == [
        "perfectly calibrated",
        "one",
        "95% of calibrated models",
        "two",
    ]
    one, two = ax.lines[1:]
    assert one.get_marker() != two.get_marker()
    assert one.get_linestyle() != two.get_linestyle()
    assert len(ax.child_axes) == 1


def test_without_axes_each_display_has_its_figure(problem):
    displays = [ReliabilityDisplay.from_predictions(*problem) for _ in range(2)]
    assert displays[0].figure_ is not displays[1].figure_


def test_class_wise(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(
        y, prob, kind="class_wise", n_bins=7, histogram=False
    )
    assert display.histogram_ax_ is None
    assert [table.event for table in display.tables] == [
        "class a",
        "class b",
        "class c",
    ]
    for k, (line, table) in enumerate(zip(display.line_, display.tables, strict=True)):
        expected = reliability_table(
            y, prob, kind="positive_class", pos_label="abc"[k], n_bins=7
        )
        np.testing.assert_array_equal(table.frequency, expected.frequency)
        assert f"class {'abc'[k]} (ECE" in line.get_label()
    assert display.ax_.get_xlabel() == "Predicted probability"


def test_many_classes_share_one_entry_of_the_legend():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(30), size=500)
    display = ReliabilityDisplay.from_predictions(
        rng.integers(0, 30, 500), prob, kind="class_wise", labels=range(30)
    )
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["perfectly calibrated", "30 classes"]
    assert len(display.line_) == 30


def test_quantile_bins(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(
        y, prob, strategy="quantile", n_bins=8
    )
    assert heights(display) == [50] * 8


def test_weights(problem):
    y, prob = problem
    weight = np.arange(len(y)) % 3 / 4
    display = ReliabilityDisplay.from_predictions(y, prob, sample_weight=weight)
    assert sum(heights(display)) == pytest.approx(weight.sum())
    assert display.histogram_ax_.get_ylabel() == "Weight"


def test_from_estimator():
    X, y = load_iris(return_X_y=True)
    y = np.array(["x", "y", "z"])[y]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    # The data lack a class that the model knows.
    part = y != "y"
    display = ReliabilityDisplay.from_estimator(
        model, X[part], y[part], kind="positive_class", pos_label="z", linewidth=4
    )
    assert display.name == "LogisticRegression"
    assert display.tables[0].event == "class z"
    assert display.line_.get_linewidth() == 4
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    with pytest.raises(NotFittedError, match="LogisticRegression"):
        ReliabilityDisplay.from_estimator(LogisticRegression(), X, y)


def test_no_reference_line(problem):
    display = ReliabilityDisplay.from_predictions(*problem, ref_line=False)
    assert len(display.ax_.lines) == 1


@pytest.mark.parametrize("n", [1, 2])
def test_few_samples(n):
    display = ReliabilityDisplay.from_predictions([1, 0][:n], [0.7, 0.4][:n])
    display.figure_.canvas.draw()
    assert len(display.line_.get_xdata()) == n


def test_bad_input_makes_no_figure(problem):
    y, prob = problem
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        ReliabilityDisplay.from_predictions(y, prob, n_bins=0)
    with pytest.raises(ValueError, match="NaN"):
        ReliabilityDisplay.from_predictions(y, prob * np.nan)
    assert plt.get_fignums() == []


def test_without_matplotlib(problem, monkeypatch):
    y, prob = problem
    table = reliability_table(y, prob)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = ReliabilityDisplay([table])  # numbers need no matplotlib
    with pytest.raises(ImportError, match=r"plot needs matplotlib.*extra 'plot'"):
        display.plot()
    with pytest.raises(ImportError, match="from_predictions needs matplotlib"):
        ReliabilityDisplay.from_predictions(y, prob)
    with pytest.raises(ImportError, match="from_estimator needs matplotlib"):
        ReliabilityDisplay.from_estimator(None, None, None)


def test_smooth_curve(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(y, prob, smooth=True, name="m")
    (curve,) = [line for line in display.ax_.lines if line.get_gid() == "smooth"]
    expected = smooth_reliability(y, prob)
    shown = expected.standard_error <= 0.15
    assert shown.any()
    np.testing.assert_array_equal(curve.get_xdata(), expected.prob)
    np.testing.assert_array_equal(curve.get_ydata()[shown], expected.frequency[shown])
    assert np.isnan(curve.get_ydata()[~shown]).all()
    assert curve.get_color() == display.line_.get_color()
    assert display.line_.get_linestyle() == "None"
    assert ReliabilityDisplay.from_predictions(y, prob).curves is None


def test_grid_of_classes(problem):
    y, prob = problem
    display = ReliabilityDisplay.from_predictions(y, prob, kind="class_wise")
    displays = display.plot_grid(n_columns=2, band=None)
    assert [d.tables[0].event for d in displays] == ["class a", "class b", "class c"]
    assert len({d.figure_ for d in displays}) == 1
    errors = [table.expected_calibration_error for table in display.tables]
    (worst,) = display.plot_grid(n_events=1)
    assert worst.tables[0] is display.tables[int(np.argmax(errors))]
    assert worst.ax_.get_title() == f"{worst.tables[0].event}: ECE {max(errors):.3f}"
    for bad in ({"n_columns": 0}, {"n_events": True}):
        with pytest.raises(ValueError, match="must be an int"):
            display.plot_grid(**bad)

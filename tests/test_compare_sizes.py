"""Methods against the size of the calibration set."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_smart import compare_calibration_sizes
from sklearn_smart.calibrators import TemperatureScaling
from sklearn_smart.metrics import log_loss

METHODS = ["uncalibrated", "temperature", "smart"]


def make(n=800, n_classes=3):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    return 4 * (np.eye(n_classes)[y] + rng.normal(size=(n, n_classes))), y


@pytest.fixture(scope="module")
def study():
    return compare_calibration_sizes(
        *make(), sizes=[50, 200], n_subsets=4, methods=METHODS
    )


def test_sizes_grow_on_the_same_test_rows(study):
    assert study.sizes == [50, 200, 400]
    assert study.methods == METHODS
    # What learns nothing has the same score at each size.
    for measure in study.measures:
        values = study.mean("uncalibrated", measure)
        assert_array_equal(values, values[[0, 0, 0]])
    loss = study.mean("smart", "log_loss")[:, 0]
    assert loss[-1] < loss[0] < study.mean("uncalibrated", "log_loss")[0, 0]


def test_mean_and_error_are_of_the_subsets():
    scores, y = make(400)
    seen = []

    class Spy(TemperatureScaling):
        def fit(self, scores, y, sample_weight=None):
            seen.append(len(y))
            return super().fit(scores, y, sample_weight)

        def predict_proba(self, scores):
            return super().predict_proba(scores)

    study = compare_calibration_sizes(
        scores, y, sizes=[30], n_subsets=3, methods={"spy": Spy()}, scoring="log_loss"
    )
    assert seen == [30] * 3 + [200] * 3
    values = study.comparisons[0].values[:, 0, 0]
    expected = values.mean(), values.std(ddof=1) / np.sqrt(3)
    assert_allclose(study.mean("spy", "log_loss")[0], expected)
    uniform = log_loss(y, np.full((len(y), 3), 1 / 3))
    assert (values < uniform).all()


def test_result_does_not_depend_on_jobs_or_the_global_seed():
    settings = {"sizes": [60], "n_subsets": 3, "methods": ["temperature"]}
    scores, y = make(300)
    first = compare_calibration_sizes(scores, y, **settings)
    np.random.seed(7)  # noqa: NPY002
    second = compare_calibration_sizes(scores, y, n_jobs=2, **settings)
    for one, two in zip(first.comparisons, second.comparisons, strict=True):
        assert_array_equal(one.values, two.values)


def test_weight_zero_is_removal():
    scores, y = make(300)
    settings = {"sizes": [60], "n_subsets": 3, "methods": ["temperature"]}
    weight = np.ones(300)
    weight[::3] = 0
    with_zero = compare_calibration_sizes(scores, y, sample_weight=weight, **settings)
    kept = weight > 0
    without = compare_calibration_sizes(
        scores[kept], y[kept], sample_weight=weight[kept], **settings
    )
    assert with_zero.sizes == without.sizes == [60, 100]
    for one, two in zip(with_zero.comparisons, without.comparisons, strict=True):
        assert_allclose(one.values, two.values)


def test_progress():
    calls = []
    compare_calibration_sizes(
        *make(200),
        sizes=[40],
        n_subsets=2,
        methods=["temperature"],
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_words(study):
    lines = study.summary().splitlines()
    assert [line.split(":")[0] for line in lines] == ["Best ece", "Best log_loss"]
    assert "at 400." in lines[0]


def test_frame(study):
    pytest.importorskip("pandas")
    frame = study.to_frame()
    assert list(frame.columns) == ["ece", "ece_error", "log_loss", "log_loss_error"]
    for i, size in enumerate(study.sizes):
        for method in METHODS:
            row = frame.loc[(size, method)]
            assert_array_equal(row[:2], study.mean(method, "ece")[i])
            assert_array_equal(row[2:], study.mean(method, "log_loss")[i])


def test_picture(study):
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = study.plot()
    assert [ax.get_ylabel() for ax in axes] == ["ece", "log_loss"]
    for ax, measure in zip(axes, study.measures, strict=True):
        bars = list(ax.containers)
        assert len(bars) == 2  # the uncalibrated line has none
        assert_array_equal(
            bars[0][0].get_ydata(), study.mean("temperature", measure)[:, 0]
        )
        assert_array_equal(bars[0][0].get_xdata(), study.sizes)
    (alone,) = study.plot(["ece"])
    assert alone.get_ylabel() == "ece"
    with pytest.raises(ValueError, match="2 axes are needed"):
        study.plot(axes=[alone])
    with pytest.raises(ValueError, match="is not one of"):
        study.plot(["auc"])
    plt.close("all")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": [2]}, "'sizes'"),
        ({"sizes": [50.5]}, "'sizes'"),
        ({"n_subsets": 1}, "'n_subsets'"),
        ({"test_size": 1.5}, "'test_size'"),
        ({"methods": ["platt"]}, "platt"),
        ({"random_state": "a"}, "random_state"),
    ],
)
def test_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        compare_calibration_sizes(*make(200), **settings)

"""Answers block by block: as one, into a given array, from a memory-mapped file."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_smart import (
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
    VectorScaling,
    metrics,
)
from sklearn_smart._numerics import logits as numerics

from .contract import make_scores

SCORES, Y = make_scores(n=200)
METHODS = ["predict_proba", "predict_log_proba", "transform"]


@pytest.fixture
def small_blocks(monkeypatch):
    # Of 21 rows, and 168 where rows are answered.
    monkeypatch.setattr(numerics, "_BLOCK_SIZE", 64)


@pytest.mark.parametrize("method", [*METHODS, "predict"])
def test_blocks_change_nothing(calibrator, method, monkeypatch):
    calibrator.fit(SCORES, Y)
    whole = getattr(calibrator, method)(SCORES)
    monkeypatch.setattr(numerics, "_BLOCK_SIZE", 6)
    by_blocks = getattr(calibrator, method)(SCORES)
    if method == "predict":
        assert_array_equal(by_blocks, whole)
    else:
        assert_allclose(by_blocks, whole, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_given_array_is_filled(calibrator, method, dtype):
    scores = SCORES.astype(dtype)
    calibrator.fit(scores, Y)
    out = np.full(scores.shape, np.nan, dtype=dtype)
    assert getattr(calibrator, method)(scores, out=out) is out
    assert_array_equal(out, getattr(calibrator, method)(scores))
    # Part of a larger array, in another order of memory.
    larger = np.zeros((3, len(scores) + 2), dtype=dtype)
    getattr(calibrator, method)(scores, out=larger[:, 1:-1].T)
    assert_allclose(larger[:, 1:-1].T, out, rtol=1e-6)
    assert not larger[:, [0, -1]].any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ([[0.0] * 3] * 200, "must be a NumPy array"),
        (np.empty((200, 2)), "must have the shape"),
        (np.empty((200, 3), dtype=np.float32), "must have the shape.*dtype"),
        (np.empty((200, 3), dtype=object), "must have the shape.*dtype"),
        (np.broadcast_to(0.0, (200, 3)), "read-only"),
        (SCORES, "overlaps the scores"),
        (SCORES[::-1], "overlaps the scores"),
    ],
    ids=["list", "shape", "float32", "object", "read-only", "itself", "reversed"],
)
def test_arrays_that_cannot_hold_the_answer(method, out, message):
    before = SCORES.copy()
    calibrator = SMARTCalibrator().fit(SCORES, Y)
    with pytest.raises(ValueError, match=message):
        getattr(calibrator, method)(SCORES, out=out)
    assert_array_equal(SCORES, before)


def test_nothing_is_written_where_scores_are_refused(small_blocks):
    calibrator = TemperatureScaling().fit(SCORES, Y)
    bad = SCORES.copy()
    bad[-1, 0] = np.nan
    out = np.full(bad.shape, 7.0)
    with pytest.raises(ValueError, match="contains NaN"):
        calibrator.predict_proba(bad, out=out)
    assert (out == 7.0).all()


def memory_mapped(path, array):
    mapped = np.lib.format.open_memmap(path, "w+", array.dtype, array.shape)
    mapped[...] = array
    mapped.flush()
    return np.load(path, mmap_mode="r")


def peak_of(work):
    """Largest size of the arrays that ``work`` has at once, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def large():
    return make_scores(n=40_000, n_classes=100, dtype=np.float32)


@pytest.mark.parametrize(
    "make",
    [TemperatureScaling, SMARTCalibrator, Uncalibrated],
    ids=lambda m: m.__name__,
)
@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_a_memory_mapped_file(make, kind, large, tmp_path):
    scores, y = large
    if kind == "probabilities":
        scores = numerics.softmax(scores)
    mapped = memory_mapped(tmp_path / "scores.npy", scores)
    calibrator = make(input=kind, classes=100)
    expected = calibrator.fit(scores, y).predict_proba(scores)
    fit = peak_of(lambda: calibrator.fit(mapped, y))
    out = np.lib.format.open_memmap(
        tmp_path / "out.npy", "w+", np.float32, scores.shape
    )
    answer = peak_of(lambda: calibrator.predict_proba(mapped, out=out))
    assert_array_equal(out, expected)
    assert answer < 0.7 * scores.nbytes
    if kind == "logits":
        # Some numbers for each row, however many classes there are.
        assert fit < 100 * 8 * len(y)


def test_several_steps_of_a_pipeline_by_blocks(small_blocks):
    first = VectorScaling().fit(SCORES, Y)
    logits = first.transform(SCORES, out=np.empty_like(SCORES))
    second = SMARTCalibrator().fit(logits, Y)
    p = second.predict_proba(logits, out=np.empty_like(logits))
    assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "metric",
    [
        metrics.expected_calibration_error,
        metrics.brier_score,
        metrics.log_loss,
        metrics.smooth_calibration_error,
    ],
    ids=lambda metric: metric.__name__,
)
def test_metrics_of_a_memory_mapped_file(metric, large, tmp_path):
    scores, y = large
    p = numerics.softmax(scores)
    mapped = memory_mapped(tmp_path / "p.npy", p)
    expected = metric(y, p, labels=range(100))
    peak = peak_of(lambda: metric(y, mapped, labels=range(100)))
    assert metric(y, mapped, labels=range(100)) == expected
    assert peak < 0.7 * p.nbytes

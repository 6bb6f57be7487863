import json

import numpy as np
import pytest
from scipy.special import softmax

from sklearn_smart.metrics import (
    confidence_accuracy_gap,
    expected_calibration_error,
    reliability_table,
    soft_calibration_error,
    sweep_calibration_error,
)


def test_reference_values(shared):
    cases = json.loads((shared / "gold" / "objectives.json").read_text())["cases"]
    assert cases
    for case in cases:
        temperature = np.array(case["temperatures"])[:, None]
        prob = softmax(np.array(case["logits"]) / temperature, axis=1)
        options = {
            "n_bins": case["n_bins"],
            "bandwidth": case["bandwidth"],
            "labels": range(prob.shape[1]),
        }
        assert soft_calibration_error(case["labels"], prob, **options) == pytest.approx(
            case["soft_ece"], abs=1e-9
        )
        assert soft_calibration_error(
            case["labels"], prob, smoothing=case["smoothing"], **options
        ) == pytest.approx(case["charbonnier_soft_ece"], abs=1e-9)


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    return (rng.random(n) < p**1.5).astype(int), p


def test_narrow_soft_bins_are_hard_bins():
    y, p = problem()
    p = p * 0.98 + 0.005  # away from the edges
    soft = soft_calibration_error(
        y, p, kind="positive_class", bandwidth=1e-4, n_bins=10
    )
    hard = expected_calibration_error(y, p, kind="positive_class", n_bins=10)
    assert soft == pytest.approx(hard, abs=1e-12)


def test_smoothing_lies_between():
    y, p = problem()
    plain = soft_calibration_error(y, p)
    smooth = soft_calibration_error(y, p, smoothing=0.01)
    assert plain < smooth <= plain + 0.01


def test_quantile_centres():
    y, p = problem()
    centres = np.sort(p)[np.ceil((np.arange(5) + 0.5) / 5 * len(p)).astype(int) - 1]
    member = np.exp(-(((p[:, None] - centres) / 0.1) ** 2) / 2)
    member /= member.sum(axis=1, keepdims=True)
    expected = np.abs((p - y) @ member).sum() / len(p)
    value = soft_calibration_error(
        y, p, n_bins=5, bandwidth=0.1, strategy="quantile", kind="positive_class"
    )
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"), [("bandwidth", 0), ("bandwidth", np.inf), ("smoothing", -1.0)]
)
def test_soft_parameter_errors(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        soft_calibration_error([0, 1], [0.1, 0.9], **{name: value})


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("seed", range(4))
def test_sweep_tries_every_number_of_bins(strategy, seed):
    y, p = problem(seed=seed, n=200)
    best = None
    for n_bins in range(1, len(p)):
        table = reliability_table(
            y, p, n_bins=n_bins, strategy=strategy, kind="positive_class"
        )
        frequency = table.frequency[table.weight > 0]
        if (np.diff(frequency) < -1e-12).any():
            break
        best = table.expected_calibration_error
    value = sweep_calibration_error(y, p, strategy=strategy, kind="positive_class")
    assert value == pytest.approx(best, abs=1e-12)


def test_sweep_by_hand():
    # 1 and 2 bins rise (0.5, 1); 3 bins of 2, 1 and 1 fall.
    y, p = [1, 0, 1, 1], [0.1, 0.2, 0.6, 0.9]
    value = sweep_calibration_error(y, p, kind="positive_class")
    two = expected_calibration_error(
        y, p, kind="positive_class", n_bins=2, strategy="quantile"
    )
    three = expected_calibration_error(
        y, p, kind="positive_class", n_bins=3, strategy="quantile"
    )
    assert value in (two, pytest.approx(three))


def test_sweep_stops_at_the_distinct_values():
    assert sweep_calibration_error([0, 0, 1, 1], [0.9] * 4) == pytest.approx(0.4)


def test_gap_has_a_sign():
    assert confidence_accuracy_gap([0, 1], [0.9, 0.9]) == pytest.approx(0.4)
    assert confidence_accuracy_gap([1, 1], [0.9, 0.9]) == pytest.approx(-0.1)
    y, p = problem()
    one_bin = expected_calibration_error(y, p, n_bins=1, kind="positive_class")
    gap = confidence_accuracy_gap(y, p, kind="positive_class")
    assert abs(gap) == pytest.approx(one_bin, abs=1e-12)
    assert gap == pytest.approx(np.mean(p - y), abs=1e-12)


def test_debiased_error():
    y, p = problem(n=2000)
    edges = np.arange(1, 10) / 10
    index = np.searchsorted(edges, p)
    square = 0
    for b in range(10):
        rows = index == b
        n, f = rows.sum(), y[rows].mean()
        square += n / len(p) * ((p[rows].mean() - f) ** 2 - f * (1 - f) / (n - 1))
    value = expected_calibration_error(
        y, p, kind="positive_class", n_bins=10, norm="l2", debias=True
    )
    assert value == pytest.approx(np.sqrt(square), abs=1e-12)
    with pytest.raises(ValueError, match="defined for norm='l2'"):
        expected_calibration_error(y, p, debias=True)
    with pytest.raises(ValueError, match="'debias' parameter"):
        expected_calibration_error(y, p, debias="yes", norm="l2")


def test_debiased_square_is_right_on_average():
    rng = np.random.default_rng(0)
    squares, plain = [], []
    for _ in range(300):
        p = rng.random(200)
        y = rng.random(200) < p
        options = {"kind": "positive_class", "norm": "l2"}
        squares.append(expected_calibration_error(y, p, debias=True, **options) ** 2)
        plain.append(expected_calibration_error(y, p, **options) ** 2)
    # 15 bins of 13: the plain square is about 15 * mean(p (1 - p)) / 200 too large.
    assert np.mean(plain) > 5 * np.mean(squares)

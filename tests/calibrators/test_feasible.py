import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_smart.calibrators.feasible import feasible_temperatures


def confidence(logits, temperature):
    z = (logits - logits.max()) / temperature
    return 1 / np.exp(z).sum()


@pytest.mark.parametrize("n_classes", [2, 3, 10, 1000])
@pytest.mark.parametrize("p", [0.51, 0.8, 0.999])
def test_ends_are_reached(n_classes, p):
    lower, upper = feasible_temperatures(3.0, p, n_classes)
    tied = np.full(n_classes, -3.0)
    tied[0] = 0
    assert confidence(tied, lower) == pytest.approx(p)
    one_rival = np.full(n_classes, -1e9)
    one_rival[:2] = 0, -3
    assert confidence(one_rival, upper) == pytest.approx(p)


@given(
    st.lists(st.floats(0, 20), min_size=2, max_size=8),
    st.floats(0.1, 10),
    st.floats(0.01, 10),
)
def test_no_sample_lies_outside(gaps, margin, temperature):
    gaps[0] = 0
    logits = -np.array([0, *(margin + np.sort(gaps))])
    p = confidence(logits, temperature)
    if 1 / len(logits) < p < 1 - 1e-12:
        lower, upper = feasible_temperatures(margin, p, len(logits))
        assert lower <= temperature * (1 + 1e-6)
        assert upper >= temperature * (1 - 1e-6)


def test_shapes_and_limits():
    lower, upper = feasible_temperatures([[0.0], [2.0]], [0.4, 0.5, 0.9], 4)
    assert lower.shape == upper.shape == (2, 3)
    assert np.isinf(upper[:, :2]).all()
    assert lower[0].tolist() == [0, 0, 0]
    assert upper[0, 2] == 0
    lower, upper = feasible_temperatures(2.0, 0.9, 2)
    assert lower == upper == pytest.approx(2 / np.log(9))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 0.9, 3), "margin must be >= 0"),
        ((np.nan, 0.9, 3), "margin contains NaN"),
        ((1.0, 1.0, 3), "confidence must be in"),
        ((1.0, 1 / 3, 3), "confidence must be in"),
        ((1.0, 0.9, 1), "'n_classes' parameter"),
        ((1.0, 0.9, 3.0), "'n_classes' parameter"),
        (([1.0, 2.0], [0.9, 0.8, 0.7], 3), "broadcast"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        feasible_temperatures(*arguments)

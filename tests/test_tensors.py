"""Tensors as scores: whatever NumPy reads as an array."""

import numpy as np
import pytest

from sklearn_smart import compare_calibrators, metrics
from sklearn_smart.calibrators import CALIBRATORS


class Tensor:
    """What a CPU tensor is to NumPy: a shape, a length and ``__array__``."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape
        self.ndim = values.ndim
        self.dtype = f"torch.{values.dtype}"

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return Tensor(self.values[rows])

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def torch_tensor(values):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    return torch.from_numpy(values)


@pytest.fixture(params=[Tensor, torch_tensor], ids=["duck", "torch"])
def tensor(request):
    return request.param


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    z = 3 * (np.eye(3)[y] + rng.normal(size=(200, 3)))
    return z.astype(np.float32), y


@pytest.mark.parametrize("method", CALIBRATORS)
def test_calibrators_take_tensors(method, tensor, arrays):
    z, y = arrays
    weight = np.arange(1, 201, dtype=np.float64)
    calibrator = CALIBRATORS[method]().fit(tensor(z), tensor(y), tensor(weight))
    expected = CALIBRATORS[method]().fit(z, y, weight)
    prob = calibrator.predict_proba(tensor(z))
    assert isinstance(prob, np.ndarray)
    assert prob.dtype == np.float32
    assert np.array_equal(prob, expected.predict_proba(z))
    assert np.array_equal(calibrator.predict(tensor(z)), expected.predict(z))


def test_metrics_and_comparison_take_tensors(tensor, arrays):
    z, y = arrays
    prob = CALIBRATORS["uncalibrated"]().fit(z, y).predict_proba(z)
    assert metrics.expected_calibration_error(
        tensor(y), tensor(prob)
    ) == metrics.expected_calibration_error(y, prob)
    settings = {"methods": ["uncalibrated", "temperature"], "cv": 2}
    one = compare_calibrators(tensor(z), tensor(y), **settings)
    assert np.array_equal(one.values, compare_calibrators(z, y, **settings).values)

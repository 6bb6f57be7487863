"""Losses of logits: values by definition, gradients by differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_smart._numerics.losses import (
    MMCE,
    LabelSmoothing,
    Potential,
    WeightedCrossEntropy,
    brier_score,
    cross_entropy,
)
from sklearn_smart._numerics.uncertainty_weights import (
    BrierWeight,
    CrossEntropyWeight,
    DualFocalWeight,
    FocalWeight,
    SampleDependentFocalWeight,
    TopLabelBrierWeight,
)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mmce_by_definition(p, y, w):
    c, a = p.max(axis=1), p.argmax(axis=1) == y
    total = sum(
        w[i] * w[j] * (c[i] - a[i]) * (c[j] - a[j]) * np.exp(-abs(c[i] - c[j]) / 0.4)
        for i in range(len(y))
        for j in range(len(y))
    )
    return np.sqrt(total)


LOSSES = {
    "cross-entropy": (
        cross_entropy,
        lambda p, y, w: w @ -np.log(p[np.arange(len(y)), y]),
    ),
    "Brier score": (
        brier_score,
        lambda p, y, w: w @ ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1),
    ),
    "label smoothing": (
        LabelSmoothing(0.05),
        lambda p, y, w: (
            -(
                w
                @ ((0.95 * np.eye(p.shape[1])[y] + 0.05 / p.shape[1]) * np.log(p)).sum(
                    axis=1
                )
            )
        ),
    ),
    "MMCE": (
        MMCE(2.0),
        lambda p, y, w: (
            w @ -np.log(p[np.arange(len(y)), y]) + 2 * mmce_by_definition(p, y, w)
        ),
    ),
    "focal loss": (
        WeightedCrossEntropy(FocalWeight(2.0)),
        lambda p, y, w: (
            w @ -((1 - p[np.arange(len(y)), y]) ** 2 * np.log(p[np.arange(len(y)), y]))
        ),
    ),
    "BSCE": (
        WeightedCrossEntropy(BrierWeight(2.0)),
        lambda p, y, w: (
            w
            @ -(
                ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)
                * np.log(p[np.arange(len(y)), y])
            )
        ),
    ),
}
OTHERS = [
    WeightedCrossEntropy(CrossEntropyWeight()),
    WeightedCrossEntropy(SampleDependentFocalWeight()),
    WeightedCrossEntropy(DualFocalWeight()),
    WeightedCrossEntropy(TopLabelBrierWeight(2.0)),
    WeightedCrossEntropy(BrierWeight(0.5, norm=1.5)),
    WeightedCrossEntropy(BrierWeight(4.0, norm=np.inf)),
    Potential(FocalWeight(2.0), ((1.0, 1.0, 2.0),)),
]
ALL = [loss for loss, _ in LOSSES.values()] + OTHERS


def name_of(loss):
    return getattr(loss, "__name__", str(loss))


def sample(n_classes, n=25):
    rng = np.random.default_rng(n_classes)
    logits = 2 * rng.normal(size=(n, n_classes))
    return logits, rng.integers(n_classes, size=n), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("name", LOSSES)
def test_value_by_definition(name, n_classes):
    loss, definition = LOSSES[name]
    logits, y, w = sample(n_classes)
    value, _ = loss(logits, y, w)
    assert_allclose(value, definition(softmax(logits), y, w), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("loss", ALL, ids=name_of)
def test_gradient_by_differences(loss, n_classes):
    logits, y, w = sample(n_classes)
    _, gradient = loss(logits, y, w)
    assert_allclose(gradient.sum(axis=1), 0, atol=1e-13)
    numeric, h = np.empty_like(logits), 1e-6
    for i, k in np.ndindex(logits.shape):
        ahead, behind = logits.copy(), logits.copy()
        ahead[i, k] += h
        behind[i, k] -= h
        numeric[i, k] = (loss(ahead, y, w)[0] - loss(behind, y, w)[0]) / (2 * h)
    assert_allclose(gradient, numeric, atol=1e-7)


@pytest.mark.parametrize("loss", ALL, ids=name_of)
def test_weights_are_frequencies(loss):
    logits, y, _ = sample(3)
    repeats = np.random.default_rng(0).integers(1, 4, size=len(y))
    value, gradient = loss(logits, y, repeats.astype(float))
    again, rows = loss(
        *(np.repeat(a, repeats, axis=0) for a in (logits, y)), np.ones(repeats.sum())
    )
    assert_allclose(value, again, rtol=1e-12)
    total = np.zeros_like(logits)
    np.add.at(total, np.repeat(np.arange(len(y)), repeats), rows)
    assert_allclose(gradient, total, atol=1e-12)


@pytest.mark.parametrize("loss", ALL, ids=name_of)
def test_certain_rows_are_finite(loss):
    logits = np.array([[900.0, 0.0, 0.0], [0.0, 900.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        value, gradient = loss(logits, np.array([0, 0]), np.ones(2))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert_allclose(gradient[0], 0, atol=0.05)


def test_mmce_without_error_is_cross_entropy():
    logits, y = np.array([[2000.0, 0.0]]), np.array([0])
    assert MMCE()(logits, y, np.ones(1))[0] == cross_entropy(logits, y, np.ones(1))[0]


@pytest.mark.parametrize("loss", [brier_score, WeightedCrossEntropy(BrierWeight())])
def test_float32_stays(loss):
    logits, y, w = sample(3)
    _, gradient = loss(logits.astype(np.float32), y, w.astype(np.float32))
    assert gradient.dtype == np.float32

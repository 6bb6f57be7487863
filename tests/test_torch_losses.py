"""The PyTorch loss against the numerics floor."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_smart import torch_losses
from sklearn_smart._numerics.fields import WeightedField
from sklearn_smart._numerics.losses import WeightedCrossEntropy
from sklearn_smart._numerics.uncertainty_weights import uncertainty_weight

torch = pytest.importorskip("torch", reason="needs the 'torch' extra")

CASES = [
    ("brier", 2.0, 2.0),
    ("brier", 0.5, 1.5),
    ("brier", 4.0, 1.0),
    ("brier", 2.0, np.inf),
    ("brier", 0.0, 2.0),
    ("focal", 3.0, 2.0),
    ("flsd53", 2.0, 2.0),
    ("dual_focal", 5.0, 2.0),
    ("tlbs", 2.0, 2.0),
    ("cross_entropy", 2.0, 2.0),
]


def sample(n_classes, n=40):
    rng = np.random.default_rng(n_classes)
    return 2 * rng.normal(size=(n, n_classes)), rng.integers(n_classes, size=n)


def gradient_of(loss, logits, y):
    z = torch.tensor(logits, requires_grad=True)
    value = loss(z, torch.tensor(y))
    value.sum().backward()
    return value.detach().numpy(), z.grad.numpy()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize(("name", "gamma", "norm"), CASES)
def test_gradient_is_the_field(name, gamma, norm, n_classes):
    logits, y = sample(n_classes)
    loss = torch_losses.BrierWeightedLoss(name, gamma=gamma, norm=norm, reduction="sum")
    value, gradient = gradient_of(loss, logits, y)
    field = WeightedField(uncertainty_weight(name, gamma, norm))
    number, expected = field.monitored(logits, y, np.ones(len(y)))
    assert_allclose(value, number)
    assert_allclose(gradient, expected, atol=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize(("name", "gamma", "norm"), CASES)
def test_loss_form(name, gamma, norm, n_classes):
    logits, y = sample(n_classes)
    loss = torch_losses.BrierWeightedLoss(
        name, gamma=gamma, norm=norm, gradient_only=False, reduction="sum"
    )
    value, gradient = gradient_of(loss, logits, y)
    reference = WeightedCrossEntropy(uncertainty_weight(name, gamma, norm))
    number, expected = reference(logits, y, np.ones(len(y)))
    assert_allclose(value, number)
    assert_allclose(gradient, expected, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_reduction_and_class_weights_are_those_of_cross_entropy(reduction, weighted):
    logits, y = sample(3)
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    ours = torch_losses.BrierWeightedLoss(gamma=0.0, weight=weight, reduction=reduction)
    theirs = torch.nn.CrossEntropyLoss(weight=weight, reduction=reduction)
    for a, b in zip(
        gradient_of(ours, logits, y), gradient_of(theirs, logits, y), strict=True
    ):
        assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("gradient_only", [True, False])
@pytest.mark.parametrize(("name", "gamma", "norm"), CASES)
def test_certain_rows_are_finite(name, gamma, norm, gradient_only):
    logits = np.array([[1000.0, 0.0, 0.0], [0.0, 1000.0, -1000.0]])
    loss = torch_losses.BrierWeightedLoss(
        name, gamma=gamma, norm=norm, gradient_only=gradient_only, reduction="none"
    )
    value, gradient = gradient_of(loss, logits, np.array([0, 0]))
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert_allclose(gradient[0], 0)
    assert gradient[1, 0] < 0


def test_module_survives_pickle_and_keeps_its_dtype():
    loss = torch_losses.BrierWeightedLoss("focal", gamma=3, weight=[1.0, 2.0, 1.0])
    again = pickle.loads(pickle.dumps(loss))
    logits, y = sample(3)
    z = torch.tensor(logits, dtype=torch.float32)
    value = again(z, torch.tensor(y))
    assert value.dtype == torch.float32
    assert value == loss(z, torch.tensor(y))
    assert "gamma=3" in repr(again)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"uncertainty": "brief"}, "'uncertainty'"),
        ({"gamma": -1}, "'gamma'"),
        ({"norm": 0.5}, "'norm'"),
        ({"reduction": "average"}, "'reduction'"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        torch_losses.BrierWeightedLoss(**parameters)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="are expected"):
        torch_losses.BrierWeightedLoss()(torch.zeros(3, 2), torch.zeros(3, 2))


def test_other_names_do_not_exist():
    assert "BrierWeightedLoss" in dir(torch_losses)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = torch_losses.FocalLoss

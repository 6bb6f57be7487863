from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_smart.metrics import _binned, expected_calibration_error, reliability_table

LOGITS = Path(__file__).parents[3] / "shared" / "logits"


def pair_ece(conf, correct, **options):
    """ECE of pairs (confidence, correct) given as they are."""
    return expected_calibration_error(correct, conf, kind="positive_class", **options)


@pytest.mark.parametrize(
    ("conf", "correct", "options", "expected"),
    [
        ([0.95, 1.0], [1, 0], {"n_bins": 10}, 0.475),
        ([0.6, 0.7, 0.95], [1, 0, 1], {"n_bins": 15}, 0.383333333333),
        (
            [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95],
            [0, 1, 0, 1, 1, 1, 1],
            {"n_bins": 3, "strategy": "quantile"},
            0.185714285714,
        ),
        ([0.9] * 4, [0, 1, 0, 1], {}, 0.4),
        ([0.9] * 4, [0, 1, 0, 1], {"strategy": "quantile"}, 0.4),
        (
            [0.9, 0.9, 0.6],
            [1, 0, 1],
            {"n_bins": 10, "sample_weight": [2, 1, 1]},
            0.275,
        ),
        # Confidence exactly 0 and 1.
        ([1, 1, 1, 1, 0], [0, 0, 1, 1, 1], {"n_bins": 2}, 0.6),
        ([1, 1, 1], [1, 1, 1], {}, 0.0),
        # One sample, and more bins than samples.
        ([0.7], [1], {"n_bins": 50}, 0.3),
        ([0.7], [1], {"n_bins": 50, "strategy": "quantile"}, 0.3),
        ([0.2, 0.7], [1, 1], {"n_bins": 9, "strategy": "quantile"}, 0.55),
    ],
)
def test_values(conf, correct, options, expected):
    assert pair_ece(conf, correct, **options) == pytest.approx(expected, abs=1e-12)


def test_equal_mass_bins_hold_3_2_2():
    table = reliability_table(
        [0, 1, 0, 1, 1, 1, 1],
        [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95],
        n_bins=3,
        strategy="quantile",
        kind="positive_class",
    )
    assert table.weight.tolist() == [3, 2, 2]


@pytest.mark.parametrize("shape", ["1d", "one column", "two columns"])
@pytest.mark.parametrize(("kind", "expected"), [("positive_class", 0.5), (None, 0.15)])
def test_binary_default_is_top_label(shape, kind, expected):
    p = np.array([0.35, 0.65])
    y_prob = {
        "1d": p,
        "one column": p[:, None],
        "two columns": np.column_stack([1 - p, p]),
    }[shape]
    options = {} if kind is None else {"kind": kind}
    ece = expected_calibration_error([0, 0], y_prob, n_bins=10, **options)
    assert ece == pytest.approx(expected, abs=1e-12)
    if kind is None:
        assert ece == expected_calibration_error(
            [0, 0], y_prob, n_bins=10, kind="top_label"
        )


def test_pos_label():
    p = np.array([0.1, 0.8])
    first = expected_calibration_error(
        ["a", "b"], p, kind="positive_class", pos_label="a", n_bins=10
    )
    assert first == pytest.approx(0.15)  # |0.9 - 1| and |0.2 - 0|, halved
    with pytest.raises(ValueError, match="pos_label='c' is not a label"):
        expected_calibration_error(["a", "b"], p, kind="positive_class", pos_label="c")
    with pytest.raises(ValueError, match="needs pos_label"):
        expected_calibration_error([0, 1, 2], np.eye(3), kind="positive_class")


def test_norms():
    # Bins of 10: gaps -0.4 (weight 1), 0.7 (1) and 0.05 (2).
    conf, correct = [0.6, 0.7, 0.55, 0.55], [1, 0, 1, 0]
    assert pair_ece(conf, correct, n_bins=10) == pytest.approx(
        (abs(1.1 + 0.6 - 2) + 0.7) / 4
    )
    gaps = np.array([(0.6 + 1.1 - 2) / 3, 0.7])
    share = np.array([3, 1]) / 4
    assert pair_ece(conf, correct, n_bins=10, norm="l2") == pytest.approx(
        np.sqrt((share * gaps**2).sum())
    )
    assert pair_ece(conf, correct, n_bins=10, norm="max") == pytest.approx(0.7)


def random_problem(seed=0, n=300, k=4):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(k, 0.5), size=n)
    y = rng.random((n, 1)) > np.cumsum(prob**1.5, axis=1) / (prob**1.5).sum(1)[:, None]
    return np.minimum(y.sum(1), k - 1), prob


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_wise_is_the_mean_over_classes(strategy, weighted):
    y, prob = random_problem()
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    options = {"strategy": strategy, "sample_weight": weight, "labels": range(4)}
    each = np.array(
        [
            [
                expected_calibration_error(
                    y, prob, kind="positive_class", pos_label=k, norm=norm, **options
                )
                for k in range(4)
            ]
            for norm in ("l1", "l2", "max")
        ]
    )
    both = [
        expected_calibration_error(y, prob, kind="class_wise", norm=norm, **options)
        for norm in ("l1", "l2", "max")
    ]
    expected = [each[0].mean(), np.sqrt((each[1] ** 2).mean()), each[2].max()]
    np.testing.assert_allclose(both, expected, rtol=1e-12)


def test_class_wise_in_blocks(monkeypatch):
    y, prob = random_problem(k=7)
    whole = expected_calibration_error(y, prob, kind="class_wise", labels=range(7))
    monkeypatch.setattr(_binned, "_BLOCK_SIZE", 2 * len(y) + 1)
    parts = expected_calibration_error(y, prob, kind="class_wise", labels=range(7))
    assert parts == whole


def test_class_wise_binary_one_column_equals_two():
    y, prob = random_problem(k=2)
    one = expected_calibration_error(y, prob[:, 1], kind="class_wise")
    two = expected_calibration_error(y, prob, kind="class_wise")
    assert one == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_edges_in_the_dtype_of_the_values(dtype):
    conf = (np.arange(1, 11) / 10).astype(dtype)
    table = reliability_table(
        np.ones(10, int), conf, n_bins=10, kind="positive_class", labels=[0, 1]
    )
    assert table.weight.tolist() == [1] * 10


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("kind", ["top_label", "class_wise"])
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_invariances(strategy, kind, seed, n):
    rng = np.random.default_rng(seed)
    # Few distinct values: ties on edges and across quantiles.
    prob = rng.integers(0, 5, size=(n, 3)) + 1.0
    prob /= prob.sum(axis=1, keepdims=True)
    y = rng.integers(0, 3, n)
    weight = rng.integers(0, 4, n)
    weight[0] = 1
    options = {"strategy": strategy, "kind": kind, "labels": [0, 1, 2], "n_bins": 7}
    for norm in ("l1", "l2", "max"):
        options["norm"] = norm
        value = expected_calibration_error(y, prob, sample_weight=weight, **options)
        repeated = expected_calibration_error(
            y.repeat(weight), prob.repeat(weight, axis=0), **options
        )
        assert value == pytest.approx(repeated, abs=1e-12)
        order = rng.permutation(n)
        permuted = expected_calibration_error(
            y[order], prob[order], sample_weight=weight[order], **options
        )
        assert value == pytest.approx(permuted, abs=1e-12)
        scaled = expected_calibration_error(
            y, prob, sample_weight=weight * 0.3, **options
        )
        assert value == pytest.approx(scaled, abs=1e-12)
        assert 0 <= value <= 1


def test_scalar_weight():
    y, prob = random_problem()
    plain = expected_calibration_error(y, prob, labels=range(4))
    assert expected_calibration_error(
        y, prob, labels=range(4), sample_weight=3
    ) == pytest.approx(plain, abs=1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {"n_bins": 0},
        {"n_bins": 2.5},
        {"n_bins": True},
        {"strategy": "equal"},
        {"norm": "l3"},
        {"norm": 1},
        {"kind": "binary"},
    ],
)
def test_parameter_errors(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"The '{name}' parameter must be"):
        expected_calibration_error([0, 1], [0.2, 0.7], **options)


@pytest.mark.skipif(not LOGITS.exists(), reason="../shared is absent")
def test_cifar10_resnet50_focal():
    data = np.load(LOGITS / "cifar10_resnet50_focal.npz")
    logits = data["test_logits"].astype(float)
    prob = np.exp(logits - logits.max(axis=1, keepdims=True))
    prob /= prob.sum(axis=1, keepdims=True)
    ece = expected_calibration_error(data["test_labels"], prob, labels=range(10))
    assert ece == pytest.approx(0.0156, abs=5e-5)

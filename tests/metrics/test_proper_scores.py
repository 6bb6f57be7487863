import numpy as np
import pytest
import sklearn.metrics
from scipy.special import xlogy

from sklearn_smart.metrics import brier_score, log_loss


def problem(n_classes, seed=0, n=200):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(n_classes, 0.3), size=n)
    return rng.integers(0, n_classes, n), prob, rng.random(n)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_is_scikit_learns(n_classes, weighted):
    y, prob, weight = problem(n_classes)
    weight = weight if weighted else None
    labels = np.array(list("abcdefghij"))[:n_classes]
    expected = sklearn.metrics.log_loss(
        labels[y], prob, labels=labels, sample_weight=weight
    )
    value = log_loss(labels[y], prob, labels=labels, sample_weight=weight)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_loss_of_certainty_is_clipped_as_in_scikit_learn(dtype):
    y, prob = [0, 1, 1], np.array([[1, 0], [1, 0], [0, 1]], dtype=dtype)
    expected = sklearn.metrics.log_loss(y, prob)
    assert log_loss(y, prob) == pytest.approx(expected, rel=1e-6)
    assert log_loss([1, 1], np.array([1, 1], dtype=dtype)) < 2e-7


@pytest.mark.parametrize("weighted", [False, True])
def test_brier_score_is_scikit_learns_for_two_classes(weighted):
    y, prob, weight = problem(2)
    weight = weight if weighted else None
    expected = sklearn.metrics.brier_score_loss(y, prob[:, 1], sample_weight=weight)
    for p in (prob, prob[:, 1]):
        assert brier_score(y, p, sample_weight=weight) == pytest.approx(
            expected, rel=1e-12
        )


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("scale_by_half", ["auto", True, False])
def test_brier_score_by_its_formula(n_classes, scale_by_half):
    y, prob, weight = problem(n_classes)
    square = ((prob - np.eye(n_classes)[y]) ** 2).sum(axis=1)
    half = {"auto": n_classes == 2}.get(scale_by_half, scale_by_half)
    expected = np.average(square, weights=weight) / (2 if half else 1)
    value = brier_score(y, prob, sample_weight=weight, scale_by_half=scale_by_half)
    assert value == pytest.approx(expected, rel=1e-12)


def test_multiclass_brier_score_is_scikit_learns():
    y, prob, weight = problem(5)
    try:
        expected = sklearn.metrics.brier_score_loss(
            y, prob, sample_weight=weight, labels=range(5)
        )
    except (TypeError, ValueError):
        pytest.skip("needs scikit-learn >= 1.7")
    assert brier_score(y, prob, sample_weight=weight) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_true_probabilities_are_best(score):
    # Expected score of a forecast q under the distribution p, by weights.
    p = np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(0)

    def expected(q):
        return score([0, 1, 2], np.tile(q, (3, 1)), sample_weight=p)

    best = expected(p)
    assert all(expected(q) > best for q in rng.dirichlet(np.ones(3), 50))
    if score is log_loss:
        assert best == pytest.approx(-xlogy(p, p).sum())


def test_brier_score_bad_scale():
    with pytest.raises(ValueError, match="'scale_by_half' parameter"):
        brier_score([0, 1], [0.1, 0.9], scale_by_half="no")

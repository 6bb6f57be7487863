"""Affine and mixed calibrators beside other packages, for the same definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_smart import (
    EnsembleTemperatureScaling,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

from .contract import make_scores

REASON = "needs the 'rivals' extra"


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture
def probmetrics():
    return pytest.importorskip("probmetrics.calibrators", reason=REASON)


@pytest.mark.filterwarnings("ignore")  # those of the packages beside ours
@pytest.mark.parametrize("n_classes", [3, 8])
def test_structured_vector_scaling(probmetrics, n_classes):
    """Its penalty is K / n on means, ours alpha on sums: alpha is K.

    Its solver stops where probabilities still change in the fourth digit.
    """
    scores, y = make_scores(n=500, n_classes=n_classes)
    theirs = probmetrics.SVSCalibrator()
    theirs.fit(softmax(scores), y)
    ours = VectorScaling(alpha=n_classes).fit(scores, y)
    expected = theirs.predict_proba(softmax(scores))
    assert_allclose(ours.predict_proba(scores), expected, atol=2e-4)


@pytest.mark.filterwarnings("ignore")
def test_structured_matrix_scaling(probmetrics):
    """With one penalty on all parts: its own is K - 1 times that off the diagonal."""
    scores, y = make_scores(n=500, n_classes=4)
    theirs = probmetrics.SMSCalibrator(
        lambda_off_diagonal=1 / 3,
    )
    theirs.fit(softmax(scores), y)
    ours = MatrixScaling(alpha=4.0).fit(scores, y)
    expected = theirs.predict_proba(softmax(scores))
    assert_allclose(ours.predict_proba(scores), expected, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_temperature_scaling(probmetrics):
    scores, y = make_scores(n=500, n_classes=4)
    theirs = probmetrics.TemperatureScalingCalibrator(
        opt="bisection", max_bisection_steps=60
    )
    theirs.fit(softmax(scores), y)
    ours = TemperatureScaling().fit(scores, y)
    expected = theirs.predict_proba(softmax(scores))
    assert_allclose(ours.predict_proba(scores), expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_ensemble_temperature_scaling(probmetrics):
    """Ours is no worse: the weights of theirs come from a search without gradients."""
    scores, y = make_scores(n=500, n_classes=4)
    theirs = probmetrics.ETSCalibrator()
    theirs.fit(softmax(scores), y)
    at = np.arange(500), y
    loss = -np.log(theirs.predict_proba(softmax(scores))[at]).mean()
    ours = EnsembleTemperatureScaling().fit(scores, y)
    assert ours.loss_ <= loss + 1e-6

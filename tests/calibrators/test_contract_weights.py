"""Contract: weights are frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from .contract import fitted, make_scores, refit_proba, tolerance

SCORES, Y = make_scores()
TIMES = np.random.default_rng(1).integers(1, 4, size=len(Y))


def as_series(weights):
    pandas = pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    return pandas.Series(weights)


@pytest.mark.parametrize("declared", ["logits", "probabilities"])
def test_integer_weights_equal_repetition(calibrator, declared):
    scores = softmax(SCORES, axis=1) if declared == "probabilities" else SCORES
    calibrator.set_params(input=declared)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(Y)), TIMES))
    weighted = refit_proba(calibrator, scores, Y, TIMES)
    repeated = refit_proba(calibrator, scores[rows], Y[rows], at=scores)
    assert_allclose(weighted, repeated, atol=tolerance(calibrator))


def test_weight_two_equals_every_row_twice(calibrator):
    weighted = refit_proba(calibrator, SCORES, Y, 2)
    twice = refit_proba(calibrator, np.tile(SCORES, (2, 1)), np.tile(Y, 2), at=SCORES)
    assert_allclose(weighted, twice, atol=tolerance(calibrator))


@pytest.mark.parametrize("rest", [1.0, TIMES])
def test_weight_zero_equals_removal(calibrator, rest):
    kept = np.random.default_rng(3).random(len(Y)) < 0.7
    weight = np.where(kept, rest, 0.0)
    # What is removed may be as absurd as it likes.
    scores = np.where(kept[:, None], SCORES, 1e3 * SCORES[::-1])
    with_zeros = fitted(calibrator, scores, Y, weight)
    without = fitted(calibrator, SCORES[kept], Y[kept], weight[kept])
    assert_array_equal(with_zeros.predict_proba(SCORES), without.predict_proba(SCORES))
    assert with_zeros.to_dict() == without.to_dict()


def test_a_class_of_weight_zero_is_absent(calibrator):
    weight = (Y != 1).astype(float)
    with pytest.raises(ValueError, match="`classes`"):
        calibrator.fit(SCORES, Y, sample_weight=weight)
    calibrator.set_params(classes=3).fit(SCORES, Y, sample_weight=weight)
    assert np.isfinite(calibrator.predict_proba(SCORES)).all()


def test_weight_one_equals_no_weight(calibrator):
    expected = refit_proba(calibrator, SCORES, Y)
    for weight in (1, 1.0, np.int64(1), np.ones(len(Y)), np.ones(len(Y), np.float32)):
        got = refit_proba(calibrator, SCORES, Y, weight)
        assert_allclose(got, expected, atol=tolerance(calibrator))


def test_a_scalar_stands_for_all(calibrator):
    scalar = refit_proba(calibrator, SCORES, Y, 2.5)
    array = refit_proba(calibrator, SCORES, Y, np.full(len(Y), 2.5))
    assert_array_equal(scalar, array)


@pytest.mark.parametrize("convert", [list, as_series, lambda w: w.astype(np.float32)])
def test_containers_of_weights(calibrator, convert):
    expected = refit_proba(calibrator, SCORES, Y, TIMES)
    assert_array_equal(refit_proba(calibrator, SCORES, Y, convert(TIMES)), expected)


def test_weights_matter(calibrator):
    if (
        calibrator.fit(SCORES, Y).to_dict()
        == fitted(calibrator, SCORES, Y, np.where(Y == 0, 9, 1)).to_dict()
    ):
        # Only what fits nothing may be indifferent to weights.
        assert set(calibrator.to_dict()["fitted"]) <= {
            "classes_",
            "n_features_in_",
            "n_iter_",
        }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e6])
def test_weights_of_any_scale(calibrator, scale):
    probabilities = refit_proba(calibrator, SCORES, Y, scale * TIMES)
    assert np.isfinite(probabilities).all()
    assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.where(Y == 0, -1.0, 1.0), "negative"),
        (-1, "negative"),
        (np.zeros(len(Y)), "zero"),
        (0, "zero"),
        (np.where(Y == 0, np.nan, 1.0), "NaN"),
        (np.where(Y == 0, np.inf, 1.0), "infinity"),
        (np.nan, "NaN"),
        (np.ones(len(Y) - 1), "sample_weight"),
        (np.ones((len(Y), 2)), "sample_weight"),
        (np.ones((len(Y), 1)), "sample_weight"),
        (["a"] * len(Y), "could not convert"),
        ([], "sample_weight|0 sample"),
    ],
)
def test_bad_weights_are_refused(calibrator, bad, message):
    with pytest.raises(ValueError, match=message):
        calibrator.fit(SCORES, Y, sample_weight=bad)

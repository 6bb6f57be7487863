"""Contract: what the outputs promise to each other."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from .contract import CALIBRATOR_INSTANCES, make_scores, name_of

SCORES, Y = make_scores()
NAMES = np.array(["ant", "bee", "cow"])
NEW = make_scores(n=300, seed=7, scale=20.0)[0]
SINGLE_PRECISION = [np.float64, np.float32]


@pytest.mark.parametrize("dtype", SINGLE_PRECISION)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_softmax_of_transform_is_predict_proba(calibrator, n_classes, dtype):
    scores, y = make_scores(n_classes=n_classes, dtype=dtype)
    new = make_scores(n_classes=n_classes, seed=7, dtype=dtype, scale=20.0)[0]
    calibrator.fit(scores, y)
    logits = calibrator.transform(new)
    assert np.isfinite(logits).all()
    eps = np.finfo(dtype).eps
    expected = calibrator.predict_proba(new)
    assert_allclose(softmax(logits, axis=1), expected, atol=20 * n_classes * eps)
    assert (logits <= 4 * eps).all()


@pytest.mark.parametrize("dtype", SINGLE_PRECISION)
def test_log_proba_is_the_logarithm(calibrator, dtype):
    calibrator.fit(SCORES.astype(dtype), Y)
    scores = NEW.astype(dtype)
    with np.errstate(divide="ignore"):
        expected = np.log(calibrator.predict_proba(scores))
    got = calibrator.predict_log_proba(scores)
    assert not np.isnan(got).any()
    eps = np.finfo(dtype).eps
    large = expected > -80
    assert_allclose(got[large], expected[large], rtol=100 * eps, atol=20 * eps)


@pytest.mark.parametrize("dtype", SINGLE_PRECISION)
def test_predict_is_the_first_class_of_largest_probability(calibrator, dtype):
    calibrator.fit(SCORES.astype(dtype), NAMES[Y])
    scores = np.rint(NEW / 10).astype(dtype)  # with ties
    probabilities = calibrator.predict_proba(scores)
    assert_array_equal(calibrator.predict(scores), NAMES[probabilities.argmax(axis=1)])
    if calibrator.preserves_prediction:
        at = scores.argmax(axis=1)
        assert_array_equal(probabilities.argmax(axis=1), at)
        assert_array_equal(calibrator.transform(scores).argmax(axis=1), at)


@pytest.mark.holds_for(lambda calibrator: calibrator.preserves_prediction)
@pytest.mark.parametrize("declared", ["logits", "probabilities"])
@pytest.mark.parametrize("dtype", SINGLE_PRECISION)
def test_predicted_class_survives_rounding(calibrator, dtype, declared):
    rng = np.random.default_rng(0)
    if declared == "logits":
        # High temperatures and tiny margins.
        scores, y = make_scores(n=200, dtype=dtype, scale=3000.0)
        new = (rng.normal(size=(500, 1)) + 1e-4 * rng.random((500, 3))).astype(dtype)
    else:
        scores = softmax(SCORES, axis=1).astype(dtype)
        y = Y
        new = np.full((500, 3), 1 / 3) + 1e-7 * (rng.random((500, 3)) - 0.5)
        new = new.astype(dtype)
    calibrator.set_params(input=declared).fit(scores, y)
    at = new.argmax(axis=1)
    assert_array_equal(calibrator.predict_proba(new).argmax(axis=1), at)
    assert_array_equal(calibrator.predict(new), at)
    assert_array_equal(calibrator.transform(new).argmax(axis=1), at)


@cache
def fitted_once(name):
    """The fitted instance of that name, for all the examples of a property."""
    instance = next(c for c in CALIBRATOR_INSTANCES if name_of(c) == name)
    return clone(instance).fit(SCORES, Y)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)))
def test_any_scores_give_a_distribution(calibrator, scores):
    calibrator = fitted_once(name_of(calibrator))
    if (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) < 1e-2).all():
        scores = scores + 2.0
    probabilities = calibrator.predict_proba(scores)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    logits = calibrator.transform(scores)
    assert np.isfinite(logits).all()
    assert_allclose(softmax(logits, axis=1), probabilities, atol=1e-13)
    if calibrator.preserves_prediction:
        assert_array_equal(probabilities.argmax(axis=1), scores.argmax(axis=1))


def test_columns_are_named_by_the_classes(calibrator):
    calibrator.fit(SCORES, NAMES[Y])
    names = calibrator.get_feature_names_out()
    assert names.dtype == object
    assert names.tolist() == NAMES.tolist()
    assert calibrator.get_feature_names_out(["x", "y", "z"]).tolist() == names.tolist()


def test_set_output_pandas(calibrator):
    pd = pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    frame = pd.DataFrame(SCORES, columns=["a", "b", "c"], index=np.arange(len(Y)) + 5)
    calibrator.set_output(transform="pandas").fit(frame, NAMES[Y])
    logits = calibrator.transform(frame)
    assert isinstance(logits, pd.DataFrame)
    assert logits.columns.tolist() == NAMES.tolist()
    assert_array_equal(logits.index, frame.index)
    plain = clone(calibrator).set_output(transform="default").fit(frame, NAMES[Y])
    assert_array_equal(logits.to_numpy(), plain.transform(frame))
    assert isinstance(calibrator.predict_proba(frame), np.ndarray)


def assert_composed(first, last, output):
    pipeline = make_pipeline(first, clone(last)).set_output(transform=output)
    pipeline.fit(SCORES, NAMES[Y])
    probabilities = pipeline.predict_proba(SCORES)
    by_hand = clone(last).fit(first.transform(SCORES), NAMES[Y])
    expected = by_hand.predict_proba(first.transform(SCORES))
    assert_allclose(probabilities, expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(pipeline.classes_, NAMES)
    logits = np.asarray(pipeline.transform(SCORES))
    assert_allclose(softmax(logits, axis=1), probabilities, atol=1e-12)


# The head of a pair only hands logits on: half of the instances stand for all.
@pytest.mark.parametrize("last", CALIBRATOR_INSTANCES[::2], ids=name_of)
def test_calibrators_compose_in_a_pipeline(calibrator, last):
    assert_composed(calibrator, last, "default")


def test_calibrators_compose_as_frames(calibrator):
    pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    assert_composed(calibrator, CALIBRATOR_INSTANCES[1], "pandas")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_pipeline_takes_probabilities_at_its_head_only(calibrator, n_classes):
    scores, y = make_scores(n_classes=n_classes)
    p = softmax(scores, axis=1)
    if n_classes == 2:
        p = p[:, 1]
    pipeline = make_pipeline(calibrator.set_params(input="probabilities"))
    for second in CALIBRATOR_INSTANCES[:2]:
        pipeline = make_pipeline(clone(calibrator), clone(second)).fit(p, y)
        assert pipeline.predict_proba(p).shape == (len(y), n_classes)


def test_weights_reach_every_step_of_a_pipeline(calibrator):
    weight = np.where(Y == 0, 3, 1)
    pipeline = make_pipeline(calibrator, clone(calibrator))
    first, second = (name for name, _ in pipeline.steps)
    pipeline.fit(
        SCORES,
        Y,
        **{f"{first}__sample_weight": weight, f"{second}__sample_weight": weight},
    )
    one = clone(calibrator).fit(SCORES, Y, sample_weight=weight)
    two = clone(calibrator).fit(one.transform(SCORES), Y, sample_weight=weight)
    assert_allclose(
        pipeline.predict_proba(SCORES),
        two.predict_proba(one.transform(SCORES)),
        rtol=1e-9,
        atol=1e-12,
    )


def test_fit_transform_is_fit_then_transform(calibrator):
    expected = clone(calibrator).fit(SCORES, Y).transform(SCORES)
    assert_array_equal(calibrator.fit_transform(SCORES, Y), expected)


def test_score_is_the_accuracy(calibrator):
    calibrator.fit(SCORES, Y)
    accuracy = np.mean(calibrator.predict(SCORES) == Y)
    assert calibrator.score(SCORES, Y) == pytest.approx(accuracy)


def test_calibration_set_loses_nothing_but_noise(calibrator):
    """On its own calibration set no method is much worse than the raw scores."""
    at = np.arange(len(Y))
    raw = -np.log(softmax(SCORES, axis=1)[at, Y]).mean()
    loss = -np.log(calibrator.fit(SCORES, Y).predict_proba(SCORES)[at, Y]).mean()
    assert loss <= raw + 1e-9

"""Objectives of XGBoost and LightGBM against the numerics floor, and in use."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

from sklearn_smart import SMARTCalibrator
from sklearn_smart._numerics.fields import WeightedField
from sklearn_smart._numerics.uncertainty_weights import uncertainty_weight
from sklearn_smart.boosting_objectives import BrierWeightedObjective, raw_scores

NEEDS = "needs the 'boosting' extra"
WEIGHTS = ["brier", "focal", "flsd53", "dual_focal", "tlbs", "cross_entropy"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", WEIGHTS)
def test_gradient_is_the_field_and_the_hessian_positive(name, n_classes):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, n_classes))
    y, weight = rng.integers(n_classes, size=50), rng.uniform(0.5, 2, size=50)
    objective = BrierWeightedObjective(name, gamma=2.0)
    field = WeightedField(uncertainty_weight(name, 2.0, 2.0))(scores, y, weight).value
    if n_classes == 2:
        scores, field = scores[:, 1] - scores[:, 0], field[:, 1]
    gradient, hessian = objective(y.astype(np.float32), scores, weight)
    assert_allclose(gradient, field, atol=1e-15)
    assert gradient.shape == hessian.shape == scores.shape
    assert (hessian > 0).all()


def test_gamma_zero_is_cross_entropy():
    gradient, hessian = BrierWeightedObjective(gamma=0)([1, 0], [0.3, 0.3])
    p = 1 / (1 + np.exp(-0.3))
    assert_allclose(gradient, [p - 1, p])
    assert_allclose(hessian, p * (1 - p))


def test_certain_scores():
    gradient, hessian = BrierWeightedObjective()([1, 0], [1000.0, 1000.0])
    assert_allclose(gradient, [0, 2])
    assert (hessian > 0).all()


@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        ([0, 1], [0.0], "one label"),
        ([0, 3], [[0.0, 1.0, 2.0]] * 2, "labels from 0 to 3"),
        ([-1, 1], [0.0, 0.0], "labels from -1"),
    ],
)
def test_wrong_data(y, scores, message):
    with pytest.raises(ValueError, match=message):
        BrierWeightedObjective()(y, scores)


@pytest.mark.parametrize(
    "parameters", [{"weight": "brief"}, {"gamma": -1}, {"norm": 0.9}]
)
def test_wrong_parameters(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))!r} parameter"):
        BrierWeightedObjective(**parameters)([0], [0.0])


def test_objective_survives_pickle_and_copy():
    objective = BrierWeightedObjective("focal", gamma=3)
    for again in (copy.deepcopy(objective), pickle.loads(pickle.dumps(objective))):
        assert_array_equal(again([0], [0.2]), objective([0], [0.2]))
        assert repr(again) == "BrierWeightedObjective('focal', gamma=3, norm=2.0)"


def booster(library, **parameters):
    if library == "xgboost":
        xgboost = pytest.importorskip("xgboost", reason=NEEDS)
        return xgboost.XGBClassifier(
            n_estimators=30, max_depth=3, n_jobs=1, min_child_weight=1e-3, **parameters
        )
    lightgbm = pytest.importorskip("lightgbm", reason=NEEDS)
    return lightgbm.LGBMClassifier(
        n_estimators=30,
        num_leaves=8,
        n_jobs=1,
        verbose=-1,
        random_state=0,
        deterministic=True,
        **parameters,
    )


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_boosters_learn_and_calibrators_take_their_scores(library, load):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    model = booster(library, objective=BrierWeightedObjective(gamma=1.0))
    model.fit(X[::2], y[::2], sample_weight=weight[::2])
    scores = raw_scores(model, X[1::2])
    n_classes = len(np.unique(y))
    assert scores.shape == ((len(y) // 2,) if n_classes == 2 else (len(y) // 2, 3))
    calibrator = SMARTCalibrator(alpha=0.3).fit(scores, y[1::2])
    assert log_loss(y[1::2], calibrator.predict_proba(scores)) < 0.25


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_gamma_zero_boosts_as_the_library_does(library, load):
    X, y = load(return_X_y=True)
    plain = {"xgboost": {"base_score": 0.5}, "lightgbm": {"boost_from_average": False}}
    start = plain[library]
    ours = booster(library, objective=BrierWeightedObjective(gamma=0.0), **start)
    theirs = booster(library, **start)
    scores = [raw_scores(model.fit(X, y), X) for model in (ours, theirs)]
    if library == "lightgbm" and load is load_iris:
        # Its hessian with three classes is 3 / 4 of ours: shorter steps.
        top = [score.argmax(axis=1) for score in scores]
        assert (top[0] == top[1]).mean() > 0.98
    else:
        assert_allclose(*scores, atol=1e-3)


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="not a dict"):
        raw_scores({}, [[0.0]])

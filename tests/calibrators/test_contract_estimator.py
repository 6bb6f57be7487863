"""Contract: calibrators are scikit-learn estimators, small, plain and repeatable."""

import inspect
import json
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

from sklearn_smart import SMARTCalibrator, TemperatureScaling
from sklearn_smart.calibrators import CALIBRATORS, BaseCalibrator

from .contract import fitted, keeps_thresholds, make_scores, name_of

SCORES, Y = make_scores()
NAMES = np.array(["ant", "bee", "cow"])
METHODS = ("predict", "predict_proba", "predict_log_proba", "transform")

# The checks of scikit-learn that do not make features of their own, of which an
# estimator of scores could make nothing.
SKLEARN_CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimators_unfitted",
    "check_estimator_get_tags_default_keys",
]


@pytest.mark.parametrize(
    # Not every version of scikit-learn has all of them.
    "check",
    [check for check in SKLEARN_CHECKS if hasattr(estimator_checks, check)],
)
def test_checks_of_scikit_learn(calibrator, check):
    getattr(estimator_checks, check)(type(calibrator).__name__, calibrator)


def test_fit_returns_self_and_leaves_parameters(calibrator):
    before = calibrator.get_params()
    assert calibrator.fit(SCORES, Y) is calibrator
    assert calibrator.get_params() == before


def test_parameters_are_keywords_kept_as_given(calibrator):
    signature = inspect.signature(type(calibrator).__init__)
    # As in scikit-learn's searches, the grid may go without its name.
    kinds = {
        parameter.kind
        for name, parameter in signature.parameters.items()
        if name not in ("self", "param_grid")
    }
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert {"input", "classes"} <= set(signature.parameters)


@pytest.mark.parametrize("bad", ["scores", "", None, 3, ["logits"]])
def test_input_must_be_one_of_its_options(calibrator, bad):
    calibrator.set_params(input=bad)
    with pytest.raises(ValueError, match="The 'input' parameter of"):
        calibrator.fit(SCORES, Y)


def test_a_bad_parameter_is_refused_before_any_work(calibrator):
    calibrator.set_params(input="scores")
    with pytest.raises(ValueError, match="'input'"):
        calibrator.fit(object(), object())


@pytest.mark.parametrize("method", [*METHODS, "get_feature_names_out", "to_dict"])
def test_not_fitted(calibrator, method):
    arguments = [SCORES] if method in METHODS else []
    with pytest.raises(NotFittedError):
        getattr(calibrator, method)(*arguments)
    with pytest.raises(NotFittedError):
        check_is_fitted(calibrator)


def test_documented_attributes_are_the_fitted_ones(calibrator):
    lines = inspect.getdoc(type(calibrator)).splitlines()
    first = lines.index("Attributes") + 2
    last = lines.index("", first) if "" in lines[first:] else len(lines)
    section = lines[first:last]
    names = [re.match(r"(\w[\w, ]*) : ", line) for line in section]
    documented = {n for match in names if match for n in match[1].split(", ")}
    calibrator.fit(SCORES, Y)
    found = {name for name in vars(calibrator) if name.endswith("_")}
    assert found <= documented
    # The others are properties, and the names that only a frame has.
    rest = documented - found - {"feature_names_in_"}
    assert all(isinstance(getattr(type(calibrator), n), property) for n in rest), rest


def test_fitted_state_is_what_check_is_fitted_sees(calibrator):
    parameters = set(calibrator.get_params())
    calibrator.fit(SCORES, Y)
    extra = set(vars(calibrator)) - parameters
    assert all(name.endswith("_") for name in extra), extra


def test_fit_forgets_earlier_fits(calibrator):
    other, y_other = make_scores(n=90, n_classes=4, seed=5)
    once = fitted(calibrator, SCORES, NAMES[Y])
    calibrator.fit(other, y_other).fit(SCORES, NAMES[Y])
    assert calibrator.to_dict() == once.to_dict()


def test_same_data_same_result(calibrator):
    first = fitted(calibrator, SCORES, Y).to_dict()
    assert fitted(calibrator, SCORES, Y).to_dict() == first


def test_global_random_state_is_neither_used_nor_changed(calibrator):
    state = np.random.get_state()  # noqa: NPY002
    first = fitted(calibrator, SCORES, Y)
    first.predict_proba(SCORES)
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(state[1], after[1])
    assert state[2] == after[2]


def test_pickle(calibrator):
    calibrator.fit(SCORES, NAMES[Y])
    restored = pickle.loads(pickle.dumps(calibrator))
    assert_array_equal(restored.predict_proba(SCORES), calibrator.predict_proba(SCORES))
    assert_array_equal(restored.predict(SCORES), calibrator.predict(SCORES))


def test_fitted_calibrators_are_small(calibrator):
    scores, y = make_scores(n=3000)
    calibrator.fit(np.round(scores, 1), y)
    assert len(pickle.dumps(calibrator)) < 20_000 * keeps_thresholds(calibrator)


def test_clone_forgets_the_fit(calibrator):
    calibrator.fit(SCORES, Y)
    copy = clone(calibrator)
    assert copy.get_params() == calibrator.get_params()
    assert not hasattr(copy, "classes_")


@pytest.mark.parametrize("names", [[0, 1, 2], ["ant", "bee", "cow"], [-1.0, 0.0, 2.0]])
@pytest.mark.parametrize("given", [False, True])
def test_json_round_trip(calibrator, names, given):
    names = np.array(names)
    if given:
        calibrator.set_params(classes=names[::-1])
    calibrator.fit(SCORES, names[Y])
    text = json.dumps(calibrator.to_dict(), allow_nan=False)
    for cls in (type(calibrator), BaseCalibrator):
        restored = cls.from_dict(json.loads(text))
        assert type(restored) is type(calibrator)
        assert_array_equal(restored.classes_, calibrator.classes_)
        for method in METHODS:
            assert_array_equal(
                getattr(restored, method)(SCORES), getattr(calibrator, method)(SCORES)
            )
        assert restored.to_dict() == calibrator.to_dict()
        assert restored.n_features_in_ == 3


def test_json_of_bools_and_of_log_odds(calibrator):
    scores, y = make_scores(n_classes=2)
    log_odds = scores[:, 1] - scores[:, 0]
    calibrator.fit(log_odds, y.astype(bool))
    restored = BaseCalibrator.from_dict(json.loads(json.dumps(calibrator.to_dict())))
    assert restored.classes_.dtype == bool
    assert_array_equal(
        restored.predict_proba(log_odds), calibrator.predict_proba(log_odds)
    )


def test_json_keeps_names_of_columns(calibrator):
    pd = pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    frame = pd.DataFrame(SCORES, columns=["a", "b", "c"])
    calibrator.fit(frame, Y)
    restored = BaseCalibrator.from_dict(json.loads(json.dumps(calibrator.to_dict())))
    assert_array_equal(restored.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match="feature names"):
        restored.predict_proba(frame[["c", "b", "a"]])


def test_json_has_no_callers_data(calibrator):
    scores, y = make_scores(n=2000)
    text = json.dumps(calibrator.fit(np.round(scores, 1), y).to_dict())
    assert len(text) < 50_000 * keeps_thresholds(calibrator)


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: None,
        lambda s: [],
        lambda s: {},
        lambda s: {**s, "format": "else"},
        lambda s: {**s, "format_version": 99},
        lambda s: {**s, "class": "Pipeline"},
        lambda s: {**s, "class": "CALIBRATORS"},
        lambda s: {**s, "class": None},
        lambda s: {**s, "parameters": {"unknown": 1}},
        lambda s: {**s, "parameters": None},
        lambda s: {**s, "fitted": {}},
        lambda s: {**s, "fitted": {"predict": 1, **s["fitted"]}},
        lambda s: {**s, "parameters": {**s["parameters"], "input": "else"}},
        lambda s: {k: v for k, v in s.items() if k != "fitted"},
    ],
)
def test_damaged_state_is_refused(calibrator, damage):
    state = calibrator.fit(SCORES, Y).to_dict()
    with pytest.raises(ValueError, match="saved calibrator|format_version"):
        BaseCalibrator.from_dict(damage(state))


@pytest.mark.parametrize(
    "damage",
    [
        {"coefs_": None},
        {"coefs_": []},
        {"intercepts_": 1},
        {"margin_mean_": float("nan")},
        {"margin_scale_": "one"},
        {"margin_scale_": 0.0},
    ],
    ids=str,
)
def test_damaged_values_are_refused(damage):
    state = SMARTCalibrator().fit(SCORES, Y).to_dict()
    state["fitted"].update(damage)
    with pytest.raises(ValueError, match="saved calibrator is damaged"):
        BaseCalibrator.from_dict(state)


def test_missing_values_and_unknown_options_are_refused():
    state = SMARTCalibrator().fit(SCORES, Y).to_dict()
    unknown = {**state, "parameters": {**state["parameters"], "signal": "else"}}
    with pytest.raises(ValueError, match="damaged.*'signal' parameter"):
        BaseCalibrator.from_dict(unknown)
    del state["fitted"]["coefs_"]
    with pytest.raises(ValueError, match="damaged.*coefs_"):
        BaseCalibrator.from_dict(state)


def test_state_of_another_class_is_refused(calibrator):
    state = calibrator.fit(SCORES, Y).to_dict()
    other = (
        SMARTCalibrator
        if isinstance(calibrator, TemperatureScaling)
        else TemperatureScaling
    )
    with pytest.raises(ValueError, match=type(calibrator).__name__):
        other.from_dict(state)


def test_html_representation(calibrator):
    assert type(calibrator).__name__ in calibrator._repr_html_()
    assert type(calibrator).__name__ in calibrator.fit(SCORES, Y)._repr_html_()
    assert name_of(calibrator).startswith(type(calibrator).__name__)


def test_tags(calibrator):
    tags = get_tags(calibrator)
    assert is_classifier(calibrator)
    assert tags.estimator_type == "classifier"
    assert tags.transformer_tags is not None
    assert tags.target_tags.required
    assert not tags.input_tags.allow_nan
    assert not tags.input_tags.sparse


def test_sample_weight_can_be_requested(calibrator):
    with config_context(enable_metadata_routing=True):
        calibrator.set_fit_request(sample_weight=True)
        routed = calibrator.get_metadata_routing()
    assert routed.fit.requests["sample_weight"] is True


def test_inside_grid_search_and_cross_validation(calibrator):
    search = GridSearchCV(
        calibrator, {"classes": [None, 3]}, cv=3, scoring="neg_log_loss"
    )
    search.fit(SCORES, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    out = cross_val_predict(calibrator, SCORES, Y, cv=3, method="predict_proba")
    assert np.isfinite(out).all()


def test_every_named_calibrator_is_in_the_contract():
    from .contract import CALIBRATOR_INSTANCES

    kinds = {type(instance) for instance in CALIBRATOR_INSTANCES}
    assert set(CALIBRATORS.values()) <= kinds

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer as sklearn_get_scorer
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_smart.metrics import (
    SCORERS,
    CalibrationScorer,
    expected_calibration_error,
    get_scorer,
    log_loss,
)

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(scope="module")
def model():
    return LogisticRegression(max_iter=1000).fit(X, NAMES[Y])


@pytest.mark.parametrize("name", SCORERS)
def test_value(name, model):
    scorer = get_scorer(name)
    expected = scorer.metric(
        NAMES[Y], model.predict_proba(X), labels=NAMES, **scorer.options
    )
    assert scorer(model, X, NAMES[Y]) == pytest.approx(-expected, abs=1e-14)
    assert SCORERS[name](model, X, NAMES[Y]) == pytest.approx(-expected, abs=1e-14)


@pytest.mark.parametrize("name", SCORERS)
def test_weights(name, model):
    scorer = get_scorer(name)
    weight = np.arange(len(Y)) % 3
    repeated = scorer(model, X.repeat(weight, axis=0), NAMES[Y].repeat(weight))
    assert scorer(model, X, NAMES[Y], sample_weight=weight) == pytest.approx(
        repeated, abs=1e-12
    )
    with pytest.raises(ValueError, match="negative"):
        scorer(model, X, NAMES[Y], sample_weight=-np.ones(len(Y)))


@pytest.mark.parametrize("name", SCORERS)
def test_a_fold_without_a_class(name, model):
    scorer = get_scorer(name)
    part = Y != 1
    expected = scorer.metric(
        NAMES[Y][part], model.predict_proba(X[part]), labels=NAMES, **scorer.options
    )
    assert scorer(model, X[part], NAMES[Y][part]) == pytest.approx(-expected, abs=1e-14)


def test_a_class_that_training_lacked():
    part = Y != 1
    model = LogisticRegression(max_iter=1000).fit(X[part], NAMES[Y][part])
    prob = model.predict_proba(X)
    full = np.column_stack([prob[:, 0], np.zeros(len(Y)), prob[:, 1]])
    for name in SCORERS:
        scorer = get_scorer(name)
        expected = scorer.metric(NAMES[Y], full, labels=NAMES, **scorer.options)
        assert scorer(model, X, NAMES[Y]) == pytest.approx(-expected, abs=1e-14)


def test_a_model_of_one_class():
    model = DummyClassifier().fit(X[:5], NAMES[Y][:5])
    for name in SCORERS:
        assert get_scorer(name)(model, X[:5], NAMES[Y][:5]) == pytest.approx(
            0,
            abs=2e-3,  # kernels and smoothing keep a little
        )
    ece = get_scorer("neg_expected_calibration_error")
    assert ece(model, X, NAMES[Y]) == pytest.approx(-2 / 3)


def test_agrees_with_scikit_learn(model):
    assert get_scorer("neg_log_loss")(model, X, NAMES[Y]) == pytest.approx(
        sklearn_get_scorer("neg_log_loss")(model, X, NAMES[Y]), rel=1e-12
    )


def test_the_registry_of_scikit_learn_is_untouched():
    assert "neg_expected_calibration_error" not in get_scorer_names()


def test_options(model):
    scorer = get_scorer("neg_expected_calibration_error", n_bins=3, norm="max")
    expected = expected_calibration_error(
        NAMES[Y], model.predict_proba(X), n_bins=3, norm="max"
    )
    assert scorer(model, X, NAMES[Y]) == -expected
    scorer = get_scorer(
        "neg_expected_calibration_error", kind="positive_class", pos_label="virginica"
    )
    expected = expected_calibration_error(
        Y == 2, model.predict_proba(X)[:, 2], kind="positive_class"
    )
    assert scorer(model, X, NAMES[Y]) == pytest.approx(-expected, abs=1e-14)


def test_errors(model):
    with pytest.raises(ValueError, match="is not a scorer"):
        get_scorer("expected_calibration_error")
    with pytest.raises(ValueError, match="no option"):
        get_scorer("neg_expected_calibration_error", bins=3)
    with pytest.raises(ValueError, match="no option"):
        get_scorer("neg_expected_calibration_error", labels=[0, 1])
    with pytest.raises(ValueError, match="'sign' parameter"):
        CalibrationScorer(log_loss, 2)
    with pytest.raises(AttributeError, match="no predict_proba"):
        get_scorer("neg_log_loss")(LinearSVC().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="same number of rows"):
        get_scorer("neg_log_loss")(model, X, Y[:-1])
    scorer = get_scorer(
        "neg_expected_calibration_error", kind="positive_class", pos_label="rose"
    )
    with pytest.raises(ValueError, match="pos_label='rose'"):
        scorer(model, X, NAMES[Y])


def test_pickle_clone_and_repr(model):
    scorer = get_scorer("neg_expected_calibration_error", n_bins=7)
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, NAMES[Y]) == scorer(model, X, NAMES[Y])
    assert clone(scorer, safe=False)(model, X, NAMES[Y]) == scorer(model, X, NAMES[Y])
    assert "n_bins=7" in repr(scorer)
    assert get_scorer("neg_log_loss") is not SCORERS["neg_log_loss"]


@pytest.mark.parametrize("name", SCORERS)
def test_grid_search(name):
    scorer = get_scorer(name)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"min_samples_leaf": [1, 10, 40]},
        scoring=scorer,
        cv=3,
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(X, Y) == scorer(search.best_estimator_, X, Y)


def test_cross_validate_with_the_dict():
    result = cross_validate(
        DecisionTreeClassifier(max_depth=2), X, NAMES[Y], scoring=SCORERS, cv=3
    )
    for name in SCORERS:
        assert np.isfinite(result[f"test_{name}"]).all()


def test_sorted_y_in_unshuffled_folds():
    # Each fold lacks the one class that its model is tested on.
    scores = cross_val_score(
        LogisticRegression(max_iter=1000),
        X,
        NAMES[Y],
        scoring=get_scorer("neg_brier_score"),
        cv=KFold(3),
        error_score="raise",
    )
    assert (scores < -1).all()


class _WeightSpy(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([0.5, 0.3, 0.2], (len(X), 1))


WEIGHT = np.linspace(0.1, 3, len(Y))


@pytest.mark.parametrize("as_dict", [False, True])
def test_metadata_routing(as_dict):
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        plain = get_scorer("neg_log_loss").set_score_request(sample_weight=False)
        scoring = {"weighted": scorer, "plain": plain} if as_dict else scorer
        search = GridSearchCV(
            _WeightSpy().set_fit_request(sample_weight=True),
            {},
            scoring=scoring,
            refit="weighted" if as_dict else True,
            cv=2,
        ).fit(X, Y, sample_weight=WEIGHT)
        key = "weighted" if as_dict else "score"
        folds = StratifiedKFold(2).split(X, Y)
        expected = np.mean(
            [
                scorer(search.best_estimator_, X[test], Y[test], WEIGHT[test])
                for _, test in folds
            ]
        )
        assert search.cv_results_[f"mean_test_{key}"][0] == pytest.approx(expected)
        if as_dict:
            assert search.cv_results_["mean_test_plain"][0] != pytest.approx(expected)


def test_routing_without_a_request_is_an_error():
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(UnsetMetadataPassedError),
    ):
        GridSearchCV(
            _WeightSpy().set_fit_request(sample_weight=True),
            {},
            scoring=get_scorer("neg_log_loss"),
        ).fit(X, Y, sample_weight=WEIGHT)


@pytest.mark.parametrize("as_dict", [False, True])
def test_weights_without_routing(as_dict):
    # Newer scikit-learn hands the weights of fit to the scorer.
    scoring = get_scorer("neg_log_loss")
    search = GridSearchCV(
        _WeightSpy(),
        {},
        scoring={"a": scoring} if as_dict else scoring,
        refit="a" if as_dict else True,
        cv=2,
    ).fit(X, Y, sample_weight=WEIGHT)
    assert np.isfinite(search.best_score_)

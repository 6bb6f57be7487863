"""The search over settings of SMART: as separate fits, and by scikit-learn's rules."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from sklearn_smart import CalibratedClassifierCV, SMARTCalibrator, SMARTCalibratorCV
from sklearn_smart._numerics.tempered import TemperedLogits
from sklearn_smart.calibrators.smart_search import _folds_of_contents
from sklearn_smart.metrics import brier_score, get_scorer, log_loss

from .contract import make_scores

SCORES, Y = make_scores(n=400)
GRID = {"n_bins": [5, 20], "bandwidth": [0.03, 0.1], "alpha": [0.3, "auto"]}


@pytest.fixture(scope="module")
def found():
    return SMARTCalibratorCV(GRID).fit(SCORES, Y)


def split_scores(search):
    folds = range(search.n_splits_)
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in folds])


@pytest.mark.parametrize("name", ["digits_network", "wine_naive_bayes"])
@pytest.mark.parametrize(
    ("scoring", "metric"),
    [("neg_log_loss", log_loss), ("neg_brier_score", brier_score)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_are_those_of_separate_fits(score_set, name, scoring, metric):
    scores, y, kind = score_set(name)
    classes = scores.shape[1]
    splits = list(StratifiedKFold(3).split(scores, y))
    settings = {"input": kind, "classes": classes}
    search = SMARTCalibratorCV(GRID, scoring=scoring, cv=splits, **settings)
    shared = split_scores(search.fit(scores, y))
    for k, (train, test) in enumerate(splits):
        for j, setting in enumerate(ParameterGrid(GRID)):
            alone = SMARTCalibrator(**setting, **settings).fit(scores[train], y[train])
            p = alone.predict_proba(scores[test])
            expected = -metric(y[test], p, labels=range(classes))
            assert shared[k, j] == pytest.approx(expected, abs=1e-3)


def test_the_best_setting_is_fitted_to_all_rows(found):
    mean = split_scores(found).mean(axis=0)
    assert_allclose(found.cv_results_["mean_test_score"], mean)
    assert_allclose(
        found.cv_results_["std_test_score"], split_scores(found).std(axis=0)
    )
    assert found.best_index_ == mean.argmax()
    assert found.best_score_ == mean.max()
    assert found.best_params_ == list(ParameterGrid(GRID))[mean.argmax()]
    assert found.cv_results_["rank_test_score"][found.best_index_] == 1
    alone = SMARTCalibrator(**found.best_params_).fit(SCORES, Y)
    assert_allclose(found.predict_proba(SCORES), alone.predict_proba(SCORES), atol=1e-6)
    assert_array_equal(
        found.temperatures(SCORES), found.best_estimator_.temperatures(SCORES)
    )


def test_a_scorer_sees_probabilities(found):
    search = SMARTCalibratorCV(GRID, scoring=get_scorer("neg_log_loss"))
    search.fit(SCORES, Y)
    assert_allclose(split_scores(search), split_scores(found), atol=1e-4)


def test_a_scorer_is_given_the_weights():
    weight = np.arange(len(Y)) % 3 + 1
    by_curve = SMARTCalibratorCV().fit(SCORES, Y, sample_weight=weight)
    by_scorer = SMARTCalibratorCV(scoring=get_scorer("neg_log_loss"))
    by_scorer.fit(SCORES, Y, sample_weight=weight)
    assert_allclose(split_scores(by_scorer), split_scores(by_curve), atol=1e-4)


def test_number_of_jobs_changes_nothing(found):
    parallel = SMARTCalibratorCV(GRID, n_jobs=2).fit(SCORES, Y)
    assert_array_equal(split_scores(parallel), split_scores(found))
    assert parallel.best_params_ == found.best_params_


def test_other_parameters_are_those_of_the_calibrator():
    given = SMARTCalibrator(signal="entropy", hidden_layer_sizes=(4,))
    search = SMARTCalibratorCV({"n_bins": [5, 10]}, calibrator=given).fit(SCORES, Y)
    assert search.best_estimator_.signal == "entropy"
    assert search.best_estimator_.coefs_[0].shape == (1, 4)
    assert not hasattr(given, "classes_")


def test_any_parameter_may_be_searched():
    grid = [
        {"signal": ["margin", "confidence"], "min_temperature": [0.0, 0.5]},
        {"hinges": ["trained"], "hidden_layer_sizes": [(), (3,)]},
        {"objective": ["log_loss"], "temperature_unit": ["fitted", "logits"]},
    ]
    search = SMARTCalibratorCV(grid, cv=2).fit(SCORES, Y)
    assert np.isfinite(split_scores(search)).all()
    assert split_scores(search).shape == (2, 8)


def test_default_grid():
    search = SMARTCalibratorCV().fit(SCORES, Y)
    bins = [setting["n_bins"] for setting in search.cv_results_["params"]]
    assert bins == [5, 10, 15, 20, 30]
    assert search.n_splits_ == 5


def fold_of(scores, y, n_folds=5):
    return _folds_of_contents(TemperedLogits(scores, y), y, n_folds)


def test_folds_follow_the_contents_of_rows():
    fold = fold_of(SCORES, Y)
    order = np.random.default_rng(0).permutation(len(Y))
    assert_array_equal(fold_of(SCORES[order], Y[order]), fold[order])
    assert_array_equal(fold_of(1e3 * SCORES + 1.0, Y), fold)
    twice = np.repeat(np.arange(len(Y)), 2)
    assert_array_equal(fold_of(SCORES[twice], Y[twice]), fold[twice])
    for label in range(3):
        counts = np.bincount(fold[label == Y], minlength=5)
        assert np.ptp(counts) <= 1
    margin = np.diff(np.sort(SCORES, axis=1)[:, -2:])[:, 0]
    means = [margin[fold == k].mean() for k in range(5)]
    assert np.ptp(means) < 0.1 * margin.std()


def test_too_few_rows_for_the_folds():
    with pytest.raises(ValueError, match="cv=5 folds need as many distinct rows"):
        SMARTCalibratorCV(classes=3).fit(np.repeat(SCORES[:4], 3, axis=0), [0] * 12)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("param_grid", {"bins": [5]}, r"names \['bins'\]"),
        ("param_grid", {"input": ["logits"]}, r"names \['input'\]"),
        ("param_grid", {"n_bins": [5, 0]}, "The 'n_bins' parameter"),
        ("param_grid", [], "is empty"),
        ("calibrator", GaussianNB(), "must be a SMARTCalibrator"),
        ("scoring", "accuracy", "The 'scoring' parameter"),
        ("cv", 1, "The 'cv' parameter"),
    ],
)
def test_bad_parameters_are_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        SMARTCalibratorCV(**{name: value}).fit(object(), object())


def test_as_the_method_of_a_calibrated_classifier():
    X, y = load_wine(return_X_y=True)
    search = SMARTCalibratorCV({"n_bins": [5, 10]}, cv=2)
    names = np.array(["a", "b", "c"])[y]
    model = CalibratedClassifierCV(GaussianNB(), method=search, cv=3, ensemble=False)
    assert model.fit(X, names).score(X, names) > 0.9


def test_a_score_that_is_no_number_chooses_nothing():
    search = SMARTCalibratorCV(scoring=lambda calibrator, scores, y: np.nan)
    with pytest.raises(ValueError, match="gave no number for any setting"):
        search.fit(SCORES, Y)


def test_damage_of_what_was_found_is_noticed(found):
    state = found.to_dict()
    inner = state["fitted"]["best_estimator_"]["calibrator"]
    inner["fitted"]["margin_scale_"] = 0.0
    with pytest.raises(ValueError, match="saved calibrator is damaged"):
        SMARTCalibratorCV.from_dict(state)

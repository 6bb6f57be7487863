"""compare_calibrators: honest splits, right numbers, a result that can be read."""

import json
import re
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_smart import (
    CalibratedClassifierCV,
    SMARTCalibrator,
    TemperatureScaling,
    Uncalibrated,
    compare_calibrators,
    metrics,
)
from sklearn_smart.calibrators import CALIBRATORS
from sklearn_smart.compare import METHODS
from sklearn_smart.compare._intervals import corrected_t, jackknife
from sklearn_smart.compare._splits import plan_splits
from sklearn_smart.compare._tables import html_table, latex_table, text_table

FAST = ("uncalibrated", "temperature")


@pytest.fixture(scope="module")
def data():
    return make_classification(
        600, 8, n_informative=5, n_classes=3, flip_y=0.2, random_state=0
    )


@pytest.fixture(scope="module")
def scores():
    """Over-confident scores of three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    return 5 * (np.eye(3)[y] + rng.normal(size=(600, 3))), y


@pytest.fixture(scope="module")
def comparison(scores):
    return compare_calibrators(*scores)


class Recorder(ClassifierMixin, BaseEstimator):
    """Scores that are in the data, and a memory of the rows fitted on."""

    fitted = []

    def fit(self, X, y, sample_weight=None):
        Recorder.fitted.append(X[:, 0].astype(int))
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 1:]


# -- who learns what -----------------------------------------------------------------


def plan(y, groups=None, **settings):
    defaults = {"cv": 5, "n_repeats": 2, "calibration_size": 0.25}
    rng = np.random.RandomState(0)
    return plan_splits(y, groups, rng=rng, **{**defaults, **settings})


def test_no_row_has_two_roles_and_each_is_tested_once_in_a_repeat():
    y = np.repeat([0, 1, 2], [100, 60, 40])
    splits = plan(y)
    assert [(s.repeat, s.fold) for s in splits] == [
        (r, f) for r in range(2) for f in range(5)
    ]
    for split in splits:
        rows = np.concatenate([split.train, split.calibration, split.test])
        assert np.array_equal(np.sort(rows), np.arange(200))
        assert len(split.train), len(split.calibration) == (120, 40)
        for part, share in ((split.train, 0.6), (split.calibration, 0.2)):
            np.testing.assert_allclose(
                np.bincount(y[part]), share * np.array([100, 60, 40]), atol=1
            )
        assert split.test_ratio == 0.25
    for repeat in range(2):
        tested = np.concatenate([s.test for s in splits if s.repeat == repeat])
        assert np.array_equal(np.sort(tested), np.arange(200))
    assert len({s.seed for s in splits}) == 10


def test_all_rows_outside_of_the_test_calibrate_given_scores():
    for split in plan(np.arange(100) % 2, calibration_size=None):
        assert len(split.train) == 0
        assert len(split.calibration) == 80


def test_groups_are_never_divided():
    y, groups = np.arange(200) % 2, np.arange(200) // 4
    for split in plan(y, groups):
        parts = (split.train, split.calibration, split.test)
        owners = [set(groups[part]) for part in parts]
        assert sum(map(len, owners)) == len(set.union(*owners)) == 50


def test_more_classes_than_rows_to_stratify():
    y = np.arange(30)
    tested = np.concatenate([s.test for s in plan(y, calibration_size=None)])
    assert np.array_equal(np.sort(tested[:30]), y)


def test_splitters_and_given_splits():
    y = np.arange(60) % 2
    assert len(plan(y, cv=ShuffleSplit(3, test_size=0.2, random_state=0))) == 3
    assert len(plan(y, np.arange(60) // 6, cv=GroupKFold(4))) == 4
    (split,) = plan(y, cv=[(np.arange(40), np.arange(40, 60))], calibration_size=None)
    assert np.array_equal(split.test, np.arange(40, 60))


def test_the_estimator_is_fitted_once_a_fold_on_rows_of_its_own(data):
    X, y = data
    X = np.column_stack([np.arange(len(y)), np.eye(3)[y] + 0.3 * X[:, :3]])
    Recorder.fitted = []
    compare_calibrators(Recorder(), X, y, methods=FAST, random_state=3)
    rng = np.random.RandomState(3)
    splits = plan_splits(y, None, cv=5, n_repeats=2, calibration_size=0.25, rng=rng)
    assert len(Recorder.fitted) == 10
    for rows, split in zip(Recorder.fitted, splits, strict=True):
        assert np.array_equal(rows, split.train)


# -- the numbers ---------------------------------------------------------------------


def expected_values(y, prob, classes):
    kinds = ({}, {"strategy": "quantile"}, {"kind": "class_wise"})
    ece = [
        metrics.expected_calibration_error(y, prob, labels=classes, **kind)
        for kind in kinds
    ]
    return [
        *ece,
        sklearn.metrics.log_loss(y, prob, labels=classes),
        metrics.brier_score(y, prob, labels=classes),
        np.mean(classes[prob.argmax(axis=1)] == y),
    ]


def test_saved_scores_give_what_the_calibrators_give(scores):
    z, y = scores
    learn, test = np.arange(400), np.arange(400, 600)
    assert compare_calibrators(z, y, cv=[(learn, test)]).methods == list(METHODS)
    result = compare_calibrators(z, y, cv=[(learn, test)], methods=list(CALIBRATORS))
    assert result.methods == list(CALIBRATORS)
    for method, values in zip(result.methods, result.values[0], strict=True):
        prob = CALIBRATORS[method]().fit(z[learn], y[learn]).predict_proba(z[test])
        expected = expected_values(y[test], prob, np.arange(3))
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert result.best("log_loss")[0] not in ("uncalibrated", "isotonic")


@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression()])
def test_an_estimator_gives_what_calibrated_classifier_gives(data, base):
    X, y = data
    labels = np.array(["c", "a", "b"])[y]
    learn, test = np.arange(400), np.arange(400, 600)
    result = compare_calibrators(base, X, labels, cv=[(learn, test)], random_state=1)
    (split,) = plan_splits(
        labels,
        None,
        cv=[(learn, test)],
        n_repeats=2,
        calibration_size=0.25,
        rng=np.random.RandomState(1),
    )
    base.fit(X[split.train], labels[split.train])
    for method, values in zip(result.methods, result.values[0], strict=True):
        model = CalibratedClassifierCV(FrozenEstimator(base), method=method)
        model.fit(X[split.calibration], labels[split.calibration])
        expected = expected_values(
            labels[test], model.predict_proba(X[test]), model.classes_
        )
        np.testing.assert_allclose(values, expected, rtol=1e-9, err_msg=method)


def test_corrected_interval_is_nadeau_and_bengios():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    interval = corrected_t(values, 0.25, 0.9)
    error = np.sqrt((1 / 4 + 0.25) * (10 / 3))
    assert interval.mean == 3
    assert interval.standard_error == pytest.approx(error)
    assert interval.high - 3 == pytest.approx(stats.t.ppf(0.95, 3) * error)
    assert interval.p_value == pytest.approx(2 * stats.t.sf(3 / error, 3))


def test_without_a_correction_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    interval = corrected_t(a - b, 0.0, 0.95)
    expected = stats.ttest_rel(a, b)
    assert interval.p_value == pytest.approx(expected.pvalue)
    limits = expected.confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((limits.low, limits.high))


def test_jackknife_of_a_mean_is_the_t_interval_of_the_groups():
    values = np.random.default_rng(0).normal(size=200)
    group = np.arange(200) % 20
    leave_out = np.array([values[group != g].mean() for g in range(20)])
    interval = jackknife(values.mean(), leave_out, 0.95)
    means = np.array([values[group == g].mean() for g in range(20)])
    expected = stats.ttest_1samp(means, 0)
    assert interval.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(20))
    assert interval.p_value == pytest.approx(expected.pvalue)


def test_no_spread_at_all():
    assert corrected_t(np.zeros(3), 0.25, 0.95)[:5] == (0, 0, 0, 0, 1)
    assert corrected_t(np.ones(3), 0.25, 0.95).p_value == 0
    assert np.isnan(jackknife(1.0, np.ones(1), 0.95).standard_error)


def test_differences_are_paired(comparison):
    j = comparison.measures.index("ece")
    i, r = (comparison.methods.index(m) for m in ("smart", "temperature"))
    (difference,) = comparison.differences(
        "temperature", methods=["smart"], measures=["ece"]
    )
    folds = comparison.values[:, i, j] - comparison.values[:, r, j]
    # 480 rows calibrate and 120 are tested.
    assert difference[3:] == pytest.approx(corrected_t(folds, 0.25, 0.95))
    assert (difference.method, difference.reference) == ("smart", "temperature")
    assert len(comparison.differences()) == 4 * 6


def test_best_and_tied(comparison):
    for measure in comparison.measures:
        best, tied = comparison.best(measure)
        means = {m: comparison.mean(m, measure).mean for m in comparison.methods}
        pick = max if measure == "accuracy" else min
        assert means[best] == pick(means.values())
        for difference in comparison.differences(best, measures=[measure]):
            holds = difference.low <= 0 <= difference.high
            assert (difference.method in tied) == holds
    # Temperature scaling changes no prediction, so it ties exactly.
    assert comparison.mean("temperature", "accuracy").mean == (
        comparison.mean("uncalibrated", "accuracy").mean
    )
    # The scores are over-confident by design.
    assert comparison.best("log_loss")[0] != "uncalibrated"
    assert "uncalibrated" not in comparison.best("log_loss")[1]


def test_a_method_that_loses_is_shown_losing():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, 3)) * 2
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)  # z is right as it is
    result = compare_calibrators(z, y, methods=["uncalibrated", "isotonic"])
    assert result.best("log_loss") == ("uncalibrated", [])
    header, rows = result.difference_cells()
    assert rows[0][header.index("log loss")].endswith("!")


def test_which_methods_keep_the_prediction(comparison, scores):
    assert comparison.preserves_prediction == {
        "uncalibrated": True,
        "sigmoid": False,
        "isotonic": False,
        "temperature": True,
        "smart": True,
    }
    kept = list(comparison.preserves_prediction.values())
    assert (comparison.changed[kept] == 0).all()
    assert (comparison.changed[~np.array(kept)] > 0).all()
    pipe = make_pipeline(TemperatureScaling(), SMARTCalibrator())
    other = make_pipeline(TemperatureScaling(), CALIBRATORS["sigmoid"]())
    result = compare_calibrators(
        *scores, methods={"both": pipe, "other": other}, cv=2, n_repeats=1
    )
    assert result.preserves_prediction == {"both": True, "other": False}


def test_reliability_tables_pool_the_folds(scores, comparison):
    z, y = scores
    prob = Uncalibrated().fit(z, y).predict_proba(z)
    expected = metrics.reliability_table(y, prob)
    table = comparison.reliability_tables["uncalibrated"]
    np.testing.assert_allclose(table.weight, expected.weight)
    np.testing.assert_allclose(table.mean_prob, expected.mean_prob)
    np.testing.assert_allclose(table.frequency, expected.frequency)


def test_log_loss_of_single_precision_logits_is_not_clipped():
    """exp(-30) is below the epsilon of float32."""
    z = np.repeat([[30.0, 0.0], [0.0, 30.0]], 50, axis=0).astype(np.float32)
    y = np.repeat([0, 1], 50)
    y[::10] = 1 - y[::10]
    even, odd = np.arange(0, 100, 2), np.arange(1, 100, 2)
    result = compare_calibrators(
        z, y, methods="uncalibrated", scoring="log_loss", cv=[(odd, even), (even, odd)]
    )
    np.testing.assert_allclose(result.values.ravel(), [6.0, 0.0], atol=1e-9)


# -- what may be compared ------------------------------------------------------------


def test_methods_by_name_pair_and_dict(scores):
    smart = SMARTCalibrator(n_bins=5)
    listed = compare_calibrators(*scores, methods=["smart", ("five", smart)], cv=2)
    named = compare_calibrators(
        *scores, methods={"smart": "smart", "five": smart}, cv=2
    )
    assert listed.methods == named.methods == ["smart", "five"]
    assert np.array_equal(listed.values, named.values)
    assert (listed.values[:, 0] != listed.values[:, 1]).any()
    assert smart.classes is None  # the user's own object is left as it was
    assert not hasattr(smart, "classes_")


def test_every_step_is_told_the_classes_and_handed_what_it_declares(scores):
    z, y = scores
    labels = np.array(["z", "a", "m"])  # the columns are not sorted
    prob = Uncalibrated().fit(z, y).predict_proba(z)
    pipe = make_pipeline(TemperatureScaling(input="probabilities"), SMARTCalibrator())
    methods = {"logits": TemperatureScaling(), "pipe": pipe}
    kinds = {"input": "probabilities", "classes": labels}
    given = compare_calibrators(prob, labels[y], methods=methods, cv=2, **kinds)
    plain = compare_calibrators(z, y, methods={"logits": TemperatureScaling()}, cv=2)
    np.testing.assert_allclose(
        given.values[:, 0, 3:5].mean(), plain.values[:, 0, 3:5].mean(), rtol=0.02
    )
    np.testing.assert_allclose(
        given.mean("logits", "accuracy").mean, plain.mean("logits", "accuracy").mean
    )
    assert given.mean("pipe", "log_loss").mean < 1


def test_two_classes_as_log_odds_one_column_or_two(scores):
    z, y = scores
    rows = y < 2
    odds, y = (z[:, 1] - z[:, 0])[rows], y[rows]
    one = compare_calibrators(odds, y, cv=2, n_repeats=1)
    for same in (odds[:, None], np.column_stack([np.zeros(len(y)), odds])):
        np.testing.assert_allclose(
            compare_calibrators(same, y, cv=2, n_repeats=1).values,
            one.values,
            rtol=1e-6,
            atol=1e-9,
        )
    prob = 1 / (1 + np.exp(-odds))
    probabilities = compare_calibrators(
        prob, y, cv=2, n_repeats=1, input="probabilities"
    )
    np.testing.assert_allclose(
        probabilities.mean("temperature", "log_loss").mean,
        one.mean("temperature", "log_loss").mean,
        rtol=1e-6,
    )


def test_scores_may_name_classes_that_no_row_has(scores):
    z, y = scores
    wide = np.column_stack([z, np.full(len(y), -1e4)])
    result = compare_calibrators(wide, y, classes=4, methods=FAST, cv=2)
    plain = compare_calibrators(z, y, methods=FAST, cv=2)
    np.testing.assert_allclose(result.values[..., 3], plain.values[..., 3], rtol=1e-6)
    with pytest.raises(ValueError, match="classes"):
        compare_calibrators(wide, y, methods=FAST)


def test_a_frozen_estimator_is_not_fitted(data):
    X, y = data
    model = GaussianNB().fit(X[:300], y[:300])
    settings = {"cv": 2, "n_repeats": 1}
    frozen = compare_calibrators(FrozenEstimator(model), X[300:], y[300:], **settings)
    saved = compare_calibrators(
        model.predict_proba(X[300:]), y[300:], input="probabilities", **settings
    )
    assert (frozen.estimator_seconds == 0).all()
    kept = [i for i, m in enumerate(METHODS) if m != "temperature"]
    np.testing.assert_allclose(frozen.values[:, kept], saved.values[:, kept], rtol=1e-6)
    with pytest.raises(NotFittedError):
        compare_calibrators(FrozenEstimator(GaussianNB()), X, y)
    with pytest.raises(ValueError, match="7"):
        compare_calibrators(FrozenEstimator(model), X, np.where(y == 2, 7, y))


def test_nan_in_the_data_is_the_estimators_business(data):
    """Case 12."""
    X, y = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    result = compare_calibrators(tree, X, y, methods=FAST, cv=3, n_repeats=1)
    assert np.isfinite(result.values).all()
    with pytest.raises(ValueError, match=r"GaussianNB failed in repeat 1, fold 1"):
        compare_calibrators(GaussianNB(), X, y, methods=FAST)


def test_data_frames_and_string_labels(data):
    pd = pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    X, y = data
    names = np.array(["no", "maybe", "yes"])[y]
    frame = pd.DataFrame(X, index=np.arange(len(y))[::-1]).add_prefix("x")
    series = pd.Series(names, index=frame.index)
    result = compare_calibrators(GaussianNB(), frame, series, methods=FAST, cv=3)
    plain = compare_calibrators(GaussianNB(), X, names, methods=FAST, cv=3)
    np.testing.assert_allclose(result.values, plain.values)


def test_score_columns_of_pairs_of_classes_are_refused(data):
    X, y = data
    svc = SVC(decision_function_shape="ovo")
    four = np.where((y == 2) & (X[:, 0] > 0), 3, y)
    with pytest.raises(ValueError, match="ovo"):
        compare_calibrators(svc, X, four)


# -- weights -------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["scores", "estimator"])
def test_weights_are_frequencies(scores, given):
    """Integer weights equal repetition, and weight 0 equals removal."""
    z, y = scores
    weight = np.random.default_rng(2).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    first = {
        "scores": (z,),
        "estimator": (FrozenEstimator(LogisticRegression().fit(z, y)), z),
    }[given]
    *head, table = first
    kept = np.flatnonzero(weight)
    where = np.full(len(y), -1)
    where[kept] = np.arange(len(kept))
    learn = np.arange(len(y)) < 400
    splits = [(where[kept[learn[kept]]], where[kept[~learn[kept]]])]
    again = [(np.flatnonzero(learn[rows]), np.flatnonzero(~learn[rows]))]
    methods = METHODS[:-1]  # SMART has its own test of this
    weighted = compare_calibrators(
        *head, table, y, sample_weight=weight, cv=splits, methods=methods
    )
    repeated = compare_calibrators(
        *head, table[rows], y[rows], cv=again, methods=methods
    )
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(weighted.changed, repeated.changed, atol=1e-12)


def test_weights_reach_estimator_calibrators_and_measures(data):
    X, y = data
    weight = np.ones(len(y))
    weight[:150] = 3
    cv = [(np.arange(400), np.arange(400, 600))]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    light = compare_calibrators(tree, X, y, cv=cv, methods=FAST)
    heavy = compare_calibrators(tree, X, y, cv=cv, methods=FAST, sample_weight=weight)
    assert (light.values != heavy.values).any()
    assert heavy.parameters["weighted"]
    pipe = make_pipeline(StandardScaler(), tree)
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        compare_calibrators(pipe, X, y, cv=cv, methods=FAST, sample_weight=weight)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.zeros(600), np.ones(3)])
def test_bad_weights(scores, weight):
    with pytest.raises(ValueError, match=r"sample_weight|samples"):
        compare_calibrators(*scores, sample_weight=weight)


# -- randomness ----------------------------------------------------------------------


def test_same_result_for_any_number_of_jobs(data):
    """Case 18."""
    X, y = data
    forest = RandomForestClassifier(5)  # its random_state is None
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    done = []
    settings = {"methods": ("isotonic", "smart"), "cv": 3, "n_repeats": 1}
    one = compare_calibrators(
        forest, X, y, **settings, progress=lambda *state: done.append(state)
    )
    assert done == [(i, 3) for i in range(1, 4)]
    two = compare_calibrators(forest, X, y, **settings, n_jobs=2)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    other = compare_calibrators(forest, X, y, **settings, random_state=1)
    assert (one.values != other.values).any()
    assert forest.random_state is None


def test_without_a_seed_the_global_state_is_left_alone(scores):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    settings = {"methods": FAST, "n_repeats": 1, "random_state": None}
    one, two = (compare_calibrators(*scores, **settings) for _ in range(2))
    assert (one.values != two.values).any()
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_calibrators_that_draw_are_seeded(scores):
    method = {"random": SMARTCalibrator.published(max_iter=20)}
    values = [
        compare_calibrators(*scores, methods=method, cv=2, n_repeats=1).values
        for _ in range(2)
    ]
    assert np.array_equal(*values)


# -- measures ------------------------------------------------------------------------


def test_scoring(scores, data):
    result = compare_calibrators(*scores, methods=FAST, scoring="log_loss", cv=2)
    assert result.measures == ["log_loss"]
    named = compare_calibrators(
        *scores,
        methods=FAST,
        cv=2,
        scoring={
            "loss": "log_loss",
            "ours": "neg_log_loss",
            "ten": metrics.get_scorer("neg_expected_calibration_error", n_bins=10),
            "auc": "roc_auc_ovr",
            "mine": lambda model, X, y: model.predict_proba(X).max(),
        },
    )
    assert named.measures == ["loss", "ours", "ten", "auc", "mine"]
    np.testing.assert_allclose(named.values[..., 0], result.values[..., 0])
    np.testing.assert_allclose(named.values[..., 1], -result.values[..., 0])
    assert named.best("ours") == named.best("loss")
    assert (named.values[..., 3] > 0.7).all()
    X, y = data
    accuracy = compare_calibrators(
        GaussianNB(),
        X,
        y,
        methods=FAST,
        cv=3,
        scoring=["accuracy", "balanced_accuracy"],
    )
    np.testing.assert_allclose(*np.moveaxis(accuracy.values, 2, 0), atol=0.05)


# -- errors and warnings -------------------------------------------------------------


class Failing(Uncalibrated):
    """Fails where it is fitted on the seventh call."""

    calls = 0

    def _fit(self, logits, y, sample_weight):
        Failing.calls += 1
        if Failing.calls == 7:
            raise RuntimeError("out of luck")


def test_a_method_that_fails_is_named_with_its_fold(scores):
    Failing.calls = 0
    with pytest.raises(ValueError, match=r"'bad' failed in repeat 2, fold 2") as caught:
        compare_calibrators(*scores, methods={"bad": Failing()})
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert "out of luck" in str(caught.value)


class Nan(GaussianNB):
    """Answers NaN."""

    def predict_proba(self, X):
        return np.full((len(X), 3), np.nan)


def test_an_estimator_that_answers_nan_is_named(data):
    with pytest.raises(ValueError, match=r"Nan failed in repeat 1, fold 1 .*NaN"):
        compare_calibrators(Nan(), *data)


def test_warnings_of_all_folds_come_once():
    z = np.repeat([[8.0, 0.0], [0.0, 8.0]], 50, axis=0)
    y = np.repeat([0, 1], 50)  # no row is misclassified
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = compare_calibrators(z, y, methods=FAST)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert str(warning.message).startswith("temperature, in 10 of 10 folds: ")
    assert result.notes == [f"ConvergenceWarning: {warning.message}"]
    assert result.notes[0] in str(result)


def test_probabilities_given_where_logits_are_declared(scores):
    """Case 11."""
    z, y = scores
    prob = Uncalibrated().fit(z, y).predict_proba(z)
    with pytest.warns(UserWarning, match="probabilities") as caught:
        compare_calibrators(prob, y, methods=FAST)
    assert len(caught) == 1
    with pytest.raises(ValueError, match="input='logits'"):
        compare_calibrators(z, y, input="probabilities")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": []}, "methods is empty"),
        ({"methods": ["platt"]}, "'methods' parameter .* Got 'platt'"),
        ({"methods": ["smart", "smart"]}, "twice"),
        ({"methods": [3]}, "pairs"),
        ({"methods": {"c": SMARTCalibrator}}, "instance"),
        ({"methods": FAST, "reference": "smart"}, "reference"),
        ({"cv": 1}, "'cv'"),
        ({"cv": 601}, "601 folds"),
        ({"cv": []}, "no split"),
        ({"cv": [([0, 1], [1, 2])]}, "overlap"),
        ({"cv": [([0, 1], [])]}, "empty"),
        ({"cv": [([0, 1], [999])]}, "row numbers"),
        ({"n_repeats": 0}, "'n_repeats'"),
        ({"progress": 3}, "'progress'"),
        ({"calibration_size": 1.0}, "'calibration_size'"),
        ({"confidence_level": 95}, "'confidence_level'"),
        ({"random_state": -1}, "'random_state'"),
        ({"scoring": []}, "scoring is empty"),
        ({"scoring": "ecce"}, "'ecce' is not a measure"),
        ({"scoring": ["ece", "ece"]}, "twice"),
        ({"input": "odds"}, "'input'"),
        ({"classes": [0, 1]}, "classes"),
    ],
)
def test_parameters_are_checked_before_any_fit(scores, settings, message):
    with pytest.raises(ValueError, match=message):
        compare_calibrators(*scores, **settings)


def test_data_are_checked_before_any_fit(scores, data):
    X, y = data
    z, labels = scores
    Recorder.fitted = []
    for bad, message in (
        (np.eye(3)[y], "one-hot"),  # case 19
        (y + 0.5, "continuous"),
        (np.zeros(len(y), int), "one class"),
        (np.where(np.arange(len(y)) < 2, 9, np.minimum(y, 1)), "class 9 has 2 samples"),
        (y[:-1], "inconsistent"),
        (None, "y is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_calibrators(Recorder(), X, bad)
    assert Recorder.fitted == []
    for arguments, message in (
        ((GaussianNB, X, y), "instance"),
        ((z, labels, labels), "saved scores"),
        ((np.where(z > 9, np.nan, z), labels), "NaN"),
        ((z, labels[:-1]), "inconsistent"),
        ((StandardScaler(), X, y), "decision_function or predict_proba"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_calibrators(*arguments)
    with pytest.raises(ValueError, match="saved scores"):
        compare_calibrators(GaussianNB(), X, y, input="probabilities")


def test_unknown_names_of_a_result(comparison):
    with pytest.raises(ValueError, match="platt"):
        comparison.mean("platt", "ece")
    with pytest.raises(ValueError, match="mce"):
        comparison.differences(measures=["mce"])
    with pytest.raises(ValueError, match="platt"):
        comparison.plot(["platt"])


# -- what is shown -------------------------------------------------------------------


def test_text(comparison):
    text = str(comparison)
    lines = text.split("\n")
    assert lines[0] == "Saved logits: 600 rows, 3 classes"
    assert [line.split()[0] for line in lines[3:8]] == comparison.methods
    interval = comparison.mean("temperature", "log_loss")
    assert f"{interval.mean:.4f} ±{interval.standard_error:.4f}" in text
    assert "480 rows and tests on 120" in text
    assert repr(comparison) == (
        "<CalibrationComparison of 5 methods in 10 folds: "
        "Saved logits: 600 rows, 3 classes>"
    )


def test_each_column_marks_one_best(comparison):
    header, rows = comparison.summary_cells()
    for column in range(1, len(header) - 2):
        marks = [row[column][-1] for row in rows]
        assert marks.count("*") == 1
        assert set(marks) <= {"*", "=", " "}
    assert [row[-1] == "kept" for row in rows] == [True, False, False, True, True]


def test_tables_in_four_languages():
    header, rows = ["a|b", "x_%"], [["one", "1.5 *"], ["two", "-2 ="]]
    assert text_table(header, rows).split("\n") == [
        "a|b    x_%",
        "---  -----",
        "one  1.5 *",
        "two   -2 =",
    ]
    latex = latex_table(header, rows)
    assert r"a|b & x\_\% \\" in latex
    assert latex.count(r"\\") == 3
    table = ET.fromstring(html_table(["<i>"], [["&"]]))
    assert table.find("thead/tr/th").text == "<i>"
    cells = ET.fromstring(html_table(header, rows, sortable=True)).findall(".//td")
    assert [cell.get("class") for cell in cells] == ["best", "tied"]
    assert [cell.get("data-key") for cell in cells] == ["1.5", "-2.0"]


def test_markdown_and_latex(comparison):
    lines = comparison.to_markdown().split("\n")
    assert {line.count("|") for line in lines} == {10}
    assert lines[1].startswith("|:--|--:|")
    latex = comparison.to_latex()
    assert latex.startswith(r"\begin{tabular}{lrrrrrrrr}")
    assert r"$\pm$" in latex
    assert "±" not in latex


def test_frames(comparison):
    pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    summary = comparison.to_frame()
    assert list(summary.index) == comparison.methods
    interval = comparison.mean("smart", "brier_score")
    assert summary.loc["smart", "brier_score"] == interval.mean
    assert summary.loc["smart", "brier_score_error"] == interval.standard_error
    folds = comparison.to_frame("folds")
    assert len(folds) == 10 * 5
    assert (folds["n_calibration"] == 480).all()
    means = folds.groupby("method")[comparison.measures].mean()
    np.testing.assert_allclose(
        means.loc[comparison.methods], comparison.values.mean(axis=0)
    )
    assert len(comparison.to_frame("differences")) == 24
    with pytest.raises(ValueError, match="table"):
        comparison.to_frame("long")


def test_diagrams_side_by_side(comparison):
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the 'plot' extra")
    displays = comparison.plot()
    figure = displays[0].figure_
    assert {display.figure_ for display in displays} == {figure}
    titles = [display.ax_.get_title() for display in displays]
    assert [title.split(":")[0] for title in titles] == comparison.methods
    (only,) = comparison.plot(["smart"])
    assert only.ax_.get_title().startswith("smart: ECE 0.")
    plt.close("all")


def test_report_is_one_whole_file(comparison, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="needs the 'plot' extra")
    monkeypatch.chdir(tmp_path)
    path = comparison.save_html("report.html")
    assert path == tmp_path / "report.html"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    text = path.read_text("utf-8")
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    assert not re.findall(r"https?://", text)
    assert text.count("data:image/svg+xml;base64,") == 5
    for method in comparison.methods:
        assert f'alt="Reliability diagram of {method}: ' in text
    body = re.sub(
        r"<script>.*</script>|<meta[^>]*>|<!DOCTYPE html>|<img[^>]*>",
        "",
        text,
        flags=re.S,
    )
    tables = ET.fromstring(body).findall(".//table")
    assert [len(table.findall("tbody/tr")) for table in tables] == [5, 4]
    for name in ("random_state", "seeds of the folds", "scikit-learn"):
        assert name in text
    # The pictures are the same bytes each time.
    again = comparison.save_html("again.html").read_text("utf-8")
    assert again == text


def test_a_report_that_cannot_be_written_leaves_nothing(comparison, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the 'plot' extra")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="report.html"):
        comparison.save_html(tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError):
        comparison.save_html(tmp_path / "nowhere" / "report.html")


def test_notebook_representation(comparison):
    html = ET.fromstring(comparison._repr_html_().replace("<br>", "<br/>"))
    assert html.find("strong").text == comparison.name
    assert len(html.findall(".//tbody/tr")) == 5


def test_parameters_say_what_was_run(data):
    X, y = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    result = compare_calibrators(tree, X, y, methods=FAST, cv=3, n_repeats=1)
    shown = json.loads(json.dumps(result.parameters))
    assert shown["estimator"] == "DecisionTreeClassifier(max_depth=2, random_state=0)"
    assert shown["rows"] == 600
    assert shown["calibration_size"] == "0.25"
    assert len(shown["seeds of the folds"].split(", ")) == 3
    assert f"scikit-learn {sklearn.__version__}" in shown["versions"]
    assert result.name == "DecisionTreeClassifier: 600 rows, 3 classes"


def test_small_data_of_iris():
    X, y = load_iris(return_X_y=True)
    result = compare_calibrators(GaussianNB(), X, y, methods=FAST)
    assert result.values.shape == (10, 2, 6)
    assert result.mean("uncalibrated", "accuracy").mean > 0.9

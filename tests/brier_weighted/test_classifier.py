"""BrierWeightedClassifier: solutions, solvers, outputs, and what it refuses."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from sklearn_smart import BrierWeightedClassifier
from sklearn_smart._numerics.fields import WeightedField
from sklearn_smart._numerics.score_models import as_logits
from sklearn_smart._numerics.uncertainty_weights import BrierWeight
from sklearn_smart.metrics import expected_calibration_error


def classes_and_noise(n_classes, flip_y=0.0, class_sep=1.0, n=600):
    return make_classification(
        n,
        20,
        n_informative=12,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=class_sep,
        flip_y=flip_y,
        random_state=0,
    )


PROBLEMS = {
    "digits": lambda: load_digits(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "separable": lambda: classes_and_noise(3, class_sep=6.0),
    "twenty classes": lambda: classes_and_noise(20, n=1200),
    "label noise": lambda: classes_and_noise(5, flip_y=0.3),
}


def load(name, scaled=True):
    X, y = PROBLEMS[name]()
    return (StandardScaler().fit_transform(X) if scaled else X), y


def residual(model, X, y, weight, penalty=1.0):
    """``max |field + penalty|``, from the raw output and the coefficients alone."""
    if model.link_ == "raw":
        logits = as_logits(X @ model.coef_.T + model.intercept_)
    else:
        logits = np.log(model.raw_proba(X))
    field = WeightedField(weight)(logits, y, np.ones(len(y))).value
    field = field[:, 1:] if len(model.coef_) == 1 else field
    by_coef = field.T @ X + penalty * model.coef_
    return max(np.abs(by_coef).max(), np.abs(field.sum(axis=0)).max())


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("link", ["raw", "posterior"])
def test_the_field_vanishes(name, gamma, norm, link):
    X, y = load(name)
    model = BrierWeightedClassifier(gamma=gamma, norm=norm, link=link).fit(X, y)
    assert model.converged_
    found = residual(model, X, y, BrierWeight(gamma, norm=norm))
    assert found < 1e-6 * len(y)
    assert_allclose(model.residual_, found / len(y), atol=1e-9)
    assert model.residual_curve_[-1] == model.residual_
    assert len(model.residual_curve_) == model.n_iter_ + 1


@pytest.mark.parametrize("name", ["breast cancer", "wine"])
def test_the_field_vanishes_with_features_as_they_are(name):
    """Features from 1e-3 to 1e3: no scaler is needed."""
    X, y = load(name, scaled=False)
    model = BrierWeightedClassifier(gamma=4.0).fit(X, y)
    assert model.converged_
    assert residual(model, X, y, BrierWeight(4.0)) < 1e-6 * len(y)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gamma_zero_is_logistic_regression(name):
    X, y = load(name)
    model = BrierWeightedClassifier(gamma=0.0).fit(X, y)
    reference = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    assert model.coef_.shape == reference.coef_.shape
    assert_allclose(model.coef_, reference.coef_, atol=1e-4)
    assert_allclose(model.intercept_, reference.intercept_, atol=1e-4)
    assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-5)
    assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-3
    )


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_penalty_and_intercept_are_those_of_logistic_regression(C, fit_intercept):
    X, y = load("wine")
    settings = {"C": C, "fit_intercept": fit_intercept, "class_weight": "balanced"}
    model = BrierWeightedClassifier(gamma=0.0, tol=1e-11, **settings).fit(X, y)
    reference = LogisticRegression(tol=1e-10, max_iter=10_000, **settings).fit(X, y)
    assert_allclose(model.coef_, reference.coef_, atol=1e-4)
    assert_allclose(model.intercept_, reference.intercept_, atol=1e-4)


def test_newton_and_lbfgs_agree_where_there_is_a_potential():
    X, y = load("wine")
    for weight, gamma in [("brier", 2.0), ("focal", 3.0), ("flsd53", 1.0)]:
        settings = {"weight": weight, "gamma": gamma, "norm": 1, "link": "raw"}
        newton = BrierWeightedClassifier(**settings).fit(X, y)
        descent = BrierWeightedClassifier(**settings, solver="lbfgs", tol=1e-7)
        descent.fit(X, y)
        assert newton.solver_ == "newton"
        assert_allclose(newton.coef_, descent.coef_, atol=1e-4)
        assert len(descent.loss_curve_) == descent.n_iter_
        assert newton.loss_curve_ == []


@pytest.mark.parametrize("as_container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_and_dense_agree(as_container):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, y[:500]
    dense = BrierWeightedClassifier().fit(X, y)
    thin = BrierWeightedClassifier().fit(as_container(X), y)
    assert_allclose(thin.coef_, dense.coef_, atol=1e-9)
    proba = thin.predict_proba(as_container(X))
    assert_allclose(proba, dense.predict_proba(X), atol=1e-9)
    settings = {"hidden_layer_sizes": (8,), "max_iter": 3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense = BrierWeightedClassifier(**settings).fit(X, y)
        thin = BrierWeightedClassifier(**settings).fit(as_container(X), y)
    assert_allclose(thin.coefs_[0], dense.coefs_[0], atol=1e-9)


def test_sparse_data_are_never_made_dense():
    X = sparse.random(300, 200_000, density=1e-4, format="csr", random_state=0)
    y = np.arange(300) % 3
    model = BrierWeightedClassifier().fit(X, y)  # 480 MB if it were dense
    assert model.converged_
    assert model.score(X, y) > 0.9


def test_weights_are_frequencies_and_weight_zero_is_absence():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = BrierWeightedClassifier().fit(X, y, sample_weight=weight)
    repeated = BrierWeightedClassifier().fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_class_weight_is_a_sample_weight():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    weight = np.select([y == "a", y == "b"], [1.0, 2.0], 0.5)
    by_class = BrierWeightedClassifier(class_weight={"a": 1, "b": 2, "c": 0.5})
    by_class.fit(X, y)
    by_sample = BrierWeightedClassifier().fit(X, y, sample_weight=weight)
    assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-9)


def well_specified(n_classes, n=10_000):
    """Samples whose labels follow the softmax of linear scores: to fit, and to test."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(2 * n, 5))
    logits = X @ rng.normal(size=(5, n_classes))
    truth = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    y = (truth.cumsum(axis=1) < rng.uniform(size=(2 * n, 1))).sum(axis=1)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("gradient_only", [True, False])
def test_inverse_link_recovers_the_posterior(n_classes, gradient_only):
    """Well-specified data: the inverted output is the truth, the raw one is not."""
    X, y, X_test, y_test = well_specified(n_classes)
    model = BrierWeightedClassifier(gradient_only=gradient_only).fit(X, y)
    assert model.posterior_ == "bayes"
    assert model.link_ == ("posterior" if gradient_only else "raw")
    raw = clone(model).set_params(posterior="raw").fit(X, y)
    reference = LogisticRegression().fit(X, y)
    ours = log_loss(y_test, model.predict_proba(X_test))
    theirs = log_loss(y_test, reference.predict_proba(X_test))
    assert ours < (1.002 if gradient_only else 1.02) * theirs
    assert log_loss(y_test, raw.predict_proba(X_test)) > 1.02 * ours


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_linked_scores_are_calibrated_where_linear_scores_hold(n_classes, gamma):
    X, y, X_test, y_test = well_specified(n_classes)
    reference = LogisticRegression().fit(X, y)
    theirs = expected_calibration_error(y_test, reference.predict_proba(X_test))
    errors = {}
    for link in ("posterior", "raw"):
        model = BrierWeightedClassifier(gamma=gamma, link=link).fit(X, y)
        p = model.predict_proba(X_test)
        errors[link] = expected_calibration_error(y_test, p)
        assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-4)
    assert errors["posterior"] < 1.25 * theirs < errors["raw"]
    at_truth = BrierWeightedClassifier(gamma=gamma).fit(X, y)
    assert_allclose(at_truth.coef_, reference.coef_, atol=0.15)


def test_link_of_two_classes_is_a_factor():
    """The log-odds of the posterior are 1 + gamma times those of the raw output."""
    X, y = load("breast cancer")
    for gamma in (0.5, 2.0):
        linked = BrierWeightedClassifier(gamma=gamma, C=10.0).fit(X, y)
        # The penalty is that of the posterior's weights.
        raw = BrierWeightedClassifier(
            gamma=gamma, C=10.0 / (1 + gamma), link="raw", posterior="bayes"
        ).fit(X, y)
        assert_allclose(linked.coef_, (1 + gamma) * raw.coef_, rtol=1e-3, atol=1e-4)
        assert_allclose(linked.raw_proba(X), raw.raw_proba(X), atol=1e-4)
        assert_allclose(linked.predict_proba(X), raw.predict_proba(X), atol=1e-4)


def test_outputs_of_both_links():
    X, y = load("wine")
    for link in ("raw", "posterior"):
        bayes = BrierWeightedClassifier(link=link, posterior="bayes").fit(X, y)
        raw = BrierWeightedClassifier(link=link, posterior="raw").fit(X, y)
        assert_array_equal(bayes.coef_, raw.coef_)
        assert_allclose(bayes.raw_proba(X), raw.predict_proba(X), rtol=1e-12)
        p = raw.predict_proba(X)
        u = np.linalg.norm(p[:, None] - np.eye(3), axis=2) ** 2
        expected = p / u / (p / u).sum(axis=1, keepdims=True)
        assert_allclose(bayes.predict_proba(X), expected, atol=1e-9)
        scores = bayes.decision_function(X)
        softmax_of_scores = (p if link == "raw" else expected) + 0.0
        assert_allclose(
            np.log(softmax_of_scores) - np.log(softmax_of_scores[:, :1]),
            scores - scores[:, :1],
            atol=1e-7,
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_network_of_the_posterior(dtype):
    X, y = load("wine")
    model = BrierWeightedClassifier(
        link="posterior",
        hidden_layer_sizes=(16,),
        max_iter=60,
        learning_rate_init=0.05,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X.astype(dtype), y)
    assert model.link_ == "posterior"
    assert model.score(X.astype(dtype), y) > 0.97
    assert model.raw_proba(X[:2].astype(dtype)).dtype == dtype
    confidence = model.predict_proba(X.astype(dtype)).max(axis=1)
    assert_allclose(confidence, model.raw_proba(X.astype(dtype)).max(axis=1), atol=1e-6)


def test_predict_follows_predict_proba():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    for posterior in ("raw", "bayes"):
        for gradient_only in (True, False):
            model = BrierWeightedClassifier(
                posterior=posterior, gradient_only=gradient_only
            ).fit(X, y)
            proba = model.predict_proba(X)
            assert_allclose(proba.sum(axis=1), 1)
            assert_allclose(np.log(proba), model.predict_log_proba(X))
            assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


# Their loss form jumps as well, and where it does L-BFGS may stop, with a warning.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weight", ["flsd53", "dual_focal", "tlbs"])
@pytest.mark.parametrize("gradient_only", [True, False])
def test_weights_that_jump_have_no_inverse(weight, gradient_only):
    X, y = load_iris(return_X_y=True)
    model = BrierWeightedClassifier(
        weight, posterior="bayes", gradient_only=gradient_only
    )
    with pytest.raises(ValueError, match=f"'bayes' does not exist for '{weight}'"):
        model.fit(X, y)
    assert model.set_params(posterior="auto").fit(X, y).posterior_ == "raw"


NETWORKS = [
    {"solver": "adam"},
    {"solver": "sgd", "max_gradient_norm": 2.0, "learning_rate_milestones": (40, 50)},
    {"solver": "adam", "weight": "focal", "gradient_only": False},
    {"solver": "adam", "loss": "mmce", "batch_size": 50},
    {"solver": "lbfgs", "loss": "label_smoothing"},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_networks_learn_and_repeat(settings):
    X, y = load("wine")
    model = BrierWeightedClassifier(
        hidden_layer_sizes=(16,),
        max_iter=60,
        learning_rate_init=0.05,
        random_state=0,
        **settings,
    ).fit(X, y)
    assert model.posterior_ == "raw"
    assert model.score(X, y) > 0.97
    assert [coef.shape for coef in model.coefs_] == [(13, 16), (16, 3)]
    assert [bias.shape for bias in model.intercepts_] == [(16,), (3,)]
    again = clone(model).fit(X, y)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert len(model.loss_curve_) == len(model.residual_curve_) == model.n_iter_


def test_schedule_divides_the_learning_rate():
    X, y = load("wine")
    settings = {
        "solver": "sgd",
        "shuffle": False,
        "momentum": 0.0,
        "max_iter": 2,
        "batch_size": len(y),
        "gamma": 0.0,
        "C": 1e9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steady = BrierWeightedClassifier(**settings).fit(X, y)
        stepped = BrierWeightedClassifier(
            learning_rate_milestones=1, learning_rate_decay=0.1, **settings
        ).fit(X, y)
        once = BrierWeightedClassifier(**{**settings, "max_iter": 1}).fit(X, y)
    first, second = stepped.coef_ - once.coef_, steady.coef_ - once.coef_
    assert_allclose(first, 0.1 * second, rtol=1e-10)


def test_stochastic_solvers_reach_the_root():
    X, y = load("wine")
    root = BrierWeightedClassifier().fit(X, y)
    for solver, rate in [("sgd", 0.5), ("adam", 0.02)]:
        model = BrierWeightedClassifier(
            solver=solver, learning_rate_init=rate, max_iter=3000, tol=1e-5
        ).fit(X, y)
        assert model.converged_
        assert_allclose(model.coef_, root.coef_, atol=5e-3)


def test_early_stopping_keeps_the_best():
    X, y = load_digits(return_X_y=True)
    model = BrierWeightedClassifier(
        hidden_layer_sizes=(32,),
        early_stopping=True,
        learning_rate_init=0.01,
        random_state=0,
        n_iter_no_change=5,
    ).fit(X / 16, y)
    scores = model.validation_scores_
    assert model.n_iter_ == len(scores) < model.max_iter
    assert max(scores) >= max(scores[-5:])
    assert model.score(X / 16, y) > 0.9


def test_partial_fit():
    X, y = load("wine")
    model = BrierWeightedClassifier(
        hidden_layer_sizes=(8,), learning_rate_init=0.02, random_state=0
    )
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    for _ in range(40):
        for rows in (y < 2, y > 0):  # each call lacks a class
            model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert model.n_iter_ == 80
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="differ from those of an earlier call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:1], [7])
    assert not hasattr(BrierWeightedClassifier(solver="newton"), "partial_fit")
    balanced = BrierWeightedClassifier(class_weight="balanced")
    with pytest.raises(ValueError, match="needs all the data"):
        balanced.partial_fit(X, y, classes=[0, 1, 2])


def test_partial_fit_takes_the_steps_of_fit():
    X, y = load("wine")
    settings = {"solver": "adam", "random_state": 0}
    with pytest.warns(ConvergenceWarning):
        whole = BrierWeightedClassifier(max_iter=3, **settings).fit(X, y)
    model = BrierWeightedClassifier(**settings)
    for _ in range(3):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert_allclose(model.coef_, whole.coef_, atol=1e-12)


def test_warm_start():
    X, y = load("digits")
    model = BrierWeightedClassifier(warm_start=True).fit(X, y)
    coef, n_iter = model.coef_, model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < n_iter
    assert_allclose(model.coef_, coef, atol=1e-3)
    with pytest.raises(ValueError, match="other classes, features or hidden"):
        model.fit(X[:, :5], y)
    with pytest.raises(ValueError, match="other classes, features or hidden"):
        model.set_params(hidden_layer_sizes=(4,)).fit(X, y)


def test_failure_is_a_warning_with_the_residual():
    X, y = load("digits")
    with pytest.warns(ConvergenceWarning, match=r"residual of \d\.\d+e-\d+ per sample"):
        model = BrierWeightedClassifier(max_iter=1).fit(X, y)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


def test_verbose_prints_residuals(capsys):
    X, y = load_iris(return_X_y=True)
    model = BrierWeightedClassifier(verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("Iteration 1, residual ")


def test_float32_in_float32_out():
    X, y = load_iris(return_X_y=True)
    model = BrierWeightedClassifier().fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.coef_, BrierWeightedClassifier().fit(X, y).coef_, atol=1e-4)


def test_fitted_object_is_small():
    X, y = load_digits(return_X_y=True)
    model = BrierWeightedClassifier(
        hidden_layer_sizes=(4,), max_iter=2, solver="adam", random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert len(pickle.dumps(model)) < 10_000


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weight": "brief"}, "'weight' parameter"),
        ({"gamma": -0.1}, "'gamma' parameter"),
        ({"gamma": np.nan}, "'gamma' parameter"),
        ({"norm": 0.5}, "'norm' parameter"),
        ({"loss": "hinge"}, "'loss' parameter"),
        ({"posterior": "both"}, "'posterior' parameter"),
        ({"C": 0}, "'C' parameter"),
        ({"C": "large"}, "'C' parameter"),
        ({"solver": "saga"}, "'solver' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"learning_rate_init": 0.0}, "'learning_rate_init' parameter"),
        ({"momentum": 1.0}, "'momentum' parameter"),
        ({"hidden_layer_sizes": (0,)}, "'hidden_layer_sizes' parameter"),
        ({"hidden_layer_sizes": (2.5,)}, "'hidden_layer_sizes' parameter"),
        ({"learning_rate_milestones": (0,)}, "'learning_rate_milestones' parameter"),
        ({"learning_rate_decay": 0.0}, "'learning_rate_decay' parameter"),
        ({"max_gradient_norm": 0.0}, "'max_gradient_norm' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change' parameter"),
        ({"solver": "newton", "hidden_layer_sizes": 4}, "for linear scores"),
        ({"solver": "newton", "gradient_only": False}, "root of a field"),
        ({"solver": "newton", "loss": "mmce"}, "root of a field"),
        ({"solver": "lbfgs"}, "gradient of nothing"),
        ({"solver": "lbfgs", "early_stopping": True}, "early_stopping needs"),
        ({"loss": "mmce", "posterior": "bayes"}, "does not exist for 'mmce'"),
        ({"link": "logit"}, "'link' parameter"),
        ({"link": "posterior", "gradient_only": False}, "pass link='raw'"),
        ({"link": "posterior", "loss": "mmce"}, "pass link='raw'"),
        ({"link": "posterior", "weight": "tlbs"}, "does not exist for 'tlbs'"),
        ({"link": "posterior", "solver": "lbfgs"}, "pass link='raw'"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        BrierWeightedClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (np.zeros(150), None, "at least 2 classes"),
        (np.arange(150), np.r_[1.0, np.zeros(149)], "at least 2 classes"),
        (np.linspace(0, 1, 150), None, "continuous"),
        (np.eye(3)[np.arange(150) % 3], None, "one-hot"),
        (np.arange(150) % 3, -np.ones(150), "negative"),
        (np.arange(150) % 3, np.ones(3), "shape"),
        (np.arange(149) % 3, None, "inconsistent numbers of samples"),
    ],
)
def test_wrong_data(y, weight, message):
    X, _ = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        BrierWeightedClassifier().fit(X, y, sample_weight=weight)


def test_not_fitted():
    for method in ("predict", "predict_proba", "predict_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(BrierWeightedClassifier(), method)([[0.0]])

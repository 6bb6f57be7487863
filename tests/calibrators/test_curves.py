"""Calibrators by curves: definitions, closed forms, and rows that are raised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sklearn_smart import (
    BayesianBinning,
    BetaCalibrator,
    HistogramBinning,
    ScalingBinning,
    SigmoidCalibrator,
    SplineCalibrator,
    TopLabelIsotonic,
    TopLabelSigmoid,
    VennAbersCalibrator,
)
from sklearn_smart._numerics.bins import equal_mass_edges
from sklearn_smart._numerics.venn_abers import venn_abers_curves
from sklearn_smart.metrics import expected_calibration_error, reliability_table

BOTH_KINDS = [
    HistogramBinning,
    BayesianBinning,
    ScalingBinning,
    BetaCalibrator,
    SplineCalibrator,
    VennAbersCalibrator,
]


def make_binary(n=500, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.beta(1.5, 2, n)
    return prob, (rng.random(n) < prob**1.5).astype(int)


def make_rows(n=600, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(n_classes, 0.7), n)
    y = (prob.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return prob, np.minimum(y, n_classes - 1)


def binary(kind, prob, y, at, **settings):
    """Probability of the second class."""
    if kind not in (TopLabelIsotonic, TopLabelSigmoid):
        settings["kind"] = "one_vs_rest"
    calibrator = kind(input="probabilities", **settings).fit(prob, y)
    return calibrator.predict_proba(at)[:, 1]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_histogram_values_are_the_tables(strategy):
    prob, y = make_rows()
    model = HistogramBinning(n_bins=7, strategy=strategy, input="probabilities")
    p = model.fit(prob, y).predict_proba(prob)
    table = reliability_table(y, prob, n_bins=7, strategy=strategy)
    filled = table.weight > 0
    assert_allclose(model.curves_[0][1][filled], table.frequency[filled])
    # Where no row is raised, the new confidence is the frequency of its bin.
    kept = ~model.raised(prob)
    assert np.isin(p.max(axis=1)[kept].round(12), table.frequency.round(12)).all()
    assert model.n_raised_ == (~kept).sum()


def test_one_bin_gives_the_base_rate():
    prob, y = make_binary()
    assert_allclose(binary(HistogramBinning, prob, y, prob, n_bins=1), y.mean())
    found = binary(ScalingBinning, prob, y, prob, n_bins=1)
    assert_allclose(found, found[0])
    assert_allclose(found[0], y.mean(), atol=0.005)


def test_an_empty_bin_gives_its_middle():
    p = binary(
        HistogramBinning,
        [0.05, 0.95],
        [0, 1],
        [0.5],
        n_bins=5,
        strategy="uniform",
    )
    assert_allclose(p, 0.5)


def test_bayesian_binning_is_the_average_over_histograms():
    prob, y = make_binary(60)
    found = binary(BayesianBinning, prob, y, prob)
    logs, values = [], []
    for n_bins in range(1, 41):  # 60^(1/3) = 3.9
        edges = equal_mass_edges(prob, n_bins)
        index = np.searchsorted(edges[1:-1], prob, side="left")
        n = np.bincount(index, minlength=n_bins)
        m = np.bincount(index, y, minlength=n_bins)
        middle = (edges[:-1] + edges[1:]) / 2
        a, b = 2 / n_bins * middle, 2 / n_bins * (1 - middle)
        logs.append((betaln(m + a, n - m + b) - betaln(a, b)).sum())
        values.append(((m + a) / (n + 2 / n_bins))[index])
    weight = np.exp(np.array(logs) - max(logs))
    assert_allclose(found, weight @ np.array(values) / weight.sum(), atol=1e-10)


def test_scaling_binning_is_the_mean_of_the_sigmoid():
    prob, y = make_binary()
    odds = np.log(prob / (1 - prob))
    sigmoid = SigmoidCalibrator().fit(odds, y)
    scaled = expit(sigmoid.slope_ * odds + sigmoid.intercept_)
    edges = equal_mass_edges(scaled, 8)
    index = np.searchsorted(edges[1:-1], scaled, side="left")
    mean = np.bincount(index, scaled) / np.bincount(index)
    assert_allclose(binary(ScalingBinning, prob, y, prob, n_bins=8), mean[index])


def test_beta_is_a_logistic_regression():
    prob, y = make_binary()
    columns = np.column_stack([np.log(prob), -np.log(1 - prob)])
    reference = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(columns, y)
    expected = reference.predict_proba(columns)[:, 1]
    assert (reference.coef_ > 0).all()
    assert_allclose(binary(BetaCalibrator, prob, y, prob), expected, atol=1e-5)
    odds = columns.sum(axis=1, keepdims=True)
    reference = LogisticRegression(C=1e10, tol=1e-10).fit(odds, y)
    found = binary(BetaCalibrator, prob, y, prob, parameters="am")
    assert_allclose(found, reference.predict_proba(odds)[:, 1], atol=1e-5)
    (half,) = binary(BetaCalibrator, prob, y, [0.5], parameters="ab")
    assert_allclose(half, 0.5)


def test_beta_is_never_decreasing():
    prob, y = make_binary()
    grid = np.linspace(0, 1, 101)
    for labels in (y, 1 - y):
        for parameters in ("abm", "am", "ab"):
            p = binary(BetaCalibrator, prob, labels, grid, parameters=parameters)
            assert (np.diff(p) >= -1e-12).all()
    flat = binary(BetaCalibrator, prob, 1 - y, grid, parameters="am")
    assert_allclose(flat, 1 - y.mean(), atol=1e-6)


def test_spline_repairs_a_gap():
    """Outcomes of frequency p^2, without noise: the cumulative gap is known."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    y = np.random.default_rng(0).random(20_000) < grid**2
    found = binary(SplineCalibrator, grid, y.astype(int), grid)
    assert np.abs(found - grid**2).mean() < 0.01
    true = (np.random.default_rng(1).random(20_000) < grid).astype(int)
    found = binary(SplineCalibrator, grid, true, grid)
    assert np.abs(found - grid).mean() < 0.01


def test_top_label_isotonic_and_sigmoid_are_of_the_confidence():
    prob, y = make_rows()
    at, top = np.arange(len(y)), prob.argmax(axis=1)
    confidence, correct = prob[at, top], prob.argmax(axis=1) == y
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(confidence, correct)
    model = TopLabelIsotonic(input="probabilities").fit(prob, y)
    p, kept = model.predict_proba(prob), ~model.raised(prob)
    assert_allclose(p[at, top][kept], isotonic.predict(confidence)[kept])
    odds = np.log(confidence / (1 - confidence))
    sigmoid = SigmoidCalibrator().fit(odds, correct.astype(int))
    model = TopLabelSigmoid(input="probabilities").fit(prob, y)
    p, kept = model.predict_proba(prob), ~model.raised(prob)
    expected = sigmoid.predict_proba(odds)[:, 1]
    assert_allclose(p[at, top][kept], expected[kept], atol=1e-9)


@pytest.mark.parametrize("kind", [TopLabelIsotonic, TopLabelSigmoid, *BOTH_KINDS])
def test_top_label_rows(kind):
    """The rest of a row keeps its shares; raised rows tie with the runner-up."""
    prob, y = make_rows()
    settings = {"kind": "top_label"} if kind in BOTH_KINDS else {}
    model = kind(input="probabilities", **settings).fit(prob, y)
    assert model.preserves_prediction
    p, raised = model.predict_proba(prob), model.raised(prob)
    at, top = np.arange(len(y)), prob.argmax(axis=1)
    assert_array_equal(p.argmax(axis=1), top)
    others = np.ones_like(prob, dtype=bool)
    others[at, top] = False
    before = np.where(others, prob, 0) / (1 - prob[at, top])[:, None]
    after = np.where(others, p, 0)
    assert_allclose(after, before * (1 - p[at, top])[:, None], atol=1e-9)
    runner_up = after.max(axis=1)
    assert_allclose(p[at, top][raised], runner_up[raised], atol=1e-12)
    share = before.max(axis=1)
    assert_allclose(p[at, top][raised], (share / (1 + share))[raised])
    assert model.n_raised_ == raised.sum()


def test_a_row_without_a_remainder_shares_it_alike():
    prob = np.array([[1.0, 0, 0], [1.0, 0, 0], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])
    model = HistogramBinning(n_bins=1, input="probabilities", classes=3)
    model.fit(prob, [0, 1, 0, 0])
    assert_allclose(model.predict_proba(prob[:1]), [[0.75, 0.125, 0.125]])
    assert_allclose(model.predict_proba(prob[2:3]), [[0.75, 0.1875, 0.0625]])


@pytest.mark.parametrize("kind", BOTH_KINDS)
def test_one_vs_rest_rows_are_the_curves_of_each_class(kind):
    prob, y = make_rows(n_classes=3)
    model = kind(kind="one_vs_rest", input="probabilities").fit(prob, y)
    assert not model.preserves_prediction
    assert not model.raised(prob).any()
    alone = np.column_stack(
        [binary(kind, prob[:, k], (y == k).astype(int), prob[:, k]) for k in range(3)]
    )
    expected = alone / alone.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(prob), expected, atol=1e-9)


def test_rows_of_zeros_fall_back():
    prob = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 5)
    y = np.array([0, 1, 2] * 5)
    settings = {"n_bins": 2, "strategy": "uniform", "kind": "one_vs_rest"}
    model = HistogramBinning(input="probabilities", **settings).fit(prob, y)
    low = np.array([[0.4, 0.3, 0.3]])
    assert_allclose(model.predict_proba(low), low)
    model.set_params(zero_rows="uniform").fit(prob, y)
    assert_allclose(model.predict_proba(low), 1 / 3)


def with_point(unique, mass, positive, value, label):
    x = np.concatenate([unique, unique, [value]])
    y = np.concatenate([np.ones(len(unique)), np.zeros(len(unique)), [label]])
    weight = np.concatenate([positive, mass - positive, [1.0]])
    some = weight > 0
    fit = IsotonicRegression().fit(x[some], y[some], sample_weight=weight[some])
    return fit.predict([value])[0]


@pytest.mark.parametrize("seed", range(20))
def test_venn_abers_is_two_isotonic_regressions(seed):
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 12)
    unique = np.sort(rng.choice(50, m, replace=False)) / 50 + 0.01
    mass = rng.integers(1, 4, m).astype(float)
    positive = np.floor(rng.random(m) * (mass + 1))
    low, high = venn_abers_curves(mass, positive)
    places = [unique[0] - 0.005, *np.stack([unique, unique + 0.005], axis=1).ravel()]
    for at, value in enumerate(places):
        args = unique, mass, positive, value
        assert_allclose(low[at], with_point(*args, 0), atol=1e-12)
        assert_allclose(high[at], with_point(*args, 1), atol=1e-12)
    # Through the calibrator, which keeps only where something changes.
    prob, y = np.repeat(unique, mass.astype(int)), []
    for n, k in zip(mass.astype(int), positive.astype(int), strict=True):
        y += [1] * k + [0] * (n - k)
    model = VennAbersCalibrator(input="probabilities", classes=2).fit(prob, y)
    found = model.predict_interval(places)
    assert_allclose(found[0][:, 1], low, atol=1e-12)
    assert_allclose(found[1][:, 1], high, atol=1e-12)
    combined = high / (1 - low + high)
    assert_allclose(model.predict_proba(places)[:, 1], combined, atol=1e-12)


def test_venn_abers_intervals():
    prob, y = make_rows(n_classes=3)
    model = VennAbersCalibrator(input="probabilities").fit(prob, y)
    low, high = model.predict_interval(prob)
    assert low.shape == high.shape == prob.shape
    assert (low <= high).all()
    top = VennAbersCalibrator(kind="top_label", input="probabilities").fit(prob, y)
    low, high = top.predict_interval(prob)
    assert low.shape == high.shape == (len(prob),)
    # One of the two is calibrated: between them lies the frequency, on the whole.
    correct = (prob.argmax(axis=1) == y).mean()
    assert low.mean() <= correct <= high.mean()


@pytest.mark.parametrize("kind", [TopLabelIsotonic, TopLabelSigmoid, *BOTH_KINDS])
def test_calibration_gets_better(kind):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(8000, 4)) * 2
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((8000, 1))).sum(axis=1)
    fit, test = slice(0, 4000), slice(4000, None)
    settings = {"kind": "top_label"} if kind in BOTH_KINDS else {}
    model = kind(**settings).fit(3 * z[fit], y[fit])
    raw = np.exp(3 * z) / np.exp(3 * z).sum(axis=1, keepdims=True)
    before = expected_calibration_error(y[test], raw[test])
    after = expected_calibration_error(y[test], model.predict_proba(3 * z[test]))
    assert after < 0.2 * before


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (HistogramBinning(n_bins=0), "n_bins"),
        (HistogramBinning(strategy="kmeans"), "strategy"),
        (HistogramBinning(kind="ovr"), "kind"),
        (ScalingBinning(n_bins=1.5), "n_bins"),
        (BetaCalibrator(parameters="abc"), "parameters"),
        (SplineCalibrator(n_knots=2), "n_knots"),
        (BayesianBinning(zero_rows="raw"), "zero_rows"),
    ],
)
def test_errors(model, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        model.fit(np.eye(3) * 2, [0, 1, 2])

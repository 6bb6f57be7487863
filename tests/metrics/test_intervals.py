import numpy as np
import pytest
from scipy import stats

from sklearn_smart.metrics import (
    bootstrap_interval,
    brier_score,
    calibrated_null,
    expected_calibration_error,
    log_loss,
    paired_difference,
)
from sklearn_smart.metrics._catalogue import METRICS
from sklearn_smart.metrics._gaps import binned_gaps, soft_gaps
from sklearn_smart.metrics._inputs import check_prediction
from sklearn_smart.metrics._resampling import resampled_counts


def problem(n=400, k=3, seed=0, temperature=1.0):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(k, 0.7), size=n)
    y = (rng.random((n, 1)) > np.cumsum(prob, axis=1)).sum(axis=1)
    prob = prob ** (1 / temperature)
    return np.minimum(y, k - 1), prob / prob.sum(axis=1, keepdims=True)


class TestResampling:
    def test_sizes_and_means(self):
        rng = np.random.RandomState(0)
        weight = np.array([1.0, 2, 3, 4])
        counts = np.concatenate(list(resampled_counts(4000, weight, None, rng)))
        assert (counts.sum(axis=1) == 10).all()
        np.testing.assert_allclose(counts.mean(axis=0), weight, rtol=0.05)
        # Multinomial variance n p (1 - p).
        np.testing.assert_allclose(
            counts.var(axis=0), weight * (1 - weight / 10), rtol=0.1
        )

    def test_strata_keep_their_sizes(self):
        rng = np.random.RandomState(0)
        strata = np.array([0, 1, 0, 1, 1])
        for counts in resampled_counts(50, np.ones(5), strata, rng):
            assert (counts[:, strata == 0].sum(axis=1) == 2).all()
            assert (counts[:, strata == 1].sum(axis=1) == 3).all()

    def test_blocks_do_not_change_the_numbers(self, monkeypatch):
        from sklearn_smart.metrics import _resampling

        def counts():
            rng = np.random.RandomState(1)
            return np.concatenate(
                list(resampled_counts(7, np.arange(1.0, 6), None, rng))
            )

        whole = counts()
        monkeypatch.setattr(_resampling, "_BLOCK_SIZE", 12)
        np.testing.assert_array_equal(counts(), whole)


@pytest.mark.parametrize("kind", ["top_label", "class_wise"])
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_give_the_metric(kind, norm, strategy, weighted):
    y, prob = problem()
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    prediction = check_prediction(y, prob, sample_weight=weight)
    gaps = binned_gaps(prediction, norm=norm, strategy=strategy, kind=kind)
    w = np.ones(len(y)) if weight is None else weight
    value = gaps.value(gaps.rows.T @ w / w.sum())
    expected = expected_calibration_error(
        y, prob, norm=norm, strategy=strategy, kind=kind, sample_weight=weight
    )
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"smoothing": 0.01, "strategy": "quantile"}])
def test_soft_gaps_give_the_metric(options):
    y, prob = problem()
    gaps = soft_gaps(check_prediction(y, prob), **options)
    expected = METRICS["soft_calibration_error"].function(y, prob, **options)
    value = gaps.value(np.asarray(gaps.rows.sum(axis=0)).ravel() / len(y))
    assert value == pytest.approx(expected, abs=1e-12)


def test_studentized_interval_is_near_the_normal_one():
    y, prob = problem(n=2000)
    interval = bootstrap_interval(y, prob, metric="log_loss", n_resamples=2000)
    terms = -np.log(prob[np.arange(len(y)), y])
    error = terms.std() / np.sqrt(len(y))
    assert interval.value == pytest.approx(log_loss(y, prob))
    assert interval.low == pytest.approx(terms.mean() - 1.96 * error, abs=0.3 * error)
    assert interval.high == pytest.approx(terms.mean() + 1.96 * error, abs=0.3 * error)
    assert interval.method == "studentized"
    narrow = bootstrap_interval(y, prob, metric=log_loss, confidence_level=0.5)
    assert interval.low < narrow.low < narrow.high < interval.high


def test_calibrated_error_interval_holds_0_and_a_large_one_does_not():
    calibrated = bootstrap_interval(*problem(), n_resamples=300)
    assert calibrated.low == 0
    assert calibrated.method == "inversion"
    biased = bootstrap_interval(*problem(temperature=0.4), n_resamples=300)
    assert 0.05 < biased.low < biased.high < 0.4


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.filterwarnings("ignore:No bootstrap interval")
def test_every_metric_has_an_interval(metric):
    y, prob = problem(n=150, temperature=0.5)
    interval = bootstrap_interval(y, prob, metric=metric, n_resamples=60)
    assert interval.low <= interval.high
    assert interval.value == METRICS[metric].function(y, prob)
    difference = paired_difference(
        y, prob, problem(n=150)[1], metric=metric, n_resamples=60
    )
    assert difference.low <= difference.high
    assert 0 <= difference.p_value <= 1


def test_metrics_without_coverage_warn():
    y, prob = problem(n=100)
    for metric in ("sweep_calibration_error", lambda *args, **kwargs: 0.5):
        with pytest.warns(UserWarning, match="No bootstrap interval"):
            bootstrap_interval(y, prob, metric=metric, n_resamples=5)


def test_seeds_and_the_global_state():
    y, prob = problem(n=150)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = bootstrap_interval(y, prob, n_resamples=50)
    assert first == bootstrap_interval(y, prob, n_resamples=50)
    assert first != bootstrap_interval(y, prob, n_resamples=50, random_state=1)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_weights_are_repetitions_in_distribution():
    y, prob = problem(n=200)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    one = bootstrap_interval(
        y, prob, metric="brier_score", sample_weight=weight, n_resamples=2000
    )
    two = bootstrap_interval(
        y.repeat(weight),
        prob.repeat(weight, axis=0),
        metric="brier_score",
        n_resamples=2000,
    )
    assert one.value == pytest.approx(two.value)
    width = two.high - two.low
    assert one.low == pytest.approx(two.low, abs=0.1 * width)
    assert one.high == pytest.approx(two.high, abs=0.1 * width)


class TestPairedDifference:
    def test_means_agree_with_a_paired_test(self):
        y, prob = problem(n=800)
        other = problem(n=800, temperature=0.8)[1]
        result = paired_difference(
            y, other, prob, metric="brier_score", n_resamples=4000
        )
        one_hot = np.eye(3)[y]
        terms = ((other - one_hot) ** 2 - (prob - one_hot) ** 2).sum(axis=1)
        assert result.difference == pytest.approx(terms.mean())
        expected = stats.ttest_1samp(terms, 0).pvalue
        assert result.p_value == pytest.approx(expected, abs=0.03)
        assert (result.low > 0) == (result.p_value < 0.05)

    def test_binned_errors(self):
        y, prob = problem(n=1000)
        worse = problem(n=1000, temperature=0.4)[1]
        result = paired_difference(y, worse, prob, n_resamples=400)
        assert result.low > 0.02
        assert result.p_value < 0.02
        back = paired_difference(y, prob, worse, n_resamples=400)
        assert back.difference == pytest.approx(-result.difference)
        assert back.high < 0
        same = paired_difference(y, prob, prob, n_resamples=400)
        assert same.difference == 0
        assert same.low <= 0 <= same.high
        assert same.p_value > 0.5

    def test_errors(self):
        y, prob = problem(n=50)
        with pytest.raises(ValueError, match="distinct labels|same classes"):
            paired_difference(y, prob, prob[:, 0])


class TestCalibratedNull:
    def test_against_a_closed_form(self):
        # One bin: the error is |mean p - mean y|, about half normal.
        p = np.full(400, 0.5)
        null = calibrated_null(
            np.arange(400) % 2, p, n_bins=1, kind="positive_class", n_resamples=4000
        )
        sigma = 0.5 / 20
        assert null.mean == pytest.approx(sigma * np.sqrt(2 / np.pi), rel=0.05)
        assert null.high == pytest.approx(sigma * stats.halfnorm.ppf(0.975), rel=0.1)
        assert null.value == 0
        assert null.p_value == 1

    @pytest.mark.parametrize("metric", ["expected_calibration_error", "brier_score"])
    def test_band_covers_under_calibration(self, metric):
        inside = 0
        for seed in range(100):
            null = calibrated_null(
                *problem(n=60, seed=seed), metric=metric, n_resamples=99
            )
            inside += null.low <= null.value <= null.high
        assert 88 <= inside <= 100

    def test_power(self):
        null = calibrated_null(*problem(temperature=0.5), n_resamples=200)
        assert null.value > null.high
        assert null.p_value == 1 / 201

    def test_whole_weights_are_repetitions(self):
        y, prob = problem(n=50)
        weight = np.random.default_rng(0).integers(0, 3, 50)
        one = calibrated_null(y, prob, sample_weight=weight, n_resamples=30)
        two = calibrated_null(
            y.repeat(weight), prob.repeat(weight, axis=0), n_resamples=30
        )
        assert one == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize("function", [bootstrap_interval, calibrated_null])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "accuracy"}, "'accuracy' is not a metric"),
        ({"metric": 3}, "'metric' parameter"),
        ({"confidence_level": 95}, "'confidence_level' parameter"),
        ({"n_resamples": 0}, "'n_resamples' parameter"),
    ],
)
def test_errors(function, options, message):
    y, prob = problem(n=30)
    with pytest.raises(ValueError, match=message):
        function(y, prob, **options)
    with pytest.raises(ValueError, match="'stratify' parameter"):
        bootstrap_interval(y, prob, stratify="y")
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        function(y, prob, n_bins=0)
    assert brier_score(y, prob) > 0

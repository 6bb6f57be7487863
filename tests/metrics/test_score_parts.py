import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from sklearn_smart import SMARTCalibrator
from sklearn_smart.metrics import (
    brier_decomposition,
    brier_score,
    log_loss,
    score_parts,
    spiegelhalter_test,
)


def problem(n=1000, k=3, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(k, 0.7), size=n)
    y = (rng.random((n, 1)) > np.cumsum(prob, axis=1)).sum(axis=1)
    return np.minimum(y, k - 1), prob


def sharpened(prob, temperature):
    z = prob ** (1 / temperature)
    return z / z.sum(axis=1, keepdims=True)


class TestBrierDecomposition:
    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_by_its_formula(self, strategy, weighted, n_classes):
        rng = np.random.default_rng(0)
        prob = rng.multinomial(10, np.full(n_classes, 1 / n_classes), 1000) / 10
        y = rng.integers(0, n_classes, 1000)
        weight = np.random.default_rng(1).random(len(y)) if weighted else None
        # Bins of one tenth hold one probability each: nothing remains within bins.
        n_bins = 10 if strategy == "uniform" else 100_000
        parts = brier_decomposition(
            y, prob, n_bins=n_bins, strategy=strategy, sample_weight=weight
        )
        w = np.ones(len(y)) if weight is None else weight
        w = w / w.sum()
        reliability = resolution = uncertainty = 0
        for k in range(n_classes):
            base = w @ (y == k)
            uncertainty += base * (1 - base)
            groups = np.round(prob[:, k] * 10).astype(int)
            if strategy == "uniform":
                groups = np.maximum(groups, 1)
            for g in np.unique(groups):
                rows = groups == g
                share = w[rows].sum()
                frequency = w[rows] @ (y[rows] == k) / share
                mean = w[rows] @ prob[rows, k] / share
                reliability += share * (mean - frequency) ** 2
                resolution += share * (frequency - base) ** 2
        scale = 0.5 if n_classes == 2 else 1
        assert parts.reliability == pytest.approx(scale * reliability, abs=1e-12)
        assert parts.resolution == pytest.approx(scale * resolution, abs=1e-12)
        assert parts.uncertainty == pytest.approx(scale * uncertainty, abs=1e-12)
        assert parts.score == pytest.approx(
            brier_score(y, prob, sample_weight=weight), abs=1e-12
        )
        total = parts.reliability - parts.resolution + parts.uncertainty
        assert parts.score == pytest.approx(total + parts.within_bins, abs=1e-12)
        if strategy == "quantile":
            assert parts.within_bins == pytest.approx(0, abs=1e-12)

    def test_within_bins_is_variance_minus_twice_covariance(self):
        y, prob = problem(k=2)
        p, a = prob[:, 1], y
        index = np.minimum((p * 4).astype(int), 3)
        expected = 0
        for b in range(4):
            q, o = p[index == b], a[index == b]
            expected += len(q) / len(p) * (q.var() - 2 * np.cov(q, o, ddof=0)[0, 1])
        parts = brier_decomposition(y, p, n_bins=4)
        assert parts.within_bins == pytest.approx(expected, abs=1e-12)

    def test_one_column_is_two(self):
        y, prob = problem(k=2)
        one = brier_decomposition(y, prob[:, 1])
        assert one == pytest.approx(brier_decomposition(y, prob), abs=1e-12)


class TestScoreParts:
    @pytest.mark.parametrize("score", ["log_loss", "brier_score"])
    def test_a_wrong_temperature_is_found(self, score):
        y, prob = problem(n=4000)
        metric = {"log_loss": log_loss, "brier_score": brier_score}[score]
        parts = score_parts(y, sharpened(prob, 0.4), score=score)
        assert parts.score == pytest.approx(metric(y, sharpened(prob, 0.4)), abs=1e-12)
        assert parts.score == pytest.approx(parts.calibration + parts.refinement)
        # Recalibration leads back to the true probabilities.
        assert parts.refinement == pytest.approx(metric(y, prob), abs=2e-3)
        assert score_parts(y, prob, score=score).calibration == pytest.approx(
            0, abs=2e-3
        )

    def test_binary_in_one_column(self):
        y, prob = problem(k=2)
        for score in ("log_loss", "brier_score"):
            one = score_parts(y, prob[:, 1], score=score)
            assert one == pytest.approx(score_parts(y, prob, score=score), abs=1e-9)

    def test_own_recalibrator_and_splitter(self):
        y, prob = problem()
        cv = StratifiedKFold(4, shuffle=True, random_state=0)
        parts = score_parts(
            np.array(["a", "b", "c"])[y],
            prob,
            recalibrator=SMARTCalibrator(input="probabilities"),
            cv=cv,
        )
        expected = np.empty_like(prob)
        for train, test in cv.split(prob, y):
            smart = SMARTCalibrator(input="probabilities").fit(prob[train], y[train])
            expected[test] = smart.predict_proba(prob[test])
        assert parts.refinement == pytest.approx(log_loss(y, expected), abs=1e-12)

    def test_recalibrator_that_is_no_calibrator(self):
        y, prob = problem()
        parts = score_parts(y, prob, recalibrator=GaussianNB(), score="brier_score")
        assert 0 < parts.refinement < 1

    def test_a_class_with_one_sample_and_one_without(self):
        y, prob = problem(n=50, k=5)
        keep = y < 3
        y, prob = y[keep], prob[keep]
        y = np.r_[y, 3]
        prob = np.vstack([prob, np.full(5, 0.2)])
        assert np.isfinite(score_parts(y, prob, labels=range(5))).all()

    def test_weights_and_folds(self):
        y, prob = problem(n=300)
        same = score_parts(y, prob, sample_weight=2.5)
        assert same == pytest.approx(score_parts(y, prob), abs=1e-9)
        weight = np.r_[np.ones(200), np.zeros(100)]
        assert score_parts(y, prob, sample_weight=weight) == pytest.approx(
            score_parts(y[:200], prob[:200]), abs=1e-12
        )

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"score": "accuracy"}, "'score' parameter"),
            ({"cv": 1}, "'cv' parameter"),
        ],
    )
    def test_errors(self, options, message):
        y, prob = problem(n=20)
        with pytest.raises(ValueError, match=message):
            score_parts(y, prob, **options)
        with pytest.raises(ValueError, match="at least 2 samples"):
            score_parts([1], [0.4], labels=[0, 1])


class TestSpiegelhalter:
    def test_two_classes_by_the_paper(self):
        y, prob = problem(k=2)
        p = prob[:, 1]
        expected = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(
            ((1 - 2 * p) ** 2 * p * (1 - p)).sum()
        )
        for given in (p, prob):
            result = spiegelhalter_test(y, given)
            assert result.statistic == pytest.approx(expected, abs=1e-9)

    def test_level_and_direction(self):
        p_values = [
            spiegelhalter_test(*problem(seed=s, n=300)).p_value for s in range(400)
        ]
        assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09
        y, prob = problem()
        assert spiegelhalter_test(y, sharpened(prob, 0.5)).statistic > 5
        assert spiegelhalter_test(y, sharpened(prob, 2)).statistic < -5

    def test_no_variance(self):
        assert np.isnan(spiegelhalter_test([0, 1], [0.0, 1.0])).all()
        assert np.isnan(spiegelhalter_test([0, 1], [0.5, 0.5])).all()

import sys

import numpy as np
import pytest

from sklearn_smart import metrics


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_numbers_are_those_of_the_single_functions(n_classes, weighted):
    rng = np.random.default_rng(0)
    mean = rng.dirichlet(np.ones(n_classes), size=300)
    prob = rng.multinomial(100, mean) / 100
    y = rng.integers(0, n_classes, 300)
    weight = rng.integers(0, 3, 300) if weighted else None
    given = {"labels": range(n_classes), "sample_weight": weight}
    report = metrics.calibration_report(y, prob, n_bins=12, **given)
    ece = metrics.expected_calibration_error
    bins = {**given, "n_bins": 12}
    brier = metrics.brier_decomposition(y, prob, **bins)
    test = metrics.spiegelhalter_test(y, prob, **given)
    soft = metrics.soft_calibration_error
    expected = {
        "accuracy": np.average(prob.argmax(axis=1) == y, weights=weight),
        "confidence": np.average(prob.max(axis=1), weights=weight),
        "confidence_accuracy_gap": metrics.confidence_accuracy_gap(y, prob, **given),
        "log_loss": metrics.log_loss(y, prob, **given),
        "brier_score": metrics.brier_score(y, prob, **given),
        "brier_reliability": brier.reliability,
        "brier_resolution": brier.resolution,
        "brier_uncertainty": brier.uncertainty,
        "brier_within_bins": brier.within_bins,
        "ece": ece(y, prob, **bins),
        "ece_l2": ece(y, prob, norm="l2", **bins),
        "ece_l2_debiased": ece(y, prob, norm="l2", debias=True, **bins),
        "ece_max": ece(y, prob, norm="max", **bins),
        "ece_equal_mass": ece(y, prob, strategy="quantile", **bins),
        "ece_class_wise": ece(y, prob, kind="class_wise", **bins),
        "ece_sweep": metrics.sweep_calibration_error(y, prob, **given),
        "kde_ece": metrics.kde_calibration_error(y, prob, **given),
        "smooth_ece": metrics.smooth_calibration_error(y, prob, **given),
        "soft_ece": soft(y, prob, **bins),
        "charbonnier_soft_ece": soft(y, prob, smoothing=1e-3, **bins),
        "spiegelhalter_z": test.statistic,
        "spiegelhalter_p_value": test.p_value,
    }
    assert report.values == pytest.approx(expected, abs=1e-9)
    assert list(report.values) == list(expected)
    assert report.n_samples == (300 if weight is None else weight.sum())


def test_text_and_frame(monkeypatch):
    report = metrics.calibration_report([0, 1, 1, 0], [0.2, 0.9, 0.6, 0.4], n_bins=5)
    assert str(report).startswith("4 samples, 2 classes, 5 bins\naccuracy")
    assert "ece_equal_mass" in str(report)
    pytest.importorskip("pandas", reason="needs the 'pandas' extra")
    frame = report.to_frame()
    assert frame.loc["ece", "value"] == report["ece"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="extra 'pandas'"):
        report.to_frame()


def test_bad_bins():
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        metrics.calibration_report([0, 1], [0.1, 0.9], n_bins=0)

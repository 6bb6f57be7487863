"""Agreement with other libraries on 200 random problems, differences explained."""

import numpy as np
import pytest

from sklearn_smart.metrics import (
    brier_score,
    expected_calibration_error,
    log_loss,
    smooth_calibration_error,
)

N_PROBLEMS = 200
REASON = "needs the 'rivals' extra"


def problems(multiple=1):
    """Labels and probabilities of different sizes, classes and skills."""
    for seed in range(N_PROBLEMS):
        rng = np.random.default_rng(seed)
        n, k = multiple * int(rng.integers(5, 41)), int(rng.integers(2, 8))
        prob = rng.dirichlet(np.full(k, rng.uniform(0.2, 2)), size=n)
        # Away from 1, which single precision rounds to, and which torchmetrics gives
        # a bin of its own.
        prob = 0.98 * prob + 0.02 / k
        true = prob ** rng.uniform(0.3, 2)
        true /= true.sum(axis=1, keepdims=True)
        y = (rng.random((n, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
        yield np.minimum(y, k - 1), prob


def pairs(y, prob):
    """Confidence and correctness, which others take as two classes."""
    top = prob.argmax(axis=1)
    return prob.max(axis=1), (top == y).astype(int)


def ours(metric, y, prob, **options):
    return metric(y, prob, labels=range(prob.shape[1]), **options)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_torchmetrics(norm):
    # Its bins are closed on the left; random probabilities do not lie on edges.
    torch = pytest.importorskip("torch", reason=REASON)
    functional = pytest.importorskip(
        "torchmetrics.functional.classification", reason=REASON
    )
    for y, prob in problems():
        conf, _ = pairs(y, prob)
        theirs = functional.multiclass_calibration_error(
            torch.tensor(prob), torch.tensor(y), prob.shape[1], n_bins=15, norm=norm
        )
        value = ours(expected_calibration_error, y, prob, norm=norm)
        assert value == pytest.approx(float(theirs), abs=1e-6)
        theirs = functional.binary_calibration_error(
            torch.tensor(conf), torch.tensor(y == 0), n_bins=10, norm=norm
        )
        value = expected_calibration_error(
            y == 0, conf, n_bins=10, norm=norm, kind="positive_class"
        )
        assert value == pytest.approx(float(theirs), abs=1e-6)


def test_netcal():
    netcal = pytest.importorskip("netcal.metrics", reason=REASON)
    for y, prob in problems():
        if prob.shape[1] == 2:
            p, kind = prob[:, 1], "positive_class"
        else:
            p, kind = prob, "top_label"
        for rival, norm in ((netcal.ECE(15), "l1"), (netcal.MCE(15), "max")):
            value = ours(expected_calibration_error, y, prob, norm=norm, kind=kind)
            assert value == pytest.approx(rival.measure(p, y), abs=1e-9)


def test_relplot():
    # relplot finds the bandwidth by halving the interval ten times, so to 1 / 1024. On
    # a handful of samples it differs by more: its kernel is cut at a distance of 1/2,
    # and its integral is a sum over 200 places that counts both ends in full.
    relplot = pytest.importorskip("relplot", reason=REASON)
    for y, prob in problems(multiple=15):
        conf, correct = pairs(y, prob)
        theirs = relplot.smECE(conf, correct)
        value = ours(smooth_calibration_error, y, prob)
        assert value == pytest.approx(theirs, abs=1 / 1024)


@pytest.mark.parametrize("debias", [False, True])
def test_uncertainty_calibration(debias):
    # Sizes are multiples of 15: its bins of equal size put what remains of other
    # sizes into the first ones, ours spread it.
    calibration = pytest.importorskip("calibration", reason=REASON)
    for y, prob in problems(multiple=15):
        theirs = calibration.lower_bound_scaling_ce(
            prob, y, p=2, debias=debias, num_bins=15, mode="top-label"
        )
        value = ours(
            expected_calibration_error,
            y,
            prob,
            strategy="quantile",
            norm="l2",
            debias=debias,
        )
        assert value == pytest.approx(theirs, abs=1e-9)


def test_uncertainty_calibration_by_class():
    # Without debiasing: debiased, it sets each class's square to at least 0 before
    # it takes their mean, we only the mean, which has less bias.
    calibration = pytest.importorskip("calibration", reason=REASON)
    for y, prob in problems(multiple=15):
        theirs = calibration.lower_bound_scaling_ce(
            prob, y, p=2, debias=False, num_bins=15, mode="marginal"
        )
        value = ours(
            expected_calibration_error,
            y,
            prob,
            strategy="quantile",
            norm="l2",
            kind="class_wise",
        )
        assert value == pytest.approx(theirs, abs=1e-9)


def test_probmetrics():
    # Its Brier loss is the sum over classes, its errors are torchmetrics' and
    # relplot's, in single precision; for two classes it takes the pair of the second
    # class for the calibration errors.
    torch = pytest.importorskip("torch", reason=REASON)
    rival = pytest.importorskip("probmetrics.metrics", reason=REASON)
    distributions = pytest.importorskip("probmetrics.distributions", reason=REASON)
    metrics = rival.Metrics.from_names(["logloss", "brier", "ece-15", "smece"])
    for y, prob in problems(multiple=15):
        k = prob.shape[1]
        theirs = metrics.compute_all(
            distributions.CategoricalDirac(torch.tensor(y), k),
            distributions.CategoricalProbs(torch.tensor(prob)),
        )
        kind = "positive_class" if k == 2 else "top_label"
        assert ours(log_loss, y, prob) == pytest.approx(float(theirs["logloss"]))
        value = ours(brier_score, y, prob, scale_by_half=False)
        assert value == pytest.approx(float(theirs["brier"]))
        value = ours(expected_calibration_error, y, prob, kind=kind)
        assert value == pytest.approx(float(theirs["ece-15"]), abs=1e-6)
        value = ours(smooth_calibration_error, y, prob, kind=kind)
        assert value == pytest.approx(float(theirs["smece"]), abs=1 / 1024)

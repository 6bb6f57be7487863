"""Coverage of the intervals of ``sklearn_smart.metrics``, by simulation.

    python benchmarks/metrics_coverage.py                     # 1000 simulations
    python benchmarks/metrics_coverage.py --simulations 200 --metric brier_score

Binary labels are drawn with known probabilities; a model reports other ones. The
estimand of a binned error is its population value in the same bins, from a sample of
four million. Differences are those of two models on the same samples: both biased, the
second one calibrated, both calibrated (one of them sees less).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from sklearn_smart.metrics import (
    bootstrap_interval,
    calibrated_null,
    paired_difference,
)
from sklearn_smart.metrics._catalogue import METRICS

POPULATION = 4_000_000
N_RESAMPLES = 500


def sharpened(p, temperature):
    """Probability whose log-odds are divided by a temperature."""
    odds = np.log(p) - np.log1p(-p)
    return 1 / (1 + np.exp(-odds / temperature))


def draw(n, rng):
    """Labels, and the probabilities of all models."""
    known, hidden = rng.normal(size=(2, n)) * np.array([[1.5], [1.0]])
    true = 1 / (1 + np.exp(-(known + hidden)))
    # Given ``known`` alone, averaged over ``hidden`` by quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    less = np.zeros(n)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        less += weight / (1 + np.exp(-(known + node)))
    y = (rng.random(n) < true).astype(int)
    return y, {
        "calibrated": true,
        "sees less": less,
        "slightly biased": sharpened(true, 0.9),
        "biased": sharpened(true, 0.6),
        "biased otherwise": sharpened(less, 0.7),
    }


SINGLES = ("calibrated", "slightly biased", "biased")
PAIRS = (
    ("biased", "biased otherwise"),
    ("biased", "calibrated"),
    ("calibrated", "sees less"),
)


def estimands(metric, options):
    """Population value of a metric for each model."""
    y, models = draw(POPULATION, np.random.default_rng(12345))
    function = METRICS[metric].function
    return {
        name: _population(function, metric, y, prob, options)
        for name, prob in models.items()
    }


def _population(function, metric, y, prob, options):
    if metric == "expected_calibration_error" and prob is not None:
        options = {**options, "debias": options.get("norm") == "l2"}
    return function(y, prob, **options)


def simulate(seed, n, metric, options):
    """Intervals of one simulated data set: singles, then pairs, then the null band."""
    warnings.simplefilter("ignore")
    y, models = draw(n, np.random.default_rng(seed))
    given = {
        "metric": metric,
        "n_resamples": N_RESAMPLES,
        "labels": [0, 1],
        "random_state": seed,
        **options,
    }
    singles = [bootstrap_interval(y, models[name], **given)[:3] for name in SINGLES]
    pairs = [paired_difference(y, models[a], models[b], **given)[:3] for a, b in PAIRS]
    null = calibrated_null(y, models["calibrated"], **given)
    return singles, pairs, (null.value, null.low, null.high)


def _row(name, truth, intervals):
    value, low, high = np.array(intervals).T
    inside = np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9))
    widths = f"{np.mean(high - low):>9.4f}"
    print(f"  {name:<34}{truth:>9.4f}{value.mean():>9.4f}{inside:>10.3f}{widths}")


def study(metric, options, n, simulations, n_jobs):
    """Print the coverage of one metric at one size."""
    truth = estimands(metric, options)
    if metric == "expected_calibration_error":
        # Exactly 0 by construction; the sample of the population has noise.
        truth["calibrated"] = truth["sees less"] = 0.0
    results = Parallel(n_jobs=n_jobs)(
        delayed(simulate)(seed, n, metric, options) for seed in range(simulations)
    )
    print(f"{metric} {options or ''}, n = {n}, {simulations} simulations")
    print(f"  {'model':<34}{'truth':>9}{'mean':>9}{'coverage':>10}{'width':>9}")
    for i, name in enumerate(SINGLES):
        _row(name, truth[name], [result[0][i] for result in results])
    for i, (a, b) in enumerate(PAIRS):
        _row(f"{a} - {b}", truth[a] - truth[b], [result[1][i] for result in results])
    value, low, high = np.array([result[2] for result in results]).T
    inside = np.mean((low <= value) & (value <= high))
    print(f"  {'band under calibration':<34}{'':>9}{'':>9}{inside:>10.3f}", flush=True)


def main():
    """Parse the command line and run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--metric", choices=list(METRICS), default=None)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5000])
    args = parser.parse_args()
    if args.metric is None:
        todo = [
            ("brier_score", {}),
            ("log_loss", {}),
            ("expected_calibration_error", {}),
            ("expected_calibration_error", {"norm": "l2"}),
            ("expected_calibration_error", {"strategy": "quantile"}),
            ("soft_calibration_error", {}),
        ]
    else:
        todo = [(args.metric, {})]
    for metric, options in todo:
        for n in args.sizes:
            study(metric, options, n, args.simulations, args.n_jobs)


if __name__ == "__main__":
    main()

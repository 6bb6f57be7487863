"""Time and memory of the metrics, in units of one ``numpy.argsort`` of the same values.

    python benchmarks/metrics_speed.py              # 10,000,000 confidences
    python benchmarks/metrics_speed.py --wide       # 2,000 rows of 20,000 classes

The units are measured in the same process, best of three. Memory is the largest amount
that NumPy has allocated during a call beyond what stood before, by ``tracemalloc``.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc

import numpy as np

from sklearn_smart import metrics

TARGETS = {
    "expected_calibration_error, equal width": 1.0,
    "expected_calibration_error, l2 debiased": 1.0,
    "log_loss": 1.0,
    "brier_score": 1.0,
    "confidence_accuracy_gap": 1.0,
    "expected_calibration_error, equal mass": 1.5,
    "smooth_calibration_error": 5.0,
    "kde_calibration_error": 5.0,
    "soft_calibration_error": 5.0,
    "sweep_calibration_error": 5.0,
    "spiegelhalter_test": 5.0,
    "brier_decomposition": 5.0,
}


def calls():
    """Name and call of each metric."""
    ece = metrics.expected_calibration_error
    return {
        "expected_calibration_error, equal width": ece,
        "expected_calibration_error, l2 debiased": lambda y, p: ece(
            y, p, norm="l2", debias=True
        ),
        "log_loss": metrics.log_loss,
        "brier_score": metrics.brier_score,
        "confidence_accuracy_gap": metrics.confidence_accuracy_gap,
        "expected_calibration_error, equal mass": lambda y, p: ece(
            y, p, strategy="quantile"
        ),
        "smooth_calibration_error": metrics.smooth_calibration_error,
        "kde_calibration_error": metrics.kde_calibration_error,
        "soft_calibration_error": metrics.soft_calibration_error,
        "sweep_calibration_error": metrics.sweep_calibration_error,
        "spiegelhalter_test": metrics.spiegelhalter_test,
        "brier_decomposition": metrics.brier_decomposition,
    }


def best_of(function, *args, repeats=3):
    """Least time of some calls, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory(function, *args):
    """Most bytes allocated during a call beyond what stood before."""
    gc.collect()
    tracemalloc.start()
    function(*args)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def long_table(n):
    """Print times for n confidences of two classes."""
    rng = np.random.default_rng(0)
    prob = rng.random(n)
    y = (rng.random(n) < prob).astype(np.int64)
    unit = best_of(np.argsort, prob)
    print(f"{n:,} confidences; one argsort {unit:.2f} s")
    print(f"{'metric':<42}{'seconds':>9}{'argsorts':>10}{'target':>8}")
    for name, call in calls().items():
        seconds = best_of(call, y, prob)
        ratio, target = seconds / unit, TARGETS[name]
        flag = "" if ratio <= target else "  missed"
        print(f"{name:<42}{seconds:>9.2f}{ratio:>10.2f}{target:>8.1f}{flag}")


def wide_table(n, n_classes):
    """Print memory beyond the input for many classes."""
    rng = np.random.default_rng(0)
    prob = rng.random((n, n_classes))
    prob /= prob.sum(axis=1, keepdims=True)
    y = rng.integers(0, n_classes, n)
    labels = np.arange(n_classes)
    ece = metrics.expected_calibration_error
    wide = {
        "expected_calibration_error": ece,
        "  class-wise": lambda y, p, labels: ece(
            y, p, labels=labels, kind="class_wise"
        ),
        "  class-wise, equal mass": lambda y, p, labels: ece(
            y, p, labels=labels, kind="class_wise", strategy="quantile"
        ),
        "log_loss": metrics.log_loss,
        "brier_score": metrics.brier_score,
        "brier_decomposition": metrics.brier_decomposition,
        "spiegelhalter_test": metrics.spiegelhalter_test,
        "calibration_report": metrics.calibration_report,
    }
    print(f"{n:,} rows of {n_classes:,} classes, {prob.nbytes / 2**20:,.0f} MiB")
    print(f"{'metric':<42}{'seconds':>9}{'memory beyond input':>21}")
    for name, call in wide.items():
        seconds = best_of(
            lambda y, p, call=call: call(y, p, labels=labels), y, prob, repeats=1
        )
        extra = peak_memory(lambda y, p, call=call: call(y, p, labels=labels), y, prob)
        print(f"{name:<42}{seconds:>9.2f}{extra / prob.nbytes:>20.0%}")


def main():
    """Parse the command line and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--wide", action="store_true")
    args = parser.parse_args()
    if args.wide:
        wide_table(2_000, 20_000)
    else:
        long_table(args.n)


if __name__ == "__main__":
    main()

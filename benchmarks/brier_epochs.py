"""Time of a network epoch beside scikit-learn's MLPClassifier of the same sizes.

``python benchmarks/brier_epochs.py`` trains both with Adam and batches of 200 for some
epochs on 10,000 samples, in turns, with one thread for linear algebra, and prints the
medians of the time of an epoch.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from sklearn_smart import BrierWeightedClassifier

EPOCHS, REPEATS = 5, 5


def seconds(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return (time.perf_counter() - start) / EPOCHS


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    print("| features | classes | hidden | dtype | ms | MLPClassifier ms | ratio |")
    print("|---|---|---|---|---|---|---|")
    for n_features, n_classes, hidden in [
        (20, 2, (32,)),
        (64, 10, (100,)),
        (784, 10, (100,)),
        (784, 10, (256, 256)),
    ]:
        for dtype in (np.float64, np.float32):
            X = rng.normal(size=(10_000, n_features)).astype(dtype)
            y = rng.integers(n_classes, size=10_000)
            settings = {
                "hidden_layer_sizes": hidden,
                "max_iter": EPOCHS,
                "batch_size": 200,
                "random_state": 0,
            }
            ours, theirs = [], []
            for _ in range(REPEATS):
                theirs.append(seconds(MLPClassifier(**settings, tol=0), X, y))
                ours.append(seconds(BrierWeightedClassifier(**settings, tol=0), X, y))
            a, b = 1e3 * np.median(ours), 1e3 * np.median(theirs)
            print(
                f"| {n_features} | {n_classes} | {hidden} | {np.dtype(dtype)} | "
                f"{a:.1f} | {b:.1f} | {a / b:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

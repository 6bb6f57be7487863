"""Raw output and posterior on well-specified data, beside cross-entropy.

``python benchmarks/brier_posterior.py`` draws labels from the softmax of linear scores,
20,000 samples to fit and 20,000 to test, fits linear scores by each method, and prints
top-label ECE (15 bins) and log loss, means over seeds. "raw" is the raw output of
linear raw scores, "inverted" their inverse, "bayes" the posterior with linear scores of
its own. ``strength`` is the standard deviation of the true coefficients of ten normal
features.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sklearn_smart import BrierWeightedClassifier
from sklearn_smart.metrics import expected_calibration_error


def draw(n_classes, strength, seed, n=20_000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 10))
    logits = X @ (strength * rng.normal(size=(10, n_classes)))
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    y = (p.cumsum(axis=1) < rng.uniform(size=(2 * n, 1))).sum(axis=1)
    return X[:n], np.minimum(y[:n], n_classes - 1), X[n:], y[n:].clip(0, n_classes - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    methods = {"cross-entropy": LogisticRegression()}
    for gamma in (1.0, 2.0, 4.0):
        for name, settings in (
            ("raw", {"posterior": "raw"}),
            ("inverted", {"posterior": "bayes", "link": "raw"}),
            ("bayes", {"posterior": "bayes"}),
        ):
            methods[f"gamma {gamma:g}, {name}"] = BrierWeightedClassifier(
                gamma=gamma, **settings
            )
    print("| classes | strength | method | ECE % | log loss | beside cross-entropy |")
    print("|---|---|---|---|---|---|")
    for n_classes in (3, 10):
        for strength in (0.3, 0.5, 1.0):
            reference = None
            for name, model in methods.items():
                numbers = []
                for seed in range(options.seeds):
                    X, y, X_test, y_test = draw(n_classes, strength, seed)
                    p = model.fit(X, y).predict_proba(X_test)
                    numbers.append(
                        (expected_calibration_error(y_test, p), log_loss(y_test, p))
                    )
                ece, loss = np.mean(numbers, axis=0)
                reference = reference or (ece, loss)
                print(
                    f"| {n_classes} | {strength:g} | {name} | {100 * ece:.2f} | "
                    f"{loss:.4f} | {ece / reference[0]:.2f}, "
                    f"{loss / reference[1]:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

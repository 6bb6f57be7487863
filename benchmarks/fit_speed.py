"""Time of a fit and of a prediction, against scikit-learn and the published recipe.

    python benchmarks/fit_speed.py                 # 5,000 x 10 and 25,000 x 1000
    python benchmarks/fit_speed.py --problems small

All are measured in one process, medians of ``--repeats``; the table gives seconds and
the ratio to one SMART fit with settings given. The published recipe is in PyTorch
(extra ``torch``), written for speed: float32, margins and gaps once, in-place softmax,
no logging; a few steps are timed and 2000 extrapolated, and one step is printed as a
multiple of ``scipy.special.softmax`` of the same array: above 10 the comparison would
not count. Memory is the peak of what NumPy allocated beyond the input.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings

import numpy as np
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sklearn_smart import SMARTCalibrator, TemperatureScaling


def problem(n, n_classes, dtype, seed=0):
    """Over-confident logits whose right temperature depends on the margin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    clean = rng.normal(size=(n, n_classes))
    clean[np.arange(n), y] += 1.5 * np.sqrt(np.log(n_classes))
    difficulty = rng.uniform(0.5, 3.0, size=(n, 1))
    return (2.0 * difficulty * clean).astype(dtype), y


PROBLEMS = {
    "small": (5_000, 10, np.float64),
    "large": (25_000, 1_000, np.float32),
}


def median_seconds(function, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


class _Scores(LogisticRegression):
    """A fitted classifier whose decision function is the array it is given."""

    def decision_function(self, X):
        return X


def scikit_learn_temperature(logits, y):
    """scikit-learn's temperature scaling of the same array."""
    base = _Scores(max_iter=1)
    base.classes_ = np.unique(y)
    base.coef_ = np.zeros((len(base.classes_), logits.shape[1]))
    base.intercept_ = np.zeros(len(base.classes_))
    base.n_features_in_ = logits.shape[1]
    model = CalibratedClassifierCV(FrozenEstimator(base), method="temperature")
    return lambda: model.fit(logits, y)


def published_step(logits, y):
    """One step of the published recipe in PyTorch, as a function."""
    import torch

    z = torch.from_numpy(np.ascontiguousarray(logits, dtype=np.float32))
    top = z.topk(2, dim=1)
    margin = top.values[:, 0] - top.values[:, 1]
    x = ((margin - margin.mean()) / margin.std(unbiased=False))[:, None]
    correct = (top.indices[:, 0] == torch.from_numpy(y)).float()
    gaps = z - top.values[:, :1]
    centres = (torch.arange(15) + 0.5) / 15
    layers = (torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    network = torch.nn.Sequential(*layers, torch.nn.Softplus())
    adam = torch.optim.Adam(network.parameters(), lr=5e-3)

    def step():
        adam.zero_grad(set_to_none=True)
        temperature = network(x) + 0.1
        # The confidence is exp(-log sum exp): one pass, and nothing of n x K is kept
        # but what its gradient needs.
        confidence = (-torch.logsumexp(gaps / temperature, dim=1)).exp()
        distance = (confidence[:, None] - centres) / 0.05
        member = torch.softmax(-0.5 * distance**2, dim=1)
        signed = (member * (confidence - correct)[:, None]).sum(dim=0)
        mass = member.sum(dim=0)
        loss = torch.sqrt(signed**2 + (1e-3 * mass) ** 2).sum() / len(x)
        loss.backward()
        adam.step()

    return step


def peak_share(function, array):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / array.nbytes


def measure(name, repeats, steps):
    n, n_classes, dtype = PROBLEMS[name]
    logits, y = problem(n, n_classes, dtype)
    known = {"classes": n_classes}
    given = SMARTCalibrator(alpha=0.3, **known)
    tuned = SMARTCalibrator(**known)
    single = TemperatureScaling(**known)
    fits = {
        "SMART, settings given": lambda: given.fit(logits, y),
        "SMART, default": lambda: tuned.fit(logits, y),
        "TemperatureScaling": lambda: single.fit(logits, y),
        "scikit-learn temperature": scikit_learn_temperature(logits, y),
    }
    print(f"\n{n:,} x {n_classes}, {np.dtype(dtype).name}")
    seconds = {label: median_seconds(fit, repeats) for label, fit in fits.items()}
    unit = seconds["SMART, settings given"]
    for label, value in seconds.items():
        print(f"{label:34}{value:10.4f} s {value / unit:9.2f} x")
    plain = median_seconds(lambda: softmax(logits, axis=1), repeats)
    predict = median_seconds(lambda: given.predict_proba(logits), repeats)
    print(f"{'scipy softmax':34}{plain:10.4f} s")
    print(f"{'SMART predict_proba':34}{predict:10.4f} s {predict / plain:9.2f} softmax")
    memory = peak_share(lambda: given.fit(logits, y), logits)
    print(f"{'peak memory of the given fit':34}{memory:10.2f} of the input")
    try:
        step = published_step(logits, y)
    except ImportError:
        print("the published recipe needs the 'torch' extra")
        return
    step()
    one = median_seconds(step, steps)
    print(
        f"{'published recipe, 2000 steps':34}{2000 * one:10.1f} s "
        f"{2000 * one / unit:9.1f}"
        f" x   (a step is {one / plain:.1f} softmax)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="timed of the recipe")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.problems:
        measure(name, arguments.repeats, arguments.steps)


if __name__ == "__main__":
    main()

"""How much calibration data each method needs: a study over a folder of score files.

    python benchmarks/calibration_size.py FOLDER --results study.jsonl
    python benchmarks/calibration_size.py FOLDER --results study.jsonl --table

Each ``.npz`` file holds ``logits`` or ``probs`` with ``labels``, or the two parts
``val_logits, val_labels, test_logits, test_labels``, which are pooled. For each size n
the rows are drawn at random without replacement ``--subsets`` times and the rest is the
test part, at most ``--test`` rows of it; n "all" is half of the rows. Every result is
one line of the results file, written when it is there, so a stopped run goes on where
it ended. The table gives geometric means over files of the ratio to temperature scaling
of the same subsets, with an interval by resampling files and once more without the file
on which the method is best, and wins and losses: files
where the 95 % interval over subsets of the log ratio excludes 0.

Files in which every row is tied or a score is not finite are left out and named. Ratios
of the calibration error are also given without the files on which temperature scaling
is within 10 % of its null, the error that true probabilities of its kind would show.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.pipeline import make_pipeline

from sklearn_smart import (
    IsotonicCalibrator,
    MatrixScaling,
    SigmoidCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
    TopLabelIsotonic,
    Uncalibrated,
    VectorScaling,
    metrics,
)

SIZES = ("50", "100", "200", "500", "1000", "2000", "all")
REFERENCE = "temperature"


def methods(seeds):
    """Name and maker of each method."""
    return {
        "uncalibrated": Uncalibrated,
        REFERENCE: TemperatureScaling,
        "smart": SMARTCalibrator,
        "vector": VectorScaling,
        "vector then smart": lambda input, classes: make_pipeline(
            VectorScaling(input=input, classes=classes),
            SMARTCalibrator(classes=classes),
        ),
        "matrix then smart": lambda input, classes: make_pipeline(
            MatrixScaling(input=input, classes=classes),
            SMARTCalibrator(classes=classes),
        ),
        "top-label isotonic": TopLabelIsotonic,
        "sigmoid": SigmoidCalibrator,
        "isotonic": IsotonicCalibrator,
        **rivals(),
        **{
            f"smart published, seed {seed}": lambda seed=seed, **parameters: (
                SMARTCalibrator.published(random_state=seed, **parameters)
            )
            for seed in range(seeds)
        },
    }


def rivals():
    """Structured scaling of probmetrics, where that is installed."""
    if find_spec("probmetrics") is None:
        return {}

    class Structured:
        """Its calibrators take probabilities, and column indices as labels."""

        def __init__(self, kind, input, classes):
            self.kind, self.probabilities = kind, input == "probabilities"

        def _given(self, scores):
            if self.probabilities:
                rows = np.clip(scores.astype(np.float64), 0, 1)
                return rows / rows.sum(axis=1, keepdims=True)
            return softmax(scores.astype(np.float64), axis=1)

        def fit(self, scores, y):
            from probmetrics import calibrators

            self.calibrator = getattr(calibrators, self.kind)()
            self.calibrator.fit(self._given(scores), y)
            return self

        def predict_proba(self, scores):
            return self.calibrator.predict_proba(self._given(scores))

    return {
        f"probmetrics {kind[:3]}": lambda kind=kind, **settings: Structured(
            kind, **settings
        )
        for kind in ("SVSCalibrator", "SMSCalibrator")
    }


def read(path):
    """Pooled scores, labels and the kind of scores; None where they are degenerate."""
    with np.load(path, allow_pickle=False) as file:
        parts = {name: file[name] for name in file.files}
    kind = "probabilities" if "probs" in parts else "logits"
    if "val_logits" in parts:
        scores = np.concatenate([parts["val_logits"], parts["test_logits"]])
        labels = np.concatenate([parts["val_labels"], parts["test_labels"]])
    else:
        scores = parts["probs" if kind == "probabilities" else "logits"]
        labels = parts["labels"]
    # Half precision is how the file is stored, single how a network computes.
    scores = scores.astype(np.float32) if scores.dtype.itemsize < 4 else scores
    if not np.isfinite(scores).all() or not np.ptp(scores, axis=1).any():
        return None
    return scores, labels.astype(np.intp), kind


def measure(y, p, scores_correct):
    """Every measure of the study, all lower is better but accuracy."""
    ece = metrics.expected_calibration_error
    known = range(p.shape[1])
    return {
        "ece": ece(y, p, kind="top_label", labels=known),
        "ece equal mass": ece(
            y, p, kind="top_label", strategy="quantile", labels=known
        ),
        "ece class-wise": ece(y, p, kind="class_wise", labels=known),
        "ece debiased": ece(
            y, p, kind="top_label", norm="l2", debias=True, labels=known
        ),
        "smooth ece": metrics.smooth_calibration_error(
            y, p, kind="top_label", labels=known
        ),
        "log loss": metrics.log_loss(y, p, labels=known),
        "brier": metrics.brier_score(y, p, labels=known),
        "accuracy": float((p.argmax(axis=1) == y).mean()),
        "null ece": null_ece(p),
        "changed": float((p.argmax(axis=1) != scores_correct).mean()),
    }


def null_ece(p, draws=5):
    """Mean calibration error of the same confidences, were they true."""
    confidence = p.max(axis=1).astype(np.float64)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(draws):
        correct = (rng.random(len(confidence)) < confidence).astype(int)
        errors.append(
            metrics.expected_calibration_error(
                correct,
                np.minimum(confidence, 1.0),
                kind="positive_class",
                labels=[0, 1],
            )
        )
    return float(np.mean(errors))


def run(folder, results, sizes, subsets, makers, test):
    """Append what is not yet in ``results``, one line per fit."""
    done = {key(row) for row in load(results)}
    files = sorted(Path(folder).glob("*.npz"))
    if not files:
        raise SystemExit(f"no .npz files in {folder}")
    with results.open("a") as out:
        for path in files:
            data = read(path)
            if data is None:
                print(f"{path.stem}: degenerate, left out")
                continue
            scores, y, kind = data
            for size in sizes:
                start = time.perf_counter()
                for subset in range(subsets):
                    for row in one_subset(
                        path.stem,
                        scores,
                        y,
                        kind,
                        size,
                        subset,
                        makers,
                        test,
                        done,
                    ):
                        out.write(json.dumps(row) + "\n")
                        out.flush()
                spent = time.perf_counter() - start
                print(f"{path.stem:32} n = {size:>5} {spent:8.1f} s", flush=True)


def one_subset(stem, scores, y, kind, size, subset, makers, test, done):
    """Results of the methods that are still missing for one subset."""
    missing = [name for name in makers if (stem, size, subset, name) not in done]
    if not missing:
        return
    order = np.random.default_rng([subset, len(y)]).permutation(len(y))
    n = len(y) // 2 if size == "all" else min(int(size), len(y) // 2)
    fit, held = order[:n], order[n : n + test]
    for name in missing:
        calibrator = makers[name](input=kind, classes=scores.shape[1])
        start = time.perf_counter()
        with warnings.catch_warnings():
            # A temperature at a bound of its search is a result here like any other.
            warnings.simplefilter("ignore")
            calibrator.fit(scores[fit], y[fit])
        seconds = time.perf_counter() - start
        p = calibrator.predict_proba(scores[held])
        values = measure(y[held], p, scores[held].argmax(axis=1))
        yield {
            "file": stem,
            "size": size,
            "subset": subset,
            "method": name,
            "seconds": seconds,
            **values,
        }


def key(row):
    return row["file"], row["size"], row["subset"], row["method"]


def load(results):
    """Rows of a results file; a last line cut short by a stop is dropped."""
    rows = []
    if results.exists():
        for line in results.read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return rows


def merged(name):
    """The seeds of one method count together."""
    return name.split(", seed")[0]


def table(rows):
    """Print ratios to the reference for each size and method."""
    cells = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row["size"], row["file"]][merged(row["method"])].append(row)
    for size in SIZES:
        files = sorted(file for at, file in cells if at == size)
        if not files:
            continue
        close = [f for f in files if near_null(cells[size, f][REFERENCE])]
        print(f"\nn = {size}: {len(files)} files; near the null: {', '.join(close)}")
        head = f"{'method':20}{'ECE':>28}{'without near null':>30}{'log loss':>30}"
        print(head + f"{'worst ECE':>11}{'worst loss':>12}{'won':>5}{'lost':>5}")
        for name in dict.fromkeys(merged(row["method"]) for row in rows):
            have = [f for f in files if cells[size, f][name]]
            if name != REFERENCE and have:
                line(name, have, close, {f: cells[size, f] for f in have})


def line(name, files, close, cells):
    ece = {f: log_ratio(cells[f], name, "ece") for f in files}
    loss = {f: log_ratio(cells[f], name, "log loss") for f in files}
    far = [f for f in files if f not in close]
    verdicts = [verdict(cells[f], name) for f in files]
    print(
        f"{name:20}{mean_and_interval(ece, files)}  {mean_and_interval(ece, far)}  "
        f"{mean_and_interval(loss, files)}{math.exp(max(ece.values())):11.2f}"
        f"{math.exp(max(loss.values())):12.3f}{verdicts.count(-1):5}{verdicts.count(1):5}"
    )


def near_null(rows):
    return np.mean([r["ece"] for r in rows]) <= 1.1 * np.mean(
        [r["null ece"] for r in rows]
    )


def log_ratio(methods_rows, name, measure_name):
    """Log of the ratio of means over subsets."""
    mean = {
        key: np.mean([row[measure_name] for row in methods_rows[key]])
        for key in (name, REFERENCE)
    }
    return float(np.log(mean[name] / mean[REFERENCE]))


def verdict(methods_rows, name):
    """-1 where the calibration error is lower beyond doubt, 1 where it is higher."""
    by_subset = defaultdict(list)
    for row in methods_rows[name]:
        by_subset[row["subset"]].append(row["ece"])
    reference = {row["subset"]: row["ece"] for row in methods_rows[REFERENCE]}
    difference = np.array(
        [
            np.mean(value) - reference[s]
            for s, value in by_subset.items()
            if s in reference
        ]
    )
    if len(difference) < 2:
        return 0
    error = 1.96 * difference.std(ddof=1) / math.sqrt(len(difference))
    return int(np.sign(difference.mean())) if abs(difference.mean()) > error else 0


def mean_and_interval(values, files):
    """Geometric mean over files and its 95 % interval by resampling them."""
    if not files:
        return " " * 28
    logs = np.array([values[file] for file in files])
    without_best = math.exp(np.sort(logs)[1:].mean()) if len(logs) > 1 else math.nan
    draws = np.random.default_rng(0).integers(len(logs), size=(2000, len(logs)))
    low, high = np.exp(np.quantile(logs[draws].mean(axis=1), [0.025, 0.975]))
    return f"{math.exp(logs.mean()):8.3f} [{low:.3f}, {high:.3f}] {without_best:.3f}"


def picture(rows, path):
    """ECE and log loss against n, geometric means of the ratios."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    names = list(dict.fromkeys(merged(r["method"]) for r in rows))
    styles = ["-o", "--s", "-.^", ":D", "-v", "--P"]
    for ax, measure_name in zip(axes, ("ece", "log loss"), strict=True):
        for style, name in zip(styles, names, strict=False):
            points = []
            for size in SIZES:
                cells = defaultdict(lambda: defaultdict(list))
                for row in rows:
                    if row["size"] == size:
                        cells[row["file"]][merged(row["method"])].append(row)
                logs = [
                    log_ratio(c, name, measure_name) for c in cells.values() if c[name]
                ]
                points.append(math.exp(np.mean(logs)) if logs else math.nan)
            known = np.flatnonzero(np.isfinite(points))
            ax.plot(known, np.array(points)[known], style, label=name, markersize=4)
        ax.set(xlabel="calibration samples", yscale="log")
        ax.set_xticks(range(len(SIZES)), SIZES)
        ax.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(0.5, 0.6, 0.8, 1, 1.5)))
        ax.yaxis.set_major_formatter(mpl.ticker.ScalarFormatter())
        ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        ax.set_title(f"{measure_name} / that of temperature scaling", fontsize=10)
        ax.axhline(1.0, color="0.7", zorder=0)
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--subsets", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3, help="of the published recipe")
    parser.add_argument("--test", type=int, default=10_000, help="largest test part")
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if not arguments.table:
        makers = {
            name: maker
            for name, maker in methods(arguments.seeds).items()
            if arguments.methods is None or merged(name) in arguments.methods
        }
        run(
            arguments.folder,
            arguments.results,
            arguments.sizes,
            arguments.subsets,
            makers,
            arguments.test,
        )
    rows = load(arguments.results)
    table(rows)
    if arguments.picture:
        picture(rows, arguments.picture)


if __name__ == "__main__":
    main()

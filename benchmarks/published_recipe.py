"""The published recipe, by seed, beside the default: test error, log loss and time.

    python benchmarks/published_recipe.py ../shared/logits/cifar10_resnet50_focal.npz

The file holds ``val_logits, val_labels, test_logits, test_labels``. All fits are of one
process, one after the other.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from sklearn_smart import SMARTCalibrator, TemperatureScaling, metrics


def measure(calibrator, parts):
    logits, y, test_logits, test_y = parts
    start = time.perf_counter()
    calibrator.fit(logits, y)
    seconds = time.perf_counter() - start
    y_prob = calibrator.predict_proba(test_logits)
    ece = metrics.expected_calibration_error(test_y, y_prob, kind="top_label")
    return 100 * ece, metrics.log_loss(test_y, y_prob), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    with np.load(arguments.file, allow_pickle=False) as file:
        names = ("val_logits", "val_labels", "test_logits", "test_labels")
        parts = [file[name] for name in names]
    parts[0], parts[2] = parts[0].astype(np.float64), parts[2].astype(np.float64)
    known = {"classes": parts[0].shape[1]}
    rows = {"temperature scaling": [measure(TemperatureScaling(**known), parts)]}
    for seed in range(arguments.seeds):
        recipe = SMARTCalibrator.published(random_state=seed, **known)
        rows[f"published, seed {seed}"] = [measure(recipe, parts)]
    published = [row for name, (row,) in rows.items() if name.startswith("published")]
    rows["published, mean"] = [tuple(np.mean(published, axis=0))]
    rows["published, largest"] = [tuple(np.max(published, axis=0))]
    default = [measure(SMARTCalibrator(**known), parts) for _ in range(5)]
    rows["default, median of 5 fits"] = [tuple(np.median(default, axis=0))]
    given = [measure(SMARTCalibrator(alpha=0.3, **known), parts) for _ in range(5)]
    rows["alpha=0.3, median of 5 fits"] = [tuple(np.median(given, axis=0))]
    print(f"{'':28}{'ECE %':>8}{'log loss':>10}{'seconds':>9}")
    for name, [(ece, loss, seconds)] in rows.items():
        print(f"{name:28}{ece:8.3f}{loss:10.4f}{seconds:9.3f}")


if __name__ == "__main__":
    main()

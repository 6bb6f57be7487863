"""How much a calibrator changes when its calibration set is drawn again.

    python benchmarks/bootstrap_spread.py ../shared/logits --size 1000 --draws 10

For every score file: a calibration set of ``--size`` rows and the rest as test rows, as
in `calibration_size.py`; default SMART, the published recipe and temperature scaling
are refitted to resamples of it with replacement. Printed is the standard deviation over
resamples of the calibration error and of the log loss of the same test rows, and the
geometric mean over files of the ratio of SMART to the published recipe. The published
recipe has one seed, so its spread is that of the data alone.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
from calibration_size import read

from sklearn_smart import SMARTCalibrator, TemperatureScaling, metrics

MAKERS = {
    "SMART": SMARTCalibrator,
    "published": lambda **settings: SMARTCalibrator.published(
        random_state=0, **settings
    ),
    "temperature": TemperatureScaling,
}


def spreads(scores, y, kind, size, draws):
    """Standard deviation of calibration error and log loss, by method."""
    rng = np.random.default_rng([0, len(y)])
    order = rng.permutation(len(y))
    fit, held = order[:size], order[size : size + 10_000]
    known = range(scores.shape[1])
    found = {name: [] for name in MAKERS}
    for _ in range(draws):
        some = rng.choice(fit, size=len(fit))
        for name, make in MAKERS.items():
            calibrator = make(input=kind, classes=scores.shape[1])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                calibrator.fit(scores[some], y[some])
            p = calibrator.predict_proba(scores[held])
            error = metrics.expected_calibration_error(
                y[held], p, kind="top_label", labels=known
            )
            found[name].append((error, metrics.log_loss(y[held], p, labels=known)))
    return {name: np.std(values, axis=0, ddof=1) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=10)
    arguments = parser.parse_args()
    heads = "".join(f"{name:>22}" for name in MAKERS)
    print(f"{'standard deviation of ECE %, log loss':38}{heads}")
    ratios = []
    for path in sorted(arguments.folder.glob("*.npz")):
        data = read(path)
        if data is None:
            continue
        found = spreads(*data, arguments.size, arguments.draws)
        cells = "".join(f"{100 * e:12.3f}{loss:10.4f}" for e, loss in found.values())
        print(f"{path.stem:38}{cells}", flush=True)
        ratios.append(np.log(found["SMART"] / found["published"]))
    error, loss = np.exp(np.mean(ratios, axis=0))
    print(f"SMART / published: ECE {error:.2f}, log loss {loss:.2f}")
    worse = sum(math.exp(ratio[0]) > 1 for ratio in ratios)
    print(f"larger spread of ECE than the published recipe on {worse} of {len(ratios)}")


if __name__ == "__main__":
    main()

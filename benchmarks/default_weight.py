r"""The weight of the log loss in the default SMART, chosen without the set it is for.

    python benchmarks/default_weight.py ../shared/logits --results weights.jsonl \
        --together zoo pycalib cleanlab netcal

Fits SMART with several values of ``top_label_weight`` and temperature scaling to the
same subsets of every score file, as `calibration_size.py` does and in its format. For
each source of files the weight is then chosen on all other sources, by the geometric
mean over files and sizes of the calibration error, and judged on the files of that
source alone. Printed are the figures of every weight, and those of the choice that has
not seen the files it is judged by. Files whose names share a word of ``--together`` are
one source, every other file is its own. A stopped run goes on where it ended.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
from calibration_size import REFERENCE, SIZES, load, near_null, run

from sklearn_smart import SMARTCalibrator, TemperatureScaling

WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0)


def methods():
    """Name and maker of each candidate, and of what they are compared with."""
    return {
        REFERENCE: TemperatureScaling,
        **{
            f"weight {weight:g}": partial(SMARTCalibrator, top_label_weight=weight)
            for weight in WEIGHTS
        },
    }


def source_of(file, together):
    """The word that a file shares with others, or its own name."""
    return next((word for word in together if word in file), file)


def ratios(rows):
    """Log ratios to the reference: measure -> size -> file -> method.

    Files near the null of the calibration error are left out of that measure.
    """
    cells = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row["size"], row["file"]][row["method"]].append(row)
    out = {m: defaultdict(dict) for m in ("ece", "log loss")}
    for (size, file), cell in cells.items():
        if len(cell) < len(methods()):
            continue
        for measure_name, table in out.items():
            if measure_name == "ece" and near_null(cell[REFERENCE]):
                continue
            mean = {m: np.mean([r[measure_name] for r in cell[m]]) for m in cell}
            table[size][file] = {
                method: math.log(mean[method] / mean[REFERENCE]) for method in cell
            }
    return out


def chosen_without(source, ece, names, together):
    """The candidate of least mean log ratio on the files of all other sources."""
    rest = defaultdict(list)
    for by_file in ece.values():
        for file, cell in by_file.items():
            if source_of(file, together) != source:
                for name in names:
                    rest[name].append(cell[name])
    return min(names, key=lambda name: np.mean(rest[name]))


def table(rows, together):
    """Print the ratios of every candidate and of the choice by other sources."""
    found = ratios(rows)
    names = [name for name in methods() if name != REFERENCE]
    files = sorted({file for by in found["log loss"].values() for file in by})
    choice = {
        source: chosen_without(source, found["ece"], names, together)
        for source in sorted({source_of(file, together) for file in files})
    }
    for source, name in choice.items():
        print(f"without {source}: {name}")
    for size in SIZES:
        if size not in found["log loss"]:
            continue
        print(f"\nn = {size:12}{'ECE':>8}{'worst':>8}{'log loss':>10}{'worst':>8}")
        for name in [*names, "chosen"]:
            line = []
            for measure_name in ("ece", "log loss"):
                logs = [
                    cell[
                        choice[source_of(file, together)] if name == "chosen" else name
                    ]
                    for file, cell in found[measure_name][size].items()
                ]
                line += [math.exp(np.mean(logs)), math.exp(max(logs))]
            print(f"{name:16}{line[0]:8.3f}{line[1]:8.2f}{line[2]:10.4f}{line[3]:8.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--together", nargs="*", default=())
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--subsets", type=int, default=6)
    parser.add_argument("--test", type=int, default=8000, help="largest test part")
    parser.add_argument("--table", action="store_true", help="only print the table")
    arguments = parser.parse_args()
    if not arguments.table:
        run(
            arguments.folder,
            arguments.results,
            arguments.sizes,
            arguments.subsets,
            methods(),
            arguments.test,
        )
    table(load(arguments.results), arguments.together)


if __name__ == "__main__":
    main()

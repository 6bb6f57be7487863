"""Every calibrator on every score file of a folder: one table in Markdown.

    python benchmarks/calibrators_table.py ../shared/logits --results all.jsonl
    python benchmarks/calibrators_table.py ../shared/logits --results all.jsonl --table

Files are as `calibration_size.py` reads them, with the two parts of a file pooled. Each
split gives one half of the rows, drawn at random, to the fit and the other to the
measures. Every fit is one line of the results file, written when it is there, so that a
stopped run goes on where it ended. ``--rows`` takes so many rows of each file, for a
quick look; ``--methods`` some of the methods; ``--table`` prints without running.

Per file the mean over splits is taken; the table gives the mean over files, and as its
error the standard error over splits of that mean: the splits' means over files, their
standard deviation divided by the root of their number. Errors are in percent, lower is
better; "accuracy" is the change against the scores themselves, in percent.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from calibration_size import read

from sklearn_smart import metrics
from sklearn_smart.calibrators import CALIBRATORS

COLUMNS = {
    "ece": ("ECE %", 100, ".2f"),
    "ece class-wise": ("class-wise ECE %", 100, ".3f"),
    "log loss": ("log loss", 1, ".4f"),
    "brier": ("Brier score", 1, ".4f"),
    "accuracy": ("accuracy %", 100, "+.2f"),
    "seconds": ("fit seconds", 1, ".2f"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, help="rows of each file, default all")
    parser.add_argument("--methods", nargs="+", choices=CALIBRATORS)
    parser.add_argument("--table", action="store_true", help="print, do not run")
    options = parser.parse_args()
    if not options.table:
        run(options)
    print(table(load(options.results)))


def run(options):
    """Append what is not yet in the results, one line per fit."""
    files = sorted(options.folder.glob("*.npz"))
    if not files:
        raise SystemExit(f"no .npz files in {options.folder}")
    done = {key(row) for row in load(options.results)}
    names = options.methods or list(CALIBRATORS)
    with options.results.open("a") as out:
        for number, path in enumerate(files, start=1):
            data = read(path)
            if data is None:
                print(f"{path.stem}: degenerate, left out")
                continue
            start = time.perf_counter()
            for split in range(options.splits):
                place = {"file": path.stem, "split": split, "rows": options.rows}
                wanted = [{**place, "method": name} for name in names]
                wanted = [row for row in wanted if key(row) not in done]
                if wanted:
                    parts = halves(*data, split, options.rows)
                for row in wanted:
                    row.update(one_fit(row["method"], *parts))
                    out.write(json.dumps(row) + "\n")
                    out.flush()
            spent = time.perf_counter() - start
            print(f"{number}/{len(files)} {path.stem}: {spent:.0f} s", flush=True)


def halves(scores, y, kind, split, rows):
    """Scores and labels to fit on and to measure on."""
    order = np.random.default_rng(split).permutation(len(y))[:rows]
    fit, test = np.array_split(order, 2)
    return scores[fit], y[fit], scores[test], y[test], kind


def one_fit(name, scores, y, test_scores, test_y, kind):
    """The measures of one method on one split."""
    n_classes = scores.shape[1]
    calibrator = CALIBRATORS[name](input=kind, classes=n_classes)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator.fit(scores, y)
        seconds = time.perf_counter() - start
        prob = calibrator.predict_proba(test_scores)
    ece, known = metrics.expected_calibration_error, range(n_classes)
    right = (prob.argmax(axis=1) == test_y).mean()
    before = (test_scores.argmax(axis=1) == test_y).mean()
    return {
        "ece": float(ece(test_y, prob, kind="top_label", labels=known)),
        "ece class-wise": float(ece(test_y, prob, kind="class_wise", labels=known)),
        "log loss": float(metrics.log_loss(test_y, prob, labels=known)),
        "brier": float(metrics.brier_score(test_y, prob, labels=known)),
        "accuracy": float(right - before),
        "seconds": seconds,
        "keeps": bool(calibrator.preserves_prediction),
    }


def table(rows):
    """The table in Markdown, best log loss first."""
    if not rows:
        return "no results"
    by_method = defaultdict(lambda: defaultdict(list))
    keeps = {}
    for row in rows:
        by_method[row["method"]][row["split"]].append(row)
        keeps[row["method"]] = row["keeps"]
    n_files = len({row["file"] for row in rows})
    lines = []
    for method, splits in by_method.items():
        # A split that is not complete would compare other files.
        full = [part for part in splits.values() if len(part) == n_files]
        if not full:
            continue
        cells = [method, "yes" if keeps[method] else "no"]
        for name, (_, unit, form) in COLUMNS.items():
            means = unit * np.array([np.mean([r[name] for r in f]) for f in full])
            error = means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else 0.0
            cells.append(f"{means.mean():{form}} ± {error:{form.lstrip('+')}}")
            if name == "log loss":
                rank = means.mean()
        lines.append((rank, cells))
    titles = ["method", "keeps the class", *(title for title, *_ in COLUMNS.values())]
    body = [titles, ["---"] * len(titles), *(cells for _, cells in sorted(lines))]
    n_splits = len({row["split"] for row in rows})
    note = f"{n_files} files, {n_splits} splits into halves."
    return "\n".join([note, "", *(f"| {' | '.join(cells)} |" for cells in body)])


def load(path):
    """The results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def key(row):
    """What tells a fit from the others."""
    return row["file"], row["split"], row["rows"], row["method"]


if __name__ == "__main__":
    main()

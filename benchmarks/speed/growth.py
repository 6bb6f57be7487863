"""Seconds as samples and classes grow, as a picture."""

from __future__ import annotations

import numpy as np

from .cases import CASES, Missing
from .measure import interleaved
from .problems import Problem

_DRAWN = {
    "smart default": ("-", "o"),
    "smart": ("-", "s"),
    "temperature": ("-", "^"),
    "sklearn temperature": ("--", "v"),
    "softmax": (":", "."),
}

_SIZES = {
    "samples (10 classes)": [(n, 10) for n in (300, 1_000, 3_000, 10_000, 30_000)]
    + [(100_000, 10), (300_000, 10)],
    "classes (5,000 samples)": [
        (5_000, k) for k in (2, 5, 10, 30, 100, 300, 1_000, 3_000)
    ],
}


def grow(image, *, rounds=3, budget=10.0):
    """Draw the growth in samples and in classes; print the medians."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, 2, figsize=(10, 4.4), sharey=True, layout="constrained"
    )
    for label, sizes, ax in zip(_SIZES, _SIZES.values(), axes, strict=True):
        print(f"\n{label}\n" + "".join(f"{name:>22}" for name in ("", *_DRAWN)))
        medians = {name: [] for name in _DRAWN}
        grown = []
        for n, n_classes in sizes:
            row = _medians(Problem(n, n_classes, "float32"), rounds, budget)
            grown.append(n if "samples (" in label else n_classes)
            for name in _DRAWN:
                medians[name].append(row.get(name, np.nan))
            cells = "".join(f"{medians[name][-1]:22.4f}" for name in _DRAWN)
            print(f"{grown[-1]:>22,}{cells}", flush=True)
        for name, (line, marker) in _DRAWN.items():
            ax.loglog(
                grown, medians[name], line, marker=marker, label=CASES[name].title
            )
        ax.set_xlabel(label)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds")
    axes[0].legend(frameon=False, fontsize="small")
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, dpi=100)


def _medians(problem, rounds, budget):
    functions = {}
    for name in _DRAWN:
        try:
            functions[name] = CASES[name].prepare(problem)
        except Missing:
            continue
    seconds = interleaved(functions, rounds, budget)
    return {name: float(np.nanmedian(s)) for name, s in seconds.items()}

"""Small score problems, a finite difference, and reference values from elsewhere."""

import json
from pathlib import Path

import numpy as np

# Computed in float64 by code that shares nothing with this project: margins, SoftECE,
# Charbonnier-SoftECE, and its derivative with respect to each row's temperature.
GOLD = json.loads(Path(__file__).with_name("gold_soft_ece.json").read_text("utf-8"))


def make_problem(n=23, n_classes=4, seed=0, scale=2.0):
    """Logits, labels, temperatures around 1 and positive weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), y] += 1.0
    temperature = np.exp(0.4 * rng.normal(size=n))
    weight = rng.uniform(0.5, 2.0, size=n)
    return scale * logits, y, temperature, weight


def finite_difference(fun, x, step=1e-5):
    """Central differences of fourth order of a scalar function, one per entry of x."""
    gradient = np.empty_like(x)
    for i in range(x.size):
        shift = np.zeros_like(x)
        shift[i] = step
        near = fun(x + shift) - fun(x - shift)
        far = fun(x + 2 * shift) - fun(x - 2 * shift)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


def read_only(*arrays):
    """Copies that raise where someone writes into them."""
    copies = [np.array(array) for array in arrays]
    for copy in copies:
        copy.setflags(write=False)
    return copies

"""Fixtures that every room's tests share."""

import importlib.metadata
import os
from pathlib import Path
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).parent / "data"

# No test opens a window.
os.environ["MPLBACKEND"] = "Agg"

# Small products on several threads wait more than they work, the more so where several
# test processes share the cores.
threadpool_limits(limits=1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # for processes that tests start
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples at every run, however busy the machine is.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


class ScoreSet(NamedTuple):
    """Held-out scores of a real model with the true labels."""

    scores: np.ndarray
    labels: np.ndarray
    input: str


def pytest_report_header():
    """Say what is tested: the folder it is installed in, and the versions."""
    import sklearn_smart

    names = ("sklearn-smart", "scikit-learn", "numpy", "scipy", "joblib")
    versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names)
    return [versions, f"tested package: {Path(sklearn_smart.__file__).parent}"]


@pytest.fixture(scope="session")
def shared():
    """Folder of scores and reference values that lies beside the repository."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is absent")
    return folder


@pytest.fixture(scope="session")
def score_set():
    """Loader of the small score sets in tests/data, by name."""

    def load(name):
        with np.load(DATA / f"{name}.npz", allow_pickle=False) as arrays:
            is_logits = "logits" in arrays
            scores = arrays["logits" if is_logits else "probs"]
            return ScoreSet(
                scores, arrays["labels"], "logits" if is_logits else "probabilities"
            )

    return load

"""
A memory-mapped file
====================

Scores that do not fit into memory stay in their file: calibrators read it block by
block, and write into another file.
"""

# %%
# A file of scores, written in parts, as a model would that walks over its data.
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from sklearn_smart import ReliabilityDisplay, SMARTCalibrator, metrics

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=200, random_state=0)
model = ExtraTreesClassifier(random_state=0).fit(X_train, y_train)
folder = TemporaryDirectory()
path = Path(folder.name)
shape = (len(X), 10)
scores = np.lib.format.open_memmap(path / "scores.npy", "w+", np.float32, shape)
for start in range(0, len(X), 200):
    scores[start : start + 200] = model.predict_proba(X[start : start + 200])
scores.flush()

# %%
# Open it for reading, fit on the first half, and answer into a new file.
scores = np.load(path / "scores.npy", mmap_mode="r")
half = len(y) // 2
smart = SMARTCalibrator(input="probabilities").fit(scores[:half], y[:half])
out = np.lib.format.open_memmap(path / "calibrated.npy", "w+", np.float32, shape)
smart.predict_proba(scores, out=out)
out.flush()

# %%
# Metrics and pictures take such files as they are.
for name, p in (("scores", scores), ("calibrated", out)):
    print(f"{name:12} log loss {metrics.log_loss(y[half:], p[half:]):.3f}")
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
ReliabilityDisplay.from_predictions(y[half:], scores[half:], name="scores", ax=axes[0])
ReliabilityDisplay.from_predictions(y[half:], out[half:], name="calibrated", ax=axes[1])
del scores, out
folder.cleanup()

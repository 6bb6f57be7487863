"""
Saved logits
============

A network is trained elsewhere; what arrives is a file of logits and labels of rows that
it was not trained on. Nothing else is needed.
"""

# %%
# Here a small network of scikit-learn stands for the one elsewhere.
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from sklearn_smart import ConfidenceDisplay, SMARTCalibrator, metrics

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=300, random_state=0)
network = MLPClassifier((64,), max_iter=400, random_state=0).fit(X_train, y_train)
folder = TemporaryDirectory()
path = Path(folder.name) / "scores.npz"
np.savez(path, logits=network.predict_log_proba(X), labels=y)

# %%
# Fit on one half, judge on the other:
with np.load(path) as file:
    logits, labels = file["logits"], file["labels"]
half = len(labels) // 2
smart = SMARTCalibrator().fit(logits[:half], labels[:half])
before, after = np.exp(logits[half:]), smart.predict_proba(logits[half:])
print(metrics.paired_difference(labels[half:], before, after, metric="log_loss"))

# %%
# The calibrator is a handful of numbers, and travels as JSON:
text = json.dumps(smart.to_dict())
print(len(text), "characters")
restored = SMARTCalibrator.from_dict(json.loads(text))
assert np.array_equal(restored.predict_proba(logits[half:]), after)

# %%
ConfidenceDisplay.from_predictions(
    labels[half:], {"as trained": before, "calibrated": after}
)
folder.cleanup()

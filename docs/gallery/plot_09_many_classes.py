"""
Many classes
============

Two digits side by side are a number from 00 to 99: real images, a hundred classes. The
fit of a temperature sees the logits a few times only, whatever the number of classes.
"""

# %%
# A pair's logits are the sums of those of its digits.
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

from sklearn_smart import (
    SMARTCalibrator,
    TemperatureDisplay,
    TemperatureScaling,
    metrics,
)

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=300, random_state=0)
digit = SGDClassifier(random_state=0).fit(X_train, y_train)
one = digit.decision_function(X) / 100
rng = np.random.default_rng(0)
first, second = rng.integers(len(y), size=(2, 20_000))
logits = one[first][:, :, None] + one[second][:, None, :]
logits = logits.reshape(len(first), 100).astype(np.float32)
labels = 10 * y[first] + y[second]
print(logits.shape, f"accuracy {(logits.argmax(axis=1) == labels).mean():.3f}")

# %%
fit, test = slice(10_000), slice(10_000, None)
for make in (TemperatureScaling, SMARTCalibrator):
    start = time.perf_counter()
    calibrator = make().fit(logits[fit], labels[fit])
    seconds = time.perf_counter() - start
    y_prob = calibrator.predict_proba(logits[test])
    error = metrics.expected_calibration_error(labels[test], y_prob, kind="top_label")
    loss = metrics.log_loss(labels[test], y_prob)
    print(f"{make.__name__:20} ECE {error:.4f}, log loss {loss:.3f}, {seconds:.2f} s")

# %%
# What it has learnt: the temperature of each row, by the margin of its logits.
TemperatureDisplay.from_calibrator(calibrator, logits[test][:2000])

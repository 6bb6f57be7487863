"""
How SMART works
===============

The margin of a row, its largest logit minus the next, says how far a single temperature
is wrong for it. SMART learns a temperature of the margin.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sklearn_smart import (
    ReliabilityDisplay,
    SMARTCalibrator,
    TemperatureDisplay,
    TemperatureScaling,
)

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(
    X, y, train_size=100, random_state=0, stratify=y
)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
scores_fit, scores, y_fit, y = train_test_split(
    forest.predict_proba(X), y, test_size=0.5, random_state=0, stratify=y
)
single = TemperatureScaling(input="probabilities").fit(scores_fit, y_fit)
smart = SMARTCalibrator(input="probabilities").fit(scores_fit, y_fit)
print(f"one temperature for all: {single.temperature_:.3f}")
print(f"temperatures of SMART: {smart.temperatures(scores).round(3)[:8]} ...")

# %%
# The dots are the rows. The band is where a temperature can give a row the confidence
# with which it turns out to be right: between all rivals tied and one rival alone
# (:func:`~sklearn_smart.calibrators.feasible_temperatures`).
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
TemperatureDisplay.from_calibrator(smart, scores, ax=axes[0])
for name, calibrator in (("one temperature", single), ("SMART", smart)):
    ReliabilityDisplay.from_predictions(
        y, calibrator.predict_proba(scores), name=name, ax=axes[1], histogram=False
    )
axes[1].legend(loc="lower right", fontsize="small")

# %%
# No prediction has changed: a temperature keeps the order of the classes.
assert (smart.predict(scores) == single.predict(scores)).all()

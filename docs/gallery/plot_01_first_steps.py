"""
First steps
===========

A forest says "70 %" where it is right nine times out of ten. Wrap it in
:class:`~sklearn_smart.CalibratedClassifierCV`, and its probabilities hold.
"""

# %%
# The data: handwritten digits, few to train on, so that the forest has something to be
# unsure of.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sklearn_smart import CalibratedClassifierCV, ReliabilityDisplay, metrics

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=400, random_state=0, stratify=y
)

# %%
# The forest alone, and the same forest with its probabilities calibrated on folds that
# it was not trained on.
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
calibrated = CalibratedClassifierCV(RandomForestClassifier(random_state=0))
calibrated.fit(X_train, y_train)
models = {"forest": forest, "calibrated": calibrated}
for name, model in models.items():
    y_prob = model.predict_proba(X_test)
    error = metrics.expected_calibration_error(y_test, y_prob, kind="top_label")
    print(f"{name:12} ECE {error:.3f}, log loss {metrics.log_loss(y_test, y_prob):.3f}")

# %%
# The picture: how often a prediction is right (vertical) at each confidence
# (horizontal). True probabilities are on the diagonal, within the grey band of chance.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    display = ReliabilityDisplay.from_predictions(
        y_test, model.predict_proba(X_test), name=name, ax=ax
    )
    print(display.summary())

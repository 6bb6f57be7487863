"""
Reliability with bands
======================

No finite sample of true probabilities lies on the diagonal. The band shows where their
bins would fall; what is inside of it is no evidence of miscalibration.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from sklearn_smart import CalibratedClassifierCV, ReliabilityDisplay, metrics

X, y = load_breast_cancer(return_X_y=True)
base = GradientBoostingClassifier(random_state=0)
models = {"boosting": base, "calibrated": CalibratedClassifierCV(base, cv=3)}
answers = {
    name: cross_val_predict(model, X, y, cv=5, method="predict_proba")
    for name, model in models.items()
}

# %%
# Bins on the left, the frequency smoothed by a kernel on the right:
figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout="constrained")
for row, (name, y_prob) in zip(axes, answers.items(), strict=True):
    for ax, smooth in zip(row, (False, True), strict=True):
        ReliabilityDisplay.from_predictions(
            y, y_prob, smooth=smooth, name=name, ax=ax, n_bins=10
        )

# %%
# The same in numbers: the error, and what true probabilities would show.
for name, y_prob in answers.items():
    null = metrics.calibrated_null(y, y_prob)
    print(f"{name}: {null.value:.3f}, true ones {null.low:.3f} to {null.high:.3f}")

"""
Brier-weighted training, then SMART
===================================

:class:`~sklearn_smart.BrierWeightedClassifier` weights the gradient of cross-entropy by
a Brier score while it trains; :class:`~sklearn_smart.SMARTCalibrator` corrects what is
left afterwards. They are independent of each other and go together.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_smart import (
    BrierWeightedClassifier,
    CalibratedClassifierCV,
    ReliabilityDisplay,
    metrics,
)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=600, random_state=0, stratify=y
)
models = {
    "cross-entropy": BrierWeightedClassifier(gamma=0),
    "Brier-weighted": BrierWeightedClassifier(gamma=2),
    "Brier-weighted, then SMART": CalibratedClassifierCV(
        BrierWeightedClassifier(gamma=2), cv=3
    ),
}

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    y_prob = model.fit(X_train, y_train).predict_proba(X_test)
    ReliabilityDisplay.from_predictions(y_test, y_prob, name=name, ax=ax)
    ece = metrics.expected_calibration_error(y_test, y_prob, kind="top_label")
    print(f"{name:28} ECE {ece:.3f}, log loss {metrics.log_loss(y_test, y_prob):.3f}")

# %%
# The weighted gradient is not that of a proper loss: the raw output is under-confident
# by design, and the classifier inverts it by default where the scores are linear.
raw = models["Brier-weighted"].raw_proba(X_test)
print(metrics.expected_calibration_error(y_test, raw, kind="top_label"))

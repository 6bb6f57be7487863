"""
A grid search over bins
=======================

The number of bins is a parameter like any other. Choose it by a score without bins: an
error with the bins of the calibrator rewards what those bins hide.
"""

# %%
# Inside a classifier: the grid reaches the calibrator through ``method``.
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB

from sklearn_smart import (
    CalibratedClassifierCV,
    SMARTCalibrator,
    SMARTCalibratorCV,
    metrics,
)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
base = GaussianNB(var_smoothing=1e-2)
model = CalibratedClassifierCV(base, method=SMARTCalibrator(), cv=3)
search = GridSearchCV(
    model,
    {"method__n_bins": [5, 10, 15, 20]},
    cv=3,
    scoring=metrics.get_scorer("neg_log_loss"),
).fit(X_train, y_train)
print(search.best_params_, metrics.log_loss(y_test, search.predict_proba(X_test)))

# %%
# On saved scores: :class:`~sklearn_smart.SMARTCalibratorCV` sees them once for all
# settings and folds, so twenty settings cost little more than a few fits. It is also a
# ``method``: then each fold of the classifier finds settings of its own.
from sklearn.model_selection import cross_val_predict

scores = cross_val_predict(base, X_train, y_train, method="predict_log_proba", cv=5)
grid = {"n_bins": [5, 10, 15, 20, 30], "bandwidth": [0.02, 0.05, 0.1, 0.2]}
found = SMARTCalibratorCV(grid).fit(scores, y_train)
print(found.best_params_, found.best_score_)

# %%
# The number of bins matters little where the bandwidth is moderate: the log loss beside
# the binned loss settles most of the fit.
import matplotlib.pyplot as plt

mean = found.cv_results_["mean_test_score"].reshape(4, 5)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for bandwidth, row in zip(grid["bandwidth"], mean, strict=True):
    ax.plot(grid["n_bins"], -row, "o-", label=f"bandwidth {bandwidth}")
single = SMARTCalibratorCV({"alpha": [1e6]}).fit(scores, y_train)
ax.axhline(-single.best_score_, color="0.5", label="one temperature")
ax.set(xlabel="number of bins", ylabel="log loss of held-out folds")
ax.legend(fontsize=8)

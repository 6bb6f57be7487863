"""
All methods in one script
=========================

:func:`~sklearn_smart.compare_calibrators` fits the base estimator once per fold, shares
its scores among all methods, and says which differences are more than chance.
"""

# %%
# Naive Bayes is famous for probabilities of 0 and 1 that are not meant.
import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sklearn_smart import SMARTCalibrator, VectorScaling, compare_calibrators

X, y = load_digits(return_X_y=True)
methods = {
    name: name
    for name in ("uncalibrated", "sigmoid", "isotonic", "temperature", "smart")
}
methods["vector, then smart"] = make_pipeline(VectorScaling(), SMARTCalibrator())
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = compare_calibrators(
        GaussianNB(var_smoothing=1e-3), X, y, methods=methods, cv=5
    )
print(found)

# %%
# Paired 95 % intervals of the differences in log loss to one of them:
for difference in found.differences("temperature", measures=["log_loss"]):
    low, high = difference.low, difference.high
    print(
        f"{difference.method:20} {difference.difference:+.3f} [{low:+.3f}, {high:+.3f}]"
    )

# %%
# And the reliability of each, on rows that neither model nor calibrator has seen:
found.plot()

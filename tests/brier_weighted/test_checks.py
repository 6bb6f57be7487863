"""scikit-learn's own checks of BrierWeightedClassifier, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_smart import BrierWeightedClassifier

CHECKS = parametrize_with_checks(
    [
        BrierWeightedClassifier(),
        BrierWeightedClassifier(gamma=0.5, norm=1.5),
        BrierWeightedClassifier(norm=1, solver="lbfgs"),
        BrierWeightedClassifier(gradient_only=False),
        BrierWeightedClassifier("focal", solver="newton", class_weight="balanced"),
        BrierWeightedClassifier("dual_focal", gamma=5),
        BrierWeightedClassifier(loss="brier_score"),
        BrierWeightedClassifier(gamma=1, solver="sgd", max_iter=50),
        BrierWeightedClassifier(
            hidden_layer_sizes=(16,), learning_rate_init=0.02, C=100, max_iter=50
        ),
    ]
)


# The checks fit a handful of samples to see that parameters and shapes are respected.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# scikit-learn 1.6 hands a generator over, which pytest 9 does not want.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

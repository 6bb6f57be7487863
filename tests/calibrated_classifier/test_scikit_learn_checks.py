"""scikit-learn's own checks of estimators, on CalibratedClassifierCV."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_smart import (
    CalibratedClassifierCV,
    IsotonicCalibrator,
    SMARTCalibrator,
    TemperatureScaling,
)

BASE = LogisticRegression(C=1)


CHECKS = parametrize_with_checks(
    [
        CalibratedClassifierCV(BASE, cv=3),
        CalibratedClassifierCV(BASE, cv=3, method="sigmoid"),
        CalibratedClassifierCV(BASE, cv=3, method="isotonic", ensemble=False),
        CalibratedClassifierCV(BASE, cv=3, method="temperature"),
        CalibratedClassifierCV(GaussianNB(), cv=3, method="uncalibrated"),
        CalibratedClassifierCV(BASE, cv=3, method=SMARTCalibrator(alpha=0.3)),
        CalibratedClassifierCV(
            BASE,
            cv=3,
            method=make_pipeline(TemperatureScaling(), SMARTCalibrator(alpha=0.3)),
        ),
        CalibratedClassifierCV(
            GaussianNB(),
            cv=3,
            method=IsotonicCalibrator(input="probabilities"),
            response_method="predict_proba",
        ),
    ]
)


# The data of the checks are separable or without signal: there is no best temperature.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# GaussianNB's own, where all weights of a class are 0.
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
# A list, as pytest no longer takes the generator that scikit-learn 1.6 makes.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

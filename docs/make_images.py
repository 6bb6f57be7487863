"""Draw the pictures of the documentation: ``python docs/make_images.py``.

A forest is fitted to 100 of the handwritten digits that ship with scikit-learn. Half of
the other rows fit the calibrators, and the rest, which neither has seen, is drawn.
"""

from pathlib import Path

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

IMAGES = Path(__file__).parent / "images"


def held_out_scores():
    """Return scores to calibrate on and to test on, then their labels."""
    X, y = load_digits(return_X_y=True)
    X_train, X, y_train, y = train_test_split(
        X, y, train_size=100, random_state=0, stratify=y
    )
    forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
    scores = forest.predict_proba(X)
    return train_test_split(scores, y, test_size=0.5, random_state=0, stratify=y)


def reliability(path):
    """Before and after on the left, what SMART learnt on the right."""
    scores_fit, scores_test, y_fit, y_test = held_out_scores()
    single = TemperatureScaling(input="probabilities").fit(scores_fit, y_fit)
    smart = SMARTCalibrator(input="probabilities").fit(scores_fit, y_fit)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for name, y_prob in (
        ("random forest", scores_test),
        ("temperature scaling", single.predict_proba(scores_test)),
        ("SMART", smart.predict_proba(scores_test)),
    ):
        ReliabilityDisplay.from_predictions(
            y_test, y_prob, n_bins=10, name=name, ax=left, histogram=False
        )
    left.legend(loc="lower right", frameon=False, fontsize="small")
    left.set_title("How often it is right")
    TemperatureDisplay.from_calibrator(smart, scores_test, ax=right)
    right.set_title("The temperature of each sample")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    reliability(IMAGES / "reliability.png")

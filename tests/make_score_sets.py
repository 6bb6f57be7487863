"""Make the score sets in tests/data from the data that ships with scikit-learn.

Run once, by hand: ``python tests/make_score_sets.py``. The files are kept, since
another version of scikit-learn fits slightly other models and a test that states a
value must see the same scores everywhere. Every score is held out: no row was seen by
the model that scored it. The keys are ``labels`` and ``logits`` or ``probs``.

=========================  ============  =============================================
file                       rows          what is in it
=========================  ============  =============================================
digits_network             1497 x 10     network fitted to 300 rows, logits:
                                         over-confident
digits_forest              1797 x 10     forest, probabilities with exact 0:
                                         under-confident
digits_naive_bayes         1797 x 10     naive Bayes, many exact 0 and 1 (float64)
breast_cancer_boosting     569           boosting, log-odds of the second class
wine_naive_bayes           178 x 3       small, with exact 1 (float64)
=========================  ============  =============================================
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

DATA = Path(__file__).parent / "data"


def network_logits(network, X):
    """Return what stands before the softmax, which keeps its far tail."""
    hidden = X
    for weights, bias in zip(
        network.coefs_[:-1], network.intercepts_[:-1], strict=True
    ):
        hidden = np.maximum(hidden @ weights + bias, 0.0)
    return hidden @ network.coefs_[-1] + network.intercepts_[-1]


def held_out(estimator, X, y, method):
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    return cross_val_predict(estimator, X, y, cv=folds, method=method)


def digits_network():
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X / 16.0, y, train_size=300, random_state=0, stratify=y
    )
    network = MLPClassifier((64,), alpha=0.0, max_iter=2000, tol=1e-6, random_state=0)
    network.fit(X_train, y_train)
    return {
        "logits": network_logits(network, X_rest).astype(np.float32),
        "labels": y_rest,
    }


def digits_forest():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=0)
    probs = held_out(forest, X, y, "predict_proba")
    return {"probs": probs.astype(np.float32), "labels": y}


def digits_naive_bayes():
    X, y = load_digits(return_X_y=True)
    return {"probs": held_out(GaussianNB(), X, y, "predict_proba"), "labels": y}


def breast_cancer_boosting():
    X, y = load_breast_cancer(return_X_y=True)
    boosting = GradientBoostingClassifier(random_state=0)
    return {"logits": held_out(boosting, X, y, "decision_function"), "labels": y}


def wine_naive_bayes():
    X, y = load_wine(return_X_y=True)
    return {"probs": held_out(GaussianNB(), X, y, "predict_proba"), "labels": y}


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    for make in (
        digits_network,
        digits_forest,
        digits_naive_bayes,
        breast_cancer_boosting,
        wine_naive_bayes,
    ):
        arrays = make()
        arrays["labels"] = arrays["labels"].astype(np.int16)
        np.savez_compressed(DATA / f"{make.__name__}.npz", **arrays)

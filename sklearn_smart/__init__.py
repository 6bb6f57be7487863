"""Calibrated probabilities for scikit-learn classifiers."""

"""BrierWeightedClassifier: linear and network scores trained on weighted gradients."""

from ._classifier import BrierWeightedClassifier

__all__ = ["BrierWeightedClassifier"]

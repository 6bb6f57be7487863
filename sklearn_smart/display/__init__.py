"""Pictures: they draw what the floors below computed; matplotlib is imported on use."""

from .confidence import ConfidenceDisplay
from .reliability import ReliabilityDisplay
from .temperature import TemperatureDisplay

__all__ = ["ConfidenceDisplay", "ReliabilityDisplay", "TemperatureDisplay"]

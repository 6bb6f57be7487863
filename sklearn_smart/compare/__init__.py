"""Calibration methods side by side, on the same scores."""

from ._compare import METHODS, compare_calibrators
from ._comparison import CalibrationComparison, PairedDifference, save_report
from ._sizes import CalibrationSizes, compare_calibration_sizes
from ._tables import text_table, wrapped

__all__ = [
    "METHODS",
    "CalibrationComparison",
    "CalibrationSizes",
    "PairedDifference",
    "compare_calibration_sizes",
    "compare_calibrators",
    "save_report",
    "text_table",
    "wrapped",
]

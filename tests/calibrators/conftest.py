"""The fixture that runs a test over every calibrator of the contract."""

import pytest
from sklearn.base import clone

from .contract import CALIBRATOR_INSTANCES, name_of


@pytest.fixture(params=CALIBRATOR_INSTANCES, ids=name_of)
def calibrator(request):
    """An unfitted clone of each instance in turn."""
    return clone(request.param)

"""The fixture that runs a test over the calibrators of the contract."""

import pytest
from sklearn.base import clone

from .contract import CALIBRATOR_INSTANCES, name_of


def pytest_generate_tests(metafunc):
    """Take every calibrator, or those that the mark ``holds_for(predicate)`` admits."""
    if "calibrator" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("holds_for")
        chosen = [c for c in CALIBRATOR_INSTANCES if mark is None or mark.args[0](c)]
        metafunc.parametrize("calibrator", chosen, ids=name_of, indirect=True)


@pytest.fixture
def calibrator(request):
    """An unfitted clone of each instance in turn."""
    return clone(request.param)

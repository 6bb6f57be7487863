"""scikit-learn's own tests of CalibratedClassifierCV, with our class in its place.

The installed scikit-learn's ``sklearn/tests/test_calibration.py`` runs in a process of
its own, where our class takes the name of theirs before the tests are collected.
"""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import sklearn

SITE = Path(sklearn.__file__).parents[1]
TESTS = "sklearn/tests/test_calibration.py"

# Node ids that cannot run on another class, with the private thing each uses.
DESELECTED = {
    f"{TESTS}::test_temperature_scaling_array_api_compliance": (
        "compares array namespace, dtype and device of `beta_` of the private "
        "`_TemperatureScaling`; skipped by scikit-learn unless SCIPY_ARRAY_API is set"
    ),
    f"{TESTS}::test_temperature_scaling_array_api_with_str_y_estimator_not_prefit": (
        "compares array namespace, dtype and device of `beta_` of the private "
        "`_TemperatureScaling`; skipped by scikit-learn unless SCIPY_ARRAY_API is set"
    ),
}

RUN = """
import sys

import pytest
import sklearn.calibration

import sklearn_smart

ours = sklearn_smart.CalibratedClassifierCV
sklearn.calibration.CalibratedClassifierCV = ours
code = pytest.main(sys.argv[1:])
tests = next(m for n, m in sys.modules.items() if n.endswith("tests.test_calibration"))
assert tests.CalibratedClassifierCV is ours, "the tests ran on another class"
sys.exit(code)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Outcome of each of scikit-learn's tests, by name, and the output."""
    folder = tmp_path_factory.mktemp("scikit_learn_tests")
    arguments = [
        str(SITE / TESTS),
        f"--rootdir={SITE}",
        # No configuration of ours: its warnings as errors are not theirs.
        f"--config-file={folder / 'pytest.ini'}",
        f"--junit-xml={folder / 'report.xml'}",
        "--quiet",
        "-pno:cacheprovider",
        "-pno:xdist",
        *(f"--deselect={node}" for node in DESELECTED),
    ]
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    output = result.stdout + result.stderr
    assert (folder / "report.xml").exists(), output
    outcomes = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        kinds = {child.tag for child in case}
        bad = kinds & {"failure", "error"}
        outcomes[case.get("name")] = (
            "failed" if bad else "skipped" if "skipped" in kinds else "passed"
        )
    return result.returncode, outcomes, output


def test_all_pass(report):
    code, outcomes, output = report
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    assert (code, failed) == (0, []), output


def test_they_ran(report):
    """The class's behaviour was tested, not skipped or deselected."""
    _, outcomes, output = report
    passed = [name for name, outcome in outcomes.items() if outcome == "passed"]
    # Without pandas and matplotlib scikit-learn skips sixteen of its own.
    assert len(passed) >= 60, output
    for name in (
        "test_calibration[True-sigmoid-csr_matrix]",
        "test_calibration_less_classes[True]",
        "test_calibration_ensemble_false[isotonic",
        "test_calibrated_classifier_cv_double_sample_weights_equivalence[",
        "test_calibration_with_fit_params[list]",
    ):
        assert any(test.startswith(name) for test in passed), name


def test_few_are_deselected():
    assert len(DESELECTED) <= 8
    for node, reason in DESELECTED.items():
        assert "private" in reason, node

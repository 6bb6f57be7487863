"""Fail where a test was skipped for a reason that is not on a short list.

``python check_skips.py REPORT.xml [--without-extras FILE]`` reads pytest's junit report
and prints each reason with its number of tests. A test may be skipped

- where the folder beside the repository is absent;
- with ``--without-extras``, where it needs one of the package's extras; FILE then holds
  these tests, one a line, for a run with the extras;
- where it needs a newer scikit-learn than the one installed;
- where it needs Chromium, Dask, PyTorch, a boosting library, or one that a few tests
  compare with;
- where scikit-learn's own check of foreign arrays is not switched on.
"""

import argparse
import ast
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import sklearn

ABSENT = r"\.\./shared is absent"
EXTRA = (
    r"needs the '(cli|pandas|plot)' extra"
    r"|could not import '(matplotlib|pandas|rich)[\w.]*': .*"
    # scikit-learn's own checks
    r"|pandas is not installed: .*"
)
NEWER = r"(?:needs scikit-learn >=|scikit-learn <) (\d+)\.(\d+)"
# No extra that the suite is run with brings these.
OTHERS = r"needs PyTorch|needs Chromium|needs the '(boosting|dask|rivals|torch)' extra"
# One of scikit-learn's own checks, of arrays of other libraries: SciPy takes them only
# where this variable was set before it was imported, and the package does not.
ARRAY_API = r"SCIPY_ARRAY_API is not set: not checking array_api input"


def is_allowed(reason):
    newer = re.fullmatch(NEWER, reason)
    if newer:
        installed = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
        return installed < tuple(int(part) for part in newer.groups())
    return any(re.fullmatch(pattern, reason) for pattern in (ABSENT, OTHERS, ARRAY_API))


def reason_of(skipped):
    """Return the reason of a skipped test, or of a module that was not collected."""
    if skipped.get("message") == "collection skipped":
        _, _, reason = ast.literal_eval(skipped.text)
        return reason.removeprefix("Skipped: ")
    return skipped.get("message")


def skipped_tests(report):
    """Yield node id and reason of each skipped test."""
    for case in ET.parse(report).iter("testcase"):
        for skipped in case.iter("skipped"):
            # An expected failure stands there too, as a skipped test of this type.
            if skipped.get("type") != "pytest.xfail":
                module, name = case.get("classname"), case.get("name")
                path = (module or name).replace(".", "/") + ".py"
                yield f"{path}::{name}" if module else path, reason_of(skipped)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report")
    parser.add_argument("--without-extras", metavar="FILE")
    arguments = parser.parse_args()
    skipped = list(skipped_tests(arguments.report))
    if arguments.without_extras:
        lack_extras = [test for test, reason in skipped if re.fullmatch(EXTRA, reason)]
        with open(arguments.without_extras, "w", encoding="utf-8") as file:
            file.writelines(f"{test}\n" for test in lack_extras)
    refused = 0
    print(f"{len(skipped)} skipped")
    for reason, number in sorted(Counter(reason for _, reason in skipped).items()):
        allowed = is_allowed(reason) or (
            bool(arguments.without_extras) and re.fullmatch(EXTRA, reason)
        )
        refused += not allowed
        print(f"  {number} skipped: {reason}{'' if allowed else '  <- NOT ALLOWED'}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())

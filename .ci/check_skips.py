"""Fail where a test was skipped for a reason that is not on a short list.

``python check_skips.py REPORT.xml [--without-extras]`` reads pytest's junit report and
prints each reason with its number of tests. A test may be skipped

- where the folder beside the repository is absent;
- with ``--without-extras``, where it needs one of the package's extras;
- where it needs a newer scikit-learn than the one installed;
- where it needs PyTorch, a boosting library, or one that a few tests compare with.
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
)
NEWER = r"needs scikit-learn >= (\d+)\.(\d+)"
# No extra that the suite is run with brings these.
OTHERS = r"needs PyTorch|needs the '(boosting|rivals|torch)' extra"


def is_allowed(reason, without_extras):
    newer = re.fullmatch(NEWER, reason)
    if newer:
        installed = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
        return installed < tuple(int(part) for part in newer.groups())
    patterns = [ABSENT, OTHERS, *([EXTRA] if without_extras else [])]
    return any(re.fullmatch(pattern, reason) for pattern in patterns)


def reason_of(skipped):
    """Return the reason of a skipped test, or of a module that was not collected."""
    if skipped.get("message") == "collection skipped":
        _, _, reason = ast.literal_eval(skipped.text)
        return reason.removeprefix("Skipped: ")
    return skipped.get("message")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report")
    parser.add_argument("--without-extras", action="store_true")
    arguments = parser.parse_args()
    cases = list(ET.parse(arguments.report).iter("testcase"))
    # An expected failure stands in the report as a skipped test of another type.
    reasons = Counter(
        reason_of(skipped)
        for case in cases
        for skipped in case.iter("skipped")
        if skipped.get("type") != "pytest.xfail"
    )
    refused = 0
    print(f"{len(cases)} tests, {sum(reasons.values())} skipped")
    for reason, number in sorted(reasons.items()):
        allowed = is_allowed(reason, arguments.without_extras)
        refused += not allowed
        print(f"  {number} skipped: {reason}{'' if allowed else '  <- NOT ALLOWED'}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())

"""A process of its own that runs cases: with another revision, or to see its memory.

The two sides speak in lines of JSON. The process is started from the root of the
repository, and may take the package from the tree of another revision.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from .measure import PeakMemory

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """The side that asks. ``package`` is the tree that holds ``sklearn_smart``."""

    def __init__(self, package=ROOT):
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, "--package", str(package)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()

    def _ask(self, **request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that was asked for {request} has ended")
        return json.loads(line)

    def prepare(self, case, problem, path=None):
        """Why the case cannot be run, or None where it is ready."""
        return self._ask(do="prepare", case=case, problem=problem, path=path)["missing"]

    def run(self):
        """Seconds of one call of the prepared case."""
        return self._ask(do="run")["seconds"]

    def peak_memory(self):
        """Bytes of one call beyond what stood before, and beyond its output."""
        self._ask(do="tidy")
        with PeakMemory(self.process.pid) as peak:
            reply = self._ask(do="run")
        return max(peak.bytes - reply["output"], 0)


class _Runner:
    """The side that answers."""

    def __init__(self):
        self.function = None

    def prepare(self, case, problem, path):
        from .cases import CASES, Missing
        from .problems import PROBLEMS, from_file

        prepare = CASES[case].prepare
        try:
            # Libraries and thread pools belong to no case.
            prepare(PROBLEMS["tiny"])()
            chosen = from_file(path) if path else PROBLEMS[problem]
            chosen.calibration  # noqa: B018 - made now, and not in the call
            self.function = prepare(chosen)
        except Missing as error:
            return {"missing": str(error)}
        return {"missing": None}

    def tidy(self):
        """Give back to the system what is free, so that it is not used unseen."""
        import ctypes
        import gc

        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return {}

    def run(self):
        import time

        import numpy as np

        start = time.perf_counter()
        result = self.function()
        seconds = time.perf_counter() - start
        output = result.nbytes if isinstance(result, np.ndarray) else 0
        return {"seconds": seconds, "output": output}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True)
    package = Path(parser.parse_args().package).resolve()
    sys.path.insert(0, str(package))
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    import warnings

    import sklearn_smart

    warnings.simplefilter("ignore")
    if not Path(sklearn_smart.__file__).is_relative_to(package):
        raise SystemExit(f"{sklearn_smart.__file__} is not of {package}")
    runner = _Runner()
    for line in sys.stdin:
        request = json.loads(line)
        reply = getattr(runner, request.pop("do"))(**request)
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()

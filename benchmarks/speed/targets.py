"""What the package is held to, and whether a run shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .measure import median_ratio


@dataclass(frozen=True)
class Times:
    """``case`` takes at most, or is faster by at least, so many times ``than``."""

    problem: str
    case: str
    than: str
    bound: float
    at_least: bool = False

    def measured(self, result):
        seconds = result.seconds
        if not {self.case, self.than} <= seconds.keys():
            return float("nan")
        ratio = median_ratio(seconds[self.case], seconds[self.than])
        return 1 / ratio if self.at_least else ratio

    def met(self, result):
        value = self.measured(result)
        return value >= self.bound if self.at_least else value <= self.bound

    def describe(self, result):
        case, than = result.title(self.case), result.title(self.than)
        if self.at_least:
            return f"{case}: faster than {than}, at least {self.bound:g} times"
        return f"{case}: at most {self.bound:g} times {than}"

    def shown(self, result):
        value = self.measured(result)
        return "not measured" if np.isnan(value) else f"{value:.2f} times"


@dataclass(frozen=True)
class Memory:
    """``case`` takes at most this share of the input, beyond input and output."""

    problem: str
    case: str
    bound: float = 0.5

    def measured(self, result):
        return result.memory.get(self.case, float("nan")) / result.input_bytes

    def met(self, result):
        return self.measured(result) <= self.bound

    def describe(self, result):
        case = result.title(self.case)
        return f"{case}: memory at most {self.bound:g} of the input"

    def shown(self, result):
        value = self.measured(result)
        return "not measured" if np.isnan(value) else f"{value:.2f}"


@dataclass(frozen=True)
class NoWorse:
    """``case`` has at most the test ECE of the published recipe, mean over seeds."""

    problem: str
    case: str

    def met(self, result):
        errors = result.errors
        return {self.case, "published"} <= errors.keys() and np.mean(
            errors[self.case]
        ) <= np.mean(errors["published"])

    def describe(self, result):
        return f"{result.title(self.case)}: test ECE at most the published recipe's"

    def shown(self, result):
        errors = result.errors
        if not {self.case, "published"} <= errors.keys():
            return "not measured"
        ours, theirs = np.mean(errors[self.case]), np.mean(errors["published"])
        return f"{100 * ours:.3f} % and {100 * theirs:.3f} %"


# The published step is comparable where it is written for speed: a step is then of the
# order of 8 passes of scipy's softmax. Above 10 the comparison does not count.
STEP_BOUND = 10.0

TARGETS = (
    Times("small", "smart", "published", 40.0, at_least=True),
    Times("small", "smart", "published, 1 thread", 40.0, at_least=True),
    Times("small", "smart default", "published", 10.0, at_least=True),
    Times("small", "smart default", "published, 1 thread", 10.0, at_least=True),
    NoWorse("small", "smart"),
    NoWorse("small", "smart default"),
    Times("small", "search", "smart", 60.0),
    Times("small", "search", "published", 1.5),
    Times("small", "search", "published, 1 thread", 1.5),
    Times("small", "predict", "softmax", 1.0),
    Times("large", "smart", "sklearn temperature", 1.0),
    Times("large", "smart", "published, large", 300.0, at_least=True),
    Times("large", "smart default", "sklearn temperature", 4.0),
    Times("large", "temperature", "sklearn temperature", 3.0, at_least=True),
    Times("large", "predict", "softmax", 1.0),
    Memory("large", "smart"),
    Memory("large", "smart default"),
    Memory("wide", "smart"),
    Memory("wide", "smart default"),
    Memory("wide", "temperature"),
    Memory("wide", "predict"),
)


def targets_on(problem, cases):
    """The targets of a problem; each metric on the wide one has that of memory."""
    targets = [target for target in TARGETS if target.problem == problem]
    if problem == "wide":
        targets += [Memory("wide", name) for name in cases if name.startswith("metric")]
    return targets

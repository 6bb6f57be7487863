"""One run: the cases of a problem, their medians, ratios and memory; the targets."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_info

from sklearn_smart import SMARTCalibrator, metrics

from .cases import CASES, Missing, cases_on
from .measure import interleaved, median_ratio
from .problems import PROBLEMS, from_file
from .published import N_STEPS, PATIENCE, TOLERANCE, PublishedRecipe, early_stop
from .targets import STEP_BOUND, targets_on
from .worker import Worker

# What the column of ratios is in units of.
_UNIT = "smart"


@dataclass
class Result:
    """What was measured on a problem, by the name of the case."""

    problem: str
    described: str
    input_bytes: int
    seconds: dict[str, np.ndarray] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    # Test ECE of each fit, and the steps at which the later release stops, by seed.
    errors: dict[str, list[float]] = field(default_factory=dict)
    stops: list[int] = field(default_factory=list)

    def title(self, case):
        return CASES[case].title

    def to_dict(self):
        """As JSON takes it."""
        return {
            **vars(self),
            "seconds": {name: list(s) for name, s in self.seconds.items()},
        }


def measure(
    name, *, rounds=7, budget=30.0, memory=True, seeds=3, path=None, cases=None
):
    """Run the cases of a problem; ``path`` is a file of scores in its place.

    ``cases`` are the names of some of them. The unit of the ratios is always measured.
    """
    problem = from_file(path) if path else PROBLEMS[name]
    problem.calibration  # noqa: B018 - made now, and in no call
    result = Result(name, str(problem), problem.logits.nbytes)
    functions = {}
    for case_name, case in cases_on(name).items():
        if cases and case_name not in (*cases, _UNIT):
            continue
        try:
            functions[case_name] = case.prepare(problem)
        except Missing as error:
            result.missing[case_name] = str(error)
    for case_name, seconds in interleaved(functions, rounds, budget).items():
        result.seconds[case_name] = seconds * CASES[case_name].times
    if _published_cases(result):
        _follow_the_recipe(problem, result, seeds)
    if memory:
        for case_name in functions:
            with Worker() as worker:
                if worker.prepare(case_name, name, path) is None:
                    result.memory[case_name] = worker.peak_memory()
    return result


def _published_cases(result):
    return [name for name in result.seconds if name.startswith("published")]


def _follow_the_recipe(problem, result, seeds):
    """Where the later release stops, and the test error of both, by seed."""
    if problem.n * problem.n_classes > 1_000_000:
        # Its 2000 steps would take most of an hour. Our Adam on the same network,
        # objective and stopping rule takes about as many steps, in seconds.
        recipe = SMARTCalibrator.published(
            n_iter_no_change=PATIENCE, tol=TOLERANCE, classes=problem.n_classes
        )
        for seed in range(seeds):
            recipe.set_params(random_state=seed).fit(problem.logits, problem.y)
            result.stops.append(recipe.n_iter_)
        return
    test_logits, test_y = problem.test

    def error(model):
        y_prob = model.predict_proba(test_logits)
        return metrics.expected_calibration_error(
            test_y, y_prob, labels=np.arange(problem.n_classes), kind="top_label"
        )

    result.errors["published"] = []
    for seed in range(seeds):
        recipe = PublishedRecipe(problem.logits, problem.y, seed)
        result.stops.append(early_stop(recipe.train()))
        result.errors["published"].append(error(recipe))
    for name, settings in (("smart", {"alpha": 0.3}), ("smart default", {})):
        model = SMARTCalibrator(classes=problem.n_classes, **settings)
        model.fit(problem.logits, problem.y)
        result.errors[name] = [error(model)]


def environment():
    """Versions, and the limits of threads that applied."""
    import scipy
    import sklearn

    versions = {m.__name__: m.__version__ for m in (np, scipy, sklearn)}
    try:
        import torch
    except ImportError:
        pass
    else:
        versions["torch"] = f"{torch.__version__}, {torch.get_num_threads()} threads"
    pools = {
        f"{pool['internal_api']}, {pool['num_threads']} threads"
        for pool in threadpool_info()
    }
    return {
        "python": platform.python_version(),
        **versions,
        "thread pools": "; ".join(sorted(pools)),
    }


def _share(memory, input_bytes):
    return f"{memory / input_bytes:.2f} ({memory / 2**20:.0f} MiB)"


def table(result):
    """The measured cases as Markdown."""
    lines = [
        f"### {result.described}",
        "",
        f"| | seconds | times `{result.title(_UNIT)}` | peak memory, of the input |",
        "| --- | --- | --- | --- |",
    ]
    unit = result.seconds[_UNIT]
    for name, seconds in result.seconds.items():
        memory = result.memory.get(name)
        share = "" if memory is None else _share(memory, result.input_bytes)
        ratio = median_ratio(seconds, unit)
        lines.append(
            f"| {result.title(name)} | {np.nanmedian(seconds):.4g} | {ratio:.3g} "
            f"| {share} |"
        )
    if result.stops:
        steps = float(np.median(result.stops))
        for name in _published_cases(result):
            seconds = result.seconds[name] * (steps / N_STEPS)
            title = result.title(name).replace(f"{N_STEPS:,}", f"{steps:,.0f}")
            lines.append(
                f"| {title}, where it stops | {np.nanmedian(seconds):.4g} "
                f"| {median_ratio(seconds, unit):.3g} | |"
            )
    lines += [
        f"| {result.title(name)} | {why} | | |" for name, why in result.missing.items()
    ]
    return "\n".join(lines)


def targets_table(result):
    """The targets as Markdown, and whether all that were measured are met."""
    lines = ["| target | measured | |", "| --- | --- | --- |"]
    for target in targets_on(result.problem, result.seconds):
        shown = target.shown(result)
        verdict = "met" if target.met(result) else "missed"
        if shown == "not measured":
            verdict = ""
        lines.append(f"| {target.describe(result)} | {shown} | {verdict} |")
    if result.problem == "large" and {"softmax", "published, large"} <= (
        result.seconds.keys()
    ):
        steps = result.seconds["published, large"] / N_STEPS
        multiple = median_ratio(steps, result.seconds["softmax"])
        counts = (
            "the comparison counts" if multiple <= STEP_BOUND else "it does not count"
        )
        lines.append(
            f"| a step of the recipe: at most {STEP_BOUND:g} of scipy's softmax, for "
            f"the comparison to count | {multiple:.1f} | {counts} |"
        )
    return "\n".join(lines)

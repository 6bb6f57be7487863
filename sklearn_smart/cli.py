"""The command line: compare methods, fit a calibrator, apply it; on files of scores."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
import warnings
from importlib.metadata import version
from importlib.util import find_spec

from .calibrators import CALIBRATORS
from .compare import METHODS, compare_calibrators, save_report
from .score_files import (
    PROBABILITY_SUFFIXES,
    check_output,
    read_calibrator,
    read_scores,
    write_calibrator,
    write_probabilities,
)
from .terminal import Terminal

_DESCRIPTION = "Calibrate the probabilities of a classifier from saved scores."
_FILES = """\
FILE is .npz, .npy or .csv. A .npz file holds val_logits, val_labels, test_logits and
test_labels, or labels and one of logits, probs and scores; --scores and --labels name
other keys. A .npy file holds scores, and --labels names a file of labels. A .csv file
has a row for each sample and a column of labels (labels, label or y, or --labels).
Labels count the columns from 0, or are named by --classes. Nothing is ever unpickled.
"""


def main(arguments=None):
    """Run a command.

    Parameters
    ----------
    arguments : list of str, default=None
        What follows ``python -m sklearn_smart``; None takes it from there.

    Returns
    -------
    code : int
        0, or 2 after an error, whose message is on the standard error stream.
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has left; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(f"error: {error or type(error).__name__}", file=sys.stderr)
        return 2
    return 0


@contextlib.contextmanager
def _about(path):
    """Errors of the work on a file's numbers, with its name and with our options."""
    try:
        yield
    except ValueError as error:
        message = re.sub(r"\binput='(\w+)'", r"--input \1", str(error))
        message = message.replace("`classes`", "--classes")
        named = path is None or str(path) in message
        raise ValueError(message if named else f"{path}: {message}") from error


def _jobs(text):
    """A number of processes, as joblib understands it."""
    jobs = int(text)
    if jobs == 0:
        raise argparse.ArgumentTypeError("must be 1 or more, or -1 for all processors")
    return jobs


_jobs.__name__ = "int"  # what argparse calls it where the text is no number


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_smart", description=_DESCRIPTION
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"sklearn-smart {version('sklearn-smart')}",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_compare(commands)
    _add_fit(commands)
    _add_apply(commands)
    return parser


def _command(commands, name, run, summary, epilog=_FILES):
    command = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_compare(commands):
    command = _command(
        commands,
        "compare",
        _compare,
        "Compare calibration methods; without FILE on data that comes with "
        "scikit-learn.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", help="scores and labels")
    command.add_argument(
        "--output",
        metavar="HTML",
        default="calibration_report.html",
        help="the report (default: %(default)s)",
    )
    command.add_argument(
        "--no-report", action="store_true", help="print the tables alone"
    )
    command.add_argument(
        "--methods",
        nargs="+",
        default=list(METHODS),
        choices=sorted(CALIBRATORS),
        metavar="NAME",
        help=f"of {', '.join(sorted(CALIBRATORS))} (default: %(default)s)",
    )
    command.add_argument(
        "--reference",
        metavar="NAME",
        help="method the differences are taken to (default: the first)",
    )
    command.add_argument(
        "--cv", type=int, default=5, metavar="K", help="folds (default: %(default)s)"
    )
    command.add_argument(
        "--repeats",
        type=int,
        default=2,
        metavar="R",
        help="how often the folds are made anew (default: %(default)s)",
    )
    command.add_argument(
        "--jobs",
        type=_jobs,
        default=min(2, os.cpu_count() or 1),
        metavar="N",
        help="processes (default: %(default)s)",
    )
    command.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="of the folds and the models (default: %(default)s)",
    )
    _add_file_options(command)


def _add_fit(commands):
    command = _command(
        commands, "fit", _fit, "Fit a calibrator on saved scores and write it as JSON."
    )
    command.add_argument("file", metavar="FILE", help="scores and labels")
    command.add_argument(
        "--method",
        default="smart",
        choices=sorted(CALIBRATORS),
        help="(default: %(default)s)",
    )
    command.add_argument(
        "--output", metavar="JSON", required=True, help="where the calibrator goes"
    )
    _add_file_options(command)


def _add_apply(commands):
    command = _command(
        commands, "apply", _apply, "Apply a calibrator of `fit` to saved scores."
    )
    command.add_argument("calibrator", metavar="JSON", help="what `fit` wrote")
    command.add_argument("file", metavar="FILE", help="scores; labels are not needed")
    command.add_argument(
        "--output",
        metavar="PROBS",
        required=True,
        help="where the probabilities go: .npy, .npz or .csv",
    )
    _add_file_options(command, with_labels=False)


def _add_file_options(command, with_labels=True):
    group = command.add_argument_group("what is in FILE")
    group.add_argument("--scores", metavar="KEY", help="key of the scores")
    group.add_argument(
        "--labels", metavar="KEY", help="key, column or file of the labels"
    )
    if with_labels:
        group.add_argument(
            "--classes",
            metavar="A,B,...",
            help="labels of the columns in their order, or the key that holds them",
        )
        group.add_argument(
            "--input",
            choices=("logits", "probabilities"),
            help="what the scores are (default: what the key says, else logits)",
        )


def _compare(options):
    terminal = Terminal()
    if options.file is None:
        given = [
            name
            for name in ("scores", "labels", "classes", "input")
            if getattr(options, name) is not None
        ]
        if given:
            raise ValueError(
                f"--{given[0]} says what is in FILE, and no FILE is given."
            )
    if not options.no_report:
        check_output(options.output, (".html", ".htm"))
        if find_spec("matplotlib") is None:
            raise ImportError(
                "the report needs matplotlib. Install it with the extra 'plot', pip "
                "install 'sklearn-smart[plot]', or print the tables alone with "
                "--no-report."
            )
    reference = options.reference
    if reference is not None and reference not in options.methods:
        raise ValueError(
            f"--reference {reference} is not one of the methods {options.methods}."
        )
    work = _examples() if options.file is None else _of_file(options)
    comparisons = _run(terminal, work, options)
    for comparison in comparisons:
        terminal.show(comparison)
    if not options.no_report:
        path = save_report(comparisons, options.output)
        terminal.say(f"Report: {path}")


def _run(terminal, work, options):
    """One comparison for each (title, positional arguments, keyword arguments)."""
    comparisons = []
    for title, positional, keywords in work:
        start = time.perf_counter()
        with terminal.progress(title) as progress, warnings.catch_warnings():
            # What there is to warn of stands in the notes, which are shown.
            warnings.simplefilter("ignore")
            settings = {
                "cv": options.cv,
                "n_repeats": options.repeats,
                "methods": options.methods,
                "reference": options.reference,
                "random_state": options.random_state,
                "n_jobs": options.jobs,
                "progress": progress,
            }
            with _about(options.file):
                comparison = compare_calibrators(
                    *positional, **{**settings, **keywords}
                )
        comparison.name = title
        comparison.parameters["seconds in all"] = f"{time.perf_counter() - start:.1f}"
        comparisons.append(comparison)
    return comparisons


def _of_file(options):
    file = read_scores(
        options.file,
        scores=options.scores,
        labels=options.labels,
        classes=options.classes,
        input=options.input,
    )
    shape = f"{len(file.scores)} rows, {file.input}"
    keywords = {"input": file.input, "classes": file.classes}
    if file.split is not None:
        # The file says who learns and who is tested.
        keywords["cv"] = [file.split]
        shape = f"{len(file.split[0])} + {len(file.split[1])} rows, {file.input}"
    return [(f"{options.file}: {shape}", (file.scores, file.labels), keywords)]


def _examples():
    """Three classifiers that err in three ways, on handwritten digits."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    network = MLPClassifier(
        (64,), alpha=0.0, learning_rate_init=0.01, max_iter=400, random_state=0
    )
    return [
        (f"digits, {name}", (estimator, X / 16.0, y), {})
        for name, estimator in (
            ("random forest", RandomForestClassifier(random_state=0)),
            ("neural network", network),
            ("naive Bayes", GaussianNB()),
        )
    ]


def _fit(options):
    check_output(options.output, (".json",))
    file = read_scores(
        options.file,
        scores=options.scores,
        labels=options.labels,
        classes=options.classes,
        input=options.input,
    )
    calibrator = CALIBRATORS[options.method](input=file.input, classes=file.classes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _about(options.file):
            calibrator.fit(*file.calibration)
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    path = write_calibrator(options.output, calibrator)
    rows = len(file.calibration[0])
    print(f"Fitted {options.method} on {rows} rows of {file.input}: {path}")


def _apply(options):
    check_output(options.output, PROBABILITY_SUFFIXES)
    calibrator = read_calibrator(options.calibrator)
    file = read_scores(
        options.file,
        scores=options.scores,
        labels=options.labels,
        default_input=calibrator.input,
        with_labels=False,
    )
    if file.input != calibrator.input:
        raise ValueError(
            f"{options.calibrator} was fitted on {calibrator.input}, but "
            f"{options.file} holds {file.input}. Fit it on scores of the same kind."
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with _about(options.file):
            probabilities = calibrator.predict_proba(file.test)
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    path = write_probabilities(options.output, probabilities, calibrator.classes_)
    print(f"Probabilities of {len(probabilities)} rows: {path}")

"""The command line: ``python -m benchmarks.speed run``, ``compare`` or ``grow``."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

from . import compare, growth, run
from .cases import CASES
from .problems import PROBLEMS


def _arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="medians, ratios and memory beside rivals")
    one.add_argument(
        "--problems",
        nargs="+",
        choices=PROBLEMS,
        default=["small", "large", "wide"],
    )
    one.add_argument("--cases", nargs="+", choices=CASES, metavar="CASE")
    one.add_argument("--rounds", type=int, default=7)
    one.add_argument(
        "--budget", type=float, default=30.0, help="seconds per case, about"
    )
    one.add_argument("--no-memory", action="store_true")
    one.add_argument("--seeds", type=int, default=3, help="of the published recipe")
    one.add_argument("--scores", help="a file of scores in place of the small problem")
    one.add_argument("--json", type=Path, help="write all that was measured there")
    two = commands.add_parser("compare", help="fails where HEAD is slower than BASE")
    two.add_argument("base", help="a revision")
    two.add_argument("head", nargs="?", help="a revision; the files as they are now")
    two.add_argument("--rounds", type=int, default=7)
    two.add_argument("--problems", nargs="+", choices=PROBLEMS)
    grow = commands.add_parser("grow", help="draws seconds against samples and classes")
    grow.add_argument("--image", type=Path, default=Path("docs/images/growth.png"))
    grow.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _run(arguments):
    # Before the table, as a run of half an hour must not end without a place for it.
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
    results = []
    for name in arguments.problems:
        result = run.measure(
            name,
            rounds=arguments.rounds,
            budget=arguments.budget,
            memory=not arguments.no_memory,
            seeds=arguments.seeds,
            cases=arguments.cases,
            path=arguments.scores if name == "small" else None,
        )
        results.append(result.to_dict())
        print(f"\n{run.table(result)}\n\n{run.targets_table(result)}", flush=True)
    environment = run.environment()
    print("\n" + "; ".join(f"{name} {value}" for name, value in environment.items()))
    if arguments.json:
        content = {"environment": environment, "results": results}
        arguments.json.write_text(json.dumps(content, indent=1), "utf-8")


def main():
    arguments = _arguments()
    warnings.simplefilter("ignore")
    if arguments.command == "run":
        _run(arguments)
    elif arguments.command == "compare":
        slower = compare.compare(
            arguments.base,
            arguments.head,
            rounds=arguments.rounds,
            problems=arguments.problems,
        )
        if slower:
            sys.exit("slower by more than 15 % and 50 ms: " + "; ".join(slower))
    else:
        growth.grow(arguments.image, rounds=arguments.rounds)


if __name__ == "__main__":
    main()

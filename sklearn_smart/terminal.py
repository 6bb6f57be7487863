"""Progress and tables in a terminal; with rich where it is installed."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from importlib.util import find_spec

from .compare import text_table, wrapped

# Without a bar, a line is printed after this many seconds at the earliest.
_SECONDS_PER_LINE = 2.0

_DIFFERENCES = "Where the interval does not hold 0: * better, ! worse."


class Terminal:
    """Tables on the standard output, progress on the standard error stream.

    Where the output is no terminal, or rich is not installed, both are plain lines.
    """

    def __init__(self):
        self._rich = find_spec("rich") is not None

    def say(self, text=""):
        """Print a line."""
        print(text)

    @contextlib.contextmanager
    def progress(self, title):
        """Context that gives a function ``progress(done, total)``."""
        if self._rich and sys.stderr.isatty():
            with self._bar(title) as advance:
                yield advance
        else:
            print(f"{title} ...", file=sys.stderr, flush=True)
            yield _Lines()

    @contextlib.contextmanager
    def _bar(self, title):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("folds"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(title, total=None)

            def advance(done, total):
                bar.update(task, completed=done, total=total)

            yield advance

    def show(self, comparison):
        """Print the tables of a comparison, as wide as the terminal has room for."""
        self.say()
        scores = comparison.summary_cells()
        differences = comparison.difference_cells()
        is_terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if is_terminal else 10_000
        if _width(scores) > width:
            scores = comparison.summary_cells(errors=False)
        if self._rich and is_terminal:
            self._show_rich(comparison, scores, differences, width)
        else:
            self._show_plain(comparison, scores, differences, width)

    def _show_plain(self, comparison, scores, differences, width):
        self.say(comparison.name)
        self.say(_table(scores))
        for line in comparison.legend():
            self.say(line)
        for note in comparison.notes:
            self.say(f"note: {note}")
        if _width(differences) <= width:
            self.say()
            self.say(_table(differences))
            self.say(_DIFFERENCES)
        else:
            self.say(_too_wide(differences))

    def _show_rich(self, comparison, scores, differences, width):
        from rich.console import Console
        from rich.markup import escape

        console = Console(highlight=False, width=width)
        console.print(f"[bold]{escape(comparison.name)}[/bold]")
        console.print(_rich_table(scores))
        for line in comparison.legend():
            console.print(f"[dim]{escape(line)}[/dim]")
        for note in comparison.notes:
            console.print(f"[yellow]note:[/yellow] {escape(note)}")
        if _width(differences) <= width:
            console.print(_rich_table(differences))
            console.print(f"[dim]{_DIFFERENCES}[/dim]")
        else:
            console.print(f"[dim]{_too_wide(differences)}[/dim]")


class _Lines:
    """Progress as a line now and then."""

    def __init__(self):
        self._last = time.monotonic()

    def __call__(self, done, total):
        now = time.monotonic()
        if done == total or now - self._last >= _SECONDS_PER_LINE:
            self._last = now
            print(f"  {done} of {total} folds", file=sys.stderr, flush=True)


def _table(cells):
    header, rows = cells
    return text_table([wrapped(title) for title in header], rows, gap=1)


def _width(cells):
    return max(map(len, _table(cells).split("\n")))


def _too_wide(cells):
    return (
        f"The paired differences need {_width(cells)} columns; they are in the report."
    )


def _rich_table(cells):
    from rich.table import Table
    from rich.text import Text

    header, rows = cells
    # No lines: the table is as wide as the plain one.
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for position, title in enumerate(header):
        lines = wrapped(title).split("\n")
        width = max(len(text) for text in [*lines, *(row[position] for row in rows)])
        # Blank marks count in a column of numbers, and rich would strip them.
        pad = str.rjust if position else str.ljust
        rows = [
            [*row[:position], pad(row[position], width), *row[position + 1 :]]
            for row in rows
        ]
        table.add_column(
            "\n".join(pad(line, width) for line in lines),
            vertical="bottom",
            no_wrap=True,
        )
    for row in rows:
        table.add_row(*(Text(c, style="bold" if c.endswith("*") else "") for c in row))
    return table

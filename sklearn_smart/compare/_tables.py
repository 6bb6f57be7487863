"""Tables of texts in four languages: plain text, Markdown, LaTeX, HTML.

A table is a list of column titles and a list of rows. The first column names the rows
and stands to the left; numbers stand to the right.
"""

from __future__ import annotations

import html
import re

_LATEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}

_CLASSES = {
    "*": ' class="best"',
    "=": ' class="tied"',
    "!": ' class="worse"',
}


def wrapped(title):
    """A title in lines: broken at blanks and after hyphens, not before ``%``."""
    return re.sub(r" (?!%)|(?<=-)", "\n", title)


def text_table(header, rows, gap=2):
    """The table in lines of equal columns; titles may hold line breaks."""
    titles = [title.split("\n") for title in header]
    height = max(map(len, titles))
    titles = list(zip(*([""] * (height - len(t)) + t for t in titles), strict=True))
    columns = list(zip(*titles, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in (*titles, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append((" " * gap).join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(header, rows):
    """The table with pipes."""

    def line(cells):
        escaped = (
            str(c).strip().replace("|", r"\|").replace("*", r"\*") for c in cells
        )
        return f"| {' | '.join(escaped)} |"

    rule = "|" + "|".join([":--", *["--:"] * (len(header) - 1)]) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


def latex_table(header, rows):
    """The table as a ``tabular`` with booktabs' rules."""

    def line(cells):
        return " & ".join(_latex(c.strip()) for c in cells) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            line(header),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _latex(text):
    return "".join(_LATEX.get(character, character) for character in text)


def html_table(header, rows, *, sortable=False):
    """The table in HTML; a cell sorts by the first number in it, or by its text.

    Cells that end with the mark ``*``, ``=`` or ``!`` have the class "best", "tied" or
    "worse".
    """
    titles = "".join(
        f'<th scope="col"><button type="button">{html.escape(t)}</button></th>'
        if sortable
        else f'<th scope="col">{html.escape(t)}</th>'
        for t in header
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        f"{''.join(map(_html_cell, row[1:]))}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(text):
    number = re.match(r"[-+]?\d+(\.\d+)?", text)
    key = f' data-key="{float(number[0]) if number else -1}"'
    mark = _CLASSES.get(text[-1:], "")
    return f"<td{mark}{key}>{html.escape(text.strip())}</td>"

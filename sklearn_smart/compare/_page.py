"""One self-contained HTML page: tables that sort, pictures inside, nothing to load."""

from __future__ import annotations

import base64
import html
import io

from ..score_files import write_whole
from ._tables import html_table

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
       max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h2, p, code { overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
nav a { margin-right: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
        font-size: .875rem; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid #ddd; }
th:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #555; vertical-align: bottom; }
thead button { font: inherit; font-weight: 600; border: 0; background: none;
               padding: 0; cursor: pointer; color: inherit; }
thead button:hover, thead button:focus-visible { text-decoration: underline; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
td.best { font-weight: 700; background: #e3f0fa; }
td.tied { background: #f1f7fc; }
td.worse { font-weight: 700; background: #fbe6d4; }
.pictures { display: grid; gap: 1rem;
            grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
.pictures img { width: 100%; height: auto; }
.note { color: #444; font-size: .875rem; max-width: 60rem; }
.warning { border-left: 4px solid #b35900; padding-left: .6rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr;
     gap: .2rem 1rem; font-size: .875rem; }
dd { margin: 0; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }
"""

_SCRIPT = """
for (const table of document.querySelectorAll(".sortable table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => {
      const cell = row.cells[column];
      return "key" in cell.dataset ? Number(cell.dataset.key) : cell.textContent;
    };
    const compare = (a, b) => typeof a === "number" && typeof b === "number"
      ? a - b : String(a).localeCompare(String(b));
    [...table.tBodies[0].rows]
      .sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b)))
      .forEach(row => table.tBodies[0].append(row));
  }));
}
"""


def figure_image(figure):
    """A ``data:`` address of a matplotlib figure as SVG."""
    import matplotlib as mpl

    # The same figure gives the same bytes: no date, and names from a fixed salt.
    with mpl.rc_context({"svg.hashsalt": "sklearn_smart", "svg.fonttype": "path"}):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def write_page(path, title, sections):
    """Write the page and return its absolute path."""
    return write_whole(path, page(title, sections).encode())


def page(title, sections):
    """The page as text."""
    links = "".join(
        f'<a href="#s{i}">{html.escape(section["name"])}</a>'
        for i, section in enumerate(sections)
    )
    body = "".join(_section(i, section) for i, section in enumerate(sections))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1>"
        f"{f'<nav>{links}</nav>' if len(sections) > 1 else ''}{body}"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _section(number, section):
    pictures = "".join(
        f'<img src="{uri}" alt="{html.escape(text)}">'
        for uri, text in section["pictures"]
    )
    legend = "".join(
        f'<p class="note">{html.escape(line)}</p>' for line in section["legend"]
    )
    notes = "".join(
        f'<p class="note warning">{html.escape(note)}</p>' for note in section["notes"]
    )
    parameters = "".join(
        f"<dt>{html.escape(str(key))}</dt><dd>{html.escape(str(value))}</dd>"
        for key, value in section["parameters"].items()
    )
    return (
        f'<section id="s{number}"><h2>{html.escape(section["name"])}</h2>'
        f'<div class="wide sortable">{html_table(*section["summary"], sortable=True)}'
        f"</div>{legend}{notes}"
        "<h3>Paired differences</h3>"
        f'<div class="wide sortable">'
        f"{html_table(*section['differences'], sortable=True)}</div>"
        '<p class="note">Difference [interval]. Where the interval does not hold 0: '
        "* better, ! worse.</p>"
        "<h3>Reliability, all test parts together</h3>"
        f'<div class="pictures">{pictures}</div>'
        f"<details><summary>Parameters, seeds and versions</summary><dl>{parameters}"
        "</dl></details></section>"
    )

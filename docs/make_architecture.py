"""Write the tree of the package into docs/architecture.md.

``python docs/make_architecture.py`` rewrites the listing between the two markers: one
line for each module, with the first line of its docstring. With ``--check`` it writes
nothing and ends with 1 where the page and the tree differ.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_smart"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- tree: begin -->\n"
END = "<!-- tree: end -->\n"


def purpose(module: Path) -> str:
    """Return the first line of a module's docstring, or "" where it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8")))
    return docstring.splitlines()[0] if docstring else ""


def listing(folder: Path, depth: int = 0) -> list[tuple[str, str]]:
    """Return pairs of an indented name and a purpose, folder by folder."""
    indent = "  " * depth
    init = folder / "__init__.py"
    rows = [(f"{indent}{folder.name}/", purpose(init))]
    for path in sorted(folder.iterdir(), key=lambda p: (p.is_dir(), p.name)):
        if path.is_dir() and (path / "__init__.py").exists():
            rows += listing(path, depth + 1)
        elif path.suffix == ".py" and path != init:
            rows.append((f"{indent}  {path.name}", purpose(path)))
    return rows


def tree() -> str:
    """Return the listing as a fenced block."""
    rows = listing(PACKAGE)
    width = max(len(name) for name, _ in rows) + 2
    lines = [f"{name:<{width}}{text}".rstrip() for name, text in rows]
    return "\n".join(["```text", *lines, "```", ""])


def updated_page() -> str:
    """Return the page with the listing of the tree as it is now."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + tree() + END + after


def main(argv: list[str] | None = None) -> int:
    """Rewrite the page, or say how it differs from the tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(argv).check
    old, new = PAGE.read_text("utf-8"), updated_page()
    if not check:
        PAGE.write_text(new, "utf-8")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(
            old.splitlines(True), new.splitlines(True), "page", "tree as it is"
        )
    )
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())

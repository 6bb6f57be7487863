"""The site: its sources name every public name, and so do the pages that teach."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import sklearn_smart
from sklearn_smart import boosting_objectives, calibrators, metrics

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = [
    page
    for page in sorted(DOCS.glob("*.md"))
    if page.stem not in ("api", "architecture", "changelog", "contributing")
]
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
NAMES = [
    *((name, sklearn_smart) for name in sklearn_smart.__all__),
    *((name, metrics) for name in metrics.__all__),
    ("feasible_temperatures", calibrators),
    ("BrierWeightedObjective", boosting_objectives),
    ("raw_scores", boosting_objectives),
    ("BrierWeightedLoss", None),  # defined where PyTorch is installed
]
IDS = [name for name, _ in NAMES]


def text_of(pages):
    return "\n".join(page.read_text("utf-8") for page in pages)


@pytest.mark.parametrize(("name", "module"), NAMES, ids=IDS)
def test_a_name_is_in_the_reference(name, module):
    reference = (DOCS / "api.md").read_text("utf-8")
    assert re.search(rf"^ {{3}}(\w+\.)*{name}$|[:.] ?\S*\b{name}$", reference, re.M)


@pytest.mark.parametrize(("name", "module"), NAMES, ids=IDS)
def test_a_name_is_reached_from_the_guide(name, module):
    # The site makes such code a link into the reference.
    assert re.search(rf"`(?:\w+\.)*{name}(?:\(\))?`", text_of(GUIDE))


@pytest.mark.parametrize(("name", "module"), NAMES, ids=IDS)
def test_a_name_has_an_example(name, module):
    if module is None:
        source = Path(sklearn_smart.__file__).parent / "torch_losses.py"
        assert f">>> {name}(" in source.read_text("utf-8")
        return
    value = getattr(module, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert ">>> " in inspect.getdoc(value)


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text("utf-8")
    listed = set(re.findall(r"^(\w+(?:/\w+)?)$", index, re.M))
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert listed == pages | {"auto_examples/index"}


def test_gallery_is_large_enough_and_begins_with_titles():
    assert len(GALLERY) >= 10
    for example in GALLERY:
        title, line = ast.get_docstring(ast.parse(example.read_text("utf-8"))).split(
            "\n"
        )[:2]
        assert line == "=" * len(title), example.name


@pytest.mark.parametrize("example", GALLERY, ids=lambda example: example.stem)
def test_names_that_an_example_imports_exist(example):
    for node in ast.walk(ast.parse(example.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "sklearn_smart":
            assert {alias.name for alias in node.names} <= set(sklearn_smart.__all__)

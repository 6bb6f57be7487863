"""What the documentation shows is run: pages, their links, and docstrings."""

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import sklearn_smart

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
MODULES = [
    "sklearn_smart",
    *(
        module.name
        for module in pkgutil.walk_packages(sklearn_smart.__path__, "sklearn_smart.")
        if not module.name.endswith("__main__")
    ),
]
# An example that holds the word needs the module.
NEEDS = [
    ("Display", "matplotlib", "needs the 'plot' extra"),
    ("plot", "matplotlib", "needs the 'plot' extra"),
    ("save_html", "matplotlib", "needs the 'plot' extra"),
    ("to_frame", "pandas", "needs the 'pandas' extra"),
    ("import pandas", "pandas", "needs the 'pandas' extra"),
    ("import torch", "torch", "needs PyTorch"),
    ("xgboost", "xgboost", "needs the 'boosting' extra"),
]


def skip_where_missing(code):
    for word, module, reason in NEEDS:
        if word in code and importlib.util.find_spec(module) is None:
            pytest.skip(reason)


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_a_page(page, tmp_path, monkeypatch):
    """The blocks of a page are one program, in a folder that holds scores.npz."""
    codes = blocks(page, "python")
    skip_where_missing("\n".join(codes))
    shutil.copy(ROOT / "tests" / "data" / "digits_network.npz", tmp_path / "scores.npz")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_readme_has_two_set_up_commands():
    """Each makes its own environment, in one line, of extras that exist."""
    commands = [
        line
        for block in blocks(ROOT / "README.md", "bash")
        for line in block.split("\n")
    ]
    main_job, tests = filter(None, commands)
    assert main_job.endswith("-m sklearn_smart compare")
    assert "pytest" in tests
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for command in (main_job, tests):
        assert command.startswith("python3 -m venv .venv")
        (extras,) = re.findall(r'pip install -q "\.\[([a-z,]+)\]"', command)
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_lower_bounds_are_the_tested_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = dict(entry.split(">=") for entry in project["dependencies"])
    lines = (ROOT / ".ci" / "minimum.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert tested == {name: f"{version}.0" for name, version in bounds.items()} | {
        "scipy": "1.11.1"  # 1.11.0 was withdrawn
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    output = []
    for test in finder.find(importlib.import_module(name), name):
        skip_where_missing("".join(example.source for example in test.examples))
        runner.run(test, out=output.append)
    assert not output, "".join(output)

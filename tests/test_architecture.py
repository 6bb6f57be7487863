"""The rules that hold the package together, checked on its source."""

import ast
import importlib.metadata
import json
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sklearn_smart

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_smart"
MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = [
    *MODULES,
    *sorted((ROOT / "docs").rglob("*.py")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
    *sorted((ROOT / "tests").rglob("*.py")),
]
CORE = {"joblib", "numpy", "scipy", "sklearn", "sklearn_smart", "threadpoolctl"}
# A file longer than this holds more than one idea.
MAX_LINES = 700


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def imports(tree):
    """Yield (module, names, node) of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, (), node
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module, tuple(alias.name for alias in node.names), node


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_sklearn_names(tree):
    """Return the private parts of scikit-learn that a module imports or reaches."""
    found = set()
    for module, names, _ in imports(tree):
        parts = module.split(".")
        if parts[0] == "sklearn":
            found |= {module for part in parts if is_private(part)}
            found |= {f"{module}.{name}" for name in names if is_private(name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            dotted = ast.unparse(node)
            if dotted.startswith("sklearn."):
                found.add(dotted)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_private_part_of_scikit_learn(path):
    assert private_sklearn_names(ast.parse(path.read_text("utf-8"))) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import sklearn._loss",
        "import sklearn.utils._tags as tags",
        "from sklearn.utils._param_validation import Interval",
        "from sklearn.calibration import _SigmoidCalibration",
        "import sklearn.calibration\nsklearn.calibration._fit_calibrator",
    ],
)
def test_private_parts_are_found(source):
    assert len(private_sklearn_names(ast.parse(source))) == 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_extras_are_imported_where_they_are_used(path):
    """At the top of a module stand only the standard library and the core."""
    tree = ast.parse(path.read_text("utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    allowed = CORE | set(sys.stdlib_module_names)
    for module, _, node in imports(tree):
        if id(node) not in inside:
            assert module.split(".")[0] in allowed


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("_numerics/**/*.py")), ids=name_of)
def test_numerics_know_numpy_and_scipy_only(path):
    allowed = {"numpy", "scipy", "sklearn_smart"} | set(sys.stdlib_module_names)
    for module, _, _ in imports(ast.parse(path.read_text("utf-8"))):
        assert module.split(".")[0] in allowed
        assert module != "warnings", "the rooms above decide what is worth a warning"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_one_idea(path):
    """Each module says its purpose in one line, and none is a drawer for the rest."""
    source = path.read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring, "the first line of the docstring is the module's purpose"
    assert docstring.splitlines()[0].endswith(".")
    assert not {"utils", "helpers", "common", "misc"} & {
        part.strip("_") for part in path.relative_to(ROOT).with_suffix("").parts
    }
    assert len(source.splitlines()) <= MAX_LINES


def test_architecture_page_shows_the_tree(capsys):
    main = runpy.run_path(str(ROOT / "docs" / "make_architecture.py"))["main"]
    differs = main(["--check"])
    assert not differs, (
        "run `python docs/make_architecture.py`\n" + capsys.readouterr().out
    )


WITHOUT_EXTRAS = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"matplotlib", "pandas", "rich", "torch"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import sklearn_smart as package
for module in pkgutil.walk_packages(package.__path__, "sklearn_smart."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_every_module_imports_without_the_extras():
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_EXTRAS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_tested_package_is_the_installed_one():
    distribution = importlib.metadata.distribution("sklearn-smart")
    source = json.loads(distribution.read_text("direct_url.json") or "{}")
    if source.get("dir_info", {}).get("editable"):
        expected = PACKAGE
    else:
        expected = Path(distribution.locate_file("sklearn_smart"))
    assert Path(sklearn_smart.__file__).parent.samefile(expected)


def test_public_names_are_sorted_and_have_an_example():
    names = sklearn_smart.__all__
    assert sorted(set(names), key=str.casefold) == sorted(names, key=str.casefold)
    for name in names:
        public = getattr(sklearn_smart, name)
        if not isinstance(public, str | types.ModuleType):
            assert ">>> " in (public.__doc__ or ""), name

"""Validate the public docstrings against the numpydoc standard.

Public is what ``__all__`` of a public module names, and the public methods that its
classes define themselves. Prints what is wrong and ends with 1 where anything is.
"""

import importlib
import inspect
import pkgutil
import sys

from numpydoc.validate import validate

import sklearn_smart

# Not asked for: an extended summary, examples and "See Also" everywhere, the summary on
# the line below the quotes; return values may have names, as in scikit-learn.
NOT_ASKED = {"ES01", "EX01", "GL01", "RT02", "RT03", "SA01", "SA04", "SS05"}
# What a method of scikit-learn's protocols means is scikit-learn's to say at length.
NOT_ASKED_OF_METHODS = {"PR01", "RT01", "YD01"}


def public_modules():
    yield sklearn_smart
    for info in pkgutil.walk_packages(sklearn_smart.__path__, "sklearn_smart."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def public_names():
    """Yield the full name of each public object once, where it is defined."""
    seen = set()
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            public = getattr(module, name)
            if not callable(public) or id(public) in seen:
                continue
            seen.add(id(public))
            yield f"{module.__name__}.{name}", False
            if inspect.isclass(public):
                for method, value in vars(public).items():
                    if not method.startswith("_") and callable(
                        getattr(value, "__func__", value)
                    ):
                        yield f"{module.__name__}.{name}.{method}", True


def main():
    found = 0
    for name, is_method in public_names():
        not_asked = NOT_ASKED | (NOT_ASKED_OF_METHODS if is_method else set())
        for code, message in validate(name)["errors"]:
            if code not in not_asked:
                print(f"{name}: {code} {message}")
                found += 1
    print(f"{found} problem(s) in public docstrings")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())

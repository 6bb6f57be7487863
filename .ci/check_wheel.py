"""Build the wheel and fail where it holds anything but the package."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        subprocess.run([*build, "-w", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        names = set(zipfile.ZipFile(wheel).namelist())
    in_wheel = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "sklearn_smart").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for name in sorted(in_wheel ^ in_tree):
        print(f"{name}: only in {'the wheel' if name in in_wheel else 'the tree'}")
    print(f"wheel of {len(in_wheel)} files")
    return int(in_wheel != in_tree)


if __name__ == "__main__":
    sys.exit(main())

"""The command line: what it prints and writes, and what it says when it cannot."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_smart import SMARTCalibrator, TemperatureScaling, compare_calibrators
from sklearn_smart.calibrators import CALIBRATORS
from sklearn_smart.cli import main
from sklearn_smart.score_files import (
    read_calibrator,
    read_scores,
    write_calibrator,
    write_probabilities,
    write_whole,
)

FAST = ["--methods", "uncalibrated", "temperature", "--cv", "2", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def arrays():
    """Over-confident logits of three classes, float32."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    z = 5 * (np.eye(3)[y] + rng.normal(size=(300, 3)))
    return z.astype(np.float32), y


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def fails(arguments, capsys, *words):
    """Run a command that must end with 2, and check its message."""
    before = sorted(os.listdir())
    assert main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    message = captured.err.strip().split("\n")[-1]
    assert message.startswith("error: ")
    assert "Traceback" not in captured.err
    for word in words:
        assert word in message
    assert sorted(os.listdir()) == before


# -- compare -------------------------------------------------------------------------


def test_demonstration(folder):
    """The main job, smaller: real data, three classifiers, one report."""
    arguments = ["compare", "--cv", "2", "--repeats", "1", "--jobs", "1", "--methods"]
    arguments += ["uncalibrated", "temperature"]
    if not _has("matplotlib"):
        arguments.append("--no-report")
    run = subprocess.run(
        [sys.executable, "-m", "sklearn_smart", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for name in ("random forest", "neural network", "naive Bayes"):
        assert f"digits, {name}" in run.stdout
        assert f"digits, {name} ..." in run.stderr
    assert "2 of 2 folds" in run.stderr
    if _has("matplotlib"):
        assert f"Report: {folder / 'calibration_report.html'}" in run.stdout
        text = (folder / "calibration_report.html").read_text("utf-8")
        assert text.count("data:image/svg+xml;base64,") == 6
        assert os.listdir() == ["calibration_report.html"]


def _has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def test_a_file_gives_what_python_gives(folder, arrays, capsys):
    z, y = arrays
    np.savez("s.npz", logits=z, labels=y)
    arguments = ["compare", "s.npz", "--no-report", *FAST, "--repeats", "1"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    expected = compare_calibrators(
        z, y, methods=["uncalibrated", "temperature"], cv=2, n_repeats=1
    )
    for row in expected.summary_cells()[1]:
        for cell in row[1:-2]:
            assert cell.strip() in text
    assert "s.npz: 300 rows, logits" in text
    assert os.listdir() == ["s.npz"]


def test_a_file_with_parts_is_not_split_again(folder, arrays, capsys):
    z, y = arrays
    np.savez(
        "s.npz",
        val_logits=z[:200].astype(np.float16),
        val_labels=y[:200].astype(np.uint8),
        test_logits=z[200:].astype(np.float16),
        test_labels=y[200:].astype(np.uint8),
    )
    assert main(["compare", "s.npz", "--no-report", *FAST]) == 0
    text = capsys.readouterr().out
    assert "200 + 100 rows" in text
    assert "The only split fits the calibrators on 200 rows and tests on 100" in text
    file = read_scores("s.npz")
    assert file.scores.dtype == np.float32
    assert np.array_equal(file.scores, z.astype(np.float16).astype(np.float32))
    assert file.n_calibration == 200


@pytest.mark.parametrize("terminal", [50, 100, 200])
def test_tables_fit_the_terminal(terminal, arrays, monkeypatch, capsys):
    pytest.importorskip("rich", reason="needs the 'cli' extra")
    from sklearn_smart.terminal import Terminal

    comparison = compare_calibrators(
        *arrays, cv=2, n_repeats=1, scoring=["ece", "log_loss"]
    )
    comparison.name = "[name]"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(terminal))
    Terminal().show(comparison)
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).split("\n")
    assert max(map(len, lines)) <= terminal
    text = "\n".join(lines)
    assert "[name]" in text
    for method in comparison.methods:
        assert f"\n{method}" in text
    (row,) = (line for line in lines[:12] if line.startswith("smart"))
    assert ("±" in row) == (terminal > 50)
    assert ("minus" in text) == (terminal >= 100)
    assert ("differences need" in " ".join(text.split())) == (terminal < 100)
    # Numbers stand below each other, whether or not a mark follows.
    (other,) = (line for line in lines[:12] if line.startswith("uncalibrated"))
    assert row.index(".") == other.index(".")


def test_plain_text_without_rich(arrays, monkeypatch, capsys):
    from sklearn_smart import terminal

    monkeypatch.setattr(terminal, "find_spec", lambda name: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = terminal.Terminal()
    with shown.progress("work") as progress:
        progress(1, 2)
        progress(2, 2)
    shown.show(compare_calibrators(*arrays, methods=["smart", "temperature"], cv=2))
    captured = capsys.readouterr()
    assert captured.err == "work ...\n  2 of 2 folds\n"
    assert "\ntemperature " in captured.out


def test_probabilities_without_a_declaration_are_noted(folder, arrays, capsys):
    z, y = arrays
    np.savez("s.npz", scores=softmax(z), labels=y)
    assert main(["compare", "s.npz", "--no-report", *FAST]) == 0
    assert capsys.readouterr().out.count("note: UserWarning: input='logits'") == 1
    kind = ["--input", "probabilities"]
    assert main(["compare", "s.npz", "--no-report", *FAST, *kind]) == 0
    assert "note:" not in capsys.readouterr().out


# -- fit and apply -------------------------------------------------------------------


@pytest.mark.parametrize("method", CALIBRATORS)
def test_fit_and_apply_are_the_calibrator(method, folder, arrays, capsys):
    z, y = arrays
    np.savez("s.npz", logits=z, labels=y)
    assert main(["fit", "s.npz", "--method", method, "--output", "c.json"]) == 0
    assert f"Fitted {method} on 300 rows of logits: {folder / 'c.json'}" in (
        capsys.readouterr().out
    )
    expected = CALIBRATORS[method](classes=3).fit(z, y).predict_proba(z)
    for name in ("p.npy", "p.npz", "p.csv"):
        assert main(["apply", "c.json", "s.npz", "--output", name]) == 0
    assert np.array_equal(np.load("p.npy"), expected)
    with np.load("p.npz") as saved:
        assert np.array_equal(saved["probs"], expected)
        assert np.array_equal(saved["classes"], [0, 1, 2])
    assert Path("p.csv").read_text().startswith("0,1,2\n")
    table = np.loadtxt("p.csv", delimiter=",", skiprows=1)
    assert np.array_equal(table.astype(expected.dtype), expected)
    assert sorted(os.listdir()) == ["c.json", "p.csv", "p.npy", "p.npz", "s.npz"]


def test_fit_takes_the_calibration_part_and_apply_the_test_part(folder, arrays):
    z, y = arrays
    parts = {"val_logits": z[:200], "test_logits": z[200:]}
    np.savez("s.npz", **parts, val_labels=y[:200], test_labels=y[200:])
    assert main(["fit", "s.npz", "--method", "temperature", "--output", "c.json"]) == 0
    expected = TemperatureScaling().fit(z[:200], y[:200])
    assert read_calibrator("c.json").temperature_ == expected.temperature_
    assert main(["apply", "c.json", "s.npz", "--output", "p.npy"]) == 0
    assert np.array_equal(np.load("p.npy"), expected.predict_proba(z[200:]))
    chosen = ["--scores", "val_logits"]
    assert main(["apply", "c.json", "s.npz", *chosen, "--output", "p.npy"]) == 0
    assert np.array_equal(np.load("p.npy"), expected.predict_proba(z[:200]))


def test_scores_without_labels_can_be_calibrated(folder, arrays):
    z, y = arrays
    np.savez("s.npz", probs=softmax(z), labels=y)
    np.save("new.npy", softmax(z)[:5])
    assert main(["fit", "s.npz", "--output", "c.json"]) == 0
    assert (
        json.loads(Path("c.json").read_text())["parameters"]["input"] == "probabilities"
    )
    assert main(["apply", "c.json", "new.npy", "--output", "p.npy"]) == 0
    expected = SMARTCalibrator(input="probabilities").fit(softmax(z), y)
    assert np.array_equal(np.load("p.npy"), expected.predict_proba(softmax(z)[:5]))


def test_other_keys_and_names_of_classes(folder, arrays):
    z, y = arrays
    names = np.array(["z", "a", "m"])
    np.savez("s.npz", mine=z, truth=names[y], names=names)
    keys = ["--scores", "mine", "--labels", "truth"]
    for classes in ("names", "z,a,m"):
        command = ["fit", "s.npz", *keys, "--classes", classes, "--output", "c.json"]
        assert main(command) == 0
        assert read_calibrator("c.json").classes_.tolist() == ["z", "a", "m"]


def test_tables_of_text(folder, arrays):
    z, y = arrays
    names = np.array(["z", "a", "m"])

    def write(path, header, labels):
        rows = [
            [repr(float(v)) for v in row] + [label]
            for row, label in zip(z, labels, strict=True)
        ]
        lines = [",".join(map(str, row)) for row in [*header, *rows]]
        Path(path).write_text("\n".join(lines) + "\n")

    write("named.csv", [["z", "a", "m", "label"]], names[y])
    file = read_scores("named.csv")
    assert np.array_equal(file.scores, z.astype(float))
    assert file.classes.tolist() == ["z", "a", "m"]  # the header's order
    assert np.array_equal(file.labels, names[y])
    write("coded.csv", [["s0", "s1", "s2", "truth"]], y)
    file = read_scores("coded.csv", labels="truth")
    assert file.classes == 3
    assert np.array_equal(file.labels, y)
    np.savetxt("bare.csv", z, delimiter=",")
    np.savetxt("labels.csv", y, fmt="%d", header="label", comments="")
    np.save("labels.npy", y)
    for labels in ("labels.csv", "labels.npy"):
        file = read_scores("bare.csv", labels=labels)
        assert np.array_equal(file.labels, y)
        np.testing.assert_allclose(file.scores, z)
    np.save("bare.npy", z)
    assert np.array_equal(read_scores("bare.npy", labels="labels.npy").scores, z)
    assert read_scores("bare.npy", with_labels=False).labels is None


def test_two_classes_in_one_column(folder):
    np.savez(
        "s.npz", logits=np.array([[-1.0], [0.5], [2.0], [-3.0]]), labels=[0, 0, 1, 1]
    )
    file = read_scores("s.npz")
    assert file.scores.shape == (4,)
    assert file.classes == 2


# -- errors --------------------------------------------------------------------------


@pytest.fixture
def bad(folder, arrays):
    """A folder of files with something wrong, beside ``good.npz`` and ``c.json``."""
    z, y = arrays
    np.savez("good.npz", logits=z, labels=y)
    np.savez("keys.npz", outputs=z, targets=y)
    np.savez("no_labels.npz", logits=z)
    np.savez("two.npz", logits=z, probs=softmax(z), labels=y)
    np.savez("long.npz", logits=z, labels=y[:-1])
    np.savez("range.npz", logits=z, labels=y + 1)
    np.savez("negative.npz", logits=z, labels=y - 1)
    np.savez(
        "nan.npz", logits=np.where(np.arange(300)[:, None] == 7, np.nan, z), labels=y
    )
    np.savez("shape.npz", logits=z[None], labels=y)
    np.savez("empty.npz", logits=z[:0], labels=y[:0])
    np.savez("words.npz", logits=z.astype(str), labels=y)
    np.savez("fractions.npz", logits=z, labels=y + 0.5)
    np.savez("onehot.npz", logits=z, labels=np.eye(3)[y])
    np.savez("objects.npz", logits=np.array([None, {}]), labels=y)
    np.savez(
        "more.npz",
        logits=z,
        labels=np.array(["a", "b", "c", "d"])[y + (y == 2) * (z[:, 0] > 0)],
    )
    np.savez("wrong_probs.npz", probs=z, labels=y)
    np.savez("wide.npz", logits=np.hstack([z, z]), labels=y)
    np.savez(
        "parts.npz", val_logits=z, val_labels=y, test_logits=z[:, :2], test_labels=y
    )
    np.save("bare.npy", z)
    np.save("objects.npy", np.array([None, {}]))
    Path("text.npz").write_text("not a zip")
    Path("text.npy").write_text("not an array")
    Path("cut.npz").write_bytes(Path("good.npz").read_bytes()[:200])
    Path("scores.txt").write_text("1 2\n")
    Path("ragged.csv").write_text("a,b,label\n1,2,0\n1,2\n")
    Path("word.csv").write_text("a,b,label\n1,two,0\n")
    Path("header.csv").write_text("a,b,label\n")
    Path("plain.csv").write_text("1,2,0\n3,4,1\n")
    Path("broken.json").write_text('{"format": ')
    Path("other.json").write_text('{"a": 1}')
    Path("list.json").write_text("[]")
    write_calibrator("c.json", TemperatureScaling(classes=3).fit(z, y))
    state = json.loads(Path("c.json").read_text())
    Path("newer.json").write_text(json.dumps({**state, "format_version": 99}))
    del state["fitted"]
    Path("damaged.json").write_text(json.dumps(state))
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.npz", ["missing.npz", "no such file"]),
        (".", ["no such file"]),
        ("scores.txt", ["'.txt'", ".npz, .npy or .csv"]),
        ("keys.npz", ["['outputs', 'targets']", "--scores"]),
        ("no_labels.npz", ["'labels'", "['logits']", "--labels"]),
        ("two.npz", ["['logits', 'probs']", "--scores"]),
        ("long.npz", ["299", "300", "one label for each row"]),
        ("range.npz", ["0 to 2", "[3]", "--classes"]),
        ("negative.npz", ["0 to 2", "[-1]"]),
        ("nan.npz", ["1 of 300 rows", "row 7"]),
        ("shape.npz", ["(1, 300, 3)"]),
        ("empty.npz", ["(0, 3)"]),
        ("words.npz", ["must be numbers"]),
        ("fractions.npz", ["fractions"]),
        ("onehot.npz", ["(300, 3)", "one label for each row"]),
        ("objects.npz", ["'logits' cannot be read"]),
        ("more.npz", ["4 different labels", "3 classes", "--classes"]),
        ("wrong_probs.npz", ["wrong_probs.npz: --input prob", "--input logits"]),
        ("parts.npz", ["different numbers of columns"]),
        ("text.npz", ["text.npz"]),
        ("cut.npz", ["cut.npz"]),
        ("text.npy", ["text.npy"]),
        ("objects.npy", ["objects.npy"]),
        ("bare.npy", ["--labels labels.npy"]),
        ("ragged.csv", ["line 3", "2 columns, expected 3"]),
        ("word.csv", ["line 2, column 2", "'two'"]),
        ("header.csv", ["no row of scores"]),
        ("plain.csv", ["no header", "--labels"]),
    ],
)
@pytest.mark.parametrize("command", ["compare", "fit"])
def test_a_bad_file_is_told(command, name, words, bad, capsys):
    output = ["--output", {"compare": "r.html", "fit": "f.json"}[command]]
    if command == "compare" and not _has("matplotlib"):
        output = ["--no-report"]
    fails([command, name, *output], capsys, *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["apply", "missing.json", "good.npz"], ["missing.json", "no such file"]),
        (["apply", "broken.json", "good.npz"], ["broken.json", "not valid JSON"]),
        (["apply", "good.npz", "good.npz"], ["good.npz", "not valid JSON"]),
        (["apply", "other.json", "good.npz"], ["other.json", "'format'"]),
        (["apply", "list.json", "good.npz"], ["list.json", "'format'"]),
        (["apply", "newer.json", "good.npz"], ["newer.json", "99"]),
        (["apply", "damaged.json", "good.npz"], ["damaged.json", "damaged"]),
        (["apply", "c.json", "nan.npz"], ["row 7"]),
        (["apply", "c.json", "wide.npz"], ["wide.npz", "6 columns", "3 classes"]),
        (["apply", "c.json", "wrong_probs.npz"], ["was fitted on logits"]),
        (["fit", "good.npz", "--scores", "z"], ["'z'", "['labels', 'logits']"]),
        (["fit", "good.npz", "--labels", "t"], ["'t'", "['labels', 'logits']"]),
        (["fit", "good.npz", "--classes", "a,b"], ["2 classes", "of 3"]),
        (["fit", "good.npz", "--classes", "a,b,c"], ["[0, 1, 2]", "['a', 'b', 'c']"]),
        (["fit", "bare.npy", "--labels", "no.npy"], ["no.npy", "no such file"]),
        (["fit", "bare.npy", "--labels", "c.json"], ["'.json'"]),
        (["compare", "--scores", "z"], ["--scores", "no FILE"]),
        (["compare", "good.npz", "--reference", "platt"], ["platt"]),
        (["compare", "good.npz", "--cv", "1", "--jobs", "1"], ["'cv'"]),
        (["compare", "good.npz", "--repeats", "0"], ["good.npz", "'n_repeats'"]),
    ],
)
def test_bad_arguments_are_told(arguments, words, bad, capsys):
    if arguments[0] == "compare":
        arguments = [*arguments, "--no-report"]
    else:
        output = {"apply": "p.npy", "fit": "f.json"}[arguments[0]]
        arguments = [*arguments, "--output", output]
    fails(arguments, capsys, *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "missing.npz", "--output", "no/c.json"], ["no such folder"]),
        (["fit", "missing.npz", "--output", "c.pkl"], [".json", "'.pkl'"]),
        (["apply", "c", "missing.npz", "--output", "p.parquet"], ["'.parquet'"]),
        (["compare", "missing.npz", "--output", "report.pdf"], [".html"]),
        (["compare", "missing.npz", "--output", "no/r.html"], ["no such folder"]),
        (["fit", "missing.npz", "--output", "folder.json"], ["is a folder"]),
    ],
)
def test_an_output_that_cannot_be_is_told_before_any_work(
    arguments, words, folder, capsys
):
    (folder / "folder.json").mkdir()
    fails(arguments, capsys, *words)


def test_the_report_needs_matplotlib(folder, monkeypatch, capsys):
    monkeypatch.setattr("sklearn_smart.cli.find_spec", lambda name: None)
    fails(["compare"], capsys, "sklearn-smart[plot]", "--no-report")


def test_help_and_usage(capsys):
    for arguments in ([], ["compare"], ["fit"], ["apply"]):
        with pytest.raises(SystemExit) as caught:
            main([*arguments, "--help"])
        assert caught.value.code == 0
        assert "usage: python -m sklearn_smart" in capsys.readouterr().out
    for arguments in (
        [],
        ["tune"],
        ["fit", "s.npz"],
        ["fit", "s.npz", "--method", "x"],
        ["compare", "--jobs", "0"],
        ["compare", "--jobs", "two"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "error:" in capsys.readouterr().err


def test_no_traceback_from_the_command(folder):
    run = subprocess.run(
        [sys.executable, "-m", "sklearn_smart", "fit", "s.npz", "--output", "c.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "error: s.npz: there is no such file.\n"


def test_a_file_is_whole_or_as_it_was(folder, monkeypatch):
    write_whole("a.json", b"old")

    def fail(source, target):
        raise OSError("disk is gone")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk is gone"):
        write_whole("a.json", b"new")
    assert os.listdir() == ["a.json"]
    assert Path("a.json").read_text() == "old"


def test_a_new_file_has_the_rights_of_any_other(folder):
    Path("plain").touch()
    write_whole("whole", b"")
    assert os.stat("whole").st_mode == os.stat("plain").st_mode


def test_probabilities_go_to_known_kinds_of_files(folder):
    with pytest.raises(ValueError, match="parquet"):
        write_probabilities("p.parquet", np.ones((1, 1)), np.zeros(1))


# -- real scores ---------------------------------------------------------------------


def test_all_zero_logits_are_uniform(shared, folder, capsys):
    path = str(shared / "logits" / "cifar10_zoo_L4730_degenerate.npz")
    for method in CALIBRATORS:
        assert main(["fit", path, "--method", method, "--output", "c.json"]) == 0
        assert main(["apply", "c.json", path, "--output", "p.npy"]) == 0
        prob = np.load("p.npy")
        exact = ("uncalibrated", "temperature", "smart", "class_temperature")
        if method in exact:
            assert (prob == np.float32(0.1)).all()
        else:
            np.testing.assert_allclose(prob, 0.1, atol=1e-3)
    assert main(["compare", path, "--no-report", *FAST]) == 0
    assert "2.3026" in capsys.readouterr().out


def test_all_nan_logits_are_told(shared, folder, capsys):
    path = str(shared / "logits" / "cifar10_zoo_L1486_degenerate.npz")
    fails(["compare", path, "--no-report"], capsys, "10000 of 10000 rows")
    fails(["fit", path, "--output", "c.json"], capsys, "10000 of 10000 rows")


def test_published_numbers_of_a_file(shared, folder, capsys):
    path = str(shared / "logits" / "cifar10_resnet50_focal.npz")
    assert main(["compare", path, "--no-report", *FAST]) == 0
    text = capsys.readouterr().out
    rows = {}
    for line in filter(None, text.split("\n")):
        rows.setdefault(line.split()[0], line.split())
    assert rows["uncalibrated"][1] == "1.56"
    assert rows["temperature"][1] == "0.98"
    assert "0.1755" in rows["uncalibrated"]

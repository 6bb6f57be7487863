"""Files of scores and labels, and files that are complete or not there.

A file is ``.npz`` (arrays by key), ``.npy`` (one array) or ``.csv`` (one row for each
sample). Nothing is ever unpickled. Half-precision scores are cast up to float32, which
holds them exactly.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .calibrators import BaseCalibrator

# Where the source has a calibration part and a test part, and where it has not.
_PARTS = (("val_logits", "val_labels"), ("test_logits", "test_labels"))
_SCORES = {"logits": "logits", "probs": "probabilities", "scores": None}
_LABELS = ("labels", "label", "y")

PROBABILITY_SUFFIXES = (".npy", ".npz", ".csv")


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """Scores of a file, with their labels where it has any.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
        float32 or float64 and finite.
    labels : ndarray of shape (n_samples,) or None
        True labels.
    input : {"logits", "probabilities"}
        What the scores are.
    classes : int or ndarray of shape (n_classes,)
        Names of the columns.
    n_calibration : int or None
        Where the file has parts of its own: the first rows are the calibration part,
        the others the test part.
    """

    scores: np.ndarray
    labels: np.ndarray | None
    input: str
    classes: object
    n_calibration: int | None = None

    @property
    def calibration(self):
        """Scores and labels to fit on: of the calibration part, or all."""
        return self.scores[: self.n_calibration], self.labels[: self.n_calibration]

    @property
    def test(self):
        """Scores to predict for: of the test part, or all."""
        return self.scores[self.n_calibration or 0 :]

    @property
    def split(self):
        """Row numbers of the two parts, or None."""
        if self.n_calibration is None:
            return None
        rows = np.arange(len(self.scores))
        return rows[: self.n_calibration], rows[self.n_calibration :]


def read_scores(
    path,
    *,
    scores=None,
    labels=None,
    classes=None,
    input=None,
    default_input="logits",
    with_labels=True,
):
    """Read a file of scores.

    Parameters
    ----------
    path : str or path-like
        A ``.npz``, ``.npy`` or ``.csv`` file.
    scores : str, default=None
        Key of the scores in a ``.npz`` file. None: ``val_logits`` and ``test_logits``,
        or else ``logits``, ``probs`` or ``scores``.
    labels : str, default=None
        Key of the labels in a ``.npz`` file, name of their column in a ``.csv`` file
        with a header, or another file that holds them. None: ``val_labels`` and
        ``test_labels``, or ``labels``, ``label`` or ``y``.
    classes : str, default=None
        Label of each column in their order: a key of the ``.npz`` file, or labels with
        commas between them. None: 0, 1, ... for integer labels, the names of the score
        columns of a ``.csv`` file if these are the labels, or the sorted labels.
    input : {"logits", "probabilities"}, default=None
        What the scores are. None is what the key says: "logits" for ``logits``,
        ``val_logits`` and ``test_logits`` and "probabilities" for ``probs``.
    default_input : {"logits", "probabilities"}, default="logits"
        What scores are whose key says nothing.
    with_labels : bool, default=True
        Whether labels are needed.

    Returns
    -------
    file : ScoreFile
        Checked: finite scores, one label for each row, labels among the classes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If something is missing, which the message names, or not as said above.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    read = {".npz": _read_npz, ".npy": _read_npy, ".csv": _read_csv}.get(
        path.suffix.lower()
    )
    if read is None:
        raise ValueError(
            f"{path}: files of scores are .npz, .npy or .csv, not {path.suffix!r}."
        )
    found = read(path, scores, labels, classes, with_labels)
    return _checked(path, found, input or found.input or default_input, with_labels)


@dataclass
class _Found:
    """What a reader found, not yet checked."""

    scores: list
    labels: list
    input: str | None = None
    names: np.ndarray | None = None
    classes: np.ndarray | None = None


def _read_npz(path, scores, labels, classes, with_labels):
    # The file is opened here, since numpy does not close one that it cannot read.
    with open(path, "rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile):
            archive = None
        if not hasattr(archive, "files"):
            raise ValueError(f"{path}: not a readable .npz file.")
        with archive:
            arrays = _Archive(path, archive)
            return _pick(arrays, scores, labels, classes, with_labels)


class _Archive:
    """Arrays of a ``.npz`` file by key; an unknown key is told with those there."""

    def __init__(self, path, archive):
        self.path, self.archive = path, archive

    def __contains__(self, key):
        return key in self.archive.files

    def __getitem__(self, key):
        if key not in self.archive.files:
            raise ValueError(
                f"{self.path}: there is no key {key!r}. The keys are "
                f"{sorted(self.archive.files)}; choose with --scores and --labels."
            )
        try:
            return self.archive[key]
        except ValueError as error:
            raise ValueError(
                f"{self.path}: {key!r} cannot be read ({error})."
            ) from error


def _pick(arrays, scores, labels, classes, with_labels):
    """The arrays of a ``.npz`` file that are meant."""
    parts = list(_PARTS)
    kind = "logits"
    if scores is not None or not all(key in arrays for key, _ in parts):
        key = scores
        if key is None:
            here = [key for key in _SCORES if key in arrays]
            key = here[0] if here else None
            if len(here) > 1:
                raise ValueError(
                    f"{arrays.path}: holds {here}. Say which are meant with --scores."
                )
        if key is None:
            raise ValueError(
                f"{arrays.path}: found neither val_logits and test_logits nor logits, "
                f"probs or scores. The keys are {sorted(arrays.archive.files)}; choose "
                "with --scores and --labels."
            )
        kind = "logits" if key in dict(_PARTS) else _SCORES.get(key)
        parts = [(key, _label_key(arrays, key))]
    found = _Found([arrays[key] for key, _ in parts], [], kind)
    if labels is not None and labels not in arrays and Path(labels).is_file():
        found.labels = [_read_label_file(labels)]
    elif labels is not None:
        found.labels = [arrays[labels]]
    elif with_labels:
        found.labels = [arrays[key] for _, key in parts]
    if classes is not None:
        found.classes = arrays[classes] if classes in arrays else _split_labels(classes)
    return found


def _label_key(arrays, scores):
    """Key of the labels that belong to a key of scores."""
    for part, its_labels in _PARTS:
        if part == scores:
            return its_labels
    return next((key for key in _LABELS if key in arrays), "labels")


def _read_npy(path, scores, labels, classes, with_labels):
    values = _load_npy(path)
    if with_labels and labels is None:
        raise ValueError(
            f"{path}: a .npy file holds scores alone. Give the file of the labels: "
            "--labels labels.npy"
        )
    found = _Found([values], [])
    if labels is not None:
        found.labels = [_read_label_file(labels)]
    if classes is not None:
        found.classes = _split_labels(classes)
    return found


def _load_npy(path):
    with open(path, "rb") as file:
        try:
            values = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile):
            values = None
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{path}: not a readable .npy file of numbers or texts.")
    return values


def _read_csv(path, scores, labels, classes, with_labels):
    header, rows = _csv_rows(path)
    width = len(rows[0])
    column = None
    if labels is None and header is not None:
        column = next((header.index(n) for n in _LABELS if n in header), None)
    elif labels is not None and header is not None and labels in header:
        column = header.index(labels)
    aside = labels is not None and column is None
    if with_labels and column is None and not (aside and Path(labels).is_file()):
        told = f"The columns are {header}" if header else "The file has no header"
        raise ValueError(
            f"{path}: found no labels. {told}; name the column of the labels, or a "
            "file that holds them, with --labels."
        )
    kept = [i for i in range(width) if i != column]
    found = _Found([_numbers(path, rows, kept, header)], [])
    if column is not None:
        found.labels = [_label_array([row[column] for row in rows])]
    elif aside:
        found.labels = [_read_label_file(labels)]
    if header is not None:
        found.names = np.array([header[i] for i in kept])
    if classes is not None:
        found.classes = _split_labels(classes)
    return found


def _csv_rows(path):
    """Header, or None where the first line is of numbers, and the rows of a file."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [[c.strip() for c in row] for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not a readable .csv file ({error}).") from error
    header = None
    if lines and not all(map(_is_number, lines[0])):
        # A header names every column; a first row of data holds at least one number.
        if any(map(_is_number, lines[0])) and len(lines) > 1:
            same = [_is_number(c) for c in lines[0]] == [
                _is_number(c) for c in lines[1]
            ]
            header = None if same else lines.pop(0)
        else:
            header = lines.pop(0)
    if not lines:
        raise ValueError(f"{path}: there is no row of scores.")
    width = len(header or lines[0])
    for number, row in enumerate(lines, start=1 + (header is not None)):
        if len(row) != width:
            raise ValueError(
                f"{path}: line {number} has {len(row)} columns, expected {width}."
            )
    return header, lines


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(path, rows, columns, header):
    try:
        return np.array([[float(row[i]) for i in columns] for row in rows])
    except ValueError:
        for number, row in enumerate(rows, start=1 + (header is not None)):
            for i in columns:
                if not _is_number(row[i]):
                    raise ValueError(
                        f"{path}: line {number}, column {i + 1}: {row[i]!r} is not a "
                        "number. Name the column of the labels with --labels."
                    ) from None
        raise


def _read_label_file(path):
    """Labels alone: a ``.npy`` array, or one label per line."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file (of labels).")
    if path.suffix.lower() == ".npy":
        return _load_npy(path)
    if path.suffix.lower() not in (".csv", ".txt"):
        raise ValueError(
            f"{path}: files of labels are .npy, .csv or .txt, not {path.suffix!r}."
        )
    lines = path.read_text("utf-8-sig").split("\n")
    texts = [line.strip() for line in lines if line.strip()]
    if len(texts) > 1 and not _is_number(texts[0]) and _is_number(texts[1]):
        del texts[0]  # the name of the column
    return _label_array(texts)


def _split_labels(text):
    return _label_array([label.strip() for label in text.split(",")])


def _label_array(texts):
    """Texts as integers where all are, as numbers where all are, or as they stand."""
    for kind in (int, float):
        with contextlib.suppress(ValueError, OverflowError):
            return np.array([kind(text) for text in texts])
    return np.array(texts)


def _checked(path, found, kind, with_labels):
    """`ScoreFile` of what was found."""
    parts = [_check_scores(path, values) for values in found.scores]
    widths = {part.shape[1:] for part in parts}
    if len(widths) > 1:
        raise ValueError(
            f"{path}: the parts have different numbers of columns: {sorted(widths)}."
        )
    scores = np.concatenate(parts) if len(parts) > 1 else parts[0]
    n_columns = 2 if scores.ndim == 1 else scores.shape[1]
    labels = None
    if found.labels:
        labels = [np.asarray(values) for values in found.labels]
        labels = [v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v for v in labels]
        _check_lengths(path, parts, labels)
        labels = np.concatenate(labels)
    classes = _classes(path, found, labels, n_columns)
    n_calibration = len(parts[0]) if len(parts) > 1 else None
    return ScoreFile(
        scores, labels if with_labels else None, kind, classes, n_calibration
    )


def _check_scores(path, values):
    """Finite floating scores of one or two dimensions."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or len(values) == 0 or values.dtype.kind not in "fiu":
        raise ValueError(
            f"{path}: scores must be numbers of shape (n_samples, n_classes), or "
            "(n_samples,) for two classes. Got "
            f"{values.dtype} of shape {values.shape}."
        )
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float32 if values.dtype == np.float16 else np.float64)
    bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{path}: scores are NaN or infinite in {bad.sum()} of {len(values)} rows, "
            f"the first of them row {bad.argmax()} (counted from 0). Leave these rows "
            "out, or mend the model that gave them."
        )
    return values


def _check_lengths(path, parts, labels):
    sizes = [len(part) for part in parts]
    if [values.shape for values in labels] != [(size,) for size in sizes] and not (
        len(labels) == 1 and labels[0].shape == (sum(sizes),)
    ):
        raise ValueError(
            f"{path}: labels have shape {[v.shape for v in labels]}, but there are "
            f"{sizes} rows of scores; one label for each row is needed."
        )


def _classes(path, found, labels, n_columns):
    """Names of the columns; every label must be among them."""
    if found.classes is not None:
        classes = np.asarray(found.classes)
        if classes.shape != (n_columns,):
            raise ValueError(
                f"{path}: --classes names {classes.size} classes, but the scores are "
                f"of {n_columns}."
            )
    elif labels is None:
        return found.names if found.names is not None else n_columns
    elif labels.dtype.kind in "iu" or _are_whole(labels):
        wrong = np.unique(labels[(labels < 0) | (labels >= n_columns)])
        if wrong.size:
            raise ValueError(
                f"{path}: labels must be in the range 0 to {n_columns - 1}, the "
                f"numbers of the {n_columns} columns. Got {wrong[:5].tolist()}. If the "
                "columns have other names, give them in their order: --classes A,B,..."
            )
        return n_columns
    elif found.names is not None and np.isin(labels, found.names).all():
        classes = found.names
    else:
        classes = np.unique(labels)
        if len(classes) != n_columns:
            raise ValueError(
                f"{path}: there are {len(classes)} different labels, but the scores "
                f"are of {n_columns} classes. Name the columns in their order: "
                "--classes A,B,..."
            )
    if labels is not None:
        missing = np.unique(labels[~np.isin(labels, classes)])
        if missing.size:
            raise ValueError(
                f"{path}: labels hold {missing[:5].tolist()}, which are not among the "
                f"classes {classes[:10].tolist()}."
            )
    return classes


def _are_whole(labels):
    if labels.dtype.kind != "f":
        return False
    if not (np.isfinite(labels).all() and (labels == np.round(labels)).all()):
        raise ValueError(
            "labels must be class labels; they hold NaN, infinity or fractions."
        )
    return True


def read_calibrator(path):
    """A fitted calibrator from the JSON file that `write_calibrator` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    calibrator : BaseCalibrator
        Fitted.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        return BaseCalibrator.from_dict(json.loads(path.read_text("utf-8")))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not valid JSON ({error}).") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_calibrator(path, calibrator):
    """Write a fitted calibrator as JSON, whole; its absolute path.

    Parameters
    ----------
    path : str or path-like
        Where to.
    calibrator : BaseCalibrator
        Fitted.

    Returns
    -------
    path : pathlib.Path
        The absolute path.
    """
    text = json.dumps(calibrator.to_dict(), indent=1, allow_nan=False)
    return write_whole(path, f"{text}\n".encode())


def write_probabilities(path, probabilities, classes):
    """Write probabilities as ``.npy``, ``.npz`` or ``.csv``, whole; the absolute path.

    Parameters
    ----------
    path : str or path-like
        ``.npy`` holds the array alone, ``.npz`` ``probs`` and ``classes``, ``.csv`` a
        column for each class under its name.
    probabilities : ndarray of shape (n_samples, n_classes)
        Rows that sum to 1.
    classes : ndarray of shape (n_classes,)
        Labels of the columns.

    Returns
    -------
    path : pathlib.Path
        The absolute path.

    Raises
    ------
    ValueError
        If the name ends otherwise.
    """
    check_output(path, PROBABILITY_SUFFIXES)
    suffix = Path(path).suffix.lower()
    buffer = io.BytesIO()
    if suffix == ".npy":
        np.save(buffer, probabilities, allow_pickle=False)
    elif suffix == ".npz":
        np.savez_compressed(buffer, probs=probabilities, classes=classes)
    else:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(classes.tolist())
        # repr is the shortest text that reads back as the same number.
        writer.writerows([[repr(p) for p in row] for row in _shortest(probabilities)])
        buffer.write(text.getvalue().encode())
    return write_whole(path, buffer.getvalue())


def _shortest(probabilities):
    if probabilities.dtype == np.float32:
        return [[float(str(p)) for p in row] for row in probabilities]
    return probabilities.tolist()


def check_output(path, suffixes):
    """Refuse, before any work, a file that cannot be written.

    Parameters
    ----------
    path : str or path-like
        Where something will be written.
    suffixes : tuple of str
        What the name may end with.

    Raises
    ------
    OSError
        If there is no such folder, or it is not writable, or the name is a folder's.
    ValueError
        If the name ends otherwise.
    """
    path = Path(path).absolute()
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"{path}: the name must end with {' or '.join(suffixes)}, not "
            f"{path.suffix!r}."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder.")
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent}: this folder is not writable.")


def write_whole(path, content):
    """Write bytes so that the file is complete or not there; its absolute path.

    The bytes go to a new file of the same folder, which then takes the name.

    Parameters
    ----------
    path : str or path-like
        Where to; an existing file is replaced.
    content : bytes
        All of it.

    Returns
    -------
    path : pathlib.Path
        The absolute path.

    Raises
    ------
    OSError
        If the file cannot be written; what was there before is still there.
    """
    path = Path(path).absolute()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp gives the owner alone access; a new file has what the mask leaves.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return path

"""The report opened in a real browser: it sorts, shows its pictures, and fits."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from sklearn_smart import compare_calibrators

pytest.importorskip("matplotlib")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

# Asks the page what it shows, in the order in which a reader would try it.
PROBE = """
<script>
window.addEventListener("load", () => {
  const column = (table, at) => [...table.tBodies[0].rows].map(
    row => row.cells[at].textContent);
  const table = document.querySelector(".sortable table");
  const answer = {
    width: window.innerWidth,
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    pictures: [...document.images].map(
      image => [image.complete, image.naturalWidth, image.alt]),
    marks: ["best", "tied"].map(
      name => table.querySelectorAll("td." + name).length),
    orders: [],
  };
  for (const at of [1, 1, 0]) {
    const head = table.tHead.rows[0].cells[at];
    head.querySelector("button").click();
    answer.orders.push([head.getAttribute("aria-sort"), column(table, at)]);
  }
  const out = document.createElement("pre");
  out.id = "answer";
  out.textContent = JSON.stringify(answer);
  document.body.append(out);
});
</script>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    scores = 5 * (np.eye(3)[y] + rng.normal(size=(400, 3)))
    comparison = compare_calibrators(scores, y, n_repeats=1, cv=3)
    return comparison, comparison.save_html(tmp_path_factory.mktemp("r") / "r.html")


@pytest.fixture(scope="module", params=[(390, 844), (1280, 900)], ids=["phone", "desk"])
def answer(request, report, tmp_path_factory):
    """What the page answers at the width of a phone and of a desk."""
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    # A frame has just the width that it is given, whatever the smallest window is.
    width, height = request.param
    html = report[1].read_text("utf-8")
    (folder / "report.html").write_text(html.replace("</body>", PROBE + "</body>"))
    page.write_text(
        f'<iframe id="f" src="report.html" width="{width}" height="{height}" '
        'style="border:0"></iframe><script>window.addEventListener("load", () => '
        "setTimeout(() => { document.body.textContent = document.getElementById('f')"
        ".contentDocument.getElementById('answer').textContent; }, 200));</script>"
    )
    run = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000",
            "--virtual-time-budget=5000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<body>(\{.*\})</body>", run.stdout, re.DOTALL)
    assert found, run.stdout[-2000:] + run.stderr[-2000:]
    return width, json.loads(found[1].replace("&amp;", "&"))


def test_it_fits_the_width(answer):
    width, page = answer
    assert page["width"] == width
    assert page["overflow"] <= 0


def test_pictures_are_there_and_described(answer, report):
    _, page = answer
    assert len(page["pictures"]) == len(report[0].methods)
    for complete, natural_width, text in page["pictures"]:
        assert complete
        assert natural_width > 100
        assert "expected calibration error" in text


def test_tables_sort_by_a_click(answer, report):
    _, page = answer
    (up, first), (down, second), (by_name, names) = page["orders"]
    assert (up, down, by_name) == ("ascending", "descending", "ascending")
    numbers = [float(text.split()[0]) for text in first]
    assert numbers == sorted(numbers)
    assert [float(text.split()[0]) for text in second] == numbers[::-1]
    assert names == sorted(report[0].methods)


def test_best_and_tied_are_marked(answer, report):
    _, page = answer
    comparison = report[0]
    found = [comparison.best(measure) for measure in comparison.measures]
    best, tied = page["marks"]
    assert best == len(found)
    assert tied == sum(len(others) for _, others in found)

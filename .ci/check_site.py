"""Fail where a page of the built site has a broken link or picture, or overflows.

``python check_site.py FOLDER [--pictures OUT]`` follows every link inside the site,
with its anchor, and every picture. Where Chromium is installed each page is also opened
at the width of a phone and of a desk: every picture must show, and nothing may be wider
than the page. ``--pictures`` keeps a screenshot of each.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

WIDTHS = {"phone": 390, "desk": 1280}

# Each page in a frame of the given width: a window has a smallest one.
FRAMES = """<!doctype html><body><script>
const jobs = JOBS, found = [];
const probe = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = "border:0;width:" + width + "px;height:900px";
  frame.onload = () => setTimeout(() => {
    const inside = frame.contentDocument;
    const root = inside.documentElement;
    found.push([page, width, root.scrollWidth - width,
      [...inside.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)]);
    frame.remove();
    done();
  }, 50);
  frame.src = page;
  document.body.append(frame);
});
(async () => {
  for (const [page, width] of jobs) await probe(page, width);
  document.body.textContent = "ANSWER" + JSON.stringify(found) + "END";
})();
</script></body>"""


class Links(HTMLParser):
    """Targets of links and pictures, and the anchors, of one page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        key = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag)
        if key and given.get(key):
            self.targets.append(given[key])


def broken_links(site):
    pages = {
        path: Links(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))
    }
    for path, page in pages.items():
        for target in page.targets:
            if urlparse(target).scheme or target.startswith("//"):
                continue
            address, anchor = urldefrag(target)
            address = unquote(address.split("?")[0])
            other = (path.parent / address).resolve() if address else path
            if not other.exists():
                yield f"{path.relative_to(site)}: {target} does not exist"
            elif anchor and other in pages and anchor not in pages[other].anchors:
                yield f"{path.relative_to(site)}: no anchor {target}"


def opened_pages(site, chromium):
    """What each page looks like in a browser: problems, one a line."""
    pages = sorted(site.rglob("*.html"))
    jobs = [[page.as_uri(), width] for page in pages for width in WIDTHS.values()]
    with tempfile.TemporaryDirectory() as folder:
        frames = Path(folder) / "frames.html"
        frames.write_text(FRAMES.replace("JOBS", json.dumps(jobs)))
        run = subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--allow-file-access-from-files",
                f"--user-data-dir={folder}/profile",
                "--window-size=1400,1000",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--virtual-time-budget=600000",
                "--dump-dom",
                frames.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
    answer = re.search(r"ANSWER(.*)END</body>", run.stdout, re.DOTALL)
    if answer is None:
        sys.exit(f"the browser gave no answer: {run.stdout[-500:]} {run.stderr[-500:]}")
    found = json.loads(answer[1].replace("&amp;", "&"))
    for page, width, overflow, pictures in found:
        name = page.removeprefix(site.as_uri() + "/")
        if overflow > 0:
            yield f"{name}: {overflow} pixels wider than {width}"
        for picture in pictures:
            yield f"{name}: {picture} does not show"
    print(f"{len(found)} views of {len(pages)} pages opened")


def keep_pictures(site, out, chromium):
    out.mkdir(parents=True, exist_ok=True)
    for page in sorted(site.rglob("*.html")):
        for name, width in WIDTHS.items():
            file = out / f"{page.relative_to(site).with_suffix('')}-{name}.png".replace(
                "/", "_"
            )
            subprocess.run(
                [
                    chromium,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--host-resolver-rules=MAP * ~NOTFOUND",
                    f"--window-size={max(width, 500)},1600",
                    f"--screenshot={file}",
                    page.as_uri(),
                ],
                capture_output=True,
                timeout=60,
                check=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    problems = list(broken_links(site))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("Chromium is not installed: pages are not opened")
    else:
        problems += opened_pages(site, chromium)
        if arguments.pictures:
            keep_pictures(site, arguments.pictures, chromium)
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

"""Pages are there soon on a slow line: 4 Mbit/s and 100 ms, compressed as servers do it.  Bytes are the sharp test."""

import functools
import gzip
import os
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import references
from browser.conftest import LOCAL, SITE, Quiet
from playwright.sync_api import Page

SLOW = {"offline": False, "latency": 100, "downloadThroughput": 4e6 / 8, "uploadThroughput": 4e6 / 8}
LIGHT = 1_300_000  # bytes of all that a page fetches unasked; 1.5 MB were allowed until its laboratory works
PAGES = [name for name in references.pages() if name.endswith("/index")]
THEORIES = [name for name in references.pages() if name.endswith("/theory")]
READY = "() => document.querySelector('.shallow-lab[data-ready] canvas') && "
READY += "document.querySelector('.lab-run:not([disabled])') && performance.now()"
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd || null"
IN_UPPER_HALF = "id => (y => 0 <= y && y < innerHeight / 2)(document.getElementById(id).getBoundingClientRect().y)"
TYPESET = "() => document.querySelector('article mjx-container') && performance.now()"


@functools.cache
def compressed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), 6)


class Compressing(Quiet):
    """A file server that compresses text, and keeps connections open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answer with the whole file, or with an empty 404."""
        file = Path(self.translate_path(self.path))
        text = file.suffix in (".html", ".css", ".js", ".svg")
        content = (compressed(file) if text else file.read_bytes()) if file.is_file() else b""
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", self.guess_type(file))
        self.send_header("Content-Length", str(len(content)))
        if text and content:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def server(available) -> Iterator[str]:
    """Address of the built site where text is compressed."""
    with ThreadingHTTPServer((LOCAL, 0), functools.partial(Compressing, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{LOCAL}:{server.server_port}"
        server.shutdown()


def received(page: Page, *, slow: bool) -> list[int]:
    """The sizes of the pieces that this page receives from now on, as sent."""
    session, sizes = page.context.new_cdp_session(page), []
    session.send("Network.enable")
    if slow:
        session.send("Network.emulateNetworkConditions", SLOW)
    session.on("Network.dataReceived", lambda piece: sizes.append(piece["encodedDataLength"]))
    return sizes


def within(seconds: float) -> float:
    """Milliseconds: these seconds, in proportion more on a machine that has twice as much to do as it can, or more."""
    return 1000 * seconds * max(1, os.getloadavg()[0] / (2 * os.cpu_count()))


@pytest.mark.parametrize("name", PAGES)
def test_on_a_slow_line_a_page_is_there_within_two_seconds_and_its_laboratory_within_five(page, server, name):
    sizes = received(page, slow=True)
    page.goto(f"{server}/{name}.html", wait_until="commit")
    ready = page.wait_for_function(READY, timeout=60_000).json_value()
    assert page.evaluate(PAINTED) < within(2)
    assert ready < within(5)
    assert page.locator("script:is([src*=fontawesome], [src*=searchindex], [src*=embed])").count() == 0
    page.wait_for_load_state("networkidle")
    assert 200_000 < sum(sizes) < LIGHT, f"{sum(sizes) / 1000:.0f} kB"


@pytest.mark.parametrize("name", THEORIES)
def test_mathematics_is_there_within_three_seconds(page, server, name):
    page.goto(f"{server}/{name}.html", wait_until="commit")
    typeset = page.wait_for_function(TYPESET, timeout=60_000).json_value()
    loaded = page.wait_for_function(LOADED, timeout=60_000).json_value()
    assert max(typeset, loaded) < within(3)
    page.wait_for_function("() => MathJax.startup.promise.then(() => true)", timeout=60_000)
    assert page.locator("article .math:not(:has(mjx-container))").count() == 0


# What stands for a browser that does not keep in place what is read.
UNANCHORED = """CSS.supports = () => false; addEventListener("DOMContentLoaded",
  () => { document.documentElement.style.overflowAnchor = "none"; });"""


@pytest.mark.parametrize("script", ["", UNANCHORED], ids=["anchored", "unanchored"])
def test_formulas_that_come_late_do_not_push_away_what_the_reader_came_for(page, server, script):
    page.add_init_script(script)
    longest = f"{server}/book/simplicity_bias/theory.html"
    page.goto(longest)
    label = page.locator("article div.math[id^=equation-]").last.get_attribute("id")
    page.goto("about:blank")
    page.goto(f"{longest}#{label}")
    page.wait_for_function("() => MathJax.startup.promise.then(() => true)", timeout=60_000)
    page.wait_for_function(IN_UPPER_HALF, arg=label, timeout=5_000)


def test_dark_is_dark_before_the_script_of_the_theme_has_come(browser, server):
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.goto(f"{server}/book/glossary.html")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"

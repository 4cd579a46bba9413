"""The built site, served on this machine, in a headless Chromium that can reach nothing else.

Without a site or without Chromium these tests are skipped; with SHALLOW_BROWSER=required that is a failure.  Where a
test fails, what its page showed then is in _build/failed.
"""

import functools
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
import references
from playwright.sync_api import Browser, Error, Page, Request, sync_playwright

SITE = references.ROOT / "_build" / "html"
FAILED = references.ROOT / "_build" / "failed"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOCAL = "127.0.0.1"
DESK = {"width": 1280, "height": 900}
# No sandbox: containers run as root and grant none.  Every name but our own is made unresolvable.
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOCAL}"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Leave a picture of the page that a failing test had open."""
    report = yield
    given = getattr(item, "funcargs", {})
    shown = given.get("page") or getattr(given.get("shown"), "page", None)
    if report.when == "call" and report.failed and isinstance(shown, Page) and not shown.is_closed():
        with suppress(Error):  # the page may be what is broken
            shown.screenshot(path=FAILED / (re.sub(r"[^\w.-]+", "_", item.nodeid) + ".png"))
    return report


@dataclass
class Log:
    """What a page did besides showing itself."""

    outside: list[str] = field(default_factory=list)  # addresses it asked for beyond the site; none has an answer
    failed: list[str] = field(default_factory=list)  # addresses of the site that gave no answer, or not one of success
    errors: list[str] = field(default_factory=list)  # console errors and uncaught exceptions

    def clean(self) -> bool:
        """Whether there is nothing to complain about."""
        return not (self.outside or self.failed or self.errors)

    def forget(self) -> None:
        """Begin anew."""
        for noted in (self.outside, self.failed, self.errors):
            noted.clear()


class Quiet(SimpleHTTPRequestHandler):
    """A file server that prints no line for each request."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def available() -> None:
    """Skip, or fail where the tests are required, when there is nothing to test or to test it with."""
    missing = []
    if not (SITE / "index.html").exists():
        missing.append("no built site (run `make book`)")
    if CHROMIUM is None:
        missing.append("no Chromium on PATH")
    if missing and os.environ.get("SHALLOW_BROWSER") == "required":
        pytest.fail(" and ".join(missing))
    if missing:
        pytest.skip(" and ".join(missing))


@pytest.fixture(scope="session")
def site(available) -> Iterator[str]:
    """Address of the built site, without a closing slash."""
    with ThreadingHTTPServer((LOCAL, 0), functools.partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{LOCAL}:{server.server_port}"
        server.shutdown()


# One browser per module: while the synchronous Playwright runs, an event loop runs, which other tests would notice.
@pytest.fixture(scope="module")
def browser(available) -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


def watched(page: Page, log: Log) -> Page:
    """The page, of which `log` notes what it does besides showing itself."""

    def local(address: str) -> bool:
        return urlsplit(address).hostname == LOCAL

    def asked(request: Request) -> None:
        if urlsplit(request.url).scheme in ("http", "https") and not local(request.url):
            log.outside.append(request.url)

    def unanswered(request: Request) -> None:
        # Whoever leaves a page cancels what it was still loading: no fault of the site.
        if local(request.url) and request.failure != "net::ERR_ABORTED":
            log.failed.append(request.url)

    page.on("request", asked)
    page.on("console", lambda message: log.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: log.errors.append(str(error)))
    page.on("requestfailed", unanswered)
    page.on("response", lambda answer: log.failed.append(answer.url) if answer.status >= 400 else None)
    return page


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an empty page with options of its context; in the end there must be nothing to complain about."""
    log, contexts = Log(), []

    def new(**options) -> Page:
        contexts.append(browser.new_context(viewport=DESK, **options))
        return watched(contexts[-1].new_page(), log)

    yield new
    assert log.clean(), log
    for context in contexts:
        context.close()


@pytest.fixture
def page(opened: Callable[..., Page], site: str) -> Page:
    """An empty page that can open only the site: `page.goto(f"{site}/book/index.html")`."""
    return opened(accept_downloads=True)

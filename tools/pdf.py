"""Print the chapters of the built site: one PDF each, beside its page, whose button for a PDF then gives it.

    python tools/pdf.py [PAGE ...]          # such as book/heavy_tails/index; without pages, all chapters

Chromium prints, by the styles for paper in book/_static.  It gets the files of the site under the address at which the
book is published, so that links on paper lead there; nothing is fetched from outside.  A page that is built again loses
its link until it is printed again.
"""

import functools
import html
import re
import shutil
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
A4, MARGIN, FOOT, SCALE = (210, 297), 16, 20, 0.8  # millimetres; size of the print
# What these scripts do on a screen is done for paper below.
SCREEN_ONLY = re.compile(r"/_static/(lab/|togglebutton\.js)")
ADDRESS = re.compile(r'<meta name="citation_fulltext_html_url" content="([^"]*?)[^"/]*">')
PRINT_BUTTON = re.compile(r'<button\b([^>]*) onclick="window\.print\(\)"([^>]*>.*?)</button>', re.S)

# A laboratory becomes its picture with the address of the page, what is folded its title, a button its words.
ON_PAPER = """async address => {
  for (const lab of document.querySelectorAll(".shallow-lab")) {
    lab.innerHTML = `<figure>${lab.querySelector("noscript").textContent}<figcaption><i>Laboratory.</i> <span></span>
      It runs on the page: <a href="${address}">${address}</a></figcaption></figure>`;
    lab.querySelector("span").textContent = lab.querySelector("img").alt;
  }
  for (const folded of document.querySelectorAll("article .admonition.dropdown")) {
    folded.replaceChildren(folded.querySelector(".admonition-title"));
    folded.firstChild.append(" (on the page)");
  }
  for (const button of document.querySelectorAll("article button.lab-try")) button.replaceWith(button.textContent);
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map(image => image.decode()));
  for (const image of document.querySelectorAll("article img")) {
    image.classList.toggle("portrait", image.naturalHeight > image.naturalWidth);
  }
}"""


@functools.cache
def settings(name: str) -> dict:
    """A YAML file at the root of the repository."""
    return YAML(typ="safe").load(ROOT / name)


def chapters() -> list[str]:
    """The chapters of the table of contents, without the pages below them."""
    return [page["file"] for page in settings("_toc.yml")["parts"][0]["chapters"]]


def file_of(page: str) -> Path:
    """Where the PDF of a page lies in the site: book/heavy_tails/index has book/heavy_tails/heavy_tails.pdf."""
    path = Path(page)
    return SITE / path.with_name(f"{path.parent.name if path.name == 'index' else path.name}.pdf")


def address(page: str = "") -> str:
    """Where a page is published: below html.baseurl of _config.yml or, without one, on the repository's Pages."""
    owner, name = urlsplit(settings("_config.yml")["repository"]["url"]).path.strip("/").split("/")
    base = settings("_config.yml")["html"].get("baseurl") or f"https://{owner}.github.io/{name}"
    return f"{base.rstrip('/')}/{page and page + '.html'}"


def open_for_print(browser: Browser, page: str) -> Page:
    """A page of the site as it will be on paper, in a window as wide as the text of a sheet."""

    def from_the_site(route: Route) -> None:
        url = route.request.url
        file = SITE / unquote(urlsplit(url.removeprefix(address())).path)
        if url.startswith(address()) and file.is_file() and not SCREEN_ONLY.search(url):
            route.fulfill(path=file)
        else:
            route.abort()

    width, height = (round((side - 2 * MARGIN) / 25.4 * 96 / SCALE) for side in A4)
    sheet = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    sheet.route(re.compile("^https?:"), from_the_site)
    sheet.emulate_media(media="print")
    sheet.goto(address(page), wait_until="networkidle")
    sheet.wait_for_function("Boolean(window.MathJax?.startup?.promise)")
    sheet.evaluate("MathJax.startup.promise")
    sheet.evaluate(ON_PAPER, address(page))
    return sheet


def save(sheet: Page, file: Path) -> None:
    """Print an opened page: authors, book, version, address and number at the foot of every sheet."""
    config = settings("_config.yml")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    about = html.escape(f"{config['author']}: {config['title']}, version {version}")
    sheet.pdf(
        path=file,
        format="A4",
        scale=SCALE,
        margin={"top": f"{MARGIN}mm", "right": f"{MARGIN}mm", "bottom": f"{FOOT}mm", "left": f"{MARGIN}mm"},
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=f"""
            <div style="font: 7.5pt sans-serif; width: 100%; margin: 0 {MARGIN}mm; display: flex; color: #444">
              <span style="flex: 1">{about}<br>{html.escape(sheet.url)}</span>
              <span><span class="pageNumber"></span> / <span class="totalPages"></span></span>
            </div>""",
        outline=True,
        tagged=True,
    )


def linked(text: str, name: str) -> str:
    """A page whose button for a PDF, by which a browser would print, and whose head give the file `name` beside it."""
    link = PRINT_BUTTON.sub(rf'<a href="{name}" download\1\2</a>', text)
    link = link.replace('title="Print to PDF"', 'title="Download as PDF"')
    if "citation_pdf_url" in link:
        return link
    return ADDRESS.sub(rf'\g<0>\n<meta name="citation_pdf_url" content="\g<1>{name}">', link)


def main(pages: list[str]) -> None:
    """Print the pages, or all chapters."""
    pages = pages or chapters()
    if CHROMIUM is None:
        sys.exit("make pdf needs Chromium or Google Chrome, and found neither on PATH.")
    if missing := [page for page in pages if not (SITE / f"{page}.html").is_file()]:
        sys.exit(f"Not in {SITE.relative_to(ROOT)}: {', '.join(missing)}. `make book` builds the pages in _toc.yml.")
    with sync_playwright() as playwright:
        # No sandbox: containers run as root and grant none.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for page in pages:
            sheet, file, built = open_for_print(browser, page), file_of(page), SITE / f"{page}.html"
            save(sheet, file)
            sheet.close()
            built.write_text(linked(built.read_text(encoding="utf-8"), file.name), encoding="utf-8")
            print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 2**20:.1f} MB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

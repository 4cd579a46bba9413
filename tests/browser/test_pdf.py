"""The chapters on paper: nothing is cut, no sheet is half empty, every font is in the file, links lead to the book."""

import pdf
import pypdfium2
import pytest
from pypdfium2 import raw

# Elements of the text that reach beyond the sheet, or hide a part of themselves.
CUT = """() => {
  const hides = e => e.matches(":not(.math, .math *)") && getComputedStyle(e).overflowX != "visible"
    && e.clientWidth && e.scrollWidth > e.clientWidth + 1;
  const wide = e => e.getBoundingClientRect().right > innerWidth + 1;
  return [...document.querySelectorAll("article *:not(mjx-assistive-mml, mjx-assistive-mml *)")]
    .filter(e => hides(e) || wide(e)).slice(0, 5).map(e => e.outerHTML.slice(0, 200));
}"""
CONTROLS = "button, select, input, summary, .bd-sidebar, .bd-header, .bd-header-article"


def filled(sheet: pypdfium2.PdfPage) -> float:
    """The share of a sheet's height, margins aside, down to its last line or picture."""
    millimetre = sheet.get_height() / pdf.A4[1]
    top, foot = sheet.get_height() - pdf.MARGIN * millimetre, pdf.FOOT * millimetre
    things = sheet.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_IMAGE])
    bottoms = [thing.get_bounds()[1] for thing in things]
    return (top - min((bottom for bottom in bottoms if bottom > foot), default=top)) / (top - foot)


def not_embedded(sheet: pypdfium2.PdfPage) -> set[str]:
    """Names of fonts that a reader's computer would have to have."""
    fonts = [text.get_font() for text in sheet.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT])]
    return {font.get_base_name() for font in fonts if not font.is_embedded}


@pytest.mark.parametrize("page", pdf.chapters())
def test_a_chapter_can_be_printed(browser, tmp_path, page):
    sheet, file = pdf.open_for_print(browser, page), tmp_path / "chapter.pdf"
    assert sheet.evaluate(CUT) == []
    assert sheet.locator(CONTROLS).locator("visible=true").count() == 0
    pdf.save(sheet, file)
    sheet.close()

    printed = pypdfium2.PdfDocument(file)
    heights = [round(filled(one), 2) for one in printed]
    assert 1 < len(heights) <= 35 and min(heights[:-1]) >= 0.5, heights
    assert set().union(*map(not_embedded, printed)) == set()
    assert file.stat().st_size < 3 * 2**20
    words = "\n".join(one.get_textpage().get_text_bounded() for one in printed)
    assert words.count(pdf.address(page)) >= len(printed)
    content = file.read_bytes()
    assert f"URI ({pdf.address()}".encode() in content and b"file:" not in content
    printed.close()


@pytest.mark.parametrize("page", pdf.chapters())
def test_the_button_of_a_page_gives_its_pdf(available, page):
    name = pdf.file_of(page).name
    built = pdf.linked((pdf.SITE / f"{page}.html").read_text(encoding="utf-8"), name)
    assert built.count(f'<a href="{name}" download') == 1 and "window.print" not in built
    assert pdf.linked(built, name) == built

"""The page of one claim: navigation apart from the title, numbers alike, and the picture that the card shows too."""

from playwright.sync_api import expect

SHOWN = "one => one.complete && one.naturalWidth"


def test_the_title_stands_apart_and_numbers_have_the_digits_of_their_intervals(page, site):
    page.goto(f"{site}/book/claims/CL-14.html")
    above, title = (page.locator(one).bounding_box() for one in ("nav", "h1"))
    assert title["y"] - above["y"] - above["height"] >= 16
    for row in page.locator("table.claim-numbers tbody tr").all():
        cells = [cell for cell in row.locator("td").all_text_contents() if cell]
        assert len(cells) < 2 or len({len(cell.partition(".")[2]) for cell in cells}) == 1, cells
    expect(page.get_by_role("link", name="the section that decides the claim").first).to_be_visible()


def test_page_and_card_have_the_picture_of_the_section(page, site):
    page.goto(f"{site}/book/claims/CL-15.html")
    picture = page.locator("figure img")
    picture.scroll_into_view_if_needed()
    page.wait_for_function(SHOWN, arg=picture.element_handle())
    name, words = (picture.get_attribute(one) for one in ("src", "alt"))
    assert len(words) > 20
    page.goto(f"{site}/book/cyclic_labels/index.html")
    mark = page.locator("a.claim[id^='cl-15-cited']").first
    mark.hover()
    shown = page.locator(".claim-card img")
    page.wait_for_function(SHOWN, arg=shown.element_handle())
    assert shown.get_attribute("src").rpartition("/")[2] == name.rpartition("/")[2]
    assert shown.bounding_box()["height"] <= 150

"""Pages get lighter, and stay what they are."""

import base64
import re

import light_pages
import numpy as np
import pytest
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace


def build(folder, page):
    """A book of one page, in HTML."""
    (folder / "index.rst").write_text(page, encoding="utf-8")
    folders = dict(srcdir=folder, outdir=folder / "html", doctreedir=folder / "doctrees", confdir=None)
    with docutils_namespace():
        settings = {"extensions": ["light_pages"]}
        Sphinx(**folders, buildername="html", confoverrides=settings, status=None, warningiserror=True).build()
    return (folder / "html" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ("   :width: 875\n   :height: 387px", 'height="387" loading="lazy" src="_images/picture.png" width="875"'),
        ("   :width: 50%", 'src="_images/picture.png" style="width: 50%;"'),
    ],
)
def test_figures_wait_until_they_are_scrolled_to_and_keep_their_place_and_others_do_not(tmp_path, size, shown):
    Image.new("RGB", (4, 2)).save(tmp_path / "picture.png")
    page = f"Page\n====\n\n.. image:: picture.png\n{size}\n   :alt: Two.\n"
    assert f'<img alt="Two." {shown} />' in build(tmp_path, page)


def test_nothing_within_a_page_is_waited_for(tmp_path):
    """Scripts run when the page is there; a picture in the HTML of a cell is a file, fetched when it is shown."""
    data = base64.b64encode(b"a picture").decode()
    built = build(tmp_path, f'Page\n====\n\n.. raw:: html\n\n   <img src="data:image/webp;base64,{data}">\n')
    waiting = [script for script in re.findall(r"<script[^>]* src=[^>]*>", built) if "defer" not in script]
    assert [re.search(r"\w+\.js", script)[0] for script in waiting] == ["documentation_options.js"]
    (source,) = re.findall(r'<img src="(_images/\w+\.webp)">', built)
    assert (tmp_path / "html" / source).read_bytes() == b"a picture"


def test_a_pale_shade_stays_apart_from_white(tmp_path):
    """A drawing: white ground, the book's shade, and curves of more colours than a palette has."""
    pixels, file = np.full((200, 300, 4), 255), tmp_path / "figure.png"
    pixels[50:120, :, :3] = (0xEE, 0xF2, 0xF6)
    pixels[150:160, :, :3] = np.random.default_rng(0).integers(0, 256, (10, 300, 3))
    Image.fromarray(pixels.astype(np.uint8)).save(file)
    light_pages.quantise(file)
    with Image.open(file) as small:
        found = np.asarray(small.convert("RGBA"))
    assert (found[:150] == pixels[:150]).all() and (found[160:] == 255).all()

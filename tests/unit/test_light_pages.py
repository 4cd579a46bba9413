"""Pages get lighter, and stay what they are."""

from unittest import mock

import light_pages
import numpy as np
from PIL import Image

from shallow.book import session

FIGURE = '<img alt="Two curves." src="../_images/ab12.png" style="width: 875px; height: 387px;" />'


def test_marks_without_a_colour_go_and_the_text_stays():
    code = '<span class="kn">from</span><span class="w"> </span><span class="nn">a.b</span> <span class="p">(</span>1'
    assert light_pages.lighter(code) == '<span class="kn">from</span> a.b (1'


def test_figures_wait_until_they_are_scrolled_to_and_keep_their_place():
    lazy = light_pages.lighter(FIGURE)
    assert lazy.startswith('<img loading="lazy" alt="Two curves." src="../_images/ab12.png"')
    assert 'style="width: 875px; aspect-ratio: 875/387;"' in lazy and light_pages.lighter(lazy) == lazy
    other = '<img src="data:image/webp;base64,Uk" style="width: 1px; height: 2px"><p>n</p>'
    assert light_pages.lighter(other) == other


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


def test_what_sphinx_executes_itself_is_executed_strictly(monkeypatch):
    monkeypatch.delenv("SHALLOW_STRICT", raising=False)
    light_pages.setup(mock.Mock())
    assert session.is_strict()

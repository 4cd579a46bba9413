"""Pictures get lighter, and stay what they are."""

import light_pages
import numpy as np
from PIL import Image


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

"""Lighter pages, as an extension of Sphinx: what a browser has to fetch for a chapter, to about a third.

The chapters that Sphinx executes itself are executed strictly, as `make book` does it: sliders need no kernel then.

Three things make the pages of this book heavy, and none of them helps a reader: pictures in 32-bit colour, pictures
fetched although nobody has scrolled to them, and marks around every name and comma of the code, which have the colour
of plain text in both schemes.
"""

import functools
import os
import re
import shutil
from multiprocessing import Pool
from pathlib import Path

from PIL import Image

# Names, modules, punctuation and white space: Pygments marks them, the style sheets give them the colour of the text.
PLAIN_MARKS = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
FIGURES = re.compile(r'<img ([^>]*src="[^"]*_images/[^>]*?) style="width: (\d+)px; height: (\d+)px;"')


def lighter(html: str) -> str:
    """A page without marks that change nothing, whose figures keep their place until they are scrolled to."""
    html = PLAIN_MARKS.sub(r"\1", html)
    return FIGURES.sub(r'<img loading="lazy" \1 style="width: \2px; aspect-ratio: \2/\3;"', html)


def quantise(file: Path) -> bool:
    """Rewrite an opaque PNG with 256 colours of its own if it has a palette of millions; whether that was done.

    By median cut, which keeps the colours of large areas: a pale shade stays apart from the white beside it.
    """
    with Image.open(file) as picture:
        if picture.mode not in ("RGB", "RGBA") or picture.mode == "RGBA" and picture.getextrema()[3][0] < 255:
            return False
        small = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small.save(file, optimize=True)
    return True


def _light(file: Path, done: Path) -> None:
    """Quantise a picture whose name is its content's, or take it from the folder of those that are done."""
    if (done / file.name).exists():
        shutil.copyfile(done / file.name, file)
    else:
        quantise(file)
        shutil.copyfile(file, done / file.name)


def _finish(written: set[str], app, problem) -> None:
    if problem is None and app.builder.format == "html":
        for name in sorted(written):
            page = Path(app.builder.get_outfilename(name))
            page.write_text(lighter(page.read_text(encoding="utf-8")), encoding="utf-8")
        done = Path(app.doctreedir) / "light"
        done.mkdir(exist_ok=True)
        with Pool() as pool:  # names of 64 digits are hashes
            pool.map(functools.partial(_light, done=done), (Path(app.outdir) / "_images").glob("?" * 64 + ".png"))


def setup(app) -> dict:
    """Called by Sphinx."""
    os.environ.setdefault("SHALLOW_STRICT", "1")
    written: set[str] = set()
    app.connect("html-page-context", lambda app, name, template, context, doctree: written.add(name))
    # Names have marks until sphinx_codeautolink, which goes by them, has made its links.
    app.connect("build-finished", functools.partial(_finish, written), priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

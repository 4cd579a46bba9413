"""Lighter pages, as an extension of Sphinx: what a browser has to fetch for a chapter, to about a third.

The chapters that Sphinx executes itself are executed strictly, as `make book` does it: sliders need no kernel then.

Four things would make the pages of this book heavy, and none of them helps a reader: pictures in 32-bit colour,
pictures fetched although nobody has scrolled to them, scripts of what is on other pages, and scripts for which a
browser waits before it shows anything.  What the theme writes into the head by itself is changed in book/_templates.
"""

import base64
import functools
import gc
import hashlib
import os
import re
import shutil
from multiprocessing import Pool
from multiprocessing.pool import AsyncResult
from pathlib import Path

from docutils import nodes
from PIL import Image

from shallow.book import laboratories
from shallow.extras import cpu_count

LABORATORIES = re.compile(r'data-laboratory="(\w+)"')
INLINE = re.compile(r'src="data:image/webp;base64,([A-Za-z0-9+/=]+)"')  # not source code that would write one
# Light or dark, before anything is shown: the theme's own script comes later, and complains where no mode is set.
MODE = """{ const root = document.documentElement.dataset; root.mode ||= "auto";
root.theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"; }"""


def _picture(self, node) -> None:
    """A picture of a cell keeps its place, in its proportions, until it is scrolled to."""
    size = {key: node.get(key, "").removesuffix("px") for key in ("width", "height")}
    if all(map(str.isdigit, size.values())) and node["uri"] in self.builder.images:
        source = f"{self.builder.imgpath}/{self.builder.images[node['uri']]}"
        self.body.append(self.emptytag(node, "img", src=source, alt=node.get("alt", ""), loading="lazy", **size))
    else:
        type(self).visit_image(self, node)


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


def _quantised(done: Path, picture: Path) -> None:
    """Put a picture, whose name is its content's, into the folder of those that are quantised, if it is not there."""
    if not (done / picture.name).exists():
        part = done / f"{picture.stem}.part.png"
        shutil.copyfile(picture, part)
        quantise(part)
        part.replace(done / picture.name)


def _load(app, name, template, context, doctree) -> None:
    """Have a page load the scripts of what is on it, and none before it is shown."""
    body = context.get("body", "")
    for laboratory in LABORATORIES.findall(body):
        for script in laboratories.scripts(laboratory):
            app.add_js_file(script)
    if 'class="shallow-sliders"' in body:
        app.add_js_file("sliders.js")
    if "script_files" in context:
        context["script_files"][:] = [_deferred(one) for one in context["script_files"] if not _is_of_thebe(one)]
    if "body" in context:
        context["body"] = INLINE.sub(functools.partial(_as_file, app, context["pathto"]), body)


def _deferred(script):
    """The script, run when the page is there; but scripts within the page need the options of Sphinx at once."""
    if not script.filename or "documentation_options" in str(script.filename):
        return script
    return type(script)(script.filename, priority=script.priority, **({"defer": "defer"} | script.attributes))


def _as_file(app, pathto, picture: re.Match) -> str:
    """A picture within the page becomes a file, which is fetched when it is shown."""
    content = base64.b64decode(picture[1])
    file = Path(app.outdir, app.builder.imagedir, f"{hashlib.sha256(content).hexdigest()}.webp")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return f'src="{pathto(f"{app.builder.imagedir}/{file.name}", 1)}"'


def _is_of_thebe(script) -> bool:
    """Jupyter Book has its extension always, which declares its constants twice, this book no use for it."""
    return "thebe" in f"{script.filename} {script.attributes.get('body', '')}".lower()


def _begin(app, env) -> None:
    """All pages are read: pictures of cells are quantised while Sphinx, which keeps one core busy, writes."""
    if app.builder.format == "html":
        done = Path(app.doctreedir) / "light"
        done.mkdir(exist_ok=True)
        pictures = [Path(app.srcdir, file) for file in env.images if len(Path(file).stem) == 64]  # a hash
        pool = Pool(max(1, cpu_count() - 1))
        running = pool.map_async(functools.partial(_quantised, done), pictures)
        app.connect("build-finished", functools.partial(_exchange, done, pool, running), priority=900)


def _exchange(done: Path, pool: Pool, running: AsyncResult, app, problem) -> None:
    with pool:
        if problem is None:
            running.get()
            for small in done.glob("*.png"):
                if (shown := Path(app.outdir, "_images", small.name)).exists():
                    shutil.copyfile(small, shown)


def setup(app) -> dict:
    """Called by Sphinx."""
    os.environ.setdefault("SHALLOW_STRICT", "1")
    gc.set_threshold(50_000, 20, 100)  # at Python's own thresholds a third of the rendering is garbage collection
    app.add_node(nodes.image, override=True, html=(_picture, None))
    app.add_js_file(None, body=MODE)
    app.connect("html-page-context", _load, priority=900)  # when all others have said which scripts they want
    app.connect("env-updated", _begin)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

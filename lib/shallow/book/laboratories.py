"""Laboratories: networks that the reader trains in the page, by the scripts of book/_static/lab.

A laboratory is an element with its data, which the scripts fill.  A built page loads them; in JupyterLab, which has no
such page, they stand in the cell's output.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from shallow.book import paths, session

STATIC = paths.BOOK / "_static"
STYLES = ("vendor/uplot/uPlot.min.css", "lab.css")


def scripts(name: str) -> tuple[str, ...]:
    """The scripts of one laboratory in the order in which they are loaded, relative to book/_static."""
    return (
        "vendor/uplot/uPlot.iife.min.js",
        "lab/streams.js",
        "lab/algebra.js",
        "lab/plane.js",
        "lab/perceptrons.js",
        "lab/vectors.js",
        f"lab/{name}.js",
        f"lab/{name}_view.js",
        "lab/controls.js",
        "lab/engine.js",
        "lab/trainer.js",
        "lab/plots.js",
        "lab/shell.js",
    )


@dataclass(frozen=True)
class Laboratory:
    """One laboratory; its text form names the presets only, so that it is equal in every run."""

    name: str
    presets: Sequence[dict] = field(repr=False)
    picture: str = field(repr=False)
    inline: bool = field(repr=False)

    def __repr__(self) -> str:
        return f"Laboratory({self.name}: {', '.join(preset['key'] for preset in self.presets)})"

    def _repr_html_(self) -> str:
        # In a script element only "</" could end the data early.
        data = json.dumps({"name": self.name, "presets": self.presets}, allow_nan=False).replace("</", "<\\/")
        markup = f'<noscript>{self.picture}</noscript><script type="application/json">{data}</script>'
        return f'<div class="shallow-lab" data-laboratory="{self.name}">{markup}</div>{self._code()}'

    def _code(self) -> str:
        if not self.inline:
            return ""
        if not (STATIC / STYLES[0]).exists():
            return "<p>The script of the plots is missing: `make book` installs it.</p>"
        styles = "".join(f"<style>{_read(name)}</style>" for name in STYLES)
        return styles + "".join(f"<script>{_read(name)}</script>" for name in scripts(self.name))


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def show(name: str, presets: Sequence[dict], *, picture: Figure, alt: str, inline: bool | None = None) -> Laboratory:
    """The laboratory `name` of book/_static/lab with its presets, for the end of a cell.

    Args:
        presets: dictionaries with key, label, note, settings and the recorded run, as the shell's script says.
        picture, alt: what readers without scripts see, and in words; the figure is closed.
        inline: whether the scripts stand in the output; by default unless the page is being built.
    """
    drawn = io.BytesIO()
    picture.savefig(drawn, format="webp", dpi=720 / picture.get_figwidth(), pil_kwargs={"quality": 70})
    plt.close(picture)
    source = base64.b64encode(drawn.getvalue()).decode("ascii")
    still = f'<img src="data:image/webp;base64,{source}" alt="{html.escape(alt)}" style="max-width: 100%">'
    return Laboratory(name, presets, still, not session.is_strict() if inline is None else inline)

"""The command `python -m shallow spectra MODEL`: a table, files and pictures of the spectra of a model's layers."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shallow.extras import click

if TYPE_CHECKING:  # other commands need not wait for it
    from shallow.spectra import Layer, Report

FILE, FOLDER = click.Path(dir_okay=False, path_type=Path), click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--csv", "as_csv", type=FILE, help="Write all numbers, a line a layer.")
@click.option("--json", "as_json", type=FILE, help="Write all numbers, and why other weights have none.")
@click.option("--picture", type=FILE, help="Draw all exponents over the line of noise: a .png, .svg or .pdf.")
@click.option("--layers", "folder", type=FOLDER, help="Draw each layer there: spectrum, bulk, outliers, tail.")
@click.option("--only", default="*", metavar="PATTERN", help="Only weights of such names, as in a shell: 'encoder.*'.")
@click.option("--threads", type=click.IntRange(min=1), default=1, help="Layers at a time.", show_default=True)
def spectra(model, as_csv, as_json, picture, folder, only, threads) -> None:
    """Spectra of the layers of MODEL beside noise: exponents, and what explains them.

    MODEL is a file of safetensors, NumPy (.npz), PyTorch (.pt, .pth, .bin: a state_dict) or ONNX; nothing in it is run.
    Weights with three or more axes are read as one matrix (flat) and position by position (slices).

    Hill and KS are exponents, noise is that of noise of the same shape, units is how far they are apart, in standard
    deviations of noise, and below is the share of twenty draws of noise with a smaller exponent.  Within 3 units an
    exponent does not tell a layer from noise, though outliers may.

    Then Hill of matrices with one part of the layer alone: all entries in random order (shuffled), those of each column
    in random order (columns), and noise with the lengths of rows and columns (lengths).  One that is near Hill has
    enough to make it.  Balanced is Hill of the layer with rows and columns of equal lengths: near noise, they are
    needed; near Hill, they are not, and may yet be enough, as two causes together make little more than one.
    """
    try:
        found = _measured(model, only, threads, folder)
    except (ValueError, OSError, ImportError) as problem:
        raise click.ClickException(str(problem)) from problem
    click.echo(found.table())
    for name, why in found.skipped.items():
        click.echo(f"left out: {name}, {why}", err=True)
    if as_csv:
        found.to_csv(as_csv)
    if as_json:
        found.to_json(as_json)
    if picture:
        from shallow.book import layer_pictures

        layer_pictures.overview(found.layers).savefig(picture)


def _measured(model: Path, only: str, threads: int, folder: Path | None) -> Report:
    """The report, with a progress bar, and a picture of each layer as soon as it is there."""
    from shallow.spectra import Report, layers, weights

    found = Report([], {})
    with weights.opened(model) as arrays:
        chosen = layers.each(arrays, only=only, threads=threads)
        with click.progressbar(chosen, length=len(arrays.names), label="layers", file=sys.stderr) as bar:
            for _, rows, why in bar:
                found.layers.extend(rows)
                found.skipped.update(why)
                for row in rows if folder else ():
                    _draw(row, folder)
    return found


def _draw(layer: Layer, folder: Path) -> None:
    import matplotlib.pyplot as plt

    from shallow.book import layer_pictures

    folder.mkdir(parents=True, exist_ok=True)
    figure = layer_pictures.single(layer)
    name = re.sub(r"[^\w.-]+", "_", layer.name)
    figure.savefig(folder / f"{name}.{layer.reading}.png")
    plt.close(figure)

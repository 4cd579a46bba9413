"""What the page on kernel machines on the shells draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from experiments.hidden_structure.drawing import BY_DEPTH
from shallow.book import figures


def machine_losses(
    axes: Sequence[Sequence[Axes]], lost: Mapping[str, Mapping[str, Mapping[str, Mapping[int, np.ndarray]]]]
) -> None:
    """What machines lose of M and E, run by run: a row for each column of Table 1, a panel for each comparison.

    Args:
        axes: two rows of three.
        lost: :func:`experiments.hidden_structure.shell_machines.rules.losses_by_form`.
    """
    names = {"others": "$M$ lost", "empty": "$E$ lost"}
    for row, (column, comparisons) in zip(axes, lost.items(), strict=True):
        for ax, (title, forms) in zip(row, comparisons.items(), strict=True):
            for place, by_depth in enumerate(forms.values()):
                for depth, values in by_depth.items():
                    at, style = place + 0.24 * (depth - 2), BY_DEPTH[depth - 1]
                    dots = style | {"linestyle": "none", "ms": 3, "alpha": 0.8}
                    ax.plot(at + np.linspace(-0.06, 0.06, len(values)), values, **dots)
                    ax.plot([at - 0.11, at + 0.11], [values.mean()] * 2, "-", color=style["color"], lw=2)
            ax.axhline(0, color="k", lw=0.8)
            ax.set_xticks(range(len(forms)), forms, rotation=25, ha="right", fontsize="x-small")
            ax.grid(False, axis="x")
            if column == "others":
                ax.set_title(title, fontsize="medium")
        row[0].set_ylabel(names[column])
    for depth in (1, 2, 3):
        label = f"{depth} layer{'s' if depth > 1 else ''}"
        axes[0][2].plot([], [], **(BY_DEPTH[depth - 1] | {"linestyle": "none"}), label=label)
    axes[0][2].legend(fontsize="x-small", loc="upper left")


def penalty_paths(axes: Sequence[Sequence[Axes]], path: xr.Dataset) -> None:
    """Accuracies and duality gap of tangent machines along C; a column for each depth.

    Args:
        path: train, others, empty, gap by depth, run and penalty, and those of the networks.
    """
    styles = {
        "train": ("null", ":", "points of the fit"),
        "others": ("train", "-", "$M$"),
        "empty": ("test", "--", "$E$"),
    }
    for i, depth in enumerate(path.depth.values):
        top, bottom = axes[0][i], axes[1][i]
        for run in path.run.values:
            one = path.sel(depth=depth, run=run)
            for name, (colour, line, label) in styles.items():
                label = label if run == path.run.values[0] else None
                look = dict(color=figures.COLOURS[colour], ls=line)
                top.semilogx(one.penalty, one[name], marker=".", ms=4, lw=1, label=label, **look)
                if name != "train":
                    top.axhline(float(one[f"network_{name}"]), lw=0.6, **look)
            bottom.loglog(one.penalty, np.maximum(one.gap, 1e-5), "k.-", lw=1, ms=4)
        top.set_title(f"{int(depth)} hidden layer{'s' if depth > 1 else ''}", fontsize="medium")
        bottom.set_xlabel("$C$")
    axes[0][0].set(ylabel="accuracy", ylim=(0.35, 1.03))
    axes[1][0].set_ylabel("duality gap")

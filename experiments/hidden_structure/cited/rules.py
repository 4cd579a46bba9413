r"""Rules on what the document says of others' work: HS-04 to HS-07, HS-50, HS-68.

The document restates theorems of others.  One training that does not show what a theorem says exists contradicts
nothing; such rules look for one that does.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.hidden_structure.cited import cells as cited
from shallow import stats
from shallow.book import claims, sweep
from shallow.book.claims import Found, decides
from shallow.stats import Interval

POINTS = 5000  # for training, of the kernel machines on the parity


def by_width() -> xr.Dataset:
    """The change of the tangent kernel by width and seed; computed here, in seconds."""
    axes = {"width": list(cited.WIDTHS), "seed": list(range(5))}
    return sweep.grid(cited.kernel_change, axes, jobs=1, progress=False)


def power_of_width(values: xr.DataArray) -> Interval:
    """Slope against the width on logarithmic axes, over seeds."""
    logs = np.log(values.width.values.astype(float))
    return stats.student(np.polyfit(logs, np.log(values.transpose("width", "seed").values), 1)[0])


@decides(runs=by_width)
def hs_04(runs, *, steep):
    """Section 2, on Jacot et al.: wide networks change their kernel less; over width and seed."""
    kernel = power_of_width(runs.change)
    return Found(
        claims.below(kernel, steep),
        {"power of the width": kernel, "power of the width, weights": power_of_width(runs.weights)},
    )


def at_rise(runs: xr.Dataset) -> xr.DataArray:
    """Share of the loss that is left where 90 % of the rise of the alignment is done; NaN where it does not rise."""
    A, loss = (runs[name].transpose(..., "step") for name in ("alignment", "loss"))
    values, left = A.values, (loss / loss.isel(step=0)).values
    last = np.where(np.isfinite(values), np.arange(values.shape[-1]), 0).max(axis=-1)[..., None]
    end = np.take_along_axis(values, last, axis=-1)
    risen = values - values[..., :1] >= 0.9 * (end - values[..., :1])
    found = np.take_along_axis(left, risen.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return A.isel(step=0, drop=True).copy(data=np.where(end[..., 0] > values[..., 0], found, np.nan))


@decides(runs="hidden_structure/cited/cited_alignment")
def hs_05(runs, *, much, like):
    """Section 2, on Atanasov et al.: the kernel turns early, from a small start; over data, scale and seed."""
    small, full = (runs.sel(data="mnist", scale=scale) for scale in (0.1, 1.0))
    left, likeness = stats.student(small.loss_t90.values), stats.student(small.least_likeness.values)
    return Found(
        {"early": left.exceeds(much), "later only in scale": likeness.exceeds(like)},
        {
            "loss left at 90 % of the alignment": left,
            "least likeness": likeness,
            "loss left at the rise": stats.student(at_rise(small).values),
            "alignment at the start": float(small.alignment.isel(step=0).median()),
            "loss left, default start": stats.student(full.loss_t90.values),
        },
    )


@decides(runs="hidden_structure/cited/cited_kernels")
def hs_06(runs, *, close, times):
    """Section 2, on a plot of Atanasov et al.: final against initial kernel; over data, kernel and seed."""
    parts, numbers = {}, {}
    for data in ("mnist", "cifar10"):
        first, last = (runs.r.sel(data=data, kernel=kernel).values for kernel in ("initial", "final"))
        r, ahead = stats.student(last), stats.student((1 - first) - times * (1 - last))
        parts[data] = claims.all_of(r.exceeds(close), ahead.exceeds(0))
        numbers |= {f"r final, {data}": r, f"1 - r initial less three times 1 - r final, {data}": ahead}
        numbers[f"r initial, {data}"] = stats.student(first)
    return Found(parts, numbers)


@decides(machines="hidden_structure/cited/parity", networks="hidden_structure/cited/parity_decay")
def hs_07(machines, networks, *, right, ahead):
    """Section 2, on Daniely, Malach and Shi et al.: is there a training that beats kernel machines on a parity?

    `machines`: accuracy by learner, half and seed, 5,000 points; `networks`: path by train, decay, seed and epoch.
    """
    rivals = machines.accuracy.sel(half="uniform", learner=["rbf", "ntk"], drop=True)
    best = rivals.isel(learner=int(rivals.mean("seed").argmax("learner"))).values
    machine, end = stats.student(best), networks.isel(epoch=-1, drop=True)
    final = {(n, d): end.path.sel(train=n, decay=d).values for n in end.train.values for d in end.decay.values}
    each = {key: stats.student(values) for key, values in final.items()}
    leads = {d: stats.student(values - best) for (n, d), values in final.items() if n == POINTS}
    exists = claims.any_of(
        *(claims.all_of(each[POINTS, d].exceeds(right), lead.exceeds(ahead)) for d, lead in leads.items())
    )
    top = max(leads, key=lambda decay: leads[decay].estimate)
    return Found(
        "reproduced" if exists else "contradicted" if machine.exceeds(right) else "undecided",
        {"network": each[POINTS, top], "kernel machine": machine, "lead": leads[top], "weight decay": top}
        | {"networks": {f"{n:,} and {d:g}": one for (n, d), one in each.items()}}
        | {"weights of the five": float(end.share.sel(train=POINTS, decay=top).mean())},
    )


def over(runs: xr.Dataset, kernel: str) -> xr.DataArray:
    """Test error of the network over that of a kernel machine; first dimensions degree and run."""
    mse = runs.mse
    ratio = mse.sel(learner="network", drop=True) / mse.sel(learner=kernel, drop=True)
    return ratio.transpose("degree", "run", ...)


def factors(ratios: xr.DataArray) -> dict[int, Interval]:
    """Geometric means over runs of ratios (degree, run), by degree."""
    return {int(d): stats.geometric(ratios.sel(degree=d).values) for d in ratios.degree.values}


def changes(theirs: xr.Dataset, regular: xr.Dataset) -> dict[str, dict[int, Interval]]:
    """Factors between their algorithm and regular training, by degree: of the network's error, and of its ratios."""
    error = [runs.mse.sel(learner="network", drop=True).transpose("degree", "run") for runs in (theirs, regular)]
    both = {"error": error, **{k: [over(runs, k) for runs in (theirs, regular)] for k in ("final", "initial")}}
    return {name: factors(one / other) for name, (one, other) in both.items()}


def turned(noise: xr.Dataset, kernel: str) -> list[int]:
    """Degrees at which some label noise changes in four of five runs which of network and kernel is ahead."""
    sign = np.sign(np.log(over(noise, kernel)))
    return sign.degree.values[((sign != sign.sel(noise=0)).sum("run") >= 4).any("noise").values].tolist()


@decides(
    theirs="hidden_structure/cited/two_stage",
    regular="hidden_structure/cited/two_stage_regular",
    noise="hidden_structure/cited/two_stage_noise",
)
def hs_50(theirs, regular, noise, *, little, much, several):
    """Section 5.2.4: "no significant change" under the assumptions of Damian et al.; five runs at each degree."""
    found = changes(theirs, regular)
    others = [found[name] for name in ("error", "initial")]
    still = claims.all_of(*(claims.within(one, 1 / little, little) for of in others for one in of.values()))
    moved = max(sum(one.above(much) or one.below(1 / much) for one in of.values()) for of in others)
    own = factors(over(theirs, "final"))
    return Found(
        {
            "own kernel": claims.all_of(*(one.exceeds(1 / little) for one in own.values())),
            "all else": True if still else False if moved >= several else None,
        },
        {f"{name}, degree {d}": one for name, of in found.items() for d, one in of.items()}
        | {f"over {kernel} NTK": factors(over(theirs, kernel)) for kernel in ("final", "initial")}
        | {"aligned": {int(d): float(theirs.aligned.sel(degree=d).median()) for d in theirs.degree.values}}
        | {f"turned by noise, {kernel}": turned(noise, kernel) for kernel in ("final", "initial")},
    )


def silence(runs: xr.Dataset) -> xr.Dataset:
    """Of every run: loss left at 90 % of the final alignment, of its rise, in the end; growth, end and peak of it."""
    A, loss = (runs[name].transpose(..., "step") for name in ("alignment", "loss"))
    left = loss / loss.isel(step=0)
    first = (A / A.isel(step=-1) >= 0.9).argmax("step")
    columns = {
        "at_90": left.isel(step=first).drop_vars("step", errors="ignore"),
        "at_rise": at_rise(runs),
        "growth": A.isel(step=-1, drop=True) / A.isel(step=0, drop=True),
        "end": left.isel(step=-1, drop=True),
        "alignment": A.isel(step=-1, drop=True),
        "largest": A.max("step"),
        "at_largest": left.isel(step=A.argmax("step")).drop_vars("step", errors="ignore"),
    }
    return xr.Dataset(columns)


def kind_of_alignment(found: xr.Dataset, null: float, *, grows: float, left: float) -> str:
    """One word for runs (run,): "none", "silent", "audible" or "open".

    There is an alignment if it grows by a factor (geometric mean), ends above as many times the `null`, the largest one
    on labels dealt at random, and the loss falls below a share at all.  It is silent if more than that share of the
    loss is left at 90 % of its rise, and audible if less is left.
    """
    enough = claims.all_of(
        stats.geometric(found.growth.values).exceeds(grows),
        stats.student(found.alignment.values).exceeds(grows * null),
        claims.below(stats.student(found.end.values), left),
    )
    if not enough:
        return "none" if enough is False else "open"
    silent = of_known(found.at_rise).exceeds(left)
    return "open" if silent is None else "silent" if silent else "audible"


def null_alignment(shuffled: xr.Dataset) -> dict[str, float]:
    """The largest alignment with labels dealt at random, mean over runs, by task and by case."""
    largest = shuffled.alignment.mean("run").max("step")
    of_task = {task: float(largest.sel(task=task)) for task in shuffled.task.values.tolist()}
    cases = {task.split()[0] for task in of_task}
    return of_task | {case: max(of_task[task] for task in of_task if task.startswith(case)) for case in cases}


@decides(runs="hidden_structure/cited/silent", shuffled="hidden_structure/cited/silent_shuffled")
def hs_68(runs, shuffled, *, grows, left):
    """Section 5.2.3: is the alignment silent?  Over task, scale, run and step; `shuffled`: labels dealt at random."""
    found, on_null, null = silence(runs), silence(shuffled), null_alignment(shuffled)
    tasks, dealt = runs.task.values.tolist(), shuffled.task.values.tolist()
    kinds = {"silent": [], "audible": [], "none": [], "open": []}
    for task in tasks:
        for scale in runs.scale.values.tolist():
            level, one = null.get(task, null[task.split()[0]]), found.sel(task=task, scale=scale)
            kinds[kind_of_alignment(one, level, grows=grows, left=left)].append(f"{task} from scale {scale:g}")
    fooled = {t: kind_of_alignment(on_null.sel(task=t), null[t], grows=grows, left=left) for t in dealt}
    start = found.sel(scale=1.0)
    left_open = {name.rsplit(" from ", 1)[0] for name in kinds["open"] if name.endswith("scale 1")}
    return Found(
        {task: "undecided" if task in left_open else "answered" for task in tasks},
        {
            "kinds": kinds,
            "silent on random labels": [task for task, kind in fooled.items() if kind == "silent"],
            "old rule": float((on_null.at_90 >= left).mean()),
            "left at the rise": {task: of_known(start.at_rise.sel(task=task)) for task in tasks},
            "alignment at the end": {task: of_known(start.alignment.sel(task=task)) for task in tasks},
            "with random labels": {task: null[task] for task in dealt},
        },
    )


def of_known(values: xr.DataArray) -> Interval:
    """Mean of the runs (run,) that have a value."""
    return stats.student(values.values[np.isfinite(values.values)])

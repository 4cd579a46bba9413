r"""Rules on what the document says of others' work: HS-04 to HS-07, HS-50, HS-68.

The document restates theorems of others.  One training that does not show what a theorem says exists contradicts
nothing; such rules look for one that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import xarray as xr

from experiments.hidden_structure import cited
from shallow import stats
from shallow.book import claims, records, sweep
from shallow.book.claims import Outcome
from shallow.stats import Interval

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


@cache
def by_width() -> xr.Dataset:
    """The change of the tangent kernel by width and seed; computed here, in seconds."""
    axes = {"width": list(cited.WIDTHS), "seed": list(range(5))}
    return sweep.grid(cited.kernel_change, axes, jobs=1, progress=False)


def power_of_width(values: xr.DataArray) -> Interval:
    """Slope against the width on logarithmic axes, over seeds."""
    logs = np.log(values.width.values.astype(float))
    return stats.student(np.polyfit(logs, np.log(values.transpose("width", "seed").values), 1)[0])


def hs_04(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, on Jacot et al.: wide networks change their kernel less; over width and seed."""
    steep = -0.25
    runs = by_width() if runs is None else runs
    kernel, weights = power_of_width(runs.change), power_of_width(runs.weights)
    return Outcome(
        verdict=claims.below(kernel, steep),
        answer={
            "reproduced": "Yes: the kernel changes less in wider networks, about like width to the power minus 3/4.",
            "contradicted": "No: the kernel does not change less in wider networks.",
            "otherwise": "The runs do not say how the change of the kernel falls with the width.",
        },
        finding=f"from width {runs.width.values.min()} to {runs.width.values.max()} the change of the kernel until the "
        f"loss has halved falls with the power {kernel} of the width, that of the weights with {weights}",
        evidence={"power of the width": kernel},
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


def hs_05(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, on Atanasov et al.: the kernel turns early, from a small start; over data, scale and seed."""
    much, like = 0.7, 0.95
    runs = load("hidden_structure/cited_alignment") if runs is None else runs
    small, full = (runs.sel(data="mnist", scale=scale) for scale in (0.1, 1.0))
    left, likeness = stats.student(small.loss_t90.values), stats.student(small.least_likeness.values)
    rise, at_full = stats.student(at_rise(small).values), stats.student(full.loss_t90.values)
    first = float(small.alignment.isel(step=0).median())
    return Outcome(
        parts={"early": left.exceeds(much), "later only in scale": likeness.exceeds(like)},
        answer={
            "reproduced": "Yes: from a small start the kernel has its final alignment before the loss falls, and then "
            "hardly turns.",
            "contradicted": "No: the kernel turns while the loss falls, and goes on turning.",
            "otherwise": "In part: the alignment is there early, mostly before training; that the kernel then only "
            "grows is not shown.",
        },
        finding=f"MNIST from a tenth of the default start: {left:.2f} of the loss is left at 90 % of the final "
        f"alignment, but {rise:.2f} at 90 % of its rise, for the alignment begins at {first:.2f}; the likeness with "
        f"the final kernel after half the loss is at least {likeness:.3f}; from the default start {at_full:.2f} of the "
        f"loss is left at 90 % of the final alignment",
        evidence={
            "loss left at 90 % of the alignment": left,
            "least likeness": likeness,
            "loss left at the rise": rise,
        },
    )


def hs_06(runs: xr.Dataset | None = None) -> Outcome:
    """Section 2, on a plot of Atanasov et al.: final against initial kernel; over data, kernel and seed."""
    close, times = 0.95, 3
    runs = load("hidden_structure/cited_kernels") if runs is None else runs
    parts, texts, evidence = {}, [], {}
    for data in ("mnist", "cifar10"):
        first, last = (runs.r.sel(data=data, kernel=kernel).values for kernel in ("initial", "final"))
        ahead = stats.student((1 - first) - times * (1 - last))
        r = stats.student(last)
        parts[data] = claims.all_of(r.exceeds(close), ahead.exceeds(0))
        texts.append(f"{data}: r {r:.3f} with the final kernel, {stats.student(first):.3f} with the initial")
        evidence |= {f"r final, {data}": r, f"1 - r initial less three times 1 - r final, {data}": ahead}
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the final kernel predicts the trained network very closely, the initial one clearly "
            "less so.",
            "contradicted": "No: the final kernel does not predict the network clearly better than the initial one.",
            "otherwise": "On CIFAR-10 yes; on two classes of MNIST the initial kernel already predicts the network.",
        },
        finding="; ".join(texts),
        evidence=evidence,
    )


def hs_07(machines: xr.Dataset | None = None, networks: xr.Dataset | None = None) -> Outcome:
    """Section 2, on Daniely, Malach and Shi et al.: is there a training that beats kernel machines on a parity?

    `machines`: accuracy by learner, half and seed, 5,000 points; `networks`: path by train, decay, seed and epoch.
    """
    right, lead, points = 0.9, 0.2, 5000
    machines = load("hidden_structure/parity") if machines is None else machines
    networks = load("hidden_structure/parity_decay") if networks is None else networks
    rivals = machines.accuracy.sel(half="uniform", learner=["rbf", "ntk"], drop=True)
    best = rivals.isel(learner=int(rivals.mean("seed").argmax("learner")))
    machine = stats.student(best.values)
    final = networks.path.isel(epoch=-1, drop=True)
    each = {
        (int(n), float(decay)): stats.student(final.sel(train=n, decay=decay).values)
        for n in final.train.values for decay in final.decay.values
    }  # fmt: skip
    leads = {
        decay: stats.student(final.sel(train=points, decay=decay).values - best.values)
        for n, decay in each if n == points
    }  # fmt: skip
    exists = claims.any_of(*(claims.all_of(each[points, d].exceeds(right), leads[d].exceeds(lead)) for d in leads))
    top = max(leads, key=lambda decay: leads[decay].estimate)
    share = float(networks.share.isel(epoch=-1).sel(train=points, decay=top).mean())
    return Outcome(
        verdict="reproduced" if exists else "contradicted" if machine.exceeds(right) else "undecided",
        answer={
            "reproduced": "Yes: on a sparse parity a network with a little weight decay is right, and kernel machines "
            "are not.",
            "contradicted": "No: on the sparse parity a kernel machine is right nearly always, too.",
            "otherwise": "Our training does not show it; that contradicts no theorem about the existence of such data.",
        },
        finding=f"accuracy on the uniform half with 5,000 points {machine} for {best.learner.item()}, the better "
        f"kernel machine, and {each[points, top]} for the network with weight decay {top:g}, lead {leads[top]}; "
        "networks after 100 epochs by points and weight decay "
        + ", ".join(f"{n:,} and {decay:g}: {one}" for (n, decay), one in each.items())
        + f"; the five coordinates carry {share:.0%} of the squared first weights, 10% by chance",
        evidence={"network": each[points, top], "kernel machine": machine, "lead": leads[top]},
    )


def over(runs: xr.Dataset, kernel: str) -> xr.DataArray:
    """Test error of the network over that of a kernel machine; first dimensions degree and run."""
    mse = runs.mse
    ratio = mse.sel(learner="network", drop=True) / mse.sel(learner=kernel, drop=True)
    return ratio.transpose("degree", "run", ...)


def factor(values: xr.DataArray) -> Interval:
    """Geometric mean over runs of positive numbers (run,)."""
    logs = stats.student(np.log(values.values))
    return Interval(*np.exp([logs.estimate, logs.low, logs.high]).tolist())


def changes(theirs: xr.Dataset, regular: xr.Dataset) -> dict[str, dict[int, Interval]]:
    """Factors between their algorithm and regular training, by degree: of the network's error, and of its ratios."""
    error = [runs.mse.sel(learner="network", drop=True).transpose("degree", "run") for runs in (theirs, regular)]
    both = {"error": error, **{k: [over(runs, k) for runs in (theirs, regular)] for k in ("final", "initial")}}
    return {
        name: {int(d): factor(one.sel(degree=d) / other.sel(degree=d)) for d in one.degree.values}
        for name, (one, other) in both.items()
    }


def turned(noise: xr.Dataset, kernel: str) -> list[int]:
    """Degrees at which some label noise changes in four of five runs which of network and kernel is ahead."""
    sign = np.sign(np.log(over(noise, kernel)))
    return sign.degree.values[((sign != sign.sel(noise=0)).sum("run") >= 4).any("noise").values].tolist()


def hs_50(
    theirs: xr.Dataset | None = None, regular: xr.Dataset | None = None, noise: xr.Dataset | None = None
) -> Outcome:
    """Section 5.2.4: "no significant change" under the assumptions of Damian et al.; five runs at each degree."""
    little, much = 1.5, 2.0
    theirs = load("hidden_structure/two_stage") if theirs is None else theirs
    regular = load("hidden_structure/two_stage_regular") if regular is None else regular
    noise = load("hidden_structure/two_stage_noise") if noise is None else noise
    found = changes(theirs, regular)
    moved = {name: [d for d, one in of.items() if one.above(much) or one.below(1 / much)] for name, of in found.items()}
    still = claims.all_of(*(claims.within(one, 1 / little, little) for of in found.values() for one in of.values()))
    final = {int(d): factor(over(theirs, "final").sel(degree=d)) for d in theirs.degree.values}
    ahead = [d for d, one in final.items() if one.below(1)]
    initial = {int(d): factor(over(theirs, "initial").sel(degree=d)) for d in theirs.degree.values}
    verdict = "contradicted" if any(len(degrees) >= 2 for degrees in moved.values()) else "undecided"
    return Outcome(
        verdict="reproduced" if still else verdict,
        answer={
            "reproduced": "Yes: with their algorithm errors and comparisons stay as they were.",
            "contradicted": "No: their algorithm changes much; it is blind to odd degrees, and beats kernels fixed "
            "beforehand at degrees 4 and 6.",
            "otherwise": "The runs do not say whether their algorithm changes the comparison.",
        },
        finding=f"factors from the document's training to their algorithm, of the network's test error "
        f"{_list(found['error'])}, of its ratio to the final NTK {_list(found['final'])}, to the initial NTK "
        f"{_list(found['initial'])}; with their algorithm network over final NTK {_list(final)}, over initial NTK "
        f"{_list(initial)}; share of aligned units after the one step "
        f"{_list({int(d): float(theirs.aligned.sel(degree=d).median()) for d in theirs.degree.values})}; label noise "
        f"turns the comparison with the final NTK at {_degrees(turned(noise, 'final'))}, with the initial NTK at "
        f"{_degrees(turned(noise, 'initial'))}",
        evidence={f"{name}, degree {d}": one for name, of in found.items() for d, one in of.items()},
        reading="partly" if verdict == "contradicted" and not still and not ahead else None,
        reading_why="The document compares the network with its own final NTK, and there their algorithm gives the "
        "network no advantage either; against kernels fixed beforehand, which is what Damian et al. compare, it does."
        if verdict == "contradicted" and not still and not ahead
        else None,
    )


def _list(values: Mapping[int, Interval | float]) -> str:
    return ", ".join(f"{d}: {one:.2f}" for d, one in values.items())


def _degrees(degrees: list[int]) -> str:
    return " and ".join(map(str, degrees)) or "none"


GROWS = 2.0  # factor by which an alignment has to grow to be one
LEFT = 0.7  # share of the loss above which it has not fallen


def silence(runs: xr.Dataset) -> xr.Dataset:
    """Of every run: loss left at 90 % of the final alignment, of its rise, in the end; growth, end and peak of it."""
    A, loss = (runs[name].transpose(..., "step") for name in ("alignment", "loss"))
    left = loss / loss.isel(step=0)
    first = (A / A.isel(step=-1) >= 0.9).argmax("step")
    return xr.Dataset({
        "at_90": left.isel(step=first).drop_vars("step", errors="ignore"),
        "at_rise": at_rise(runs),
        "growth": A.isel(step=-1, drop=True) / A.isel(step=0, drop=True),
        "end": left.isel(step=-1, drop=True),
        "alignment": A.isel(step=-1, drop=True),
        "largest": A.max("step"),
        "at_largest": left.isel(step=A.argmax("step")).drop_vars("step", errors="ignore"),
    })  # fmt: skip


def kind_of_alignment(found: xr.Dataset, null: float) -> str:
    """One word for runs (run,): "none", "silent", "audible" or "open".

    There is an alignment if it doubles (geometric mean), ends above twice the `null`, the largest one on labels dealt
    at random, and the loss falls below 70 % at all.  It is silent if more than that share of the loss is left at 90 %
    of its rise, and audible if less is left.
    """
    enough = claims.all_of(
        factor(found.growth).exceeds(GROWS),
        stats.student(found.alignment.values).exceeds(GROWS * null),
        claims.below(stats.student(found.end.values), LEFT),
    )
    if not enough:
        return "none" if enough is False else "open"
    silent = _mean(found.at_rise).exceeds(LEFT)
    return "open" if silent is None else "silent" if silent else "audible"


def null_alignment(shuffled: xr.Dataset) -> dict[str, float]:
    """The largest alignment with labels dealt at random, mean over runs, by task and by case."""
    of_task = {
        task: float(shuffled.alignment.sel(task=task).mean("run").max()) for task in shuffled.task.values.tolist()
    }
    of_case = {}
    for task, value in of_task.items():
        case = task.split()[0]
        of_case[case] = max(value, of_case.get(case, 0.0))
    return of_case | of_task


def hs_68(runs: xr.Dataset | None = None, shuffled: xr.Dataset | None = None) -> Outcome:
    """Section 5.2.3: is the alignment silent?  Over task, scale, run and step; `shuffled`: labels dealt at random."""
    runs = load("hidden_structure/silent") if runs is None else runs
    shuffled = load("hidden_structure/silent_shuffled") if shuffled is None else shuffled
    found, null = silence(runs), null_alignment(shuffled)
    tasks = found.task.values.tolist()
    kinds = {
        (task, scale): kind_of_alignment(found.sel(task=task, scale=scale), null.get(task, null[task.split()[0]]))
        for task in tasks for scale in found.scale.values.tolist()
    }  # fmt: skip
    on_null = silence(shuffled)
    fooled = [
        task
        for task in on_null.task.values.tolist()
        if kind_of_alignment(on_null.sel(task=task), null[task]) == "silent"
    ]
    by_kind = {
        kind: [f"{task} from scale {scale:g}" for (task, scale), one in kinds.items() if one == kind]
        for kind in ("silent", "audible", "none", "open")
    }
    silent, audible = (
        {task for (task, _), kind in kinds.items() if kind == wanted} for wanted in ("silent", "audible")
    )
    return Outcome(
        verdict="answered",
        answer=f"Yes on some tasks: the kernel turns before the loss falls ({', '.join(sorted(silent))})."
        if silent
        else "At degrees 3 and 5 no: kernel and loss move together; at 7 our runs leave it open."
        if {"independent 3", "independent 5"} <= audible and "independent 7" not in audible
        else "Where there is an alignment, kernel and loss move together."
        if audible
        else "One cannot tell: the alignment is nowhere clearly above that with random labels.",
        finding="; ".join(f"{kind}: {', '.join(of) or 'no task'}" for kind, of in by_kind.items())
        + f"; on labels dealt at random silent: {', '.join(fooled) or 'no task'}, by the old rule "
        f"{float((on_null.at_90 >= LEFT).mean()):.0%} of the runs; loss left at 90 % of the rise from the author's "
        f"start {', '.join(f'{t}: {_mean(found.at_rise.sel(task=t, scale=1.0))}' for t in tasks)}; alignment at the "
        f"end {', '.join(f'{t}: {_mean(found.alignment.sel(task=t, scale=1.0))}' for t in tasks)}, with random labels "
        f"at most {', '.join(f'{t}: {null[t]:.3f}' for t in on_null.task.values.tolist())}",
        evidence={"kinds": by_kind, "silent on random labels": fooled},
    )


def _mean(values: xr.DataArray) -> Interval:
    return stats.student(values.values[np.isfinite(values.values)])

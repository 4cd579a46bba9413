"""Rules on how networks start: near zero, antisymmetric, at random (Bowman 2025, Section 4)."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr

from experiments.cyclic_labels import amplitudes, heatmaps, initialisation, loss_curves
from experiments.cyclic_labels.rules.variance import growth, loss_finding, losses, of_sets
from shallow import nets, stats
from shallow.book import claims, records, sweep
from shallow.book.claims import Outcome
from shallow.kernels import empirical
from shallow.stats import Interval

SOURCE = 0.5  # CL-21: share of the relative variance that makes its source a main one
ALIGNED = 0.9  # CL-23: the kernel at the end is that at the start
EXACT, TRAINED = 1e-12, 1e-10  # relative, of a kernel and of a network after 500 epochs


def cl_18(near: xr.Dataset | None = None, three: xr.Dataset | None = None, nearer: xr.Dataset | None = None) -> Outcome:
    """Section 4, step 4: does a start near zero leave the pattern of the heatmaps as it is?

    near, three, nearer: the records `heatmap_near_zero`, `heatmap_three_periods` and `heatmap_nearer_zero`.
    """
    near = records.load("cyclic_labels/heatmap_near_zero") if near is None else near
    three = records.load("cyclic_labels/heatmap_three_periods") if three is None else three
    nearer = records.load("cyclic_labels/heatmap_nearer_zero") if nearer is None else nearer
    parts, evidence = growth(near, name="near zero")
    first, small, tiny = three.sel(base=0), near.isel(base=0), nearer.isel(base=0)
    null = heatmaps.ratio(three.sel(base=1), first, name="null", paired=False)
    ratio = heatmaps.ratio(small, first, name="0.1", paired=True)
    third = heatmaps.ratio(tiny, first, name="0.01", paired=True)
    error = heatmaps.ratio(small, first, name="0.1", paired=True, of="error")
    kept = claims.combine(parts) == "reproduced"
    pattern = "the same pattern" if kept else "another pattern"
    size = "more" if ratio.above(null.high) else "less" if ratio.below(null.low) else "no other"
    answer = f"Starting near zero gives {pattern}, with {size} variance between the models."
    return Outcome(
        verdict="answered",
        answer=answer,
        finding=f"trends {'both kept' if kept else 'not both kept'}, with median ρ(V, epoch) "
        f"{of_sets(evidence, 'median ρ(V, epoch)')} and ρ(V(T), n) {of_sets(evidence, 'ρ(V(T), n)')}; V is {ratio} "
        f"times that of the default at factor 0.1 and {third} at 0.01, two default sets differ by {null}; the error is "
        f"{error} times as large",
        evidence=evidence
        | {"V over default, factor 0.1": ratio, "V over default, factor 0.01": third, "two default sets": null}
        | {"error over default, factor 0.1": error},
    )


def cl_21(grams: xr.Dataset | None = None) -> Outcome:
    """Section 4: is the random initial function a main source of the variance between models?

    grams: the record `sources`.
    """
    grams = records.load("cyclic_labels/sources") if grams is None else grams
    relative, plain = (
        {v: amplitudes.sources(grams, v, name=v, relative=scale) for v in ("start", "data")} for scale in (True, False)
    )
    main = {kind: share.exceeds(SOURCE) for kind, share in relative.items()}
    answer = {
        (
            False,
            True,
        ): "No: different data make nearly all of the variance; different initial networks on the same data "
        "end nearly alike.",
        (
            True,
            False,
        ): "Yes: different initial networks on the same data differ nearly as much as when the data vary too.",
        (True, True): "Both count: varying the data alone or the initial networks alone gives most of the variance.",
    }
    return Outcome(
        verdict="answered",
        answer=answer.get(tuple(main.values()), "Neither the data nor the initial networks alone make most of it."),
        finding=f"varying only the initialisation gives {relative['start']} of the relative variance of varying both, "
        f"only the data {relative['data']}; for V itself {plain['start']} and {plain['data']}",
        evidence={f"relative variance, only {kind} varied, over both": value for kind, value in relative.items()}
        | {f"V, only {kind} varied, over both": value for kind, value in plain.items()},
    )


def cl_23(moved: xr.Dataset | None = None) -> Outcome:
    """Section 4: does the kernel at the start fail to describe training that starts close to zero?

    moved: the record `kernel_from_near_zero`.
    """
    moved = records.load("cyclic_labels/kernel_from_near_zero") if moved is None else moved
    parts, evidence = {}, {}
    for step in moved.step.values:
        leaves, lower = [], []
        for width in moved.width.values:
            near, default = (moved.alignment.sel(alpha=a, step=step, width=width).values for a in (0.1, 1.0))
            name = f"width {width}, step {step:g}"
            low, gap = stats.bootstrap(near, name=f"low/{name}"), stats.paired(near, default, name=f"gap/{name}")
            leaves.append(claims.below(low, ALIGNED))
            lower.append(claims.below(gap, 0))
            evidence |= {f"alignment from factor 0.1, {name}": low, f"minus that of the default, {name}": gap}
        holds = claims.verdict(claims.all_of(*leaves))
        parts[f"step {step:g}"] = "partly" if holds == "reproduced" and not all(lower) else holds
    lows = [value for key, value in evidence.items() if key.startswith("alignment")]
    away = claims.all_of(*(claims.below(value, ALIGNED) for value in lows))
    lead = {True: "Yes: the kernel at the end is another one", False: "Not always", None: "Perhaps"}[away]
    only = [part for part, verdict in parts.items() if verdict == "reproduced"]
    rest = "" if len(only) == len(parts) else ", but at the larger step no more so than from the default start"
    fair = {"reading": "reproduced", "reading_why": WHY_MOVES} if away and claims.combine(parts) == "partly" else {}
    return Outcome(
        parts=parts,
        answer=f"{lead}{rest if only else ''}.",
        finding=f"alignment of the kernel at T with that at the start {min(v.estimate for v in lows):.2f} to "
        f"{max(v.estimate for v in lows):.2f} from factor 0.1; clearly below that of the default "
        f"{'at ' + ' and '.join(only) if only else 'at no step'}",
        evidence=evidence,
        **fair,
    )


WHY_MOVES = (
    "the sentence says that the kernel at the start does not describe training from near zero, which holds throughout; "
    "that it would describe the default start is our addition"
)


def kernel_scaling(alphas: tuple[float, ...] = (0.5, 0.25, 0.1, 0.03, 0.01)) -> float:
    r"""Largest relative deviation of $K(\alpha\theta)$ from $\alpha^2 K(\theta)$ on part of the grid."""
    network, x = nets.default(np.random.default_rng(0), 512), loss_curves.GRID[::5]
    kernel = empirical.ntk(network, x)
    return max(np.abs(empirical.ntk(nets.scaled(network, a), x) / (a**2 * kernel) - 1).max() for a in alphas)


def cl_24(passage: xr.Dataset | None = None, deviation: float | None = None) -> Outcome:
    """Section 4: do small initial parameters make the kernel vanish and slow learning down?

    passage: the record of that name.  deviation: as of :func:`kernel_scaling`.
    """
    passage = records.load("cyclic_labels/passage") if passage is None else passage
    deviation = kernel_scaling() if deviation is None else deviation
    start, alphas = passage.start.sel(step=0.001), passage.alpha.values
    delay = {
        f"{a:g}→{b:g}": stats.bootstrap((start.sel(alpha=b) - start.sel(alpha=a)).values, np.median, name=f"slower/{b}")
        for a, b in zip(alphas, alphas[1:])
    }
    slower = claims.all_of(*(value.exceeds(0) for value in delay.values()))
    parts = {"kernel": claims.verdict(deviation < EXACT), "slower": claims.verdict(slower)}
    verdict = claims.combine(parts) if parts["kernel"] == "reproduced" else "contradicted"
    answer = {
        "reproduced": "Yes: the kernel shrinks with the square of the scale, and each reduction delays the start.",
        "partly": "The kernel shrinks with the square of the scale, but the start is not always delayed.",
        "contradicted": "No: the kernel does not shrink with the square of the scale.",
    }
    return Outcome(
        verdict=verdict,
        parts=parts,
        answer=answer[verdict],
        finding=f"kernel scales with the square {'to 1e-12' if deviation < EXACT else 'not exactly'}; median delay of "
        "the start in epochs at each reduction: " + ", ".join(f"{step} {value:.0f}" for step, value in delay.items()),
        evidence={f"delay {step}, epochs": value for step, value in delay.items()},
    )


@functools.cache
def doubled() -> tuple[xr.Dataset, xr.Dataset]:
    """What is exact about antisymmetric networks: `initialisation.doubling` and `initialisation.folding` on grids."""
    at = {"n": [10, 50, 200], "width": [128, 512], "seed": range(3), "activation": list(initialisation.ACTIVATIONS)}
    return sweep.grid(initialisation.doubling, at, jobs=1), sweep.grid(
        initialisation.folding, {"width": [128, 512], "step": [0.01, 0.001], "seed": range(2)}, jobs=1
    )


def cl_25(doubling: xr.Dataset | None = None, folding: xr.Dataset | None = None) -> Outcome:
    """Section 4: antisymmetric doubling makes the output zero, keeps the kernel, and is one network of twice the width.

    doubling, folding: as of :func:`doubled`.
    """
    if doubling is None or folding is None:
        doubling, folding = doubled()
    relu = doubling.sel(activation="relu")
    parts = {
        "output": claims.verdict(bool((relu.output == 0).all())),
        "kernel": claims.verdict(bool((relu.kernel < EXACT).all())),
        "folding": claims.verdict(bool((folding.difference < TRAINED).all())),
    }
    fails = [part for part, verdict in parts.items() if verdict != "reproduced"]
    return Outcome(
        parts=parts,
        answer=f"No: it fails for the {' and the '.join(fails)}."
        if fails
        else "Yes: the output at the start is exactly zero and the kernel that of the single network.",
        finding="; ".join(f"{part} {'not ' if part in fails else ''}as derived" for part in parts)
        + f" (kernel to {EXACT:g}, folded and unfolded training to {TRAINED:g})",
        evidence={"largest output at the start": float(relu.output.max())},
    )


def cl_26(doubling: xr.Dataset | None = None) -> Outcome:
    """Section 4, quotation: does the trick need a continuously differentiable activation?

    doubling: as of :func:`doubled`.
    """
    doubling = doubled()[0] if doubling is None else doubling
    relu = doubling.sel(activation="relu")
    exact = bool((relu.output == 0).all() and (relu.kernel < EXACT).all())
    return Outcome(
        verdict="answered",
        answer="No: with ReLU, which has a kink, output and kernel are as exact as with a smooth activation."
        if exact
        else "Yes: with ReLU, which has a kink, output or kernel are not exact.",
        finding="for ReLU, which is not differentiable at 0, output and kernel are "
        f"{'as exact as for softplus' if exact else 'not exact'}; the assumption is that of the cited paper",
    )


def starts_at_zero() -> float:
    """Largest |h(x; 0)| over ten models of both sets on thirteen sizes."""
    at = {"base": [0, 1], "n": list(heatmaps.SIZES)}
    return float(sweep.grid(initialisation.initial_output, at, jobs=1).output.max())


def cl_28(asi: xr.Dataset | None = None, largest: float | None = None) -> Outcome:
    """Figures 5 and 6: with antisymmetric initialisation, does the variance grow and the test loss fall?

    asi: the record `heatmap_antisymmetric`.  largest: as of :func:`starts_at_zero`.
    """
    asi = records.load("cyclic_labels/heatmap_antisymmetric") if asi is None else asi
    largest = starts_at_zero() if largest is None else largest
    variance, evidence = growth(asi, name="antisymmetric")
    loss, of_loss = losses(asi)
    first = asi.isel(epoch=0)
    zero = largest == 0 and bool((first.variance < 1e-30).all())
    margin = bool((first.train_loss == asi.sizes["model"] * asi.n).all())
    parts = {
        "a": claims.combine(variance) if zero else "contradicted",
        "b": claims.combine(loss) if margin else "contradicted",
    }
    answer = {
        "reproduced": "Yes: as with the ordinary start, the variance grows with time and size, and the losses fall.",
        "contradicted": "No: with the antisymmetric start the heatmaps do not show the same trends.",
    }
    return Outcome(
        parts=parts,
        answer=answer.get(claims.combine(parts), "Not all trends of the ordinary start are clearly there."),
        finding=f"median ρ(V, epoch) {of_sets(evidence, 'median ρ(V, epoch)')}, ρ(V(T), n) "
        f"{of_sets(evidence, 'ρ(V(T), n)')}; {loss_finding(of_loss)}; the output at the start is "
        f"{'exactly 0 and the loss exactly n' if zero and margin else 'not exactly 0'}",
        evidence=evidence | of_loss | {"largest output at the start": largest},
    )


def compared(forty: xr.Dataset | None = None, controls: xr.Dataset | None = None) -> dict[str, xr.Dataset]:
    """The networks of the records `antisymmetric_forty_models` and `initialisation_controls` by name."""
    forty = records.load("cyclic_labels/antisymmetric_forty_models") if forty is None else forty
    controls = records.load("cyclic_labels/initialisation_controls") if controls is None else controls
    return {str(name): record.sel(network=name) for record in (forty, controls) for name in record.network.values}


def cl_29(networks: dict[str, xr.Dataset] | None = None) -> Outcome:
    """Section 4, after Figure 6: does antisymmetric initialisation leave variance and losses much as they were?

    networks: as of :func:`compared`; "plain", "antisymmetric" and "matched" decide, the others say what did it.
    """
    networks = compared() if networks is None else networks
    asi, plain = networks["antisymmetric"], networks["plain"]
    null = {of: np.exp(stats.percentiles(d)) for of, d in initialisation.split_null(plain, name="plain").items()}
    ratio = {
        (of, to): heatmaps.ratio(asi, networks[to], name=f"{to}", paired=True, of=of)
        for of in ("variance", "error") for to in ("plain", "matched")
    }  # fmt: skip
    inside = {key: _inside(value, *null[key[0]]) for key, value in ratio.items()}
    trends = {name: _directions(networks[name]) for name in ("plain", "antisymmetric")}
    kept = trends["plain"] == trends["antisymmetric"]
    parts = {of: _corrected(inside[of, "plain"], inside[of, "matched"]) if kept else "contradicted" for of in null}
    verdict = claims.combine(parts)
    answer = {
        "reproduced": "It changes little: variance and error differ no more than two halves of one ensemble do.",
        "corrected": "The trends stay, but variance and error fall: the trick hides a smaller step, and the vanished "
        "output matters little.",
        "contradicted": "It does change them: variance or error differ from those of every plain network compared.",
    }
    step = {
        of: heatmaps.ratio(networks["step"], networks["wide"], name="step alone", paired=True, of=of) for of in null
    }
    scale = {
        of: heatmaps.ratio(networks["scale"], networks["wide"], name="scale alone", paired=True, of=of) for of in null
    }
    text = "; ".join(
        f"{of} {ratio[of, 'plain']} of plain (halves of one ensemble {null[of][0]:.2f} to {null[of][1]:.2f}), "
        f"{ratio[of, 'matched']} of a plain network of the same width, scale and step"
        for of in null
    )
    return Outcome(
        parts=parts,
        answer=answer.get(verdict, "In part: variance and error do not tell the same about the change."),
        finding=f"{text}; the smaller step alone changes the variance by {step['variance']}, the smaller scale alone "
        f"by {scale['variance']}; trends with epoch and size {'keep' if kept else 'do not keep'} their sign",
        evidence={f"{of}, antisymmetric over {to}": value for (of, to), value in ratio.items()}
        | {f"{of}, halves of one ensemble": f"{low:.2f} to {high:.2f}" for of, (low, high) in null.items()}
        | {f"{of}, step over √2 alone, width 1024": value for of, value in step.items()}
        | {f"{of}, scale over 2^(1/4) alone, width 1024": value for of, value in scale.items()},
    )


def _inside(value: Interval, low: float, high: float) -> bool | None:
    return True if value.inside(low, high) else False if value.below(low) or value.above(high) else None


def _corrected(plain: bool | None, matched: bool | None) -> str:
    """The verdict of CL-29 from whether the ratios to plain and to the matched network are those of chance."""
    if plain is None or (plain is False and matched is None):
        return "undecided"
    return "reproduced" if plain else "corrected" if matched else "contradicted"


def _directions(network: xr.Dataset) -> tuple[float, float]:
    """Signs of the trends of V with the epoch (median over n) and, at the last epoch, with n."""
    at_end = heatmaps.rank_trend(network.variance.isel(epoch=-1).sortby("n").values)
    return float(np.sign(np.median(heatmaps.over_epochs(network.variance)))), float(np.sign(at_end))

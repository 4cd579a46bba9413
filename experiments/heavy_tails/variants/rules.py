"""Rules on normalised weights and decaying learning rates (Appendices A and F.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr

from experiments.heavy_tails import shapes, teacher_student
from experiments.heavy_tails.long_runs.rules import as_wide as wide
from experiments.heavy_tails.readings_of_sweeps import reading, shaped
from experiments.heavy_tails.variants import cells as scaling
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.spectra import esd, tails
from shallow.stats import Interval
from shallow.train import first_layer

NOISE = shapes.noise_hill(1500, 1000)  # PL_Alpha_Hill of pure noise, 2.449
DECAYS = [0.2, 0.4, 0.6, 0.8]
BROAD = [0.01, 0.1, 1.0, 10.0, 100.0]  # where the document finds heavy tails with normalised weights
GRID = list(teacher_student.RATES)
RUNS = {"GD": (first_layer.GD(), 2000.0), "Adam": (first_layer.Adam(), 1.0)}
NORMALISED = ("heavy_tails/ten_steps_normalised", "heavy_tails/variants/ten_steps_normalised_more")


def change(values: xr.DataArray, others: xr.DataArray) -> Interval:
    """Mean of values - others over the draws that both have, with Student's interval."""
    first, second = xr.align(values, others, join="inner")
    return stats.student((first - second).dropna("seed").values)


# Ten steps for a wide student (Figure 7).


def fits(runs: xr.Dataset) -> xr.Dataset:
    """Over draws: exponent above the best cut, eigenvalues above it, exponent by the scan, share in the first bin.

    `first` is the share of eigenvalues in the first of 100 bins over their range, `cut` that below the 90 % quantile.
    Runs that hold these numbers are left as they are.
    """
    if "alpha" in runs:
        return runs

    def first_bin(values: np.ndarray) -> float:
        return np.histogram(values, 100)[0][0] / len(values)

    rows = []
    for values in runs.eigenvalues.sel(step=10).transpose("seed", "k").values:
        fit, small = tails.power_law(values), values[values <= np.quantile(values, 0.9)]
        rows.append([fit.alpha, fit.size, tails.scan(values).alpha, first_bin(values), first_bin(small)])
    names = ["alpha", "size", "scan", "first", "cut"]
    return xr.Dataset({name: ("seed", column) for name, column in zip(names, np.transpose(rows))})


def very_heavy(gd: xr.Dataset, gd_more: xr.Dataset, adam: xr.Dataset) -> dict[str, xr.Dataset]:
    """:func:`fits` of both optimisers, and of GD in the text's reading."""
    code = fits(gd.sel(rule="GD code", drop=True)), fits(gd_more)
    text = fits(gd.sel(rule="GD text"))
    return {"GD": xr.concat(code, "seed"), "Adam": fits(adam.sel(rule="Adam code")), "text": text}


@decides(
    gd="heavy_tails/variants/very_heavy_gd",
    gd_more="heavy_tails/variants/very_heavy_gd_more",
    adam="heavy_tails/variants/very_heavy_adam",
)
def ht_32(gd, gd_more, adam, *, heavy, quoted, near, hidden, shown):
    """Figure 7: exponents below 2 after ten steps with normalised weights."""
    found = very_heavy(gd, gd_more, adam)
    gd, adam = found["GD"], found["Adam"]
    mean = {name: stats.student(found[name].alpha.values) for name in quoted}
    first, cut = (stats.student(gd[name].values) for name in ("first", "cut"))
    parts = {
        letter: claims.all_of(
            claims.below(mean[name], heavy), claims.within(mean[name], quoted[name] - near, quoted[name] + near)
        )
        for letter, name in zip("ab", quoted)
    }
    return Found(
        parts
        | {
            "c": claims.all_of(*(claims.below(one, heavy) for one in mean.values())),
            "d": claims.all_of(first.exceeds(hidden), claims.below(cut, shown)),
        },
        {f"exponent, {name}": one for name, one in mean.items()}
        | {"first bin, GD": first, "first bin after truncation, GD": cut}
        | {"below": int((gd.alpha < heavy).sum()), "draws": gd.sizes["seed"], "median of GD": float(gd.alpha.median())}
        | {"by draw, Adam": adam.alpha.values, "by draw, loss of the text": found["text"].alpha.values}
        | {"mean share in the first bin, Adam": [float(adam["first"].mean()), float(adam.cut.mean())]}
        | {"long": sum(int((one["size"] >= 50).sum()) for one in (gd, adam))}
        | {"fits": gd.sizes["seed"] + adam.sizes["seed"]},
    )


@decides(runs=("heavy_tails/variants/decay_curves", "heavy_tails/variants/decay_curves_more"))
def ht_61(runs):
    """Figure 28(d): how even the loss curves are when the learning rate decays."""
    runs = xr.concat(runs, "seed")
    unrest = {name: scaling.unrest(runs[name]) for name in ("train", "test")}
    slow, fast = (
        {name: one.sel(decay=pair).mean("decay") for name, one in unrest.items()} for pair in (DECAYS[2:], DECAYS[:2])
    )
    more = {
        (name, kind): change(slow[name].sel(features=kind), fast[name].sel(features=kind))
        for name in unrest
        for kind in runs.features.values
    }
    mean = unrest["test"].sel(features="code").mean("seed")
    return Found(
        claims.all_of(*(more[name, "code"].exceeds(0) for name in unrest)),
        {f"slow minus fast, {name}, features of the {kind}": one for (name, kind), one in more.items()}
        | {"mean unrest, test": {g: float(mean.sel(decay=g)) for g in DECAYS}},
    )


def visited(name: str, when: str, steps: int = 5) -> tuple[np.ndarray, np.ndarray]:
    r"""Norms over $\sqrt{hd}$ in the forward passes of a small run, and its last weights, in double precision.

    Args:
        name: of the optimiser in :data:`RUNS`.  when: "before" the forward pass (code) or "after" the update (text).
    """
    drawn = teacher_student.draw(0, n=400, d=200, h=300)
    rule, rate = RUNS[name]
    options = {"normalise": when, "dtype": torch.float64} | teacher_student.PYTORCH
    trainer = first_layer.Trainer(*drawn.samples.train, drawn.student, rule, **options)
    norms = []
    for _ in range(steps):
        gradient = trainer.gradient()
        norms.append(torch.linalg.norm(trainer.W).item())
        trainer.update(gradient, rate)
    return np.array(norms) / (300 * 200) ** 0.5, trainer.W.numpy()


def visits() -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """:func:`visited` by optimiser and moment of the normalisation."""
    return {(name, when): visited(name, when) for name in RUNS for when in ("before", "after")}


@decides(runs=visits)
def ht_62(runs, *, exact, same):
    """Appendix F.4: the norm of normalised weights."""
    passes = max(np.abs(norms - 1).max() for norms, _ in runs.values())
    last = {pair: np.linalg.norm(W) / W.size**0.5 for pair, (_, W) in runs.items()}
    hill = {pair: tails.hill(esd.eigenvalues(W)) for pair, (_, W) in runs.items()}
    differ = max(abs(hill[name, "before"] - hill[name, "after"]) for name in RUNS)
    ends = all((abs(size - 1) < exact) == (when == "after") for (_, when), size in last.items())
    return Found(
        bool(passes < exact and differ < same and ends),
        {"largest deviation of the norm": float(passes), "largest difference of the exponents": float(differ)}
        | {"norm at the end": {name: last[name, "before"] for name in RUNS}},
    )


def sixty_four(record: xr.Dataset) -> xr.Dataset:
    """Shapes and spreads after 64 steps over (rate, normalise, seed); a record that holds them is left as it is."""
    if "above" in record:
        return record
    table = shaped(record, "step").sel(step=64)
    return table.assign(scaling.spread(table.eigenvalues).data_vars)


@decides(
    gd="heavy_tails/variants/long_gd",
    adam="heavy_tails/variants/long_adam",
    text="heavy_tails/variants/long_adam_text",
)
def ht_63(gd, adam, text, *, fall, away, less_fall, less_away):
    """Figure 29: 64 steps with and without normalised weights."""
    gd, adam, text = map(sixty_four, (gd, adam, text))
    large = {"GD": gd.sel(rate=2000.0), "Adam": adam.sel(rate=1.0), "text": text.sel(rate=1.0)}
    on, off = ({name: one.sel(normalise=flag) for name, one in large.items()} for flag in (True, False))
    text = float((on.pop("text").above - off.pop("text").above).mean())

    def graded(table: xr.Dataset) -> bool | None:  # a bulk that is widened and not wide contradicts nothing
        return True if wide(table, fall, away) else False if wide(table, less_fall, less_away) is False else None

    quiet = wide(gd.sel(rate=0.1, normalise=True), less_fall, less_away)
    wider = {(name, what): change(on[name][what], off[name][what]) for name in on for what in ("above", "whole")}
    return Found(
        {
            "a": claims.all_of(*map(graded, on.values()), claims.opposite(quiet)),
            "b": claims.all_of(*(one.exceeds(0) for one in wider.values())),
        },
        {f"decades {what}, with minus without, {name}": one for (name, what), one in wider.items()}
        | {f"{key}, {name}": stats.student(on[name][key].values) for key in ("hill_excl", "d_mp") for name in on}
        | {"noise": NOISE, "wide from": NOISE - fall, "mean decades above, with minus without, text": text},
    )


def normalised_or_not(
    normalised: Sequence[xr.Dataset], plain: xr.Dataset, features: str = "code"
) -> dict[str, xr.Dataset]:
    """Sweeps of Adam "with" and "without" normalised weights, with the shapes of their spectra."""
    found = {"with": normalised, "without": [plain]}
    return {
        name: xr.concat([reading(shaped(one), "Adam code", features) for one in each], "seed")
        for name, each in found.items()
    }


def good(sweep: xr.Dataset, rate: float, tolerance: float) -> bool | None:
    """Whether the test loss at a rate is below the untrained one or within a tolerance of the least over the rates."""
    trained = sweep.test.sel(rate=sweep.rate > 0)
    best = trained.rate.values[int(trained.mean("seed").argmin("rate"))]
    lower = change(sweep.test.sel(rate=0, drop=True), sweep.test.sel(rate=rate, drop=True))
    near = change((1 + tolerance) * sweep.test.sel(rate=best, drop=True), sweep.test.sel(rate=rate, drop=True))
    return claims.any_of(lower.exceeds(0), True if rate == best else near.exceeds(0))


def useful(sweep: xr.Dataset, fall: float, away: float) -> dict[float, bool | None]:
    """Whether a rate has a widened bulk and a test loss below the untrained one, by learning rate."""
    return {
        rate: claims.all_of(
            wide(sweep.sel(rate=rate), fall, away),
            change(sweep.test.sel(rate=0, drop=True), sweep.test.sel(rate=rate, drop=True)).exceeds(0),
        )
        for rate in GRID
    }


def more(many: dict[float, bool | None], few: dict[float, bool | None]) -> bool | None:
    """Whether more conditions hold in the first than in the second, whatever the open ones are."""
    sure = {name: sum(one is True for one in each.values()) for name, each in (("many", many), ("few", few))}
    possible = {name: sum(one is not False for one in each.values()) for name, each in (("many", many), ("few", few))}
    return True if sure["many"] > possible["few"] else False if possible["many"] <= sure["few"] else None


def correlation(sweep: xr.Dataset, first: str, second: str, rates: list[float]) -> Interval:
    """Rank correlation over learning rates of two quantities' means over draws, with its interval over draws."""
    table = np.stack([sweep[name].sel(rate=rates).transpose("seed", "rate").values for name in (first, second)], -1)

    def of(values: np.ndarray, axis: int = 0) -> float:
        return stats.rank_correlation(*values.mean(axis).T)

    return stats.bootstrap(table, of, name=f"HT-64/{first}/{second}", resamples=500)


@decides(normalised=NORMALISED, plain="heavy_tails/ten_steps_8000")
def ht_64(normalised, plain, *, fall, away, tolerance, follows, several):
    """Figure 30: the sweep over learning rates with normalised weights."""
    normalised, plain = (
        list(map(shaped, normalised)),
        shaped(plain.sel(rule=["Adam code"])),
    )
    sweeps = normalised_or_not(normalised, plain)
    one = sweeps["with"]
    widened = {rate: wide(one.sel(rate=rate), fall, away) for rate in BROAD}
    losses = {rate: good(one, rate, tolerance) for rate in BROAD}
    lower = {rate: change(one.hill.sel(rate=rate), sweeps["without"].hill.sel(rate=rate)) for rate in BROAD}
    trend = correlation(one, "ks", "hill", BROAD)
    links = {name: correlation(each, "hill", "test", GRID) for name, each in sweeps.items()}
    signs = [link.exceeds(0) for link in links.values()]
    use = {name: useful(each, fall, away) for name, each in sweeps.items()}
    falls = [claims.below(lower[rate], 0) for rate in BROAD[1:]]
    enough = True if falls.count(True) >= several else None if len(falls) - falls.count(False) >= several else False
    text = normalised_or_not(normalised, plain, "text")["with"].test
    return Found(
        {
            "a": claims.all_of(*widened.values()),
            "b": claims.all_of(*losses.values()),
            "c": more(use["with"], use["without"]),
            "d": claims.all_of(*(claims.below(lower[rate], 0) for rate in (10.0, 100.0))),
            "e": trend.exceeds(follows),
            "f, exponents": claims.all_of(enough, not any(lower[rate].above(0) for rate in BROAD[1:])),
            "f, relation": None if None in signs else signs[0] == signs[1],
        },
        {f"PL_Alpha_Hill, with minus without, {rate:g}": value for rate, value in lower.items()}
        | {"correlation of the exponents": trend}
        | {f"correlation of exponent and test loss, {name}": link for name, link in links.items()}
        | {"widened": rates(widened, True), "not widened": rates(widened, False)}
        | {"good": rates(losses, True), "perhaps good": rates(losses, None)}
        | {f"useful {name}": rates(each, True) for name, each in use.items()}
        | {f"perhaps useful {name}": rates(each, None) for name, each in use.items()}
        | {
            f"test loss, features of the text, {rate:g} minus untrained": change(
                text.sel(rate=rate, drop=True), text.sel(rate=0, drop=True)
            )
            for rate in BROAD[2:]
        },
    )


def rates(found: Mapping[float, bool | None], wanted: bool | None) -> list[float]:
    """The learning rates with an outcome."""
    return [rate for rate, outcome in found.items() if outcome is wanted]


def schedules(normalised: xr.Dataset, slow: xr.Dataset) -> xr.Dataset:
    """Shapes after ten steps with normalised weights over (decay, seed), and `start` of the exponent.

    The slowest schedule has more draws; they are NaN for the others.
    """
    found = []
    for one in (normalised.sel(rule="Adam code", decay=DECAYS, drop=True), slow):
        table = shaped(one, "step")[["spike_ratio", "hill_excl", "d_mp"]]
        found.append(table.sel(step=10).assign(start=table.hill_excl.sel(step=0, drop=True)))
    return xr.concat(found, "seed", join="outer")


@decides(
    normalised="heavy_tails/variants/decay_normalised",
    slow="heavy_tails/variants/decay_slow_more",
    plain="heavy_tails/variants/decay_plain",
)
def ht_65(normalised, slow, plain, *, fall, away, apart, unchanged, errors):
    """Figure 31 and Section 6: decaying learning rates with normalised weights."""
    table = schedules(normalised, slow)
    by_decay = {g: table.sel(decay=g).dropna("seed") for g in DECAYS}
    falls = [
        change(np.log(table[name].sel(decay=high)), np.log(table[name].sel(decay=low)))
        for name in ("spike_ratio", "hill_excl")
        for low, high in zip(DECAYS, DECAYS[1:])
    ]
    spike, bulk = ({g: stats.student(t[of].values) for g, t in by_decay.items()} for of in ("spike_ratio", "hill_excl"))
    kept = {g: change(t.hill_excl, t.start) for g, t in by_decay.items()}
    gone = [claims.all_of(wide(by_decay[g], fall, away), claims.below(spike[g], apart)) for g in DECAYS]
    stays = [claims.all_of(spike[g].exceeds(apart), kept[g].exceeds(-unchanged)) for g in DECAYS]
    design = [
        shaped(one.sel(rule="Adam code", decay=[1.0, 0.4]), "step").hill.sel(step=10) for one in (plain, normalised)
    ]
    hill = xr.concat(design, "normalise")
    effects = {"normalisation": hill.diff("normalise"), "decay": hill.diff("decay")}
    effects = {f"effect of {name}": one.mean(["normalise", "decay"]) for name, one in effects.items()}
    strong = [abs(float(one.mean())) > errors * float(one.std(ddof=1)) / one.size**0.5 for one in effects.values()]
    effects = {name: stats.student(one.values) for name, one in effects.items()}
    return Found(
        {
            "a": claims.all_of(*(claims.below(one, 0) for one in falls), claims.any_of(*gone, *stays)),
            "b": all(strong) and not any(one.contains(0) for one in effects.values()),
        },
        {f"ratio of the two largest eigenvalues, {g}": one for g, one in spike.items()}
        | effects
        | {"mean exponent without the largest": {g: one.estimate for g, one in bulk.items()}, "noise": NOISE},
    )

r"""Rules on the beginning of training, LO-12, LO-13, LO-32, LO-58 to LO-61, and what initial weights know of the end.

Neurons of one network see each other and are not independent: a network is one replicate, and intervals are Student's
over networks or over draws of samples.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

from experiments.localization import first_gradients, networks, populations, proofs
from experiments.localization.rules.fields import all_above, all_below, each, spans
from shallow import stats
from shallow.book import claims, records
from shallow.book.claims import Outcome
from shallow.data.nlgp import ring_distance
from shallow.stats import Interval

LOCALISED = 0.15
AHEAD = 500  # step of the flow whose places and signs of bumps are compared with the end

load = cache(lambda name: records.load(name))  # looked up when called, so that a call can be watched


@cache
def drawn(name: str):
    """Live samples of :mod:`first_gradients`, drawn once."""
    return getattr(first_gradients, name)()


def all_within(values: xr.DataArray, low: float, high: float) -> bool | None:
    """Whether every mean over `seed` lies between two values."""
    return claims.all_of(*(claims.within(one, low, high) for one in each(values)))


def reach(values: xr.DataArray, centre: float = 0.0) -> float:
    """How far from a value any of the intervals over `seed` reaches."""
    return max(max(abs(one.low - centre), abs(one.high - centre)) for one in each(values))


def lo_12(altered: xr.Dataset | None = None) -> Outcome:
    """Section 2: slow fields have negative biases and fast ones positive; ten networks, also with classes exchanged.

    Args:
        altered: b, frequency (change, gain, seed, step, neuron), with the changes "none" and "exchanged".
    """
    near = 0.9
    altered = load("localization/altered") if altered is None else altered
    found = {change: sign_correlation(altered.sel(change=change)) for change in ("none", "exchanged")}
    given = all_above(found["none"], near)
    other = all_below(found["exchanged"], -near)
    return Outcome(
        verdict=claims.all_of(given, other),
        answer={
            "reproduced": "Yes, if the slower class has the label +1: slow fields get negative biases, fast ones "
            "positive biases; exchanged classes exchange the signs.",
            "contradicted": "No: the sign of the bias does not tell slow fields from fast ones.",
            "otherwise": "Open: too few networks to tell.",
        },
        finding="correlation over neurons of the sign of the bias and the side of n/4 on which the mean frequency lies "
        f"{spans(each(found['none']))} in ten networks at either gain, and {spans(each(found['exchanged']))} with the "
        "classes exchanged",
        evidence={name: spans(each(one)) for name, one in found.items()},
    )


def sign_correlation(runs: xr.Dataset) -> xr.DataArray:
    """Correlation of the signs of b and of mean frequency - n/4 over the neurons after the last step, by network."""
    end = runs.isel(step=-1).transpose("gain", "seed", "neuron")
    sides = np.sign(end.frequency - networks.N / 4)
    return xr.corr(np.sign(end.b), sides, "neuron")


# Who becomes which.


def signs_known(fates: xr.Dataset) -> xr.Dataset:
    """Share of neurons whose sign of the bias at the end is that of a guess, by (gain, seed).

    "first step": the sign of v0 - v1 at the start; "flow": the coupled flow with the covariances of X; "second run":
    from the same start on other batches; "chance": the first step with its neurons shuffled.
    """
    last = fates.isel(step=-1)
    end = sign(last.b.isel(run=0))
    gap = np.sign(fates.v.sel(label=-1) - fates.v.sel(label=1))
    guesses = {
        "first step": gap, "flow": np.sign(last.b_flow.sel(flow="coupled", drop=True)),
        "second run": sign(last.b.isel(run=1)),
    }  # fmt: skip
    shares = {name: (guess == end).mean("neuron") for name, guess in guesses.items()}
    for name in ("first step", "flow"):
        of = [((guesses[name] == side).mean("neuron") * (end == side).mean("neuron")) for side in (-1, 1)]
        shares[f"{name}, shuffled"] = of[0] + of[1]
    return xr.Dataset(shares)


def exceptions(fates: xr.Dataset) -> xr.Dataset:
    """Neurons whose first step and end differ: number, sent up, with a gap above the network's median; (gain, seed)."""
    end = sign(fates.b.isel(step=-1, run=0))
    gap = fates.v.sel(label=-1) - fates.v.sel(label=1)
    wrong, far = np.sign(gap) != end, np.abs(gap) >= np.abs(gap).median("neuron")
    return xr.Dataset({
        "number": wrong.sum("neuron"), "up": (wrong & (gap > 0)).sum("neuron"), "far": (wrong & far).sum("neuron"),
    })  # fmt: skip


def sign(b: xr.DataArray) -> xr.DataArray:
    """-1 or +1, and 0 inside the dead zone."""
    return b.copy(data=populations.population(b.values))


def lo_13(fates: xr.Dataset | None = None) -> Outcome:
    """Section 2, "More on this later": which sign a bias takes, from the first step; fifty networks at three gains.

    Args:
        fates: v (gain, seed, label, neuron), b (gain, seed, run, step, neuron), b_flow (gain, seed, flow, step,
            neuron).
    """
    most = 0.75
    fates = load("localization/fates") if fates is None else fates
    shares, odd = signs_known(fates), exceptions(fates).sum()
    first = {float(gain): stats.student(shares["first step"].sel(gain=gain).values) for gain in fates.gain.values}
    better = all_above((shares["first step"] - shares["first step, shuffled"]).transpose("gain", "seed"), 0)
    holds = claims.all_of(better, *(one.exceeds(most) for one in first.values()))
    flow = each(shares.flow.transpose("gain", "seed"))
    number, up, far = (int(odd[name]) for name in ("number", "up", "far"))
    return Outcome(
        verdict="undecided" if holds is None else "answered",
        answer="A field more excited by the slower class gets a negative bias at the first step; five neurons in six "
        "keep their first sign."
        if holds
        else "The first step does not say which sign the bias will have."
        if holds is not None
        else "Open: too few networks to say how much the first step decides.",
        finding="derived: the bias takes the sign of v0 - v1 at the start; so it ends for "
        + ", ".join(f"{one:.3f} of the neurons at g = {gain:g}" for gain, one in first.items())
        + f" (neurons shuffled {spans(each(shares['first step, shuffled'].transpose('gain', 'seed')))}), and for "
        f"{spans(flow)} with the sign of the coupled flow; of {number} exceptions in {shares.flow.size} networks {up} "
        f"were sent up, and {far} have |v1 - v0| above the median of their network",
        evidence={f"signs right, g = {gain:g}": f"{one:.3f}" for gain, one in first.items()}
        | {"exceptions above the median gap": f"{far} of {number}"},
    )


def places_known(fates: xr.Dataset) -> dict[str, xr.Dataset]:
    """Bumps that both runs have, of all networks at one gain: distances in pixels of guesses from their places.

    "flow" is the coupled flow after :data:`AHEAD` steps, "second run" the other run, "shuffled" the bumps' places in
    another order.  Each has distance (bump), right (bump): whether the sign is right, and network (bump).
    """
    end, ahead = fates.isel(step=-1), fates.sel(step=AHEAD, flow="coupled")
    bump = ((end.b < 0) & (end.ipr > LOCALISED)).all("run").transpose("seed", "neuron").values
    network, _ = np.nonzero(bump)

    def taken(values: xr.DataArray) -> np.ndarray:
        return values.transpose("seed", "neuron").values[bump].astype(int)

    place, side = (taken(end[name].isel(run=0)) for name in ("peak", "sign"))
    order = stats.stream("localization", "shuffled fates").permutation(len(place))
    guesses = {
        "flow": (taken(ahead.peak_flow), taken(ahead.sign_flow)),
        "second run": (taken(end.peak.isel(run=1)), taken(end.sign.isel(run=1))),
        "shuffled": (place[order], side[order]),
    }
    apart = ring_distance(networks.N)
    return {
        name: xr.Dataset(
            {"distance": ("bump", apart[np.abs(where - place)]), "right": ("bump", which == side),
             "network": ("bump", network)}
        )
        for name, (where, which) in guesses.items()
    }  # fmt: skip


def within_pixels(found: xr.Dataset, pixels: int = 1) -> Interval:
    """Share of bumps at most so far from the guess; mean of the networks' shares, Student's interval over them."""
    near = (found.distance <= pixels).groupby(found.network).mean()
    return stats.student(near.values.astype(float))


def right_signs(found: xr.Dataset) -> Interval:
    """Share of bumps with the guessed sign, over networks."""
    return stats.student(found.right.astype(float).groupby(found.network).mean().values)


def feedback(runs: xr.Dataset, gain: float) -> xr.Dataset:
    """Trained neurons in the domain in which bias and field drive each other, by (step, seed).

    Args:
        runs: W (gain, seed, step, neuron, pixel) and b (gain, seed, step, neuron).

    Returns:
        inside: share with |b| below the reversal of its own field; feeds: share whose weights drive v1 - v0 further;
        sided: share whose bias has the sign of v0 - v1; all three in the flow of the absolute loss, with the
        covariances of X.  By (sign, step, seed), the sign being that of the bias: rest, the median reversal, and over,
        the median of |b| over it.
    """
    one = runs.sel(gain=gain).transpose("step", "seed", "neuron", "pixel")
    found, b = proofs.resting(one.W.values, one.b.values, gain), one.b
    shares = {name: (("step", "seed"), getattr(found, name).mean(-1)) for name in ("inside", "feeds", "sided")}
    rest = xr.DataArray(np.abs(found.predicted), b.coords, b.dims)
    sides = [
        xr.Dataset({"rest": rest, "over": np.abs(b) / rest}).where(side * b > 0).median("neuron") for side in (-1, 1)
    ]
    by_sign = xr.concat(sides, "sign").assign_coords(sign=[-1, 1])
    return xr.Dataset(shares, {"step": one.step, "seed": one.seed}).assign(by_sign.data_vars)


# The role of the bias.


def lo_32(symmetry: xr.Dataset | None = None, altered: xr.Dataset | None = None) -> Outcome:
    """After (10): responses are symmetric (a), and without biases nothing is learned (b).

    Args:
        symmetry: mean, skewness, moved (gain, label, filter, seed).
        altered: loss, accuracy (change, gain, seed, step), with the changes "none" and "no bias".
    """
    small, skewed, half, least, high = 0.05, 0.1, (0.49, 0.51), 0.495, 0.8
    symmetry = drawn("symmetry") if symmetry is None else symmetry
    altered = load("localization/altered") if altered is None else altered
    end = altered.isel(step=-1).transpose(..., "seed")
    without, learned = end.sel(change="no bias"), end.sel(change="none")
    parts = {
        "a": claims.all_of(all_within(symmetry["mean"], -small, small), all_within(symmetry.skewness, -skewed, skewed)),
        "b": claims.all_of(
            all_within(without.accuracy, *half), all_above(without.loss, least), all_above(learned.accuracy, high)
        ),
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: responses are symmetric about zero in both classes, and a network without biases "
            "learns nothing.",
            "contradicted": "No: responses are not symmetric, and networks learn without biases.",
            "otherwise": "In part, or open: symmetry of the responses, or the need for biases, is not shown.",
        },
        finding="proved for all data of which X and -X have one law; the means of ten filters stay within "
        f"{reach(symmetry['mean']):.3f} deviations of 0 and their skewness within {reach(symmetry.skewness):.3f}, and "
        f"not for data on (0, 1); with biases held at 0 the accuracy is {spans(each(without.accuracy), '.3f')} and the "
        f"loss {spans(each(without.loss), '.3f')} (means over ten networks at g = 0.01 and 3), with learned biases the "
        f"accuracy is {spans(each(learned.accuracy))}",
        evidence={
            "accuracy without biases": f"{spans(each(without.accuracy), '.3f')}",
            "accuracy with biases": spans(each(learned.accuracy)),
            "data on (0, 1) rejected": bool(np.abs(symmetry.moved.mean("seed")).max() > small),
        },
    )


# The absolute loss, equations (28) to (34).

EXACT = 1e-5  # relative error of a gradient by finite differences


def lo_58(identities: xr.Dataset | None = None) -> Outcome:
    """(28) to (30): the sum over the classes, and its gradient; both sides on one sample.

    Args:
        identities: sum_over_mean, zero_one, off (side).
    """
    sure = 1e-6
    identities = drawn("identities") if identities is None else identities
    ratio, off = float(identities.sum_over_mean), identities.off
    printed, half = (float(off.sel(side=side)) for side in ("printed", "half"))
    doubled = abs(ratio - 2) < sure
    parts = {
        "a": "reproduced" if abs(ratio - 1) < sure else "corrected" if doubled else "contradicted",
        "b": "reproduced" if printed < EXACT else "corrected" if half < EXACT else "contradicted",
    }
    return Outcome(
        parts=parts,
        answer={
            "reproduced": "Yes: the sum over the classes is the mean absolute error, and so are the gradients.",
            "corrected": "Up to a factor: each class has probability one half, which the note leaves out.",
            "otherwise": "No: the two sides differ, and not by the factor of the classes' probability.",
        },
        finding=f"(29) is {ratio:.6f} times (28), and (30) off by {printed:.0%} of the gradient: each class has "
        f"probability 1/2; with it the gradients agree within {'1e-5' if half < EXACT else f'{half:.0e}'}; for labels "
        f"1 and 0 (29) is {float(identities.zero_one):.2f} times (28), as erf has outputs outside (0, 1)",
        evidence={"(29) over (28)": f"{ratio:.6f}", "gradient with 1/2, off": half < EXACT},
    )


def lo_59(identities: xr.Dataset | None = None) -> Outcome:
    r"""(31): the class mean of the output's gradient; (32): the prefactor of the derivative of sigma.

    Args:
        identities: off (side), slope (x): derivative of sigma over $e^{-x^2/2}$.
    """
    exact = 1e-8
    identities = drawn("identities") if identities is None else identities
    off, slopes = float(identities.off.sel(side="output")), identities.slope.values
    printed, right = (np.abs(slopes - value).max() < exact for value in (np.pi**-0.5, (2 / np.pi) ** 0.5))
    ratio = float(slopes.mean() * np.pi**0.5)
    return Outcome(
        parts={
            "a": off < EXACT,
            "b": "reproduced" if printed else "corrected" if right else "contradicted",
        },
        answer={
            "reproduced": "Yes: the class mean and the derivative are as printed.",
            "contradicted": "No: neither the class mean nor the derivative is as printed.",
            "otherwise": "In part: the class mean is right, but the derivative of erf(x/√2) has the prefactor √(2/π), "
            "not 1/√π.",
        },
        finding=f"(31) agrees with finite differences within {'1e-5' if off < EXACT else f'{off:.0e}'}; the derivative "
        f"of erf(x/√2) over exp(-x²/2) is {ratio:.5f} times the printed 1/√π at every x",
        evidence={"(31) agrees": off < EXACT, "prefactor over the printed one": f"{ratio:.5f}"},
    )


def lo_60(bells: xr.Dataset | None = None, expansion: float | None = None) -> Outcome:
    """(33) and (34): the expansion of the exponent (a), and the expectation, which the note does not take (b).

    Args:
        bells: entry (place, bias, seed), ratio (case, bias, seed), wrong (case), cosine (filter, size, xi, seed).
        expansion: largest difference of the two sides of (33) = (34).
    """
    identity, margin, near, similar = 1e-10, 0.01, 0.02, 0.95
    bells = drawn("bells") if bells is None else bells
    expansion = drawn("expansion") if expansion is None else expansion
    gaussian = claims.all_of(all_within(bells.entry, -margin, margin), all_within(bells.ratio, 1 - near, 1 + near))
    noise, bump = (bells.cosine.sel(filter=name) for name in ("noise", "bump"))
    leading = all_above(noise, similar)
    taken = claims.all_of(gaussian, leading)
    expanded = expansion < identity
    return Outcome(
        parts={"a": expanded, "b": "answered" if taken else "undecided" if taken is None else "contradicted"},
        verdict="reproduced" if expanded and taken else "",
        answer={
            "reproduced": "Yes: the expansion is right; the expectation it leads to has a closed form for Gaussian "
            "data, nearly right for spread-out fields otherwise.",
            "otherwise": "In part, or open: the expansion, or the closed form of the expectation, does not hold.",
        },
        finding="(34) is an identity, its sum over k > j complete; for Gaussian data (33) is "
        f"-b (1+v)^(-3/2) exp(-b²/(2(1+v))) Σw, sample means within {reach(bells.entry):.3f} entry by entry and "
        f"{reach(bells.ratio, 1.0):.1%} in size; at g = 3 with the covariance of X the cosine with it is "
        f"{spans(each(noise), '.4f')} for white noise and {spans(each(bump), '.3f')} for a bump",
        evidence={
            "size over the closed form, farthest from 1": f"{reach(bells.ratio, 1.0):.3f}",
            "a form without one power of 1 + v": f"{float(bells.wrong.max()):.2f}",
            "cosine at g = 3, bump": spans(each(bump), ".3f"),
        },
    )


def lo_61(steps: xr.Dataset | None = None) -> Outcome:
    """Section 3, "Weird idea": descent on (2) begins along the closed form of the absolute loss; three networks.

    Args:
        steps: b (loss, gain, seed, step, neuron), b_flow (loss, gain, seed, flow, step, neuron).
    """
    at, slopes, alike = 200, (0.85, 1.15), 0.95
    steps = load("localization/first_steps") if steps is None else steps
    found = early_fit(steps, 0.01, "alone", at)
    coupled, other = early_fit(steps, 0.01, "coupled", at), early_fit(steps, 3.0, "alone", at)
    slope, correlation = stats.student(found.slope.values), of_correlations(found)
    holds = claims.all_of(claims.within(slope, *slopes), correlation.exceeds(alike))
    return Outcome(
        verdict="undecided" if holds is None else "answered",
        answer="The idea is useful: the gradient of the absolute loss is what the squared loss does first, and it "
        "explains the two populations."
        if holds
        else "The absolute loss does not describe the first steps of training."
        if holds is not None
        else "Open: too few networks to say whether the absolute loss describes the first steps.",
        finding=f"proved that weights rest at zero biases; after {at} steps the biases of 400 neurons have slope "
        f"{slope:.3f} and correlation {correlation:.4f} with the equations of the absolute loss at g = 0.01, and "
        f"correlation {of_correlations(coupled):.4f} with the coupled ones; at g = 3 slope "
        f"{stats.student(other.slope.values):.2f} and correlation {of_correlations(other):.4f}",
        evidence={"slope, g = 0.01": f"{slope:.3f}", "correlation, g = 0.01": f"{correlation:.4f}"},
    )


def early_fit(steps: xr.Dataset, gain: float, flow: str, at: int, ahead: int | None = None) -> xr.Dataset:
    """Slope and correlation of the biases after a step against those of a flow, at that or another step; by network."""
    runs = steps.sel(loss="square", gain=gain)
    b, guess = runs.b.sel(step=at), runs.b_flow.sel(flow=flow, step=at if ahead is None else ahead)
    pairs = [(guess.sel(seed=seed).values, b.sel(seed=seed).values) for seed in runs.seed.values]
    table = np.array([[np.polyfit(x, y, 1)[0], np.corrcoef(x, y)[0, 1]] for x, y in pairs])
    return xr.Dataset({"slope": ("seed", table[:, 0]), "correlation": ("seed", table[:, 1])})


def of_correlations(found: xr.Dataset) -> Interval:
    """Student's interval of Fisher's artanh of the correlations, taken back."""
    one = stats.student(np.arctanh(found.correlation.values))
    return Interval(*(float(np.tanh(value)) for value in (one.estimate, one.low, one.high)))


def early_errors(steps: xr.Dataset, gain: float, flow: str) -> xr.DataArray:
    """Root mean square difference of the biases from a flow over the size of the biases, (step, seed)."""
    runs = steps.sel(loss="square", gain=gain, step=steps.step[steps.step > 0])
    off = ((runs.b - runs.b_flow.sel(flow=flow)) ** 2).mean("neuron") / (runs.b**2).mean("neuron")
    return np.sqrt(off).transpose("step", "seed")

r"""Rules on the beginning of training, LO-12, LO-13, LO-32, LO-58 to LO-61, and what initial weights know of the end.

Neurons of one network see each other and are not independent: a network is one replicate, and intervals are Student's
over networks or over draws of samples.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.localization import networks
from experiments.localization.beginning import first_gradients
from experiments.localization.data.rules import all_above, all_below, all_within, by_gain, each, reach
from experiments.localization.populations import cells as populations
from experiments.localization.theory import cells as proofs
from shallow import stats
from shallow.book import claims
from shallow.book.claims import Found, decides
from shallow.data.nlgp import ring_distance
from shallow.stats import Interval

LOCALISED = 0.15
AHEAD = 500  # step of the flow whose places and signs of bumps are compared with the end
ALTERED = "localization/beginning/altered"
EXACT = 1e-5  # relative error of a gradient by finite differences


@decides(altered=ALTERED)
def lo_12(altered, *, near):
    """Section 2: slow fields have negative biases and fast ones positive; ten networks, also with classes exchanged."""
    end = altered.isel(step=-1).sel(change=["none", "exchanged"])
    link = xr.corr(np.sign(end.b), np.sign(end.frequency - networks.N / 4), "neuron")
    given, other = link.sel(change="none"), link.sel(change="exchanged")
    return Found(
        claims.all_of(all_above(given, near), all_below(other, -near)),
        {"none": by_gain(given), "exchanged": by_gain(other)},
    )


# Who becomes which.


def signs_known(fates: xr.Dataset) -> xr.Dataset:
    """Share of neurons whose sign of the bias at the end is that of a guess, by (gain, seed).

    "first step": the sign of v0 - v1 at the start; "flow": the coupled flow with the covariances of X; "second run":
    from the same start on other batches; "..., shuffled": with its neurons shuffled.
    """
    last = fates.isel(step=-1)
    end = sign(last.b.isel(run=0))
    guesses = {
        "first step": np.sign(fates.v.sel(label=-1) - fates.v.sel(label=1)),
        "flow": np.sign(last.b_flow.sel(flow="coupled", drop=True)),
        "second run": sign(last.b.isel(run=1)),
    }
    shares = {name: (guess == end).mean("neuron") for name, guess in guesses.items()}
    for name in ("first step", "flow"):
        of = ((guesses[name] == side).mean("neuron") * (end == side).mean("neuron") for side in (-1, 1))
        shares[f"{name}, shuffled"] = sum(of)
    return xr.Dataset(shares)


def exceptions(fates: xr.Dataset) -> xr.Dataset:
    """Neurons whose first step and end differ: number, sent up, with a gap above the network's median; (gain, seed)."""
    end = sign(fates.b.isel(step=-1, run=0))
    gap = fates.v.sel(label=-1) - fates.v.sel(label=1)
    wrong, far = np.sign(gap) != end, np.abs(gap) >= np.abs(gap).median("neuron")
    return xr.Dataset({"number": wrong, "up": wrong & (gap > 0), "far": wrong & far}).sum("neuron")


def sign(b: xr.DataArray) -> xr.DataArray:
    """-1 or +1, and 0 inside the dead zone."""
    return b.copy(data=populations.population(b.values))


@decides(fates="localization/beginning/fates")
def lo_13(fates, *, most):
    """Section 2, "More on this later": which sign a bias takes, from the first step; fifty networks at three gains."""
    shares, odd = signs_known(fates).transpose("gain", "seed"), exceptions(fates).sum()
    first, shuffled = shares["first step"], shares["first step, shuffled"]
    holds = claims.all_of(all_above(first - shuffled, 0), all_above(first, most))
    return Found(
        "undecided" if holds is None else "answered",
        {
            "signs right": by_gain(first),
            "exceptions above the median gap": int(odd.far),
            "exceptions": int(odd.number),
            "sent up": int(odd.up),
            "shuffled": by_gain(shuffled),
            "flow": by_gain(shares.flow),
            "networks": first.size,
        },
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

    (place, side), second = ([taken(end[name].isel(run=run)) for name in ("peak", "sign")] for run in (0, 1))
    order = stats.stream("localization", "shuffled fates").permutation(len(place))
    guesses = {
        "flow": (taken(ahead.peak_flow), taken(ahead.sign_flow)),
        "second run": second,
        "shuffled": (place[order], side[order]),
    }
    apart = ring_distance(networks.N)
    found = {}
    for name, (where, which) in guesses.items():
        columns = {"distance": apart[np.abs(where - place)], "right": which == side, "network": network}
        found[name] = xr.Dataset({column: ("bump", values) for column, values in columns.items()})
    return found


def within_pixels(found: xr.Dataset, pixels: int = 1) -> Interval:
    """Share of bumps at most so far from the guess; mean of the networks' shares, Student's interval over them."""
    return over_networks(found.distance <= pixels, found)


def right_signs(found: xr.Dataset) -> Interval:
    """Share of bumps with the guessed sign, over networks."""
    return over_networks(found.right, found)


def over_networks(flags: xr.DataArray, found: xr.Dataset) -> Interval:
    """Mean of the shares of the networks."""
    return stats.student(flags.astype(float).groupby(found.network).mean().values)


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


@decides(symmetry=first_gradients.symmetry, altered=ALTERED)
def lo_32(symmetry, altered, *, small, skewed, low, high, loss, learned):
    """After (10): responses are symmetric (a), and without biases nothing is learned (b)."""
    end = altered.isel(step=-1)
    without, given = end.sel(change="no bias"), end.sel(change="none")
    return Found(
        {
            "a": claims.all_of(
                all_within(symmetry["mean"], -small, small), all_within(symmetry.skewness, -skewed, skewed)
            ),
            "b": claims.all_of(
                all_within(without.accuracy, low, high),
                all_above(without.loss, loss),
                all_above(given.accuracy, learned),
            ),
        },
        {
            "accuracy without biases": by_gain(without.accuracy),
            "accuracy with biases": by_gain(given.accuracy),
            "data on (0, 1) rejected": bool(np.abs(symmetry.moved.mean("seed")).max() > small),
            "loss without biases": by_gain(without.loss),
            "means within": reach(symmetry["mean"]),
            "skewness within": reach(symmetry.skewness),
        },
    )


# The absolute loss, equations (28) to (34).


@decides(identities=first_gradients.identities)
def lo_58(identities):
    """(28) to (30): the sum over the classes, and its gradient; both sides on one sample."""
    ratio = float(identities.sum_over_mean)
    printed, half = (float(identities.off.sel(side=side)) for side in ("printed", "half"))
    one, two = (bool(np.isclose(ratio, value, rtol=0, atol=1e-6)) for value in (1, 2))
    return Found(
        {
            "a": "corrected" if two else one,
            "b": "corrected" if half < EXACT <= printed else printed < EXACT,
        },
        {
            "(29) over (28)": ratio,
            "gradient with 1/2, off": half < EXACT,
            "(30), off": printed,
            "labels 1 and 0": float(identities.zero_one),
        },
    )


@decides(identities=first_gradients.identities)
def lo_59(identities):
    """(31): the class mean of the output's gradient; (32): the prefactor of the derivative of sigma."""
    agrees = bool(identities.off.sel(side="output") < EXACT)
    printed, right = (
        bool(np.abs(identities.slope - value).max() < 1e-8) for value in (np.pi**-0.5, (2 / np.pi) ** 0.5)
    )
    return Found(
        {"a": agrees, "b": "corrected" if right else printed},
        {"(31) agrees": agrees, "prefactor over the printed one": float(identities.slope.mean() * np.pi**0.5)},
    )


@decides(bells=first_gradients.bells, expansion=first_gradients.expansion)
def lo_60(bells, expansion, *, margin, near, similar):
    """(33) and (34): the expansion of the exponent (a), and the expectation, which the note does not take (b)."""
    noise, bump = (bells.cosine.sel(filter=name) for name in ("noise", "bump"))
    taken = claims.all_of(
        all_within(bells.entry, -margin, margin), all_within(bells.ratio, 1 - near, 1 + near), all_above(noise, similar)
    )
    expanded = expansion < 1e-10
    return Found(
        {"a": expanded, "b": "answered" if taken else taken},
        {
            "size over the closed form, farthest from 1": reach(bells.ratio, 1.0),
            "a form without one power of 1 + v": float(bells.wrong.max()),
            "cosine at g = 3, bump": each(bump),
            "cosine at g = 3, noise": each(noise),
            "entries within": reach(bells.entry),
        },
        verdict="reproduced" if expanded and taken else "",
    )


def early_fit(steps: xr.Dataset, gain: float, flow: str, at: int = 200) -> tuple[Interval, Interval]:
    """Slope and correlation of the biases after a step against those of a flow, over networks.

    The interval of the correlations is Student's of Fisher's artanh, taken back.
    """
    runs = steps.sel(loss="square", gain=gain, step=at).transpose(..., "seed", "neuron")
    pairs = list(zip(runs.b_flow.sel(flow=flow).values, runs.b.values))
    bent = stats.student(np.array([np.arctanh(np.corrcoef(*pair)[0, 1]) for pair in pairs]))
    correlation = Interval(*np.tanh([bent.estimate, bent.low, bent.high]).tolist())
    return stats.student(np.array([np.polyfit(*pair, 1)[0] for pair in pairs])), correlation


@decides(steps="localization/beginning/first_steps")
def lo_61(steps, *, low, high, alike):
    """Section 3, "Weird idea": descent on (2) begins along the closed form of the absolute loss; three networks."""
    slope, correlation = early_fit(steps, 0.01, "alone")
    slope_at_3, correlation_at_3 = early_fit(steps, 3.0, "alone")
    holds = claims.all_of(claims.within(slope, low, high), correlation.exceeds(alike))
    return Found(
        "undecided" if holds is None else "answered",
        {
            "slope, g = 0.01": slope,
            "correlation, g = 0.01": correlation,
            "correlation, coupled, g = 0.01": early_fit(steps, 0.01, "coupled")[1],
            "slope, g = 3": slope_at_3,
            "correlation, g = 3": correlation_at_3,
        },
    )

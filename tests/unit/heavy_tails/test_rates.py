"""The rules on ten steps at every learning rate, on planted sweeps for which each claim is true or false."""

import numpy as np
import pytest
import xarray as xr
from planted import tuned_ridge
from planted.records import letters, verdicts

from experiments.heavy_tails import readings_of_sweeps
from experiments.heavy_tails.rates import rules as rates
from experiments.heavy_tails.readings_of_sweeps import GRID
from experiments.heavy_tails.teacher_student import PENALTY

SEEDS, RATES = list(range(5)), [0.0, *GRID]
NOISE = np.random.default_rng(0).standard_normal((40, len(SEEDS), len(RATES)))


def sweep(scatter=1e-3, **curves):
    """A sweep with the given means over untrained and nine rates, and a relative scatter over draws and rates."""
    dims, coordinates = ("seed", "rate"), {"seed": SEEDS, "rate": RATES}
    data = {
        name: (dims, np.asarray(curve, float) * (1 + scatter * noise))
        for noise, (name, curve) in zip(NOISE, curves.items())
    }
    return xr.Dataset(data, coordinates)


def record(adam=None, gd=None, *, reading="code", text=None):
    """Sweeps of Adam and of GD as a record with shapes; text: Adam with the features of the text, if it is another."""
    both = [f"Adam {reading}", f"GD {reading}"]
    adam, gd = (gd if adam is None else adam), (adam if gd is None else gd)
    by_features = [
        xr.concat([one, gd], xr.DataArray(both, dims="rule", name="rule"))
        for one in (adam, adam if text is None else text)
    ]
    whole = xr.concat(by_features, xr.DataArray(["code", "text"], dims="features", name="features"))
    return whole.expand_dims(penalty=[PENALTY])


NONE = {"seed": slice(0, 0)}  # no further draws


def further(one=None, seeds=slice(0, 0)):
    """Further draws as they are recorded: numbers without spectra, by default none."""
    one = sweep(**ADAM) if one is None else one
    some = (
        one.assign(median=one.hill, seed=[5, 6, 7, 8, 9])
        .isel(seed=seeds)
        .sel(rate=GRID)
        .drop_vars(["change", "feature_hill"])
    )
    by_features = xr.concat([some, some], xr.DataArray(["code", "text"], dims="features", name="features"))
    return by_features.expand_dims(rule=["Adam code"])


def many(one, *more):
    """One sweep with 8000 points as the records from which all draws are read; further draws are none by default."""
    return record(one), *(more or (further(),)), record(one).isel(NONE), record(one).isel(NONE)


def all_of(one, *more):
    """The data of the rules that read all draws: one sweep with 8000 points, and with others as nothing is asked."""
    return *many(one, *more), FEW, FEW, FEW.isel(NONE)


def at(curve, **changes):
    """A copy of a curve with other values at some positions, p3=... for the third."""
    return [changes.get(f"p{k}", value) for k, value in enumerate(curve)]


#           0     .001  .01   .1    1     10    100   1000  2000  3000
ADAM = {
    "train": [0.94, 0.93, 0.90, 0.85, 0.80, 0.75, 0.70, 0.60, 0.50, 0.40],
    "test": [1.00, 0.99, 0.95, 0.92, 0.85, 0.90, 0.95, 1.10, 1.20, 1.30],
    "alignment": [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10],
    "hill": [3.00, 2.98, 2.40, 2.30, 2.03, 1.98, 1.95, 1.70, 1.60, 1.50],
    "hill_excl": [3.00, 2.98, 2.40, 2.30, 2.13, 2.08, 2.05, 1.80, 1.70, 1.60],
    "ks": [20.0, 19.0, 15.0, 10.0, 8.0, 5.0, 4.0, 3.0, 2.8, 2.6],
    "spike_ratio": [1.01, 1.01, 1.1, 1.2, 1.5, 5.0, 50.0, 200.0, 250.0, 300.0],
    "change": [0.0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    "feature_hill": [2.50, 2.40, 2.35, 2.30, 2.20, 2.15, 2.10, 2.00, 1.95, 1.90],
}
GD = ADAM | {
    "train": [0.95, 0.949, 0.948, 0.947, 0.946, 0.945, 0.944, 0.90, 0.85, 0.80],
    "test": [1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 0.97, 0.93, 0.88],
    "alignment": [0.01, 0.02, 0.01, 0.02, 0.01, 0.02, 0.01, 0.03, 0.04, 0.05],
    "hill": [3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 3.00, 2.48, 2.40, 2.20],
    "ks": [20.0, 10.0, 20.0, 10.0, 20.0, 10.0, 20.0, 12.0, 9.0, 6.0],
    "change": [0.0, 0, 0, 0, 0, 0, 0, 0.02, 0.1, 0.2],
}
RISING = {"train": np.linspace(0.8, 1.0, 10), "test": np.linspace(0.8, 1.0, 10), "alignment": np.linspace(2, 1, 10)}
RISING |= {"hill": np.linspace(2.0, 3.0, 10), "ks": np.linspace(3.0, 9.0, 10)}


test_gd_at_large_rates = verdicts(
    rates.ht_21,
    lambda **gd: record(gd=sweep(**GD | gd)),
    rrrrr=[{}, {"train": at(GD["train"], p8=0.9001)}],  # a rise within the scatter
    ccccc=[RISING],
    rrcrr=[{"alignment": at(GD["alignment"], p8=0.025)}],  # a clear dip
)


def test_one_wild_draw_leaves_a_fall_open():
    gd = sweep(**GD)
    gd["ks"] = gd.ks.where(gd.rate > 0, xr.DataArray([23.0, 8, 11, 84, 8], {"seed": SEEDS}, "seed"))
    assert letters(rates.ht_21(record(gd=gd))) == "rrrru"


@pytest.mark.parametrize(
    ("adam", "gd", "found"),
    [
        ({}, {"alignment": [0.01] * 10, "hill": [2.4] * 10, "ks": [9.0] * 10}, "rrr"),
        ({}, {"train": ADAM["train"], "alignment": ADAM["alignment"]} | {k: ADAM[k] for k in ("hill", "ks")}, "ccc"),
        ({"train": ADAM["train"][::-1]}, {}, "ccc"),  # as tight, the other way round
        ({"alignment": at(ADAM["alignment"][::-1], p0=0.01)}, {}, "crr"),
    ],
)
def test_training_loss_against_alignment_and_exponents(adam, gd, found):
    runs = record(sweep(**ADAM | adam), sweep(**GD | gd), text=sweep(**ADAM))
    outcome = rates.ht_22(runs, further(), runs.isel(NONE), runs.isel(NONE))
    assert letters(outcome).replace("u", "c") == found


NOISE_INSIDE = {"hill": at(GD["hill"], **{f"p{k}": 2.45 for k in range(7)})}


def with_range(gd=(), **adam):
    one = sweep(**ADAM | adam)
    runs = record(one, sweep(**GD | dict(gd)))
    return runs, runs.isel(NONE), record(one, reading="text"), tuned_ridge.record()


HARDER = [1.0, 0.99, 0.85, 0.90, 0.95, 0.97, 0.98, 1.1, 1.2, 1.3]
test_does_the_range_mark_generalisation = verdicts(
    rates.ht_23,
    with_range,
    rrrrr=[{}],
    crrrr=[{"hill": at(ADAM["hill"], p4=1.9)}],
    rcrrc=[{"test": at(ADAM["test"], p4=0.99)}, {"test": HARDER, "gd": {"hill": [3.0] * 10}}],  # the lowest is worse
    rrcrr=[{"test": [1.0, 0.9, 0.95, 0.92, 0.85, 0.9, 0.95, 0.5, 0.5, 0.5]}],  # best below 2
    rrrcr=[{"hill": at(ADAM["hill"], p0=2.45), "gd": gd} for gd in (NOISE_INSIDE, {})],  # as the untrained student's
)


def test_lower_is_better_is_asked_within_each_draw():
    """Draws of other difficulty, whose losses go with their exponents, say nothing."""
    adam, gd = sweep(**ADAM), sweep(**GD | {"hill": [3.0] * 10})
    adam["test"] = sweep(**ADAM | {"test": HARDER}).test
    adam["test"], adam["hill"] = adam.test * (1 + adam.seed), adam.hill + 0.01 * adam.seed
    found = rates.inside_better(readings_of_sweeps.pooled({"Adam": adam, "GD": gd}))
    assert found["lower is better"].below(0) and found["share 1 % better than untrained"].estimate > 0.5


FEW = record(sweep(**ADAM))
test_adam_at_large_rates = verdicts(
    rates.ht_24,
    lambda **adam: (*all_of(sweep(**ADAM | adam)), record(sweep(**ADAM), reading="text")),
    rrrr=[{}],
    crrr=[{"hill": at(ADAM["hill"], p5=1.9)}],
    rcrr=[{"ks": at(ADAM["ks"], p5=9.0)}],
    rrcr=[{"hill": at(ADAM["hill"], p7=1.9)}],
    rrrc=[{"test": at(ADAM["test"], p9=0.86)}],
)


def test_draws_in_the_other_branch_of_the_scan_leave_its_fall_open():
    """Five draws alike in the lower branch at the rate 1, five further ones mostly in the upper one."""
    low, high = (sweep(**ADAM | {"ks": at(ADAM["ks"], p4=ks)}) for ks in (2.5, 12.0))
    mixed = low.assign(ks=low.ks.where((low.seed < 2) | (low.rate != 1), high.ks))
    text = record(sweep(**ADAM), reading="text")
    for more, found in ((slice(0, 0), "cc"), (slice(None), "ur")):  # no clear rise is no rise
        some = all_of(low, further(mixed, more))
        falls, trend = rates.ht_24(*some, text), rates.ht_71(*some)
        assert letters(falls)[1] + letters(trend)[2] == found
        assert falls.numbers["draws at 10"] == (5 if found == "cc" else 10)


def spectra(factors, tilt):
    """400 eigenvalues a rate: log-uniform, times a factor for each rate, stretched by `tilt` at the rate 1000."""
    quantiles = np.linspace(1, 0, 400)
    logs = np.array([np.log(f) + quantiles * (tilt if rate == 1000 else 1) for rate, f in zip(RATES, factors)])
    values = np.exp(logs + 0.01 * NOISE[0][:, :, None])
    return xr.DataArray(values, {"seed": SEEDS, "rate": RATES}, ["seed", "rate", "k"])


FACTORS = [1, 1, 1, 1, 1, 20, 400, 8000, 8000, 8000]


def at_four_rates(factors=FACTORS, tilt=3, **changed):
    adam = sweep(**ADAM | changed).assign(eigenvalues=spectra(factors, tilt))
    return *many(adam), record(adam, reading="text")


test_spectra_at_four_rates = verdicts(
    rates.ht_25,
    at_four_rates,
    rrrrr=[{}],
    crrrr=[{"factors": [1] * 10}],
    rcrrr=[{"hill_excl": ADAM["hill"]}],
    rrcrr=[{"spike_ratio": at(ADAM["spike_ratio"], p6=4.0)}],
    rrrrc=[{"tilt": 1}],
)


@pytest.mark.parametrize(
    ("few", "unlike"),
    [
        ({}, 0),
        ({"hill": at(GD["hill"], p1=3.0003, p2=2.9997, p3=3.0002)}, 0),  # another order of what has not moved
        ({"alignment": GD["alignment"][::-1]}, 1),
        ({"alignment": GD["alignment"][::-1], "train": GD["train"][::-1]}, 2),
    ],
)
def test_curves_with_fewer_points(few, unlike):
    fewest, many = (record(sweep(1e-6, **ADAM), sweep(1e-6, **GD | curves)) for curves in (few, {}))
    outcome = rates.ht_54(fewest, many, many)
    assert outcome.verdict == "answered" and outcome.numbers["unlike"] == unlike and outcome.numbers["curves"] == 16


def two_sizes(few=(1.8, 4.0), many=(1.92, 1.01)):
    """Runs with few and with many points, of which exponent and gap are given, at all rates."""
    few, many = (sweep(hill=[hill] * 10, spike_ratio=[gap] * 10) for hill, gap in (few, many))
    return (
        record(few),
        record(few).isel(NONE),
        record(many),
        record(many).isel(NONE),
        *(record(one, reading="text") for one in (few, many)),
    )


test_two_sizes = verdicts(
    rates.ht_59,
    two_sizes,
    rrrr=[{}],
    crrr=[{"few": (1.9, 4.0)}],
    rrrc=[{"few": (1.8, 2.5)}],
    rcrc=[{"few": (1.8, 1.8)}],
    rrcr=[{"many": (1.92, 1.3)}],
    rrur=[{"many": (1.92, 1.05)}],
)


test_both_exponents = verdicts(
    rates.ht_71,
    lambda **adam: all_of(sweep(1e-4, **ADAM | adam)),
    rrr=[{}, {"hill": at(ADAM["hill"], p5=2.05)}],  # a rise within the tolerance
    rcr=[{"hill": at(ADAM["hill"], p6=2.04)}],
    crc=[{"ks": ADAM["ks"][::-1]}],
    ccc=[{"hill": at(ADAM["hill"], p4=1.8), "ks": at(ADAM["ks"], p4=2.0)}],  # from 1 to 10 alone
)


test_tails_of_the_features = verdicts(
    rates.ht_74,
    lambda order: (record(sweep(**ADAM | {"feature_hill": ADAM["feature_hill"][::order]})),) * 2,
    rr=[1],
    cc=[-1],
)

"""The rules on where learning a polynomial of a hidden direction ends, on planted data."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure import hidden_index
from experiments.hidden_structure.rules import degrees as rules
from shallow.stats import Interval

RANGES, PARTS = ["all", "bulk", "tail"], ["train", "validation", "test"]


def fits(r2, axes, spread=None, **more):
    """Runs whose coefficient of determination, and spread, are equal for all parts and ranges; r2 over the axes."""
    shape, dims = np.shape(r2), (*axes, "part", "range")

    def everywhere(values):
        return dims, np.broadcast_to(np.asarray(values, float)[..., None, None], (*shape, 3, 3))

    columns = {"r2": everywhere(r2), "spread": everywhere(np.ones(shape) if spread is None else spread)}
    columns |= {name: (tuple(axes), np.broadcast_to(np.asarray(v, float), shape)) for name, v in more.items()}
    return xr.Dataset(columns, axes | {"part": PARTS, "range": RANGES})


def share(successes, runs=10, good=0.95, poor=0.0):
    """So many runs that fit, the others not."""
    return np.where(np.arange(runs) < successes, good, poor)


def table(counts, runs=10):
    """Runs that fit, by degree, as an array (degree, run)."""
    return np.array([share(count, runs) for count in counts])


# The window, and the setting.


def widths(counts):
    """Runs of three layers by width: learners among twenty, among ten of the largest width."""
    small, widest = list(counts)[:-1], list(counts)[-1]
    columns = [share(counts[width], 20, 0.9, 0.5) for width in small if width != 64]
    axes = {"width": [width for width in small if width != 64], "run": range(20)}
    sizes = xr.Dataset({"empty": (("width", "run"), np.array(columns))}, axes).expand_dims(moment=["last"])
    last = xr.Dataset({"empty": (("width", "run"), share(counts[widest], 10, 0.9, 0.5)[None])}, {"width": [widest]})
    own = xr.Dataset({"empty": (("depth", "run"), share(counts[64], 20, 0.9, 0.5)[None])}, {"depth": [3]})
    return sizes, last.expand_dims(moment=["last"]), own.expand_dims(moment=["last"])


@pytest.mark.parametrize(
    ("counts", "ends", "verdict", "reading"),
    [
        ({8: 1, 64: 10, 128: 18, 256: 1}, (10, 0), "reproduced", None),
        ({8: 1, 64: 10, 128: 14, 256: 10}, (10, 0), "contradicted", "partly"),  # no upper end of the sizes
        ({8: 18, 64: 10, 128: 18, 256: 1}, (10, 0), "contradicted", None),  # no lower one
        ({8: 1, 64: 10, 128: 14, 256: 10}, (10, 10), "contradicted", None),  # and none of the degrees
        ({8: 8, 64: 10, 128: 18, 256: 4}, (10, 0), "undecided", None),
    ],
)
def test_a_window_has_both_ends(counts, ends, verdict, reading):
    found = rules.hs_02(*widths(counts), fits(table(ends), {"degree": [3, 9], "run": range(10)}))
    assert (found.verdict, found.reading) == (verdict, reading)


def test_the_difference_of_two_shares():
    found = rules.difference(np.arange(20) < 15, np.arange(20) < 5)
    assert found.estimate == 0.5 and 0.15 < found.low < 0.25 and 0.65 < found.high < 0.75
    assert rules.difference(np.arange(20) < 5, np.arange(20) < 15).high == -found.low


def moments(**change):
    """What is measured of the two kinds of inputs."""
    same = {"reach": 2.0, "inverse_square": 446.8, "largest_error": 4.0, "mean_square_error": 1.0, "across": 1.0}
    cases = {"independent": (1.0, 0.473), "correlated": (101.0, 0.475)}
    return {
        case: xr.Dataset(same | {"scale": rules.LOGGED[case], "along": along, "deviation": tau} | change)
        for case, (along, tau) in cases.items()
    }


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, {"a": "reproduced", "b": "reproduced"}),
        ({"reach": 2.1}, {"a": "contradicted", "b": "reproduced"}),
        ({"scale": 0.05}, {"a": "contradicted", "b": "reproduced"}),
        ({"mean_square_error": 2.0}, {"a": "contradicted", "b": "reproduced"}),
        ({"along": 50.0}, {"a": "reproduced", "b": "contradicted"}),
    ],
)
def test_inputs_are_as_described(change, parts):
    assert rules.hs_27(moments(**change)).parts == parts


def random_polynomials(line, spread):
    """Shares that a line explains, and variances whose percentiles lie so far apart."""
    rng = np.random.default_rng(0)
    columns = {"linear": ("draw", np.clip(line + 0.01 * rng.standard_normal(300), 0, 1))}
    one = xr.Dataset(columns | {"variance": ("draw", np.geomspace(1, spread ** (1 / 0.9), 300))})
    return dict.fromkeys((3, 4), one)


@pytest.mark.parametrize(
    ("scaled", "unscaled", "verdict"),
    [
        ((0.95, 100), (0.2, 100), "reproduced"),  # at one of the two scales
        ((0.5, 100), (0.2, 100), "partly"),
        ((0.95, 2), (0.95, 2), "partly"),
        ((0.5, 2), (0.2, 2), "contradicted"),
    ],
)
def test_random_coefficients(scaled, unscaled, verdict):
    found = {0.473: random_polynomials(*scaled), 10.0: random_polynomials(*unscaled)}
    assert rules.hs_28(found).verdict == verdict


@pytest.mark.parametrize(
    ("wrong", "even", "verdict"),
    [(0.0, 0.0, "reproduced"), (1e-3, 0.0, "contradicted"), (0.0, 1e-3, "contradicted")],
)
def test_polynomials_are_even_or_odd(wrong, even, verdict):
    found = {3: xr.Dataset({"wrong": wrong, "slope": 0.5}), 4: xr.Dataset({"wrong": wrong, "slope": even})}
    assert rules.hs_30(found).verdict == verdict


def drawn(v, scale):
    v = np.asarray(v, float)
    return hidden_index.Draw(v[:, None], v, scale, *np.split(np.arange(len(v)), [1, 2]))


@pytest.mark.parametrize(
    ("v", "scale", "verdict"),
    [([2, -1, 0.5], 0.4, "reproduced"), ([2, -1, 0.6], 0.4, "contradicted"), ([2, -1, 0.5], 0.5, "contradicted")],
)
def test_whether_two_samples_of_v_are_one(v, scale, verdict):
    assert rules.hs_37(drawn([0.5, 2, -1], 0.4), drawn(v, scale)).verdict == verdict


@pytest.mark.parametrize(
    ("change", "seeded", "scripts", "begin"),
    [({}, True, True, "Yes"), ({}, False, True, "Only in part"), ({"given": 0.5}, False, False, "No")],
)
def test_what_seeds_determine(change, seeded, scripts, begin):
    found = rules.hs_51(
        {case: drawn([2, 1, 0], scale) for case, scale in (rules.LOGGED | change).items()}, seeded, scripts
    )
    assert found.verdict == "answered" and found.answer.startswith(begin)


# Where learning ends.


def ends(seventh=10, eighth=0, ninth=0, flat=0.0, aligned=0.0):
    """Ten runs of degrees 7 to 9: how many fit, how their predictions vary at 8 and 9, and which units align."""
    spread = np.array([np.ones(10), np.broadcast_to(flat, 10), np.broadcast_to(flat, 10)])
    axes = {"degree": [7, 8, 9], "run": range(10)}
    return fits(table((seventh, eighth, ninth)), axes, spread, aligned=aligned)


def decays(fitting):
    """Five runs each of two weight decays at degree 8."""
    axes = {"width": [256], "decay": [0, 1e-4], "run": range(5)}
    return fits(np.array([[share(0, 5), share(fitting, 5)]]), axes)


@pytest.mark.parametrize(
    ("runs", "others", "verdict", "reading"),
    [
        (ends(), 0, "reproduced", None),
        (ends(), 5, "reproduced", "partly"),  # another configuration learns degree 8
        (ends(), 3, "reproduced", None),
        (ends(seventh=0), 5, "partly", None),
        (ends(seventh=7), 0, "partly", None),
        (ends(flat=0.5), 0, "partly", None),
        (ends(seventh=0, eighth=10, ninth=10, flat=1.0, aligned=0.5), 0, "contradicted", None),
        (ends(aligned=0.5), 0, "partly", None),  # aligned, but not fitted
    ],
)
def test_degree_seven_is_the_highest(runs, others, verdict, reading):
    found = rules.hs_33(runs, decays(others))
    assert (found.verdict, found.reading) == (verdict, reading)


def test_a_share_of_ten_runs_that_does_not_decide():
    assert rules.hs_33(ends(seventh=7), decays(0)).parts == {"a": "undecided", "b": "reproduced", "c": "reproduced"}


def memories(at_8=0.02, at_9=0.02, flat=0.1):
    """Training errors of five Gaussian machines at two degrees, for labels of variance 1."""
    error = np.broadcast_to(np.array([at_8, at_9])[:, None], (2, 5))
    axes = {"degree": [8, 9], "run": range(5)}
    runs = fits(np.zeros((2, 5)), axes, np.full((2, 5), flat))
    mse = np.where(runs.part.values[:, None] == "train", error[..., None, None], 1.0) * np.ones((2, 5, 3, 3))
    return runs.assign(mse=(("degree", "run", "part", "range"), mse))


def machines(spread=0.05, name="last"):
    """Flat machines at two degrees."""
    axes = {"machine": [name], "degree": [8, 9], "run": range(5)}
    return fits(np.zeros((1, 2, 5)), axes, np.full((1, 2, 5), spread))


@pytest.mark.parametrize(
    ("gaussian", "tangent", "verdict"),
    [
        ({}, 0.05, "reproduced"),
        ({"at_9": 0.9}, 0.05, "partly"),
        ({"at_8": 0.9, "at_9": 0.9}, 0.05, "contradicted"),
        ({"flat": 0.5}, 0.05, "contradicted"),
        ({}, 0.5, "contradicted"),
    ],
)
def test_memory_without_learning(gaussian, tangent, verdict):
    assert rules.hs_45(memories(**gaussian), machines(tangent)).verdict == verdict


def tied(counts, aligned=0.2, cosine=0.3):
    """Ten runs at degrees 3, 6, 8 to 13 of correlated inputs."""
    axes = {"degree": [3, 6, 8, 9, 10, 11, 12, 13], "run": range(10)}
    rng = np.random.default_rng(0)
    return fits(table(counts), axes, aligned=aligned, mean_cosine=cosine + 0.01 * rng.standard_normal((8, 10)))


def dealt():
    """Shuffled labels: five runs at the degrees where alignment is compared."""
    axes = {"degree": [3, 6, 8, 9, 10, 11], "run": range(5)}
    return fits(np.zeros((6, 5)), axes, aligned=0.0, mean_cosine=0.1)


@pytest.mark.parametrize(
    ("counts", "aligned", "long", "verdict", "reading"),
    [
        ((10,) * 6 + (0, 0), 0.2, (0, 0), "reproduced", None),
        ((10,) * 6 + (0, 0), 0.2, (5, 5), "reproduced", "partly"),  # without decay further degrees are learned
        ((10,) * 6 + (10, 0), 0.2, (5, 5), "partly", None),
        ((10,) * 5 + (0, 0, 0), 0.2, (0, 0), "partly", None),
        ((10,) * 5 + (6, 0, 0), 0.2, (0, 0), "partly", None),
        ((10,) * 6 + (0, 0), 0.0, (0, 0), "partly", None),
        ((10,) * 8, 0.0, (0, 0), "contradicted", None),
    ],
)
def test_correlated_inputs_are_learned_up_to_degree_eleven(counts, aligned, long, verdict, reading):
    longer = fits(table(long, 5), {"degree": [12, 13], "run": range(5)})
    found = rules.hs_34(tied(counts, aligned), dealt(), longer)
    assert (found.verdict, found.reading) == (verdict, reading)


@pytest.mark.parametrize(
    ("logs", "verdict"),
    [((0.5, 0.5), "reproduced"), ((-0.5, 0.5), "contradicted"), ((0.01, 0.5), "undecided")],
)
def test_the_gaussian_machine_is_ahead(logs, verdict):
    noise = 0.1 * np.array([-1, 0, 1, 0.5, -0.5])
    errors = np.exp(np.stack([np.array(logs)[:, None] + noise, np.zeros((2, 5))]))
    axes = {"machine": ["last", "gaussian"], "degree": [3, 6], "run": range(5)}
    assert rules.hs_35(xr.Dataset({"cv": (("machine", "degree", "run"), errors)}, axes)).verdict == verdict


# A weight decay that does not decay.


@pytest.mark.parametrize(
    ("aligned", "change", "free", "parts"),
    [
        (0.0, 0.1, 0.1, ("reproduced", "reproduced")),
        (0.0, 1.5, 3.0, ("reproduced", "contradicted")),
        (0.5, 0.1, 0.1, ("contradicted", "reproduced")),
        (0.0, 0.1, 3.0, ("reproduced", "undecided")),
    ],
)
def test_weights_that_hardly_move(aligned, change, free, parts):
    noise = 0.01 * np.arange(10)
    more = {"aligned": aligned, "change": change + noise, "growth": 1.0, "unevenness": 0.0}
    runs = fits(np.zeros((1, 10)), {"degree": [8], "run": range(10)}, np.zeros((1, 10)), **more)
    axes = {"width": [256], "decay": [0], "run": range(5)}
    without = fits(np.zeros((1, 1, 5)), axes, change=free + noise[:5])
    found = rules.hs_58(runs, machines(), without)
    assert tuple(found.parts.values()) == parts


def paths(good=(40, 40, 40), later=0.001, runs=40):
    """Networks of degree 12 of which so many look like Figures 17, 18 and 19."""
    a, b, d = (np.arange(runs) < count for count in good)
    deviation = np.stack([np.where(a, 0.03, 0.002), np.where(b, 0.001, 0.03), np.full(runs, 0.01)])
    spread = np.stack([np.ones(runs), np.where(b, 0.01, 0.5), np.where(d, 2.0, 0.001)])
    cosine = np.stack([np.full(runs, 0.08), np.where(b, 0.2, 0.09)])
    columns = {
        "path_largest_cosine": (("epoch", "run"), np.full((2, runs), 0.3)),
        "path_mean_cosine": (("epoch", "run"), cosine),
        "path_change": (("epoch", "run"), np.full((2, runs), 0.1)),
        "later_change": ("run", np.full(runs, 0.1 * later) * (1 + 0.01 * np.arange(runs))),
        "ntk_deviation": (("moment", "run"), deviation),
        "ntk_r2": (("moment", "run"), np.zeros((3, runs))),
        "ntk_spread": (("moment", "run"), spread),
        "network_spread": (("moment", "run"), np.zeros((3, runs))),
        "final_deviation": ("run", np.full(runs, 0.001)),
        "final_spread": ("run", np.zeros(runs)),
    }
    found = xr.Dataset(columns, {"epoch": [0, 1], "moment": [0, 1, rules.END], "run": range(runs)})
    by_part = {name: found[name].expand_dims(part=["test"], range=["bulk"]) for name in ("ntk_r2", "ntk_spread")}
    found = found.assign(by_part).assign(network_spread=found.network_spread.expand_dims(range=["bulk"]))
    return found.assign(final_spread=found.final_spread.expand_dims(part=["test"], range=["bulk"]))


@pytest.mark.parametrize(
    ("planted", "parts"),
    [
        ({}, {"a": "reproduced", "b": "reproduced", "c": "reproduced", "d": "reproduced"}),
        ({"good": (10, 40, 40)}, {"a": "contradicted", "b": "reproduced", "c": "reproduced", "d": "reproduced"}),
        ({"good": (40, 32, 40)}, {"a": "reproduced", "b": "undecided", "c": "reproduced", "d": "reproduced"}),
        ({"good": (40, 40, 10)}, {"a": "reproduced", "b": "reproduced", "c": "reproduced", "d": "contradicted"}),
        ({"later": 0.5}, {"a": "reproduced", "b": "reproduced", "c": "contradicted", "d": "reproduced"}),
    ],
)
def test_figures_of_degree_twelve(planted, parts):
    assert rules.hs_60(paths(**planted)).parts == parts


# The network or the selection.


def numbers_of_points(few=(0, 0, 0), many=(5, 5, 0)):
    """Five runs at degrees 9 to 11 with 8,000 and 32,000 points."""
    axes = {"points": [8000, 32_000], "degree": [9, 10, 11], "run": range(5)}
    return fits(np.stack([table(few, 5), table(many, 5)]), axes)


def configurations(slope=1.0):
    """Orthants: accuracies after ten epochs that rank the final ones, or do not."""
    rng = np.random.default_rng(0)
    order = rng.permutation(18).reshape(3, 3, 2, 1) / 18
    noise = rng.permutation(18).reshape(3, 3, 2, 1) / 18
    early = np.broadcast_to(0.5 + 0.05 * order, (3, 3, 2, 3))
    end = np.broadcast_to(0.5 + 0.4 * (slope * order + (1 - slope) * noise), (3, 3, 2, 3))
    dims = ("width", "rate", "decay", "run")
    axes = {"width": [32, 64, 128], "rate": [1e-4, 1e-3, 1e-2], "decay": [0.0, 1e-4], "run": range(3)}
    found = xr.Dataset({"selection": (dims, early)}, axes)
    last = xr.DataArray(end, axes, dims).expand_dims(moment=["last"])
    return found.assign(held_out=last, empty=last)


def given(count):
    """Five runs given v at learning rate 1, at degrees 19 and 20."""
    axes = {"degree": [19, 20], "width": [128], "decay": [0], "run": range(5)}
    return fits(np.broadcast_to(share(count, 5, 0.9), (2, 1, 1, 5)), axes)


def no_networks(count=0, runs=5, degrees=(12, 13)):
    return fits(table([count] * len(degrees), runs), {"degree": list(degrees), "run": range(runs)})


@pytest.mark.parametrize(
    ("change", "part", "says"),
    [
        ({}, "a", "(a) the selection"),
        ({"eight": decays(0)}, "a", "(a) the network"),
        ({"eight": decays(3)}, "a", "(a) open"),
        ({}, "b", "(b) the number of points"),
        ({"points": numbers_of_points(many=(0, 0, 0))}, "b", "(b) the network"),
        ({"points": numbers_of_points(many=(3, 3, 0))}, "b", "(b) open"),
        ({"beyond": no_networks(10, 10, (9, 10, 11))}, "b", "(b) the selection"),
        ({}, "c", "(c) the selection"),
        ({"correlated": no_networks(0)}, "c", "(c) the network"),
        ({}, "d", "(d) the learning rate"),
        ({"given": given(0)}, "d", "(d) the network"),
        ({}, "e", "(e) informative"),
        ({"orthants": configurations(-0.5)}, "e", "(e) noise"),
    ],
)
def test_what_makes_the_failures(change, part, says, monkeypatch):
    if part != "e":  # its rank correlations take longest
        monkeypatch.setattr(rules, "ten_epochs", lambda orthants: (*[Interval(0.8, 0.7, 0.9)] * 3, []))
    planted = {
        "eight": decays(5),
        "beyond": no_networks(0, 10, (9, 10, 11)),
        "points": numbers_of_points(),
        "correlated": no_networks(5),
        "given": given(5),
        "orthants": configurations(),
    }
    found = rules.hs_67(**planted | change)
    assert says in found.finding
    assert found.parts[part] == ("undecided" if says.endswith("open") else "answered")


def test_the_best_configuration_of_several():
    assert rules.best(decays(4)).estimate == 0.8
    assert rules.best(given(5), least=0.95).estimate == 0


def test_words():
    assert rules.listed({3: Interval(0.5, 0.25, 0.75)}) == "3: 0.50 [0.25, 0.75]"
    assert rules.estimates({3: Interval(0.5, 0.25, 0.75), 4: Interval(1, 0.7, 1)}) == "3: 0.50, 4: 1.00"

"""The rules on kernel machines on shells, on planted data in which the claims are true or false."""

import numpy as np
import pytest
import xarray as xr

from experiments.hidden_structure import shells
from experiments.hidden_structure.rules import shell_machines as rules

RUNS, RADIUS = 10, shells.PROFILE
REGIONS = ["empty", "neighbour", "distant"]
NOISE = 0.01 * np.resize([-1, 1, 0.5, -0.5], RUNS)
SIGMOID = 1 / (1 + np.exp(-8 * (RADIUS - 1.4)))
EARLY = 1 / (1 + np.exp(-8 * (RADIUS - 0.7)))
DIP = 1 - 0.6 * np.exp(-(((RADIUS - 1.2) / 0.3) ** 2))


def by_depth(values, runs=RUNS, scale=1.0):
    """Means by depth 1 to 5, or a number for all, with a small scatter over runs; (depth, run)."""
    values = np.broadcast_to(np.asarray(values, float), 5)
    return values[:, None] + scale * np.resize(NOISE, runs)


def lines(rows, runs=RUNS, depths=5):
    """Profiles of the three regions, each a curve, or curves of single runs (run, radius)."""
    each = [np.broadcast_to(row, (runs, len(RADIUS))) for row in rows]
    return np.broadcast_to(np.stack(each, axis=1), (depths, runs, 3, len(RADIUS)))


def networks(E=0.8, M=0.96, rows=(SIGMOID,) * 3, R2=(0.9, 0.9), scale=1.0):
    """A record of networks, ten runs of each depth."""
    columns = {"empty": by_depth(E, scale=scale), "others": by_depth(M)}
    return xr.Dataset(
        {name: (("moment", "depth", "run"), values[None]) for name, values in columns.items()}
        | {"profile": (("depth", "run", "region", "radius"), lines(rows))}
        | {"isotonic": (("part", "depth", "run"), np.stack([by_depth(value) for value in R2]))},
        {"moment": ["last"], "depth": range(1, 6), "run": range(RUNS), "region": REGIONS, "radius": RADIUS,
         "part": ["populated", "empty"]},
    )  # fmt: skip


def machines(E_lost=0.0, M_lost=0.06, E=0.8, M=0.96, rows=(DIP,) * 3, depths=5, scale=1.0, runs=RUNS):
    """Tangent machines with what they lose against their networks, as (depth, run)."""
    own = {"empty": by_depth(E, runs, scale), "others": by_depth(M, runs)}
    gone = {"empty": by_depth(E_lost, runs, 0.1), "others": by_depth(M_lost, runs, 0.1)}
    columns = {f"network_{name}": values for name, values in own.items()}
    columns |= {name: values - gone[name] for name, values in own.items()} | {"gap": 0 * own["empty"]}
    found = xr.Dataset(
        {name: (("depth", "run"), values) for name, values in columns.items()}
        | {"profile": (("depth", "run", "region", "radius"), lines(rows, runs))},
        {"depth": range(1, 6), "run": range(runs), "region": REGIONS, "radius": RADIUS},
    )  # fmt: skip
    return found.isel(depth=slice(depths))


def author(**planted):
    """The same in the author's form, at two limits of passes."""
    return xr.concat([machines(**planted)] * 2, "limit").assign_coords(limit=[1000, 20_000])


def solved(logit=None, probability=None):
    """Solved machines on both outputs, one to three layers."""
    return of_outputs([machines(depths=3, **(form or {})) for form in (logit, probability)]).expand_dims(
        scaling=["raw"]
    )


def of_outputs(forms):
    """Machines on the kernels of logit and probability, of the same networks."""
    own = [name for name in forms[0].data_vars if not name.startswith("network_")]
    found = xr.concat([form[own] for form in forms], "output").assign_coords(output=list(rules.OUTPUTS))
    return found.merge(forms[0].drop_vars(own))


def gaussian(E=0.5, M=1.0, others=(1.0, 1.0), rows=(1.0,) * 3, scatter=0.0):
    """Machines with fixed kernels: the Gaussian one, and two that know the symmetry, five draws."""
    noise = scatter * NOISE[:5]
    columns = {name: np.stack([value + noise, *[np.full(5, right)] * 2]) for name, value, right in
               (("empty", E, others[0]), ("others", M, others[1]), ("train", M, 1.0), ("ones", 1.0, 0.5))}  # fmt: skip
    return xr.Dataset(
        {name: (("kernel", "run"), values) for name, values in columns.items()}
        | {"profile": (("kernel", "run", "region", "radius"), lines(rows, 5, 3))},
        {"kernel": ["gaussian", "folded", "averaged"], "run": range(5), "region": REGIONS, "radius": RADIUS},
    )


def linear(E=0.5, M=0.5, scatter=1.0):
    """Linear machines at two values of C and the author's."""
    noise, C = scatter * NOISE, [1.0, 10.0, np.nan]
    columns = {"empty": E + noise, "others": M + 0.1 * noise, "one_sided": 0.7 + noise}
    rows = {name: (("C", "run"), np.tile(values, (3, 1))) for name, values in columns.items()}
    return xr.Dataset(rows, {"C": C, "run": range(RUNS)})


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        ({}, "reproduced"),
        ({"M": 0.6}, "contradicted"),
        ({"E": 0.4}, "contradicted"),
        ({"E": 0.53}, "undecided"),
    ],
)
def test_linear_machines_guess(planted, verdict):
    assert rules.hs_12(linear(**planted)).verdict == verdict


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        ({}, "reproduced"),
        ({"E": 0.8}, "contradicted"),
        ({"M": 0.9}, "contradicted"),
        ({"E": 0.55, "scatter": 1.0}, "undecided"),
    ],
)
def test_the_gaussian_machine_memorises(planted, verdict):
    assert rules.hs_13(gaussian(**planted), gaussian()).verdict == verdict


@pytest.mark.parametrize(("others", "word"), [((1.0, 1.0), "Yes"), ((1.0, 0.8), "No"), ((0.8 - 0.02, 1.0), "Unclear")])
def test_machines_with_the_right_kernel(others, word):
    found = rules.hs_61(gaussian(others=others), networks())
    assert found.verdict == "answered" and found.answer.startswith(word)


TABLE = {"E": (0.75, 0.56, 0.83, 0.5, 0.5), "M": (0.93, 0.88, 0.98, 0.9, 0.99),
         "E_lost": (0.03, 0.02, 0.12, 0, 0), "M_lost": (0.06, 0.04, 0.25, 0.05, 0.18)}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, "RRRRR"),
        ({"E_lost": (0.3, 0.02, 0.12, 0, 0)}, "CRRRR"),
        ({"M_lost": (0.06, 0.04, 0.25, 0.0, 0.0)}, "RRRCC"),
        ({"E": (0.75, 0.9, 0.83, 0.5, 0.5)}, "RCRRR"),
        ({"E_lost": (0.03, 0.02, -0.1, 0, 0)}, "RRCRR"),
        ({"E": (0.75, 0.56, 0.83, 0.8, 0.5)}, "RRRCR"),
        ({"M_lost": (0.0203, 0.04, 0.25, 0.05, 0.18)}, "URRRR"),
        ({"M_lost": (0.06, 0.04, 0.12, 0.05, 0.5)}, "RRCRR"),  # no longer the lowest row
    ],
)
def test_rows_of_tangent_machines(change, parts):
    found = rules.hs_15(author(**(TABLE | change))).parts
    assert "".join(verdict[0].upper() for verdict in found.values()) == parts


def test_rows_that_agree_as_numbers_are_read_as_reproduced():
    """With the printed means and a scatter that leaves every condition open."""
    printed = {"E": (0.705, 0.54, 0.702, 0.5, 0.5), "M": (0.8757, 0.8514, 0.73, 0.8487, 0.815)}
    lost = {"E_lost": (0.099, 0.02, 0.1, 0, 0), "M_lost": (0.06, 0.04, 0.25, 0.05, 0.18)}
    close = {name: np.add(printed[name], lost[f"{name}_lost"]) for name in printed}
    found = rules.hs_15(author(**close, **lost, scale=5))
    assert (found.verdict, found.reading) == ("partly", "reproduced")
    assert rules.hs_15(author(**TABLE)).reading is None
    assert rules.hs_15(author(**TABLE | {"M_lost": (0.06, 0.04, 0.25, 0.0, 0.18)})).reading is None


def test_how_the_solver_ended():
    own = author(M_lost=np.arange(5) / 10)
    gap = xr.where(own.run < 4, 0.0, 0.9).broadcast_like(own.empty)
    header, rows = rules.ends(own.assign(gap=gap, train=own.others))
    assert len(rows) == 5 and all(len(row) == len(header) for row in rows)
    assert rows[2][1:3] == ["4 of 10", "0.90"] and rows[2][-2:] == ["0.20", "0.20"]


@pytest.mark.parametrize(
    ("E", "E_lost", "g", "verdict"),
    [
        ((0.7, 0.6, 0.9, 0.5, 0.5), 0.1, {}, "reproduced"),
        ((0.95, 0.6, 0.9, 0.5, 0.5), 0.1, {}, "contradicted"),
        ((0.7, 0.6, 0.9, 0.5, 0.5), (0, 0, -0.1, 0, 0), {}, "contradicted"),
        ((0.7, 0.6, 0.9, 0.5, 0.5), 0.1, {"M": 0.9}, "contradicted"),
        ((0.9, 0.6, 0.9, 0.5, 0.5), 0.1, {}, "undecided"),
    ],
)
def test_bold_entries(E, E_lost, g, verdict):
    net = networks(E=E)
    own = author(E=E, E_lost=E_lost)
    assert rules.hs_16(net, own, gaussian(**g), linear()).verdict == verdict


@pytest.mark.parametrize(
    ("net", "own", "g", "parts"),
    [
        ({}, {"scale": 5}, {}, "RRR"),
        ({}, {"scale": 5}, {"M": 0.6}, "CRC"),
        ({}, {"scale": 5}, {"E": 0.7}, "CRR"),
        ({}, {"E": 0.5, "E_lost": 0}, {}, "RCR"),
        ({"E": 0.5, "M": 0.99}, {"scale": 5}, {}, "RRC"),
        ({}, {"E_lost": 0.3, "scale": 0.01}, {}, "RCR"),  # nothing follows the network
    ],
)
def test_gaussian_and_tangent_columns(net, own, g, parts):
    found = rules.hs_18(networks(**net), author(**own), gaussian(**g)).parts
    assert "".join(verdict[0].upper() for verdict in found.values()) == parts


@pytest.mark.parametrize(
    ("own", "parts"),
    [
        ({"E_lost": 0.01, "M_lost": 0.1}, "RRC"),  # the best machine is as good as the best network
        ({"E_lost": 0.1, "M_lost": 0.06}, "RCR"),  # more is lost in the empty orthant
        ({"M_lost": (0.1, 0.1, 0.1, -0.02, 0.1)}, "CRC"),
        ({"M_lost": (0.1, 0.1, 0.1, 0.0, 0.1)}, "URC"),
        ({"E_lost": -0.1, "M_lost": 0.1}, "RUC"),  # E is not kept, and not lost either
    ],
)
def test_networks_against_their_machines(own, parts):
    found = rules.hs_19(networks(), author(**own), gaussian()).parts
    assert "".join(verdict[0].upper() for verdict in found.values()) == parts


def test_a_machine_of_chance_leaves_the_gaussian_as_the_best():
    net, fixed = rules.networks(networks()), gaussian().sel(kernel="gaussian")
    found = rules.trade_off(machines(E=0.45, E_lost=0.0), net, fixed)[1]
    assert found["ahead"].estimate == pytest.approx(0.3, abs=0.01)
    assert found["learned"] == []


HALF = np.where(np.arange(RUNS)[:, None] < 5, SIGMOID, 0.9 + 0.1 * SIGMOID)  # half of the runs fail


@pytest.mark.parametrize(
    ("net", "own", "parts"),
    [
        ((SIGMOID,) * 3, (DIP,) * 3, "RRR"),
        ((HALF, SIGMOID, SIGMOID), (DIP,) * 3, "UUR"),
        ((EARLY, SIGMOID, SIGMOID), (DIP,) * 3, "RCR"),
        ((DIP, SIGMOID, SIGMOID), (DIP,) * 3, "CCR"),
        ((SIGMOID,) * 3, (SIGMOID,) * 3, "RRC"),
        ((SIGMOID,) * 3, (SIGMOID, DIP, DIP), "RRU"),
    ],
)
def test_profiles_along_the_radius(net, own, parts):
    found = rules.hs_24(networks(rows=net), author(rows=own)).parts
    assert "".join(verdict[0].upper() for verdict in found.values()) == parts


@pytest.mark.parametrize(
    ("planted", "verdict", "reading"),
    [
        ({"R2": (0.9, 0.85)}, "reproduced", None),
        ({"R2": (0.74, 0.72)}, "contradicted", "partly"),
        ({"R2": (0.74, 0.72), "rows": (DIP,) * 3}, "contradicted", None),
        ({"R2": (0.8, 0.85)}, "undecided", None),
    ],
)
def test_logit_as_a_function_of_the_radius(planted, verdict, reading):
    found = rules.hs_25(networks(**planted))
    assert (found.verdict, found.reading) == (verdict, reading)


@pytest.mark.parametrize(
    ("own", "logit", "verdict"),
    [
        (DIP, DIP, "reproduced"),
        (DIP, SIGMOID, "contradicted"),
        (SIGMOID, DIP, "contradicted"),
        (DIP, HALF, "undecided"),
    ],
)
def test_local_views(own, logit, verdict):
    found = rules.hs_26(gaussian(), author(rows=(own,) * 3), solved({"rows": (logit,) * 3}))
    assert found.verdict == verdict


def test_only_runs_whose_network_has_found_the_symmetry_count():
    assert "1-NTK" not in rules.local_views(gaussian(), author(E=0.6), solved())
    assert len(rules.local_views(gaussian(), author(), solved())["1-NTK"]) == RUNS


def solver_runs(**planted):
    """The problems solved otherwise, for the first three networks."""
    found = machines(runs=3, **planted).sel(depth=[1, 3])
    names = ("empty", "others")
    return xr.merge([found[[*names]].rename({n: f"{form}_{n}" for n in names}) for form in ("primal", "kernel")])


def scaled(**lost):
    """Machines on both outputs, unscaled and with one scaling whose loss of M is given."""
    forms = [of_outputs([machines(depths=3, **planted)] * 2) for planted in ({}, lost)]
    return xr.concat(forms, "scaling").assign_coords(scaling=["raw", "unit"])


@pytest.mark.parametrize(
    ("newton", "logit", "rescaled", "says", "sign"),
    [
        (0.06, 0.06, 0.05, "Of the kernel", "(c) no"),
        (0.06, 0.0, 0.05, "Mostly of the output", "(c) no"),
        (0.0, 0.06, 0.05, "Mostly of the solver", "(c) no"),
        (0.06, 0.06, -0.05, "Of the kernel", "(c) yes"),
    ],
)
def test_kernel_solver_output_or_scaling(newton, logit, rescaled, says, sign):
    forms = solved({"M_lost": logit}, {"M_lost": 0.06})
    found = rules.hs_66(author(), solver_runs(M_lost=newton), forms, scaled(M_lost=rescaled))
    assert found.answer.startswith(says) and sign in found.finding


def test_losses_are_taken_from_the_same_networks():
    forms = solver_runs(M_lost=0.2).merge(machines(runs=3)[["network_empty", "network_others"]].sel(depth=[1, 3]))
    found = rules.losses_by_form(author(M_lost=0.1), forms, rules.solved(solved()), scaled())["others"]
    assert list(found) == ["solver", "output", "scaling"]
    assert found["solver"]["20,000 passes"][3] == pytest.approx(0.1, abs=0.003)
    assert found["solver"]["Newton"][1] == pytest.approx(0.2, abs=0.003)
    assert len(found["output"]["logit"][2]) == RUNS and set(found["scaling"]) == {"raw", "unit"}


def test_machines_that_did_not_end_do_not_count():
    record = machines(M_lost=0.1)
    record["others"][1, 3], record["gap"][1, 3] = -5.0, 100.0
    assert rules.losses(record, "others")[2].estimate > 0.5
    assert rules.losses(rules.at_minimum(record), "others")[2].estimate == pytest.approx(0.1, abs=0.003)


def test_table_1_is_complete():
    nearest = xr.concat([gaussian().sel(kernel="gaussian")] * 2, "count").assign_coords(count=[1, 5])
    header, rows = rules.table_1(networks(), author(), solved(), gaussian(), linear(), nearest)
    assert len(rows) == 2 + 2 + 5 + 5 + 3 + 1 and all(len(row) == len(header) for row in rows)
    named = {row[0]: row for row in rows}
    assert named["network, 3 layers"][-2:] == ["0.829", "0.9773"]
    assert named["tangent machine, 1 layer"][-2:] == ["0.705", "0.8757"]
    assert named["Gaussian machine"][2:4] == ["0.50 [0.50, 0.50]", "1.000 [1.000, 1.000]"]


def test_crossing_by_interpolation():
    r = np.array([0.5, 1.0, 1.5])
    profiles = np.array([[0.0, 0.4, 0.6], [0.7, 0.8, 0.9], [0.1, 0.2, 0.3]])
    assert rules.crossing(r, profiles) == pytest.approx([1.25, 0.5, 1.5])


def test_logistic_curves_fit_logistic_curves():
    steep, flat = rules.logistic_r2(RADIUS, np.stack([SIGMOID, DIP]))
    assert steep > 0.99 and flat < 0.5

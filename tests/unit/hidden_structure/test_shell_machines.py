"""The rules on kernel machines on shells, on planted data in which the claims are true or false."""

import numpy as np
import pytest
import xarray as xr
from planted.records import table, verdicts

from experiments.hidden_structure import shells
from experiments.hidden_structure.shell_machines import rules

RUNS, RADIUS = 10, shells.PROFILE
RUN, DEPTH = {"run": range(RUNS)}, {"depth": range(1, 6)}
PROFILE = {"region": ["empty", "neighbour", "distant"], "radius": RADIUS}
NOISE = 0.01 * np.resize([-1, 1, 0.5, -0.5], RUNS)
SIGMOID = 1 / (1 + np.exp(-8 * (RADIUS - 1.4)))
EARLY = 1 / (1 + np.exp(-8 * (RADIUS - 0.7)))
DIP = 1 - 0.6 * np.exp(-(((RADIUS - 1.2) / 0.3) ** 2))


def by_depth(values, scale=1.0):
    """Means by depth 1 to 5, or a number for all, with a small scatter over runs; (depth, run)."""
    return np.broadcast_to(np.asarray(values, float), 5)[:, None] + scale * NOISE


def lines(axes, rows):
    """Profiles of the three regions, each a curve, or curves of single runs (run, radius)."""
    each = [np.broadcast_to(row, (len(axes["run"]), len(RADIUS))) for row in rows]
    return table(axes | PROFILE, profile=np.stack(each, axis=1))


def networks(E=0.8, M=0.96, rows=(SIGMOID,) * 3, R2=(0.9, 0.9), scale=1.0):
    last = table({"moment": ["last"]} | DEPTH | RUN, empty=by_depth(E, scale), others=by_depth(M))
    isotonic = table({"part": ["populated", "empty"]} | DEPTH | RUN, isotonic=[by_depth(value) for value in R2])
    return last.merge(isotonic).merge(lines(DEPTH | RUN, rows))


def machines(E_lost=0.0, M_lost=0.06, E=0.8, M=0.96, rows=(DIP,) * 3, depths=5, scale=1.0):
    """Tangent machines with what they lose against their networks, as (depth, run)."""
    empty, others = by_depth(E, scale), by_depth(M)
    columns = {"network_empty": empty, "network_others": others, "gap": 0.0}
    columns |= {"empty": empty - by_depth(E_lost, 0.1), "others": others - by_depth(M_lost, 0.1)}
    return table(DEPTH | RUN, **columns).merge(lines(DEPTH | RUN, rows)).isel(depth=slice(depths))


def author(**planted):
    return machines(**planted).expand_dims(limit=[1000, 20_000])


def solved(logit=None, probability=None):
    forms = [machines(depths=3, **(form or {})) for form in (logit, probability)]
    return of_outputs(forms).expand_dims(scaling=["raw"])


def of_outputs(forms):
    """Machines on the kernels of logit and probability, of the same networks."""
    own = [name for name in forms[0].data_vars if not name.startswith("network_")]
    found = xr.concat([form[own] for form in forms], "output").assign_coords(output=list(rules.OUTPUTS))
    return found.merge(forms[0].drop_vars(own))


def gaussian(E=0.5, M=1.0, others=(1.0, 1.0), rows=(1.0,) * 3, scatter=0.0):
    """Machines with fixed kernels: the Gaussian one, and two that know the symmetry, five draws."""
    axes = {"kernel": ["gaussian", "folded", "averaged"], "run": range(5)}
    levels = {"empty": (E, others[0]), "others": (M, others[1]), "train": (M, 1.0), "ones": (1.0, 0.5)}
    noise = scatter * NOISE[:5]
    columns = {name: [own + noise, *[np.full(5, right)] * 2] for name, (own, right) in levels.items()}
    return table(axes, **columns).merge(lines(axes, rows))


def linear(E=0.5, M=0.5):
    columns = {"empty": E + NOISE, "others": M + 0.1 * NOISE, "one_sided": 0.7 + NOISE}
    return table({"C": [1.0, 10.0, np.nan]} | RUN, **columns)


test_linear_machines_guess = verdicts(
    rules.hs_12, linear, reproduced=[{}], contradicted=[{"M": 0.6}, {"E": 0.4}], undecided=[{"E": 0.53}]
)
test_the_gaussian_machine_memorises = verdicts(
    rules.hs_13,
    lambda **change: (gaussian(**change), gaussian()),
    reproduced=[{}],
    contradicted=[{"E": 0.8}, {"M": 0.9}],
    undecided=[{"E": 0.55, "scatter": 1.0}],
)


@pytest.mark.parametrize(("others", "reached"), [((1.0, 1.0), True), ((1.0, 0.8), False), ((0.8 - 0.02, 1.0), None)])
def test_machines_with_the_right_kernel(others, reached):
    found = rules.hs_61(gaussian(others=others), networks())
    assert found.verdict == ("undecided" if reached is None else "answered")
    assert found.numbers["one reaches the network"] is reached


TABLE = {"E": (0.75, 0.56, 0.83, 0.5, 0.5), "M": (0.93, 0.88, 0.98, 0.9, 0.99)}
TABLE |= {"E_lost": (0.03, 0.02, 0.12, 0, 0), "M_lost": (0.06, 0.04, 0.25, 0.05, 0.18)}
test_rows_of_tangent_machines = verdicts(
    rules.hs_15,
    lambda **change: author(**(TABLE | change)),
    rrrrr=[{}],
    crrrr=[{"E_lost": (0.3, 0.02, 0.12, 0, 0)}],
    rrrcc=[{"M_lost": (0.06, 0.04, 0.25, 0.0, 0.0)}],
    rcrrr=[{"E": (0.75, 0.9, 0.83, 0.5, 0.5)}],
    rrcrr=[
        {"E_lost": (0.03, 0.02, -0.1, 0, 0)},
        {"M_lost": (0.06, 0.04, 0.12, 0.05, 0.5)},  # no longer the lowest row
    ],
    rrrcr=[{"E": (0.75, 0.56, 0.83, 0.8, 0.5)}],
    urrrr=[{"M_lost": (0.0203, 0.04, 0.25, 0.05, 0.18)}],
)


def test_rows_may_agree_as_numbers_where_conditions_are_open():
    printed = {"E": (0.705, 0.54, 0.702, 0.5, 0.5), "M": (0.8757, 0.8514, 0.73, 0.8487, 0.815)}
    lost = {"E_lost": (0.099, 0.02, 0.1, 0, 0), "M_lost": (0.06, 0.04, 0.25, 0.05, 0.18)}
    close = {name: np.add(printed[name], lost[f"{name}_lost"]) for name in printed}
    found = rules.hs_15(author(**close, **lost, scale=5))
    assert (found.verdict, found.numbers["within reach"]) == ("partly", 10)
    other = rules.hs_15(author(**TABLE | {"M_lost": (0.06, 0.04, 0.25, 0.0, 0.18)}))
    assert other.verdict == "partly" and other.numbers["within reach"] < 10


BOLD = (0.7, 0.6, 0.9, 0.5, 0.5)
test_bold_entries = verdicts(
    rules.hs_16,
    lambda E=BOLD, lost=0.1, **g: (networks(E=E), author(E=E, E_lost=lost), gaussian(**g), linear()),
    reproduced=[{}],
    contradicted=[{"E": (0.95, 0.6, 0.9, 0.5, 0.5)}, {"lost": (0, 0, -0.1, 0, 0)}, {"M": 0.9}],
    undecided=[{"E": (0.9, 0.6, 0.9, 0.5, 0.5)}],
)
WIDE = {"scale": 5}
test_gaussian_and_tangent_columns = verdicts(
    rules.hs_18,
    lambda net, own, g: (networks(**net), author(**own), gaussian(**g)),
    rrr=[({}, WIDE, {})],
    crc=[({}, WIDE, {"M": 0.6})],
    crr=[({}, WIDE, {"E": 0.7})],
    rcr=[({}, {"E": 0.5, "E_lost": 0}, {}), ({}, {"E_lost": 0.3, "scale": 0.01}, {})],  # nothing follows the network
    rrc=[({"E": 0.5, "M": 0.99}, WIDE, {})],
)
test_networks_against_their_machines = verdicts(
    rules.hs_19,
    lambda **own: (networks(), author(**own), gaussian()),
    rrc=[{"E_lost": 0.01, "M_lost": 0.1}],  # the best machine is as good as the best network
    rcr=[{"E_lost": 0.1, "M_lost": 0.06}],  # more is lost in the empty orthant
    crc=[{"M_lost": (0.1, 0.1, 0.1, -0.02, 0.1)}],
    urc=[{"M_lost": (0.1, 0.1, 0.1, 0.0, 0.1)}],
    ruc=[{"E_lost": -0.1, "M_lost": 0.1}],  # E is not kept, and not lost either
)


def test_a_machine_of_chance_leaves_the_gaussian_as_the_best():
    found = rules.hs_19(networks(), author(E=0.45, E_lost=0.0), gaussian())
    assert found.numbers["best network ahead in E"].estimate == pytest.approx(0.3, abs=0.01)
    assert found.parts["b"] == "undecided"  # no network has learned


HALF = np.where(np.arange(RUNS)[:, None] < 5, SIGMOID, 0.9 + 0.1 * SIGMOID)  # half of the runs fail
test_profiles_along_the_radius = verdicts(
    rules.hs_24,
    lambda net, own=(DIP,) * 3: (networks(rows=(net, SIGMOID, SIGMOID)), author(rows=own)),
    rrr=[(SIGMOID,)],
    uur=[(HALF,)],
    rcr=[(EARLY,)],
    ccr=[(DIP,)],
    rrc=[(SIGMOID, (SIGMOID,) * 3)],
    rru=[(SIGMOID, (SIGMOID, DIP, DIP))],
)


@pytest.mark.parametrize(
    ("planted", "verdict", "sigmoid"),
    [
        ({"R2": (0.9, 0.85)}, "reproduced", True),
        ({"R2": (0.74, 0.72)}, "contradicted", True),
        ({"R2": (0.74, 0.72), "rows": (DIP,) * 3}, "contradicted", False),
        ({"R2": (0.8, 0.85)}, "undecided", True),
    ],
)
def test_logit_as_a_function_of_the_radius(planted, verdict, sigmoid):
    found = rules.hs_25(networks(**planted))
    average = [one for name, one in found.numbers.items() if name.startswith("logistic")]
    assert found.verdict == verdict and all(one.above(0.9) for one in average) is sigmoid and len(average) == 3


test_local_views = verdicts(
    rules.hs_26,
    lambda own, logit: (gaussian(), author(rows=(own,) * 3), solved({"rows": (logit,) * 3})),
    reproduced=[(DIP, DIP)],
    contradicted=[(DIP, SIGMOID), (SIGMOID, DIP)],
    undecided=[(DIP, HALF)],
)


def test_only_runs_whose_network_has_found_the_symmetry_count():
    few, all_ = (rules.local_views(gaussian(), author(E=E), solved(), found=0.75, least=3) for E in (0.6, 0.8))
    assert "1-NTK" not in few and len(all_["1-NTK"]) == RUNS


def solver_runs(**planted):
    found = machines(**planted).sel(depth=[1, 3], run=range(3))[["empty", "others"]]
    return xr.merge([found.rename({name: f"{form}_{name}" for name in found}) for form in ("primal", "kernel")])


def scaled(**lost):
    """Machines on both outputs, unscaled and with one scaling whose loss of M is given."""
    forms = [of_outputs([machines(depths=3, **planted)] * 2) for planted in ({}, lost)]
    return xr.concat(forms, "scaling").assign_coords(scaling=["raw", "unit"])


@pytest.mark.parametrize(
    ("newton", "logit", "rescaled", "solver", "output", "scaling"),
    [
        (0.06, 0.06, 0.05, "kernel", False, False),
        (0.06, 0.0, 0.05, "kernel", True, False),
        (0.0, 0.06, 0.05, "solver", False, False),
        (0.06, 0.06, -0.05, "kernel", False, True),
    ],
)
def test_kernel_solver_output_or_scaling(newton, logit, rescaled, solver, output, scaling):
    forms = solved({"M_lost": logit}, {"M_lost": 0.06})
    found = rules.hs_66(author(), solver_runs(M_lost=newton), forms, scaled(M_lost=rescaled)).numbers
    assert (found["solver or kernel"], found["output matters"], found["scaling matters"]) == (solver, output, scaling)


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

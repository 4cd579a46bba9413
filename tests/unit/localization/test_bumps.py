"""The rules on mean squares, on the constant and its rivals, on planted data."""

import numpy as np
import pytest
import xarray as xr
from planted.records import by, cases, over_seeds, planted, table, verdicts

from experiments.localization.bumps import mean_squares, rules
from shallow.stats import Interval

WAVES = np.cos(2 * np.pi * np.outer([1, 8], np.arange(40)) / 40)


def missed(apart=0.0, scatter=0.001, beyond=-1e-9):
    """Differences of mean squares from their form, and of what a search finds from the eigenvalue."""
    return over_seeds([[apart, 0.0]], "gain", "filter", scatter=scatter), xr.DataArray([-1e-9, beyond])


test_mean_squares_and_the_leading_eigenvector = verdicts(
    rules.lo_44, missed, rr=[{}], cr=[{"apart": 0.1}], ur=[{"scatter": 0.05}], rc=[{"beyond": 1e-3}]
)


def problems(changed=0, other=20, behind=0.25):
    """Pairs that change, the best modes of both problems, and how far the one is behind."""
    axes = {"lengths": ["(2, 1)", "(1, 2)"], "objective": range(2)}
    modes = table(axes, mode=[[0, 0], [other, 20]], value=[[0.6, 0.6], [0.7, 0.97]])
    return changed, modes, over_seeds([0.25, behind], "case", case=["one", "two"])


test_norms_and_the_difference = verdicts(
    rules.lo_45, problems, rr=[{}], pr=[{"other": 11}], cr=[{"changed": 7}], rc=[{"behind": 0.0}], ru=[{"behind": 0.02}]
)
test_the_leading_mode = verdicts(
    rules.lo_46,
    lambda change: by(case=dict(zip(mean_squares.leaders().case.values, change))).expand_dims("gain"),
    reproduced=[[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 11, 12]],  # the last two are not the note's
    partly=[[0, 11, 0, 0, 0, 0]],
    contradicted=[[3, 11, 12, 4, 0, 0]],
)


def low(*shares):
    """Fields with so much of their energy in one cycle, the rest in eight; and positive ones, which do not count."""
    share = over_seeds(shares, "gain", scatter=0.01).values[..., None]
    W = np.tile(WAVES[0], (2, 3, 40, 1))
    W[:, :, 0] = share**0.5 * WAVES[0] + (1 - share) ** 0.5 * WAVES[1]
    return planted("localization/balance", {"seed": range(3)}, W=W[:, :, None], b=np.where(np.arange(40), 1.0, -1.0))


test_the_inconsistency = verdicts(
    rules.lo_48, low, reproduced=[(0.5, 0.4)], partly=[(0.94, 0.42)], contradicted=[(0.9, 0.9)], undecided=[(0.7, 0.7)]
)


def rings(bump, carrier=0.0, cosine=-0.002, fine=None, error=0.0005):
    """Leads over the constant by gain on both rings; the chosen widths."""
    for record, lead in zip(rules.RINGS.values(), (bump, bump if fine is None else fine)):
        lead = np.broadcast_to(lead, 5)
        leads = np.stack([lead, lead + carrier, np.full(5, cosine), np.full(5, carrier)], axis=-1)
        yield planted(record, lead=leads[:, None], lead_error=error, best=4).isel(n=0)


RISING = (-0.002, -0.001, 0.014, 0.042, 0.055)


@cases(
    {
        "answered": [{"bump": RISING}, {"bump": 0}, {"bump": 0.05}, {"bump": 0, "cosine": 0.05}],
        "undecided": [{"bump": RISING, "error": 0.01}, {"bump": RISING, "fine": 0}],
    }
)
def test_how_well_the_constant_does(change, outcome):
    found, best = rules.lo_49(*rings(**change)), max(np.max(change["bump"]), change.get("cosine", -0.002))
    assert found.verdict == outcome
    assert found.numbers["lead over the constant, n = 40, g = 100"].estimate == pytest.approx(best)


@pytest.mark.parametrize(
    ("change", "verdict", "start"),
    [
        ({"bump": RISING}, "answered", 1),
        ({"bump": RISING, "carrier": 0.02}, "answered", 1),
        ({"bump": 0}, "answered", np.nan),
        ({"bump": -0.1}, "answered", np.nan),
        ({"bump": RISING, "error": 0.01}, "undecided", 3),
    ],
)
def test_whether_bumps_are_better(change, verdict, start):
    found = rules.lo_50(*rings(**change))
    assert found.verdict == verdict
    assert found.numbers["better from"] == pytest.approx(start, nan_ok=True)
    assert (found.numbers["Gabor over bump, at most"] > 0.015) == ("carrier" in change)


@cases(
    {
        "better": [(0.01, 0.006, 0.014)],
        "equal": [(0, -0.004, 0.004)],
        "worse": [(-0.01, -0.02, -0.006)],
        "undecided": [(0.005, 0.001, 0.009)],
    }
)
def test_words_for_a_lead(change, outcome):
    assert rules.compared(Interval(*change), 0.005) == outcome

"""Statistics of the rules on orthants: by hand and on planted samples."""

import numpy as np
import pytest

from experiments.hidden_structure.orthants import orthant_statistics as statistics
from shallow import stats

FIVE = np.array([0.985, 0.53, 0.885, 0.89, 0.855])


def test_the_rule_of_five_runs():
    """Its reach is 2.776 sd sqrt(2/5) = 0.306 for the author's own five runs."""
    reach = 2.7764 * FIVE.std(ddof=1) * 0.4**0.5
    assert statistics.agrees(FIVE, FIVE.mean() + 0.99 * reach)
    assert not statistics.agrees(FIVE, FIVE.mean() - 1.01 * reach)
    assert statistics.agrees([0.5, 0.5], 0.519) and not statistics.agrees([0.5, 0.5], 0.521)


def test_median_coverage_of_entries():
    runs = np.linspace(-1, 1, 20)[:, None] * np.array([1.0, 1.0, 1e-6])
    narrow = statistics.median_coverage(runs, np.array([1e-6, 1e-6, 1e-6]), name="test")
    wide = statistics.median_coverage(runs, np.array([2.0, 2.0, 1e-9]), name="test")
    assert narrow.high < 0.2 and wide.estimate == wide.low == 1


def test_falls_of_a_profile():
    np.testing.assert_allclose(statistics.falls(np.array([[0, 1, 0.5, 0.7, 0.2], [0, 0, 1, 1, 2]])), [1, 0])


def test_shares_of_planted_variances():
    rng = stats.stream("test", "two factors")
    rows, columns = rng.normal(size=(40, 1)) * 2, rng.normal(size=(1, 40))
    shares = statistics.variance_shares(rows + columns + rng.normal(size=(40, 40)), name="test")
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1)
    for part, truth in (("rows", 4 / 6), ("columns", 1 / 6), ("rest", 1 / 6)):
        assert shares[part].estimate == pytest.approx(truth, abs=0.15) and shares[part].contains(truth)
    alone = statistics.variance_shares(np.tile(np.arange(3.0), (4, 1)), name="test")
    assert alone["columns"].estimate == 1 and alone["rows"].estimate == alone["rest"].estimate == 0

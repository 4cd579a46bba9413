"""Tail fits against a scan written out in full and against the package `powerlaw`, and their speed."""

import numpy as np
import powerlaw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow.spectra import tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur
from shallow.spectra.tail_laws import Exponential, LogNormal, PowerLaw, vuong

LAWS = {"power_law": PowerLaw, "exponential": Exponential, "lognormal": LogNormal}


def sample(name: str, size: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([size, seed])
    if name.startswith("pareto"):
        return 3 * np.exp(rng.standard_exponential(size) / (float(name.split()[1]) - 1))
    return {
        "log-normal": lambda: np.exp(2 + rng.standard_normal(size)),
        "exponential": lambda: rng.exponential(size=size),
        "Marchenko-Pastur": lambda: MarchenkoPastur(3 * size // 2, size).quantile(rng.uniform(size=size)),
    }[name]()


NAMES = ["pareto 1.6", "pareto 2.5", "pareto 3.5", "log-normal", "exponential", "Marchenko-Pastur"]


quiet = pytest.mark.filterwarnings("ignore")


def reference(x: np.ndarray, lowest: float = 1, **options) -> powerlaw.Fit:
    """The fit of the package, without its default ceiling of 3 on every exponent."""
    return powerlaw.Fit(x, verbose=0, parameter_ranges={"alpha": [lowest, None]}, **options)


def written_out(values: np.ndarray) -> list[tuple[float, float, float, int]]:
    """(D, alpha, xmin, m) of every cut of PL_Alpha_KS, as it is defined."""
    values, cuts = np.sort(values), []
    for i in range(len(values) - 1):
        tail, m = values[i:], len(values) - i
        total = np.log(tail / tail[0]).sum()
        if total > 0:
            alpha = 1 + m / total
            D = max(abs(1 - (tail[j] / tail[0]) ** (1 - alpha) - j / m) for j in range(m))
            cuts.append((D, alpha, tail[0], m))
    return cuts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [2, 3, 5, 40, 300])
def test_scan_is_its_definition(name, size):
    x = sample(name, size)
    fit, best = tails.scan(x), min(written_out(x))
    assert (fit.distance, fit.alpha, fit.xmin, fit.size) == pytest.approx(best, rel=1e-9)


# values on a coarse grid have ties; those on a fine grid differ by more than the rounding of the logarithm
@given(st.lists(st.integers(1, 60), min_size=3, max_size=60), st.sampled_from([1.0, 1e-8, 1e9]))
@settings(max_examples=300)
def test_scan_finds_the_smallest_distance_of_adversarial_samples(numbers, unit):
    x = unit * np.array(numbers, dtype=float)
    cuts = written_out(x)
    if not cuts:
        with pytest.raises(ValueError, match="values"):
            tails.scan(x)
        return
    fit = tails.scan(x)
    assert fit.distance == pytest.approx(min(cuts)[0], rel=1e-9)
    assert any((fit.distance, fit.alpha, fit.xmin) == pytest.approx(cut[:3], rel=1e-9) for cut in cuts)


@quiet
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [50, 1000])
def test_standard_fit_is_that_of_powerlaw(name, size):
    x = sample(name, size)
    fit, known = tails.power_law(x), reference(x)
    assert fit.xmin == known.xmin and fit.size == known.n_tail
    assert fit.alpha == pytest.approx(known.alpha, rel=1e-8)
    assert fit.distance == pytest.approx(known.D, abs=1e-8)


@quiet
def test_ties_count_as_in_powerlaw():
    x = np.round(sample("log-normal", 600), 1) + 0.1
    assert len(np.unique(x)) < 300
    fit, known = tails.power_law(x), reference(x)
    assert (fit.xmin, fit.size) == (known.xmin, known.n_tail)
    assert (fit.alpha, fit.distance) == pytest.approx((known.alpha, known.D), rel=1e-8)
    assert tails.scan(x).distance != pytest.approx(fit.distance, rel=1e-3)  # the authors' scan counts them one by one


@quiet
def test_hill_and_its_path_are_fits_with_given_cuts():
    x = sample("log-normal", 501)
    path = tails.hill_path(x)
    assert path.sizes[0] == 2 and path.sizes[-1] == 501
    for place in (0, 9, 249, 250, 499):
        known = reference(x, xmin=path.xmin[place])
        assert known.n_tail == path.sizes[place]
        assert path.alpha[place] == pytest.approx(known.power_law.alpha, rel=1e-9)
    assert tails.hill(x) == pytest.approx(path.alpha[path.sizes == 251][0], rel=1e-12)
    assert path.xmin[path.sizes == 251][0] == np.median(x)


def inside(law: PowerLaw | Exponential | LogNormal) -> bool:
    """Whether a fit lies where the package can find it: its deviation is no limit."""
    return getattr(law, "mu", 0) > -20


@quiet
@pytest.mark.parametrize("name", ["pareto 2.5", "pareto 3.5", "log-normal", "exponential", "Marchenko-Pastur"])
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("law", LAWS)
def test_laws_of_the_tail_are_fitted_at_least_as_well_as_by_powerlaw(law, name, share):
    """The package minimises numerically, to about 1e-4 in the parameters: its likelihood can only be lower."""
    x = sample(name, 1000)
    xmin = np.sort(x)[int(share * 1000)]
    tail = x[x >= xmin]
    theirs, ours = getattr(reference(x, 0, xmin=xmin), law), LAWS[law].fit(x, xmin)
    if law == "lognormal" and not inside(ours):  # there the normaliser of the package underflows
        assert ours.log_density(tail).sum() >= PowerLaw.fit(x, xmin).log_density(tail).sum() - 1e-9
        return
    gain = ours.log_density(tail).sum() - theirs.loglikelihoods(tail).sum()
    assert gain >= -1e-6
    if inside(ours):
        assert gain <= 1e-3


@quiet
@pytest.mark.parametrize("name", ["pareto 2.5", "log-normal", "exponential", "Marchenko-Pastur"])
def test_likelihood_ratio_is_that_of_powerlaw(name):
    x = sample(name, 1000)
    xmin = np.sort(x)[500]
    fit, ours = reference(x, xmin=xmin), PowerLaw.fit(x, xmin)
    for law in ("exponential", "lognormal"):
        other = LAWS[law].fit(x, xmin)
        if isinstance(other, PowerLaw):
            assert vuong(ours, other, x) == (0.0, 0.0, 1.0)
            continue
        ratio, p = fit.distribution_compare("power_law", law, normalized_ratio=True)
        found = vuong(ours, other, x)
        assert (found.normalised, found.p) == pytest.approx((ratio, p), rel=0.02, abs=1e-6)


@given(st.integers(0, 10**6), st.floats(1e-9, 1e9))
@settings(max_examples=40, deadline=None)
def test_exponents_do_not_depend_on_scale_or_order(seed, scale):
    rng = np.random.default_rng(seed)
    x = np.exp(rng.standard_normal(80) * rng.uniform(0.3, 3))
    changed = scale * rng.permutation(x)
    assert tails.hill(changed) == pytest.approx(tails.hill(x), rel=1e-9)
    before, after = tails.scan(x), tails.scan(changed)
    assert (after.alpha, after.distance) == pytest.approx((before.alpha, before.distance), rel=1e-8)
    assert after.xmin == pytest.approx(scale * before.xmin)


def test_zeros_of_a_rank_deficient_matrix_are_no_bad_input():
    values = np.append(np.zeros(40), np.geomspace(1, 100, 60))
    assert tails.hill(values) == tails.hill(np.append(np.full(40, 0.5), values[40:]))
    assert tails.scan(values) == tails.scan(values[40:])
    path = tails.hill_path(values)
    assert path.alpha[-1] == 1 and path.xmin[-1] == 0 and path.alpha[40] > 1


def test_constant_tails_have_infinite_exponents_and_are_not_chosen():
    path = tails.hill_path(np.array([1.0, 2.0, 3.0, 3.0]))
    assert np.isinf(path.alpha[0]) and np.isfinite(path.alpha[1:]).all()
    assert tails.scan(np.array([1.0, 2.0, 3.0, 3.0])).xmin < 3

"""Tail fits against a scan written out in full and against the package `powerlaw`, and their speed."""

import numpy as np
import powerlaw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallow.spectra import esd, tails
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


@pytest.mark.parametrize("copies", [2, 3])
def test_eigenvalues_that_are_zero_or_rounding_are_no_part_of_a_tail(copies):
    W = np.random.default_rng(0).standard_normal((300, 100))
    wanted, repeated = copies * esd.eigenvalues(W), np.hstack([W] * copies)
    values = esd.eigenvalues(repeated)
    assert (values[100:] == 0).all() and values[:100] == pytest.approx(wanted, rel=1e-8)
    for spectrum in (values, np.linalg.svd(repeated, compute_uv=False) ** 2):
        assert tails.hill(spectrum) == pytest.approx(tails.hill(wanted), rel=1e-8)
        assert tails.scan(spectrum).alpha == pytest.approx(tails.scan(wanted).alpha, rel=1e-8)
        assert tails.power_law(spectrum).alpha == pytest.approx(tails.power_law(wanted).alpha, rel=1e-8)
        assert tails.hill_path(spectrum).alpha == pytest.approx(tails.hill_path(wanted).alpha, rel=1e-8)
    assert len(esd.positive(np.append(values, 1e-25 * values[0]))) == 101
    with pytest.raises(ValueError, match="^values must have at least 2 positive ones, got 1 of 3$"):
        tails.hill([0.0, 1e-27, 1.0])


#: Exponent, cut, size of the tail and distance by powerlaw 2.0.0, without a ceiling on the exponent, of the data sets
#: that come with it: those of Clauset, Shalizi and Newman (SIAM Review 51, 2009), Section 6.
DATA_SETS = {
    "blackouts": (2.272637219830288, 230000.0, 59, 0.0606737962944387),
    "cities": (2.3699521226938907, 52457.0, 580, 0.01884802271020647),
    "fires": (2.163628678554638, 6324.0, 521, 0.0356980705031974),
    "flares": (1.7884070781073644, 323.0, 1711, 0.008292713441903299),
    "quakes": (1.9524033215511314, 10000.0, 2659, 0.03809767912720019),
    "surnames": (2.2004164176019927, 14922.6, 2280, 0.03114084798368033),
    "terrorism": (2.452286124632913, 12.0, 547, 0.022685796380525924),
    "words": (2.023004831109283, 6.0, 3427, 0.01343616850737328),
}


@quiet
@pytest.mark.parametrize("name", DATA_SETS)
def test_fits_of_known_data_are_those_of_powerlaw(name):
    x, (alpha, xmin, size, distance) = powerlaw.load_test_dataset(name), DATA_SETS[name]
    fit = tails.power_law(x)
    assert (fit.xmin, fit.size) == (xmin, size)
    assert fit.alpha == pytest.approx(alpha, rel=2e-13) and fit.distance == pytest.approx(distance, abs=1e-13)
    if name == "blackouts":  # the quickest: what is stored is what the package gives
        known = reference(x)
        assert (known.alpha, known.xmin, known.n_tail, known.D) == pytest.approx(DATA_SETS[name], rel=1e-13)


def test_constant_tails_have_infinite_exponents_and_are_not_chosen():
    path = tails.hill_path(np.array([1.0, 2.0, 3.0, 3.0]))
    assert np.isinf(path.alpha[0]) and np.isfinite(path.alpha[1:]).all()
    assert tails.scan(np.array([1.0, 2.0, 3.0, 3.0])).xmin < 3

"""Functions in vector arithmetic against scipy, and the generators against their definition in whole numbers."""

import numpy as np
import pytest
from scipy import special

from shallow.stats import stream
from shallow.train import vector_math

REALS = [np.float32, np.float64]
MASK = 2**64 - 1


def applied(function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both values of a compiled function at all points, in one loop."""

    @vector_math.compiled
    def loop(x, first, second):
        for i in range(len(x)):
            first[i], second[i] = function(x[i])

    first, second = np.empty_like(x), np.empty_like(x)
    loop(x, first, second)
    return first, second


@pytest.mark.parametrize(("real", "error"), [(np.float32, 1e-6), (np.float64, 2e-14)])
def test_erf_and_its_slope_equal_scipys(real, error):
    x = np.concatenate([np.linspace(-12, 12, 20_001), np.geomspace(1e-30, 40, 999)]).astype(real)
    value, slope = applied(vector_math.erf_and_slope(real), x)
    exact = x.astype(np.float64)
    assert np.abs(value - special.erf(exact / 2**0.5)).max() < error
    assert np.abs(slope - (2 / np.pi) ** 0.5 * np.exp(-(exact**2) / 2)).max() < error
    np.testing.assert_array_equal(applied(vector_math.erf_and_slope(real), -x)[0], -value)  # exactly odd
    small = np.abs(exact) < 1
    np.testing.assert_allclose(value[small], special.erf(exact[small] / 2**0.5), rtol=10 * error)


@pytest.mark.parametrize(("real", "error"), [(np.float32, 4e-7), (np.float64, 1.5e-15)])
def test_tanh_equals_numpys_relatively(real, error):
    x = np.concatenate([np.linspace(-25, 25, 20_001), np.geomspace(1e-30, 40, 999)]).astype(real)
    function = vector_math.tanh(real)
    once = vector_math.inlined(lambda z: (function(z), z))
    np.testing.assert_allclose(applied(once, x)[0], np.tanh(x.astype(np.float64)), rtol=error)
    ends = applied(once, np.array([np.inf, -np.inf, np.nan], real))[0]
    assert ends[0] == 1 and ends[1] == -1 and np.isnan(ends[2])


def test_erf_of_infinity_and_of_nan():
    value, slope = applied(vector_math.erf_and_slope(np.float64), np.array([np.inf, -np.inf, np.nan]))
    np.testing.assert_allclose(value[:2], [1, -1], rtol=1e-14)
    np.testing.assert_allclose(slope[:2], 0, atol=1e-14)
    assert np.isnan(value[2])
    assert np.isnan(slope[2])


@pytest.mark.parametrize(("real", "error"), [(np.float32, 2e-6), (np.float64, 2e-14)])
def test_erfi_equals_scipys_relatively(real, error):
    x = np.linspace(-3.5, 3.5, 5000).astype(real)
    function = vector_math.erfi(real)
    value, _ = applied(vector_math.inlined(lambda z: (function(z), z)), x)
    np.testing.assert_allclose(value, special.erfi(x.astype(np.float64)), rtol=error)


def xoshiro(state: list[int]) -> int:
    """One number of xoshiro256++ in whole numbers without end, from its published definition."""

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> 64 - by) & MASK

    number = (rotated(state[0] + state[3] & MASK, 23) + state[0]) & MASK
    shifted = state[1] << 17 & MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = rotated(state[3], 45)
    return number


def test_every_lane_is_a_xoshiro_generator():
    """The first numbers from the state 1, 2, 3, 4 are published ones."""
    state = vector_math.lanes(stream("lanes"))
    state[:, 7] = 1, 2, 3, 4
    slow, found = [state[:, lane].tolist() for lane in (0, 7, 255)], np.empty(vector_math.LANES, np.uint64)
    published = [41943041, 58720359, 3588806011781223, 3591011842654386]
    for number in range(20):
        vector_math.words(state, found)
        assert found[[0, 7, 255]].tolist() == [xoshiro(s) for s in slow]
        if number < len(published):
            assert found[7] == published[number]


@pytest.mark.parametrize(("real", "error"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_normal_numbers_are_box_and_mullers(real, error):
    """Radius from the upper, angle from the lower half of a word; bits 30 and 31 mirror the angle."""
    rng = stream("normals")
    state, drawn = vector_math.lanes(rng), np.empty((3, vector_math.LANES), np.uint64)
    again, found = state.copy(), np.empty(3 * vector_math.GROUP, real)
    for row in drawn:
        vector_math.words(again, row)
    vector_math.normals(real)(state, found)
    np.testing.assert_array_equal(state, again)
    radius = np.sqrt(-2 * np.log(((drawn >> np.uint64(32)).astype(float) + 0.5) / 2**32))
    angle = (drawn & np.uint64(2**30 - 1)) * (np.pi / 2**31) - np.pi / 4
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    sign = np.where(drawn & np.uint64(2**31), -1, 1)
    swapped = (drawn & np.uint64(2**30)) > 0
    wanted = np.stack([sign * np.where(swapped, y, x), sign * np.where(swapped, x, y)], axis=1)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=error)


def test_the_extreme_words_give_finite_normal_numbers():
    """u next to 0 is as far out as a number can be; u rounds to 1 in single precision, and the radius is 0."""
    for word, radius in ((0, (66 * np.log(2)) ** 0.5), (MASK, 0.0)):
        # With b = c = d = 0 the first number of a lane is rotl(a, 23) + a, which is 0 for a = 0; all ones comes of
        # a + d = 0 and a = all ones.
        state = np.zeros((4, vector_math.LANES), np.uint64)
        state[0], state[3] = (0, 0) if word == 0 else (MASK, 1)
        for real in REALS:
            found = np.empty(vector_math.GROUP, real)
            vector_math.normals(real)(state.copy(), found)
            assert np.hypot(*found.reshape(2, -1)).max() == pytest.approx(radius, abs=2e-5)

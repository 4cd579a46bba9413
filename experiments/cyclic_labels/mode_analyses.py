"""What the projections of many runs have in common: order of decay, bumps, and the sentences about Figures 8 and 9."""

from __future__ import annotations

import numpy as np
import xarray as xr

from experiments.cyclic_labels import modes
from shallow import stats


def order_of_decay(decay: np.ndarray) -> np.ndarray:
    """Spearman's rho of mode number and decay epoch (runs, modes), NaN (never) being last; 0 where all tie; (runs,)."""
    numbers = np.arange(decay.shape[1])
    return np.nan_to_num([stats.rank_correlation(numbers, np.nan_to_num(row, nan=np.inf)) for row in decay])


def agreement_in_time(tracks: xr.Dataset) -> np.ndarray:
    """Spearman's rho over time of the moving rms of beta and of the residual, for every run and mode: (runs, modes)."""
    pairs = zip(tracks.beta.values, tracks.residual.values, strict=True)
    sizes = [(modes.moving_rms(beta), modes.moving_rms(residual)) for beta, residual in pairs]
    return np.array([[stats.rank_correlation(b[:, i], r[:, i]) for i in range(b.shape[1])] for b, r in sizes])


def phases(beta: np.ndarray, low: int, peak: int) -> np.ndarray:
    """Rms of beta (..., records, modes) in the window before low, from low to peak, and in the window after the peak.

    Returns shape (..., 3, modes).  A late peak leaves the last window as many records as there are.
    """
    a, b = low // modes.EVERY, min(peak // modes.EVERY, beta.shape[-2] - 2)
    spans = (slice(a - modes.WINDOW, a), slice(a, b + 1), slice(b + 1, b + 1 + modes.WINDOW))
    return np.stack([np.sqrt((beta[..., span, :] ** 2).mean(axis=-2)) for span in spans], axis=-2)


def changes_of_phase(beta: np.ndarray, lows: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """Changes of the rms over the phases of every window in every run: (windows, runs, 2 modes).

    First, for each mode, the change from before the low to low-to-peak; then that from there to after the peak.
    """
    changes = [np.diff(phases(beta, low, peak), axis=-2) for low, peak in zip(lows, peaks, strict=True)]
    return np.stack(changes).reshape(len(lows), len(beta), -1)


def in_own_windows(tracks: xr.Dataset, bumps: xr.Dataset) -> np.ndarray:
    """The three sizes of :func:`phases` of every run with a recovering bump: (runs, 3, modes)."""
    chosen = np.flatnonzero(bumps.recovers)
    beta, low, peak = tracks.beta.values, bumps.low.values, bumps.peak.values
    return np.stack([phases(beta[s], int(low[s]), int(peak[s])) for s in chosen])


def stratum(tracks: xr.Dataset, bumps: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One stratum of :func:`contrast`: runs with a recovering bump against runs with no bump at all."""
    own, others = np.flatnonzero(bumps.recovers), np.flatnonzero(~bumps.bump)
    return changes_of_phase(tracks.beta.values, bumps.low.values[own], bumps.peak.values[own]), own, others


def contrast(
    strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]], *, name: str, permutations: int = 2000, level: float = 0.05
) -> xr.Dataset:
    """Do runs change more in their own windows than other runs do in the same windows?

    Args:
        strata: for each design (changes, own, others): the changes of every run in every window (windows, runs, looks),
            the run that each window belongs to (windows,), and the runs to compare with (others,).
        name: of the random stream.
        permutations: relabellings of runs within their stratum; windows stay, runs take each other's places.

    Returns:
        Dataset over `look`: estimate, the mean over windows of own minus mean other; low and high, the 95% interval
        from the permutations; p, two-sided permutation p-values adjusted by Holm over all looks; and the scalar
        false_alarms: the share of relabellings in which the same rule finds a p below level.
    """
    rng = stats.stream("contrast", name)
    estimate = _own_minus_others(strata)
    null = np.stack([_own_minus_others(_relabelled(strata, rng)) for _ in range(permutations)])
    size = np.sort(np.abs(null), axis=0)

    def adjusted(values: np.ndarray) -> np.ndarray:
        as_large = [permutations - np.searchsorted(size[:, k], abs(v) - 1e-12) for k, v in enumerate(values)]
        return stats.holm((1 + np.array(as_large)) / (1 + permutations))

    alarms = np.mean([(adjusted(values) < level).any() for values in null[: permutations // 4]])
    spread = np.quantile(null, [0.025, 0.975], axis=0)
    data = {"estimate": estimate, "low": estimate - spread[1], "high": estimate - spread[0], "p": adjusted(estimate)}
    return xr.Dataset({key: ("look", value) for key, value in data.items()} | {"false_alarms": ((), alarms)})


def _own_minus_others(strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Mean over all windows of the change of the own run minus the mean change of the others, per look."""
    parts = [changes[np.arange(len(own)), own] - changes[:, others].mean(axis=1) for changes, own, others in strata]
    return np.concatenate(parts).mean(axis=0)


def _relabelled(
    strata: list[tuple[np.ndarray, np.ndarray, np.ndarray]], rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The strata with the runs permuted among own and others."""
    mixed = [rng.permutation(np.concatenate([own, others])) for _, own, others in strata]
    cut = zip(strata, mixed, strict=True)
    return [(changes, runs[: len(own)], runs[len(own) :]) for (changes, own, _), runs in cut]


def figure_8(tracks: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 8, for every run, on the first five modes of which three have to obey; (runs,) each.

    "starts large": $|\beta_i(0)| > \sqrt n / 10$; "decays": rms of the last window below a quarter of that start; "no
    dominance": no mode has more than half of the energy of the five over the last half.
    """
    five, root = tracks.sel(mode=slice(1, 5)), np.sqrt(tracks.attrs["n"])
    final = np.sqrt((five.beta[:, -modes.WINDOW :] ** 2).mean("epoch"))
    energy = five.late_rms**2
    return {
        "starts large": ((five.start > root / 10).sum("mode") >= 3).values,
        "decays": ((final < five.start / 4).sum("mode") >= 3).values,
        "no dominance": (energy.max("mode") <= 0.5 * energy.sum("mode")).values,
    }


def figure_9(tracks: xr.Dataset) -> dict[str, np.ndarray]:
    r"""The sentences about Figure 9, for every run, on the first five modes; (runs,) each.

    "early > late": the standard deviation of the first tenth exceeds that of the last half in four modes; "1, 2 most":
    the first two modes have the two largest early deviations, or over 2/5 of the summed variance; "all settle": rms of
    the last half below $\sqrt n / 10$ in all; "last": the mode that is the last to stay below that level, 0
    where several never do.
    """
    five, root = tracks.sel(mode=slice(1, 5)), np.sqrt(tracks.attrs["n"])
    early = five.early_std.values
    quiet = five.quiet.fillna(np.inf).values
    unique = (quiet == quiet.max(axis=1, keepdims=True)).sum(axis=1) == 1
    two_largest = early[:, :2].min(axis=1) >= early[:, 2:].max(axis=1)
    return {
        "early > late": (early > five.late_std.values).sum(axis=1) >= 4,
        "1, 2 most": two_largest | ((early[:, :2] ** 2).sum(axis=1) > 0.4 * (early**2).sum(axis=1)),
        "all settle": (five.late_rms < root / 10).all("mode").values,
        "last": np.where(unique, quiet.argmax(axis=1) + 1, 0),
    }

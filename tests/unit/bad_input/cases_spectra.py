"""Spectra: random-matrix laws, tails and shapes."""

import numpy as np
from unit.bad_input.given import LAW, VALUES, X
from unit.bad_input.spoil import case

from experiments.heavy_tails import modes, overlaps, row_profile, shapes
from shallow.spectra import esd, marchenko_pastur, rank_one, tail_laws, tails

PROFILE = row_profile.RowProfile(np.linspace(1, 2, 9), 6)
LAWS = [tail_laws.PowerLaw(1.0, 2.0), tail_laws.Exponential(1.0, 2.0), tail_laws.LogNormal(1.0, 0.5, 2.0),
        tail_laws.TruncatedPowerLaw(1.0, 2.0, 0.5)]  # fmt: skip

CASES = [
    case(esd.as_matrix, "name=*", name="W", W=X),
    case(esd.ascending, values=VALUES),
    case(esd.eigenvalues, W=X),
    case(esd.stable_rank, values=VALUES),
    case(esd.signed_distances, shares=np.array([0.2, 0.5, 0.9])),
    case(esd.best_scale, cdf=LAW.cdf, values=VALUES),
    case(esd.singular_vectors, W=X),
    case(esd.top, "W=longer", W=X, k=1, start=np.ones(3)),
    case(marchenko_pastur.MarchenkoPastur, "variance=1e300", h=9, d=6, variance=0.5),
    case(LAW.density, "values=inf", values=VALUES),
    case(LAW.cdf, "values=inf", values=VALUES),
    case(LAW.quantile, shares=np.array([0.2, 0.5])),
    case(LAW.moment, "k=0", k=2),
    case(LAW.distance, values=VALUES),
    case(marchenko_pastur.fit, values=VALUES, h=90, d=60),
    case(marchenko_pastur.fitted_distance, values=VALUES, h=90, d=60),
    case(modes.silverman, values=VALUES),
    case(modes.modes, "bandwidth=1e300", values=VALUES, bandwidth=0.1, least=0.05),
    case(overlaps.overlap(np.eye(3), np.eye(3)).diagonal_blocks, ends=(1, 3)),
    case(overlaps.overlap, first=np.eye(3), second=-np.eye(3)),
    case(overlaps.overlaps, W=X, M=X[::-1]),
    case(rank_one.threshold, "variance=1e300", h=20, d=10, variance=0.5),
    case(rank_one.spike, "variance=1e300", theta=np.array([1.0, 4.0]), h=20, d=10, variance=0.5),
    case(rank_one.strength, eigenvalue=np.array([90.0]), h=20, d=10, variance=0.5),
    case(row_profile.RowProfile, variances=np.array([1.0, 2.0, 3.0]), d=2),
    case(row_profile.RowProfile.log_normal, "spread=0", h=9, d=6, spread=0.5),
    case(PROFILE.cdf, "values=inf", values=VALUES),
    case(PROFILE.distance, values=VALUES),
    case(row_profile.fit_log_normal, values=VALUES, h=9, d=6),
    case(shapes.shape, values=VALUES, h=60, d=70, initial=VALUES[::-1]),
    case(shapes.change, values=VALUES, initial=VALUES * 1.1),
    *(case(law.log_density, x=VALUES + 1) for law in LAWS),
    *(case(law.fit, values=VALUES, xmin=0.2) for law in LAWS),
    case(tail_laws.vuong, first=LAWS[0], second=LAWS[1], values=VALUES + 1),
    case(tail_laws.vuong(*LAWS[:2], VALUES).favours, level=0.05),
    case(tails.hill, values=VALUES),
    case(tails.hill_path, values=VALUES),
    case(tails.scan, values=VALUES),
    case(tails.power_law, values=VALUES, least=3),
    case(tails.interval, "name=*", values=VALUES, name="a", least=3, resamples=5),
    case(tails.goodness, "name=*", values=VALUES, name="a", least=3, resamples=5),
]  # fmt: skip

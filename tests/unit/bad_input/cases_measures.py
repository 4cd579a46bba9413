"""Spectra, early alignment and receptive fields."""

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import FIELDS, LAW, UNIT, VALUES, X, Y
from unit.bad_input.spoil import case

from shallow import alignment
from shallow import receptive_fields as fields
from shallow.spectra import esd, marchenko_pastur, rank_one, tail_laws, tails

LAWS = [tail_laws.PowerLaw(1.0, 2.0), tail_laws.Exponential(1.0, 2.0), tail_laws.LogNormal(1.0, 0.5, 2.0)]

CASES = [
    case(esd.as_matrix, "name=*", name="W", W=X),
    case(esd.ascending, values=VALUES),
    case(esd.eigenvalues, W=X),
    case(esd.stable_rank, values=VALUES),
    case(esd.signed_distances, shares=np.array([0.2, 0.5, 0.9])),
    case(esd.best_scale, cdf=LAW.cdf, values=VALUES),
    case(esd.singular_vectors, W=X),
    case(esd.top, W=X, k=1),
    case(marchenko_pastur.MarchenkoPastur, "variance=1e300", h=9, d=6, variance=0.5),
    case(LAW.density, "values=inf", values=VALUES),
    case(LAW.cdf, "values=inf", values=VALUES),
    case(LAW.quantile, shares=np.array([0.2, 0.5])),
    case(LAW.moment, "k=0", k=2),
    case(LAW.distance, values=VALUES),
    case(marchenko_pastur.fit, values=VALUES, h=90, d=60),
    case(marchenko_pastur.fitted_distance, values=VALUES, h=90, d=60),
    case(rank_one.threshold, "variance=1e300", h=20, d=10, variance=0.5),
    case(rank_one.spike, "variance=1e300", theta=np.array([1.0, 4.0]), h=20, d=10, variance=0.5),
    case(rank_one.strength, eigenvalue=np.array([90.0]), h=20, d=10, variance=0.5),
    *(case(law.log_density, x=VALUES + 1) for law in LAWS),
    *(case(law.fit, values=VALUES, xmin=0.2) for law in LAWS),
    case(tail_laws.vuong, first=LAWS[0], second=LAWS[1], values=VALUES + 1),
    case(tail_laws.vuong(*LAWS[:2], VALUES).favours, level=0.05),
    case(tails.hill, values=VALUES),
    case(tails.hill_path, values=VALUES),
    case(tails.scan, values=VALUES),
    case(tails.power_law, values=VALUES, least=3),
    case(tails.goodness, "name=*", values=VALUES, name="a", least=3, resamples=5),
    case(alignment.vector, x=X, y=Y, w=X[:2]),
    case(alignment.function, x=X, y=Y, w=X[:2]),
    case(alignment.population, teacher=given.LINEAR, w=X[:2]),
    case(alignment.population_linear, covariance=np.eye(3), beta=UNIT),
    case(alignment.sample, x=X, y=Y),
    case(fields.inverse_participation_ratio, W=FIELDS, dimension=1),
    case(fields.noise_level, "cut=0,1e300", shape=10, cut=3.0),
    case(fields.centre, W=FIELDS, dimension=1),
    case(fields.peak_sign, W=FIELDS, dimension=1),
    case(fields.window_share, W=FIELDS, length=3, dimension=1),
    case(fields.frequencies, "shape=scalar", shape=(10,)),
    case(fields.opposite, "shape=scalar", shape=(10,)),
    case(fields.mean_frequency, W=FIELDS, dimension=1),
    case(fields.low_share, "cut=inf,0,1e300", W=FIELDS, cut=2.0, dimension=1),
    case(fields.low_pass, "cut=inf,0,1e300", W=FIELDS, cut=2.0, dimension=1),
    case(fields.checked, "W=empty,stacked", W=FIELDS, dimension=1),
]  # fmt: skip

"""Spectra, early alignment, clusters of directions, losses under Gaussian inputs and receptive fields."""

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import CLASSES, FIELDS, LAW, LINE, UNIT, VALUES, X, Y
from unit.bad_input.spoil import case

from shallow import alignment, clusters, gaussian_loss
from shallow import receptive_fields as fields
from shallow.spectra import esd, marchenko_pastur, nulls, profiles, rank_one, tail_laws, tails, tops, weights

LAWS = [tail_laws.PowerLaw(1.0, 2.0), tail_laws.Exponential(1.0, 2.0), tail_laws.LogNormal(1.0, 0.5, 2.0)]
PROFILE = profiles.ProfileLaw(9, np.linspace(1.0, 2.0, 6))
OF_FIELDS = [fields.inverse_participation_ratio, fields.centre, fields.peak_sign, fields.mean_frequency]

CASES = [
    case(esd.as_matrix, "name=*", name="W", W=X),
    case(esd.signed_distances, shares=np.array([0.2, 0.5, 0.9])),
    case(esd.best_scale, cdf=LAW.cdf, values=VALUES),
    *(case(of, W=X) for of in (esd.eigenvalues, esd.resolved, esd.singular_vectors)),
    case(esd.top, W=X, k=1),
    case(marchenko_pastur.MarchenkoPastur, "variance=1e300", h=9, d=6, variance=0.5),
    *(case(function, "values=inf", values=VALUES) for function in (LAW.density, LAW.cdf)),
    case(LAW.quantile, shares=np.array([0.2, 0.5])),
    case(LAW.moment, "k=0", k=2),
    case(LAW.distance, values=VALUES, matrices=2),
    *(
        case(fit, values=VALUES, h=90, d=60, matrices=2)
        for fit in (marchenko_pastur.fit, marchenko_pastur.fitted_distance)
    ),
    case(marchenko_pastur.spectrum, rng=given.RNG, h=9, d=6),
    case(nulls.noise, h=9, d=6, matrices=2, draws=3),
    *(case(of, W=X, rng=given.RNG) for of in (nulls.shuffled, nulls.permuted_within_columns, nulls.lengths)),
    case(nulls.balanced, W=X, sweeps=5),
    case(weights.readings, "array=nan,inf,empty,scalar,stacked,longer", array=X),
    case(profiles.equalised_columns, W=X),
    case(profiles.ProfileLaw, h=9, variances=np.linspace(1.0, 2.0, 6)),
    case(PROFILE.cdf, "values=inf", values=VALUES),
    case(PROFILE.quantile, shares=np.array([0.2, 0.5])),
    case(PROFILE.distance, values=VALUES),
    case(rank_one.threshold, "variance=1e300", h=20, d=10, variance=0.5),
    case(rank_one.spike, "variance=1e300", theta=np.array([1.0, 4.0]), h=20, d=10, variance=0.5),
    case(rank_one.strength, eigenvalue=np.array([90.0]), h=20, d=10, variance=0.5),
    *(case(law.log_density, x=VALUES + 1) for law in LAWS),
    *(case(law.fit, values=VALUES, xmin=0.2) for law in LAWS),
    case(tail_laws.PowerLaw, "xmin=1e300 alpha=1e300", xmin=1.0, alpha=2.0),
    case(tail_laws.Exponential, "xmin=1e300 kappa=1e300", xmin=1.0, kappa=2.0),
    case(tail_laws.LogNormal, "xmin=1e300 mu=0,-1,1e300 sigma=1e300", xmin=1.0, mu=0.5, sigma=2.0),
    case(tail_laws.vuong, first=LAWS[0], second=LAWS[1], values=VALUES + 1),
    case(tail_laws.vuong(*LAWS[:2], VALUES).favours, level=0.05),
    *(case(of, values=VALUES) for of in (esd.ascending, esd.positive, esd.stable_rank)),
    *(case(of, values=VALUES) for of in (tails.hill, tails.hill_path, tails.scan)),
    case(tails.power_law, values=VALUES, least=3),
    case(tops.without_top, "share=0", values=VALUES, share=0.1),
    case(tops.mean_excess, "values=longer", values=VALUES, shares=np.array([0.2, 0.5])),
    case(tops.rise, values=np.arange(1.0, 81.0), without=0.1),
    case(tops.rise_interval, "name=*", values=np.arange(1.0, 81.0), name="a", without=0.1, resamples=5),
    case(tops.exponential_rise, without=0.1),
    case(tops.stretch, "values=stacked", values=VALUES, share=0.1),
    case(tops.exponential_stretch, share=0.01),
    case(tails.goodness, "name=*", values=VALUES, name="a", least=3, resamples=5),
    *(case(of, x=X, y=Y, w=X[:2]) for of in (alignment.vector, alignment.function)),
    case(alignment.population, teacher=given.LINEAR, w=X[:2]),
    case(alignment.population_linear, covariance=np.eye(3), beta=UNIT),
    case(alignment.sample, x=X, y=Y),
    case(clusters.find, network=given.NETWORK, tolerance=0.05),
    case(clusters.find(given.NETWORK).number, share=0.5),
    case(clusters.number_for, "weights=empty", weights=VALUES, share=0.5),
    case(clusters.purity, groups=CLASSES, others=CLASSES, mass=LINE + 1),
    case(clusters.condensed, network=given.NETWORK, clusters=clusters.find(given.NETWORK)),
    case(gaussian_loss.excess_risk, network=given.NETWORK, teacher=given.LINEAR),
    *(case(of, W=FIELDS, dimension=1) for of in OF_FIELDS),
    case(fields.noise_level, "cut=0,1e300", shape=10, cut=3.0),
    case(fields.window_share, W=FIELDS, length=3, dimension=1),
    *(case(of, "shape=scalar", shape=(10,)) for of in (fields.frequencies, fields.opposite)),
    *(case(of, "cut=inf,0,1e300", W=FIELDS, cut=2.0, dimension=1) for of in (fields.low_share, fields.low_pass)),
    case(fields.checked, "W=empty,stacked", W=FIELDS, dimension=1),
]

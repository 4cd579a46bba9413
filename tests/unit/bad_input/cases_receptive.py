"""Receptive fields: their shapes, populations, and what drives them."""

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import BIASES, COVARIANCE, FIELDS, OTHER, RING, RNG, SHORT, VALUES
from unit.bad_input.spoil import case

from experiments.localization import dominance, gaussian_flow, populations, starting_loss
from shallow.receptive import fields, gabor

NETWORK = dict(W=FIELDS, b=BIASES)
CLASSES = dict(first=COVARIANCE, second=OTHER)
SPECTRA = dict(first=RING.spectrum, second=SHORT.spectrum)
PROCESSES = dict(first=RING, second=SHORT)
OUTCOMES = np.array([[1, -1, 0, 1], [1, 1, 0, -1]], dtype=np.int8)

CASES = [
    case(dominance.at_a_point, "ratio=inf", ratio=np.array([0.5, 2.0])),
    case(dominance.on_average, **SPECTRA),
    case(dominance.variance_ratio, W=FIELDS, **SPECTRA),
    case(dominance.extremes, **SPECTRA, cut=1e-6),
    case(dominance.gabors, "widths=inf carriers=longer", n=10, widths=np.array([1.0, 2.0]),
         carriers=np.array([0.0, 1.0])),
    case(dominance.outcomes_at_a_point, rng=RNG, **PROCESSES, W=FIELDS, pairs=3),
    case(dominance.outcomes_on_average, "biases=longer", rng=RNG, **PROCESSES, W=FIELDS, biases=BIASES, pairs=3),
    case(dominance.probability, outcomes=OUTCOMES),
    case(dominance.advantage, "outcomes=scalar rival=scalar", outcomes=OUTCOMES[0], rival=OUTCOMES[1]),
    case(dominance.tuned_on_average, "scales=longer biases=longer", **PROCESSES, W=FIELDS,
         scales=np.array([0.5, 1.0]), biases=BIASES, select=RNG, evaluate=RNG, pairs=(3, 4)),
    case(fields.inverse_participation_ratio, W=FIELDS, dimension=1),
    case(fields.noise_level, "cut=0,1e300", shape=10, cut=3.0),
    case(fields.centre, W=FIELDS, dimension=1),
    case(fields.peak_sign, W=FIELDS, dimension=1),
    case(fields.window_share, W=FIELDS, length=3, dimension=1),
    case(fields.frequencies, "shape=scalar", shape=(10,)),
    case(fields.opposite, "shape=scalar", shape=(10,)),
    case(fields.spectrum, W=FIELDS, dimension=1),
    case(fields.mean_frequency, W=FIELDS, dimension=1),
    case(fields.low_share, "cut=inf,0,1e300", W=FIELDS, cut=2.0, dimension=1),
    case(fields.low_pass, "cut=inf,0,1e300", W=FIELDS, cut=2.0, dimension=1),
    case(fields.checked, "W=empty,stacked", W=FIELDS, dimension=1),
    case(gabor.fit, "W=empty,stacked", W=FIELDS[:1], model="gabor", dimension=1, starts=2),
    case(gaussian_flow.first_signs, W=FIELDS, **CLASSES),
    case(gaussian_flow.mean_gradient, **NETWORK, covariance=COVARIANCE),
    case(gaussian_flow.output_gradient, **NETWORK, covariance=COVARIANCE),
    case(gaussian_flow.loss, **NETWORK, **CLASSES),
    case(gaussian_flow.velocity, **NETWORK, **CLASSES, coupled=True),
    case(gaussian_flow.integrate, **NETWORK, **CLASSES, times=np.array([0.0, 0.1]), tolerance=1e-6),
    case(populations.population, "dead_zone=inf,0,1e300", b=BIASES, dead_zone=1e-3),
    case(populations.balance, "dead_zone=inf,0,1e300", b=BIASES, dead_zone=1e-3),
    case(populations.order, "dead_zone=inf,0,1e300", **NETWORK, dead_zone=1e-3),
    case(populations.match, U=FIELDS, V=FIELDS[:2], dimension=1),
    case(populations.spectral_similarity, U=FIELDS, V=FIELDS[:2], dimension=1),
    case(populations.pairs, f"values=nan,inf,words,{given.OF_ANY_KIND}", values=np.eye(3)),
    case(populations.aligned, W=FIELDS, dimension=1),
    case(populations.largest_gap, "positions=empty n=1/2", positions=np.array([1.0, 4.0]), n=10),
    case(populations.rayleigh, "n=1/2", positions=np.array([1.0, 4.0]), n=10),
    case(starting_loss.averaged, "first=scalar,longer second=scalar,longer variance=0,1e300", activation="erf",
         first=VALUES, second=VALUES + 1, neurons=4, variance=0.1),
    case(starting_loss.averaged_gaussian, "first=scalar,stacked,longer second=scalar,stacked,longer variance=0,1e300",
         activation="erf", first=VALUES, second=VALUES + 1, neurons=4, variance=0.1),
    case(starting_loss.of_network, "W=longer", activation="erf", W=FIELDS, **CLASSES),
]  # fmt: skip

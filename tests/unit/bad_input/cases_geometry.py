"""Geometry: directions, clusters, folds."""

import numpy as np
from unit.bad_input import given
from unit.bad_input.given import CLASSES, RNG, UNIT, X, Y
from unit.bad_input.spoil import case

from experiments.hidden_structure import folding
from experiments.simplicity_bias import circles, clusters, deviation, gaussian_loss, infinite_sample
from shallow.geometry import alignment, extremal, hidden_direction

PLANE, FEW = X[:, :2], X[:4]
CLUSTERS = clusters.find(given.NETWORK)

CASES = [
    case(alignment.signs, "x=longer", x=X, w=X[:2]),
    case(alignment.vector, x=X, y=Y, w=X[:2]),
    case(alignment.function, x=X, y=Y, w=X[:2]),
    case(alignment.bundle, x=X, y=Y, pattern=np.array([1, 0, -1, 1, 0, -1, 1, 1])),
    case(alignment.population, teacher=given.LINEAR, w=X[:2]),
    case(alignment.population_linear, covariance=np.eye(3), beta=UNIT),
    case(alignment.sample, x=X, y=Y),
    case(circles.patterns, x=PLANE),
    case(clusters.number_for, "weights=empty", weights=np.array([0.5, 0.3, 0.2]), share=0.9),
    case(CLUSTERS.number, share=0.9),
    case(clusters.find, network=given.NETWORK, tolerance=0.05),
    case(clusters.purity, groups=CLASSES, others=CLASSES, mass=np.ones(8)),
    case(clusters.condensed, network=given.NETWORK, clusters=CLUSTERS),
    case(deviation.supremum, x=PLANE, y=Y, population=np.zeros(2)),
    case(deviation.search, rng=RNG, x=X, y=Y, population=np.zeros(3), starts=2, sweeps=5),
    case(extremal.circle, x=PLANE, y=Y),
    case(extremal.faces, x=FEW, y=Y[:4]),
    case(extremal.brute_force, x=FEW, y=Y[:4]),
    case(extremal.of_patterns, "patterns=longer", x=FEW, y=Y[:4], patterns=np.array([[1, 1, -1, 0], [1, 1, 1, 1]])),
    case(extremal.orthogonal, x=np.eye(3), y=UNIT + 1),
    case(extremal.orthogonal_count, "positive=0 negative=0", positive=2, negative=1),
    case(folding.nearest, "points=longer", queries=X, points=X[::-1]),
    case(folding.match_fractions, queries=X, labels=CLASSES, points=X[::-1], point_labels=CLASSES),
    case(folding.quotient, features=X, reflections=-X[None], labels=CLASSES),
    case(gaussian_loss.excess_risk, network=given.NETWORK, teacher=given.LINEAR),
    case(hidden_direction.cosines, W=X, direction=UNIT, least=0.0),
    case(hidden_direction.aligned, "cosine=nan", cosine=np.array([0.1, 0.9]), threshold=0.5),
    case(hidden_direction.RandomCosine, dimension=3),
    case(hidden_direction.RandomCosine(3).above, "threshold=0", threshold=0.5),
    case(hidden_direction.RandomCosine(3).quantile, "probability=0", probability=0.5, units=2),
    case(hidden_direction.push, "coefficients=longer", W=X, b=Y, coefficients=np.array([0.0, 1.0, 0.5]),
         direction=UNIT, covariance=np.eye(3)),
    case(infinite_sample.on_circle, teacher=given.PLANE),
    case(infinite_sample.newton, teacher=given.NETWORK, starts=X),
]  # fmt: skip

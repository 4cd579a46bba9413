"""Trainers and read-outs."""

import numpy as np
import torch
from unit.bad_input import given
from unit.bad_input.given import LINE, RNG, SIGNS, SINGLE, STUDENT, X, Y
from unit.bad_input.spoil import case

from experiments.hidden_structure import linear_flow
from shallow.data import single_index
from shallow.train import (
    accumulated,
    dense,
    ensemble,
    first_layer,
    first_step,
    flow,
    minibatch,
    online,
    univariate,
    variants,
)

DEEP = dict(x=np.random.default_rng(0).standard_normal((6, 1, 2, 2)), y=np.array([0, 1, 2, 0, 1, 2]))
TENSORS = dict(x=torch.tensor(DEEP["x"], dtype=torch.float32), y=torch.tensor(DEEP["y"]))
RULE = first_layer.Adam()
RUN = univariate.train(LINE, SIGNS, given.BIASED, step=0.1, epochs=2, keep_gradients=True)
STACK = dict(networks=given.STACK, x=X, y=Y, rngs=[np.random.default_rng(0), np.random.default_rng(1)])
FIT = ensemble.train(**STACK, loss="absolute", optimiser="adam", rate=0.01, epochs=2, batch=4, records=[1])
COMMITTEES = dict(networks=given.COMMITTEE, processes=(given.RING, given.SHORT), rngs=[np.random.default_rng(0)])
ONLINE = online.train(**COMMITTEES, rate=0.1, steps=2, batch=4)

CASES = [
    case(accumulated.gradient, network=given.tiny(), **TENSORS, micro_batch=4),
    case(accumulated.loss, network=given.tiny(), **TENSORS, micro_batch=4),
    case(accumulated.train, **DEEP, network=given.tiny(), step=0.01, steps=2, records=np.array([0, 2]),
         micro_batch=4),
    case(dense.train, x=X, y=SIGNS, network=given.NETWORK, step=0.1, epochs=2, records=1, rates=(1.0, 1.0, 0.5),
         decay=0.1),
    case(FIT.snapshot, epoch=1),
    case(ensemble.train, "x=stacked y=stacked min_delta=0,1e300 warmup=0 records=empty", **STACK, loss="absolute",
         optimiser="adam", rate=0.01, decay=0.1, epochs=2, batch=4, validation=(X, Y), patience=1, min_delta=1e-4,
         mode="reinit", warmup=1, records=[1], jobs=1),
    case(first_layer.Adam, "beta1=0 beta2=0 eps=0,1e300", beta1=0.9, beta2=0.999, eps=1e-8),
    case(first_layer.Trainer, "factor=1e300", x=X, y=Y, student=SINGLE, rule=RULE, factor=0.5, normalise="after"),
    case(first_layer.Trainer(X, Y, SINGLE, RULE).step, "rate=0", rate=0.1),
    case(first_layer.Trainer(X, Y, SINGLE, RULE).update, "rate=0", gradient=torch.ones(5, 3), rate=0.1),
    case(first_layer.train, x=X, y=Y, student=SINGLE, rule=RULE, rate=0.1, steps=2, decay=0.9, factor=0.5,
         normalise="after", records=[0, 1], interval=2),
    case(first_step.directions, x=X, y=Y, student=SINGLE, rules=[RULE]),
    case(first_step.students, "rates=longer", x=X, y=Y, student=SINGLE, rules=[RULE], rates=[0.1, 1.0]),
    case(first_step.gradient_norm, "noise=0 factor=1e300", student=STUDENT, teacher=single_index.moments("tanh"), n=5,
         noise=0.1, factor=0.5),
    case(flow.train, "steps=0", x=X, y=Y, network=given.NETWORK, step=0.1, steps=5, records=2),
    case(linear_flow.integrate, a=given.BIASES, W=X[:4], beta=given.UNIT, times=np.array([0.0, 0.1]),
         variances=np.array([1.0, 2.0, 1.0]), tolerance=1e-6),
    case(linear_flow.balanced, "times=inf strength=1e300", times=np.array([0.0, 0.1]), strength=1.0, start=0.1),
    case(minibatch.Batches, n=8, size=3, rng=RNG),
    case(minibatch.Batches(8, 3, RNG).take, "count=0", count=2),
    case(minibatch.train, x=X, y=Y, network=given.NETWORK, rate=0.1, steps=5, batch=4, rng=RNG, decay=0.9, every=2,
         records=[1, 2], interval=2),
    case(ONLINE.snapshot, "step=0", step=1),
    case(online.log_spaced, "steps=0", steps=20, per_decade=5),
    case(online.train, "offset=-1 labels=booleans", **COMMITTEES, rate=0.1, steps=2, batch=4, labels=(1.0, -1.0),
         loss="square", offset=0.1, bounds=(-2.0, 2.0), records=[1, 2], jobs=1),
    case(online.batches, "steps=0", pair=(given.RING, given.SHORT), rng=RNG, steps=2, batch=4),
    case(univariate.every, "epochs=0", interval=2, epochs=5),
    case(RUN.projections, vectors=X),
    case(univariate.train, "epochs=0 grid=scalar", x=LINE, y=SIGNS, network=given.BIASED, step=0.1, epochs=3,
         records=2, grid=LINE, rates=(1.0, 1.0, 0.5), agop=0.1, decay=0.1, reduction="mean"),
    case(univariate.train_many, "epochs=0 step=1e300", problems=[(LINE, SIGNS, given.BIASED)], jobs=1,
         errors="return", step=0.1, epochs=3),
    case(univariate.evaluate, "points=scalar", network=given.BIASED, points=LINE),
    case(variants.train, x=X, y=Y, network=given.NETWORK, activation="gelu", optimiser="adam", rate=0.1, steps=2,
         batch=4, rng=RNG, records=[1, 2]),
]  # fmt: skip

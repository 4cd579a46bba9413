"""Trainers and read-outs."""

import numpy as np
import torch
from unit.bad_input import given
from unit.bad_input.given import LINE, RNG, SIGNS, SINGLE, X, Y
from unit.bad_input.spoil import case

from shallow.train import accumulated, ensemble, first_layer, flow, minibatch, online, plain, run, univariate
from shallow.train import whole_committee as whole

DEEP = dict(x=np.random.default_rng(0).standard_normal((6, 1, 2, 2)), y=np.array([0, 1, 2, 0, 1, 2]))
TENSORS = dict(x=torch.tensor(DEEP["x"], dtype=torch.float32), y=torch.tensor(DEEP["y"]))
RULE = first_layer.Adam()
STUDENT = dict(x=X, y=Y, student=SINGLE, rule=RULE)
BATCHES = dict(rng=RNG, rate=0.1, steps=5, batch=4, decay=0.9)
SLOWER = dict(rates=(1.0, 1.0, 0.5), decay=0.1)
ON_LINE = dict(x=LINE, y=SIGNS, network=given.BIASED, step=0.1, grid=LINE)
RUN = univariate.train(**ON_LINE, epochs=2, keep_gradients=True)
HINGE = dict(x=X, y=SIGNS, network=given.NETWORK, activation="relu", loss="hinge", reduction="sum", step=0.1)
HINGE_EACH = {k: v for k, v in HINGE.items() if k != "network"} | {"networks": [given.NETWORK] * 2}
STACK = dict(networks=given.STACK, x=X, y=Y, rngs=[np.random.default_rng(0), np.random.default_rng(1)], jobs=1)
ADAM = dict(loss="absolute", optimiser="adam", rate=0.01, decay=0.1, epochs=2, batch=4, records=[1])
STOPPING = dict(validation=(X, Y), validation_batch=2, patience=1, min_delta=1e-4, mode="reinit", warmup=1)
FIT = ensemble.train(**STACK, **ADAM)
COMMITTEES = dict(networks=given.COMMITTEE, processes=(given.RING, given.SHORT), rngs=[np.random.default_rng(0)])
SHORT = dict(rate=0.1, steps=2, batch=4)
CLASSES = dict(labels=(1.0, -1.0), loss="square", offset=0.1, bounds=(-2.0, 2.0), records=[1, 2])
ONLINE = online.train(**COMMITTEES, **SHORT)
MACHINE = whole.Machine(given.COMMITTEE.W[0], given.COMMITTEE.b[0], np.ones(4))
WHOLE = dict(processes=(given.RING, given.SHORT), rng=np.random.default_rng(0), rates=whole.Rates(0.1, 0.1, 0.1, 0.1))

CASES = [
    *(case(of, network=given.tiny(), **TENSORS, micro_batch=4) for of in (accumulated.gradient, accumulated.loss)),
    case(accumulated.train, **DEEP, network=given.tiny(), step=0.01, steps=2, records=np.array([0, 2]), micro_batch=4),
    case(FIT.snapshot, epoch=1),
    case(ensemble.train, "x=stacked y=stacked min_delta=0,1e300 warmup=0 records=empty", **STACK, **ADAM, **STOPPING),
    case(first_layer.Adam, "beta1=0 beta2=0 eps=0,1e300", beta1=0.9, beta2=0.999, eps=1e-8),
    case(first_layer.Trainer, "factor=1e300", **STUDENT, factor=0.5, normalise="after"),
    case(first_layer.SoftplusTrainer, "factor=1e300", x=X, y=Y, student=given.SOFTPLUS, rule=RULE, factor=0.5),
    case(first_layer.Trainer(X, Y, SINGLE, RULE).step, "rate=0", rate=0.1),
    case(first_layer.Trainer(X, Y, SINGLE, RULE).update, "rate=0", gradient=torch.ones(5, 3), rate=0.1),
    case(first_layer.train, **STUDENT, rate=0.1, steps=2, decay=0.9, factor=0.5, normalise="after", records=[0, 1]),
    case(first_layer.directions, x=X, y=Y, student=SINGLE, rules=[RULE]),
    case(first_layer.students, "rates=longer", x=X, y=Y, student=SINGLE, rules=[RULE], rates=[0.1, 1.0]),
    case(flow.train, "steps=0", x=X, y=Y, network=given.NETWORK, step=0.1, steps=5, records=2),
    case(minibatch.Batches, n=8, size=3, rng=RNG),
    case(minibatch.Batches(8, 3, RNG).take, "count=0", count=2),
    case(minibatch.train, "records=scalar", x=X, y=Y, network=given.NETWORK, **BATCHES, every=2, records=[1, 2]),
    case(ONLINE.snapshot, "step=0", step=1),
    case(plain.train, "records=scalar", **HINGE, **SLOWER, steps=2, rule="adam", batch=4, rng=RNG, records=[1, 2]),
    case(plain.train_each, "batch=None", **HINGE_EACH, rngs=STACK["rngs"], jobs=1, steps=2, batch=4),
    case(plain.gradient, x=X, y=Y, network=given.NETWORK, activation="relu", loss="absolute", reduction="sum"),
    case(plain.hidden, x=X, network=given.NETWORK, activation="tanh"),
    case(run.every, "last=0", interval=2, last=5),
    case(run.log_spaced, "last=0", last=20, per_decade=5),
    case(run.schedule, "records=None last=0", records=2, last=5),
    case(online.train, "offset=-1 labels=booleans records=scalar", **COMMITTEES, **SHORT, **CLASSES, jobs=1),
    case(RUN.projections, vectors=X),
    case(
        univariate.train, "epochs=0 records=None", **ON_LINE, **SLOWER, epochs=3, records=2, agop=0.1, reduction="mean"
    ),
    case(
        whole.train,
        "labels=booleans",
        machine=MACHINE,
        **WHOLE,
        steps=[1, 2],
        batch=4,
        labels=(1.0, -1.0),
        bounds=(-2.0, 2.0),
    ),
    case(
        whole.Machine,
        "W=nan,inf b=nan,inf a=nan,inf c=nan,inf,-1,1e300",
        W=MACHINE.W,
        b=MACHINE.b,
        a=MACHINE.a,
        c=0.5,
    ),
    case(MACHINE.forward, x=np.ones((3, 10))),
    case(univariate.evaluate, network=given.BIASED, points=LINE),
]

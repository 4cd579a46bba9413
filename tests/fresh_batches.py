"""The batches of :mod:`shallow.train.online`, which it never stores: what tests compare its steps and its laws with."""

import numpy as np
from threadpoolctl import threadpool_limits

from shallow.train.fresh_samples import BLOCK, draw, recipe, room
from shallow.train.vector_math import compiled, lanes


def batches(pair, rng, steps, batch=1000, dtype=np.float32):
    """The first batches on which a network with this generator is trained, shape (steps, batch, N); class 1 first."""
    x = np.empty((steps, batch, np.prod(pair[0].shape)), dtype)
    with threadpool_limits(1, user_api="blas"):
        _collect(lanes(rng), tuple(recipe(process, dtype) for process in pair), x)
    return x


@compiled
def _collect(state, recipes, x):
    size, pixels = x.shape[1] // 2, x.shape[2]
    rows = min(max(BLOCK // pixels, 1), size)
    white, mixed = room(recipes, rows)
    for t in range(len(x)):
        for c in range(2):
            for start in range(c * size, (c + 1) * size, rows):
                draw(recipes[c], state, white, mixed, x[t, start : min(start + rows, (c + 1) * size)])

"""A run of the univariate trainer has the same bits on every processor."""

import os
import subprocess
import sys

FINGERPRINT = """
import hashlib
from shallow import nets
from shallow.data import cyclic
from shallow.train import univariate

data = cyclic.sample(60, seed=1)
network = nets.default(data.rng, 256)
run = univariate.train(data.x, data.y, network, step=0.01, epochs=3000, grid=cyclic.grid(), agop=1e-4)
print(hashlib.sha256(run.predictions.tobytes() + run.outputs.tobytes()).hexdigest())
"""


def test_other_processors_give_the_same_bits(tmp_path):
    """The same run compiled for this processor and for one without wide vectors and fused multiply-add."""
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    found = [
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / str(len(target)))} | target,
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout
        for target in ({}, plain)
    ]
    assert len(found[0]) == 65 and found[0] == found[1]

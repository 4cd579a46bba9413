r"""Losses with a ridge constant tuned for each network: is it size, direction or spectrum that helps?

A ridge constant that is the same for all networks favours those whose features have the size that it suits.  Here each
network has its own, the best of :data:`PENALTIES` on a validation sample; the loss is that on a test sample.  From the
trained weights $W_t = U \operatorname{diag}(s) V^\top$ and those at the start, $W_0$, come the networks

* *size*: $W_0$ with the Frobenius norm of $W_t$;
* *direction*: $U \operatorname{diag}(s') V^\top$ of that norm with a spectrum of noise: s'^2 are the quantiles of the
  Marchenko-Pastur law (that of :func:`open_questions.recombined`);
* *trained*: $W_t$ itself, which differs from the one before by the shape of its spectrum alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from experiments.heavy_tails import teacher_student
from experiments.heavy_tails.read_out import similarity
from experiments.heavy_tails.teacher_student import FEATURES, Draw, draw, evaluation_scale
from shallow.book.recipes import Recipe, releases_gil
from shallow.data.single_index import Split
from shallow.kernels.ridge import weights_path
from shallow.nets import Student
from shallow.spectra import esd, tails
from shallow.spectra.marchenko_pastur import MarchenkoPastur

#: Ridge constants, five to a decade.
PENALTIES = tuple(float(f"{p:.4g}") for p in np.logspace(-8, 4, 61))
#: The constants at which the losses are kept beside the tuned ones.
FIXED = (0.01, 1.0, 10.0)
VALIDATION, TEST = 4000, 4000
NETWORKS = ("size", "direction", "trained")
UNTRAINED = "untrained"


def recomposed(start: np.ndarray, end: np.ndarray) -> dict[str, np.ndarray]:
    """The weights of the networks "size", "direction" and "trained" from W_0 and W_t of shape (h, d), h >= d."""
    h, d = end.shape
    U, _, V = esd.singular_vectors(end)
    noise = np.sqrt(MarchenkoPastur(h, d).quantile((np.arange(d)[::-1] + 0.5) / d))
    size = np.linalg.norm(end)
    return {
        "size": start * (size / np.linalg.norm(start)),
        "direction": (U * (noise * size / np.linalg.norm(noise))) @ V.T,
        "trained": end,
    }


def tuned(student: Student, samples: Split, scale: float, penalties: Sequence[float] = PENALTIES) -> dict[str, object]:
    """Ridge read-out of a student at the constant that is best on the first :data:`VALIDATION` of the test points.

    Returns the constant (`penalty`), the loss there on the other points (`test`), and at :data:`FIXED` that (`fixed`)
    and the loss on the points of the fit (`train`).
    """
    fitted = student.features(samples.probe.x, scale)
    weights = weights_path(fitted, samples.probe.y, np.array([*penalties, *FIXED]) / len(student.a))
    unseen = student.features(samples.test.x, scale)
    errors = (unseen.astype(np.float64) @ weights - samples.test.y[:, None]) ** 2
    chosen = int(errors[:VALIDATION, : len(penalties)].mean(axis=0).argmin())
    test, last = errors[VALIDATION:].mean(axis=0), weights[:, len(penalties) :]
    train = ((fitted.astype(np.float64) @ last - samples.probe.y[:, None]) ** 2).mean(axis=0)
    return {"penalty": penalties[chosen], "test": test[chosen], "fixed": test[len(penalties) :], "train": train}


def after(drawn: Draw, run: str, steps: int) -> Student:
    """The student of a draw after a run such as "Adam 0.1": an optimiser of the code and its rate."""
    optimiser, rate = run.split()
    return teacher_student.trained(drawn, f"{optimiser} code", float(rate), steps=steps)


def of_weights(student: Student, drawn: Draw) -> dict[str, float]:
    """Both exponents, the similarity of the first right vector to the teacher's, and the growth of the norm."""
    values = esd.eigenvalues(student.W)
    return {
        "hill": tails.hill(values),
        "ks": tails.scan(values).alpha,
        "similarity": similarity(student.W, drawn.teacher.directions),
        "growth": np.linalg.norm(student.W) / np.linalg.norm(drawn.student.W),
    }


@releases_gil
def tuned_losses(
    seed: int,
    *,
    run: str,
    steps: int = 10,
    networks: Sequence[str] = NETWORKS,
    test: int = VALIDATION + TEST,
    **setting,
) -> xr.Dataset:
    """Losses with a tuned ridge after a run, as in :func:`after`, or without one.

    All networks of the run "untrained" are the untrained one.

    Returns:
        penalty, test (network, features), fixed, train (network, features, constant): as in :func:`tuned`;
        and what :func:`of_weights` returns of the trained weights.

    Cost: a read-out for each network in each of two readings of the features, 15 s at n = 8000.
    """
    drawn = draw(seed, test=test, **setting)
    start = drawn.student

    def read(W: np.ndarray) -> list[dict[str, object]]:
        one = Student(W.astype(np.float32), start.a, start.scale)
        return [tuned(one, drawn.samples, evaluation_scale(one, features)) for features in FEATURES]

    if run == UNTRAINED:
        end, found = start, [read(start.W)] * len(networks)
    else:
        end = after(drawn, run, steps)
        weights = recomposed(start.W, end.W)
        found = [read(weights[name]) for name in networks]
    dims = ("network", "features")
    values = {name: [[one[name] for one in row] for row in found] for name in found[0][0]}
    return xr.Dataset(
        {
            "penalty": (dims, values["penalty"]),
            "test": (dims, values["test"]),
            "fixed": ((*dims, "constant"), values["fixed"]),
            "train": ((*dims, "constant"), values["train"]),
        }
        | of_weights(end, drawn),
        {"network": list(networks), "features": list(FEATURES), "constant": list(FIXED)},
    )


def with_spike(end: np.ndarray) -> np.ndarray:
    """W_t with its singular vectors, its largest singular value and its norm, and a bulk that has the law of noise."""
    h, d = end.shape
    U, s, V = esd.singular_vectors(end)
    noise = np.sqrt(MarchenkoPastur(h, d).quantile((np.arange(d)[::-1] + 0.5) / d))
    noise[1:] *= np.linalg.norm(s[1:]) / np.linalg.norm(noise[1:])
    return (U * np.append(s[:1], noise[1:])) @ V.T


@releases_gil
def bulk_losses(seed: int, *, run: str, steps: int = 10, test: int = VALIDATION + TEST, **setting) -> xr.Dataset:
    """Tuned losses (network, features) of the trained network and of :func:`with_spike`: what the bulk's shape does."""
    drawn = draw(seed, test=test, **setting)
    end = after(drawn, run, steps)
    weights = {"spike": with_spike(end.W), "trained": end.W}
    students = [Student(W.astype(np.float32), end.a, end.scale) for W in weights.values()]
    found = [[tuned(one, drawn.samples, evaluation_scale(one, f))["test"] for f in FEATURES] for one in students]
    return xr.Dataset(
        {"test": (("network", "features"), found)}, {"network": list(weights), "features": list(FEATURES)}
    )


SMALL = [UNTRAINED, "GD 1000", "GD 2000", "GD 3000", "Adam 0.01", "Adam 0.1", "Adam 1"]
TEN = [*SMALL, "Adam 10", "Adam 100", "Adam 1000"]
ONE = [UNTRAINED, "GD 2000", "Adam 0.1", "Adam 1", "Adam 10"]
DRAWS = list(range(10))
RECORDS: dict[str, Recipe] = {
    "tuned_8000": Recipe(
        tuned_losses,
        {"seed": DRAWS, "run": TEN},
        {"n": 8000},
        "Ten steps, 8000 points: losses with a ridge constant tuned for each network",
        steady={"run": SMALL},
    ),
    "tuned_2000": Recipe(
        tuned_losses, {"seed": DRAWS, "run": TEN}, {"n": 2000}, "The same with 2000 points", steady={"run": SMALL}
    ),
    "tuned_first": Recipe(
        tuned_losses,
        {"seed": DRAWS, "run": ONE},
        {"steps": 1, "networks": ("size", "trained")},
        "One step, 2000 points: losses with a ridge constant tuned for each network",
    ),
    "bulk_2000": Recipe(
        bulk_losses,
        {"seed": DRAWS, "run": ["GD 3000", "Adam 0.1", "Adam 1", "Adam 10", "Adam 100", "Adam 1000"]},
        {"n": 2000},
        "Ten steps, 2000 points: tuned losses with the trained bulk and with that of noise, the spike kept",
        steady={"run": ["GD 3000", "Adam 0.1", "Adam 1"]},
    ),
}

"""Networks of the polynomial program, its schedules, and machines on its gradients, against the library."""

from functools import cache

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import LinearSVR

from experiments.authors_programs.files import Recording
from experiments.authors_programs.streams import Recorded
from experiments.hidden_structure import hidden_direction, hidden_index
from shallow.kernels import layered, machines
from shallow.mlp import Stack
from shallow.train import ensemble

MODES = {"stop_first": "stop-first", "first_last": "first-last", "reinit": "reinit"}
PROGRAM = Recording(
    "hidden_structure_polynomials",
    {"theta_0", "regular_order", "reinit_redrawn", *(f"{mode}_order" for mode in MODES)},
)
SETTINGS = PROGRAM.settings
START = Stack(PROGRAM["theta_0"][None], (SETTINGS["inputs"], SETTINGS["width"], 1))
DECAY = SETTINGS["modes"]["weight_decay"]


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    return PROGRAM[f"x_{name}"], PROGRAM[f"y_{name}"]


def trained(order: np.ndarray, **options) -> ensemble.Fit:
    """The network of the program, its epochs in the given order."""
    rngs = [Recorded(order, PROGRAM["reinit_redrawn"])]
    options |= {"loss": "absolute", "optimiser": "adadelta", "rate": SETTINGS["rate"], "batch": SETTINGS["batch"]}
    return ensemble.train(START, *data("train"), rngs=rngs, validation=data("validation"), **options)


@cache
def regular() -> ensemble.Fit:
    order = PROGRAM["regular_order"]
    return trained(order, epochs=len(order), records=range(len(order) + 1))


def scheduled(name: str, **changes) -> ensemble.Fit:
    """One epoch of warm-up and nine with a frozen first layer."""
    options = {"mode": MODES[name], "epochs": 9, "warmup": 1, "decay": DECAY} | changes
    return trained(PROGRAM[f"{name}_order"], **options)


def of_sample() -> dict[str, np.ndarray]:
    """The program's data drawn anew: the normal numbers are in single precision there as here."""
    draw, found = hidden_index.published("independent"), {}
    for name, rows in (("train", draw.train[:64]), ("validation", draw.validation[:32])):
        found |= {f"x_{name}": draw.x[rows], f"y_{name}": hidden_index.polynomial(SETTINGS["degree"])(draw.v[rows])}
    return found


def mean_squares(fit: ensemble.Fit, epoch: int) -> list[float]:
    """Of training and validation."""
    return [np.mean((fit.snapshot(epoch).forward(x)[0] - y) ** 2) for x, y in map(data, ("train", "validation"))]


def of_regular() -> dict[str, np.ndarray]:
    fit, x = regular(), PROGRAM["x_validation"]
    scores = [-mean_squares(fit, epoch)[1] for epoch in range(1, 51)]
    return {f"regular_theta_{epoch}": fit.snapshot(epoch).parameters[0] for epoch in (1, 10, 50)} | {
        "regular_train_loss": fit.training[0],
        "regular_validation_loss": fit.validation[0],
        "regular_validation_score": np.array(scores),
        "regular_mean_square": np.array(mean_squares(fit, 50)),
        "regular_prediction_validation": fit.last.forward(x)[0],
        "regular_stopping": np.array([(*rule, *stopped(*rule)) for rule in PROGRAM["regular_stopping"][:, :2]]),
        "regular_cosines": np.array([signed_cosines(epoch) for epoch in SETTINGS["regular_cosines_epochs"]]),
    }


def stopped(patience: float, min_delta: float) -> tuple[int, int]:
    """Last and best epoch with the library's early stopping; both samples are whole batches, so means agree."""
    fit = trained(PROGRAM["regular_order"], epochs=50, patience=int(patience), min_delta=min_delta)
    return fit.epochs[0], fit.best_epoch[0]


def signed_cosines(epoch: int) -> np.ndarray:
    """The library's absolute values, with the sign of the sum of the weights."""
    W = regular().snapshot(epoch).weights[0][0]
    return hidden_direction.cosines(W, np.ones(W.shape[1])) * np.sign(W.sum(axis=1))


def gradients(name: str, count: int | None = None) -> np.ndarray:
    return layered.jacobian(*regular().last.network(0), PROGRAM[f"x_{name}"][:count])


def of_svr() -> dict[str, np.ndarray]:
    """LinearSVR of scikit-learn on the library's gradients."""
    setting, found = SETTINGS["svr"], []
    x, y = gradients("train", setting["points"]), PROGRAM["y_train"][: setting["points"]]
    for C in setting["C"]:
        solver = LinearSVR(C=C, max_iter=setting["max_iter"], tol=setting["tol"], random_state=setting["random_state"])
        machines.fit_quietly(solver, x, y)
        found.append(solver)
    return {
        "features": gradients("train", 3),
        "svr_intercept": np.array([float(solver.intercept_[0]) for solver in found]),
        "svr_prediction_validation": np.array([solver.predict(gradients("validation")) for solver in found]),
        "svr_coefficients_output": np.array([solver.coef_[-13:] for solver in found]),
        "svr_iterations": np.array([int(solver.n_iter_) for solver in found]),
    }


def rbf_svr(C: float, gamma: float) -> np.ndarray:
    x, y = data("train")
    kernels = [np.exp(-gamma * cdist(z, x, "sqeuclidean")) for z in (x, PROGRAM["x_validation"])]
    setting = SETTINGS["rbf_svr"]
    machine = machines.epsilon_insensitive(kernels[0], y, C, epsilon=setting["epsilon"], tolerance=setting["tol"])
    return machine.values(kernels[1])


@cache
def computed() -> dict[str, np.ndarray]:
    """The library's value of every output."""
    found = of_sample() | of_regular() | of_svr()
    for mode in MODES:
        fit = scheduled(mode)
        found[f"{mode}_theta_10"] = fit.last.parameters[0]
        found |= {f"{mode}_train_loss": fit.training[0], f"{mode}_validation_loss": fit.validation[0]}
    found["rbf_svr_prediction_validation"] = np.array([rbf_svr(*pair) for pair in SETTINGS["rbf_svr"]["C_gamma"]])
    return found

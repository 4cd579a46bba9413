r"""The smallest world in which training and test loss part: two clusters, one of them poor, and a fixed kernel.

N training points sit together in a rich cluster A and q in a poor cluster B of the other label.  With the kernel values
$k_A, k_B$ within and $\kappa > 0$ between the clusters, the margins $a = y_A f(x_A)$, $b = y_B f(x_B)$ under gradient
flow of the summed hinge loss from $f = 0$ obey

.. math:: \dot a = N k_A [a < 1] - q \kappa [b < 1], \qquad \dot b = -N \kappa [a < 1] + q k_B [b < 1] .

The chapter "Cyclic labels" derives the solution that :class:`TwoClusters` evaluates.  Time is step times epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shallow import checks, nets
from shallow.kernels import empirical
from shallow.train import univariate


@dataclass(frozen=True)
class TwoClusters:
    r"""The world of the minimal model; see the module.

    Attributes:
        rich, poor: numbers of points N and q.
        k_rich, k_cross, k_poor: kernel values $k_A$, $\kappa$, $k_B$.

    Raises:
        ValueError: unless the kernel is positive definite with $\kappa > 0$, the rich cluster learns ($N k_A >
        q\kappa$) and the
            poor one is first carried away ($N\kappa > q k_B$): otherwise there is no rise to explain.
    """

    rich: int
    poor: int
    k_rich: float
    k_cross: float
    k_poor: float

    def __post_init__(self) -> None:
        checks.integers(1, rich=self.rich, poor=self.poor)
        if not 0 < self.k_cross**2 < self.k_rich * self.k_poor or self.k_cross < 0:
            raise ValueError(
                "k_cross must be positive and below sqrt(k_rich k_poor), "
                f"got {self.k_rich}, {self.k_cross}, {self.k_poor}"
            )
        for name, first, second in (("rich", self._rise_rich, "learns"), ("poor", -self._fall_poor, "is carried away")):
            if not first > 0:
                raise ValueError(f"{name} must be such that its cluster {second}, got {self.rich} and {self.poor}")

    @property
    def _rise_rich(self) -> float:
        return self.rich * self.k_rich - self.poor * self.k_cross

    @property
    def _fall_poor(self) -> float:
        return self.poor * self.k_poor - self.rich * self.k_cross

    @property
    def turn(self) -> float:
        r"""$t_1 = 1 / (N k_A - q\kappa)$: the rich cluster reaches its margin and the poor one turns."""
        return 1 / self._rise_rich

    @property
    def lowest(self) -> float:
        r"""$b(t_1) = -(N\kappa - q k_B) / (N k_A - q\kappa)$, the lowest margin of the poor cluster."""
        return self._fall_poor / self._rise_rich

    @property
    def recovery_rate(self) -> float:
        r"""$q (k_B - \kappa^2 / k_A)$: the slope of b after the turn, a Schur complement of the kernel."""
        return self.poor * (self.k_poor - self.k_cross**2 / self.k_rich)

    @property
    def end(self) -> float:
        r"""$t_2 = t_1 + (1 - b(t_1)) / (q (k_B - \kappa^2/k_A))$: zero training loss."""
        return self.turn + (1 - self.lowest) / self.recovery_rate

    @property
    def share_before(self) -> float:
        r"""Share of $\|g\|_1$ from the poor cluster before the turn, $q / (N + q)$."""
        return self.poor / (self.rich + self.poor)

    @property
    def share_after(self) -> float:
        r"""Its mean share between the turn and the end, $k_A / (k_A + \kappa)$, whatever N and q."""
        return self.k_rich / (self.k_rich + self.k_cross)

    @property
    def turning_share(self) -> float:
        r"""The share above which the poor cluster's margin grows, $\kappa / (\kappa + k_B)$."""
        return self.k_cross / (self.k_cross + self.k_poor)

    def margins(self, time: np.ndarray) -> np.ndarray:
        """(a, b) at the times, shape (len(time), 2): three straight pieces."""
        corners = [0.0, self.turn, self.end]
        a, b = (np.interp(time, corners, values) for values in ([0, 1, 1], [0, self.lowest, 1]))
        return np.stack([a, b], axis=-1)


def train(
    rich: int, poor: int, *, seed: int = 0, width: int = 512, step: float = 1e-5, every: int = 10
) -> tuple[TwoClusters, np.ndarray, np.ndarray]:
    """The same world with a real network: N copies of x = -0.2 (label -1), q copies of x = 0.3 (label +1).

    An antisymmetric network (f = 0 at the start) trains its output weights only, so that its kernel is fixed.  Returns
    the model with that kernel, the times of the records and the margins (a, b) there, shape (R, 2).
    """
    x, y = np.repeat([-0.2, 0.3], [rich, poor]), np.repeat([-1.0, 1.0], [rich, poor])
    network = nets.antisymmetric(nets.default(np.random.default_rng(seed), width))
    rates = (nets.ANTISYMMETRIC[0], 0.0, 0.0)
    kernel = empirical.ntk(network, np.array([-0.2, 0.3]), rates=rates)
    world = TwoClusters(rich, poor, kernel[0, 0], kernel[0, 1], kernel[1, 1])
    epochs = int(1.1 * world.end / step)
    run = univariate.train(x, y, network, step=step, epochs=epochs, records=every, rates=rates)
    return world, run.epochs * step, (run.outputs * y)[:, [0, -1]]

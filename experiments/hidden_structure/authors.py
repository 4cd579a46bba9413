"""The document's numbers on orthants: what Tables 1 and 2 print, and the values of single runs in its public logs.

Each depth, the number of hidden layers, has five runs on the same data and split, whose initial weights and batches
differ.  A tangent machine has the tangent kernel of the network of the same run.  Printed pairs are a value and its
half-width, which the captions call 95 % confidence intervals.
Source: Balakrishnan, "An empirical analysis of feature learning in ReLU networks", Tables 1 and 2; the logs that its
author has published with the code.
"""

from __future__ import annotations

DEPTHS = (1, 2, 3, 4, 5)
COLUMNS = ("empty", "others")

#: Accuracies by kind of learner, depth and column of Table 1, runs 0 to 4.
LOGS: dict[str, dict[int, dict[str, tuple[float, ...]]]] = {
    "network": {
        1: {"empty": (0.52, 0.92, 0.50, 0.845, 0.92), "others": (0.939, 0.919, 0.925, 0.933, 0.952)},
        2: {"empty": (0.50, 0.50, 0.65, 0.64, 0.50), "others": (0.893, 0.833, 0.897, 0.950, 0.847)},
        3: {"empty": (0.985, 0.53, 0.885, 0.89, 0.855), "others": (0.998, 0.959, 0.971, 0.964, 0.995)},
        4: {"empty": (0.50, 0.50, 0.50, 0.50, 0.50), "others": (0.897, 0.898, 0.913, 0.871, 0.896)},
        5: {"empty": (0.50, 0.50, 0.50, 0.50, 0.50), "others": (0.993, 0.986, 0.996, 0.991, 0.995)},
    },
    "tangent machine": {
        1: {"empty": (0.525, 0.89, 0.51, 0.74, 0.86), "others": (0.879, 0.876, 0.864, 0.892, 0.868)},
        2: {"empty": (0.50, 0.50, 0.635, 0.565, 0.50), "others": (0.842, 0.819, 0.865, 0.886, 0.845)},
        3: {"empty": (0.55, 0.50, 0.775, 0.90, 0.785), "others": (0.629, 0.856, 0.806, 0.709, 0.650)},
        4: {"empty": (0.50, 0.49, 0.50, 0.50, 0.50), "others": (0.866, 0.834, 0.848, 0.845, 0.850)},
        5: {"empty": (0.50, 0.50, 0.50, 0.50, 0.50), "others": (0.753, 0.778, 0.841, 0.912, 0.790)},
    },
}

#: Table 1 by kind of learner and depth: printed accuracy and half-width in each column.
TABLE_1: dict[str, dict[int, dict[str, tuple[float, float]]]] = {
    "network": {
        1: {"empty": (0.741, 0.00384), "others": (0.9333, 0.002186)},
        2: {"empty": (0.558, 0.004353), "others": (0.8874, 0.002771)},
        3: {"empty": (0.829, 0.0033), "others": (0.9773, 0.001304)},
        4: {"empty": (0.5, 0.0), "others": (0.8951, 0.002685)},
        5: {"empty": (0.5, 0.0), "others": (0.9923, 0.0007651)},
    },
    "tangent machine": {
        1: {"empty": (0.705, 0.003997), "others": (0.8757, 0.002891)},
        2: {"empty": (0.54, 0.004368), "others": (0.8514, 0.003118)},
        3: {"empty": (0.702, 0.004009), "others": (0.73, 0.003891)},
        4: {"empty": (0.498, 0.004382), "others": (0.8487, 0.00314)},
        5: {"empty": (0.5, 0.0), "others": (0.815, 0.003403)},
    },
}
#: Its first two rows, the same in all five runs.
TABLE_1_FIXED = {
    "linear": {"empty": (0.5, 0.0), "others": (0.5, 0.0)},
    "gaussian": {"empty": (0.5, 0.0), "others": (1.0, 0.0)},
}
#: Number of points in the formula of the printed half-widths of Table 1; five networks classified 1,000 and 127,000.
POINTS_USED = 50_000

#: Match fractions by depth, class and moment, runs 0 to 4.
MATCH_LOGS: dict[tuple[int, int, str], tuple[float, ...]] = {
    (1, 0, "initial"): (0, 0, 0, 0, 0),
    (1, 0, "last"): (0, 0, 0, 0, 0),
    (1, 1, "initial"): (1, 1, 1, 1, 1),
    (1, 1, "last"): (1, 1, 1, 1, 1),
    (2, 0, "initial"): (0, 0, 0, 0, 0),
    (2, 0, "last"): (0.07, 0, 0.01, 0.58, 0),
    (2, 1, "initial"): (1, 1, 1, 1, 1),
    (2, 1, "last"): (0.96, 1, 0.98, 0.77, 1),
    (3, 0, "initial"): (0.16, 0, 0, 0, 0),
    (3, 0, "last"): (1, 0.25, 0.89, 0.87, 0.98),
    (3, 1, "initial"): (0.96, 1, 1, 0.99, 1),
    (3, 1, "last"): (0.89, 0.97, 0.77, 0.89, 0.88),
    (4, 0, "initial"): (0, 0, 0, 0, 0),
    (4, 0, "last"): (0, 0.15, 0, 0, 0),
    (4, 1, "initial"): (0.99, 0.99, 0.94, 0.96, 1),
    (4, 1, "last"): (1, 0.95, 1, 1, 1),
    (5, 0, "initial"): (0, 0, 0, 0, 0),
    (5, 0, "last"): (0, 0, 0, 0, 0),
    (5, 1, "initial"): (1, 1, 1, 1, 1),
    (5, 1, "last"): (1, 1, 1, 1, 1),
}

#: Table 2 by depth, class and moment: printed match fraction and half-width.
TABLE_2: dict[tuple[int, int, str], tuple[float, float]] = {
    (1, 0, "initial"): (0, 0),
    (1, 0, "last"): (0, 0),
    (1, 1, "initial"): (1, 0),
    (1, 1, "last"): (1, 0),
    (2, 0, "initial"): (0, 0),
    (2, 0, "last"): (0.1348, 0.02969),
    (2, 1, "initial"): (1, 0),
    (2, 1, "last"): (0.9386, 0.02069),
    (3, 0, "initial"): (0.03557, 0.01578),
    (3, 0, "last"): (0.7957, 0.03513),
    (3, 1, "initial"): (0.9863, 0.009457),
    (3, 1, "last"): (0.8771, 0.02852),
    (4, 0, "initial"): (0, 0),
    (4, 0, "last"): (0.03358, 0.01532),
    (4, 1, "initial"): (0.9724, 0.01385),
    (4, 1, "last"): (0.9863, 0.009457),
    (5, 0, "initial"): (0, 0),
    (5, 0, "last"): (0, 0),
    (5, 1, "initial"): (1, 0),
    (5, 1, "last"): (1, 0),
}
#: Points of one class in the empty orthant, over five networks: the n of its Wilson intervals.
POINTS_MATCHED = 500

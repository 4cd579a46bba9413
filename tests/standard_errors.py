"""How far what is measured lies from what a law says, in standard errors."""

import numpy as np


def scores(samples, law):
    """Signed distance of the mean of independent samples, along their first axis, from the law."""
    samples = np.asarray(samples)
    return (samples.mean(axis=0) - law) / (samples.std(axis=0) / len(samples) ** 0.5)

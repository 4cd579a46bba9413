"""The classifier of the orthant program, its losses, accuracies and last hidden layer, against the library."""

import numpy as np

from experiments.authors_programs.files import difference
from experiments.authors_programs.hidden_structure_orthants import (
    EPOCHS,
    PROGRAM,
    by_batch,
    data,
    in_batches,
    run,
    stopped,
    trained,
)


def test_losses_of_an_epoch_are_means_of_batch_means():
    """A last batch of 4 points weighs as much as one of 32, so the validation loss depends on the order of its points.

    The library has means over points: early stopping on them lets a run go on that the program ends after epoch 10.
    """
    printed = PROGRAM["validation_loss"]
    assert np.abs(run().validation[0] - printed).max() > 0.1
    assert PROGRAM.difference("validation_loss", by_batch(0, PROGRAM["validation_order"][::-1]).mean(axis=1)) > 0.3
    sizes = [len(batch) for batch in in_batches(PROGRAM["order"][0])]
    assert difference(run().training[0], np.average(PROGRAM["batch_loss"], axis=1, weights=sizes)) < 1e-10
    assert PROGRAM.difference("train_loss", run().training[0]) > 0.01
    patience, min_delta, last, _ = PROGRAM["stopping"][0]
    by_points = trained(PROGRAM["order"], validation=data("validation"), patience=int(patience), min_delta=min_delta)
    assert last == 10 < by_points.epochs[0] == EPOCHS
    assert stopped(run().validation[0], patience, min_delta) == (by_points.epochs[0], by_points.best_epoch[0])


def test_patience_counts_from_the_last_improvement_on_the_best_by_the_least_amount():
    """One epoch more, any improvement at all, or one on the epoch before, and a run ends later than the program's."""
    losses, (first, _, third, fourth) = PROGRAM["validation_loss"], PROGRAM["stopping"]
    assert stopped(losses, 3, 0.02)[0] == fourth[2] < stopped(losses, 4, 0.02)[0]
    assert stopped(losses, 2, 0.02)[0] == third[2] < stopped(losses, 2, 0.0)[0]
    falls = np.diff(losses) <= -1e-4
    assert first[2] == 10 and (falls[:-1] | falls[1:]).all()  # two epochs without a fall never follow each other


def test_weight_decay_counts():
    """Without it four epochs end elsewhere."""
    without = trained(PROGRAM["decayed_order"]).last.parameters[0]
    assert PROGRAM.difference("decayed_theta_4", without) > 0.8

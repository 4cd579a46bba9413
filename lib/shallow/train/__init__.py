r"""Trainers: one module for each network, loss and way of descending.  Which one?

Begin with :mod:`~shallow.train.plain`, and take another one when its case is yours and the time counts.  With n points,
d inputs, m neurons, samples B of a batch and P parameters a step takes about as many operations as stated.  Those that
are *exact* take the same steps as the formulas, up to rounding.

Two layers, ReLU:

- one input, hinge loss, full batch: :mod:`~shallow.train.univariate`, exact, n + m; a million steps in minutes.
- no biases, square loss, full batch, small steps: :mod:`~shallow.train.flow`, exact, $K^2 d^2$ as long as none of the K
  patterns of activity changes, else n m d.
- no biases, few inputs, square loss, mini-batches: :mod:`~shallow.train.minibatch`, 22 B m d in vector instructions.

Other networks:

- two layers, any activation, loss, update rule and batch, also many networks side by side:
  :mod:`~shallow.train.plain`, the formulas, 4 B m d.
- tanh or softplus, the first layer alone, square loss, full batch, gradient descent or Adam, also on a GPU:
  :mod:`~shallow.train.first_layer`, 4 n d m in matrix products.
- committees of erf or ReLU with fixed read-out, square or absolute loss, fresh samples in every step:
  :mod:`~shallow.train.online`, 4 B m d.
- many small multilayer perceptrons, absolute loss or cross-entropy, Adam or AdaDelta on mini-batches, early stopping:
  :mod:`~shallow.train.ensemble`, 6 B P.
- deep networks of :mod:`shallow.deep`, cross-entropy, Adam on the full batch in bounded memory:
  :mod:`~shallow.train.accumulated`.

All of them leave the initial network as it is, draw from the `numpy.random.Generator` they are given, record at the
steps of ``records`` (:func:`shallow.train.run.schedule`), and raise :class:`shallow.train.run.Diverged`; those that
train many networks at once, ensembles and committees, say of each whether it diverged instead.  The other modules are
compiled cores: prefix_sums of univariate, second_moments and tiles of flow, fused of minibatch, passes of first_layer,
fresh_samples of online, backpropagation of ensemble, and functions and vector_math of several.
"""

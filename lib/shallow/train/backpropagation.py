r"""Compiled epochs of one multilayer perceptron: mini-batches, backpropagation and the step of the optimiser (numba).

At batches of 32 and widths of a hundred a step is a few microseconds of arithmetic, and a library that is called for
every operation spends most of its time on the calls.  Here a whole epoch is one call.  The matrix products are BLAS;
all arrays of a step stay in the cache next to the processor; the interpreter's lock is not held, so that networks train
side by side in threads.  With W of shape (m_l, m_{l-1}) and a batch of B points in rows,

.. math:: \delta_{l-1} = (\delta_l W_l) \odot [h_{l-1} > 0], \qquad
          \partial_{W_l} = \delta_l^\top h_{l-1}, \qquad \partial_{b_l} = \delta_l^\top \mathbf 1 ,

starting from $\delta_L = \ell'(f, y)/B$.  Infinities and NaN are kept as such, so that divergence shows.
"""

from __future__ import annotations

import numba
import numpy as np

#: Losses, as numbers for compiled code: absolute, and cross-entropy with labels 0 and 1 of a logit or a probability.
ABSOLUTE, LOGIT, PROBABILITY = 0, 1, 2
#: Optimisers, likewise.
ADAM, ADADELTA = 0, 1
#: Adam's averages of gradients and of their squares, and its guard against division by zero (PyTorch's default).
MEMORY, SQUARE_MEMORY, GUARD = 0.9, 0.999, 1e-8
#: AdaDelta's average and guard (PyTorch's default).
RHO, EPS = 0.9, 1e-6
#: torch.nn.BCELoss cuts logarithms off here, and p (1 - p) from below in its derivative.
LOWEST_LOGARITHM, LEAST_VARIANCE = -100.0, 1e-12

#: The kernels of OpenBLAS (threadpoolctl's names) among which are some that multiply small factors without a copy.
WITH_SMALL_FACTORS = ("SkylakeX", "Cooperlake", "SapphireRapids")
_LIMIT = 10**6  # so many multiplications make factors small for OpenBLAS
_ROWS = 256  # points at a time without training: their activations stay in the cache
_compiled = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz", "afn"}
)


@_compiled
def epoch(theta, moments, ages, trained, widths, x, y, order, batch, loss, optimiser, rate, decay, small=False):
    r"""One step for each batch of `order`, in place; the mean of the loss over its points, each before its own step.

    Arrays of one floating-point type but for the integers; the last batch may be smaller.

    Args:
        theta: all parameters, W_1, b_1, ..., W_L, b_L, shape (P,).
        moments: what the optimiser remembers of every parameter, shape (2, P); zero at the start.
        ages: steps that each layer has taken, shape (L,); counted here.
        trained: whether a layer takes part, shape (L,); others keep parameters, moments and age.
        widths: m_0, ..., m_L = 1.
        x, y: inputs (n, m_0) and labels (n,).
        order: numbers of the points in the order of training, shape (k,).
        batch: B.
        loss, optimiser: numbers as above.
        rate, decay: learning rate; weight decay, added to the gradient as decay times parameter.
        small: whether BLAS is one of :data:`WITH_SMALL_FACTORS`; of no effect on the bits.

    Cost: 6 P operations per point, of which the first layer needs 4, and 2 P / 3 for layers that are not trained.
    """
    weights, biases = _layers(theta, widths)
    gradient = np.zeros_like(theta)
    by_weights, by_biases = _layers(gradient, widths)
    hidden = [np.empty((batch, width), theta.dtype) for width in widths]
    delta = [np.empty((batch, width), theta.dtype) for width in widths]
    room = np.empty((2, batch * widths.max()), theta.dtype)
    inputs, labels, total = hidden[0], np.empty(batch, theta.dtype), 0.0
    for start in range(0, len(order), batch):
        size = min(batch, len(order) - start)
        for i in range(size):
            row = order[start + i]
            labels[i] = y[row]
            for j in range(x.shape[1]):
                inputs[i, j] = x[row, j]
        _forward(weights, biases, hidden, size, room, small)
        total += _compare(loss, hidden[-1][:size, 0], labels[:size], delta[-1][:size, 0])
        _backward(weights, hidden, delta, by_weights, by_biases, trained, size, room, small)
        _move(theta, gradient, moments, ages, trained, widths, optimiser, rate, decay)
    return total / len(order)


@_compiled
def mean_loss(theta, widths, x, y, loss):
    """Mean of the loss over all points; arguments as for :func:`epoch`, cost 2 P operations per point."""
    weights, biases = _layers(theta, widths)
    hidden = [np.empty((_ROWS, width), theta.dtype) for width in widths]
    unused, room, total = np.empty(_ROWS, theta.dtype), np.empty((2, 0), theta.dtype), 0.0
    for start in range(0, len(x), _ROWS):
        size = min(_ROWS, len(x) - start)
        hidden[0][:size] = x[start : start + size]
        _forward(weights, biases, hidden, size, room, False)
        total += _compare(loss, hidden[-1][:size, 0], y[start : start + size], unused)
    return total / len(x)


@_compiled
def _layers(theta, widths):
    """Views of the weights and biases of all layers."""
    weights, biases, start = [], [], 0
    for layer in range(1, len(widths)):
        inputs, outputs = widths[layer - 1], widths[layer]
        middle = start + outputs * inputs
        weights.append(theta[start:middle].reshape(outputs, inputs))
        biases.append(theta[middle : middle + outputs])
        start = middle + outputs
    return weights, biases


@_compiled
def _forward(weights, biases, hidden, size, room, small):
    """Fill the first `size` rows of all layers behind the inputs."""
    zero = hidden[0].dtype.type(0)
    for layer in range(len(weights)):
        out, offset, last = hidden[layer + 1][:size], biases[layer], layer == len(weights) - 1
        _product(hidden[layer][:size], weights[layer], out, room, small)
        for i in range(size):
            for j in range(len(offset)):
                z = out[i, j] + offset[j]
                out[i, j] = zero if z <= zero and not last else z  # keeps NaN


@_compiled
def _block(x, outputs):
    """How many outputs of a layer with inputs x to compute at a time as products of small factors; 0 for none.

    The bits are those of one product: in single precision, for at most 2^8 terms in a sum, and 2^11 sums or more.
    """
    rows, block = len(x), outputs
    while block * rows > 2**13 or block * x.size > _LIMIT:
        block //= 2
    fit = x.itemsize == 4 and rows <= 64 and x.shape[1] <= 2**8 and block * rows >= 2**11 and outputs % block == 0
    return block if fit else 0


@_compiled
def _product(x, W, out, room, small):
    """x W^T, by columns of x for small factors, which takes half the time."""
    (rows, columns), block = x.shape, _block(x, len(W)) if small else 0
    if block == 0:
        np.dot(x, W.T, out)
        return
    by_columns, part = room[0, : x.size].reshape(columns, rows), room[1, : rows * block].reshape(rows, block)
    for j in range(columns):
        for i in range(rows):
            by_columns[j, i] = x[i, j]
    if block == len(W):
        np.dot(by_columns.T, W.T, out)
        return
    for start in range(0, len(W), block):
        np.dot(by_columns.T, W[start : start + block].T, part)
        _copy(part, out[:, start : start + block])


@_compiled
def _copy(source, target):
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@_compiled
def _gradient(pull, x, by_weights, room, small):
    """pull^T x, the derivative by the weights of a layer."""
    rows, block = len(x), _block(x, len(by_weights)) if small else 0
    if block == 0 or x.size * len(by_weights) <= _LIMIT:
        np.dot(pull.T, x, by_weights)
        return
    part = room[0, : rows * block].reshape(rows, block)
    for start in range(0, len(by_weights), block):
        _copy(pull[:, start : start + block], part)
        np.dot(part.T, x, by_weights[start : start + block])


@_compiled
def _compare(loss, output, label, slope):
    """The sum of the losses of a batch; slope becomes the derivative of their mean in each output."""
    number = output.dtype.type
    one, size, lowest, total = number(1), number(len(output)), number(LOWEST_LOGARITHM), 0.0
    for i in range(len(output)):
        f, y = output[i], label[i]
        if loss == ABSOLUTE:
            total += abs(f - y)
            slope[i] = np.sign(f - y) / size
            continue
        p = one / (one + np.exp(-f))
        slope[i] = (p - y) / size
        if loss == LOGIT:
            total += max(f, number(0)) - y * f + np.log1p(np.exp(-abs(f)))
        else:
            hit, miss = max(np.log(p), lowest), max(np.log(one - p), lowest)
            total -= y * hit + (one - y) * miss
            slope[i] *= min(one, p * (one - p) / number(LEAST_VARIANCE))
    return total


@_compiled
def _backward(weights, hidden, delta, by_weights, by_biases, trained, size, room, small):
    """Gradients of all trained layers from the last delta; no delta is carried below the lowest of them."""
    zero, lowest = hidden[0].dtype.type(0), 0
    while not trained[lowest]:
        lowest += 1
    for layer in range(len(weights) - 1, lowest - 1, -1):
        pull, below = delta[layer + 1][:size], hidden[layer][:size]
        if trained[layer]:
            _gradient(pull, below, by_weights[layer], room, small)
            sums = by_biases[layer]
            sums[:] = 0
            for i in range(size):
                for j in range(len(sums)):
                    sums[j] += pull[i, j]
        if layer > lowest:
            carried = delta[layer][:size]
            np.dot(pull, weights[layer], carried)
            for i in range(size):
                for j in range(carried.shape[1]):
                    carried[i, j] = carried[i, j] if below[i, j] > zero else zero


@_compiled
def _move(theta, gradient, moments, ages, trained, widths, optimiser, rate, decay):
    """One step of every trained layer, each at its own age."""
    start = 0
    for layer in range(len(trained)):
        end = start + widths[layer + 1] * (widths[layer] + 1)
        if trained[layer]:
            ages[layer] += 1
            p, g, first, second = theta[start:end], gradient[start:end], moments[0, start:end], moments[1, start:end]
            if optimiser == ADAM:
                adam(p, g, first, second, ages[layer], rate, decay)
            else:
                adadelta(p, g, first, second, rate, decay)
        start = end


@_compiled
def adam(p, g, mean, square, age, rate, decay):
    """Step number `age` of Adam for the parameters p with gradient g, in place; `decay` is added to the slopes."""
    number = p.dtype.type
    step, correction = number(rate / (1 - MEMORY**age)), number((1 - SQUARE_MEMORY**age) ** -0.5)
    decay, guard, new, new_square = number(decay), number(GUARD), number(1 - MEMORY), number(1 - SQUARE_MEMORY)
    for j in range(len(p)):
        slope = g[j] + decay * p[j]
        m = mean[j] + new * (slope - mean[j])  # a number read back from an array would cost twice the time
        s = square[j] + new_square * (slope * slope - square[j])
        mean[j], square[j] = m, s
        p[j] -= step * m / (np.sqrt(s) * correction + guard)


@_compiled
def adadelta(p, g, moved, square, rate, decay):
    """A step of AdaDelta for the parameters p with gradient g, in place; `decay` is added to the slopes."""
    number = p.dtype.type
    rate, decay, eps, new = number(rate), number(decay), number(EPS), number(1 - RHO)
    for j in range(len(p)):
        slope = g[j] + decay * p[j]
        s = square[j] + new * (slope * slope - square[j])
        u = moved[j]
        change = np.sqrt((u + eps) / (s + eps)) * slope
        moved[j], square[j] = u + new * (change * change - u), s
        p[j] -= rate * change

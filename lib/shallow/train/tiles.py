"""Vectors of the processor in compiled code: products of some points and neurons that stay in its registers (numba).

A tile holds a number for each of `POINTS` points and `NEURONS` neurons, one vector per point.  Loops over arrays, which
the compiler turns into vectors by itself, store a sum over the inputs after each of them, and take twice as long.
Arithmetic has a fixed order and no fused operations, so that every processor rounds alike; one without such vectors
takes several of its own.

The functions are for compiled code only; an index is that of the first entry, of an array with one axis or of another
as it lies in memory, and nothing checks that a whole vector begins there.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

#: Numbers in a vector, which are of one point, and points in a tile.
NEURONS, POINTS = 8, 4


class Tile(types.Type):
    """The type of a number for each of `POINTS` points and `NEURONS` neurons, held as one vector per point."""


_TILE = Tile("tile")


@register_model(Tile)
class _Vectors(models.PrimitiveModel):
    def __init__(self, manager, tile):
        super().__init__(manager, tile, ir.ArrayType(_vector(ir.DoubleType()), POINTS))


def _vector(number):
    return ir.VectorType(number, NEURONS)


def _pointer(context, builder, kind, array, index, target=None):
    """To the vector, or the target, that begins at an entry of an array of this kind."""
    place = builder.gep(context.make_array(kind)(context, builder, array).data, [index])
    return builder.bitcast(place, (target or _vector(context.get_data_type(kind.dtype))).as_pointer())


def _shuffled(builder, v, w, lanes):
    return builder.shuffle_vector(v, w, ir.Constant(ir.VectorType(ir.IntType(32), NEURONS), lanes))


def _each(context, builder, kind, array, index):
    """One vector per point, its entry of the array in all lanes."""
    number = context.get_data_type(kind.dtype)
    for p in range(POINTS):
        at = builder.add(index, ir.Constant(index.type, p))
        entry = builder.load(_pointer(context, builder, kind, array, at, number))
        nothing = ir.Constant(_vector(number), ir.Undefined)
        first = builder.insert_element(nothing, entry, ir.Constant(ir.IntType(32), 0))
        yield _shuffled(builder, first, nothing, [0] * NEURONS)


def _replaced(builder, tile, vectors):
    for p, vector in enumerate(vectors):
        tile = builder.insert_value(tile, vector, p)
    return tile


def _of(builder, tile):
    return [builder.extract_value(tile, p) for p in range(POINTS)]


@intrinsic
def zeros(typing):
    """A tile of zeros."""
    return _TILE(), lambda context, *_: ir.Constant(context.get_value_type(_TILE), None)


@intrinsic
def infinities(typing):
    """A tile of infinities."""
    vector = _vector(ir.DoubleType())
    one = ir.Constant(vector, [float("inf")] * NEURONS)
    return _TILE(), lambda context, *_: ir.Constant(context.get_value_type(_TILE), [one] * POINTS)


@intrinsic
def load(typing, array, index):
    """The tile that begins at an entry of an array."""

    def build(context, builder, signature, given):
        place = _pointer(context, builder, signature.args[0], *given, context.get_value_type(_TILE))
        return builder.load(place, align=8)

    return _TILE(array, types.intp), build


@intrinsic
def store(typing, array, index, tile):
    """Write the tile from an entry of an array on."""

    def build(context, builder, signature, given):
        place = _pointer(context, builder, signature.args[0], *given[:2], given[2].type)
        builder.store(given[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, tile), build


@intrinsic
def plus_products(typing, tile, W, j, x, k):
    """tile[p, l] + W[j + l] x[k + p]."""

    def build(context, builder, signature, given):
        tile, W, j, x, k = given
        weights = builder.load(_pointer(context, builder, signature.args[1], W, j), align=8)
        entries = _each(context, builder, signature.args[3], x, k)
        sums = [builder.fadd(v, builder.fmul(weights, entry)) for v, entry in zip(_of(builder, tile), entries)]
        return _replaced(builder, tile, sums)

    return tile(tile, W, types.intp, x, types.intp), build


@intrinsic
def plus_outputs(typing, sums, tile, a, j):
    """Add a[j + l] max(0, tile[p, l]) to entry 4 p + l % 4 of the sums, in the order of l."""

    def build(context, builder, signature, given):
        sums, tile, a, j = given
        weights = builder.load(_pointer(context, builder, signature.args[2], a, j), align=8)
        zero, outputs, added = ir.Constant(weights.type, None), [], []
        for v in _of(builder, tile):
            outputs.append(builder.fmul(weights, builder.select(builder.fcmp_ordered(">", zero, v), zero, v)))
        for total, one, other in zip(_of(builder, sums), outputs[::2], outputs[1::2]):
            for lane in range(0, NEURONS, 4):
                four = [*range(lane, lane + 4)]
                both = _shuffled(builder, one, other, four + [NEURONS + l for l in four])
                total = builder.fadd(total, both)
            added.append(total)
        return _replaced(builder, sums, added)

    return sums(sums, tile, a, types.intp), build


@intrinsic
def add_where_active(typing, totals, j, tile, values, k):
    """Add values[k + p] to totals[j + l] where tile[p, l] > 0, in the order of p."""

    def build(context, builder, signature, given):
        totals, j, tile, values, k = given
        place = _pointer(context, builder, signature.args[0], totals, j)
        total = builder.load(place, align=8)
        add = builder.fadd if isinstance(signature.args[0].dtype, types.Float) else builder.add
        for v, value in zip(_of(builder, tile), _each(context, builder, signature.args[3], values, k)):
            active = builder.fcmp_ordered(">", v, ir.Constant(v.type, None))
            total = builder.select(active, add(total, value), total)
        builder.store(total, place, align=8)
        return context.get_dummy_value()

    return types.void(totals, types.intp, tile, values, types.intp), build


@intrinsic
def nearest(typing, least, tile, sides, k):
    """The smaller of least and tile[p, l] sides[k + p], or -1 where just one factor is positive; no NaN counts."""

    def build(context, builder, signature, given):
        least, tile, sides, k = given
        found = []
        each = _each(context, builder, signature.args[2], sides, k)
        for old, v, side in zip(_of(builder, least), _of(builder, tile), each):
            zero = ir.Constant(v.type, None)
            other = builder.xor(builder.fcmp_ordered(">", v, zero), builder.fcmp_ordered(">", side, zero))
            new = builder.select(other, ir.Constant(v.type, [-1.0] * NEURONS), builder.fmul(v, side))
            found.append(builder.select(builder.fcmp_ordered("<", new, old), new, old))
        return _replaced(builder, least, found)

    return least(least, tile, sides, types.intp), build


@numba.njit(cache=True, nogil=True, error_model="numpy")
def aligned(size):
    """Zeros that begin with a line of the cache."""
    room = np.zeros(size + 8)
    return room[-room.ctypes.data // 8 % 8 :][:size]

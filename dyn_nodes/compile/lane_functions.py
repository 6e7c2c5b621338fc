"""Sine, cosine, exponential and logarithm of all lanes of a vector at once, without branches.

Each is the series of its function about the middle of a short interval, after an argument reduction whose error is
compensated. Errors, measured against wider floats by `test/compile/test_lane_functions.py`:

| function | arguments | greatest error |
|---|---|---|
| sin, cos | up to 2^20 pi / 2, in single precision 2^8 pi / 2 | 1 unit in the last place (ulp) |
| exp | all | 1 ulp if the result is a normal number |
| log | all | 1 ulp |

Sine and cosine exist in both precisions, the others in double precision.

For larger arguments, infinity and NaN the C library computes sine and cosine lane by lane. The exponential underflows
to 0 and overflows to infinity, the logarithm is minus infinity at 0 and NaN below, and NaN stays NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from llvmlite import ir

from dyn_nodes.compile.precision import DOUBLE_PRECISION, Precision

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
FUSED = ('contract',)
"""Flags of polynomials: a product and a sum may be one instruction. Reductions depend on rounding and have no flags."""
PI = Fraction('3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534')
LN2 = Fraction('0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586332699')
EXPONENT, BIAS = 52, 1023
ROOT_HALF = 0x3FE6A09E667F3BCD
"""Bits of the square root of 1/2."""
EXP_TERMS, LOG_TERMS = 13, 11
"""Terms of the series beyond the first two, or one: the remainder is below 2^-58 of the result."""


def split(value: Fraction, bits: Sequence[int]) -> list[float]:
    """Return a number as a sum of floats with the given numbers of bits."""
    parts = []
    for count in bits:
        exponent = math.frexp(float(value))[1] - count
        part = Fraction(math.floor(value / Fraction(2) ** exponent)) * Fraction(2) ** exponent
        parts.append(float(part))
        value -= part
    return parts


class Lanes:
    """Writes arithmetic on vectors to an LLVM builder."""

    def __init__(self, builder: Any, lanes: int, precision: Precision = DOUBLE_PRECISION) -> None:
        self.builder, self.lanes, self.precision = builder, lanes, precision
        self.kind, self.words = ir.VectorType(precision.number, lanes), ir.VectorType(precision.word, lanes)

    def number(self, value: float) -> Any:
        """Return a number in every lane."""
        return ir.Constant(self.kind, [value] * self.lanes)

    def word(self, value: int) -> Any:
        """Return an integer in every lane."""
        return ir.Constant(self.words, [value] * self.lanes)

    def bits(self, x: Any) -> Any:
        """Return the bits of numbers."""
        return self.builder.bitcast(x, self.words)

    def of_bits(self, x: Any) -> Any:
        """Return the numbers of bits."""
        return self.builder.bitcast(x, self.kind)

    def series(self, x: Any, coefficients: Sequence[float]) -> Any:
        """Return the polynomial with these coefficients, the lowest power first."""
        total = self.number(coefficients[-1])
        for value in coefficients[-2::-1]:
            product = self.builder.fmul(total, x, flags=FUSED)
            total = self.builder.fadd(product, self.number(value), flags=FUSED)
        return total

    def less(self, x: Any, y: Any) -> Any:
        """Return the mask of lanes in which x is less than y."""
        return self.builder.fcmp_ordered('<', x, y)

    def power_of_two(self, exponent: Any) -> Any:
        """Return 2 to integers (words) between -1022 and 1023, in double precision."""
        biased = self.builder.add(exponent, self.word(BIAS))
        return self.of_bits(self.builder.shl(biased, self.word(EXPONENT)))

    def nearest(self, x: Any) -> tuple[Any, Any]:
        """Return the nearest integers of numbers as numbers, and as words."""
        integral = self.number(self.precision.integral)
        moved = self.builder.fadd(x, integral)
        whole = self.builder.fsub(moved, integral)
        return whole, self.builder.sub(self.bits(moved), self.word(self.precision.integral_bits))

    def near(self, x: Any) -> Any:
        """Return the mask of lanes in which an angle is small enough for the reduction here."""
        far = 2.0**self.precision.quarters * math.pi / 2
        size = self.builder.call(_magnitude(self.builder.module, self.lanes, self.precision), [x])
        return self.builder.fcmp_ordered('<=', size, self.number(far))


def sine_and_cosine(module: ir.Module, lanes: int, precision: Precision) -> ir.Function:
    """Return the function of a module that writes sine and cosine: (pointer to two vectors, vector)."""
    kind = ir.VectorType(precision.number, lanes)
    name = f'sincos_{precision.suffix}_{lanes}'
    return _internal_function(
        module, name, ir.VoidType(), [kind.as_pointer(), kind], lambda f: _write_sincos(f, lanes, precision)
    )


def sines_and_cosines(builder: Any, lanes: int, precision: Precision, angles: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return inline sines and cosines of vectors, with one common branch for angles too large for the reduction."""
    write, module = Lanes(builder, lanes, precision), builder.module
    every = builder.bitcast(reduce(builder.and_, map(write.near, angles)), ir.IntType(lanes))
    reduced = [_reduced_sincos(write, x) for x in angles]
    before, room = builder.block, builder.alloca(write.kind, 2)
    with builder.if_then(builder.icmp_unsigned('!=', every, ir.Constant(ir.IntType(lanes), -1)), likely=False):
        exact = []
        for x in angles:
            builder.call(sine_and_cosine(module, lanes, precision), [room, x])
            exact.append(tuple(builder.load(_pointer(builder, room, k), align=precision.bytes) for k in range(2)))
        after = builder.block
    return [
        tuple(_either(builder, (value, before), (other, after)) for value, other in zip(pair, others))  # type: ignore[misc]
        for pair, others in zip(reduced, exact)
    ]


def _either(builder: Any, *ways: tuple[Any, Any]) -> Any:
    """Return a value that depends on the predecessor block (phi node)."""
    phi = builder.phi(ways[0][0].type)
    for value, block in ways:
        phi.add_incoming(value, block)
    return phi


def exponential(module: ir.Module, lanes: int) -> ir.Function:
    """Return the exponential function of a module for a vector."""
    kind = ir.VectorType(DOUBLE, lanes)
    return _internal_function(module, f'exp_{lanes}', kind, [kind], lambda f: _write_exp(f, lanes))


def logarithm(module: ir.Module, lanes: int) -> ir.Function:
    """Return the natural logarithm of a module for a vector."""
    kind = ir.VectorType(DOUBLE, lanes)
    return _internal_function(module, f'log_{lanes}', kind, [kind], lambda f: _write_log(f, lanes))


def _internal_function(
    module: ir.Module, name: str, result: Any, arguments: list[Any], write: Callable[[Any], None]
) -> ir.Function:
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result, arguments), name=name)
        function.linkage = 'internal'
        write(function)
    return function


def each_lane(builder: Any, lanes: int, function: Any, operands: Sequence[Any]) -> Any:
    """Return the result of a function of scalars, called lane by lane."""
    result = ir.Constant(operands[0].type, [0.0] * lanes)
    for k in range(lanes):
        lane = ir.Constant(ir.IntType(32), k)
        arguments = [builder.extract_element(x, lane) for x in operands]
        result = builder.insert_element(result, builder.call(function, arguments), lane)
    return result


def scalar_function(module: ir.Module, name: str, arity: int = 1, kind: ir.Type = DOUBLE) -> ir.Function:
    """Return the declaration of a function of the C library, or of an intrinsic."""
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name=name)
    return function


def _write_sincos(function: ir.Function, lanes: int, precision: Precision) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    write, align = Lanes(builder, lanes, precision), precision.bytes
    out, x = function.args
    near = write.near(x)
    sine, cosine = _reduced_sincos(write, x)
    for k, value in enumerate((sine, cosine)):
        builder.store(value, _pointer(builder, out, k), align=align)
    every = builder.bitcast(near, ir.IntType(lanes))
    with builder.if_then(builder.icmp_unsigned('!=', every, ir.Constant(ir.IntType(lanes), -1)), likely=False):
        for k, name in enumerate(('sin', 'cos')):
            exact_function = scalar_function(function.module, f'llvm.{name}.{precision.suffix}', kind=precision.number)
            exact = each_lane(builder, lanes, exact_function, [x])
            value = builder.load(_pointer(builder, out, k), align=align)
            builder.store(builder.select(near, value, exact), _pointer(builder, out, k), align=align)
    builder.ret_void()


def _pointer(builder: Any, pointer: Any, index: int) -> Any:
    return builder.gep(pointer, [ir.Constant(WORD, index)], inbounds=True)


def _magnitude(module: ir.Module, lanes: int, precision: Precision) -> ir.Function:
    name, kind = f'llvm.fabs.v{lanes}{precision.suffix}', ir.VectorType(precision.number, lanes)
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind]), name=name)


def _reduced_sincos(write: Lanes, x: Any) -> tuple[Any, Any]:
    """Return sine and cosine of x = n pi / 2 + (r + rest), with pi / 2 as three floats and a rest."""
    builder = write.builder
    count, whole = write.nearest(builder.fmul(x, write.number(float(2 / PI))))
    first, second, third, last = split(PI / 2, write.precision.pieces)
    exact = builder.fsub(x, builder.fmul(count, write.number(first)))
    taken = builder.fmul(count, write.number(second))
    near = builder.fsub(exact, taken)
    lost = builder.fsub(builder.fsub(exact, near), taken)
    taken = builder.fmul(count, write.number(third))
    nearer = builder.fsub(near, taken)
    lost = builder.fadd(lost, builder.fsub(builder.fsub(near, nearer), taken))
    lost = builder.fsub(lost, builder.fmul(count, write.number(last)))
    r = builder.fadd(nearer, lost)
    rest = builder.fadd(builder.fsub(nearer, r), lost)
    sine, cosine = _central_sine(write, r, rest), _central_cosine(write, r, rest)
    zero = write.word(0)
    odd = builder.icmp_signed('!=', builder.and_(whole, write.word(1)), zero)
    turned = builder.and_(whole, write.word(2))
    turned_next = builder.and_(builder.add(whole, write.word(1)), write.word(2))
    return (
        _signed(write, builder.select(odd, cosine, sine), turned),
        _signed(write, builder.select(odd, sine, cosine), turned_next),
    )


def _signed(write: Lanes, x: Any, turned: Any) -> Any:
    """Return x, negated in lanes in which the words `turned` are 2 and not 0."""
    builder = write.builder
    return write.of_bits(builder.xor(write.bits(x), builder.shl(turned, write.word(write.precision.bits[0] - 2))))


def _central_sine(write: Lanes, r: Any, rest: Any) -> Any:
    """Return the sine of r + rest within pi / 4: r + (rest - r^2 rest / 2 + r^3 (-1/6 + ...))."""
    builder = write.builder
    z = builder.fmul(r, r, flags=FUSED)
    terms = [(-1) ** k / math.factorial(2 * k + 1) for k in range(1, write.precision.sin_terms + 1)]
    cube = builder.fmul(builder.fmul(z, r, flags=FUSED), write.series(z, terms), flags=FUSED)
    turned = builder.fmul(builder.fmul(z, write.number(-0.5), flags=FUSED), rest, flags=FUSED)
    small = builder.fadd(builder.fadd(cube, turned, flags=FUSED), rest, flags=FUSED)
    return builder.fadd(r, small)


def _central_cosine(write: Lanes, r: Any, rest: Any) -> Any:
    """Return the cosine of r + rest within pi / 4, w + ((1 - w - r^2 / 2) + r^4 (1/24 - ...) - r rest).

    Here w is 1 - r^2 / 2, rounded.
    """
    builder, one = write.builder, write.number(1.0)
    z = builder.fmul(r, r)
    half = builder.fmul(z, write.number(0.5))
    w = builder.fsub(one, half)
    lost = builder.fsub(builder.fsub(one, w), half)
    terms = [(-1) ** k / math.factorial(2 * k) for k in range(2, write.precision.cos_terms + 2)]
    fourth = builder.fmul(builder.fmul(z, z, flags=FUSED), write.series(z, terms), flags=FUSED)
    small = builder.fsub(fourth, builder.fmul(r, rest, flags=FUSED), flags=FUSED)
    return builder.fadd(w, builder.fadd(lost, small))


def _write_exp(function: ir.Function, lanes: int) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    write = Lanes(builder, lanes)
    (x,) = function.args
    low, high = write.number(-746.0), write.number(710.0)
    x = builder.select(write.less(x, low), low, x)
    x = builder.select(write.less(high, x), high, x)
    count, whole = write.nearest(builder.fmul(x, write.number(float(1 / LN2))))
    first, last = split(LN2, (33, 53))
    exact = builder.fsub(x, builder.fmul(count, write.number(first)))
    taken = builder.fmul(count, write.number(last))
    r = builder.fsub(exact, taken)
    rest = builder.fsub(builder.fsub(exact, r), taken)
    z = builder.fmul(r, r, flags=FUSED)
    terms = [1 / math.factorial(k) for k in range(2, EXP_TERMS + 2)]
    small = builder.fadd(builder.fmul(z, write.series(r, terms), flags=FUSED), rest, flags=FUSED)
    value = builder.fadd(write.number(1.0), builder.fadd(r, small))
    _, half = write.nearest(builder.fmul(count, write.number(0.5)))
    value = builder.fmul(value, write.power_of_two(half))
    builder.ret(builder.fmul(value, write.power_of_two(builder.sub(whole, half))))


def _write_log(function: ir.Function, lanes: int) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    write = Lanes(builder, lanes)
    (x,) = function.args
    tiny = write.less(x, write.number(2.0**-1022))
    bits = write.bits(builder.select(tiny, builder.fmul(x, write.number(2.0**54)), x))
    one = write.word(BIAS << EXPONENT)
    moved = builder.add(builder.sub(bits, write.word(ROOT_HALF)), one)
    biased = builder.lshr(moved, write.word(EXPONENT))
    field = builder.shl(biased, write.word(EXPONENT))
    mantissa = write.of_bits(builder.add(builder.sub(bits, field), one))
    whole = write.of_bits(builder.or_(biased, write.word(0x433 << EXPONENT)))  # 2^52 + the exponent
    power = builder.fsub(whole, write.number(2.0**52 + BIAS))
    power = builder.fsub(power, builder.select(tiny, write.number(54.0), write.number(0.0)))
    f = builder.fsub(mantissa, write.number(1.0))
    s = builder.fdiv(f, builder.fadd(f, write.number(2.0)))
    z = builder.fmul(s, s)
    terms = [2.0 / (2 * k + 1) for k in range(1, LOG_TERMS + 1)]
    tail = builder.fmul(z, write.series(z, terms), flags=FUSED)  # log(1 + f) = 2 s + s tail, 2 s = f - s f
    half = builder.fmul(builder.fmul(f, write.number(0.5)), f)
    first, last = split(LN2, (33, 53))
    small = builder.fadd(builder.fmul(s, builder.fadd(half, tail)), builder.fmul(power, write.number(last)))
    value = builder.fsub(builder.fmul(power, write.number(first)), builder.fsub(builder.fsub(half, small), f))
    zero, infinite = write.number(0.0), write.number(math.inf)
    value = builder.select(builder.fcmp_ordered('==', x, infinite), infinite, value)
    value = builder.select(builder.fcmp_ordered('==', x, zero), write.number(-math.inf), value)
    value = builder.select(builder.fcmp_unordered('<', x, zero), write.number(math.nan), value)
    builder.ret(value)

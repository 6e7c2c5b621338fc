"""Expressions of every operation of the emitter and of combinations."""

from __future__ import annotations

import casadi as ca

from dyn_nodes.compile.tape import SELECT

X, Y, Z = (ca.SX.sym(name) for name in 'xyz')

# expressions that must be emitted as exactly this instruction, over arguments in the operation's domain
OPERATIONS = {
    ca.OP_ADD: X + Y,
    ca.OP_SUB: X - Y,
    ca.OP_MUL: X * Y,
    ca.OP_DIV: X / (Y * Y + 0.5),
    ca.OP_NEG: -X,
    ca.OP_SQ: X * X,
    ca.OP_TWICE: X + X,
    ca.OP_INV: 1 / (Y * Y + 0.5),
    ca.OP_SIGN: ca.sign(X),
    ca.OP_FMIN: ca.fmin(X, Y),
    ca.OP_FMAX: ca.fmax(X, Y),
    ca.OP_LT: X < Y,
    ca.OP_LE: X <= Y,
    ca.OP_EQ: X == Y,
    ca.OP_NE: X != Y,
    ca.OP_NOT: ca.logic_not(X < Y),
    ca.OP_AND: ca.logic_and(X < Y, Y < Z),
    ca.OP_OR: ca.logic_or(X < Y, Y < Z),
    ca.OP_IF_ELSE_ZERO: ca.if_else(X < Y, Z, 0),
    SELECT: ca.if_else(X < Y, Y, Z),
    ca.OP_TAN: ca.tan(X),
    ca.OP_ASIN: ca.asin(X / (1 + ca.fabs(X))),
    ca.OP_ACOS: ca.acos(X / (1 + ca.fabs(X))),
    ca.OP_ATAN: ca.atan(X),
    ca.OP_SINH: ca.sinh(X),
    ca.OP_COSH: ca.cosh(X),
    ca.OP_TANH: ca.tanh(X),
    ca.OP_ASINH: ca.asinh(X),
    ca.OP_ACOSH: ca.acosh(1 + X * X),
    ca.OP_ATANH: ca.atanh(X / (1 + ca.fabs(X))),
    ca.OP_ERF: ca.erf(X),
    ca.OP_LOG1P: ca.log1p(ca.fabs(X)),
    ca.OP_EXPM1: ca.expm1(X),
    ca.OP_ATAN2: ca.atan2(X, Y),
    ca.OP_HYPOT: ca.hypot(X, Y),
    ca.OP_FMOD: ca.fmod(X, Y * Y + 0.5),
    ca.OP_EXP: ca.exp(X),
    ca.OP_LOG: ca.log(ca.fabs(X) + 0.1),
    ca.OP_POW: (ca.fabs(X) + 0.1) ** Y,
    ca.OP_CONSTPOW: ca.fabs(X) ** 1.7,
    ca.OP_SQRT: ca.sqrt(ca.fabs(X)),
    ca.OP_SIN: ca.sin(X),
    ca.OP_COS: ca.cos(X),
    ca.OP_FLOOR: ca.floor(X),
    ca.OP_CEIL: ca.ceil(X),
    ca.OP_FABS: ca.fabs(X),
    ca.OP_COPYSIGN: ca.copysign(X, Y),
}
# chains in which an operation meets branches, truth values used as numbers, and numbers used as truth values
MIXTURES = {
    'truth value times number': (X < Y) * Z,
    'sum of truth values': (X < Y) + (Y < Z) + (X != Z),
    'comparison of truth values': (X < Y) == (Y < Z),
    'number as condition': ca.if_else(X, Y, Z),
    'number and number': ca.logic_and(X, Y),
    'number or not number': ca.logic_or(X, ca.logic_not(Y)),
    'minus a truth value': -(X < Y),
    'nested branches': ca.if_else(X < 0, ca.if_else(Y < 0, X * Y, Z), ca.if_else(Z <= X, Y - Z, 1)),
    'arms exchanged': ca.if_else(ca.logic_not(X < Y), Y, Z),
    'both arms added by hand': ca.if_else(X < Y, Z, 0) + ca.if_else(X < Y, 0, Y),
    'clamp': ca.fmin(ca.fmax(X, -1), 1),
    'sign of a branch': ca.sign(ca.if_else(X > Y, X, 0)),
    'root in a branch': ca.if_else(X > 0, ca.sqrt(X), -ca.sqrt(-X)),
    'quotient in a branch': ca.if_else(X == 0, 7, Y / X),
    'logarithm in a branch': ca.if_else(X > 0, ca.log(X), 0),
    'signed root': X / ca.sqrt(ca.fabs(X) + 1e-3),
}
EXPRESSIONS = {**{f'operation {op}': expression for op, expression in OPERATIONS.items()}, **MIXTURES}
FUNCTION = ca.Function('every_operation', [X, Y, Z], [ca.densify(ca.SX(e)) for e in EXPRESSIONS.values()])

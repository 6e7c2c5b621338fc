"""Tape to C: one function of pointers, straight-line C99 code that depends on <math.h> only."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from dyn_nodes.compile.tape import LIBM, SELECT, Tape

_INFIX = {
    ca.OP_ADD: '+',
    ca.OP_SUB: '-',
    ca.OP_MUL: '*',
    ca.OP_DIV: '/',
    ca.OP_LT: '<',
    ca.OP_LE: '<=',
    ca.OP_EQ: '==',
    ca.OP_NE: '!=',
    ca.OP_AND: '&&',
    ca.OP_OR: '||',
}
_UNARY = {
    ca.OP_NEG: '-{0}',
    ca.OP_SQ: '{0} * {0}',
    ca.OP_TWICE: '{0} + {0}',
    ca.OP_INV: '1.0 / {0}',
    ca.OP_SIGN: '{0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0}',
    ca.OP_NOT: '!{0}',
}
_BINARY = {
    ca.OP_FMIN: '{0} < {1} ? {0} : {1}',
    ca.OP_FMAX: '{0} > {1} ? {0} : {1}',
    ca.OP_IF_ELSE_ZERO: '{0} ? {1} : 0.0',
}
_CALLS = {
    **LIBM,
    ca.OP_EXP: 'exp',
    ca.OP_LOG: 'log',
    ca.OP_POW: 'pow',
    ca.OP_CONSTPOW: 'pow',
    ca.OP_SQRT: 'sqrt',
    ca.OP_SIN: 'sin',
    ca.OP_COS: 'cos',
    ca.OP_FLOOR: 'floor',
    ca.OP_CEIL: 'ceil',
    ca.OP_FABS: 'fabs',
    ca.OP_COPYSIGN: 'copysign',
}


def c_source(tape: Tape, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Return C source of a tape: `void name(const double *input, ..., double *output, ...)`.

    Args:
        tape: the function.
        name: of the C function, an identifier.
        inputs: names of its inputs, identifiers.
        outputs: names of its outputs.

    Raises:
        NotImplementedError: an operation without C source.
    """
    arguments = [f'const double *{vector}' for vector in inputs] + [f'double *{vector}' for vector in outputs]
    sizes = ', '.join(f'{vector}[{size}]' for vector, size in zip([*inputs, *outputs], [*tape.inputs, *tape.outputs]))
    lines = [f'/* {sizes}; no argument may overlap another one */', '#include <math.h>', '']
    lines += [f'void {name}({", ".join(arguments)})', '{']
    for k, ((op, a, b, c), number) in enumerate(zip(tape.code.tolist(), tape.constants.tolist())):
        if op == ca.OP_CONST:
            text = _number(number)
        elif op == ca.OP_INPUT:
            text = f'{inputs[a]}[{b}]'
        else:
            text = _operation(op, [f'v{operand}' for operand in (a, b, c) if operand >= 0])
        lines.append(f'    const double v{k} = {text};')
    written = [np.zeros(size, dtype=bool) for size in tape.outputs]
    for output, element, value in tape.results.tolist():
        written[output][element] = True
        lines.append(f'    {outputs[output]}[{element}] = v{value};')
    for vector, mask in zip(outputs, written):  # elements that CasADi does not write are zero
        lines += [f'    {vector}[{element}] = 0.0;' for element in np.flatnonzero(~mask)]
    return '\n'.join([*lines, '}', ''])


def _number(value: float) -> str:
    if np.isnan(value):
        return 'NAN'
    if np.isinf(value):
        return 'INFINITY' if value > 0 else '-INFINITY'
    return repr(float(value))


def _operation(op: int, operands: list[str]) -> str:
    if op == SELECT:
        return '{} ? {} : {}'.format(*operands)
    if op in _INFIX:
        return f'{operands[0]} {_INFIX[op]} {operands[1]}'
    if op in _UNARY:
        return _UNARY[op].format(*operands)
    if op in _BINARY:
        return _BINARY[op].format(*operands)
    if op in _CALLS:
        return f'{_CALLS[op]}({", ".join(operands)})'
    raise NotImplementedError(f'CasADi operation {op} has no C source here')

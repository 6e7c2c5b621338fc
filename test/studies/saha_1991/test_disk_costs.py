"""Cost of one right-hand side of the disk's twelve schemes, counted in operations (saha-1991, spec 2.25, 6.9).

The source text of the kernels runs as plain Python on numbers that count operations, without clock and compiler.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from dyn_nodes.studies.saha_1991 import _disk_kernels
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES, RollingDisk

EQUATIONS = {'F1': 8, 'F2': 9, 'F3': 10, 'F4': 14, 'F5': 15, 'D1': 8, 'D2': 9, 'D3': 11, 'D4': 14, 'D5': 16,
             'I1': 9, 'I2': 14}  # fmt: skip
STATE = [0.35, 0.1, 0.2, 0.4, 6.0, -5.0, 0.0, 0.0]


class Counted:
    """A number that counts operations; products with literal 0, 1 and -1 and sums with literal 0 are free."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, value):
        self.value = float(value)

    def _do(self, other, kind, operation):
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy applies the operation entry by entry
        result = Counted(operation(self.value, _value(other)))
        if isinstance(other, Counted) or other not in ((0, 1, -1) if kind == 'times' else (0,)):
            Counted.counts[kind] += 1
        return result

    def __add__(self, other):
        return self._do(other, 'plus', lambda a, b: a + b)

    def __sub__(self, other):
        return self._do(other, 'plus', lambda a, b: a - b)

    def __rsub__(self, other):
        return self._do(other, 'plus', lambda a, b: b - a)

    def __mul__(self, other):
        return self._do(other, 'times', lambda a, b: a * b)

    def __truediv__(self, other):
        return self._do(other, 'over', lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self._do(other, 'over', lambda a, b: b / a)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Counted(-self.value)

    def __float__(self):
        return self.value


def _value(number):
    return number.value if isinstance(number, Counted) else float(number)


def _function(name):
    def call(self):
        Counted.counts['function'] += 1
        return Counted(getattr(math, name)(self.value))

    return call


for _name in ('sin', 'cos', 'tan', 'sqrt'):
    setattr(Counted, _name, _function(_name))


class Numpy:
    """NumPy with empty arrays of any number type."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def empty(shape):
        return np.empty(shape, dtype=object)


@pytest.fixture(scope='module')
def plain():
    """The kernels' functions as plain Python."""
    text = inspect.getsource(_disk_kernels).replace('import numpy as np\n', '')
    text = text.replace('from dyn_nodes.multibody._kernels import kernel\n', '').replace('from __future__', '# ')
    room = {'np': Numpy(), 'kernel': lambda function: function}
    exec(compile(text, 'disk_kernels', 'exec'), room)
    return room


@pytest.fixture(scope='module')
def costs(plain):
    disk, counts = RollingDisk(), {}
    numbers = np.array([Counted(disk.radius), Counted(disk.mass), Counted(disk.gravity)], dtype=object)
    for name, code in SCHEMES.items():
        start = disk.start(name, np.array(STATE))
        state = np.array([Counted(x) for x in start], dtype=object)
        rate = np.empty(len(state), dtype=object)
        Counted.counts = Counter()
        plain['disk_rate'](code, numbers, state, rate)
        counts[name] = Counted.counts
        expected = np.empty(len(state))
        _disk_kernels.disk_rate(np.array(code), disk._numbers, start, expected)
        assert np.array([float(x) for x in rate]) == pytest.approx(expected, rel=1e-12, abs=1e-12), name
    return counts


def arithmetic(count):
    return count['plus'] + count['times'] + count['over']


def weighed(count):
    """Return the cost: a division counts as four products, a function as ten, similar to a processor."""
    return count['plus'] + count['times'] + 4 * count['over'] + 10 * count['function']


@pytest.mark.pins('saha-1991/6.9/cost')
def test_schemes_have_as_many_equations_as_tabulated():
    disk = RollingDisk()
    assert {name: len(disk.start(name, np.array(STATE))) for name in SCHEMES} == EQUATIONS


@pytest.mark.pins('saha-1991/6.9/cost')
def test_matrices_cost_no_more_than_quaternions_in_spite_of_more_equations(costs):
    for matrix, quaternion in (('F4', 'F2'), ('F5', 'F3'), ('D4', 'D2'), ('D5', 'D3'), ('I2', 'I1')):
        assert EQUATIONS[matrix] > EQUATIONS[quaternion]
        assert arithmetic(costs[matrix]) <= arithmetic(costs[quaternion])
        assert costs[matrix]['function'] == costs[quaternion]['function']


@pytest.mark.pins('saha-1991/6.9/cost')
def test_angles_that_are_integrated_are_cheaper_than_those_from_geometry_in_the_frame_of_the_disk(costs):
    assert arithmetic(costs['D5']) < arithmetic(costs['D4'])
    assert arithmetic(costs['D3']) < arithmetic(costs['D2'])


@pytest.mark.pins('saha-1991/6.9/cost')
def test_euler_angles_are_the_cheapest_and_the_inertial_frame_the_most_expensive(costs):
    # F1 and D1 are one system here; the axes of the disk, which only D1 computes, cost more
    assert costs['F1'] == costs['D1']
    others = [name for name in SCHEMES if name not in ('F1', 'D1')]
    assert arithmetic(costs['F1']) < min(arithmetic(costs[name]) for name in others)
    assert min(weighed(costs[name]) for name in ('I1', 'I2')) > weighed(costs['F1'])
    for frame in ('F', 'D'):
        assert max(arithmetic(costs[name]) for name in others if name[0] == frame) < arithmetic(costs['I1'])

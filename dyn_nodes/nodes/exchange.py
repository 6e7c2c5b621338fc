"""The exchange of joint states and commands between nodes: periods, queues, the order of valves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dyn_nodes.middleware import DurabilityPolicy, HistoryPolicy, QoSProfile
from dyn_nodes.model import Machine
from dyn_nodes.model.problems import did_you_mean
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of

DEPTH_REALTIME, DEPTH_PACED = 10, 5000
LOCKSTEP_TIMEOUT = 5.0
"""Minimum wall-clock timeout of a lockstep exchange, s: a busy computer must not cause an error in a run that otherwise
depends on simulated time alone."""
SOURCE_TIMEOUT = 0.5 * LOCKSTEP_TIMEOUT
"""Minimum wall-clock timeout of the source of a node in the middle of the chain, s; it expires first."""
WATCH_PERIOD = 0.05
GRID = 1e-6
"""Difference of an instant from a multiple of a period that the rounding of stamps may cause, s."""
CLOCK = '/clock'
EXCHANGE_TOPICS = ('joint_states', 'joint_command', 'valve_commands', 'valve_commands_in')


def data_qos(lockstep: bool) -> QoSProfile:
    """Return the QoS of measurements and reports: in lockstep no message is lost, publishers wait for subscribers."""
    return QoSProfile(history=HistoryPolicy.KEEP_ALL) if lockstep else QoSProfile(depth=DEPTH_REALTIME)


def states_qos(values: Mapping[str, Any]) -> QoSProfile:
    """Return the QoS of `joint_states`. In real time no subscriber delays the machine; its partners receive all."""
    if values['mode'] == 'lockstep':
        return data_qos(True)
    return QoSProfile(depth=DEPTH_PACED if is_lockstep(values) else DEPTH_REALTIME)


def command_qos(lockstep: bool) -> QoSProfile:
    """Return the QoS of `joint_command` and `valve_commands`: in lockstep a late subscriber gets the last message."""
    if lockstep:
        return QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=DEPTH_REALTIME)


LOCKSTEP_NOTICE = (
    'realtime with a simulation: each joint_states is answered and waited for; a real machine needs partner:=external'
)


def is_lockstep(values: Mapping[str, Any]) -> bool:
    """Return whether a node exchanges in lockstep: `mode` lockstep, or real time with a partner to wait for."""
    return bool(values['mode'] == 'lockstep' or values['partner'] != 'external')


def is_simulated(node: Any, values: Mapping[str, Any]) -> bool:
    """Return whether time is declared to be simulated: `mode` or `partner` lockstep, or `use_sim_time`.

    A publisher of /clock is no declaration: it may be a bag, or a simulation beside a real machine.
    """
    is_declared = 'lockstep' in (values.get('mode'), values.get('partner'))
    return is_declared or bool(node.get_parameter('use_sim_time').value)


def undeclared_clock(node: Any, values: Mapping[str, Any]) -> str:
    """Return a warning if /clock is published and time is not declared to be simulated, or ''."""
    if is_simulated(node, values) or not node.count_publishers(node.resolve_topic_name(CLOCK)):
        return ''
    return f'{CLOCK} is published, and time counts as real: a simulation needs use_sim_time:=true'


def announce_partner(node: Any) -> None:
    """Log, in real time, that the node assumes joint states of a simulation."""
    if node.values['mode'] == 'realtime' and is_lockstep(node.values):
        node.get_logger().info(LOCKSTEP_NOTICE)


def awaits_commands(values: Mapping[str, Any]) -> bool:
    """Return whether the node waits for the `valve_commands` of every period.

    `command_source` auto means yes in lockstep and no in real time.
    """
    source = values['command_source']
    return is_lockstep(values) and (source == 'lockstep' or (source == 'auto' and values['mode'] == 'lockstep'))


class Every:
    """A period of simulated time, counted in exchange periods to be independent of the rounding of stamps.

    Args:
        name, period: of the parameter, s.
        exchange_period: s.
        exact: the period must be a whole number of exchanges (lockstep).

    Attributes:
        lasts: time for which a command of the period holds, ns, less half an exchange for rounded stamps.

    Raises:
        ParameterError: `exact` and not a whole number.
    """

    def __init__(self, name: str, period: float, exchange_period: float, exact: bool) -> None:
        self.exchange = nanoseconds_of(exchange_period)
        self.period = nanoseconds_of(period)
        ratio = period / exchange_period
        self.ticks = max(1, round(ratio))
        self.name, self.seconds = name, self.ticks * exchange_period
        if exact and abs(ratio - self.ticks) > 1e-6 * self.ticks:
            raise ParameterError(
                f'parameter {name!r}: in lockstep expected a multiple of the exchange period of {exchange_period:g} s, '
                f'found {period:g} s'
            )
        self.lasts = self.ticks * self.exchange - self.exchange // 2
        self._last: int | None = None

    def at(self, nanoseconds: int) -> bool:
        """Return whether a time of the grid of exchanges is a multiple of the period."""
        return round(nanoseconds / self.exchange) % self.ticks == 0

    def check_answered(self, topic: str, nanoseconds: int | None) -> None:
        """Raise RejectedError if a command answers an instant without a command: the periods of two nodes differ.

        Args:
            topic: of the command.
            nanoseconds: the instant that it answers; None: unknown.
        """
        if nanoseconds is None:
            return
        seconds = nanoseconds / NANO
        if abs(seconds - self.seconds * round(seconds / self.seconds)) > GRID:
            raise RejectedError(
                'wrong period',
                f'{topic}: expected commands at multiples of {self.name} {self.seconds:g} s, found one for '
                f't = {seconds:.9g} s: its source has another {self.name} or exchange_period',
            )

    def passed(self, nanoseconds: int) -> bool:
        """Return whether a multiple of the period lies between the times of the last call and this one."""
        index = nanoseconds // self.period
        passed = index != self._last
        self._last = index
        return passed


def valve_order(machine: Machine, names: Sequence[str]) -> list[int]:
    """Return the indices of the machine's actuators in the order of `valve_commands`.

    Args:
        machine: the machine.
        names: of actuators or of their joints; empty: all, in the machine's order.

    Raises:
        ParameterError: no actuators, an unknown name, or one actuator twice.
    """
    if not machine.actuators:
        raise ParameterError(f'machine {machine.name!r} has no hydraulic actuators')
    indices = {actuator.joint: k for k, actuator in enumerate(machine.actuators)}
    indices.update({actuator.name: k for k, actuator in enumerate(machine.actuators)})
    wanted = [name for name in names if name]
    order = []
    for name in wanted:
        if name not in indices:
            accepted = [actuator.name for actuator in machine.actuators]
            raise ParameterError(
                f"parameter 'joints': expected actuators or their joints, found {did_you_mean(name, accepted)}"
            )
        if indices[name] in order:
            raise ParameterError(f"parameter 'joints': expected each actuator once, found {name!r} again")
        order.append(indices[name])
    return order or list(range(len(machine.actuators)))


def set_stamp(message: Any, nanoseconds: int) -> None:
    """Write a time, ns, into the header of a message."""
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)

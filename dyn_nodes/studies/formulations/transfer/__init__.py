"""Closed loops, parallel, redundant and over-actuated machines by transfer of coordinates (freeman-1985, ch. 4).

loop = close_loop(serial_model(here, gravity), end, kept=['joint_1'], free=['rz'])
machine = ParallelMachine(here, legs, gravity=gravity)
machine.actuated(['leg_1', ...])                 # the model in other joints
coordinate_transfer(system).at(q, v)             # any tree with constraints, beside `constrained_dynamics`
"""

from dyn_nodes.studies.formulations.transfer.closed_loop import ClosedLoop, close_loop
from dyn_nodes.studies.formulations.transfer.formulation import (
    CoordinateTransfer,
    TransferredMotion,
    coordinate_transfer,
)
from dyn_nodes.studies.formulations.transfer.parallel import Leg, ParallelMachine
from dyn_nodes.studies.formulations.transfer.redundancy import LoadDistribution, RedundantMotion, minimum_energy_inverse

__all__ = [
    'ClosedLoop',
    'CoordinateTransfer',
    'Leg',
    'LoadDistribution',
    'ParallelMachine',
    'RedundantMotion',
    'TransferredMotion',
    'close_loop',
    'coordinate_transfer',
    'minimum_energy_inverse',
]

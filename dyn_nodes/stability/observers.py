"""Selection of the balance observer of a system: planar, rigid running gear, or running gear that gives way."""

from __future__ import annotations

from typing import Any

from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.stability.balance import BalanceObserver, PlanarBalanceObserver
from dyn_nodes.stability.equilibrium.standing import gives_way


def balance_observer(system: Any, measures: tuple[str, ...] = DEFAULT_MEASURES) -> BalanceObserver | None:
    """Return the balance observer of a machine; None if it has too few wheels to stand on.

    Raises:
        KeyError: a measure that does not exist, or needs more wheels.
    """
    machine = system.stance
    feet = sum(support.corner for support in machine.supports)
    if getattr(system, 'machine', None) is not None and gives_way(system.machine):
        from dyn_nodes.stability.gear_balance import GearBalanceObserver

        return GearBalanceObserver(system, measures)
    if machine.base.attachment == 'planar' and feet >= 2:
        return PlanarBalanceObserver(system, measures)
    if machine.base.attachment != 'planar' and feet >= 3:
        return BalanceObserver(system, measures)
    return None

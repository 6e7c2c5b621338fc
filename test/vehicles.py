"""The vehicles of the package, and plants of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.plant import Plant

ROOT = Path(__file__).resolve().parents[1]
GRAVITY = 9.81
STEP = 5e-4

DEGREES_OF_FREEDOM = {
    'agv_axle': 6 + 2,
    'agv_caster': 6 + 4,
    'agv_omni': 6 + 3,
    'agv_mecanum': 6 + 4,
    'agv_mecanum_arm': 6 + 4 + 4,
    'platform_4x4x4': 6 + 8,
    'platform_4x4x4_arm': 6 + 8 + 7,
    'car': 6 + 4 + 2 + 4,
}
VEHICLES = tuple(DEGREES_OF_FREEDOM)


@cache
def vehicle(name: str) -> Machine:
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


def plant(name: str, period: float = 1e-3) -> Plant:
    return Plant(vehicle(name), 'effort', period, STEP)


def drive(plant: Plant, efforts: dict[str, float]) -> None:
    """Set efforts of joints by name, all others to zero."""
    plant.u[:] = 0.0
    plant.set_inputs({f'{joint}/effort': effort for joint, effort in efforts.items()})


def run(plant: Plant, duration: float) -> None:
    """Advance with steering joints held at 0; a free knuckle would swing about its king-pin."""
    for _ in range(round(duration / plant.period)):
        hold_steering(plant)
        plant.advance()


def hold_steering(plant: Plant, angles: dict[str, float] | None = None) -> None:
    """Set the efforts of stiff steering gears, critically damped."""
    wanted = angles or {}
    for name, position, velocity in zip(plant.joints, plant.positions, plant.velocities):
        if name.endswith('_steer') and name in plant.actuated:
            stiffness, damping = (2e4, 250.0) if plant.machine.name.startswith('car') else (500.0, 10.0)
            effort = stiffness * (wanted.get(name, 0.0) - position) - damping * velocity
            plant.set_inputs({f'{name}/effort': effort})

"""Vehicles without files: wheels at chosen positions, for tests of their controllers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_unit import WheelUnit

INF = math.inf
RADIUS = 0.1


def unit(name: str, x: float, y: float, **changes: object) -> WheelUnit:
    """Return a driven fixed tyre at a position, with changes."""
    fields: dict[str, object] = {
        'name': name,
        'drive': f'{name}_drive',
        'driven': True,
        'turn': 1.0,
        'steering': None,
        'steered': False,
        'up': 1.0,
        'pivot': (x, y),
        'offset': (0.0, 0.0),
        'heading': 0.0,
        'roller_angle': None,
        'radius': RADIUS,
        'drive_limits': (INF, INF),
        'steering_limits': (-INF, INF),
        'steering_speed': INF,
        'steering_effort': INF,
        'axial_inertia': 0.01,
        'steering_inertia': 0.0,
    }
    return WheelUnit(**{**fields, **changes})  # type: ignore[arg-type]


def steered(name: str, x: float, y: float, **changes: object) -> WheelUnit:
    """Return a driven wheel below a steering joint."""
    return unit(
        name, x, y, **{'steering': f'{name}_steer', 'steered': True, 'steering_inertia': 0.05, 'steering_speed': 3.0,
                       **changes}
    )  # fmt: skip


def base_of(*wheels: WheelUnit, mass: float = 45.0, yaw_inertia: float = 2.7) -> WheelBase:
    return WheelBase(wheels, np.diag([mass, mass, yaw_inertia]))


def differential(axle: float = 0.0, **changes: object) -> WheelBase:
    """Return a vehicle with two wheels on an axle at x = axle."""
    return base_of(unit('left', axle, 0.25, **changes), unit('right', axle, -0.25, **changes))


def mecanum(**changes: object) -> WheelBase:
    """Return the layout of config/agv_mecanum.yaml."""
    positions = {'front_left': (0.3, 0.2, -1), 'front_right': (0.3, -0.2, 1), 'rear_left': (-0.3, 0.2, 1),
              'rear_right': (-0.3, -0.2, -1)}  # fmt: skip
    return base_of(
        *(unit(name, x, y, roller_angle=hand * math.pi / 4, **changes) for name, (x, y, hand) in positions.items())
    )


def omni(count: int) -> WheelBase:
    """Return wheels with transverse rollers on a circle."""
    angles = [2 * math.pi * k / count for k in range(count)]
    return base_of(
        *(
            unit(f'wheel_{k}', 0.3 * math.cos(a), 0.3 * math.sin(a), heading=a + math.pi / 2, roller_angle=0.0)
            for k, a in enumerate(angles)
        )
    )


def four_steered(stops: float = INF, scrub: float = 0.08, **changes: object) -> WheelBase:
    """Return the layout of the 4x4x4 platform."""
    return base_of(
        *(
            steered(
                f'{end}_{side}', x, 0.25 * y, offset=(0.0, scrub * y), steering_limits=(-stops, stops), **changes
            )
            for end, x in (('front', 0.35), ('rear', -0.35))
            for side, y in (('left', 1), ('right', -1))
        ),
        mass=104.0, yaw_inertia=11.5,
    )  # fmt: skip


WHEELBASE, TRACK, STOP = 2.6, 1.5, 0.6


def car() -> WheelBase:
    """Return a vehicle with driven rear wheels below the base and steered front wheels."""
    front = {'driven': False, 'steering_limits': (-STOP, STOP)}
    return base_of(
        unit('rear_left', 0.0, TRACK / 2),
        unit('rear_right', 0.0, -TRACK / 2),
        steered('front_left', WHEELBASE, TRACK / 2, **front),
        steered('front_right', WHEELBASE, -TRACK / 2, **front),
    )


def with_caster() -> WheelBase:
    """Return a vehicle with two driven wheels and a caster 5 cm behind its pivot."""
    caster = unit('caster', -0.5, 0.0, driven=False, steering='fork', offset=(-0.05, 0.0), radius=0.05)
    return base_of(unit('left', 0.0, 0.25), unit('right', 0.0, -0.25), caster)


LAYOUTS = {
    'differential': differential(),
    'axle behind': differential(-0.2),
    'caster': with_caster(),
    'mecanum': mecanum(),
    'three omni': omni(3),
    'five omni': omni(5),
    'four steered': four_steered(),
    'car': car(),
}
layouts = st.sampled_from(sorted(LAYOUTS)).map(LAYOUTS.__getitem__)
speeds = st.floats(-1.0, 1.0)
twists = st.tuples(speeds, speeds, speeds).map(lambda values: np.array(values))
angles_of_four = st.lists(st.floats(-1.2, 1.2), min_size=5, max_size=5)


def rolling_twist(base: WheelBase, wanted: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the part of a twist for which all wheels roll without slip at steering angles."""
    motions = base.free_motions(angles)
    return np.asarray(motions @ (motions.T @ wanted))


def agreeing_angles(base: WheelBase, twist: np.ndarray) -> np.ndarray:
    """Return steering angles at which all wheels roll with a twist that the fixed wheels allow; casters too."""
    angles = np.zeros(len(base.wheels))
    for k, wheel in enumerate(base.wheels):
        if wheel.steering is not None and (choices := base.steering_choices(k, twist)) is not None:
            angles[k] = choices[0]
    return angles

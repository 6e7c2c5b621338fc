"""A small carrier on two crawler tracks, as URDF and YAML text."""

from __future__ import annotations

from pathlib import Path

from rolling_machines import GRAVITY, disc, friction, hinge, platform, write

from dyn_nodes.model.machine import Machine

MASS, SPROCKET = 900.0, 50.0
WEIGHT = GRAVITY * (MASS + 2 * SPROCKET)
GAUGE, LENGTH, RADIUS = 1.2, 1.5, 0.2
MU = 0.6


def carrier(
    folder: Path, rollers: int = 4, bristles: float = 60.0, slope: float = 0.0, keys: str = '', loss: float = 2.0
) -> Machine:
    """Return a carrier of 1 t: base_link at the height of the row of rollers; the right sprocket turns about -y."""
    urdf = platform(MASS, 300.0, (0.0, 0.0, 0.3))
    for side, y, axis in (('left', 0.5 * GAUGE, '0 1 0'), ('right', -0.5 * GAUGE, '0 -1 0')):
        urdf += disc(f'{side}_wheel', SPROCKET, 1.0, 0.6) + hinge(
            side, 'base_link', f'{side}_wheel', (0.0, y, 0.1), axis
        )
    config = f"""
name: carrier
base: {{attachment: free}}
slope: {{pitch: {slope}}}
payload: {{link: base_link, position: [0.7, 0, 0.5], mass: 0, limit: 3000}}
contacts:
"""
    for side, y in (('left', 0.5 * GAUGE), ('right', -0.5 * GAUGE)):
        config += f"""  {side}_track:
    type: track
    link: base_link
    position: [0, {y}, 0]
    length: {LENGTH}
    rollers: {rollers}
    stiffness: 8.0e+5
    damping: 1.6e+4
    free_length: 0.3
    sprocket: {side}
    sprocket_radius: {RADIUS}
    friction: {friction(bristles, loss, MU)}
"""
    return write(folder, 'carrier', urdf, config + keys)

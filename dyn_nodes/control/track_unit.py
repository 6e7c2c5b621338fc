"""Crawler tracks of a vehicle: as wheel units, and their slip law with the loads of the machine at rest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.track_slip import SlippingTrack, TrackSlip
from dyn_nodes.control.wheel_unit import NoVehicleError, WheelUnit
from dyn_nodes.model.contacts.track import Track, forward
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import moved_inertia
from dyn_nodes.stability.equilibrium.standing import at_rest


def tracks_of(machine: Machine) -> tuple[Track, ...]:
    """Return the tracks of a machine."""
    return tuple(contact for contact in machine.contacts if isinstance(contact, Track))


def track_units(machine: Machine, poses: Mapping[str, Array]) -> tuple[WheelUnit, ...]:
    """Return the wheel units of tracks: fixed tyres in their middles, turned by their sprockets.

    Raises:
        NoVehicleError: a track on another link than the base link.
    """
    return tuple(_unit(machine, track, poses) for track in tracks_of(machine))


def _unit(machine: Machine, track: Track, poses: Mapping[str, Array]) -> WheelUnit:
    if track.link != machine.base.link:
        raise NoVehicleError(f'track {track.name!r}: expected it on {machine.base.link}, found it on {track.link}')
    drive = machine.joint(track.sprocket)
    middle = (float(track.position[0]), float(track.position[1]))
    return WheelUnit(
        name=track.name,
        drive=drive.name,
        driven=drive.name in {joint.name for joint in machine.actuated_joints},
        turn=float(np.sign(forward(drive))),
        steering=None,
        steered=False,
        up=1.0,
        pivot=middle,
        offset=(0.0, 0.0),
        heading=0.0,
        roller_angle=None,
        radius=track.sprocket_radius,
        drive_limits=(drive.velocity_limit, drive.effort_limit),
        steering_limits=(-np.inf, np.inf),
        steering_speed=np.inf,
        steering_effort=np.inf,
        axial_inertia=moved_inertia(machine, drive, poses),
        steering_inertia=0.0,
    )


def slip_of(machine: Machine) -> TrackSlip | None:
    """Return the slip law of a machine's tracks; None with fewer than two, or without a pose at rest."""
    tracks = tracks_of(machine)
    resting = at_rest(machine) if len(tracks) > 1 else None
    if resting is None:
        return None
    loads: dict[str, list[float]] = {}
    for support, load in zip(machine.supports, resting[1].loads):
        loads.setdefault(support.contact, []).append(float(load))
    return TrackSlip(
        [
            SlippingTrack(
                middle=(float(track.position[0]), float(track.position[1])),
                roller_positions=np.array(track.offsets),
                loads=np.array(loads[track.name]),
                pitch=track.pitch,
                modulus=track.friction.kinetic / track.friction.bristle_stiffness,
                friction=track.friction.kinetic,
            )
            for track in tracks
        ]
    )

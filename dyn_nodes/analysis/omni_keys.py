"""Keys of the YAML of a platform on omnidirectional wheels, each declared at the field of its record. Data only."""

from dataclasses import dataclass
from typing import Annotated

from dyn_nodes.model.schema import Key, flag, keys_of, named, number, table, text

Pair = tuple[float, float]


@dataclass(frozen=True)
class OmniPlatform:
    """The platform on the wheels; its centre of mass is the origin of all positions."""

    mass: Annotated[float, number('of the platform without wheels', 'kg', 'positive')]
    yaw_inertia: Annotated[float, number('of the platform without wheels, about the vertical', 'kg m2', 'positive')]


@dataclass(frozen=True, kw_only=True)
class OmniWheelEntry:
    """A wheel in the file: position in either coordinates, geometry, inertia and drive."""

    position: Annotated[Pair | None, Key('', 'pair', 'centre of the wheel', 'm', None)] = None
    distance: Annotated[
        float | None, number('of the centre of the wheel, in polar coordinates', 'm', 'non-negative')
    ] = None
    direction: Annotated[float | None, number('of the centre of the wheel, in polar coordinates', 'rad')] = None
    hub: Annotated[float, number("from the platform's x axis to the axis of the hub", 'rad')]
    roller: Annotated[float, number('from the axis of the hub to the axis of the roller on the floor', 'rad')]
    radius: Annotated[float, number('height of the centre above the floor', 'm', 'positive')]
    roller_radius: Annotated[float, number('of a roller', 'm', 'positive')]
    mass: Annotated[float, number('of the wheel with its rollers', 'kg', 'non-negative')]
    axial_inertia: Annotated[float, number('about the axis of the hub', 'kg m2', 'non-negative')]
    diametral_inertia: Annotated[float, number('about a diameter', 'kg m2', 'non-negative')]
    driven: Annotated[bool, flag('a motor turns the hub')] = True
    torque_limit: Annotated[
        float | None, number('of the motor, both ways; absent: no limit', 'N m', 'non-negative')
    ] = None
    weight: Annotated[float, number('of its torque in the effort that is minimized', '', 'positive')] = 1.0


@dataclass(frozen=True, kw_only=True)
class OmniFile:
    """The file without its `defaults`; the wheels have its order."""

    name: Annotated[str | None, text('of the vehicle; absent: name of the file')] = None
    platform: Annotated[OmniPlatform, table('platform on the wheels', OmniPlatform)]
    wheels: Annotated[tuple[OmniWheelEntry, ...], named('three or more, by name', OmniWheelEntry)]


def omni_keys() -> tuple[Key, ...]:
    """Return the keys of the file."""
    wheel = Key('wheel', 'partial', 'values that all wheels share', table=keys_of(OmniWheelEntry))
    return (*keys_of(OmniFile), Key('defaults', 'partial', 'values that wheels share', default=None, table=(wheel,)))

"""The keys of a machine YAML: what each means, its unit, what it may be. docs/machine_yaml.md is made from this."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dyn_nodes.model.constraint import ConstraintKind, JointKind, LoadMotion, ProfileKind

Kind = Literal[
    'number', 'numbers', 'vector', 'pair', 'text', 'choice', 'flag', 'table', 'partial', 'named', 'positions', 'names'
]
Sign = Literal['any', 'positive', 'non-negative']


class _Required:
    """The default of a key that has none."""

    def __repr__(self) -> str:
        return 'required'


REQUIRED = _Required()


@dataclass(frozen=True)
class Key:
    """One key of a mapping.

    Attributes:
        kind: `vector` is [x, y, z], `pair` is [x, y];
            `table` is a mapping with the keys of `table`, `partial` one that may lack any of them;
            `named` is a mapping from names to such mappings;
            `positions` a mapping from joint names to numbers; `names` a list of texts; `numbers` a list of numbers.
        unit: SI unit; the sizes that look like another unit are refused by it.
        default: value where the key is absent, `REQUIRED` where it must be present.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ''
    default: object = REQUIRED
    sign: Sign = 'any'
    choices: tuple[str, ...] = ()
    table: tuple[Key, ...] = ()


def _number(name: str, unit: str, sign: Sign, meaning: str, default: object = REQUIRED) -> Key:
    return Key(name, 'number', meaning, unit, default, sign)


FRICTION = (
    Key('model', 'choice', 'friction model', default='lugre', choices=('lugre', 'karnopp')),
    _number('static', '', 'positive', 'friction coefficient at rest, mu_s', 0.9),
    _number('kinetic', '', 'positive', 'friction coefficient while sliding fast, mu_c <= mu_s', 0.5),
    _number('bristle_stiffness', '1/m', 'positive', 'sigma_0; of lugre only', 40.0),
    _number('bristle_damping', 's/m', 'non-negative', 'sigma_1; of lugre only', 4.9487),
    _number('viscous', 's/m', 'non-negative', 'sigma_2; of lugre only', 0.0018),
    _number('stribeck_speed', 'm/s', 'positive', 'v_s; of lugre only', 12.5),
    _number('stribeck_exponent', '', 'positive', 'alpha; of lugre only', 0.5),
    _number('stiffness', 'N/m', 'positive', 'k_h, horizontal; of karnopp only; absent: that of the wheel', None),
    _number('damping', 'N s/m', 'positive', 'c_h, horizontal; of karnopp only; absent: that of the wheel', None),
    _number('stick_speed', 'm/s', 'positive', 'D_v, below which the wheel sticks; of karnopp only', 1e-3),
)
ROLLING = (
    Key('axis', 'vector', 'axle in the frame of the link; forward: axle x up', default=(0.0, 1.0, 0.0)),
    _number(
        'roller_angle',
        'rad',
        'any',
        'omnidirectional wheel: from the rolling direction to the axis of the roller on the ground, about the upward '
        'normal; 0: free sideways, +-pi/4: Mecanum; absent: a tyre',
        None,
    ),
    _number('relaxation_length', 'm', 'positive', 'of a tyre: distance rolled in which a deflection fades to 1/e', 0.1),
)
RISE = (
    Key('shape', 'choice', '`bump`: up and down again; `ramp`: up to stay', default='bump', choices=('bump', 'ramp')),
    _number('x', 'm', 'any', 'where it starts, in the world', 0.0),
    _number('y', 'm', 'any', 'middle of its start, in the world', 0.0),
    _number('heading', 'rad', 'any', 'direction in which it rises first', 0.0),
    _number('length', 'm', 'positive', 'along that direction'),
    _number('height', 'm', 'any', 'greatest; negative: a hollow'),
    _number('width', 'm', 'positive', 'across, with sides that fall off over half its length; absent: no end', None),
)
WHEEL = (
    Key('link', 'text', 'the link that carries it', default=None),
    Key('position', 'vector', 'where the strut is attached, in the frame of the link', 'm'),
    _number('stiffness', 'N/m', 'positive', 'of suspension and tyre together'),
    _number('damping', 'N s/m', 'non-negative', 'of suspension and tyre together'),
    _number('free_length', 'm', 'positive', 'height of the attachment above the ground at which contact is lost'),
    Key('friction', 'table', 'LuGre or Karnopp friction; absent or `null`: frictionless', default=None, table=FRICTION),
    Key(
        'friction_point',
        'choice',
        'where friction acts and sees the speed: `ground`, the point below the wheel, or `attachment`',
        default='ground',
        choices=('ground', 'attachment'),
    ),
    Key('rolling', 'table', 'how it rolls; absent: its link is braked', default=None, table=ROLLING),
)
LINKAGE = (
    _number('a', 'm', 'positive', 'distance of one pin from the joint axis'),
    _number('b', 'm', 'positive', 'distance of the other pin from the joint axis'),
    _number('angle', 'rad', 'any', 'angle between the pins, seen from the axis, at joint position 0'),
    _number('direction', '', 'any', '1 where extension increases the joint position, -1 where it decreases it'),
    _number('retracted_length', 'm', 'positive', 'pin to pin, fully retracted'),
    _number('stroke', 'm', 'positive', 'greatest extension'),
)
ROD = (
    _number('stroke', 'm', 'positive', 'greatest extension'),
    _number('retracted_position', 'm', 'any', 'joint position, fully retracted', 0.0),
    _number('direction', '', 'any', '1 where extension increases the joint position, -1 where it decreases it', 1.0),
)
VALVE = (
    _number('inlet_gain', 'm', 'positive', 'inlet area per opening of the spool beyond the dead zone'),
    _number('outlet_gain', 'm', 'positive', 'outlet area per opening of the spool beyond the dead zone'),
    _number('bypass_area', 'm2', 'positive', 'area of the open centre at neutral'),
    _number('bypass_stroke', 'm', 'positive', 'spool displacement that shuts the open centre'),
    _number('dead_zone', 'm', 'non-negative', 'spool displacement before a port opens'),
    _number('time_constant', 's', 'positive', 'of the spool'),
    _number('gain', 'm/V', 'positive', 'spool displacement per volt'),
    _number('voltage_limit', 'V', 'positive', 'greater commands are clipped'),
    _number('spool_limit', 'm', 'positive', 'mechanical stop of the spool'),
    _number('dead_time', 's', 'non-negative', 'from a voltage to the moment the spool begins to follow it', 0.0),
)
SUPPLY = (
    _number('flow', 'm3/s', 'positive', 'constant flow of the pump'),
    _number('relief_pressure', 'Pa', 'positive', 'of the pump'),
    _number('line_relief_pressure', 'Pa', 'positive', 'of each port (cylinder), cross-over (motor)'),
    _number('line_relief_area', 'm2', 'non-negative', 'of the line relief'),
    _number('makeup_area', 'm2', 'non-negative', 'of the anti-cavitation check'),
    _number('tank_pressure', 'Pa', 'non-negative', 'of the return line'),
    _number('bulk_modulus', 'Pa', 'positive', 'effective, of oil and hoses'),
    _number('orifice_coefficient', 'm^(3/2)/kg^(1/2)', 'positive', 'C_d sqrt(2 / density)'),
    _number('smoothing', 'Pa', 'positive', 'regularizes the root of the pressure drop', 1e3),
)
_ACTUATOR = (
    Key('type', 'choice', 'what kind of actuator', choices=('cylinder', 'motor')),
    Key('joint', 'text', 'the joint that it moves'),
)
CYLINDER = (
    *_ACTUATOR,
    Key('linkage', 'table', 'where it is pinned, on a revolute joint', default=None, table=LINKAGE),
    Key('rod', 'table', 'its own rod in its barrel, on a prismatic joint', default=None, table=ROD),
    _number('head_area', 'm2', 'positive', 'piston area, head side, all cylinders of the function'),
    _number('rod_area', 'm2', 'positive', 'piston area, rod side, all cylinders of the function'),
    _number('head_volume', 'm3', 'positive', 'oil on the head side when retracted, hoses included'),
    _number('rod_volume', 'm3', 'positive', 'oil on the rod side when retracted, hoses included'),
    _number('viscous', 'N s/m', 'non-negative', 'friction of the piston'),
    Key('valve', 'table', 'the directional valve', table=VALVE),
    Key('supply', 'table', 'pump, oil and protection', table=SUPPLY),
    _number('idle_pressure', 'Pa', 'positive', 'unloaded side at the start', 1.0e6),
    _number('initial_head_pressure', 'Pa', 'non-negative', 'at the start; absent: static equilibrium', None),
    _number('initial_rod_pressure', 'Pa', 'non-negative', 'at the start; absent: static equilibrium', None),
)
MOTOR = (
    *_ACTUATOR,
    _number('displacement', 'm3/rad', 'positive', 'geared displacement at the joint'),
    _number('line_volume', 'm3', 'positive', 'oil in each line'),
    _number('viscous', 'N m s/rad', 'non-negative', 'friction at the joint'),
    Key('valve', 'table', 'the directional valve', table=VALVE),
    Key('supply', 'table', 'pump, oil and protection', table=SUPPLY),
    _number('idle_pressure', 'Pa', 'positive', 'both lines at the start', 5.0e6),
)
ACTUATORS = {'cylinder': CYLINDER, 'motor': MOTOR}
PUMP = (
    Key('actuators', 'names', 'that it feeds, the one nearest to the pump first'),
    _number('flow', 'm3/s', 'positive', "constant flow; takes the place of the members' own"),
    _number('relief_pressure', 'Pa', 'positive', "takes the place of the members' own"),
)
BASE = (
    Key('link', 'text', 'root link of the URDF', default=None),
    Key(
        'attachment',
        'choice',
        '`fixed` to the world, `planar` (x, z and pitch) or `free`',
        default='fixed',
        choices=('fixed', 'planar', 'free'),
    ),
)
INITIAL = (
    Key('joint_positions', 'positions', 'by joint name; joints not named start at 0', 'rad or m', default={}),
    Key('base_position', 'vector', 'of the base link; z is replaced where `settle` is true', 'm', (0.0, 0.0, 0.0)),
    _number('base_yaw', 'rad', 'any', 'heading', 0.0),
    Key('settle', 'flag', 'start in static equilibrium on the wheels', default=True),
)
PAYLOAD = (
    Key('link', 'text', 'the link that carries it'),
    Key('position', 'vector', 'of the point mass, in the frame of the link', 'm', (0.0, 0.0, 0.0)),
    _number('mass', 'kg', 'non-negative', 'at the start'),
    _number('limit', 'kg', 'non-negative', 'greatest mass accepted while running'),
)
SLOPE = (
    _number('roll', 'rad', 'any', 'of the ground about x', 0.0),
    _number('pitch', 'rad', 'any', 'of the ground about y; positive: the front is downhill', 0.0),
)
END = (
    Key('link', 'text', 'of the URDF, a load, or `world`'),
    Key('position', 'vector', 'in the frame of the link', 'm', (0.0, 0.0, 0.0)),
    Key('rotation', 'vector', 'roll, pitch, yaw of the axes in the frame of the link', 'rad', (0.0, 0.0, 0.0)),
)
PROFILE = (
    Key(
        'kind',
        'choice',
        'form of the motion over the time; see below',
        choices=get_args(ProfileKind),
    ),
    _number('offset', '', 'any', 'mean; kind sine', 0.0),
    _number('amplitude', '', 'any', 'kind sine', 0.0),
    _number('frequency', 'Hz', 'positive', 'kind sine', 0.0),
    _number('phase', 'rad', 'any', 'at time 0; kind sine', 0.0),
    Key('coefficients', 'numbers', 'of the powers 0, 1, 2, ... of the time in s; kind polynomial', default=()),
    Key('times', 'numbers', 'rising, at least two; kind points', 's', default=()),
    Key('values', 'numbers', 'at these times, at rest before and after; kind points', default=()),
    _number('height', '', 'any', 'kind bump', 0.0),
    _number('start', 's', 'any', 'kind bump', 0.0),
    _number('duration', 's', 'positive', 'kind bump', 0.0),
)
CONSTRAINT = (
    Key(
        'kind',
        'choice',
        'what is held; see below',
        choices=get_args(ConstraintKind),
    ),
    Key('first', 'table', 'end that is held; of a wheel its centre', default=None, table=END),
    Key('second', 'table', 'end that holds it', default=None, table=END),
    Key(
        'axis',
        'vector',
        'in both ends: of a hinge or slider; of a line; normal of a plane; axle of a wheel (forward: axle x up)',
        default=(0.0, 0.0, 1.0),
    ),
    _number('length', 'm', 'positive', 'of a rod; kind distance', 0.0),
    _number('radius', 'm', 'positive', 'kind wheel', 0.0),
    Key('joint', 'text', 'kinds lock and prescribed', default=''),
    _number('position', '', 'any', 'where the joint is held, rad or m; kind lock', 0.0),
    Key('coefficients', 'positions', 'by joint name; kind coupling', default={}),
    _number('offset', '', 'any', 'sum of coefficient times joint position; kind coupling', 0.0),
    Key(
        'profile',
        'table',
        'position over the time, rad or m; kind prescribed; of kind plane: height of the plane along its normal',
        default=None,
        table=PROFILE,
    ),
    Key('ground', 'table', 'height of the ground under it over the time, m; kind wheel', default=None, table=PROFILE),
)
INERTIA = (
    *(_number(f'i{axis}{axis}', 'kg m2', 'positive', f'about {axis} through the centre of mass') for axis in 'xyz'),
    *(_number(f'i{pair}', 'kg m2', 'any', 'product, as in a URDF', 0.0) for pair in ('xy', 'xz', 'yz')),
)
LOAD = (
    _number('mass', 'kg', 'positive', 'of the body'),
    Key('com', 'vector', 'centre of mass in the axes of the load', 'm', (0.0, 0.0, 0.0)),
    Key('inertia', 'table', 'about the centre of mass', table=INERTIA),
    Key('position', 'vector', 'at the start; rough where constraints hold the load', 'm', (0.0, 0.0, 0.0)),
    Key('rotation', 'vector', 'roll, pitch, yaw at the start', 'rad', (0.0, 0.0, 0.0)),
    Key(
        'motion', 'choice', '`free` in space, or `planar`: x, z and pitch', default='free', choices=get_args(LoadMotion)
    ),
)
JOINT_CLASS = (
    Key(
        'class',
        'choice',
        'what moves the joint; joints not named are actuated',
        choices=get_args(JointKind),
    ),
    _number('stiffness', 'N m/rad or N/m', 'non-negative', 'class flexible', 0.0),
    _number('damping', 'N m s/rad or N s/m', 'non-negative', 'class flexible', 0.0),
    _number('rest', '', 'any', 'unstressed or held position, rad or m; absent: the initial one', None),
)
DEFAULTS = (
    Key('wheel', 'table', 'under every wheel', default=None, table=WHEEL),
    Key('valve', 'table', 'under the valve of every actuator', default=None, table=VALVE),
    Key('supply', 'table', 'under the supply of every actuator', default=None, table=SUPPLY),
    Key('cylinder', 'table', 'under every actuator of type cylinder', default=None, table=CYLINDER),
    Key('motor', 'table', 'under every actuator of type motor', default=None, table=MOTOR),
)
MACHINE = (
    Key('name', 'text', 'of the machine; absent: the name of the URDF', default=None),
    _number('gravity', 'm/s2', 'non-negative', 'along -z of the level world', 9.81),
    Key('slope', 'table', 'of the ground at the start', default=None, table=SLOPE),
    _number('overturn_angle', 'rad', 'positive', 'tilt of the base that counts as overturned', math.radians(75)),
    Key('base', 'table', 'how the machine is attached to the world', default=None, table=BASE),
    Key('initial', 'table', 'where a run begins', default=None, table=INITIAL),
    Key('payload', 'table', 'a point mass in the implement', default=None, table=PAYLOAD),
    Key('defaults', 'partial', 'what wheels and actuators share', default=None, table=DEFAULTS),
    Key('wheels', 'named', 'wheels and feet, by name', default=None, table=WHEEL),
    Key('actuators', 'named', 'hydraulic actuators, by name', default=None),
    Key('pumps', 'named', 'pumps that feed several actuators in series, by name', default=None, table=PUMP),
    Key('constraints', 'named', 'what holds links beside the joints, by name', default=None, table=CONSTRAINT),
    Key(
        'loads', 'named', 'rigid bodies without a joint, such as a load held by several arms', default=None, table=LOAD
    ),
    Key('joints', 'named', 'classes of joints, by joint name', default=None, table=JOINT_CLASS),
    Key('locked', 'names', 'joints held for good where they start: they cost no time and need no inertia', default=()),
    Key('terrain', 'named', 'what rises from the ground plane under rolling wheels, by name', default=None, table=RISE),
    Key('reactions', 'names', 'joints whose reaction is published, on `joint_reactions/<joint>`', default=()),
)

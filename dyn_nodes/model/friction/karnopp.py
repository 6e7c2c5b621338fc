"""Karnopp friction of a wheel on a massless foot behind a horizontal spring and damper, per direction."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from dyn_nodes.model.friction_law import Friction, FrictionLaw, Scalar
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.schema import number


@dataclass(frozen=True)
class Karnopp(FrictionLaw):
    """Karnopp friction behind a horizontal spring and damper on a massless foot (abo-shanab-2003, eqs 6.1, 6.5 to 6.8).

    The loader uses the wheel's stiffness and damping if the machine YAML has none for the foot.
    """

    kind: ClassVar[str] = 'karnopp'
    deflection: ClassVar[str] = 'deflection'
    sticks: ClassVar[bool] = True

    stiffness: Annotated[Any, number('k_h, horizontal; absent: stiffness of the wheel', 'N/m', 'positive')] = None
    damping: Annotated[Any, number('c_h, horizontal; absent: damping of the wheel', 'N s/m', 'positive')] = None
    stick_speed: Annotated[float, number('D_v, below which the wheel sticks', 'm/s', 'positive')] = 1e-3

    def on_wheel(self, stiffness: float, damping: float) -> FrictionLaw:
        """Return the law with the stiffness and damping of the wheel for absent ones."""
        absent = {'stiffness': stiffness, 'damping': damping}
        return replace(self, **{key: value for key, value in absent.items() if getattr(self, key) is None})

    def friction(self, slip_speed: Scalar, deflection: Scalar, stick: Scalar, normal: Scalar) -> Friction:
        """Return friction in one direction."""
        return karnopp(self, slip_speed, deflection, stick, normal)

    def relations(self, key: str, free_length: Quantity, load: float, gravity: float) -> Iterator[Relation]:
        """Yield the relations of spring and damper to the load."""
        if not (load > 0.0 and gravity > 0.0):
            return
        coefficient = Quantity(f'{key}.static', self.static, '')
        spring = Quantity(f'{key}.stiffness', self.stiffness, 'N/m')
        damper = Quantity(f'{key}.damping', self.damping, 'N s/m')
        yield from relation(
            'a deflection before it slides over its free length',
            '',
            1e-5,
            2.0,
            (coefficient, 1.0),
            (spring, -1.0),
            (free_length, -1.0),
            factor=load,
        )
        yield from relation(
            'a damping ratio with the load that it carries',
            '',
            2e-3,
            10.0,
            (damper, 1.0),
            (spring, -0.5),
            factor=0.5 / (load / gravity) ** 0.5,
        )
        speed = Quantity(f'{key}.stick_speed', self.stick_speed, 'm/s')
        yield from relation('a speed below which it sticks', 'm/s', 1e-7, 0.2, (speed, 1.0))


def karnopp(params: 'Karnopp', slip_speed: Scalar, deflection: Scalar, stick: Scalar, normal: Scalar) -> Friction:
    """Return friction in one direction (abo-shanab-2003, eqs 6.1, 6.5 to 6.8; spec 2.21).

    The state is the deflection s = x - x_f of the wheel against its foot. As the foot has no mass, spring and damper
    carry the friction force, and the speed of the foot follows from it; the source leaves it undetermined while the
    foot sticks. With F_st = k s + c v, the force of a resting foot:

    - stick: F = F_st, the foot rests; it breaks loose if |F_st| > mu_s N;
    - slip: F = mu_c N sgn(F_st), the foot moves with (F_st - F) / c, not backwards; it sticks again below the stick
      speed;
    - in the air: F = 0, the foot follows the wheel.

    Replace the flag by `stick` of the result between integration steps; it is constant within a step.

    Args:
        params: coefficients, spring and damper.
        slip_speed: v of the wheel's contact point along the direction, m/s.
        deflection: s, m.
        stick: the flag, 1 or 0.
        normal: N >= 0, N.
    """
    import casadi as ca

    standing = params.stiffness * deflection + params.damping * slip_speed
    size = ca.fabs(standing)
    loaded = normal > 0.0
    greatest = params.kinetic * normal
    # while the foot slips, at most the kinetic friction; if spring and damper exert less, the foot rests
    sliding = ca.fmin(ca.fmax(standing, -greatest), greatest)
    force = loaded * ca.if_else(stick > 0.5, standing, sliding)
    foot_speed = (standing - force) / params.damping
    holds = size <= params.static * normal
    catches = size - greatest < params.stick_speed * params.damping
    return Friction(-force, slip_speed - foot_speed, loaded * ca.if_else(stick > 0.5, holds, catches))

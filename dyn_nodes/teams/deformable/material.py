"""Isotropic, linear elastic material with viscous damping (tanner-1998, eqs. 3.2 to 3.5, corrected)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.schema import number

NORMAL = slice(0, 3)
"""Strains and stresses are ordered xx, yy, zz, xy, yz, zx; shear strains are engineering strains."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """Material of a body, without initial stress."""

    young_modulus: Annotated[float, number("Young's modulus", 'Pa', 'positive')]
    poisson_ratio: Annotated[float, number("Poisson's ratio, above -1 and below 0.5")]
    density: Annotated[float, number('mass of a volume', 'kg/m3', 'positive')]
    damping: Annotated[float, number('viscosity: stress for a strain rate', 'Pa s', 'non-negative')] = 0.0
    retardation: Annotated[float, number('further viscous stress for the elastic one', 's', 'non-negative')] = 0.0

    @property
    def shear_modulus(self) -> float:
        """The second Lamé constant (mu), Pa."""
        return self.young_modulus / (2.0 * (1.0 + self.poisson_ratio))

    @property
    def lame_modulus(self) -> float:
        """The first Lamé constant (lambda), Pa."""
        return 2.0 * self.shear_modulus * self.poisson_ratio / (1.0 - 2.0 * self.poisson_ratio)

    @property
    def elasticity(self) -> Array:
        """(6, 6) stress by strain, Pa."""
        matrix = np.diag([2.0 * self.shear_modulus] * 3 + [self.shear_modulus] * 3)
        matrix[NORMAL, NORMAL] += self.lame_modulus
        return matrix

    @property
    def viscosity(self) -> Array:
        """(6, 6) viscous stress by strain rate, Pa s: isotropic, zero for rigid motions.

        Shear has half of `damping`, since engineering shear is twice the component of the strain tensor.
        """
        return self.damping * np.diag([1.0, 1.0, 1.0, 0.5, 0.5, 0.5]) + self.retardation * self.elasticity

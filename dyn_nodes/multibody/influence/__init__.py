"""Kinematic influence coefficients G, H, D and the transfer of generalized coordinates (freeman-1985, ch. 2 to 4).

    here = TreeCoefficients(tree).at(q, order=3)
    hand = here.frame(tree.frame('tool'))        # G (6, n), H (6, n, n), D (6, n, n, n) by the joints
    joints = hand.inverse()                      # joint motion by hand motion
    model = serial_model(here).by(joints)
    model.effort(rates, accelerations)           # I* a + v P* v - T^L at the hand

H and D are not symmetrized: the components of an angular velocity are not rates of coordinates, so the order of
differentiation matters.
"""

from dyn_nodes.multibody.influence.coefficients import (
    FLAGGED,
    REJECTED,
    Coefficients,
    IllConditionedTransferWarning,
    SingularTransferError,
)
from dyn_nodes.multibody.influence.model import SingularInertiaError, TransferredModel, rigid_body_model, serial_model
from dyn_nodes.multibody.influence.tree import TreeCoefficients, TreePosition

__all__ = [
    'FLAGGED',
    'REJECTED',
    'Coefficients',
    'IllConditionedTransferWarning',
    'SingularInertiaError',
    'SingularTransferError',
    'TransferredModel',
    'TreeCoefficients',
    'TreePosition',
    'rigid_body_model',
    'serial_model',
]

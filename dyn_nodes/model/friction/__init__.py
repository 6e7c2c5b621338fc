"""Friction laws of wheels and feet, by `model` of a machine YAML: each file of this package contains one law."""

import sys

from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.friction_law import FrictionLaw
from dyn_nodes.model.schema import Key

DEFAULT = 'lugre'
MODEL = Key('model', 'choice', 'friction model', default=DEFAULT)


def friction_laws() -> dict[str, type[FrictionLaw]]:
    """Return the record of every law by name, the default one first."""
    laws = kinds_of(sys.modules[__name__], FrictionLaw)
    return {DEFAULT: laws[DEFAULT], **laws}
